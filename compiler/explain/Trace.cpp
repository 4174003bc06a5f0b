//===- Trace.cpp - the steps of a program's Perfetto trace ----------------===//

#include "compiler/explain/Trace.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <nlohmann/json.hpp>

using namespace baton;
using namespace baton::explain;
using llvm::Error;
using llvm::Expected;
using nlohmann::json;

namespace {

class TraceReader {
public:
  TraceReader(const std::string &path,
              llvm::ArrayRef<event::ProgramOp> programs)
      : path(path), phases(event::phasesOf(programs.front())),
        program(programs.front()) {
    for (auto [index, phase] : llvm::enumerate(phases))
      byName[phase.getName()] = index;
    for (event::ProgramOp other : programs.drop_front()) {
      for (event::PhaseOp phase : event::phasesOf(other))
        byName.try_emplace(phase.getName(), kForeign);
      most = std::max<int64_t>(most, other.getMaxRows());
      if (other.getMaxRows() < program.getMaxRows())
        firstRows = std::max<int64_t>(firstRows, other.getMaxRows() + 1);
    }
  }
  Expected<std::vector<TracedStep>> read();

private:
  Error fail(const llvm::Twine &what) const {
    return llvm::createStringError(path + ": " + what);
  }
  Error readStep(const json &event);
  Error readTask(const json &event);
  Error placeTasks();
  Error checkTask(const TaskRun &run, const Step &step) const;
  Error checkPhases(const TracedStep &step) const;
  /// Of one iteration.
  int64_t tasksOf(unsigned phase, const Step &step) const;

  /// Whether a step is of this program and not of another one beside it.
  bool isOwn(const Step &step) {
    return step.rows >= firstRows && step.rows <= int64_t(program.getMaxRows());
  }

  /// The number of phases of other programs.
  static constexpr unsigned kForeign = ~0u;

  const std::string &path;
  llvm::SmallVector<event::PhaseOp> phases;
  event::ProgramOp program;
  int64_t firstRows = 1, most = 0;
  llvm::StringMap<unsigned> byName;
  std::vector<TracedStep> steps;
  std::vector<double> begins;
  std::vector<TaskRun> runs;
  /// Of each run, the number of its step.
  std::vector<size_t> stepsOfRuns;
  unsigned workers = 0;
};

} // namespace

Error TraceReader::readStep(const json &event) {
  const json &arguments = event.at("args");
  Step step{arguments.at("rows").get<int64_t>(),
            arguments.at("past").get<int64_t>(),
            arguments.at("outputs").get<int64_t>()};
  if (step.rows < 1 ||
      step.rows > std::max<int64_t>(most, program.getMaxRows()) ||
      step.past < 0 || step.outputs < 0 ||
      (isOwn(step) && step.outputs > int64_t(program.getMaxOutputs())) ||
      step.past > int64_t(program.getMaxSeq()) - step.rows)
    return fail("is of another program: a step of " + llvm::Twine(step.rows) +
                " rows after " + llvm::Twine(step.past) +
                " does not fit into the plan");
  if (arguments.at("step").get<size_t>() != steps.size())
    return fail("is no trace of a Baton program: its steps are in disorder");
  steps.push_back({step, {}});
  begins.push_back(event.at("ts").get<double>());
  return Error::success();
}

Error TraceReader::readTask(const json &event) {
  std::string name = event.at("name").get<std::string>();
  auto found = byName.find(name);
  if (found == byName.end())
    return fail("is of another program: the plan has no phase '" + name + "'");
  const json &arguments = event.at("args");
  double begin = event.at("ts").get<double>();
  unsigned worker = event.at("tid").get<unsigned>();
  if (worker < 1 || worker > 4096)
    return fail("is no trace of a Baton program: thread " +
                llvm::Twine(worker));
  workers = std::max(workers, worker);
  stepsOfRuns.push_back(arguments.at("step").get<size_t>());
  runs.push_back({worker - 1, found->second, arguments.value("iteration", 0u),
                  arguments.at("task").get<int64_t>(), begin,
                  begin + arguments.at("wait_us").get<double>(),
                  begin + event.at("dur").get<double>()});
  return Error::success();
}

Error TraceReader::checkTask(const TaskRun &run, const Step &step) const {
  if (run.phase == kForeign)
    return fail("is of another program: a step of " + llvm::Twine(step.rows) +
                " rows has tasks of phases that it does not have");
  event::PhaseOp phase = phases[run.phase];
  auto segment = mlir::cast<event::SegmentOp>(phase->getParentOp());
  if (run.iteration < segment.getRepeat() && run.task >= 0 &&
      run.task < tasksOf(run.phase, step))
    return Error::success();
  return fail("is of another program: phase '" + phase.getName() +
              "' has no task " + llvm::Twine(run.task) + " in iteration " +
              llvm::Twine(run.iteration) + " of a step of " +
              llvm::Twine(step.rows) + " rows");
}

int64_t TraceReader::tasksOf(unsigned phase, const Step &step) const {
  event::PhaseOp op = phases[phase];
  int64_t tasks = 1;
  for (int64_t extent : event::evaluate(op.getGrid(), {}, step.symbols()))
    tasks *= std::max<int64_t>(0, extent);
  return tasks;
}

/// A phase without a task, although phases of higher rank have some, is not in
/// the program.
Error TraceReader::checkPhases(const TracedStep &step) const {
  std::vector<bool> traced(phases.size());
  unsigned last = 0;
  for (const TaskRun &run : step.timeline.runs) {
    traced[run.phase] = true;
    last = std::max(last, run.phase);
  }
  for (unsigned phase = 0; phase < last; ++phase)
    if (!traced[phase] && tasksOf(phase, step.step) > 0)
      return fail("is of another program: it has no task of phase '" +
                  event::PhaseOp(phases[phase]).getName() + "'");
  return Error::success();
}

Error TraceReader::placeTasks() {
  for (auto [run, index] : llvm::zip_equal(runs, stepsOfRuns)) {
    if (index >= steps.size())
      return fail("is no trace of a Baton program: a task of step " +
                  llvm::Twine(index) + ", which it does not have");
    if (!isOwn(steps[index].step))
      continue;
    if (Error error = checkTask(run, steps[index].step))
      return error;
    for (double *time : {&run.begin, &run.ready, &run.end})
      *time -= begins[index];
    steps[index].timeline.runs.push_back(run);
  }
  for (TracedStep &step : steps) {
    step.timeline.workers = workers;
    for (const TaskRun &run : step.timeline.runs)
      step.timeline.microseconds =
          std::max(step.timeline.microseconds, run.end);
  }
  return Error::success();
}

Expected<std::vector<TracedStep>> TraceReader::read() {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return fail("cannot be read: " + buffer.getError().message());
  json text = json::parse((*buffer)->getBuffer().begin(),
                          (*buffer)->getBuffer().end(), nullptr,
                          /*allow_exceptions=*/false);
  if (!text.is_object() || !text.contains("traceEvents") ||
      !text["traceEvents"].is_array())
    return fail("is no trace: expected JSON with 'traceEvents'");
  try {
    for (const json &event : text["traceEvents"]) {
      // Of several ranks, which do the same, the first.
      if (event.value("pid", 1) != 1)
        continue;
      std::string category = event.value("cat", std::string());
      if (category == "step")
        if (Error error = readStep(event))
          return error;
      if (category == "task")
        if (Error error = readTask(event))
          return error;
    }
  } catch (const json::exception &exception) {
    return fail(llvm::Twine("is no trace of a Baton program: ") +
                exception.what());
  }
  if (runs.empty() || steps.empty())
    return fail("holds no steps and tasks of a Baton program; write it with "
                "--trace of a program that this batonc compiled");
  if (Error error = placeTasks())
    return error;
  llvm::erase_if(steps,
                 [&](const TracedStep &step) { return !isOwn(step.step); });
  if (steps.empty())
    return fail("holds no step of " + llvm::Twine(firstRows) + " to " +
                llvm::Twine(program.getMaxRows()) + " rows");
  if (Error error = checkPhases(steps.front()))
    return error;
  // The recorder may have been full before the last steps were over.
  llvm::erase_if(steps, [&](const TracedStep &step) {
    int64_t tasks = 0;
    for (auto [index, phase] : llvm::enumerate(phases))
      tasks += tasksOf(index, step.step) *
               mlir::cast<event::SegmentOp>(phase->getParentOp()).getRepeat();
    return int64_t(step.timeline.runs.size()) != tasks;
  });
  if (steps.empty())
    return fail("holds no whole step; trace fewer tokens");
  return std::move(steps);
}

Expected<std::vector<TracedStep>>
explain::readTrace(const std::string &path,
                   llvm::ArrayRef<event::ProgramOp> programs) {
  return TraceReader(path, programs).read();
}

LikeSteps explain::findLike(llvm::ArrayRef<TracedStep> steps,
                            const Step &step) {
  auto isAlike = [&](const TracedStep &traced) {
    return traced.step.rows == step.rows && traced.step.outputs == step.outputs;
  };
  auto distance = [&](const TracedStep &traced) {
    return std::abs(traced.step.past - step.past);
  };
  // Steps of a few positions more cost much the same.
  constexpr int64_t near = 8;
  int64_t nearest = std::numeric_limits<int64_t>::max() - near;
  for (const TracedStep &traced : steps)
    if (isAlike(traced))
      nearest = std::min(nearest, distance(traced));
  LikeSteps like;
  for (const TracedStep &traced : steps) {
    if (!isAlike(traced) || distance(traced) > nearest + near)
      continue;
    int64_t past = traced.step.past;
    like.leastPast = like.count ? std::min(like.leastPast, past) : past;
    like.mostPast = std::max(like.mostPast, past);
    ++like.count;
    if (!like.shortest ||
        traced.timeline.microseconds < like.shortest->timeline.microseconds)
      like.shortest = &traced;
  }
  return like;
}
