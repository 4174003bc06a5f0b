//===- memory.cpp - one region of huge pages -----------------------------===//

#include "runtime/weights/memory.h"

#include "runtime/error.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <sys/mman.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define BATON_ADDRESS_SANITIZER 1
#else
#define BATON_ADDRESS_SANITIZER 0
#endif

namespace baton {

namespace {

/// What lies on both sides of a region and belongs to nobody. The sanitizer
/// knows of malloc's blocks, of mapped memory only what it is told.
constexpr uint64_t fence = BATON_ADDRESS_SANITIZER ? HugeRegion::alignment : 0;

} // namespace

bool is_watched() { return BATON_ADDRESS_SANITIZER; }

void forbid(const std::byte *address, uint64_t bytes) {
#if BATON_ADDRESS_SANITIZER
  __asan_poison_memory_region(address, bytes);
#endif
}

void allow(const std::byte *address, uint64_t bytes) {
#if BATON_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(address, bytes);
#endif
}

HugeRegion::HugeRegion(uint64_t bytes) : requested(bytes) {
  if (bytes == 0)
    return;
  auto refuse = [&] {
    throw Error("cannot reserve " + std::to_string(bytes) +
                " bytes of memory for weights: " + std::strerror(errno));
  };
  if (bytes > SIZE_MAX - 4 * alignment) {
    errno = ENOMEM;
    refuse();
  }
  mapped = (bytes + alignment - 1) / alignment * alignment;
  uint64_t reserved = mapped + 2 * fence + alignment;
  void *address = mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    mapped = 0;
    refuse();
  }
  auto *first = static_cast<std::byte *>(address);
  uint64_t lead =
      (alignment - reinterpret_cast<uintptr_t>(first) % alignment) % alignment;
  base = first + lead + fence;
  if (lead)
    munmap(first, lead);
  if (uint64_t tail = alignment - lead)
    munmap(base + mapped + fence, tail);
  baton::forbid(base - fence, fence);
  baton::forbid(base + requested, mapped - requested + fence);
  // Only advice: a kernel without huge pages runs the same program slower. Of
  // less than one, most would be cleared for nothing.
  if (bytes >= alignment)
    madvise(base, mapped, MADV_HUGEPAGE);
}

HugeRegion &HugeRegion::operator=(HugeRegion &&other) noexcept {
  std::swap(base, other.base);
  std::swap(requested, other.requested);
  std::swap(mapped, other.mapped);
  return *this;
}

HugeRegion::~HugeRegion() {
  if (!base)
    return;
  allow(base - fence, mapped + 2 * fence);
  munmap(base - fence, mapped + 2 * fence);
}

void HugeRegion::clear() {
  if (base && madvise(base, mapped, MADV_DONTNEED) != 0)
    std::memset(base, 0, requested);
}

} // namespace baton
