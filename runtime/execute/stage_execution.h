//===- stage_execution.h - a stage of a pipeline on the host's cores ------===//

#ifndef BATON_RUNTIME_EXECUTE_STAGE_EXECUTION_H
#define BATON_RUNTIME_EXECUTE_STAGE_EXECUTION_H

#include "runtime/execute/execution.h"
#include "runtime/execute/pipeline.h"
#include "runtime/execute/program_memory.h"
#include "runtime/execute/team.h"

#include <array>
#include <mutex>
#include <vector>

namespace baton {

/// Runs a rank's programs one after the other, by its schedule's table. The
/// workers stay in one loop all the time: whoever ends a program sets the next
/// one, which the others begin as they leave the border behind the one before.
class StageExecution : public Execution {
public:
  /// `parameters` is what BatonContext says, and outlives the execution.
  StageExecution(const Metadata &metadata, const void *const *parameters,
                 const ExecutionOptions &options);
  ~StageExecution() override;

  unsigned workers() const override { return team.size(); }
  /// What the rank's programs have in common.
  void *const *storages() const override { return shared_pointers.data(); }
  void *const *stage_storages(uint32_t chunk) const override {
    return stage_pointers[chunk].data();
  }
  std::span<const StageCall> calls() const override { return all_calls; }
  uint32_t place() const override { return own_place; }
  void start(StepDriver &driver, bool observed = false) override;
  void wait() override;

private:
  /// One run of a program. While the last worker leaves one, another one may be
  /// at the end of the next, and set the one after that: so there are three.
  struct Turn {
    StageExecution *self;
    /// Null ends the loop.
    void (*program)(BatonContext *context, uint32_t worker, uint32_t workers);
    BatonContext context;
    std::vector<void *> storages;
    /// For who watches.
    std::vector<TaskTouches::Used> used;
    /// The recorder's number of the turn's only step.
    uint32_t number;
  };

  static void advance(BatonContext *context, const BatonStep *current,
                      BatonStep *next, const float *logits, int64_t stride,
                      int64_t vocabulary);
  static void observe(BatonContext *context, uint32_t phase, uint32_t iteration,
                      const BatonStep *step);
  static void trace(BatonContext *context, const BatonWorker *worker,
                    const BatonStep *step, uint32_t phase, uint32_t iteration,
                    uint64_t task, uint64_t begin, uint64_t ready);
  static void exchange(BatonContext *context, uint32_t collective,
                       uint32_t iteration, const BatonExchange *tensors,
                       uint32_t count);
  static void message(BatonContext *context, uint32_t message,
                      const BatonMessage *tensors, uint32_t count);
  static Turn &turn_of(BatonContext *context) {
    return *static_cast<Turn *>(context->host);
  }

  bool ends_step(const BatonStep &step) const override {
    return step.call + 1 == all_calls.size();
  }
  void set(Turn &turn, const BatonStep &step);
  void enter(const Turn &turn, uint32_t number);
  void work(unsigned worker);

  const Pipeline pipeline;
  const uint32_t own_place;
  const StageLayout layout;
  const std::vector<StageCall> all_calls;
  HugeRegion region;
  std::byte *stage_memory, *flight_memory, *transient_memory;
  std::vector<void *> shared_pointers;
  std::vector<std::vector<void *>> stage_pointers;
  /// Event words and workers' memory.
  ProgramMemory memory;
  uint32_t event_origin;
  std::array<Turn, 3> turns;
  /// Turns that who watches knows of, counted from a start.
  std::mutex entering;
  uint32_t entered = 0;
  Team team;
};

} // namespace baton

/// The factory of programs for stages, on the CPU.
extern "C" baton::Execution *
baton_make_stage_execution(const baton::Metadata &metadata,
                           const baton::Parameters &parameters,
                           const baton::ExecutionOptions &options);

#endif // BATON_RUNTIME_EXECUTE_STAGE_EXECUTION_H
