//===- train_command.cpp - trains the model -------------------------------===//

#include "runtime/main/commands.h"

#include "runtime/comm/message_passing.h"
#include "runtime/documents/data_report.h"
#include "runtime/error.h"
#include "runtime/main/batch_setup.h"
#include "runtime/main/batch_shape.h"
#include "runtime/main/memory_cap.h"
#include "runtime/main/memory_needs.h"
#include "runtime/main/memory_size.h"
#include "runtime/main/model_config.h"
#include "runtime/main/output.h"
#include "runtime/main/rank_health.h"
#include "runtime/main/ranks.h"
#include "runtime/main/run_settings.h"
#include "runtime/main/table.h"
#include "runtime/main/training_data.h"
#include "runtime/main/training_forecast.h"
#include "runtime/main/training_steps.h"
#include "runtime/main/weights.h"
#include "runtime/train/references.h"
#include "runtime/train/teacher.h"
#include "runtime/train/training_tensors.h"
#include "runtime/weights/gguf_model.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

namespace baton {

namespace {

/// The folder whose config and tokenizer go with random weights.
std::filesystem::path random_model(const TrainOptions &options) {
  if (!options.model)
    throw Error("--init-seed: --model DIR has to say which folder's "
                "config.json goes with the checkpoints");
  std::error_code failure;
  if (!std::filesystem::is_directory(*options.model, failure))
    throw Error("--model: " + *options.model + ": no such folder");
  return *options.model;
}

/// The folder whose config and tokenizer the model has; none where that is the
/// checkpoint that is resumed.
std::optional<std::filesystem::path> model_folder(const TrainOptions &options) {
  bool given = options.run.weights.has_value();
  bool random = options.init_seed.has_value();
  if (given ? random : !random && !options.resume)
    throw Error("give --weights DIR to begin with, or --init-seed S for random "
                "weights; one of the two, or --resume alone");
  if (options.model && !random)
    throw Error(std::string("--model is for --init-seed; ") +
                (given ? "--weights names the model"
                       : "the checkpoint has the model's files"));
  if (given) {
    std::filesystem::path folder = weights_path(options.run);
    if (const auto file = find_gguf(folder))
      throw Error("--weights: " + file->string() +
                  " is a GGUF file; training begins with a folder that has "
                  "safetensors and config.json, or trains beside one what "
                  "batonc --adapter=lora adds to it");
    return folder;
  }
  if (!random)
    return std::nullopt;
  return random_model(options);
}

/// Where an adapter's model is, and which one.
struct Base {
  /// With its config and tokenizer.
  std::filesystem::path folder;
  /// With its weights; none for random ones.
  std::optional<std::filesystem::path> weights;
};

Base base_model(const TrainOptions &options,
                const std::optional<ResumePoint> &point) {
  if (options.adapter && point)
    throw Error("--adapter: the run that is resumed has one; leave the flag "
                "out");
  if (options.adapter && options.init_seed)
    throw Error("--adapter names the pairs to begin with, and --init-seed "
                "draws them; give one of the two");
  if (options.run.weights) {
    if (options.model)
      throw Error("--model is for --init-seed without --weights");
    const std::filesystem::path path = weights_path(options.run);
    return {path, path};
  }
  if (options.init_seed && !point)
    return {random_model(options), std::nullopt};
  if (!point)
    throw Error("give --weights with the model that the adapter is trained "
                "beside, or --init-seed S for a random one");
  const std::filesystem::path path = point->adapter->base;
  if (path.empty())
    throw Error((point->folder / adapter_config_name).string() +
                ": names no model; give --weights");
  std::error_code failure;
  if (!std::filesystem::exists(path, failure))
    throw Error((point->folder / adapter_config_name).string() +
                ": the model " + path.string() +
                " that it names is not there; say with --weights where it is");
  return {path, path};
}

/// What the program was compiled to train beside its model, as its checkpoints
/// will say.
std::optional<Adapter> adapter_of(const Metadata &metadata,
                                  const TrainOptions &options,
                                  const std::optional<ResumePoint> &point) {
  std::optional<Adapter> adapter = Adapter::parse(metadata.json);
  if (!adapter && options.adapter)
    throw Error("--adapter: this program trains all of the model; compile one "
                "with batonc --mode=train --adapter=" +
                *options.adapter);
  if (point && adapter.has_value() != point->adapter.has_value())
    throw Error("--resume: " + point->folder.string() + " holds " +
                (point->adapter ? "an adapter, and this program trains all of "
                                  "the model"
                                : "a model, and this program trains an "
                                  "adapter"));
  if (point && adapter)
    adapter->expect(*point->adapter, point->folder);
  if (adapter && options.adapter)
    adapter->expect(Adapter::read(*options.adapter), *options.adapter);
  return adapter;
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

/// Of each rank, how much of the optimizer's states is in memory.
PagedStorages paged_storages(const Metadata &metadata,
                             const TrainOptions &options,
                             const std::optional<CappedRun> &capped) {
  if (capped)
    return {capped->tiered.layers.storages(), capped->layers,
            options.offload_dir.value_or(options.out)};
  if (!options.state_memory) {
    if (options.offload_dir)
      throw Error("--offload-dir: is where states lie that --state-memory "
                  "leaves out of memory; give that, too");
    return {};
  }
  if (Pipeline::parse(metadata.json))
    throw Error("--state-memory: is for ranks that run one program; a stage "
                "of a pipeline has its states in memory");
  PagedStorages paged;
  paged.most = parse_memory_size("--state-memory", *options.state_memory);
  paged.folder = options.offload_dir.value_or(options.out);
  paged.storages = TrainingTensors::optimizer_storages(metadata);
  if (!metadata.device.is_null()) {
    if (options.offload_dir)
      throw Error("--offload-dir: what a GPU's memory does not have of the "
                  "states is in this machine's, not in a file");
    return paged;
  }
  const uint64_t workers = chosen_workers(options.run);
  const uint64_t least = workers * PagedRegion::bytes_of_worker;
  if (paged.most < least)
    throw Error("--state-memory: " + *options.state_memory +
                " is too little for tiles of " + std::to_string(workers) +
                " workers; give at least " + bytes_text(double(least)) +
                ", or fewer --workers");
  return paged;
}

/// Tells who resumes a run with other flags that it will be another one.
void compare_settings(const nlohmann::json &before, const nlohmann::json &now,
                      uint64_t step) {
  std::string changed = changed_settings(before, now);
  if (!changed.empty())
    std::fprintf(stderr, "warning: --resume: after step %llu %s\n",
                 static_cast<unsigned long long>(step), changed.c_str());
}

/// How many tokens a teacher may name in a program whose losses have one.
std::optional<uint64_t> teacher_tokens(const Metadata &metadata) {
  for (const nlohmann::json &tensor :
       metadata.json.at("training").at("tensors"))
    if (tensor.at("name") == "teacher_tokens")
      return tensor.at("shape").back().get<uint64_t>();
  return std::nullopt;
}

/// What a loss that has a teacher is made of, `teacher` being that; nothing of
/// other losses.
std::optional<Distillation> distillation_of(const Metadata &metadata,
                                            const TrainOptions &options,
                                            const TrainingData &data,
                                            std::optional<Teacher> &teacher) {
  const std::optional<uint64_t> most = teacher_tokens(metadata);
  if (!most) {
    for (auto [flag, given] :
         {std::pair{"--teacher", options.teacher.has_value()},
          {"--kl", options.kl.has_value()},
          {"--ce", options.ce.has_value()},
          {"--divergence", options.divergence.has_value()}})
      if (given)
        throw Error(std::string(flag) + ": is for losses that have a teacher; "
                                        "compile with batonc --mode=train "
                                        "--loss=distill");
    return std::nullopt;
  }
  if (!options.teacher)
    throw Error("--teacher is missing: this program's loss compares with a "
                "teacher (--loss=distill); give the folder that the command "
                "teach has written");
  const DocumentSet *documents = data.document_set();
  if (!documents)
    throw Error("--data: this program's loss compares with a teacher "
                "(--loss=distill), which speaks of documents; give .jsonl "
                "files");
  Distillation result;
  result.kl = options.kl.value_or(result.kl);
  result.ce = options.ce.value_or(result.ce);
  for (auto [flag, value] : {std::pair{"--kl", result.kl}, {"--ce", result.ce}})
    if (!(value >= 0 && value <= 1000))
      throw Error(std::string(flag) +
                  ": expected a number that is not negative, and of at most "
                  "1000");
  if (result.kl == 0 && result.ce == 0)
    throw Error("--kl and --ce are both 0: nothing is minimised");
  const std::string divergence = options.divergence.value_or("forward");
  if (divergence != "forward" && divergence != "reverse")
    throw Error("--divergence: expected forward or reverse, not " +
                quote_name(divergence));
  result.reverse = divergence == "reverse";
  teacher = Teacher::open(*options.teacher, documents->hash(),
                          documents->targets(), metadata.vocabulary);
  if (teacher->top_k() > *most)
    throw Error("--teacher: " + *options.teacher + " names " +
                std::to_string(teacher->top_k()) +
                " tokens at each position, and this program takes " +
                std::to_string(*most) +
                "; compile it with batonc --teacher-top-k=" +
                std::to_string(teacher->top_k()));
  result.teacher = &*teacher;
  return result;
}

/// The numbers of the program's optimizer, and the weights of a learned one,
/// as the command line gives them.
OptimizerNumbers optimizer_of(const Metadata &metadata,
                              const TrainOptions &options) {
  OptimizerNumbers optimizer(metadata.json);
  for (const std::string &assignment : options.numbers)
    optimizer.set(assignment);
  if (options.optimizer_weights && !optimizer.has_weights())
    throw Error("--optimizer-weights: the program's optimizer has no weights "
                "of its own; leave the flag out, or compile with batonc "
                "--optimizer=small_fc_lopt");
  if (options.optimizer_weights)
    optimizer.read_weights(*options.optimizer_weights);
  if (optimizer.needs_weights())
    throw Error("--optimizer-weights is missing: the program's optimizer is "
                "learned, and reads " +
                optimizer.weights_text() + " from a safetensors file");
  return optimizer;
}

/// The beta of DPO; none where the data has no pairs of answers.
std::optional<double> dpo_beta(const TrainOptions &options,
                               const TrainingData &data) {
  if (options.dpo_beta && !data.has_pairs())
    throw Error("--dpo-beta: is for pairs of answers; compile with batonc "
                "--mode=train --loss=dpo");
  if (!data.has_pairs())
    return std::nullopt;
  const double beta = options.dpo_beta.value_or(Preferences().beta);
  if (!(beta > 0 && beta <= 1000))
    throw Error("--dpo-beta: expected a number above 0 and of at most 1000");
  return beta;
}

/// Refuses a run without a step left, and one whose validation has no data.
void check_steps(const TrainOptions &options, const TrainingState &state,
                 const Batches &batches) {
  if (state.step >= options.steps)
    throw Error("--steps " + std::to_string(options.steps) +
                ": the checkpoint in " + options.out + " is of step " +
                std::to_string(state.step) + " already");
  if (options.validate_every && batches.validation_batches() == 0)
    throw Error("--validate-every " + std::to_string(options.validate_every) +
                ": no sequence is set aside for it; the data has one only, or "
                "--validation-fraction is 0");
}

/// Says, before the first step, what of the data is trained with.
void report(const TrainingData &data, const Batches &batches,
            const TrainOptions &options) {
  const nlohmann::ordered_json report = data.report(batches);
  if (report.is_null())
    return;
  if (!options.run.quiet)
    std::fputs(data_report_text(report).c_str(), stderr);
  if (options.json)
    print(
        nlohmann::ordered_json{{"data", report}}.dump(
            -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
        "\n");
}

/// Prepares a run, once in each process, and makes all its steps on each rank.
void train(const Metadata &metadata, const TrainOptions &options,
           Ranks &ranks) {
  check_health_options(metadata, options);
  // What else is wrong is said before a checkpoint is read.
  std::optional<std::filesystem::path> named;
  if (!Adapter::parse(metadata.json))
    named = model_folder(options);
  std::optional<ResumePoint> point;
  if (options.resume)
    point = resume(options.out, ranks.speak());
  std::optional<Adapter> adapter = adapter_of(metadata, options, point);
  std::optional<std::filesystem::path> base;
  if (adapter) {
    Base model = base_model(options, point);
    named = model.folder;
    base = model.weights;
    if (base)
      adapter->base = std::filesystem::absolute(*base).lexically_normal();
  }
  const std::filesystem::path folder = named ? *named : point->folder;
  std::string dropout = dropout_text(check_model_config(metadata, folder));
  if (!dropout.empty() && !options.run.quiet && ranks.speak())
    std::fprintf(stderr, "note: %s: %s; training has no dropout\n",
                 (folder / "config.json").c_str(), dropout.c_str());
  BatchShape shape = batch_shape(metadata, options.batch, options.sequence,
                                 options.accumulate);
  ScheduleKind kind = parse_schedule(options.schedule);
  LearningRateSchedule schedule{
      kind, options.learning_rate, options.steps, options.warm_up,
      options.final_fraction.value_or(usual_final_fraction(kind))};
  check(schedule);
  if (!std::isfinite(options.clip) || options.clip < 0)
    throw Error("--clip: expected a number that is not negative");
  const OptimizerNumbers optimizer = optimizer_of(metadata, options);
  const std::optional<CappedRun> capped =
      capped_run(metadata, options, shape, chosen_workers(options.run));
  const PagedStorages paged = paged_storages(metadata, options, capped);
  LossScale scale = loss_scale(metadata, options);

  const TrainingData data =
      TrainingData::open(metadata, options.data, folder, shape.length,
                         /*notes=*/!options.run.quiet && ranks.speak());

  const std::optional<double> beta = dpo_beta(options, data);
  std::optional<Teacher> teacher;
  const std::optional<Distillation> distillation =
      distillation_of(metadata, options, data, teacher);

  nlohmann::json settings = run_settings(options, optimizer, data.settings());
  if (beta)
    settings["--dpo-beta"] = *beta;
  if (distillation) {
    settings["--kl"] = distillation->kl;
    settings["--ce"] = distillation->ce;
    settings["--divergence"] = distillation->reverse ? "reverse" : "forward";
    settings["temperature of --teacher"] = teacher->temperature();
    settings["tokens of --teacher"] = teacher->top_k();
  }
  settings["--accumulate"] = shape.accumulation;
  TrainingState state;
  state.seed = options.seed.value_or(0);
  if (point) {
    state = point->state;
    restore(scale, state, options, point->folder);
    if (options.seed && *options.seed != state.seed)
      throw Error("--seed " + std::to_string(*options.seed) +
                  ": the run that is resumed has " +
                  std::to_string(state.seed) + "; leave the flag out");
    if (!options.run.quiet && ranks.speak())
      compare_settings(state.extra.value("settings", nlohmann::json::object()),
                       settings, state.step);
  }
  state.extra["settings"] = std::move(settings);
  const std::unique_ptr<const Batches> batches =
      data.batches(shape, {state.seed, state.step, state.sequence},
                   options.validation_fraction);
  check_steps(options, state, *batches);
  std::vector<TrainingData::Part> pairs;
  if (beta)
    pairs = data.parts(shape);
  TrainingRun run = {metadata, options,      folder,    adapter,
                     base,     schedule,     optimizer, paged,
                     capped,   scale,        *batches,  pairs,
                     beta,     distillation, state,     point};
  if (ranks.speak())
    report(data, *batches, options);
  ranks.run([&](Communicator *communicator, unsigned workers) {
    run_steps(run, communicator, workers);
  });
}

/// Says what a run would take, from what the program says of itself.
void forecast(const Metadata &metadata, const TrainOptions &options) {
  if (launched_ranks().value_or(1) != 1)
    throw Error("--dry-run: it plans all ranks by itself; start it without "
                "mpirun");
  check_ranks(Mesh::parse(metadata.json), options);
  if (options.run.weights)
    check_model_config(metadata, weights_path(options.run));
  const BatchShape shape = batch_shape(metadata, options.batch,
                                       options.sequence, options.accumulate);
  // The peak is that of F32.
  const MachineForecast machine =
      measure_machine(metadata, chosen_workers(options.run),
                      /*times=*/compute_type(metadata) != "f64");
  TrainingForecast forecast = forecast_training(
      metadata, shape,
      std::max(1u, machine.workers / Mesh::parse(metadata.json).ranks()));
  const std::optional<CappedRun> capped =
      capped_run(metadata, options, shape, std::max(1u, machine.workers));
  if (capped)
    forecast.ranks.at(0).memory.emplace_back("layers in tiers", capped->layers);
  if (options.state_memory) {
    const PagedStorages paged = paged_storages(metadata, options, capped);
    const std::string states =
        std::ranges::find(
            training_uses, std::string_view("optimizer"),
            [](const auto &use) { return std::string_view(use.first); })
            ->second;
    for (RankForecast &rank : forecast.ranks)
      for (auto &[what, bytes] : rank.memory)
        if (what == states)
          bytes = std::min(bytes, paged.most);
  }
  if (!options.json) {
    print(forecast_text(metadata, shape, forecast, machine));
    if (capped)
      print(capped_run_text(*capped));
    return;
  }
  nlohmann::ordered_json json =
      forecast_json(metadata, shape, forecast, machine);
  if (capped)
    json["tiers"] = capped_run_json(*capped);
  print(json.dump() + "\n");
}

} // namespace

void train_command(const Metadata &metadata, const TrainOptions &options) {
  if (options.dry_run)
    return forecast(metadata, options);
  on_ranks(metadata, options.run, options,
           [&](Ranks &ranks) { train(metadata, options, ranks); });
}

} // namespace baton
