//===- ExplicitSchedule.cpp - proof of one list schedule -----------------===//
//
// Vector clocks over workers: a task's clock holds, for every worker, how far
// in that worker's list the tasks that come before it reach. Tasks and event
// words are visited once each, in an order in which all that comes before has
// been visited; where there is none, the lists and waits have a cycle. Work is
// (tasks + waits) x workers; there is no size above which it is skipped.
//
// Elements are grouped into cells that no access cuts. A cell remembers, per
// worker, the furthest task that wrote and that read it, among those of lower
// rank.
//
//===----------------------------------------------------------------------===//

#include "passes/proof/ExplicitSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <functional>

using namespace mlir;
using namespace baton;
using namespace baton::event;
using namespace baton::tasks;

namespace {

using Clock = std::vector<uint32_t>;
using Point = SmallVector<int64_t, 4>;

/// `[low, high)` in every dimension.
struct Box {
  Point low, high;
  bool isEmpty() const {
    for (auto [from, to] : llvm::zip(low, high))
      if (from >= to)
        return true;
    return false;
  }
};

struct Task {
  PhaseOp phase;
  int64_t iteration;
  Point coordinates;
  unsigned worker = 0;
  /// Place in the worker's list, from one on.
  uint32_t position = 0;
};

/// A task or one iteration of an event word, and what it comes right after.
struct Node {
  SmallVector<unsigned, 4> before;
  Clock clock;
};

/// The furthest accesses to a cell, per worker.
struct History {
  Clock writers, readers;
};

/// A box of elements, cut along the boundaries of all accesses.
struct Cells {
  std::vector<std::vector<int64_t>> cuts;
  std::vector<History> histories;

  void cut(const Box &box) {
    cuts.resize(box.low.size());
    for (auto [boundaries, from, to] : llvm::zip(cuts, box.low, box.high)) {
      boundaries.push_back(from);
      boundaries.push_back(to);
    }
  }
  void allocate(unsigned workers) {
    size_t count = 1;
    for (std::vector<int64_t> &boundaries : cuts) {
      llvm::sort(boundaries);
      boundaries.erase(std::unique(boundaries.begin(), boundaries.end()),
                       boundaries.end());
      count *= boundaries.size();
    }
    histories.assign(count, {Clock(workers, 0), Clock(workers, 0)});
  }
  void forEach(const Box &box, const std::function<void(History &)> &visit) {
    std::function<void(unsigned, size_t)> go = [&](unsigned d, size_t index) {
      if (d == cuts.size())
        return visit(histories[index]);
      auto begin = llvm::lower_bound(cuts[d], box.low[d]);
      auto end = llvm::lower_bound(cuts[d], box.high[d]);
      for (auto cell = begin; cell != end; ++cell)
        go(d + 1, index * cuts[d].size() + (cell - cuts[d].begin()));
    };
    go(0, 0);
  }
};

struct Access {
  BufferOp buffer;
  bool write;
  Box box;
  /// First indices, the extent of a row in shared storage.
  Box rows() const { return {{box.low[0]}, {box.high[0]}}; }
};

class Checker {
public:
  Checker(ScheduleOp schedule, HappensBefore &plan, int64_t &checked)
      : schedule(schedule), plan(plan), checked(checked),
        symbols{int64_t(schedule.getRows()), int64_t(schedule.getPast()),
                int64_t(schedule.getOutputs())} {}

  LogicalResult run() {
    listTasks();
    connect();
    if (failed(visit()) || failed(verifyWordOrder()))
      return failure();
    return verifyConflicts();
  }

private:
  void listTasks();
  void connect();
  LogicalResult visit();
  LogicalResult reportCycle(ArrayRef<unsigned> unvisited);
  LogicalResult verifyWordOrder();
  LogicalResult verifyConflicts();
  LogicalResult verifyWithinTask(unsigned id, ArrayRef<Access> accesses);
  LogicalResult report(unsigned later, unsigned worker, uint32_t position,
                       bool earlierWrites, const Access &access,
                       BufferOp earlierBuffer);

  int64_t evaluate(AffineExpr expression, ArrayRef<int64_t> coordinates) const;
  Point evaluate(AffineMap map, ArrayRef<int64_t> coordinates) const;
  Box evaluate(AffineMap low, AffineMap high, ArrayRef<int64_t> coordinates,
               ArrayRef<int64_t> limits) const;
  SmallVector<Access> accessesOf(const Task &task) const;
  std::string nameOf(unsigned id) const;
  /// The first word of an iteration of what a phase notifies.
  unsigned wordsOf(PhaseOp notifier, int64_t iteration) const;
  unsigned wordIndex(PhaseOp notifier, ArrayRef<int64_t> word) const;
  Point shapeOf(PhaseOp notifier) const;

  ScheduleOp schedule;
  HappensBefore &plan;
  int64_t &checked;
  std::array<int64_t, kStepSymbols> symbols;
  /// In ascending rank.
  std::vector<Task> tasks;
  /// First task of (phase, iteration).
  std::map<std::pair<unsigned, int64_t>, unsigned> firstTask;
  std::vector<std::vector<unsigned>> lists;
  /// Tasks, then words.
  std::vector<Node> nodes;
  std::map<unsigned, unsigned> firstWord;
};

} // namespace

//===----------------------------------------------------------------------===//
// Values of maps
//===----------------------------------------------------------------------===//

int64_t Checker::evaluate(AffineExpr expression,
                          ArrayRef<int64_t> coordinates) const {
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return constant.getValue();
  if (auto dimension = dyn_cast<AffineDimExpr>(expression))
    return coordinates[dimension.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expression);
  int64_t left = evaluate(binary.getLHS(), coordinates);
  int64_t right = evaluate(binary.getRHS(), coordinates);
  switch (expression.getKind()) {
  case AffineExprKind::Add:
    return left + right;
  case AffineExprKind::Mul:
    return left * right;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(left, right);
  case AffineExprKind::CeilDiv:
    return llvm::divideCeilSigned(left, right);
  default:
    return llvm::mod(left, right);
  }
}

Point Checker::evaluate(AffineMap map, ArrayRef<int64_t> coordinates) const {
  Point values;
  for (AffineExpr expression : map.getResults())
    values.push_back(evaluate(expression, coordinates));
  return values;
}

Box Checker::evaluate(AffineMap low, AffineMap high,
                      ArrayRef<int64_t> coordinates,
                      ArrayRef<int64_t> limits) const {
  Box box{evaluate(low, coordinates), evaluate(high, coordinates)};
  for (auto [from, to, limit] : llvm::zip(box.low, box.high, limits)) {
    from = std::max<int64_t>(from, 0);
    to = std::min(to, limit);
  }
  return box;
}

/// Visits the points of a box in row-major order.
static void forEachPoint(const Box &box,
                         llvm::function_ref<void(const Point &)> visit) {
  if (box.isEmpty())
    return;
  Point point = box.low;
  while (true) {
    visit(point);
    unsigned d = point.size();
    while (d > 0 && ++point[d - 1] == box.high[d - 1]) {
      point[d - 1] = box.low[d - 1];
      --d;
    }
    if (d == 0)
      return;
  }
}

static size_t linearIndex(ArrayRef<int64_t> point, ArrayRef<int64_t> extents) {
  size_t index = 0;
  for (auto [coordinate, extent] : llvm::zip(point, extents))
    index = index * extent + coordinate;
  return index;
}

SmallVector<Access> Checker::accessesOf(const Task &task) const {
  SmallVector<Access> accesses;
  PhaseOp phase = task.phase;
  for (AccessAttr access : phase.getAccessAttrs()) {
    BufferOp buffer = plan.lookUpBuffer(access.getBuffer());
    Box box = evaluate(access.getLow(), access.getHigh(), task.coordinates,
                       evaluate(buffer.getExtents(), {}));
    if (!box.isEmpty())
      accesses.push_back({buffer, access.getWrite(), std::move(box)});
  }
  return accesses;
}

std::string Checker::nameOf(unsigned id) const {
  const Task &task = tasks[id];
  PhaseOp phase = task.phase;
  std::string name;
  llvm::raw_string_ostream out(name);
  out << phase.getName() << '(';
  llvm::interleaveComma(task.coordinates, out);
  out << ')';
  if (HappensBefore::segmentOf(phase).getRepeat() > 1)
    out << " of iteration " << task.iteration;
  return name;
}

//===----------------------------------------------------------------------===//
// Tasks, words and what comes before them
//===----------------------------------------------------------------------===//

void Checker::listTasks() {
  for (auto segment : schedule->getBlock()->getOps<SegmentOp>())
    for (int64_t iteration = 0, e = segment.getRepeat(); iteration < e;
         ++iteration)
      for (auto phase : segment.getBody().getOps<PhaseOp>()) {
        firstTask[{plan.indexOf(phase), iteration}] = tasks.size();
        Box grid{Point(phase.getRank(), 0), evaluate(phase.getGrid(), {})};
        forEachPoint(grid, [&](const Point &coordinates) {
          tasks.push_back({phase, iteration, coordinates});
        });
      }
  llvm::StringMap<PhaseOp> byName;
  for (PhaseOp phase : plan.phases())
    byName[phase.getName()] = phase;
  for (auto list : schedule.getWorkers().getAsRange<ArrayAttr>()) {
    lists.emplace_back();
    for (auto entry : list.getAsRange<TaskAttr>()) {
      PhaseOp phase = byName.lookup(entry.getPhase().getValue());
      unsigned id =
          firstTask[{plan.indexOf(phase), entry.getIteration()}] +
          linearIndex(entry.getCoordinates(), evaluate(phase.getGrid(), {}));
      lists.back().push_back(id);
      tasks[id].worker = lists.size() - 1;
      tasks[id].position = lists.back().size();
    }
  }
}

Point Checker::shapeOf(PhaseOp notifier) const {
  auto tensor = SymbolTable::lookupNearestSymbolFrom<TensorOp>(
      notifier, notifier.getNotify()->getEvent());
  return evaluate(tensor.getShape(), {});
}

unsigned Checker::wordsOf(PhaseOp notifier, int64_t iteration) const {
  size_t words = 1;
  for (int64_t extent : shapeOf(notifier))
    words *= extent;
  return firstWord.at(plan.indexOf(notifier)) + iteration * words;
}

unsigned Checker::wordIndex(PhaseOp notifier, ArrayRef<int64_t> word) const {
  return linearIndex(word, shapeOf(notifier));
}

void Checker::connect() {
  unsigned next = tasks.size();
  for (PhaseOp phase : plan.phases()) {
    if (!phase.getNotify())
      continue;
    firstWord[plan.indexOf(phase)] = next;
    next = wordsOf(phase, HappensBefore::segmentOf(phase).getRepeat());
  }
  nodes.resize(next);
  for (std::vector<unsigned> &list : lists)
    for (unsigned i = 1; i < list.size(); ++i)
      nodes[list[i]].before.push_back(list[i - 1]);
  // A word has seen an iteration when all its notifications and those of the
  // iterations before are there.
  for (PhaseOp phase : plan.phases()) {
    if (!phase.getNotify())
      continue;
    unsigned first = wordsOf(phase, 0), words = wordsOf(phase, 1) - first;
    unsigned end = wordsOf(phase, HappensBefore::segmentOf(phase).getRepeat());
    for (unsigned word = first + words; word < end; ++word)
      nodes[word].before.push_back(word - words);
  }
  for (auto [id, task] : llvm::enumerate(tasks)) {
    PhaseOp phase = task.phase;
    if (std::optional<NotifyAttr> notify = phase.getNotify())
      nodes[wordsOf(phase, task.iteration) +
            wordIndex(phase, evaluate(notify->getIndex(), task.coordinates))]
          .before.push_back(id);
    for (WaitAttr wait : phase.getWaitAttrs()) {
      PhaseOp notifier = plan.notifierOf(wait.getEvent());
      SegmentOp segment = HappensBefore::segmentOf(notifier);
      bool isSame = segment == HappensBefore::segmentOf(phase);
      int64_t iteration = isSame ? task.iteration - wait.getDistance()
                                 : int64_t(segment.getRepeat()) - 1;
      if (iteration < 0)
        continue;
      forEachPoint(evaluate(wait.getLow(), wait.getHigh(), task.coordinates,
                            shapeOf(notifier)),
                   [&](const Point &word) {
                     nodes[id].before.push_back(wordsOf(notifier, iteration) +
                                                wordIndex(notifier, word));
                   });
    }
  }
}

/// Clocks, in topological order.
LogicalResult Checker::visit() {
  std::vector<unsigned> open(nodes.size(), 0);
  std::vector<std::vector<unsigned>> after(nodes.size());
  for (auto [id, node] : llvm::enumerate(nodes)) {
    open[id] = node.before.size();
    for (unsigned before : node.before)
      after[before].push_back(id);
  }
  std::vector<unsigned> ready;
  for (auto [id, count] : llvm::enumerate(open))
    if (count == 0)
      ready.push_back(id);
  size_t visited = 0;
  while (!ready.empty()) {
    unsigned id = ready.back();
    ready.pop_back();
    ++visited;
    Node &node = nodes[id];
    node.clock.assign(lists.size(), 0);
    for (unsigned before : node.before)
      for (auto [mine, theirs] : llvm::zip(node.clock, nodes[before].clock))
        mine = std::max(mine, theirs);
    if (id < tasks.size())
      node.clock[tasks[id].worker] = tasks[id].position;
    for (unsigned later : after[id])
      if (--open[later] == 0)
        ready.push_back(later);
  }
  if (visited == nodes.size())
    return success();
  std::vector<unsigned> unvisited;
  for (auto [id, count] : llvm::enumerate(open))
    if (count != 0)
      unvisited.push_back(id);
  return reportCycle(unvisited);
}

LogicalResult Checker::reportCycle(ArrayRef<unsigned> unvisited) {
  // Every unvisited node comes after another unvisited one.
  std::vector<bool> isOpen(nodes.size(), false);
  for (unsigned id : unvisited)
    isOpen[id] = true;
  std::vector<unsigned> path;
  unsigned current = unvisited.front();
  while (!llvm::is_contained(path, current)) {
    path.push_back(current);
    current = *llvm::find_if(nodes[current].before,
                             [&](unsigned before) { return isOpen[before]; });
  }
  path.erase(path.begin(), llvm::find(path, current));
  // Words in between go without saying.
  std::vector<std::pair<unsigned, bool>> steps; // task, reached by a wait
  bool waits = false;
  for (unsigned id : path) {
    if (id >= tasks.size()) {
      waits = true;
      continue;
    }
    steps.push_back({id, waits});
    waits = false;
  }
  if (waits)
    steps.front().second = true;
  auto diagnostic = schedule.emitError() << "the schedule never ends: ";
  for (unsigned i = 0; i < steps.size(); ++i) {
    unsigned id = steps[i].first;
    auto [before, isWait] = steps[(i + 1) % steps.size()];
    if (i > 0)
      diagnostic << ", ";
    if (isWait)
      diagnostic << nameOf(id) << " waits for " << nameOf(before);
    else
      diagnostic << "worker " << tasks[id].worker << " runs " << nameOf(before)
                 << " before " << nameOf(id);
  }
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

LogicalResult Checker::verifyWordOrder() {
  for (PhaseOp phase : plan.phases()) {
    std::optional<NotifyAttr> notify = phase.getNotify();
    SegmentOp segment = HappensBefore::segmentOf(phase);
    if (!notify || segment.getRepeat() < 2)
      continue;
    bool isWaitedFor =
        llvm::any_of(segment.getBody().getOps<PhaseOp>(), [&](PhaseOp other) {
          return llvm::any_of(other.getWaitAttrs(), [&](WaitAttr wait) {
            return wait.getEvent() == notify->getEvent();
          });
        });
    if (!isWaitedFor)
      continue;
    // The furthest notifications of each word, per worker, one iteration back.
    std::map<unsigned, Clock> previous, current;
    int64_t iteration = 0;
    for (auto [id, task] : llvm::enumerate(tasks)) {
      if (task.phase != phase)
        continue;
      if (task.iteration != iteration) {
        iteration = task.iteration;
        previous = std::move(current);
        current.clear();
      }
      unsigned word =
          wordIndex(phase, evaluate(notify->getIndex(), task.coordinates));
      for (auto [worker, position] : llvm::enumerate(previous[word]))
        if (position > nodes[id].clock[worker])
          return phase.emitError()
                 << nameOf(id) << " may notify a word of " << notify->getEvent()
                 << " before " << nameOf(lists[worker][position - 1]) << " has";
      Clock &furthest = current[word];
      furthest.resize(lists.size(), 0);
      furthest[task.worker] = std::max(furthest[task.worker], task.position);
    }
  }
  return success();
}

LogicalResult Checker::report(unsigned later, unsigned worker,
                              uint32_t position, bool earlierWrites,
                              const Access &access, BufferOp earlierBuffer) {
  unsigned earlier = lists[worker][position - 1];
  BufferOp buffer = access.buffer;
  auto diagnostic = tasks[later].phase.emitError();
  diagnostic << nameOf(later) << " on worker " << tasks[later].worker
             << " does not wait for " << nameOf(earlier) << " on worker "
             << worker << ": "
             << (!access.write   ? "read after write"
                 : earlierWrites ? "write after write"
                                 : "write after read")
             << " of @" << buffer.getSymName();
  if (earlierBuffer != buffer)
    diagnostic << " and @" << earlierBuffer.getSymName() << ", which share @"
               << *buffer.getStorage();
  return diagnostic;
}

/// One task's accesses through two buffers have no order.
LogicalResult Checker::verifyWithinTask(unsigned id,
                                        ArrayRef<Access> accesses) {
  for (unsigned i = 0; i < accesses.size(); ++i)
    for (unsigned j = i + 1; j < accesses.size(); ++j) {
      const Access &one = accesses[i], &other = accesses[j];
      if (one.buffer == other.buffer || (!one.write && !other.write))
        continue;
      Overlap overlap = overlapOf(one.buffer, other.buffer);
      bool meets = overlap == Overlap::everything ||
                   (overlap.kind == Overlap::rows &&
                    one.box.low[0] - other.box.high[0] < overlap.most &&
                    one.box.high[0] - other.box.low[0] > overlap.least);
      BufferOp first = one.buffer, second = other.buffer;
      if (meets)
        return tasks[id].phase.emitError()
               << nameOf(id) << " writes bytes that it accesses as @"
               << first.getSymName() << " and as @" << second.getSymName();
    }
  return success();
}

LogicalResult Checker::verifyConflicts() {
  // Cells of every buffer (and copy, of a layered one), and of the rows that
  // buffers share.
  std::map<std::pair<void *, int64_t>, Cells> elements;
  std::map<void *, Cells> rows;
  SmallVector<BufferOp> buffers(schedule->getBlock()->getOps<BufferOp>());
  auto cellsOf = [&](BufferOp buffer, const Task &task) -> Cells & {
    SegmentOp segment = HappensBefore::segmentOf(task.phase);
    return elements[{buffer.getOperation(),
                     isLayered(buffer)
                         ? buffer.getCopy(segment.getLayer(task.iteration))
                         : 0}];
  };
  std::vector<SmallVector<Access>> accesses;
  for (const Task &task : tasks) {
    accesses.push_back(accessesOf(task));
    for (Access &access : accesses.back()) {
      cellsOf(access.buffer, task).cut(access.box);
      // Rows of all buffers are cut alike, so that they can be compared.
      for (BufferOp buffer : buffers)
        rows[buffer.getOperation()].cut(access.rows());
    }
  }
  for (auto &[key, cells] : elements)
    cells.allocate(lists.size());
  for (auto &[key, cells] : rows)
    cells.allocate(lists.size());

  for (auto [id, task] : llvm::enumerate(tasks)) {
    if (failed(verifyWithinTask(id, accesses[id])))
      return failure();
    const Clock &clock = nodes[id].clock;
    for (const Access &access : accesses[id]) {
      std::optional<std::tuple<unsigned, uint32_t, bool>> unordered;
      auto check = [&](History &history) {
        for (unsigned worker = 0; worker < lists.size(); ++worker) {
          if (history.writers[worker] > clock[worker])
            unordered = {worker, history.writers[worker], true};
          else if (access.write && history.readers[worker] > clock[worker])
            unordered = {worker, history.readers[worker], false};
        }
      };
      auto verify = [&](Cells &cells, const Box &box,
                        BufferOp earlier) -> LogicalResult {
        ++checked;
        cells.forEach(box, check);
        if (!unordered)
          return success();
        auto [worker, position, writes] = *unordered;
        return report(id, worker, position, writes, access, earlier);
      };
      if (failed(
              verify(cellsOf(access.buffer, task), access.box, access.buffer)))
        return failure();
      for (BufferOp other : buffers) {
        if (other == access.buffer)
          continue;
        Overlap overlap = overlapOf(access.buffer, other);
        if (overlap == Overlap::none)
          continue;
        Box touched = access.rows();
        if (overlap == Overlap::everything)
          touched = {{0}, {std::numeric_limits<int64_t>::max()}};
        else
          touched = {{touched.low[0] - overlap.most},
                     {touched.high[0] - overlap.least}};
        if (failed(verify(rows[other.getOperation()], touched, other)))
          return failure();
      }
    }
    for (Access &access : accesses[id]) {
      auto record = [&](History &history) {
        Clock &furthest = access.write ? history.writers : history.readers;
        furthest[task.worker] = std::max(furthest[task.worker], task.position);
      };
      cellsOf(access.buffer, task).forEach(access.box, record);
      rows[access.buffer.getOperation()].forEach(access.rows(), record);
    }
  }
  return success();
}

LogicalResult baton::tasks::verifySchedule(ScheduleOp schedule,
                                           HappensBefore &plan,
                                           int64_t &checked) {
  return Checker(schedule, plan, checked).run();
}
