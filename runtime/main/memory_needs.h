//===- memory_needs.h - what a program's memory is for --------------------===//

#ifndef BATON_RUNTIME_MAIN_MEMORY_NEEDS_H
#define BATON_RUNTIME_MAIN_MEMORY_NEEDS_H

#include "runtime/execute/metadata.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace baton {

/// Of one rank, in bytes.
struct MemoryNeeds {
  uint64_t weights = 0;
  /// The part of them that lies as a checkpoint stores it, and may be read
  /// there: tables, of which a step reads the rows of its tokens.
  uint64_t tables = 0;
  /// What a CPU's program has the others in: with what lies between them.
  uint64_t weight_region = 0;
  uint64_t kv = 0;
  uint64_t activations = 0;
  /// Of a program that trains weights, gradients and the optimizer's states, of
  /// one that decodes on several ranks what they exchange.
  uint64_t persistent = 0;
  /// Of one worker.
  uint64_t scratch = 0;
};

MemoryNeeds memory_needs(const Metadata &metadata, uint32_t rank);

/// Of the first rank of each stage of a program that decodes on stages, which
/// are alike but for uneven parts of tensors; else of the first rank.
std::vector<MemoryNeeds> memory_needs(const Metadata &metadata);

/// Of a program that trains: what its memory is for, in bytes, by name.
/// Activations are what has none. `transient`: of each storage the bytes that
/// it takes if it is of a step only; empty for all of them. `elsewhere`: what
/// is left out, in ascending order.
std::map<std::string, uint64_t>
training_memory(const Metadata &metadata, const MemoryNeeds &needs,
                const std::vector<uint64_t> &transient = {},
                const std::vector<size_t> &elsewhere = {});

/// Those names, and what they stand for, in the order in which people are told.
inline constexpr std::pair<const char *, const char *> training_uses[] = {
    {"frozen", "frozen weights"},  {"parameter", "weights"},
    {"gradient", "gradients"},     {"optimizer", "optimizer's states"},
    {"exchange", "for exchanges"}, {"input", "inputs"},
    {"output", "outputs"}};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_MEMORY_NEEDS_H
