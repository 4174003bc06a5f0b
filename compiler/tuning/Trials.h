//===- Trials.h - schedules of a model, compiled and run here -------------===//

#ifndef BATON_COMPILER_TUNING_TRIALS_H
#define BATON_COMPILER_TUNING_TRIALS_H

#include "codegen/link/Scratch.h"
#include "compiler/Plan.h"
#include "compiler/Target.h"
#include "compiler/explain/Explanation.h"
#include "compiler/tuning/Search.h"

#include <chrono>
#include <functional>
#include <set>

namespace baton::tuning {

/// What is measured: a prompt, and tokens decoded after it.
struct Workload {
  int64_t prefill = 128, decode = 64;
  /// As many as the machine has, without.
  std::optional<unsigned> workers;
  /// A checkpoint's folder; random weights without.
  std::string weights;

  /// "a prompt of 128 tokens and 64 decoded after it".
  std::string text() const;
};

struct TrialsOptions {
  compiler::CompileOptions compile;
  Workload workload;
  /// A candidate whose prediction is so many times the best one's is not
  /// compiled.
  double prune = 1.25;
  std::chrono::steady_clock::time_point deadline;
  /// What errors call the schedule with alternatives.
  std::string name;
};

/// Every candidate is compiled from its schedule, so that it is proved, and run
/// once: its logits have to be the default's, bit for bit. Executables lie in a
/// folder beside the output until they are released.
class ScheduleTrials : public Trials {
public:
  ScheduleTrials(const TrialsOptions &options,
                 const compiler::Installation &installation,
                 llvm::ArrayRef<compiler::TargetDescription> targets,
                 const explain::Machine &machine, link::Scratch scratch)
      : options(options), installation(installation),
        targets(targets.begin(), targets.end()), machine(machine),
        scratch(std::move(scratch)) {}

  /// Compiles the default schedule, of which `plan` is, and runs it, first of
  /// all. Errors are of the model or the flags, not of a candidate.
  llvm::Error begin(compiler::Plan &plan);
  /// The schedule whose alternatives are tried.
  void setSpace(schedule::Alternatives given) { space = std::move(given); }

  llvm::Expected<Judgement> judge(const Chosen &candidate,
                                  const Chosen &best) override;
  llvm::Expected<Run> run(const Chosen &candidate) override;
  llvm::Expected<Run> runDefault() override { return runProgram("default"); }
  void release(const Chosen &candidate) override;
  bool expired() override {
    return std::chrono::steady_clock::now() > options.deadline;
  }

  /// Microseconds of the workload by explain's simulation.
  double predictedDefault() const { return defaultPrediction; }
  /// Whether a candidate that was judged has the default's plan.
  bool isDefault(const Chosen &candidate) const {
    return plans.count(candidate) && plans.at(candidate) == defaultPlan;
  }

private:
  /// Runs explain's simulation of the workload.
  double predict(compiler::Plan &plan) const;
  llvm::Expected<Run> runProgram(const std::string &name,
                                 const std::string &logits = "") const;
  /// Compiles a schedule to a program of that name, and compares its logits.
  /// Nothing is wrong with it where the text is empty.
  std::string admit(const std::string &schedule, const std::string &name);
  /// How the logits differ from the default's; empty where they do not.
  std::string compareLogits() const;
  std::string scheduleFile() const { return scratch.path("candidate.mlir"); }

  TrialsOptions options;
  const compiler::Installation &installation;
  std::vector<compiler::TargetDescription> targets;
  explain::Machine machine;
  link::Scratch scratch;
  std::optional<schedule::Alternatives> space;
  /// Runs of a process, of which the fastest counts.
  int64_t repeats = 2;
  double defaultPrediction = 0;
  std::string defaultPlan;
  /// By candidate: the plan's hash, and what explain predicts.
  std::map<Chosen, std::string> plans;
  std::map<Chosen, double> predictions;
  /// Of this race: whose a plan is.
  std::map<std::string, Chosen> known;
  std::set<Chosen> ready;
};

/// A name for a plan, of what is in it.
std::string planKey(const compiler::Plan &plan);

} // namespace baton::tuning

#endif // BATON_COMPILER_TUNING_TRIALS_H
