//===- Target.h - what programs are compiled for --------------------------===//
//
// A target is a folder of compiler/targets: how --target names it, the
// description of its tiles, what it refuses, and how plans become code there.
// The rest of the compiler asks, and knows none by its name.
// docs/adding-a-target.md goes through it step by step.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_TARGET_H
#define BATON_COMPILER_TARGET_H

#include "codegen/cpu/Emit.h"
#include "codegen/plan/ProgramLayout.h"
#include "compiler/Installation.h"
#include "compiler/Options.h"
#include "compiler/TargetDescription.h"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace baton::compiler {

/// What a flag asks for that not every target has.
enum class Feature {
  /// --launch=graph: a step runs as kernels of a graph.
  graph,
  /// --cublaslt: a library computes products of many rows.
  cublasLt,
  /// --exchanges=overlapped: NCCL exchanges tensors beside the kernel.
  nccl,
  /// --mesh=pp=N: ranks are stages of a pipeline.
  pipeline,
  /// --max-batch: steps of several sequences.
  batches,
  /// --offload: layers come from a file while a step runs.
  offloading,
  /// --activations=bf16 and its like: products of BF16 numbers.
  roundedInputs,
  /// --gathered-layers=2: a layer's weights are gathered while the layer before
  /// computes.
  gatheringAhead,
  /// --memory: what layers have is in a file, and tasks fetch it.
  tiers
};

/// Whether sums of products of BF16 are to be AMX's: because --activations
/// names it, or because it names none and the CPU has it.
llvm::Expected<bool> sumsByAmx(const CompileOptions &options);

/// What a target makes of a plan.
struct Code {
  /// What --emit asked for, where that is a text.
  std::optional<std::string> text;
  /// To link, in this order; --emit=object writes the first.
  std::vector<llvm::SmallVector<char, 0>> objects;
  /// What it runs on, as the line about a compilation has it.
  std::string machine;
  /// What that line says was compiled before; empty where something was not.
  std::string cached;

  /// Compiles `module` for the host.
  llvm::Error addObject(llvm::Module &module, const cpu::Target &host,
                        int optimization);
};

class Target {
public:
  virtual ~Target() = default;

  /// What --target is for it; "cuda:..." answers to all that begins with
  /// "cuda:". Where two answer, the one that was there first is found.
  virtual std::string name() const = 0;
  /// Such names, for the error about one that is unknown.
  virtual std::string examples() const { return name(); }
  /// The same for --help, where they may be explained.
  virtual std::string help() const { return examples(); }
  bool answersTo(llvm::StringRef name) const;

  /// The file of the installation's targets/ that has its tile sizes.
  virtual std::string description() const = 0;
  /// That file's path, or what --target-file says.
  std::string descriptionFile(const CompileOptions &options,
                              const Installation &installation) const;
  /// Reads it: a description for each program of an executable.
  virtual llvm::Expected<std::vector<TargetDescription>>
  describe(const CompileOptions &options,
           const Installation &installation) const;
  /// Whether programs run on the cores of the machine that compiles, so that
  /// it can be measured.
  virtual bool runsOnHost() const { return false; }
  /// An error unless this machine can say how fast programs are.
  virtual llvm::Error checkMeasurable(const CompileOptions &options) const {
    return llvm::Error::success();
  }
  /// Whether an executable may have programs for steps of few rows besides.
  virtual bool choosesByRows() const { return false; }

  virtual bool has(Feature feature) const = 0;
  /// An error for the first stage of --emit that it has not, or combination of
  /// options that it cannot compile. Nothing was read before, so that an error
  /// costs no time.
  virtual llvm::Error check(const CompileOptions &options) const = 0;

  /// Makes the stage of `options` of proved plans, of one model: description or
  /// one after it. `metadata` is what an executable says of itself, to which a
  /// target may add. `host` is the machine that runs all but kernels.
  virtual llvm::Expected<Code>
  emit(llvm::ArrayRef<plan::ProgramLayout> layouts, nlohmann::json &metadata,
       const CompileOptions &options,
       llvm::ArrayRef<TargetDescription> descriptions, const cpu::Target &host,
       const Installation &installation) const = 0;
  /// What its executables link behind their objects, users before what they
  /// use.
  virtual std::vector<std::string>
  archives(const CompileOptions &options,
           const Installation &installation) const;

protected:
  /// The entry of the description's "architectures" that a name means; nothing
  /// for a target without.
  virtual std::optional<std::string>
  architecture(llvm::StringRef target) const {
    return std::nullopt;
  }
};

} // namespace baton::compiler

#endif // BATON_COMPILER_TARGET_H
