//===- memory.h - one region of huge pages -------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_MEMORY_H
#define BATON_RUNTIME_WEIGHTS_MEMORY_H

#include <cstddef>
#include <cstdint>

namespace baton {

/// What begins on a page of its own lies near who touches it first.
constexpr uint64_t page_bytes = 4096;

constexpr uint64_t round_up(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Whether the address sanitizer watches this program.
bool is_watched();

/// States that nobody touches these bytes from now on, or that one may again.
/// The address sanitizer reports who does; without it nothing happens.
void forbid(const std::byte *address, uint64_t bytes);
void allow(const std::byte *address, uint64_t bytes);

/// Anonymous memory, aligned to 2 MiB and, from that size on, backed by
/// transparent huge pages where the kernel has them: streaming weights from
/// 4 KiB pages costs a quarter of the read bandwidth. Zero until written;
/// owned, not copyable.
class HugeRegion {
public:
  static constexpr uint64_t alignment = uint64_t(2) << 20;

  HugeRegion() = default;
  /// Reserves at least `bytes`; throws Error when the system refuses.
  explicit HugeRegion(uint64_t bytes);
  HugeRegion(HugeRegion &&other) noexcept {
    *this = static_cast<HugeRegion &&>(other);
  }
  HugeRegion &operator=(HugeRegion &&other) noexcept;
  ~HugeRegion();

  std::byte *data() const { return base; }
  /// Bytes asked for.
  uint64_t size() const { return requested; }
  /// Makes the region read as zeros again and gives its pages back.
  void clear();
  /// The same of a part. Just outside a region nothing may be touched either.
  void forbid(uint64_t offset, uint64_t bytes) {
    baton::forbid(base + offset, bytes);
  }

private:
  std::byte *base = nullptr;
  uint64_t requested = 0;
  uint64_t mapped = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_MEMORY_H
