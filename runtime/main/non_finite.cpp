//===- non_finite.cpp - where infinities and NaNs of a step begin ---------===//

#include "runtime/main/non_finite.h"

#include "runtime/execute/execution.h"
#include "runtime/execute/written_values.h"
#include "runtime/main/frozen_weights.h"
#include "runtime/main/still_steps.h"
#include "runtime/main/training_run.h"
#include "runtime/train/step_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace baton {

namespace {

constexpr const char *untouched = "; the last checkpoint is as it was";

bool is_real(DataType type) {
  return type == DataType::F32 || type == DataType::F64;
}

bool is_finite(const TrainingTensor &tensor) {
  // Codes are; their scales are tensors of their own.
  if (!is_real(tensor.type))
    return true;
  uint64_t count = tensor.elements() * tensor.layers;
  for (uint64_t i = 0; i < count; ++i)
    if (!std::isfinite(real_at(tensor.data, tensor.type, i)))
      return false;
  return true;
}

/// Counts what is not finite, and remembers the first.
struct Finding {
  uint64_t first = 0, bad = 0, count = 0;
  double value = 0;

  void look(const void *values, DataType type, uint64_t size) {
    if (!is_real(type))
      return;
    for (uint64_t i = 0; i < size; ++i) {
      double found = real_at(values, type, i);
      if (std::isfinite(found))
        continue;
      if (bad++ == 0) {
        first = count + i;
        value = found;
      }
    }
    count += size;
  }

  /// "holds nan at [2, 5], the first of 7 of its 4096 values that are not
  /// finite"
  std::string text(const std::vector<uint64_t> &shape) const {
    std::string place;
    uint64_t rest = first;
    for (size_t i = shape.size(); i-- > 0; rest /= shape[i])
      place =
          std::to_string(rest % shape[i]) + (place.empty() ? "" : ", ") + place;
    std::string what = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    return "holds " + what + " at [" + place + "], the first of " +
           std::to_string(bad) + " of its " + std::to_string(count) +
           " values that are not finite";
  }
};

std::optional<std::string> find_in(const std::vector<TensorSource> &sources,
                                   const char *kind) {
  for (const TensorSource &source : sources) {
    uint64_t rows = source.shape.empty() ? 1 : source.shape[0], columns = 1;
    for (size_t i = 1; i < source.shape.size(); ++i)
      columns *= source.shape[i];
    Finding finding;
    if (source.read) {
      std::vector<std::byte> values(rows * columns * bytes_of(source.type));
      source.read(0, rows, values.data());
      finding.look(values.data(), source.type, rows * columns);
    } else {
      finding.look(source.data, source.type, rows * columns);
    }
    if (finding.bad)
      return kind + source.name + " " + finding.text(source.shape);
  }
  return std::nullopt;
}

/// Looks at what every phase of a step leaves, up to the first that is not
/// finite. Nothing is updated.
class Search : public StepDriver {
public:
  Search(const Metadata &metadata, const Batches &batches,
         const TrainingTensors &tensors, const NonFiniteStep &failure,
         std::span<const StageCall> calls, Communicator *communicator)
      : metadata(metadata), batches(batches), tensors(tensors),
        inputs(tensors, batch_place(communicator),
               {failure.preferences ? &*failure.preferences : nullptr,
                failure.distillation}),
        failure(failure), pipeline(Pipeline::parse(metadata.json)),
        calls(calls), steps(calls), communicator(communicator) {}

  /// What was found, and when: of what several ranks find the least one came
  /// first.
  std::string text;
  std::vector<uint64_t> time;

  BatonStep begin(std::span<int32_t>) override { return next(); }

  BatonStep advance(const BatonStep &, const Logits &) override {
    // Other ranks may have found nothing yet, and need this one.
    return communicator || text.empty() ? next() : BatonStep{};
  }

  void observe(const BatonStep &step, uint32_t phase, uint32_t iteration,
               void *const *storages) override {
    if (!text.empty())
      return;
    ++phases;
    const PhaseDescription &description = metadata.phases[phase];
    uint32_t layer = description.layer(iteration);
    for (const WrittenBuffer &buffer : description.writes) {
      std::optional<DataType> type = parse_program_type(buffer.element);
      if (!type || !is_real(*type) || !can_be_evaluated(buffer))
        continue;
      WrittenValues values =
          copy_values(buffer, step, layer,
                      static_cast<const std::byte *>(storages[buffer.storage]));
      Finding finding;
      finding.look(values.bytes.data(), *type,
                   values.bytes.size() / bytes_of(*type));
      if (finding.bad == 0)
        continue;
      time = time_of(step);
      text = "it begins in the op " + description.name;
      text += layer_text(description, layer, step);
      text += ", whose result " + buffer.buffer + " " +
              finding.text(values.extents) + "; all parameters are finite";
      return;
    }
  }

private:
  /// A segment repeats one layer, or several that take turns.
  std::string layer_text(const PhaseDescription &phase, uint32_t layer,
                         const BatonStep &step) const {
    const uint32_t chunk = calls.empty() ? 0 : calls[step.call].chunk;
    uint64_t first = ~uint64_t(0), together = 1;
    for (const TrainingTensor &tensor : tensors.all())
      if (tensor.role == "parameter" && tensor.layers > 1 &&
          tensor.chunk == chunk &&
          tensor.layers == static_cast<uint64_t>(phase.repeat)) {
        together = tensor.layer_step;
        first = std::min(first, tensor.first_layer);
      }
    if (first == ~uint64_t(0))
      return "";
    first += layer * together;
    return together == 1 ? " of layer " + std::to_string(first)
                         : " of one of the layers " + std::to_string(first) +
                               " to " + std::to_string(first + together - 1);
  }

  /// Ranks of one program run the same phases in the same order. A microbatch
  /// goes through the positions of a pipeline, and back.
  std::vector<uint64_t> time_of(const BatonStep &step) const {
    if (calls.empty())
      return {phases};
    using Kind = StageCall::Kind;
    const StageCall &call = calls[step.call];
    const uint64_t positions = uint64_t(pipeline->places) * pipeline->chunks;
    uint64_t position =
        uint64_t(call.chunk) * pipeline->places +
        pipeline->place_of(communicator->mesh(), communicator->rank());
    if (call.kind == Kind::Backward)
      position = 2 * positions - position;
    return {steps.first_together(),
            call.microbatch ? uint64_t(*call.microbatch) : ~uint64_t(0),
            position, phases};
  }

  BatonStep next() {
    bool validates = failure.number == NonFiniteStep::Number::ValidationLoss;
    uint64_t count =
        validates ? batches.validation_batches() : batches.shape().accumulation;
    return steps.step(count, [&](uint64_t number) {
      return validates ? inputs.fill_validation(batches, number)
                       : inputs.fill(batches, failure.step - 1, number, false);
    });
  }

  const Metadata &metadata;
  const Batches &batches;
  const TrainingTensors &tensors;
  StepInputs inputs;
  const NonFiniteStep &failure;
  const std::optional<Pipeline> pipeline;
  std::span<const StageCall> calls;
  StillSteps steps;
  Communicator *communicator;
  uint64_t phases = 0;
};

/// Of what the ranks found, what one of them met first.
std::string earliest(const Search &search, Communicator &communicator) {
  nlohmann::json own = {{"time", search.time}, {"text", search.text}};
  std::string result;
  std::optional<std::vector<uint64_t>> first;
  for (const std::string &text :
       communicator.share(own.dump(), "the search for what is not finite")) {
    auto found = nlohmann::json::parse(text);
    auto time = found.at("time").get<std::vector<uint64_t>>();
    if (found.at("text") == "" || (first && time >= *first))
      continue;
    first = time;
    result = found.at("text");
  }
  return result;
}

const char *name_of(NonFiniteStep::Number number) {
  switch (number) {
  case NonFiniteStep::Number::Loss:
    return "the loss";
  case NonFiniteStep::Number::GradientNorm:
    return "the norm of the gradients";
  case NonFiniteStep::Number::ValidationLoss:
    break;
  }
  return "the validation loss";
}

} // namespace

NonFiniteStep::NonFiniteStep(uint64_t step, Number number)
    : Error("step " + std::to_string(step) + ": " + name_of(number) +
            " is not finite"),
      step(step), number(number) {}

std::optional<std::string> find_non_finite(const TrainingTensors &tensors,
                                           const Checkpoint *like) {
  bool finite = true;
  for (const TrainingTensor &tensor : tensors.all())
    if (tensor.role == "parameter" || tensor.role == "optimizer")
      finite = finite && is_finite(tensor);
  if (finite)
    return std::nullopt;
  if (auto found = find_in(tensors.sources(like), "the parameter "))
    return *found + untouched;
  if (auto found = find_in(tensors.optimizer(), "the optimizer's state "))
    return *found + untouched;
  return std::nullopt;
}

std::vector<std::vector<std::byte>>
copy_parameters(const TrainingTensors &tensors) {
  std::vector<std::vector<std::byte>> result;
  for (const TrainingTensor &tensor : tensors.all())
    if (tensor.role == "parameter")
      result.emplace_back(tensor.data, tensor.data + tensor.bytes());
  return result;
}

namespace {

/// Runs the step once more.
std::string search_step(const TrainingRun &run, const NonFiniteStep &failure,
                        Communicator *communicator) {
  const Metadata &metadata = run.metadata;
  const Batches &batches = run.batches;
  const Parameters frozen = frozen_weights(run, communicator);
  // The values of a phase are complete after it only when one worker runs all.
  std::unique_ptr<Execution> execution =
      make_execution(metadata, frozen, {1, 0, communicator});
  TrainingTensors tensors(metadata, *execution,
                          communicator ? communicator->rank() : 0);
  auto values = failure.parameters.begin();
  for (const TrainingTensor &tensor : tensors.all())
    if (tensor.role == "parameter") {
      std::copy(values->begin(), values->end(), tensor.data);
      ++values;
    }
  tensors.send("parameter");
  Search search(metadata, batches, tensors, failure, execution->calls(),
                communicator);
  execution->run(search, /*observed=*/true);
  std::string text =
      communicator ? earliest(search, *communicator) : search.text;
  if (!text.empty())
    return text;
  if (failure.number == NonFiniteStep::Number::GradientNorm)
    return "every gradient is finite, but the sum of their squares is not";
  return "but every value is finite when the step runs again";
}

} // namespace

std::string explain_non_finite(const TrainingRun &run,
                               const NonFiniteStep &failure,
                               Communicator *communicator) {
  std::string text = std::string(failure.what()) + ": ";
  // A device may not have the memory for it a second time.
  try {
    text += search_step(run, failure, communicator);
  } catch (const CommunicationError &) {
    throw;
  } catch (const Error &error) {
    if (communicator)
      throw;
    text += "where it begins is not known: " + std::string(error.what());
  }
  return text + untouched;
}

} // namespace baton
