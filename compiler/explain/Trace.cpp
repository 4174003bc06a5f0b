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
  TraceReader(const std::string &path, event::ProgramOp program)
      : path(path), phases(event::phasesOf(program)), program(program) {
    for (auto [index, phase] : llvm::enumerate(phases))
      byName[phase.getName()] = index;
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

  const std::string &path;
  llvm::SmallVector<event::PhaseOp> phases;
  event::ProgramOp program;
  llvm::StringMap<unsigned> byName;
  std::vector<TracedStep> steps;
  std::vector<double> begins;
  std::vector<TaskRun> runs;
  unsigned workers = 0;
};

} // namespace

Error TraceReader::readStep(const json &event) {
  const json &arguments = event.at("args");
  Step step{arguments.at("rows").get<int64_t>(),
            arguments.at("past").get<int64_t>(),
            arguments.at("outputs").get<int64_t>()};
  if (step.rows < 1 || step.rows > int64_t(program.getMaxRows()) ||
      step.past < 0 || step.outputs < 0 ||
      step.outputs > int64_t(program.getMaxOutputs()) ||
      step.past > int64_t(program.getMaxSeq()) - step.rows)
    return fail("is of another program: a step of " + llvm::Twine(step.rows) +
                " rows after " + llvm::Twine(step.past) +
                " does not fit into the plan");
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
  runs.push_back({worker - 1, found->second, arguments.value("layer", 0u),
                  arguments.at("task").get<int64_t>(), begin,
                  begin + arguments.at("wait_us").get<double>(),
                  begin + event.at("dur").get<double>()});
  return Error::success();
}

Error TraceReader::checkTask(const TaskRun &run, const Step &step) const {
  event::PhaseOp phase = phases[run.phase];
  auto segment = mlir::cast<event::SegmentOp>(phase->getParentOp());
  int64_t tasks = 1;
  for (int64_t extent : event::evaluate(phase.getGrid(), {}, step.symbols()))
    tasks *= std::max<int64_t>(0, extent);
  if (run.iteration < segment.getRepeat() && run.task >= 0 && run.task < tasks)
    return Error::success();
  return fail("is of another program: phase '" + phase.getName() +
              "' has no task " + llvm::Twine(run.task) + " in iteration " +
              llvm::Twine(run.iteration) + " of a step of " +
              llvm::Twine(step.rows) + " rows");
}

/// All workers meet between two steps: a task belongs to the last step that
/// began before it.
Error TraceReader::placeTasks() {
  for (TaskRun run : runs) {
    auto next = llvm::upper_bound(begins, run.begin);
    if (next == begins.begin())
      return fail("is no trace of a Baton program: a task before all steps");
    size_t index = next - begins.begin() - 1;
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
  if (!llvm::is_sorted(begins))
    return fail("is no trace of a Baton program: its steps are in disorder");
  if (Error error = placeTasks())
    return error;
  // The recorder may have been full before the last steps were over.
  llvm::erase_if(steps, [&](const TracedStep &step) {
    int64_t tasks = 0;
    for (event::PhaseOp phase : phases) {
      int64_t ofPhase =
          mlir::cast<event::SegmentOp>(phase->getParentOp()).getRepeat();
      for (int64_t extent :
           event::evaluate(phase.getGrid(), {}, step.step.symbols()))
        ofPhase *= std::max<int64_t>(0, extent);
      tasks += ofPhase;
    }
    return int64_t(step.timeline.runs.size()) != tasks;
  });
  if (steps.empty())
    return fail("holds no whole step; trace fewer tokens");
  return std::move(steps);
}

Expected<std::vector<TracedStep>> explain::readTrace(const std::string &path,
                                                     event::ProgramOp program) {
  return TraceReader(path, program).read();
}

const TracedStep *explain::findStep(llvm::ArrayRef<TracedStep> steps,
                                    const Step &step) {
  std::vector<const TracedStep *> alike;
  for (const TracedStep &traced : steps)
    if (traced.step.rows == step.rows && traced.step.outputs == step.outputs)
      alike.push_back(&traced);
  if (alike.empty())
    return nullptr;
  auto distance = [&](const TracedStep *traced) {
    return std::abs(traced->step.past - step.past);
  };
  // Steps of a few positions more cost much the same.
  constexpr int64_t near = 8;
  int64_t nearest = distance(*llvm::min_element(
      alike, [&](auto *a, auto *b) { return distance(a) < distance(b); }));
  llvm::erase_if(alike, [&](const TracedStep *traced) {
    return distance(traced) > nearest + near;
  });
  auto middle = alike.begin() + alike.size() / 2;
  std::nth_element(alike.begin(), middle, alike.end(), [](auto *a, auto *b) {
    return a->timeline.microseconds < b->timeline.microseconds;
  });
  return *middle;
}
