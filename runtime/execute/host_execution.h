//===- host_execution.h - a program that runs on the host's cores --------===//

#ifndef BATON_RUNTIME_EXECUTE_HOST_EXECUTION_H
#define BATON_RUNTIME_EXECUTE_HOST_EXECUTION_H

#include "runtime/execute/execution.h"
#include "runtime/execute/program_memory.h"
#include "runtime/execute/team.h"
#include "runtime/program.h"

#include <vector>

namespace baton {

/// One of an executable's programs, with what it needs.
struct HostProgram {
  void (*run)(BatonContext *context, uint32_t worker, uint32_t workers);
  /// What it computes in; of a rank, the bytes of its own.
  std::vector<StorageDescription> storages;
  /// What its tasks know of a rank's place (comm/shards.h); null for nothing.
  nlohmann::json places;
};

/// Workers are threads: at most max_workers of them.
class HostExecution : public Execution {
public:
  /// The executable's only program. `parameters` is what BatonContext says, and
  /// outlives the execution.
  HostExecution(const Metadata &metadata, const void *const *parameters,
                const ExecutionOptions &options);
  HostExecution(const Metadata &metadata, const void *const *parameters,
                const ExecutionOptions &options, const HostProgram &program);
  ~HostExecution() override;

  unsigned workers() const override { return team.size(); }
  void *const *storages() const override { return memory.storages(); }
  const PagedRegion *paged_region() const override { return memory.paged(); }
  std::optional<LayerTraffic> layer_traffic() const override;
  void start(StepDriver &driver, bool observed = false) override;
  void wait() override;

  /// What a task says that it touches of a state in pages; see
  /// baton_declare_pages.
  struct PagedBox {
    const char *buffer;
    uint32_t number, storage;
    bool writes;
    const void *first;
    int64_t begin, end, heads, width, columns, element_bytes, page_bytes;
  };
  void declare_pages(const PagedBox &box) const;

private:
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
  static void tier(BatonContext *context, uint32_t phase, uint32_t layer);

  void (*const program)(BatonContext *context, uint32_t worker,
                        uint32_t workers);
  const std::vector<StorageDescription> own_storages;
  ProgramMemory memory;
  const TieredRun *const tiered;
  std::vector<int32_t> tokens;
  uint32_t event_origin;
  BatonContext context = {};
  /// The recorder's numbers of the context's steps.
  uint32_t numbers[2] = {};
  std::unique_ptr<LayerArrivals> arrivals;
  Team team;
};

} // namespace baton

/// The factory of programs for the CPU; and of those whose ranks are stages
/// that each run one of several.
extern "C" baton::Execution *
baton_make_host_execution(const baton::Metadata &metadata,
                          const baton::Parameters &parameters,
                          const baton::ExecutionOptions &options);
extern "C" baton::Execution *
baton_make_decoding_stage(const baton::Metadata &metadata,
                          const baton::Parameters &parameters,
                          const baton::ExecutionOptions &options);

#endif // BATON_RUNTIME_EXECUTE_HOST_EXECUTION_H
