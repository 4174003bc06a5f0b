//===- compile_flags.h - flags that every command of batonc takes ---------===//

#ifndef BATON_TOOLS_BATONC_COMPILE_FLAGS_H
#define BATON_TOOLS_BATONC_COMPILE_FLAGS_H

#include "compiler/Options.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace baton::tools {

/// A flag of the contract of which only some values are built.
struct Choice {
  const char *flag;
  std::string value;
  std::vector<std::string> built, later;

  /// An error line for a value that is not built or unknown, or nothing.
  std::string check() const;
};

/// MODEL, and how to compile it.
class CompileFlags {
public:
  /// Adds the flags to a command line. The object outlives its parsing.
  void addTo(CLI::App &app);

  /// Fills in the options, or returns an error line.
  std::string finish(compiler::CompileOptions &options);

  /// What --plan wants the program's train to be told; empty without a plan.
  const std::string &plannedRun() const { return planned; }

private:
  /// What code is made of what.
  void addCodeFlags(CLI::App &app);
  /// What the program does.
  void addProgramFlags(CLI::App &app);
  void addBatchFlags(CLI::App &app);
  void addRankFlags(CLI::App &app);

  /// Whether --schedule names a file.
  bool schedules() const {
    return llvm::StringRef(order.value).ends_with(".mlir");
  }
  std::string checkChoices() const;
  void fill(compiler::CompileOptions &options) const;

  std::string finishMesh(compiler::CompileOptions &options) const;
  std::string finishExchanges(compiler::CompileOptions &options) const;
  std::string finishTensors(compiler::CompileOptions &options) const;
  std::string finishExperts(compiler::CompileOptions &options) const;
  std::string finishSequences(compiler::CompileOptions &options) const;
  std::string finishParts(compiler::CompileOptions &options) const;
  std::string finishBatch(compiler::CompileOptions &options) const;
  std::string finishAdapters(compiler::CompileOptions &options) const;
  std::string finishMode(compiler::CompileOptions &options) const;
  std::string finishPasses(compiler::CompileOptions &options) const;
  /// What a run may have resident, once mesh and mode are known.
  std::string finishMemory(compiler::CompileOptions &options) const;
  std::string finishUsualMemory(compiler::CompileOptions &options) const;

  /// The same for a pipeline's schedule, once the mesh is known.
  std::string finishPipeline(compiler::CompileOptions &options) const;

  CLI::App *app = nullptr;
  std::string model, targetCpu = "native", targetFile, plan, planned;
  Choice mode{"--mode", "decode", {"decode", "train"}, {"score"}};
  std::string target = "cpu";
  Choice launch{"--launch", "persistent", {"persistent", "graph"}, {}};
  Choice cublasLt{"--cublaslt", "auto", {"auto", "never", "always"}, {}};
  Choice exchanges{"--exchanges", "borders", {"borders", "overlapped"}, {}};
  CLI::Option *ncclOption = nullptr;
  int64_t ncclMultiprocessors = 8;
  Choice kvType{"--kv-type", "f32", {"f32", "bf16", "int8", "fp8"}, {}};
  Choice activations{"--activations",
                     "f32",
                     {"f32", "bf16", "bf16-avx512", "bf16-amx", "int8"},
                     {}};
  Choice dtype{"--dtype", "auto", {"auto", "f32", "bf16", "f16", "f64"}, {}};
  Choice order{
      "--schedule", "auto", {"auto", "static", "FILE.mlir"}, {"dynamic"}};
  Choice optimize{"--optimize", "3", {"1", "2", "3"}, {}};
  Choice sanitize{"--sanitize", "", {"", "thread", "address"}, {}};
  CLI::Option *maxSeqOption = nullptr;
  CLI::Option *microbatchesOption = nullptr;
  CLI::Option *maxBatchOption = nullptr;
  CLI::Option *maxRowsOption = nullptr;
  CLI::Option *maxOutputsOption = nullptr;
  int64_t maxSeq = 0, maxBatch = 0, maxRows = 0, maxOutputs = 0;
  CLI::Option *maxAdaptersOption = nullptr;
  CLI::Option *adapterRankOption = nullptr;
  CLI::Option *adapterTargetsOption = nullptr;
  int64_t maxAdapters = 0, adapterRank = 16;
  std::vector<std::string> adapterTargets;
  Choice adapterType{"--adapter-type", "f32", {"f32", "bf16"}, {}};
  int64_t microbatches = 0;
  bool sequenceParallel = false;
  Choice tensorParallel{"--tensor-parallel",
                        "megatron",
                        {"megatron", "bottleneck", "experts"},
                        {}};
  Choice expertParallel{
      "--expert-parallel", "replicated", {"replicated", "all-to-all"}, {}};
  Choice zero{"--zero", "0", {"0", "1", "2", "3"}, {}};
  Choice gatheredLayers{"--gathered-layers", "", {"", "1", "2"}, {}};
  Choice recompute{"--recompute", "none", {"none", "selective", "full"}, {}};
  CLI::Option *slotsOption = nullptr;
  std::string memory;
  compiler::UsualMemory usualMemory;
  int64_t slots = 1;
  Choice loss{
      "--loss", "cross-entropy", {"cross-entropy", "dpo", "distill"}, {}};
  CLI::Option *teacherOption = nullptr;
  std::string teacherTokens;
  CLI::Option *balanceLossOption = nullptr;
  CLI::Option *routerZLossOption = nullptr;
  CLI::Option *routerBiasOption = nullptr;
  double balanceLoss = 0, routerZLoss = 0, routerBiasUpdate = 0;
  std::string mesh, sharding, pipeline, optimizer, adapter;
  std::vector<int64_t> pipelineCuts;
  std::vector<std::string> disabled;
  bool batchInvariant = false, embeddings = false, offload = false;
  bool noCache = false;
  bool quiet = false;
};

} // namespace baton::tools

#endif // BATON_TOOLS_BATONC_COMPILE_FLAGS_H
