//===- stage_execution.cpp - a stage of a pipeline on the host's cores ----===//

#include "runtime/execute/stage_execution.h"

#include "runtime/comm/job_end.h"
#include "runtime/comm/shards.h"
#include "runtime/error.h"
#include "runtime/execute/amx.h"

#include <algorithm>
#include <stdexcept>

/// The executable's programs, in the description's order.
extern "C" void (*const baton_programs[])(BatonContext *context,
                                          uint32_t worker, uint32_t workers);

namespace baton {

namespace {

Pipeline pipeline_of(const Metadata &metadata) {
  std::optional<Pipeline> pipeline = Pipeline::parse(metadata.json);
  if (!pipeline)
    throw Error("this program's description is damaged: it has no pipeline");
  return *pipeline;
}

uint32_t place_of(const Pipeline &pipeline, const ExecutionOptions &options) {
  if (!options.communicator)
    throw std::logic_error("a stage runs with others");
  return pipeline.place_of(options.communicator->mesh(),
                           options.communicator->rank());
}

HugeRegion reserve(const StageLayout &layout) {
  try {
    return HugeRegion(layout.bytes());
  } catch (const Error &) {
    throw Error("cannot reserve " + std::to_string(layout.bytes()) +
                " bytes of memory for the stage; make stages of fewer layers, "
                "with more of --mesh=pp, or microbatches of fewer tokens");
  }
}

/// Its storages are the stage's own.
Metadata without_storages(Metadata metadata) {
  metadata.storages.clear();
  return metadata;
}

} // namespace

StageExecution::StageExecution(const Metadata &metadata,
                               const void *const *parameters,
                               const ExecutionOptions &options)
    : Execution(metadata, options.communicator),
      pipeline(pipeline_of(metadata)), own_place(place_of(pipeline, options)),
      layout(pipeline, own_place), all_calls(pipeline.calls(own_place)),
      region(reserve(layout)),
      memory(without_storages(metadata), options.workers),
      event_origin(options.event_origin), team(options.workers) {
  require_amx(metadata);
  stage_memory = region.data() + layout.shared_bytes;
  flight_memory = stage_memory + layout.stage_bytes;
  transient_memory = flight_memory + layout.flight_bytes * layout.slots;
  shared_pointers.resize(metadata.storages.size());
  for (const StageLayout::Region &shared : layout.shared)
    shared_pointers[shared.storage] = region.data() + shared.begin;
  stage_pointers.assign(pipeline.chunks,
                        std::vector<void *>(metadata.storages.size()));
  for (const StageLayout::Region &stage : layout.stage)
    stage_pointers[stage.chunk][stage.storage] = stage_memory + stage.begin;
  write_places(metadata.json.value("places", nlohmann::json()),
               communicator->mesh(), communicator->rank(),
               shared_pointers.data());
  for (Turn &turn : turns) {
    turn.self = this;
    turn.storages.resize(metadata.storages.size());
    BatonContext &context = turn.context = {};
    context.parameters = parameters;
    context.storages = turn.storages.data();
    context.events = memory.events();
    context.workers = memory.workers();
    context.advance = &StageExecution::advance;
    context.exchange = &StageExecution::exchange;
    context.message = &StageExecution::message;
    context.host = &turn;
  }
}

StageExecution::~StageExecution() {
  stop = true;
  team.wait();
}

/// Makes a turn the run of a step's program.
void StageExecution::set(Turn &turn, const BatonStep &step) {
  using Scope = StorageUse::Scope;
  turn.program = nullptr;
  if (step.rows == 0)
    return;
  const StageCall &call = all_calls.at(step.call);
  const std::vector<StorageUse> &uses = pipeline.uses[call.program];
  for (size_t i = 0; i < uses.size(); ++i) {
    const StorageUse &use = uses[i];
    void *&pointer = turn.storages[use.storage];
    if (use.scope == Scope::Transient) {
      pointer = transient_memory + layout.transient[call.program][i];
    } else if (use.scope == Scope::Rank) {
      uint64_t index = use.slot == "microbatch" ? call.microbatch.value_or(0)
                       : use.slot == "chunk"    ? call.chunk
                                                : 0;
      pointer = static_cast<std::byte *>(shared_pointers[use.storage]) +
                index * use.bytes;
    } else if (use.slot == "flight") {
      pointer = flight_memory + call.slot * layout.flight_bytes +
                StageLayout::find(layout.flight, use.storage, call.chunk).begin;
    } else {
      pointer = stage_pointers[call.chunk][use.storage];
    }
  }
  turn.context.steps[0] = step;
  turn.context.steps[1] = {};
  turn.context.border = 0;
  turn.number = recorded;
  turn.program = baton_programs[call.program];
  turn.used.clear();
  for (const StorageUse &use : uses)
    if (touches)
      turn.used.push_back(
          {use.storage, use.bytes,
           use.scope == Scope::Transient || use.slot == "flight"});
}

/// Tells who watches, once, that the turn's tasks are the next ones. A turn is
/// set while tasks of the one before still run, and entered by the first worker
/// that has left the border between both.
void StageExecution::enter(const Turn &turn, uint32_t number) {
  std::lock_guard lock(entering);
  if (entered != number)
    return;
  touches->enter(turn.storages.data(), turn.used);
  ++entered;
}

void StageExecution::work(unsigned worker) {
  for (uint32_t number = 0;; ++number) {
    Turn &turn = turns[number % turns.size()];
    if (!turn.program)
      return;
    if (touches)
      enter(turn, number);
    turn.program(&turn.context, worker, team.size());
  }
}

void StageExecution::start(StepDriver &next_driver, bool observed) {
  team.wait();
  if (observed && workers() != 1)
    throw std::logic_error("only one worker can be observed");
  driver = &next_driver;
  entered = 0;
  memory.reset_events(event_origin);
  for (Turn &turn : turns) {
    turn.context.observe = observed ? &StageExecution::observe : nullptr;
    turn.context.trace = recorder ? &StageExecution::trace : nullptr;
    turn.context.touches = touches;
  }
  set(turns[0], first_step({}));
  if (turns[0].program)
    team.start([this](unsigned worker) { work(worker); });
}

void StageExecution::wait() {
  team.wait();
  // Numbers that are not finite may come of it.
  if (touches)
    touches->check();
  rethrow();
}

// The callbacks are called from compiled code, through which no exception may
// pass.

/// The program itself ends: its next step has no rows.
void StageExecution::advance(BatonContext *context, const BatonStep *current,
                             BatonStep *, const float *logits, int64_t stride,
                             int64_t vocabulary) {
  Turn &turn = turn_of(context);
  StageExecution &self = *turn.self;
  size_t number = static_cast<size_t>(&turn - self.turns.data());
  self.set(self.turns[(number + 1) % self.turns.size()],
           self.next_step(*current, {logits, stride, vocabulary}));
}

void StageExecution::observe(BatonContext *context, uint32_t phase,
                             uint32_t iteration, const BatonStep *step) {
  turn_of(context).self->show(*step, phase, iteration, context->storages);
}

void StageExecution::trace(BatonContext *context, const BatonWorker *worker,
                           const BatonStep *, uint32_t phase,
                           uint32_t iteration, uint64_t task, uint64_t begin,
                           uint64_t ready) {
  auto index = static_cast<unsigned>(worker - context->workers);
  const Turn &turn = turn_of(context);
  turn.self->recorder->record(index, turn.number, phase, iteration, task, begin,
                              ready);
}

void StageExecution::exchange(BatonContext *context, uint32_t collective,
                              uint32_t iteration, const BatonExchange *tensors,
                              uint32_t count) {
  Communicator &communicator = *turn_of(context).self->communicator;
  try {
    communicator.exchange(collective, iteration, {tensors, count});
    TaskTouches::fill();
  } catch (const std::exception &failure) {
    // Other workers wait for what will never come.
    end_job(communicator, failure.what());
  }
}

void StageExecution::message(BatonContext *context, uint32_t message,
                             const BatonMessage *tensors, uint32_t count) {
  Communicator &communicator = *turn_of(context).self->communicator;
  try {
    communicator.message(message, {tensors, count});
    TaskTouches::fill();
  } catch (const std::exception &failure) {
    end_job(communicator, failure.what());
  }
}

} // namespace baton

baton::Execution *
baton_make_stage_execution(const baton::Metadata &metadata,
                           const baton::Parameters &parameters,
                           const baton::ExecutionOptions &options) {
  if (options.workers > baton::max_workers)
    throw baton::Error("--workers: " + std::to_string(options.workers) +
                       " is not between 1 and " +
                       std::to_string(baton::max_workers));
  return new baton::StageExecution(metadata, parameters.table(), options);
}
