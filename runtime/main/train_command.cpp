//===- train_command.cpp - trains the model -------------------------------===//

#include "runtime/main/commands.h"

#include "runtime/decode/execution.h"
#include "runtime/decode/memory_guard.h"
#include "runtime/error.h"
#include "runtime/files/temporary.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/non_finite.h"
#include "runtime/main/output.h"
#include "runtime/main/progress.h"
#include "runtime/main/run_settings.h"
#include "runtime/main/run_trace.h"
#include "runtime/main/validation.h"
#include "runtime/main/weights.h"
#include "runtime/train/batches.h"
#include "runtime/train/dataset.h"
#include "runtime/train/learning_rate.h"
#include "runtime/train/loss_history.h"
#include "runtime/train/loss_scale.h"
#include "runtime/train/optimizer_numbers.h"
#include "runtime/train/run_folder.h"
#include "runtime/train/step_inputs.h"
#include "runtime/train/step_log.h"
#include "runtime/train/training_tensors.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace baton {

namespace {

using Clock = std::chrono::steady_clock;

/// Feeds the program with microbatches, until a step that something is due
/// after: a checkpoint, or a validation.
class Trainer : public StepDriver {
public:
  Trainer(const TrainOptions &options, const Batches &batches,
          const LearningRateSchedule &schedule,
          const OptimizerNumbers &optimizer, TrainingTensors &tensors,
          LossScale &scale, StepLog &log, LossHistory &history)
      : options(options), batches(batches), schedule(schedule),
        optimizer(optimizer), scale(scale), log(log), history(history),
        inputs(tensors), numbers(tensors.find("numbers")) {}

  /// Steps that are finished, and where the next run ends.
  uint64_t step = 0, end = 0;
  /// Watches phases, if there is one.
  MemoryGuard *guard = nullptr;
  /// Of the last step, which whoever stopped there hands to add().
  StepReport report;

  void observe(const BatonStep &, uint32_t phase, uint32_t iteration,
               void *const *) override {
    guard->passed(phase, iteration);
  }

  void add(const StepReport &finished) {
    log.add(finished);
    history.add(finished);
  }

  BatonStep begin(std::span<int32_t>) override {
    microbatch = 0;
    loss = 0;
    started = Clock::now();
    return prepare();
  }

  BatonStep advance(const BatonStep &current, const Logits &summary) override {
    loss += real_at(summary.data, numbers.type, 0);
    double norm = real_at(summary.data, numbers.type, 1);
    if (!std::isfinite(loss))
      throw NonFiniteStep(step + 1, NonFiniteStep::Number::Loss);
    if (!current.outputs) {
      ++microbatch;
      return prepare();
    }
    const bool skips = !std::isfinite(norm);
    const double scaled_by = scale.value();
    if (!scale.finished(!skips))
      throw NonFiniteStep(step + 1, NonFiniteStep::Number::GradientNorm);
    Clock::time_point now = Clock::now();
    double seconds = std::chrono::duration<double>(now - started).count();
    const BatchShape &shape = batches.shape();
    report = {step + 1, loss, norm, learning_rate(schedule, step),
              double(shape.sequences_per_step() * shape.length) / seconds};
    report.skipped = skips;
    if (scale.is_dynamic())
      report.loss_scale = scaled_by;
    started = now;
    ++step;
    microbatch = 0;
    loss = 0;
    if (step == end)
      return {};
    add(report);
    return prepare();
  }

private:
  BatonStep prepare() {
    uint64_t place = 0;
    for (double value :
         optimizer.values({step + 1 - scale.skipped(),
                           learning_rate(schedule, step), options.clip}))
      set_real(numbers.data, numbers.type, place++, value);
    bool updates = microbatch + 1 == batches.shape().accumulation;
    return inputs.fill(batches, step, microbatch, updates, scale.value());
  }

  const TrainOptions &options;
  const Batches &batches;
  const LearningRateSchedule &schedule;
  const OptimizerNumbers &optimizer;
  LossScale &scale;
  StepLog &log;
  LossHistory &history;
  StepInputs inputs;
  const TrainingTensor &numbers;
  uint64_t microbatch = 0;
  double loss = 0;
  Clock::time_point started;
};

/// A guard of the execution's memory.
std::unique_ptr<MemoryGuard> watch(const Metadata &metadata,
                                   const Execution &execution) {
  if (!execution.storages())
    throw Error("--check-memory: the program runs on a device; compile it with "
                "--target=cpu");
  if (execution.workers() != 1)
    throw Error("--check-memory: several workers run several phases at a time; "
                "give --workers 1");
  try {
    return std::make_unique<MemoryGuard>(metadata, execution.storages());
  } catch (const Error &error) {
    throw Error("--check-memory: " + std::string(error.what()));
  }
}

void write_touched(MemoryGuard &guard, const std::string &path) {
  nlohmann::ordered_json storages = nlohmann::ordered_json::array();
  uint64_t planned = 0, touched = 0;
  for (const MemoryGuard::Storage &storage : guard.touched()) {
    planned += storage.planned;
    touched += storage.touched;
    storages.push_back({{"name", storage.name},
                        {"planned", storage.planned},
                        {"touched", storage.touched}});
  }
  std::string text = nlohmann::ordered_json{{"planned", planned},
                                            {"touched", touched},
                                            {"storages", std::move(storages)}}
                         .dump(1) +
                     "\n";
  TemporaryFile file(path);
  file.write(text.data(), text.size(), 0);
  file.publish();
}

/// The folder whose config and tokenizer the model has.
std::filesystem::path model_folder(const TrainOptions &options) {
  if (options.init_seed.has_value() == options.run.weights.has_value())
    throw Error("give --weights DIR to begin with, or --init-seed S for random "
                "weights; one of the two");
  if (options.run.weights) {
    if (options.model)
      throw Error("--model is for --init-seed; --weights names the model");
    return weights_folder(options.run);
  }
  if (!options.model)
    throw Error("--init-seed: --model DIR has to say which folder's "
                "config.json goes with the checkpoints");
  std::error_code failure;
  if (!std::filesystem::is_directory(*options.model, failure))
    throw Error("--model: " + *options.model + ": no such folder");
  return *options.model;
}

BatchShape batch_shape(const Metadata &metadata, const TrainOptions &options) {
  uint64_t longest = longest_sequence(metadata);
  uint64_t length = options.sequence
                        ? options.sequence
                        : std::min<uint64_t>({longest, 256, metadata.max_rows});
  if (length > longest)
    throw Error("--seq " + std::to_string(length) +
                ": the model takes sequences of at most " +
                std::to_string(longest) + " tokens");
  if (options.batch > metadata.max_rows / length)
    throw Error("--batch " + std::to_string(options.batch) + " with --seq " +
                std::to_string(length) + ": a step takes at most " +
                std::to_string(metadata.max_rows) +
                " tokens; --accumulate makes one of several");
  return {options.batch, length, options.accumulate};
}

/// What a checkpoint holds, as the program has it.
void fetch_state(const TrainingTensors &tensors) {
  tensors.fetch("parameter");
  tensors.fetch("optimizer");
}

/// The next multiple of `every`, 0 for none, that is at most the last step.
uint64_t next_stop(uint64_t step, uint64_t every, uint64_t last) {
  return every ? std::min(last, (step / every + 1) * every) : last;
}

LossScale loss_scale(const Metadata &metadata, const TrainOptions &options) {
  if (compute_type(metadata) == "f16") {
    double initial = options.loss_scale.value_or(LossScale::usual);
    check_loss_scale(initial);
    return LossScale(initial);
  }
  if (options.loss_scale)
    throw Error("--loss-scale: only products in F16 need one; compile with "
                "batonc --dtype=f16");
  return {};
}

/// A run begun in F16 has a scale, which others keep for who goes on in F16
/// again. One that was begun in another type begins its own.
void restore(LossScale &scale, const TrainingState &state,
             const TrainOptions &options,
             const std::filesystem::path &checkpoint) {
  auto stored = state.extra.find("loss_scale");
  if (stored == state.extra.end())
    return;
  if (options.loss_scale)
    throw Error("--loss-scale: the run that is resumed has one; leave the flag "
                "out");
  try {
    scale.restore(*stored);
    if (scale.skipped() > state.step)
      throw Error("more steps are skipped than were made");
  } catch (const std::exception &) {
    throw Error((checkpoint / "state.json").string() +
                ": its loss_scale is not as a program compiled with "
                "--dtype=f16 writes it");
  }
}

/// Throws Error, and NonFiniteStep once all memory of the run is free again.
void run_steps(const Metadata &metadata, const TrainOptions &options,
               const std::filesystem::path &folder,
               const LearningRateSchedule &schedule,
               const OptimizerNumbers &optimizer, LossScale scale,
               const Batches &batches, const TrainingState &state,
               const std::optional<ResumePoint> &point);

/// Tells who resumes a run with other flags that it will be another one.
void compare_settings(const nlohmann::json &before, const nlohmann::json &now,
                      uint64_t step) {
  std::string changed = changed_settings(before, now);
  if (!changed.empty())
    std::fprintf(stderr, "warning: --resume: after step %llu %s\n",
                 static_cast<unsigned long long>(step), changed.c_str());
}

} // namespace

void train_command(const Metadata &metadata, const TrainOptions &options) {
  std::filesystem::path folder = model_folder(options);
  BatchShape shape = batch_shape(metadata, options);
  ScheduleKind kind = parse_schedule(options.schedule);
  LearningRateSchedule schedule{kind, options.learning_rate, options.steps,
                                options.warm_up, usual_final_fraction(kind)};
  check(schedule);
  OptimizerNumbers optimizer(metadata.json);
  for (const std::string &assignment : options.numbers)
    optimizer.set(assignment);
  LossScale scale = loss_scale(metadata, options);

  std::optional<Tokenizer> tokenizer;
  DatasetOptions dataset_options;
  dataset_options.vocabulary = metadata.vocabulary;
  std::error_code failure;
  if (std::filesystem::exists(folder / "tokenizer.json", failure)) {
    tokenizer = Tokenizer::load(folder / "tokenizer.json");
    dataset_options.tokenizer = &*tokenizer;
    dataset_options.end_of_text = end_of_text_token(*tokenizer);
  }
  Dataset dataset = Dataset::open(options.data, dataset_options);

  nlohmann::json settings = run_settings(options, optimizer, dataset);
  TrainingState state;
  state.seed = options.seed;
  std::optional<ResumePoint> point;
  if (options.resume) {
    point = resume(options.out);
    state = point->state;
    restore(scale, state, options, point->folder);
    if (!options.run.quiet)
      compare_settings(state.extra.value("settings", nlohmann::json::object()),
                       settings, state.step);
  }
  state.extra["settings"] = std::move(settings);
  Batches batches(dataset, shape, {state.seed, state.step, state.sequence},
                  options.validation_fraction);
  if (state.step >= options.steps)
    throw Error("--steps " + std::to_string(options.steps) +
                ": the checkpoint in " + options.out + " is of step " +
                std::to_string(state.step) + " already");
  if (options.validate_every && batches.split().validation == 0)
    throw Error("--validate-every " + std::to_string(options.validate_every) +
                ": no sequence is set aside for it; the data has one only, or "
                "--validation-fraction is 0");
  try {
    run_steps(metadata, options, folder, schedule, optimizer, scale, batches,
              state, point);
  } catch (const NonFiniteStep &failure) {
    throw Error(explain_non_finite(metadata, batches, failure));
  }
}

namespace {

void run_steps(const Metadata &metadata, const TrainOptions &options,
               const std::filesystem::path &folder,
               const LearningRateSchedule &schedule,
               const OptimizerNumbers &optimizer, LossScale scale,
               const Batches &batches, const TrainingState &state,
               const std::optional<ResumePoint> &point) {
  RunFolder run(options.out, folder, options.keep,
                options.resume ? RunStart::Continued : RunStart::New);
  // What cannot be written is known before the steps.
  std::optional<SafetensorsWriter> gradients;
  if (options.gradients)
    gradients.emplace(*options.gradients);

  Parameters none = Parameters::random(metadata.json, 0, 1);
  std::unique_ptr<Execution> execution =
      make_execution(metadata, none,
                     {program_workers(options.run, metadata),
                      static_cast<uint32_t>(options.run.event_origin)});
  TrainingTensors tensors(metadata, *execution);
  std::optional<Checkpoint> checkpoint;
  if (point)
    checkpoint = Checkpoint::open(point->folder);
  else if (options.run.weights)
    checkpoint = Checkpoint::open(folder);
  if (checkpoint)
    tensors.load(*checkpoint, chosen_workers(options.run));
  else
    tensors.initialize(*options.init_seed);
  if (point)
    tensors.load_optimizer(*point->optimizer);
  tensors.send("parameter");
  tensors.send("optimizer");

  StepLog log(options.steps, options.run.quiet, print);
  LossHistory history(run.path(), state.step);
  Trainer trainer(options, batches, schedule, optimizer, tensors, scale, log,
                  history);
  trainer.step = state.step;
  RunTrace trace(metadata, options.run, *execution);
  std::unique_ptr<MemoryGuard> guard;
  if (options.check_memory)
    guard = watch(metadata, *execution);
  trainer.guard = guard.get();
  Interruptible interruptible(execution->stop);
  const Checkpoint *like = checkpoint ? &*checkpoint : nullptr;
  Validation validation(batches, tensors);
  while (trainer.step < options.steps) {
    uint64_t save_at =
        next_stop(trainer.step, options.save_every, options.steps);
    uint64_t validate_at =
        next_stop(trainer.step, options.validate_every, options.steps);
    trainer.end = std::min(save_at, validate_at);
    try {
      execution->run(trainer, /*observed=*/guard != nullptr);
      check_interrupted();
      if (gradients && trainer.step == options.steps) {
        tensors.fetch("gradient");
        // Powers of two round nothing.
        gradients->write(tensors.sources(
            like, "gradient", 1 / trainer.report.loss_scale.value_or(1)));
        gradients->publish();
        if (trainer.report.skipped)
          std::fprintf(stderr,
                       "warning: --gradients: step %llu was skipped; its "
                       "gradients are not finite\n",
                       static_cast<unsigned long long>(trainer.step));
      }
      if (options.validate_every && trainer.step == validate_at) {
        double loss = validation.measure(*execution);
        check_interrupted();
        if (!std::isfinite(loss))
          throw NonFiniteStep(trainer.step,
                              NonFiniteStep::Number::ValidationLoss);
        trainer.report.validation_loss = loss;
      }
    } catch (NonFiniteStep &failure) {
      fetch_state(tensors);
      if (auto found = find_non_finite(tensors, like))
        throw Error(std::string(failure.what()) + ": " + *found);
      failure.parameters = copy_parameters(tensors);
      throw;
    }
    trainer.add(trainer.report);
    if (trainer.step != save_at)
      continue;
    log.clear();
    fetch_state(tensors);
    if (auto found = find_non_finite(tensors, like))
      throw Error("step " + std::to_string(trainer.step) +
                  ": after its update " + *found);
    history.write();
    TrainingState reached{trainer.step, state.seed,
                          batches.first_sequence(trainer.step), state.extra};
    if (scale.is_dynamic())
      reached.extra["loss_scale"] = scale.state();
    run.save(reached, tensors.sources(like), tensors.optimizer());
  }
  if (guard)
    write_touched(*guard, *options.check_memory);
  trace.publish();
}

} // namespace

} // namespace baton
