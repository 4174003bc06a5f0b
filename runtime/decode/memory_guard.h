//===- memory_guard.h - what phases touch of memory that they share -------===//

#ifndef BATON_RUNTIME_DECODE_MEMORY_GUARD_H
#define BATON_RUNTIME_DECODE_MEMORY_GUARD_H

#include "runtime/decode/metadata.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace baton {

/// Watches the transient storages of an observed execution. While a phase runs,
/// the address sanitizer reports whoever touches anything of them but the
/// buffers that the plan says the phase reads or writes; of buffers with a copy
/// for each layer all of them are allowed.
///
/// How far tasks have written is seen by a pattern that the storages have
/// before, and how far those of one phase by what its buffers held before it.
class MemoryGuard {
public:
  /// Throws Error in a program that was compiled without --sanitize=address.
  /// `metadata` and the storages outlive this.
  MemoryGuard(const Metadata &metadata, void *const *storages);
  MemoryGuard(const MemoryGuard &) = delete;
  ~MemoryGuard() { allow_all(); }

  /// A phase of the only program has ended (StepDriver::observe); another one
  /// follows, if only that of the next step.
  void passed(uint32_t phase, uint32_t iteration);

  struct Storage {
    std::string name;
    /// Bytes of the plan, and up to the last one that was written, in whole
    /// cache lines.
    uint64_t planned, touched;
  };
  /// Of each transient storage. What follows is not watched.
  std::vector<Storage> touched();

  /// What one phase writes in a storage.
  struct Reach {
    std::string phase, storage;
    /// The end of its buffers there, and of the last byte that it has changed
    /// in any step; 0 for none.
    uint64_t planned = 0, touched = 0;
  };
  /// Of each phase and transient storage that it writes, in the phases' order.
  std::vector<Reach> reaches() const;

private:
  using Allowance = void (*)(const std::byte *, uint64_t);
  bool is_shared(size_t storage) const;
  /// Where a piece of a storage ends in it.
  uint64_t end_in(size_t storage, const std::byte *first, uint64_t bytes) const;
  /// Calls visit(first, bytes) for what lies in one piece.
  template <typename Visit>
  void for_each_piece(const WrittenBuffer &buffer, Visit visit) const;
  void set(const WrittenBuffer &buffer, Allowance allowance) const;
  /// Keeps what the phase's results hold, and compares with that.
  void remember(uint32_t phase);
  void compare(uint32_t phase);
  void set(uint32_t phase, Allowance allowance) const;
  void allow_all() const;

  const Metadata &metadata;
  void *const *storages;
  /// The phase that follows.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> next;
  /// By phase and storage.
  std::map<std::pair<uint32_t, size_t>, Reach> reach;
  /// Of the phase that runs, piece after piece.
  std::vector<std::byte> before;
};

} // namespace baton

#endif // BATON_RUNTIME_DECODE_MEMORY_GUARD_H
