//===- Options.h - what a user asks the compiler for ----------------------===//

#ifndef BATON_COMPILER_OPTIONS_H
#define BATON_COMPILER_OPTIONS_H

#include "compiler/Adapter.h"
#include "passes/training/RecomputeMode.h"

#include "llvm/Support/Error.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace baton::planning {
struct PlanRequest;
struct PlacementSummary;
} // namespace baton::planning

namespace baton::compiler {

struct Installation;

/// What --emit names: the default schedule, or a stage, in the order in which
/// a model goes through them. What a schedule's @model starts from is
/// `primitive`, what its @plan starts from is `phases`.
enum class Stage {
  schedule,
  primitive,
  model,
  dist,
  phases,
  event,
  planJson,
  description,
  llvm,
  cuda,
  object,
  executable
};

/// An axis of --mesh, of at least two ranks.
struct MeshAxis {
  std::string name;
  int64_t size;
};

/// The axis over which every rank has other sequences.
inline constexpr char kDataAxis[] = "dp";
/// Another one, along which ranks have only parts of what ZeRO cuts; along dp
/// they have the same ones then.
inline constexpr char kShardAxis[] = "fsdp";
/// Whether an axis is one of these two.
inline bool isDataAxis(const std::string &name) {
  return name == kDataAxis || name == kShardAxis;
}
/// The axis over which every rank has a part of the model's numbers.
inline constexpr char kTensorAxis[] = "tp";
/// Another one, behind it: along tp ranks have other key/value heads, along
/// this one other queries of the same.
inline constexpr char kQueryAxis[] = "tq";
/// Whether an axis is one of these two.
inline bool isTensorAxis(const std::string &name) {
  return name == kTensorAxis || name == kQueryAxis;
}
/// The axis over which every rank has some of a mixture's experts.
inline constexpr char kExpertAxis[] = "ep";
/// The axis whose ranks are the stages of a pipeline.
inline constexpr char kPipelineAxis[] = "pp";

/// Whether cuBLASLt computes products of many rows on a GPU: where figures say
/// so, and only if it is found when a program starts, or never, or always.
enum class CublasLt { automatic, never, always };

/// What a run may have in memory; a file has the rest.
struct MemoryCap {
  uint64_t bytes = 0;
  /// Layers there is room for at once, beside those that stay.
  int64_t slots = 1;
};

/// What a program of --offload has in memory unless it is told otherwise: sizes
/// such as "4GiB", as its flags of the same names take them.
struct UsualMemory {
  std::string memory, kvMemory, kvInMemory;
};

struct CompileOptions {
  /// A Hugging Face folder, or an .mlir file in the model or event dialect.
  std::string model;
  /// Where the result goes; empty means standard output, for text stages.
  std::string output;
  Stage stage = Stage::executable;
  /// "auto", "f32", "bf16" or "f16": element type of linear weights.
  std::string dtype = "auto";
  /// What linears multiply weights by: "f32", their inputs, or these rounded:
  /// "int8" of quantised weights; of BF16 weights "bf16-avx512" or "bf16-amx",
  /// by the instructions whose order sums have, or "bf16", by what the CPU has.
  std::string activations = "f32";
  /// Longest sequence, prompt and answer together, in tokens.
  std::optional<int64_t> maxSeq;
  /// Most sequences that a step has rows of; 0 for a program of one sequence,
  /// which keeps its keys and values behind one another instead of in pages.
  int64_t batch = 0;
  /// How these keep keys and values: "f32", "bf16", "int8" or "fp8".
  std::string kvType = "f32";
  /// Steps of several sequences also give each row's last hidden state.
  bool hiddenStates = false;
  /// Their layers may come from a file while a step runs.
  bool offloads = false;
  /// Of these: how much of them is in memory, unless a run is told otherwise.
  std::optional<UsualMemory> usualMemory;
  /// What adapters their rows may have, if any.
  std::optional<AdapterSlots> adapterSlots;
  /// Most rows of a step of several sequences; 0 for the target's usual ones.
  int64_t rows = 0;
  /// Most of them that have logits; 0 for one of each sequence.
  int64_t outputs = 0;
  /// A name that a target answers to: see findTarget().
  std::string target = "cpu";
  std::string targetCpu = "native";
  /// A device runs a step as kernels of a CUDA graph, one for each phase,
  /// instead of steps as one persistent kernel.
  bool launchesGraph = false;
  CublasLt cublasLt = CublasLt::automatic;
  /// Ranks on devices exchange tensors beside the kernel, which leaves so many
  /// multiprocessors to NCCL; 0: between launches.
  int64_t ncclMultiprocessors = 0;
  /// What is printed of the time a compilation took counts from here.
  std::chrono::steady_clock::time_point begun =
      std::chrono::steady_clock::now();
  /// On a device, a row's bits do not depend on how many rows share its step.
  bool batchInvariant = false;
  /// Of the code: 1, 2 or 3. The bits are the same.
  int optimization = 3;
  /// "", "thread" or "address".
  std::string sanitize;
  /// With a sanitizer: the executable carries its plan, and judges it for each
  /// new step.
  bool judgesSteps = true;
  /// A target description to use instead of the installation's.
  std::string targetFile;
  /// Parts of the default schedule to leave out.
  std::set<std::string> disabledPasses;
  /// A schedule to use instead of the default one; empty without.
  std::string schedule;
  /// The executable trains; else it decodes.
  bool training = false;
  /// How parameters change in training: an optimizer of the installation's, or
  /// an .mlir file of rules and groups. Empty: the model's own, or AdamW.
  std::string optimizer;
  /// The file that this means: see findOptimizer().
  std::string optimizerFile;
  /// Of a program that trains: what is computed again instead of kept.
  training::RecomputeMode recompute = training::RecomputeMode::none;
  /// Of a program that trains: what a run has resident, of each rank.
  std::optional<MemoryCap> memory;
  /// What trains instead of the model's own parameters.
  std::optional<LowRankAdapter> adapter;
  /// Losses are of pairs of answers, of which one is preferred (DPO), instead
  /// of each token by itself.
  bool prefers = false;
  /// Losses are divergences from a teacher (distillation), which names at most
  /// so many tokens of a row; 0: without one.
  int64_t teacherTokens = 0;
  /// By which a mixture's loss that balances experts is added; none for what
  /// its config says. And that of the size of routers' logits.
  std::optional<double> balanceLoss;
  double routerZLoss = 0;
  /// By which each step moves the biases that correct routers' choices; 0 for
  /// not at all.
  double routerBiasUpdate = 0;
  /// The ranks that run the program; none for one.
  std::vector<MeshAxis> mesh;
  /// Of what a parameter needs for training, how much every rank along the
  /// mesh's shard axis, or else its data axis, has only a part of: ZeRO's
  /// stage, 0 for nothing.
  int zero = 0;
  /// With zero 3: layers whose gathered weights are there at once, 2 to gather
  /// those of the next one while one computes.
  int gatheredLayers = 2;
  /// Whether ranks along the mesh's tensor axis have parts of what low-rank
  /// pairs of linears narrow, and add up narrow values; else of heads, of
  /// feed-forward layers, and of the vocabulary.
  bool shardsBottlenecks = false;
  /// Whether ranks along the mesh's tensor axis have some of a mixture's
  /// experts each, and of all else the usual parts.
  bool spreadsExperts = false;
  /// Whether ranks along the mesh's expert axis have sequences of their own,
  /// and send rows to experts of one another; else all have the same rows.
  bool exchangesExperts = false;
  /// Whether ranks along the mesh's tensor axis have parts of the rows that
  /// stacks carry.
  bool sequenceParallel = false;
  /// With stages, the schedule by which they run microbatches: see
  /// pipeline::makeSchedule().
  std::string pipeline;
  /// Microbatches of a step, where there are stages.
  int64_t microbatches = 1;
  /// Layers of each of the schedule's positions; none for even parts.
  std::vector<int64_t> pipelineCuts;
  /// With ranks along tensor axes, a plan that finds what they have parts of
  /// instead of the usual tactics, and what it says of itself.
  const planning::PlanRequest *plan = nullptr;
  planning::PlacementSummary *planned = nullptr;
  /// Folder that compiled kernels and objects, and what was measured of this
  /// machine, are kept in; empty: none are.
  std::string cache;
  bool quiet = false;
};

/// The stages of a pipeline; 1 without one.
int64_t countStages(const CompileOptions &options);

/// Sets `optimizerFile`; fails for a name that the installation does not have.
llvm::Error findOptimizer(CompileOptions &options,
                          const Installation &installation);

} // namespace baton::compiler

#endif // BATON_COMPILER_OPTIONS_H
