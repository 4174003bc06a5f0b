//===- StepSequence.cpp - which programs ranks run in a step --------------===//

#include "passes/proof/StepSequence.h"

#include "runtime/step_sequence.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace baton;
using namespace baton::event;
using namespace baton::tasks;

static bool isConditional(ProgramOp program) {
  return llvm::any_of(phasesOf(program), [](PhaseOp phase) {
    return llvm::any_of(phase.getAccessAttrs(), [](AccessAttr access) {
      return bool(access.getCondition());
    });
  });
}

/// The steps of a program that runs by itself.
static void addSteps(ProgramOp program, SmallVector<StepSequences> &steps) {
  auto add = [&](ArrayRef<ProgramRun> runs) {
    StepSequence sequence;
    sequence.runs.assign(runs.begin(), runs.end());
    steps.push_back({sequence});
  };
  ProgramRun run(program);
  if (program.getMaxOutputs() != 1)
    return add({run});
  run.outputs = 1;
  add({run});
  ProgramRun first = run;
  first.outputs = 0;
  if (!isConditional(program))
    return add({first});
  run.accumulates = true;
  add({first, run});
}

namespace {
/// The step of a pipeline's stages in training, from what the module's first
/// program says.
class PipelineStep {
public:
  PipelineStep(ModuleOp module, ProgramOp first, DictionaryAttr description)
      : module(module), first(first), description(description) {}

  FailureOr<StepSequences> build();

private:
  InFlightDiagnostic fault() {
    return first.emitError() << "event.pipeline is damaged: ";
  }
  int64_t number(StringRef name) {
    auto value = description.getAs<IntegerAttr>(name);
    return value ? value.getInt() : 0;
  }
  FailureOr<StepSequence> sequenceOf(unsigned place);
  ProgramOp programOf(StringRef part, unsigned position);

  ModuleOp module;
  ProgramOp first;
  DictionaryAttr description;
  ArrayAttr tables, stages;
  ArrayRef<int64_t> inFlight;
};
} // namespace

/// The program for a part of the stage at a position of the model, or for all.
ProgramOp PipelineStep::programOf(StringRef part, unsigned position) {
  std::optional<int64_t> stage;
  for (auto [i, attribute] : llvm::enumerate(stages)) {
    auto entry = dyn_cast<DictionaryAttr>(attribute);
    auto positions =
        entry ? entry.getAs<DenseI64ArrayAttr>("positions") : nullptr;
    if (positions &&
        llvm::is_contained(positions.asArrayRef(), int64_t(position)))
      stage = i;
  }
  for (auto program : module.getOps<ProgramOp>()) {
    auto name = program->getAttrOfType<StringAttr>("event.part");
    auto own = program->getAttrOfType<IntegerAttr>("event.stage");
    if (name && name == part && (!own || (stage && own.getInt() == *stage)))
      return program;
  }
  return {};
}

FailureOr<StepSequence> PipelineStep::sequenceOf(unsigned place) {
  auto text = dyn_cast<StringAttr>(tables[place]);
  if (!text)
    return fault() << "a table is no text", failure();
  auto fused = description.getAs<BoolAttr>("fused");
  Sequence sequence = sequence_of(
      {text.str(), uint32_t(number("microbatches")), uint32_t(number("chunks")),
       uint32_t(inFlight[place]), fused && fused.getValue()});
  if (!sequence.problem.empty())
    return fault() << sequence.problem, failure();
  StepSequence result;
  result.place = place;
  for (const SequenceEntry &entry : sequence.entries) {
    StringRef part(entry.part.data(), entry.part.size());
    ProgramRun run(programOf(part, entry.chunk * tables.size() + place));
    if (!run.program)
      return fault() << "there is no program for part '" << part
                     << "' of place " << place << ", chunk " << entry.chunk,
             failure();
    run.chunk = entry.chunk;
    if (entry.microbatch)
      run.microbatch = *entry.microbatch;
    run.slot = entry.slot;
    run.outputs = entry.microbatch ? 0 : 1;
    run.accumulates = entry.microbatch && *entry.microbatch > 0;
    result.runs.push_back(run);
  }
  return result;
}

FailureOr<StepSequences> PipelineStep::build() {
  tables = description.getAs<ArrayAttr>("tables");
  stages = description.getAs<ArrayAttr>("stages");
  auto flights = description.getAs<DenseI64ArrayAttr>("in_flight");
  if (!tables || !stages || !flights ||
      flights.size() != int64_t(tables.size()))
    return fault() << "it has no tables, stages and bounds", failure();
  inFlight = flights.asArrayRef();
  StepSequences result;
  for (unsigned place = 0; place < tables.size(); ++place) {
    FailureOr<StepSequence> sequence = sequenceOf(place);
    if (failed(sequence))
      return failure();
    result.push_back(*sequence);
  }
  return result;
}

FailureOr<SmallVector<StepSequences>> tasks::sequencesOf(ModuleOp module) {
  SmallVector<StepSequences> steps;
  for (auto program : module.getOps<ProgramOp>())
    if (auto pipeline =
            program->getAttrOfType<DictionaryAttr>("event.pipeline")) {
      FailureOr<StepSequences> step =
          PipelineStep(module, program, pipeline).build();
      if (failed(step))
        return failure();
      steps.push_back(*step);
      return steps;
    }
  // Of a model that decodes on stages, each place runs its own.
  StepSequences stages;
  for (auto program : module.getOps<ProgramOp>())
    if (auto stage = program->getAttrOfType<IntegerAttr>("event.stage");
        stage && program->hasAttr("event.stages"))
      stages.push_back({unsigned(stage.getInt()), {ProgramRun(program)}});
    else
      addSteps(program, steps);
  if (!stages.empty()) {
    llvm::sort(stages, [](const StepSequence &a, const StepSequence &b) {
      return a.place < b.place;
    });
    steps.push_back(stages);
  }
  return steps;
}
