//===- training_steps.cpp - all steps of a training run, on each rank -----===//

#include "runtime/main/training_steps.h"

#include "runtime/execute/execution.h"
#include "runtime/execute/machine_speed.h"
#include "runtime/files/temporary.h"
#include "runtime/main/frozen_weights.h"
#include "runtime/main/handshake.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/memory_check.h"
#include "runtime/main/non_finite.h"
#include "runtime/main/output.h"
#include "runtime/main/progress.h"
#include "runtime/main/rank_health.h"
#include "runtime/main/reference_pass.h"
#include "runtime/main/run_trace.h"
#include "runtime/main/trainer.h"
#include "runtime/main/validation.h"
#include "runtime/train/training_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace baton {

namespace {

/// What a checkpoint holds, as the program has it.
void fetch_state(const TrainingTensors &tensors) {
  tensors.fetch("parameter");
  tensors.fetch("optimizer");
}

/// The next multiple of `every`, 0 for none, that is at most the last step.
uint64_t next_stop(uint64_t step, uint64_t every, uint64_t last) {
  return every ? std::min(last, (step / every + 1) * every) : last;
}

/// What ranks have sent one another through channels: each message of each rank
/// that has sent some, which is one for each microbatch or step.
nlohmann::ordered_json message_traffic(Communicator &communicator) {
  nlohmann::ordered_json own = nlohmann::ordered_json::array();
  for (const Traffic &traffic : communicator.message_traffic())
    own.push_back({traffic.calls, traffic.payload});
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::vector<std::string> all =
      communicator.share(own.dump(), "the sum of all messages", 0);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    auto counted = nlohmann::ordered_json::parse(all[rank]);
    for (size_t i = 0; i < communicator.messages().size(); ++i) {
      const Message &message = communicator.messages()[i];
      uint64_t calls = counted[i][0];
      if (calls)
        list.push_back({{"name", message.name},
                        {"rank", rank},
                        {"direction", message.sends ? "send" : "receive"},
                        {"channel", message.channel},
                        {"calls", calls},
                        {"payload", counted[i][1].get<uint64_t>() / calls},
                        {"formula", message.payload}});
    }
  }
  return list;
}

/// A last line about what all ranks have exchanged.
void print_traffic(Communicator &communicator, const char *engine) {
  nlohmann::ordered_json own = nlohmann::ordered_json::array();
  for (const Traffic &traffic : communicator.traffic())
    own.push_back({traffic.calls, traffic.payload, traffic.sent});
  nlohmann::ordered_json messages;
  if (!communicator.messages().empty())
    messages = message_traffic(communicator);
  std::vector<nlohmann::ordered_json> all;
  for (const std::string &text :
       communicator.share(own.dump(), "the sum of the traffic", 0))
    all.push_back(nlohmann::ordered_json::parse(text));
  if (communicator.rank() != 0)
    return;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (size_t i = 0; i < communicator.collectives().size(); ++i) {
    const Collective &collective = communicator.collectives()[i];
    // Not all ranks have all programs.
    uint64_t calls = 0, payload = 0;
    nlohmann::ordered_json sent = nlohmann::ordered_json::array();
    for (const auto &rank : all) {
      sent.push_back(rank[i][2]);
      if (!calls) {
        calls = rank[i][0];
        payload = rank[i][1];
      }
    }
    list.push_back({{"name", collective.name},
                    {"kind", Collective::name_of(collective.kind)},
                    {"operation", collective.operation},
                    {"axes", collective.axes},
                    {"calls", calls},
                    {"payload", calls ? payload / calls : 0},
                    {"formula", collective.payload},
                    {"sent", std::move(sent)}});
  }
  nlohmann::ordered_json result = {{"engine", engine},
                                   {"ranks", communicator.size()},
                                   {"collectives", std::move(list)}};
  if (!messages.is_null())
    result["messages"] = std::move(messages);
  print(nlohmann::ordered_json{{"communication", std::move(result)}}.dump() +
        "\n");
}

/// A last line about what a run under a cap had in memory.
void print_tiers(const CappedRun &run, const PagedRegion &region) {
  nlohmann::ordered_json json = capped_run_json(run);
  json["peak_bytes"] = region.peak();
  json["fetched_bytes"] = region.fetched() * TieredLayers::chunk_bytes;
  json["arrived_bytes"] = region.arrivals() * TieredLayers::chunk_bytes;
  print(nlohmann::ordered_json{{"tiers", std::move(json)}}.dump() + "\n");
}

/// One rank's part of a run, or all of it.
class RankRun {
public:
  RankRun(const TrainingRun &run, Communicator *communicator, unsigned workers)
      : run(run), options(run.options), communicator(communicator),
        reports(!communicator || communicator->rank() == 0), workers(workers) {
    if (reports) {
      out.emplace(options.out, run.folder, options.keep,
                  options.resume ? RunStart::Continued : RunStart::New,
                  run.adapter);
      // What cannot be written is known before the steps.
      if (options.gradients)
        gradients.emplace(*options.gradients);
    }
    // Each rank's file of what is not in memory is made in the run's folder.
    if (!run.paged.storages.empty())
      wait_for_first("the run's folder");
    execution = make_execution(run.metadata, frozen,
                               {workers,
                                static_cast<uint32_t>(options.run.event_origin),
                                communicator,
                                {},
                                0,
                                run.paged,
                                run.capped ? &run.capped->tiered : nullptr});
    tensors.emplace(run.metadata, *execution,
                    communicator ? communicator->rank() : 0,
                    !run.paged.storages.empty());
    load(communicator && workers ? workers : chosen_workers(options.run));
    if (run.point)
      tensors->load_optimizer(*run.point->optimizer);
    if (communicator) {
      shake_hands(*communicator, identity(run, *tensors), stage_axis());
      compare_weights(*communicator, *tensors, stage_axis());
    }
    Progress progress("copying weights and states to the device",
                      options.run.quiet || !reports);
    tensors->send_state(
        [&](uint64_t done, uint64_t total) { progress.update(done, total); });
  }

  void steps();

private:
  /// The parameters that the run begins with.
  void load(unsigned threads);
  /// What the model says of all pairs, before the run's first step.
  void find_references();
  /// The axis whose ranks have different layers; empty without one.
  std::string stage_axis() const {
    std::optional<Pipeline> pipeline = Pipeline::parse(run.metadata.json);
    return pipeline ? pipeline->axis : "";
  }
  const Checkpoint *like() const { return checkpoint ? &*checkpoint : nullptr; }
  /// Throws when a signal has ended the program.
  void check_stopped() const;
  /// Returns when rank 0 has done what it does alone, however long that takes.
  void wait_for_first(const std::string &what);
  /// What of cut tensors rank 0 writes into a file of all ranks.
  PartsOfRanks parts_of_ranks(const std::string &what);
  void write_gradients(const StepReport &report);
  void validate(Trainer &trainer, Validation &validation);
  void explain(NonFiniteStep &failure);
  /// Throws when a tensor that a checkpoint would hold is not finite.
  void check_finite(const std::string &when);
  void save(uint64_t step, StepResults *results);

  const TrainingRun &run;
  const TrainOptions &options;
  Communicator *communicator;
  /// Whether this rank says and writes what comes of the run.
  const bool reports;
  std::optional<RunFolder> out;
  std::optional<SafetensorsWriter> gradients;
  const Parameters frozen = frozen_weights(run, communicator);
  std::unique_ptr<Execution> execution;
  std::optional<TrainingTensors> tensors;
  std::optional<Checkpoint> checkpoint;
  LossScale scale = run.scale;
  std::optional<Preferences> preferences;
  const unsigned workers;
};

void RankRun::load(unsigned threads) {
  using Of = TrainingTensors::Of;
  if (run.point)
    checkpoint = run.point->weights;
  else if (run.adapter && options.adapter)
    checkpoint = Checkpoint::open_file(*options.adapter, adapter_weights_name);
  else if (!run.adapter && options.run.weights)
    checkpoint = Checkpoint::open(run.folder);
  const Of trained = run.adapter ? Of::Adapter : Of::Model;
  if (checkpoint)
    tensors->load(*checkpoint, threads, trained);
  else
    tensors->initialize(options.init_seed.value_or(0), trained);
  if (!run.adapter)
    return;
  // What is not packed of what is frozen.
  if (run.base) {
    const Checkpoint model = Checkpoint::open(*run.base);
    tensors->load(model, threads);
    if (!checkpoint)
      tensors->initialize_magnitudes(model, threads);
  } else {
    tensors->initialize(options.init_seed.value_or(0));
  }
}

void RankRun::find_references() {
  if (!run.beta)
    return;
  preferences.emplace();
  preferences->beta = *run.beta;
  uint64_t count = 0;
  for (const TrainingData::Part &part : run.pairs)
    count += *part.documents;
  if (run.point) {
    preferences->references =
        read_references(options.out, count, run.batches.sample());
    return;
  }
  Progress progress("the reference's log-probabilities of " +
                        std::to_string(count) + " pairs",
                    options.run.quiet || !reports);
  ReferencePass pass(
      run.pairs, *tensors, batch_place(communicator),
      [&](uint64_t done, uint64_t total) { progress.update(done, total); });
  References found = pass.measure(*execution, communicator);
  check_stopped();
  preferences->references = std::move(found);
  if (reports)
    write_references(preferences->references, tensors->find("preferences").type,
                     run.batches.sample(), out->path());
  wait_for_first("the file of references");
}

void RankRun::check_stopped() const {
  if (communicator && execution->was_stopped())
    throw AgreedError("interrupted");
  if (!communicator)
    check_interrupted();
}

void RankRun::wait_for_first(const std::string &what) {
  if (communicator)
    communicator->barrier(what, Communicator::Patience::Endless);
}

PartsOfRanks RankRun::parts_of_ranks(const std::string &what) {
  // Of stages rank 0 has all.
  if (!communicator || !execution->calls().empty())
    return {};
  // Rank 0 may take long over what came before.
  return [this, what](const std::string &own) {
    return communicator->share(own, what, 0, Communicator::Patience::Endless);
  };
}

void RankRun::write_gradients(const StepReport &report) {
  tensors->fetch("gradient");
  if (communicator)
    tensors->collect(*communicator, "gradient");
  // Powers of two round nothing.
  std::vector<TensorSource> sources =
      tensors->sources(like(), "gradient", 1 / report.loss_scale.value_or(1),
                       parts_of_ranks("the file of gradients"));
  if (!gradients)
    return give_parts(sources);
  gradients->write(sources);
  gradients->publish();
  tensors->release();
  if (report.skipped)
    std::fprintf(stderr,
                 "warning: --gradients: step %llu was skipped; its gradients "
                 "are not finite\n",
                 static_cast<unsigned long long>(report.step));
}

void RankRun::validate(Trainer &trainer, Validation &validation) {
  double loss = validation.measure(*execution);
  check_stopped();
  if (!std::isfinite(loss))
    throw NonFiniteStep(trainer.step, NonFiniteStep::Number::ValidationLoss);
  trainer.report.validation_loss = loss;
}

void RankRun::explain(NonFiniteStep &failure) {
  fetch_state(*tensors);
  check_finite(failure.what() + std::string(": "));
  failure.parameters = copy_parameters(*tensors);
  failure.preferences = preferences;
  failure.distillation = run.distillation ? &*run.distillation : nullptr;
}

void RankRun::check_finite(const std::string &when) {
  auto found = find_non_finite(*tensors, like());
  if (!communicator) {
    if (found)
      throw Error(when + *found);
    return;
  }
  for (const std::string &text :
       communicator->share(found.value_or(""), "a look at the parameters"))
    if (!text.empty())
      throw AgreedError(when + text);
}

void RankRun::save(uint64_t step, StepResults *results) {
  if (results)
    results->log.clear();
  fetch_state(*tensors);
  check_finite("step " + std::to_string(step) + ": after its update ");
  if (communicator)
    compare_weights(*communicator, *tensors, stage_axis());
  if (communicator) {
    tensors->collect(*communicator, "parameter");
    tensors->collect(*communicator, "optimizer");
  }
  PartsOfRanks parts = parts_of_ranks("a checkpoint");
  if (!results) {
    give_parts(tensors->sources(like(), "parameter", 1, parts));
    give_parts(tensors->optimizer(parts));
  } else {
    results->history.write();
    TrainingState reached{step, run.state.seed,
                          run.batches.first_sequence(step), run.state.extra};
    if (scale.is_dynamic())
      reached.extra["loss_scale"] = scale.state();
    out->save(reached, tensors->sources(like(), "parameter", 1, parts),
              tensors->optimizer(parts));
  }
  tensors->release();
  wait_for_first("a checkpoint");
}

void RankRun::steps() {
  std::unique_ptr<StepResults> results;
  if (reports)
    results.reset(
        new StepResults{StepLog(options.steps, options.run.quiet, print),
                        LossHistory(out->path(), run.state.step),
                        {},
                        0});
  if (results && options.tensorboard)
    results->events.emplace(out->path(), run.state.step + 1);
  // It takes a while, and nobody else sees what comes of it.
  if (results && (results->log.has_progress() || results->events) &&
      run.metadata.device.is_null() && row_flops(run.metadata) > 0 &&
      compute_type(run.metadata) != "f64")
    results->peak =
        measure_arithmetic_peak(workers ? workers : chosen_workers(options.run),
                                limits_of(run.metadata).products);
  // A signal that stops one rank stops all.
  std::optional<Interruptible> interruptible;
  if (!communicator || communicator->hears_signals())
    interruptible.emplace(execution->stop);
  find_references();
  const Comparison comparison = {preferences ? &*preferences : nullptr,
                                 run.distillation ? &*run.distillation
                                                  : nullptr};
  std::optional<RankHealth> health;
  if (communicator && options.health)
    health.emplace(run, *communicator, *tensors,
                   results ? &results->log : nullptr,
                   results ? &out->path() : nullptr);
  Trainer trainer(run, *tensors, scale, execution->calls(), communicator,
                  results.get(), comparison, health ? &*health : nullptr);
  trainer.step = run.state.step;
  RunTrace trace(run.metadata, options.run, *execution, communicator);
  MemoryCheck memory(run.metadata, options.run, *execution, communicator);
  Validation validation(run.metadata.json, run.batches, *tensors,
                        execution->calls(), batch_place(communicator),
                        comparison);
  while (trainer.step < options.steps) {
    uint64_t save_at =
        next_stop(trainer.step, options.save_every, options.steps);
    uint64_t validate_at =
        next_stop(trainer.step, options.validate_every, options.steps);
    trainer.end = std::min(save_at, validate_at);
    try {
      execution->run(trainer);
      check_stopped();
      if (options.gradients && trainer.step == options.steps) {
        write_gradients(trainer.report);
        wait_for_first("the file of gradients");
      }
      if (options.validate_every && trainer.step == validate_at)
        validate(trainer, validation);
    } catch (NonFiniteStep &failure) {
      explain(failure);
      throw;
    }
    trainer.add(trainer.report);
    if (trainer.step == save_at)
      save(trainer.step, results.get());
  }
  memory.publish();
  trace.publish();
  if (options.run.trace)
    wait_for_first("the file of the trace");
  if (run.capped && options.json)
    print_tiers(*run.capped, *execution->paged_region());
  if (communicator && options.json)
    print_traffic(*communicator, run.metadata.device.is_null()
                                     ? communicator->engine()
                                     : "nccl");
}

} // namespace

void run_steps(const TrainingRun &run, Communicator *communicator,
               unsigned workers) {
  std::optional<NonFiniteStep> failure;
  try {
    RankRun(run, communicator, workers).steps();
  } catch (const NonFiniteStep &found) {
    // The memory of the run is free again before the step runs once more.
    failure = found;
  }
  if (!failure)
    return;
  std::string text = explain_non_finite(run, *failure, communicator);
  if (communicator)
    throw AgreedError(text);
  throw Error(text);
}

} // namespace baton
