//===- Adapter.h - what flags say of adapters -----------------------------===//

#ifndef BATON_COMPILER_ADAPTER_H
#define BATON_COMPILER_ADAPTER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace baton::compiler {

/// Low-rank pairs beside frozen linears (passes/training, low-rank-adapters).
struct LowRankAdapter {
  int64_t rank = 16;
  /// Of the pairs' products, times 1 / rank, or 1 / sqrt(rank).
  double alpha = 32;
  bool stabilized = false;
  /// Whether the lengths of the adapted weights' rows train, too (DoRA).
  bool decomposed = false;
  std::vector<std::string> targets = {"all-linear"};
};

/// Adapters that rows of a batch may have, each its own (passes/batching,
/// adapter-slots).
struct AdapterSlots {
  /// Ranks of all that are there at once, and the most of one.
  int64_t ranks = 0, most = 0;
  /// How they are kept: "f32" or "bf16".
  std::string type = "f32";
  std::vector<std::string> targets = {"all-linear"};
};

/// Reads "lora:r=16,alpha=32,targets=q_proj,v_proj,rslora,dora", of which all
/// behind lora may be missing, or the adapter_config.json of a PEFT folder.
/// Fails, naming the flag, for anything else.
llvm::Expected<LowRankAdapter> parseAdapter(llvm::StringRef text);

} // namespace baton::compiler

#endif // BATON_COMPILER_ADAPTER_H
