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
/// before.
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

private:
  using Allowance = void (*)(const std::byte *, uint64_t);
  bool is_shared(size_t storage) const;
  void set(const WrittenBuffer &buffer, Allowance allowance) const;
  void set(uint32_t phase, Allowance allowance) const;
  void allow_all() const;

  const Metadata &metadata;
  void *const *storages;
  /// The phase that follows.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> next;
};

} // namespace baton

#endif // BATON_RUNTIME_DECODE_MEMORY_GUARD_H
