//===- PlanOracle.cpp - judges a plan by trying one step out --------------===//

#include "test/passes/proof/PlanOracle.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace baton;
using namespace baton::event;
using namespace baton::test;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

using Point = SmallVector<int64_t, 4>;

/// What a byte or an element holds: which task wrote it, for which element.
using Tag = int64_t;
constexpr Tag kNothing = -1;
/// Of what persists, whoever wrote it.
constexpr Tag kKept = -2;

struct Buffer {
  BufferOp op;
  Point extents;
  /// Elements of one layer, and the number of the first one in the program.
  int64_t size, firstElement;
  /// Cells are the largest units that no element of the storage cuts.
  int64_t firstCell, cellsPerElement;
};

struct Touch {
  unsigned buffer;
  bool isWrite;
  int64_t element, cell;
  int64_t row; ///< index in dimension 0
};

struct Wait {
  unsigned word;
  int64_t threshold;
};

struct Task {
  PhaseOp phase;
  int64_t iteration;
  Point coordinates;
  /// Coordinates and entries.
  Point place;
  std::vector<Touch> touches;
  std::vector<Wait> waits;
  std::optional<unsigned> word;
};

/// Rows of bits, one per task.
class BitMatrix {
public:
  BitMatrix(size_t rows, size_t columns)
      : width((columns + 63) / 64), bits(rows * width, 0) {}
  void set(size_t row, size_t column) {
    bits[row * width + column / 64] |= uint64_t(1) << (column % 64);
  }
  /// A column other than `except` that is set in `row` but not in `allowedRow`
  /// of the other matrix.
  std::optional<size_t> outside(size_t row, const BitMatrix &allowed,
                                size_t allowedRow, size_t except) const {
    for (size_t i = 0; i < width; ++i) {
      uint64_t left =
          bits[row * width + i] & ~allowed.bits[allowedRow * allowed.width + i];
      if (except / 64 == i)
        left &= ~(uint64_t(1) << (except % 64));
      if (left)
        return i * 64 + llvm::countr_zero(left);
    }
    return std::nullopt;
  }

private:
  size_t width;
  std::vector<uint64_t> bits;
};

/// Everything that happens in one step.
class StepInstance {
public:
  StepInstance(ProgramOp program, Step step, unsigned seed)
      : program(program), symbols{step.rows, step.past, step.outputs},
        random(seed) {}

  /// Lists tasks, touches and waits.
  std::optional<Fault> build();
  std::optional<Fault> judgeOrder();
  /// What memory holds: bytes, and elements as if each had bytes of its own.
  struct Memory {
    std::vector<Tag> cells, elements;
  };
  /// `firstTask` tells the tasks of different steps apart.
  std::optional<Fault> judgeValues(Memory &memory, int64_t firstTask);
  size_t taskCount() const { return tasks.size(); }

private:
  std::optional<Fault> placeBuffers();
  std::optional<Fault> drawTables();
  std::optional<Fault> addEntries(Task &task);
  std::optional<Fault> judgeCondition(const Task &task);
  std::optional<Fault> addTask(PhaseOp phase, int64_t iteration,
                               Point coordinates);
  std::optional<Fault> addTouches(Task &task, AccessAttr access);
  int64_t placeOf(BufferOp buffer, const Point &index) const;
  void addWaits(Task &task, WaitAttr wait);
  std::optional<unsigned> wordAt(llvm::StringRef event,
                                 ArrayRef<int64_t> index);

  /// The lists of the schedule for these symbols; false if there are schedules
  /// for others only.
  bool readLists();
  /// Tasks that end when `blocked` never does, each on its own worker or on
  /// that of its list.
  std::vector<bool> run(std::optional<size_t> blocked) const;
  std::optional<Fault> judgeRankOrder() const;
  std::optional<Fault> judgeRaces() const;

  Point valuesOf(mlir::AffineMap map, ArrayRef<int64_t> coordinates) const;
  std::string nameOf(size_t task) const;
  std::string nameOf(const Buffer &buffer) const {
    BufferOp op = buffer.op;
    return ("@" + op.getSymName()).str();
  }

  /// Pages that there are, each with room for some of a step's rows.
  static constexpr int64_t kPages = 2;

  ProgramOp program;
  Point symbols;
  /// Of states in pages: where each row goes.
  std::vector<int64_t> slots;
  std::mt19937 random;
  struct Table {
    /// Where a task writes it; null if the runtime does.
    SegmentOp segment;
    /// Of each iteration of that segment, or the only one.
    std::vector<Point> instances;
    int64_t layers = 1;
  };
  llvm::StringMap<Table> tables;
  std::vector<Buffer> buffers;
  llvm::StringMap<unsigned> bufferIndex;
  int64_t cellCount = 0, elementCount = 0;
  std::vector<Task> tasks;
  /// By event tensor: its op, shape and first word, and who notifies it.
  struct Event {
    TensorOp op;
    Point shape;
    unsigned firstWord;
    SegmentOp segment;
  };
  llvm::StringMap<Event> events;
  unsigned wordCount = 0;
  /// The task before, in the same list.
  std::vector<std::optional<size_t>> predecessor;
  bool hasLists = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// Maps and boxes
//===----------------------------------------------------------------------===//

static int64_t floorOf(int64_t numerator, int64_t denominator) {
  return numerator >= 0 ? numerator / denominator
                        : -((-numerator + denominator - 1) / denominator);
}

static int64_t valueOf(mlir::AffineExpr expression,
                       ArrayRef<int64_t> coordinates,
                       ArrayRef<int64_t> symbols) {
  using mlir::AffineExprKind;
  switch (expression.getKind()) {
  case AffineExprKind::Constant:
    return llvm::cast<mlir::AffineConstantExpr>(expression).getValue();
  case AffineExprKind::DimId:
    return coordinates[llvm::cast<mlir::AffineDimExpr>(expression)
                           .getPosition()];
  case AffineExprKind::SymbolId:
    return symbols[llvm::cast<mlir::AffineSymbolExpr>(expression)
                       .getPosition()];
  default:
    break;
  }
  auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(expression);
  int64_t left = valueOf(binary.getLHS(), coordinates, symbols);
  int64_t right = valueOf(binary.getRHS(), coordinates, symbols);
  switch (expression.getKind()) {
  case AffineExprKind::Add:
    return left + right;
  case AffineExprKind::Mul:
    return left * right;
  case AffineExprKind::FloorDiv:
    return floorOf(left, right);
  case AffineExprKind::CeilDiv:
    return -floorOf(-left, right);
  default:
    return left - floorOf(left, right) * right;
  }
}

Point StepInstance::valuesOf(mlir::AffineMap map,
                             ArrayRef<int64_t> coordinates) const {
  Point values;
  for (mlir::AffineExpr result : map.getResults())
    values.push_back(valueOf(result, coordinates, symbols));
  return values;
}

/// Points of `[low, high)` cut to `[0, extents)`, in row-major order.
static void forEach(Point low, Point high, ArrayRef<int64_t> extents,
                    llvm::function_ref<void(const Point &)> visit) {
  for (size_t d = 0; d < extents.size(); ++d) {
    low[d] = std::max<int64_t>(low[d], 0);
    high[d] = std::min(high[d], extents[d]);
    if (low[d] >= high[d])
      return;
  }
  Point point = low;
  while (true) {
    visit(point);
    size_t d = point.size();
    while (d > 0 && ++point[d - 1] == high[d - 1]) {
      point[d - 1] = low[d - 1];
      --d;
    }
    if (d == 0)
      return;
  }
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

std::string StepInstance::nameOf(size_t id) const {
  PhaseOp phase = tasks[id].phase;
  std::string name;
  llvm::raw_string_ostream out(name);
  out << phase.getName() << '(';
  llvm::interleaveComma(tasks[id].coordinates, out);
  out << ")#" << tasks[id].iteration;
  return name;
}

std::optional<Fault> StepInstance::placeBuffers() {
  llvm::StringMap<int64_t> units, firstCells;
  llvm::StringSet<> paged;
  for (auto op : program.getBody().getOps<BufferOp>()) {
    if (op.getKind() == BufferKind::input)
      continue;
    if (!op.getStorage())
      return Fault{FaultKind::bounds,
                   ("@" + op.getSymName() + " has no storage").str()};
    int64_t bytes = op.getElement().getIntOrFloatBitWidth() / 8;
    int64_t &unit = units[*op.getStorage()];
    unit = std::gcd(unit, bytes);
    if (!op.isPaged())
      continue;
    paged.insert(*op.getStorage());
    if (int64_t(op.getPage()) * kPages < op.getCapacity()[0])
      return Fault{FaultKind::bounds, "too few pages"};
    // The runtime says where rows go, each to a slot of its own.
    slots.resize(op.getPage() * kPages);
    std::iota(slots.begin(), slots.end(), 0);
    std::shuffle(slots.begin(), slots.end(), random);
  }
  for (auto op : program.getBody().getOps<StorageOp>()) {
    if (!units.count(op.getSymName()))
      continue;
    firstCells[op.getSymName()] = cellCount;
    cellCount += op.getBytes() / units[op.getSymName()] *
                 (paged.count(op.getSymName()) ? kPages : 1);
  }
  for (auto op : program.getBody().getOps<BufferOp>()) {
    Buffer buffer{op, valuesOf(op.getExtents(), {}), 1, elementCount, 0, 0};
    for (int64_t capacity : op.getCapacity())
      buffer.size *= capacity;
    for (auto [extent, capacity] : llvm::zip(buffer.extents, op.getCapacity()))
      if (extent > capacity)
        return Fault{FaultKind::bounds, nameOf(buffer) + " outgrows itself"};
    elementCount += buffer.size * op.getLayers();
    if (op.getKind() == BufferKind::input) {
      // The runtime's own memory, as long as there are tokens.
      if (buffer.extents[0] > symbols[kRows] + symbols[kPast])
        return Fault{FaultKind::bounds,
                     nameOf(buffer) + " outgrows the tokens"};
      buffer.firstCell = cellCount;
      buffer.cellsPerElement = 1;
      cellCount += buffer.size;
    } else {
      int64_t bytes = op.getElement().getIntOrFloatBitWidth() / 8;
      buffer.firstCell = firstCells[*op.getStorage()];
      buffer.cellsPerElement = bytes / units[*op.getStorage()];
    }
    bufferIndex[op.getSymName()] = buffers.size();
    buffers.push_back(buffer);
  }
  return std::nullopt;
}

/// Values of a table as its property allows them; nothing if there are none.
static std::optional<Point> draw(std::mt19937 &random, TableProperty property,
                                 int64_t count, int64_t low, int64_t high) {
  Point values;
  if (count > 0 && low >= high)
    return std::nullopt;
  auto number = [&] { return low + int64_t(random() % uint64_t(high - low)); };
  switch (property) {
  case TableProperty::any:
    while (int64_t(values.size()) < count)
      values.push_back(number());
    break;
  case TableProperty::distinct:
    if (count > high - low)
      return std::nullopt;
    if (high - low > 1 << 12) {
      std::set<int64_t> taken;
      while (int64_t(taken.size()) < count)
        taken.insert(number());
      values.append(taken.begin(), taken.end());
      break;
    }
    for (int64_t value = low; value < high; ++value)
      values.push_back(value);
    std::shuffle(values.begin(), values.end(), random);
    values.resize(count);
    break;
  case TableProperty::partition:
    if (count < 1 || (count == 1 && low != high - 1))
      return std::nullopt;
    while (int64_t(values.size()) < count)
      values.push_back(number());
    values.front() = low;
    values.back() = high - 1;
    std::sort(values.begin(), values.end());
    break;
  }
  return values;
}

/// Whether the buffer is a running count that tells which tasks have work.
static bool isCount(ProgramOp program, llvm::StringRef buffer) {
  return llvm::any_of(phasesOf(program), [&](PhaseOp phase) {
    auto condition = phase.getCondition();
    return condition && condition->getBuffer().getValue() == buffer;
  });
}

std::optional<Fault> StepInstance::drawTables() {
  for (auto op : program.getBody().getOps<TableOp>()) {
    Table &table = tables[op.getBuffer()];
    for (PhaseOp phase : phasesOf(program))
      for (AccessAttr access : phase.getAccessAttrs())
        if (access.getWrite() && access.getBuffer() == op.getBufferAttr() &&
            phase.getBody().getOps<AdvanceOp>().empty())
          table.segment = llvm::cast<SegmentOp>(phase->getParentOp());
    Buffer &buffer = buffers[bufferIndex.lookup(op.getBuffer())];
    table.layers = buffer.op.getLayers();
    int64_t instances = table.segment ? table.segment.getRepeat() : 1;
    for (int64_t i = 0; i < instances; ++i) {
      auto values =
          draw(random, op.getProperty(), buffer.extents[0],
               valuesOf(op.getLow(), {})[0], valuesOf(op.getHigh(), {})[0]);
      // What tells which tasks have work never grows by more than one.
      if (values && isCount(program, op.getBuffer()))
        for (size_t at = 0; at < values->size(); ++at)
          (*values)[at] = at ? (*values)[at - 1] + int64_t(random() % 2) : 0;
      // No step has such a table: whatever its tasks do, nobody sees it.
      if (!values)
        return Fault{FaultKind::noInstance, nameOf(buffer)};
      table.instances.push_back(*values);
    }
  }
  return std::nullopt;
}

std::optional<Fault> StepInstance::addEntries(Task &task) {
  task.place = task.coordinates;
  auto own = llvm::cast<SegmentOp>(task.phase->getParentOp());
  for (AddressAttr entry : task.phase.getEntryAttrs()) {
    const Table &table = tables.find(entry.getBuffer().getValue())->second;
    // Whoever comes later finds what the last iteration left, or its layer's.
    size_t instance = 0;
    SegmentOp writing = table.segment;
    if (writing && writing == own)
      instance = task.iteration;
    else if (writing && table.layers > 1)
      instance = writing.getLayer(own.getLayer(task.iteration));
    else if (writing)
      instance = table.instances.size() - 1;
    int64_t at = valuesOf(entry.getIndex(), task.coordinates)[0];
    const Point &values = table.instances[instance];
    if (at < 0 || at >= int64_t(values.size()))
      return Fault{
          FaultKind::bounds,
          (task.phase.getName() + " has an entry that is not there").str()};
    task.place.push_back(values[at]);
  }
  return std::nullopt;
}

/// A task that has no work writes nothing of a unit that is wanted.
std::optional<Fault> StepInstance::judgeCondition(const Task &task) {
  PhaseOp phase = task.phase;
  ConditionAttr condition = *phase.getCondition();
  const Point &count =
      tables.find(condition.getBuffer().getValue())->second.instances[0];
  int64_t low = valuesOf(condition.getLow(), task.coordinates)[0];
  Point ends = valuesOf(condition.getHigh(), task.coordinates);
  int64_t high = *std::min_element(ends.begin(), ends.end());
  auto isThere = [&](int64_t at) {
    return at >= 0 && at < int64_t(count.size());
  };
  if (!isThere(low) || !isThere(high))
    return Fault{
        FaultKind::bounds,
        (phase.getName() + " has a condition that is not there").str()};
  if (count[low] < count[high])
    return std::nullopt;
  std::optional<Fault> fault;
  for (auto access : phase.getAccessAttrs())
    if (access.getWrite())
      forEach(
          valuesOf(access.getLow(), task.place),
          valuesOf(access.getHigh(), task.place),
          buffers[bufferIndex.lookup(access.getBuffer().getValue())].extents,
          [&](const Point &point) {
            int64_t unit = point.back() / condition.getUnit();
            if (!isThere(unit + 1) || count[unit] < count[unit + 1])
              fault =
                  Fault{FaultKind::value,
                        (phase.getName() + " leaves out what is wanted").str()};
          });
  return fault;
}

/// Where an element lies, relative to its copy's first.
int64_t StepInstance::placeOf(BufferOp buffer, const Point &index) const {
  Point point = index;
  int64_t place = 0, last = point.size() - 1;
  if (buffer.isPaged()) {
    int64_t slot = slots[point[0]], page = buffer.getPage();
    place = slot / page * int64_t(buffer.getPageStride());
    point[0] = slot % page;
  }
  for (auto [i, stride] : llvm::zip(point, buffer.getStrides()))
    place += i * stride;
  int64_t run = buffer.getInterleave(), columns = buffer.getInterleaveColumns();
  int64_t row = point[0] % run;
  place += row - row * buffer.getStrides()[0];
  if (columns == 1)
    return place;
  // A tile of `run` by `columns` elements lies row by row, not by column.
  int64_t column = point[last] % columns;
  int64_t width =
      std::min(columns, buffer.getCapacity()[last] - (point[last] - column));
  return place - (row + column * run) + (row * width + column);
}

static int64_t elementOf(BufferOp buffer, const Point &point) {
  int64_t element = 0;
  for (auto [i, capacity] : llvm::zip(point, buffer.getCapacity()))
    element = element * capacity + i;
  return element;
}

std::optional<Fault> StepInstance::addTouches(Task &task, AccessAttr access) {
  unsigned index = bufferIndex.lookup(access.getBuffer().getValue());
  Buffer &buffer = buffers[index];
  int64_t layers = buffer.op.getLayers();
  int64_t step = buffer.op.getLayerStride();
  // Each iteration addresses its own copy.
  auto segment = mlir::cast<SegmentOp>(task.phase->getParentOp());
  int64_t iteration = task.iteration;
  if (task.phase.getAhead() && ++iteration == int64_t(segment.getRepeat()))
    return std::nullopt;
  int64_t layer = layers > 1 || step > 0 ? segment.getLayer(iteration) : 0;
  if (buffer.op.getRing())
    layer %= layers;
  if (layer >= layers)
    return Fault{FaultKind::bounds, nameOf(buffer) + " has too few layers"};
  forEach(valuesOf(access.getLow(), task.place),
          valuesOf(access.getHigh(), task.place), buffer.extents,
          [&](const Point &point) {
            int64_t address = buffer.op.getOffset() + layer * step +
                              placeOf(buffer.op, point);
            int64_t element = elementOf(buffer.op, point);
            task.touches.push_back(
                {index, access.getWrite(),
                 buffer.firstElement + layer * buffer.size + element,
                 buffer.firstCell + address * buffer.cellsPerElement,
                 point[0]});
          });
  return std::nullopt;
}

std::optional<unsigned> StepInstance::wordAt(llvm::StringRef name,
                                             ArrayRef<int64_t> index) {
  const Event &event = events.find(name)->second;
  int64_t offset = 0;
  for (auto [i, extent] : llvm::zip(index, event.shape)) {
    if (i < 0 || i >= extent)
      return std::nullopt;
    offset = offset * extent + i;
  }
  return event.firstWord + offset;
}

void StepInstance::addWaits(Task &task, WaitAttr wait) {
  llvm::StringRef name = wait.getEvent().getValue();
  const Event &event = events.find(name)->second;
  SegmentOp notifying = event.segment;
  auto own = llvm::cast<SegmentOp>(task.phase->getParentOp());
  TensorOp tensor = event.op;
  int64_t iterations = notifying == own
                           ? task.iteration + 1 - wait.getDistance()
                           : int64_t(notifying.getRepeat());
  int64_t threshold = iterations * valuesOf(tensor.getCount(), {})[0];
  if (threshold <= 0)
    return;
  forEach(valuesOf(wait.getLow(), task.coordinates),
          valuesOf(wait.getHigh(), task.coordinates), event.shape,
          [&](const Point &word) {
            task.waits.push_back({*wordAt(name, word), threshold});
          });
}

std::optional<Fault> StepInstance::addTask(PhaseOp phase, int64_t iteration,
                                           Point coordinates) {
  Task task{phase, iteration, std::move(coordinates), {}, {}, {}, {}};
  if (auto fault = addEntries(task))
    return fault;
  if (phase.getCondition())
    if (auto fault = judgeCondition(task))
      return fault;
  for (auto access : phase.getAccessAttrs())
    if (auto fault = addTouches(task, access))
      return fault;
  for (auto wait : phase.getWaitAttrs())
    addWaits(task, wait);
  if (auto notify = phase.getNotify()) {
    task.word = wordAt(notify->getEvent().getValue(),
                       valuesOf(notify->getIndex(), task.coordinates));
    if (!task.word)
      return Fault{FaultKind::bounds,
                   ("a word of @" + notify->getEvent().getValue() +
                    " that is not there is notified")
                       .str()};
  }
  tasks.push_back(std::move(task));
  return std::nullopt;
}

std::optional<Fault> StepInstance::build() {
  if (auto fault = placeBuffers())
    return fault;
  if (auto fault = drawTables())
    return fault;
  for (auto op : program.getBody().getOps<TensorOp>()) {
    Event event{op, valuesOf(op.getShape(), {}), wordCount, {}};
    unsigned words = 1;
    for (auto [extent, capacity] : llvm::zip(event.shape, op.getCapacity())) {
      if (extent > capacity)
        return Fault{FaultKind::bounds,
                     ("@" + op.getSymName() + " outgrows itself").str()};
      words *= std::max<int64_t>(extent, 0);
    }
    wordCount += words;
    events[op.getSymName()] = std::move(event);
  }
  for (PhaseOp phase : phasesOf(program))
    if (auto notify = phase.getNotify())
      events.find(notify->getEvent().getValue())->second.segment =
          llvm::cast<SegmentOp>(phase->getParentOp());
  std::optional<Fault> fault;
  for (auto segment : program.getBody().getOps<SegmentOp>())
    for (int64_t iteration = 0, e = segment.getRepeat(); iteration < e;
         ++iteration)
      for (auto phase : segment.getBody().getOps<PhaseOp>()) {
        Point grid = valuesOf(phase.getGrid(), {});
        for (auto [extent, capacity] : llvm::zip(grid, phase.getCapacity()))
          if (extent > capacity)
            return Fault{FaultKind::bounds,
                         (phase.getName() + " outgrows its grid").str()};
        forEach(Point(grid.size(), 0), grid, grid, [&](const Point &point) {
          if (!fault)
            fault = addTask(phase, iteration, point);
        });
      }
  return fault;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

bool StepInstance::readLists() {
  predecessor.assign(tasks.size(), std::nullopt);
  std::map<std::tuple<std::string, int64_t, std::vector<int64_t>>, size_t> ids;
  bool isForeign = false;
  for (auto schedule : program.getBody().getOps<ScheduleOp>()) {
    if (int64_t(schedule.getRows()) != symbols[kRows] ||
        int64_t(schedule.getPast()) != symbols[kPast] ||
        int64_t(schedule.getOutputs()) != symbols[kOutputs]) {
      isForeign = true;
      continue;
    }
    hasLists = true;
    for (size_t id = 0; id < tasks.size(); ++id) {
      Task &task = tasks[id];
      ids[{task.phase.getName().str(), task.iteration,
           std::vector<int64_t>(task.coordinates.begin(),
                                task.coordinates.end())}] = id;
    }
    for (auto list : schedule.getWorkers().getAsRange<mlir::ArrayAttr>()) {
      std::optional<size_t> previous;
      for (auto entry : list.getAsRange<TaskAttr>()) {
        size_t id = ids.at({entry.getPhase().str(), entry.getIteration(),
                            entry.getCoordinates().vec()});
        predecessor[id] = previous;
        previous = id;
      }
    }
    break;
  }
  return hasLists || !isForeign;
}

std::vector<bool> StepInstance::run(std::optional<size_t> blocked) const {
  std::vector<bool> ended(tasks.size(), false);
  std::vector<size_t> missing(tasks.size(), 0), ready;
  std::vector<std::vector<std::pair<int64_t, size_t>>> waiting(wordCount);
  std::vector<std::vector<size_t>> successors(tasks.size());
  std::vector<int64_t> counts(wordCount, 0);
  for (size_t id = 0; id < tasks.size(); ++id) {
    missing[id] = tasks[id].waits.size();
    for (const Wait &wait : tasks[id].waits)
      waiting[wait.word].push_back({wait.threshold, id});
    if (predecessor[id]) {
      ++missing[id];
      successors[*predecessor[id]].push_back(id);
    }
    if (missing[id] == 0)
      ready.push_back(id);
  }
  auto goOn = [&](size_t id) {
    if (--missing[id] == 0)
      ready.push_back(id);
  };
  while (!ready.empty()) {
    size_t id = ready.back();
    ready.pop_back();
    if (id == blocked)
      continue;
    ended[id] = true;
    for (size_t successor : successors[id])
      goOn(successor);
    if (!tasks[id].word)
      continue;
    int64_t count = ++counts[*tasks[id].word];
    for (auto [threshold, waiter] : waiting[*tasks[id].word])
      if (threshold == count)
        goOn(waiter);
  }
  return ended;
}

std::optional<Fault> StepInstance::judgeRankOrder() const {
  std::vector<int64_t> counts(wordCount, 0);
  for (size_t id = 0; id < tasks.size(); ++id) {
    for (const Wait &wait : tasks[id].waits)
      if (counts[wait.word] < wait.threshold)
        return Fault{FaultKind::deadlock,
                     "one worker never starts " + nameOf(id)};
    if (tasks[id].word)
      ++counts[*tasks[id].word];
  }
  return std::nullopt;
}

std::optional<Fault> StepInstance::judgeOrder() {
  if (!readLists())
    return std::nullopt;
  if (!hasLists)
    if (auto fault = judgeRankOrder())
      return fault;
  std::vector<bool> ended = run(std::nullopt);
  for (size_t id = 0; id < tasks.size(); ++id)
    if (!ended[id])
      return Fault{FaultKind::deadlock, nameOf(id) + " never starts"};
  return judgeRaces();
}

std::optional<Fault> StepInstance::judgeRaces() const {
  size_t count = tasks.size();
  BitMatrix before(count, count);
  for (size_t blocked = 0; blocked < count; ++blocked) {
    std::vector<bool> ended = run(blocked);
    for (size_t id = 0; id < count; ++id)
      if (!ended[id])
        before.set(id, blocked);
  }
  BitMatrix readers(cellCount, count), writers(cellCount, count);
  std::vector<std::pair<size_t, unsigned>> writing(cellCount, {count, 0});
  for (size_t id = 0; id < count; ++id) {
    auto forCells = [&](const Touch &touch, auto visit) {
      for (int64_t i = 0; i < buffers[touch.buffer].cellsPerElement; ++i)
        visit(touch.cell + i);
    };
    std::optional<Fault> fault;
    for (const Touch &touch : tasks[id].touches)
      forCells(touch, [&](int64_t cell) {
        std::optional<size_t> other = writers.outside(cell, before, id, id);
        if (!other && touch.isWrite)
          other = readers.outside(cell, before, id, id);
        if (other)
          fault = Fault{FaultKind::race, nameOf(id) + " may touch " +
                                             nameOf(buffers[touch.buffer]) +
                                             " before " + nameOf(*other)};
        if (!touch.isWrite)
          return;
        if (writing[cell].first == id && writing[cell].second != touch.buffer)
          fault = Fault{FaultKind::race, nameOf(id) + " writes bytes twice"};
        writing[cell] = {id, touch.buffer};
      });
    for (const Touch &touch : tasks[id].touches)
      forCells(touch, [&](int64_t cell) {
        if (writing[cell].first == id && writing[cell].second != touch.buffer)
          fault = Fault{FaultKind::race,
                        nameOf(id) + " writes what it has under another name"};
        (touch.isWrite ? writers : readers).set(cell, id);
      });
    if (fault)
      return fault;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<Fault> StepInstance::judgeValues(Memory &memory,
                                               int64_t firstTask) {
  bool isFirstStep = memory.cells.empty();
  memory.cells.resize(cellCount, kNothing);
  memory.elements.resize(elementCount, kNothing);
  auto put = [&](unsigned index, int64_t element, int64_t cell, Tag tag) {
    memory.elements[element] = tag;
    for (int64_t i = 0; i < buffers[index].cellsPerElement; ++i)
      memory.cells[cell + i] = tag;
  };
  // What the phase that advances is stated to write, the runtime writes for the
  // step behind it, whatever rows that has.
  llvm::StringSet<> provided;
  for (PhaseOp phase : phasesOf(program))
    if (!phase.getBody().getOps<AdvanceOp>().empty())
      for (AccessAttr access : phase.getAccessAttrs())
        if (access.getWrite())
          provided.insert(access.getBuffer().getValue());
  // What earlier steps and the runtime have written.
  for (unsigned index = 0; index < buffers.size(); ++index) {
    Buffer &buffer = buffers[index];
    bool isState = buffer.op.getKind() == BufferKind::state;
    bool isInput = buffer.op.getKind() == BufferKind::input;
    bool persists = buffer.op.getKind() == BufferKind::persistent;
    int64_t layers = buffer.op.getLayers();
    // Of a state in pages a step has its own rows.
    if ((!isState && !persists) || buffer.op.isPaged())
      for (int64_t i = 0; i < buffer.size; ++i)
        memory.elements[buffer.firstElement + i] = kNothing;
    bool isProvided = persists && provided.contains(buffer.op.getSymName());
    if (!isInput && !isProvided && !((isState || persists) && isFirstStep))
      continue;
    for (int64_t layer = 0; layer < layers; ++layer) {
      Point high = buffer.extents;
      if (isState)
        high[0] = buffer.op.isPaged() ? 0 : symbols[kPast];
      forEach(Point(high.size(), 0), high, buffer.extents,
              [&](const Point &point) {
                int64_t address = buffer.op.getOffset() +
                                  layer * int64_t(buffer.op.getLayerStride()) +
                                  placeOf(buffer.op, point);
                int64_t element = elementOf(buffer.op, point);
                element += buffer.firstElement + layer * buffer.size;
                put(index, element,
                    buffer.firstCell + address * buffer.cellsPerElement,
                    persists ? kKept : element);
              });
    }
  }
  for (size_t id = 0; id < tasks.size(); ++id) {
    for (const Touch &touch : tasks[id].touches) {
      if (touch.isWrite)
        continue;
      const Buffer &buffer = buffers[touch.buffer];
      Tag meant = memory.elements[touch.element];
      if (meant == kNothing)
        return Fault{FaultKind::value, nameOf(id) + " reads row " +
                                           std::to_string(touch.row) + " of " +
                                           nameOf(buffer) + " unwritten"};
      for (int64_t i = 0; i < buffer.cellsPerElement; ++i)
        if (memory.cells[touch.cell + i] != meant)
          return Fault{FaultKind::value,
                       nameOf(id) + " reads row " + std::to_string(touch.row) +
                           " of " + nameOf(buffer) + " overwritten"};
    }
    for (const Touch &touch : tasks[id].touches)
      if (touch.isWrite)
        put(touch.buffer, touch.element, touch.cell,
            buffers[touch.buffer].op.getKind() == BufferKind::persistent
                ? kKept
                : (firstTask + int64_t(id) + 1) * elementCount + touch.element);
  }
  return std::nullopt;
}

static std::optional<Fault> unlessImpossible(std::optional<Fault> fault) {
  return fault && fault->kind == FaultKind::noInstance ? std::nullopt : fault;
}

std::optional<Fault> baton::test::findFault(ProgramOp program, Step step,
                                            unsigned seed) {
  StepInstance instance(program, step, seed);
  if (auto fault = instance.build())
    return unlessImpossible(fault);
  if (auto fault = instance.judgeOrder())
    return fault;
  StepInstance::Memory memory;
  if (auto fault = instance.judgeValues(memory, 0))
    return fault;
  int64_t past = step.past + step.rows;
  if (past + 1 > int64_t(program.getMaxSeq()))
    return std::nullopt;
  StepInstance next(program, {1, past, 1}, seed + 1);
  if (auto fault = next.build())
    return unlessImpossible(fault);
  return next.judgeValues(memory, instance.taskCount());
}
