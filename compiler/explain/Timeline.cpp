//===- Timeline.cpp - when each task of a step runs -----------------------===//

#include "compiler/explain/Timeline.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace baton;
using namespace baton::explain;
using llvm::ArrayRef;
using llvm::SmallVector;

std::vector<unsigned> explain::workersOf(event::PhaseOp phase, const Step &step,
                                         unsigned workers) {
  std::vector<unsigned> result;
  int64_t columns = 1;
  SmallVector<int64_t> extents =
      event::evaluate(phase.getGrid(), {}, step.symbols());
  for (int64_t extent : llvm::drop_begin(extents, extents.empty() ? 0 : 1))
    columns *= std::max<int64_t>(0, extent);
  auto [expression, size] = phase.getRowTiles();
  int64_t rows =
      event::evaluate(mlir::AffineMap::get(0, event::kStepSymbols, expression),
                      {}, step.symbols())[0];
  // A worker's share begins behind so many rows of all tiles, at the border of
  // the nearest tile.
  auto share = [&](int64_t worker) {
    return worker * rows * columns / workers;
  };
  unsigned worker = 0;
  int64_t before = 0;
  for (int64_t first = 0; first < rows; first += size) {
    int64_t height = std::min(size, rows - first);
    for (int64_t column = 0; column < columns; ++column) {
      // Tasks that are alike workers take in turn.
      if (phase.getDistribution() != event::Distribution::blocked) {
        result.push_back(result.size() % workers);
        continue;
      }
      before += height;
      while (share(worker + 1) + height / 2 < before)
        ++worker;
      result.push_back(worker);
    }
  }
  return result;
}

std::vector<TaskTime> explain::taskTimes(const PhaseCost &cost,
                                         const Machine &machine) {
  double all = 0;
  for (const Cost &task : cost.tasks)
    all += task.bytes();
  double scale = all > 0 ? cost.once.bytes() / all : 0;
  std::vector<TaskTime> times;
  for (const Cost &task : cost.tasks) {
    double memory = machine.memoryMicroseconds(task.bytes() * scale);
    auto time = [&](double flops) {
      return machine.workers.value *
             std::max(memory,
                      machine.computeMicroseconds(flops, task.bf16Flops));
    };
    times.push_back({time(task.flops + cost.invariantFlops), time(task.flops)});
  }
  return times;
}

namespace {

/// The words of an event tensor, at a step.
struct Words {
  SmallVector<int64_t> shape;
  /// When each word had all its notifications, in this iteration of the
  /// notifying phase and in the one before; none yet is negative.
  std::vector<double> now, before;
  event::PhaseOp notifier;

  int64_t position(ArrayRef<int64_t> index) const {
    int64_t at = 0;
    for (auto [value, extent] : llvm::zip(index, shape))
      at = at * extent + value;
    return at;
  }
};

class Simulation {
public:
  Simulation(event::ProgramOp program, const Step &step,
             ArrayRef<PhaseCost> costs, const Machine &machine);
  Timeline run();

private:
  void runPhase(unsigned phase, unsigned iteration);
  double awaited(event::PhaseOp phase, ArrayRef<int64_t> coordinates);

  std::array<int64_t, event::kStepSymbols> symbols;
  const Machine &machine;
  SmallVector<event::PhaseOp> phases;
  std::vector<std::vector<SmallVector<int64_t, 3>>> tasks;
  std::vector<std::vector<TaskTime>> durations;
  std::vector<std::vector<unsigned>> workers;
  std::map<llvm::StringRef, Words> events;
  std::vector<double> free;
  Timeline timeline;
};

} // namespace

Simulation::Simulation(event::ProgramOp program, const Step &step,
                       ArrayRef<PhaseCost> costs, const Machine &machine)
    : symbols(step.symbols()), machine(machine),
      phases(event::phasesOf(program)), free(machine.workerCount()) {
  for (auto [phase, cost] : llvm::zip(phases, costs)) {
    tasks.push_back(tasksOf(phase, step));
    durations.push_back(taskTimes(cost, machine));
    workers.push_back(workersOf(phase, step, free.size()));
  }
  for (auto tensor : program.getBody().getOps<event::TensorOp>()) {
    Words &words = events[tensor.getSymName()];
    words.shape = event::evaluate(tensor.getShape(), {}, symbols);
    int64_t count = 1;
    for (int64_t extent : words.shape)
      count *= std::max<int64_t>(0, extent);
    words.now.assign(count, -1);
    words.before.assign(count, -1);
  }
  for (event::PhaseOp phase : phases)
    if (auto notify = phase.getNotify())
      events[notify->getEvent().getValue()].notifier = phase;
}

double Simulation::awaited(event::PhaseOp phase,
                           ArrayRef<int64_t> coordinates) {
  double latest = -1;
  for (event::WaitAttr wait : phase.getWaitAttrs()) {
    Words &words = events[wait.getEvent().getValue()];
    const auto &times = wait.getDistance() ? words.before : words.now;
    auto low = event::evaluate(wait.getLow(), coordinates, symbols);
    auto high = event::evaluate(wait.getHigh(), coordinates, symbols);
    bool empty = false;
    for (size_t d = 0; d < low.size(); ++d) {
      low[d] = std::max<int64_t>(0, low[d]);
      high[d] = std::min(high[d], words.shape[d]);
      empty |= low[d] >= high[d];
    }
    if (empty)
      continue;
    SmallVector<int64_t> index(low);
    while (true) {
      latest = std::max(latest, times[words.position(index)]);
      size_t d = index.size();
      while (d > 0 && ++index[d - 1] == high[d - 1]) {
        --d;
        index[d] = low[d];
      }
      if (d == 0)
        break;
    }
  }
  return latest < 0 ? 0 : latest + machine.eventMicroseconds.value;
}

void Simulation::runPhase(unsigned index, unsigned iteration) {
  event::PhaseOp phase = phases[index];
  Words *notified = nullptr;
  if (auto notify = phase.getNotify()) {
    notified = &events[notify->getEvent().getValue()];
    notified->before.swap(notified->now);
    std::fill(notified->now.begin(), notified->now.end(), -1.0);
  }
  std::vector<int64_t> previous(free.size(), -1);
  for (auto [task, coordinates] : llvm::enumerate(tasks[index])) {
    unsigned worker = workers[index][task];
    int64_t leading = coordinates.empty() ? 0 : coordinates[0];
    auto [first, again] = durations[index][task];
    double begin = free[worker];
    double ready = std::max(begin, awaited(phase, coordinates));
    double end = ready + (previous[worker] == leading ? again : first);
    previous[worker] = leading;
    free[worker] = end;
    timeline.runs.push_back({worker, index, iteration,
                             static_cast<int64_t>(task), begin, ready, end});
    timeline.microseconds = std::max(timeline.microseconds, end);
    if (notified) {
      auto word =
          event::evaluate(phase.getNotify()->getIndex(), coordinates, symbols);
      double &time = notified->now[notified->position(word)];
      time = std::max(time, end);
    }
  }
}

Timeline Simulation::run() {
  timeline.workers = free.size();
  for (unsigned begin = 0, end; begin < phases.size(); begin = end) {
    auto segment = mlir::cast<event::SegmentOp>(phases[begin]->getParentOp());
    end = begin;
    while (end < phases.size() && phases[end]->getParentOp() == segment)
      ++end;
    unsigned repeat = static_cast<unsigned>(segment.getRepeat());
    for (unsigned iteration = 0; iteration < repeat; ++iteration)
      for (unsigned phase = begin; phase < end; ++phase)
        runPhase(phase, iteration);
  }
  return std::move(timeline);
}

Timeline explain::simulate(event::ProgramOp program, const Step &step,
                           ArrayRef<PhaseCost> costs, const Machine &machine) {
  return Simulation(program, step, costs, machine).run();
}

std::vector<PhaseTime> explain::phaseTimes(const Timeline &timeline,
                                           event::ProgramOp program) {
  SmallVector<event::PhaseOp> phases = event::phasesOf(program);
  llvm::DenseMap<mlir::Operation *, unsigned> segments;
  for (event::PhaseOp phase : phases)
    segments.insert({phase->getParentOp(), segments.size()});
  std::vector<PhaseTime> times(phases.size());
  // In order of rank: segment, iteration, phase.
  std::map<std::tuple<unsigned, unsigned, unsigned>, double> ends;
  for (const TaskRun &run : timeline.runs) {
    unsigned segment = segments[phases[run.phase]->getParentOp()];
    double &end = ends[{segment, run.iteration, run.phase}];
    end = std::max(end, run.end);
    times[run.phase].busy += run.end - run.ready;
    times[run.phase].waiting += run.ready - run.begin;
  }
  double reached = 0;
  for (auto [rank, end] : ends) {
    times[std::get<2>(rank)].wall += std::max(0.0, end - reached);
    reached = std::max(reached, end);
  }
  return times;
}
