//===- memory.cpp - one region of huge pages -----------------------------===//

#include "runtime/weights/memory.h"

#include "runtime/error.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <sys/mman.h>

namespace baton {

HugeRegion::HugeRegion(uint64_t bytes) : requested(bytes) {
  if (bytes == 0)
    return;
  auto refuse = [&] {
    throw Error("cannot reserve " + std::to_string(bytes) +
                " bytes of memory for weights: " + std::strerror(errno));
  };
  if (bytes > SIZE_MAX - 2 * alignment) {
    errno = ENOMEM;
    refuse();
  }
  mapped = (bytes + alignment - 1) / alignment * alignment;
  uint64_t reserved = mapped + alignment;
  void *address = mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    mapped = 0;
    refuse();
  }
  auto *first = static_cast<std::byte *>(address);
  uint64_t lead =
      (alignment - reinterpret_cast<uintptr_t>(first) % alignment) % alignment;
  base = first + lead;
  if (lead)
    munmap(first, lead);
  if (uint64_t tail = alignment - lead)
    munmap(base + mapped, tail);
  // Only advice: a kernel without huge pages runs the same program slower.
  madvise(base, mapped, MADV_HUGEPAGE);
}

HugeRegion &HugeRegion::operator=(HugeRegion &&other) noexcept {
  std::swap(base, other.base);
  std::swap(requested, other.requested);
  std::swap(mapped, other.mapped);
  return *this;
}

HugeRegion::~HugeRegion() {
  if (base)
    munmap(base, mapped);
}

void HugeRegion::clear() {
  if (base && madvise(base, mapped, MADV_DONTNEED) != 0)
    std::memset(base, 0, mapped);
}

} // namespace baton
