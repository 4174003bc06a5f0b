//===- Relocation.cpp - bodies that run elsewhere -------------------------===//

#include "test/codegen/cuda/library/Relocation.h"
#include "test/codegen/cuda/library/GpuPlace.h"

#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>

using namespace baton::test;

namespace {

const char *place_name() {
  static const char *const name = std::getenv("BATON_TEST_BODIES");
  return name;
}

//===----------------------------------------------------------------------===//
// What is allocated
//===----------------------------------------------------------------------===//

/// Of the map that operator new itself writes to.
template <typename T> struct MallocAllocator {
  using value_type = T;
  MallocAllocator() = default;
  template <typename U> MallocAllocator(const MallocAllocator<U> &) {}
  T *allocate(size_t count) {
    void *memory = std::malloc(count * sizeof(T));
    if (!memory)
      throw std::bad_alloc();
    return static_cast<T *>(memory);
  }
  void deallocate(T *memory, size_t) { std::free(memory); }
  bool operator==(const MallocAllocator &) const { return true; }
};

struct Allocation {
  std::byte *begin;
  size_t bytes;
};

/// The heap by addresses; lives as long as the process.
class Heap {
public:
  static Heap &get() {
    alignas(Heap) static std::byte memory[sizeof(Heap)];
    static Heap *const heap = new (memory) Heap;
    return *heap;
  }

  void add(void *address, size_t bytes) {
    std::lock_guard lock(mutex);
    sizes[static_cast<std::byte *>(address)] = bytes;
  }
  void remove(void *address) {
    std::lock_guard lock(mutex);
    sizes.erase(static_cast<std::byte *>(address));
  }
  std::optional<Allocation> around(std::byte *address) {
    std::lock_guard lock(mutex);
    auto after = sizes.upper_bound(address);
    if (after == sizes.begin())
      return std::nullopt;
    auto [begin, bytes] = *std::prev(after);
    if (address >= begin + bytes)
      return std::nullopt;
    return Allocation{begin, bytes};
  }

private:
  std::mutex mutex;
  std::map<std::byte *, size_t, std::less<>,
           MallocAllocator<std::pair<std::byte *const, size_t>>>
      sizes;
};

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

class CopyPlace : public Place {
public:
  void *allocate(size_t bytes) override {
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  }
  void release(void *there) noexcept override { std::free(there); }
  void send(void *there, const void *here, size_t bytes) override {
    std::memcpy(there, here, bytes);
  }
  void fetch(void *here, const void *there, size_t bytes) override {
    std::memcpy(here, there, bytes);
  }
  bool is_gpu() const override { return false; }
  bool has(const std::string &) override { return true; }
  bool run(const std::string &, unsigned, size_t,
           std::span<const uint64_t>) override {
    return false;
  }
};

} // namespace

Place *Place::chosen() {
  if (!place_name())
    return nullptr;
  static Place *const place = std::string_view(place_name()) == "copies"
                                  ? new CopyPlace
                                  : make_gpu_place(place_name()).release();
  return place;
}

const void *Relocation::moved_address(const void *address) {
  auto *here = static_cast<std::byte *>(const_cast<void *>(address));
  if (!here)
    return nullptr;
  std::optional<Allocation> allocation = Heap::get().around(here);
  if (!allocation)
    throw std::runtime_error("an argument does not point into the heap, so "
                             "that its memory cannot be moved");
  auto [copy, added] = copies.try_emplace(allocation->begin);
  if (added) {
    copy->second = {place.allocate(allocation->bytes), allocation->bytes};
    place.send(copy->second.there, allocation->begin, allocation->bytes);
  }
  return static_cast<std::byte *>(copy->second.there) +
         (here - allocation->begin);
}

void Relocation::fetch() {
  for (auto &[here, copy] : copies)
    place.fetch(here, copy.there, copy.bytes);
}

Relocation::~Relocation() {
  for (auto &[here, copy] : copies)
    place.release(copy.there);
}

// The rest of the family ends here.
void *operator new(size_t bytes) {
  void *memory = std::malloc(bytes ? bytes : 1);
  if (!memory)
    throw std::bad_alloc();
  if (place_name())
    Heap::get().add(memory, bytes);
  return memory;
}
void *operator new(size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<size_t>(alignment);
  // The size has to be a multiple, the heap's entry is what was asked for.
  void *memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (!memory)
    throw std::bad_alloc();
  if (place_name())
    Heap::get().add(memory, bytes);
  return memory;
}
void operator delete(void *memory) noexcept {
  if (place_name() && memory)
    Heap::get().remove(memory);
  std::free(memory);
}
void operator delete(void *memory, size_t) noexcept { operator delete(memory); }
void operator delete(void *memory, std::align_val_t) noexcept {
  operator delete(memory);
}
void operator delete(void *memory, size_t, std::align_val_t) noexcept {
  operator delete(memory);
}
