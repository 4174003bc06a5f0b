//===- StepValues.cpp - what programs of a step hand to one another -------===//
//
// A walk over the programs that one rank runs in a step, phase after phase in
// the order that PlanVerifier has proved. It keeps, for every storage that
// outlives a program, which bytes tasks have written in this step, and holds
// against it what each phase reads of persistent buffers.
//
// Buffers of fixed extents are taken as bytes, whatever shapes programs see
// them in; so copies of layers, rings and shapes of one memory need no rule of
// their own. A buffer whose extents depend on the step, as what a microbatch's
// forward program keeps for its backward one, counts as written when all of it
// is, in every step. A write of fixed extents that depends on the rows counts
// when it covers the buffer whatever they are.
//
//===----------------------------------------------------------------------===//

#include "passes/proof/PlanMessages.h"
#include "passes/proof/PlanVerifier.h"
#include "passes/proof/StepProof.h"

#include "runtime/step_sequence.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <climits>
#include <map>
#include <memory>
#include <set>
#include <span>

using namespace mlir;
using namespace baton;
using namespace baton::event;
using namespace baton::tasks;

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

namespace {
/// [begin, end)
struct Span {
  int64_t begin, end;
};

/// A set of bytes, each with a tag: the layer whose values a ring holds there.
class Bytes {
public:
  static constexpr int64_t kNoTag = -1;

  void add(Span span, int64_t tag = kNoTag) {
    if (span.begin >= span.end)
      return;
    cut(span.begin);
    cut(span.end);
    spans.erase(spans.lower_bound(span.begin), spans.lower_bound(span.end));
    auto added = spans.insert({span.begin, {span.end, tag}}).first;
    // Neighbours of one tag are one.
    if (auto after = std::next(added); after != spans.end() &&
                                       after->first == span.end &&
                                       after->second.tag == tag) {
      added->second.end = after->second.end;
      spans.erase(after);
    }
    if (added == spans.begin())
      return;
    auto before = std::prev(added);
    if (before->second.end == added->first && before->second.tag == tag) {
      before->second.end = added->second.end;
      spans.erase(added);
    }
  }
  void clear() { spans.clear(); }
  /// The first byte of the span that is not there; with `tag`, or has another.
  std::optional<int64_t> findMissing(Span span, int64_t tag = kNoTag) const {
    int64_t at = span.begin;
    auto found = spans.upper_bound(at);
    if (found != spans.begin())
      --found;
    for (; found != spans.end() && at < span.end; ++found) {
      if (found->second.end <= at)
        continue;
      if (found->first > at ||
          (found->second.tag != kNoTag && tag != found->second.tag))
        return at;
      at = found->second.end;
    }
    return at < span.end ? std::optional(at) : std::nullopt;
  }
  bool meets(Span span) const {
    auto found = spans.lower_bound(span.end);
    return found != spans.begin() && std::prev(found)->second.end > span.begin;
  }
  std::vector<Span> list() const {
    std::vector<Span> result;
    for (auto [begin, rest] : spans)
      result.push_back({begin, rest.end});
    return result;
  }

private:
  struct Rest {
    int64_t end, tag;
  };
  /// Makes `at` a border.
  void cut(int64_t at) {
    auto found = spans.lower_bound(at);
    if (found == spans.begin())
      return;
    --found;
    if (found->second.end <= at)
      return;
    Rest rest = found->second;
    found->second.end = at;
    spans[at] = rest;
  }

  std::map<int64_t, Rest> spans;
};
} // namespace

static int64_t bytesOf(BufferOp buffer) {
  return buffer.getElement().getIntOrFloatBitWidth() / 8;
}

static bool isFixed(BufferOp buffer) {
  return llvm::all_of(buffer.getExtents().getResults(), [](AffineExpr extent) {
    return isa<AffineConstantExpr>(extent);
  });
}

/// In order, neighbours as one.
static std::vector<Span> joined(std::vector<Span> spans) {
  llvm::sort(spans,
             [](const Span &a, const Span &b) { return a.begin < b.begin; });
  std::vector<Span> result;
  for (const Span &span : spans)
    if (!result.empty() && span.begin <= result.back().end)
      result.back().end = std::max(result.back().end, span.end);
    else
      result.push_back(span);
  return result;
}

/// What to say of a box of more runs of bytes, or a grid of more tasks, than
/// anybody would list.
enum class Many { nothing, everything };
static constexpr int64_t kMost = int64_t(1) << 20;

/// Bytes of a box of the first copy, from the storage's beginning on. Whether
/// these are all.
static bool addBox(BufferOp buffer, ArrayRef<int64_t> low,
                   ArrayRef<int64_t> high, std::vector<Span> &bytes,
                   Many many) {
  ArrayRef<int64_t> strides = buffer.getStrides();
  SmallVector<int64_t> from(low), to(high);
  for (auto [begin, end, capacity] :
       llvm::zip(from, to, buffer.getCapacity())) {
    begin = std::max<int64_t>(begin, 0);
    end = std::min(end, capacity);
    if (begin >= end)
      return true;
  }
  // Dimensions from `run` on lie behind one another.
  unsigned run = from.size();
  int64_t length = 1;
  while (run > 0 && strides[run - 1] == length) {
    --run;
    length *= to[run] - from[run];
    if (to[run] - from[run] != buffer.getCapacity()[run])
      break;
  }
  int64_t size = bytesOf(buffer), runs = 1;
  for (unsigned d = 0; d < run && runs <= kMost; ++d)
    runs = to[d] - from[d] > kMost ? kMost + 1 : runs * (to[d] - from[d]);
  if (runs > kMost) {
    int64_t offset = buffer.getOffset();
    if (many == Many::everything)
      bytes.push_back({offset * size, (offset + *buffer.getSpan() + 1) * size});
    return many == Many::everything;
  }
  SmallVector<int64_t> index(from.begin(), from.begin() + run);
  while (true) {
    int64_t first = buffer.getOffset();
    for (unsigned d = 0; d < from.size(); ++d)
      first += (d < run ? index[d] : from[d]) * strides[d];
    bytes.push_back({first * size, (first + length) * size});
    unsigned d = run;
    while (d > 0 && ++index[d - 1] == to[d - 1]) {
      index[d - 1] = from[d - 1];
      --d;
    }
    if (d == 0)
      return true;
  }
}

/// Which bytes a buffer's elements are, in whatever program it is declared.
using Place = std::tuple<const void *, const void *, const void *, const void *,
                         int64_t, int64_t, int64_t>;
static Place placeOf(BufferOp buffer) {
  return {buffer.getStorageAttr().getAttr().getAsOpaquePointer(),
          buffer.getExtents().getAsOpaquePointer(),
          buffer.getStridesAttr().getAsOpaquePointer(),
          buffer.getElement().getAsOpaquePointer(),
          int64_t(buffer.getOffset()),
          int64_t(buffer.getLayers()),
          int64_t(buffer.getLayerStride())};
}

//===----------------------------------------------------------------------===//
// One program
//===----------------------------------------------------------------------===//

namespace {
/// What a phase touches of a persistent buffer, all tasks together.
struct Touch {
  AccessAttr access;
  BufferOp buffer;
  /// Of fixed extents: bytes of the first copy.
  std::vector<Span> spans;
  /// Whether a write is of no others.
  bool isAll = true;
};

/// What a program's phases touch of persistent buffers, with the outputs that
/// it runs with.
class ProgramTouches {
public:
  ProgramTouches(ProgramOp program, std::optional<int64_t> outputs);

  ArrayRef<Touch> of(PhaseOp phase) const {
    auto found = touches.find(phase);
    return found == touches.end() ? ArrayRef<Touch>() : found->second;
  }
  /// Whether earlier tasks of the program have written all of a read.
  bool isWritten(PhaseOp reader, AccessAttr read) {
    auto [known, isNew] = written.try_emplace({reader, read});
    if (isNew)
      known->second = verifier.isWritten(reader, read);
    return known->second;
  }
  /// Buffers all of whose elements a run writes, in every step.
  ArrayRef<BufferOp> writtenWhole() const { return whole; }
  /// Bytes of each storage that are kept, and that are renewed.
  llvm::MapVector<StringAttr, Bytes> carried[2];
  /// Buffers that the runtime writes when the program is through, and where.
  llvm::StringMap<Place> provided;

private:
  void list(PhaseOp phase, Touch &touch);
  AffineMap fix(AffineMap map) const;

  ProgramOp program;
  std::optional<int64_t> outputs;
  PlanVerifier verifier;
  llvm::DenseMap<Operation *, SmallVector<Touch>> touches;
  /// What isWritten() has said: each microbatch and layer asks the same.
  llvm::DenseMap<std::pair<Operation *, Attribute>, bool> written;
  SmallVector<BufferOp> whole;
};
} // namespace

/// The map with the outputs of the run.
AffineMap ProgramTouches::fix(AffineMap map) const {
  if (!outputs)
    return map;
  MLIRContext *context = map.getContext();
  return simplifyAffineMap(map.replace(getAffineSymbolExpr(kOutputs, context),
                                       getAffineConstantExpr(*outputs, context),
                                       map.getNumDims(), map.getNumSymbols()));
}

static bool hasSymbols(AffineMap map) {
  for (unsigned symbol = 0; symbol < map.getNumSymbols(); ++symbol)
    if (map.isFunctionOfSymbol(symbol))
      return true;
  return false;
}

/// Calls `visit` with the coordinates of each task of a grid.
template <typename Visit>
static void forEachTask(ArrayRef<int64_t> grid, Visit visit) {
  if (llvm::any_of(grid, [](int64_t extent) { return extent < 1; }))
    return;
  SmallVector<int64_t> task(grid.size(), 0);
  while (true) {
    visit(ArrayRef<int64_t>(task));
    unsigned d = grid.size();
    while (d > 0 && ++task[d - 1] == grid[d - 1])
      task[--d] = 0;
    if (d == 0)
      return;
  }
}

/// Bytes that all tasks touch: at most those of a write, at least those of a
/// read.
void ProgramTouches::list(PhaseOp phase, Touch &touch) {
  AccessAttr access = touch.access;
  BufferOp buffer = touch.buffer;
  AffineMap grid = fix(phase.getGrid()), low = fix(access.getLow()),
            high = fix(access.getHigh());
  Many many = access.getWrite() ? Many::nothing : Many::everything;
  std::vector<Span> &bytes = touch.spans;
  SmallVector<int64_t> symbols(kStepSymbols, 0);
  bool varies = phase.hasEntries() || hasSymbols(grid) || hasSymbols(low) ||
                hasSymbols(high);
  int64_t tasks = 1;
  if (!varies)
    for (int64_t extent : evaluate(grid, {}, symbols))
      tasks *= std::max<int64_t>(extent, 0);
  varies |= tasks > kMost;
  // Tiles together are mostly the whole, which is quicker to see than to list.
  // A read that varies may be of everything.
  if ((varies && !access.getWrite()) ||
      ((varies || tasks > 1) && verifier.covers(phase, access, outputs))) {
    touch.isAll = addBox(
        buffer, SmallVector<int64_t>(buffer.getCapacity().size(), 0),
        SmallVector<int64_t>(evaluate(buffer.getExtents(), {}, {1, 0, 0})),
        bytes, many);
    bytes = joined(std::move(bytes));
    return;
  }
  touch.isAll = !varies;
  if (varies)
    return;
  SmallVector<int64_t> extents = evaluate(buffer.getExtents(), {}, symbols);
  forEachTask(evaluate(grid, {}, symbols), [&](ArrayRef<int64_t> task) {
    SmallVector<int64_t> from = evaluate(low, task, symbols),
                         to = evaluate(high, task, symbols);
    for (auto [end, extent] : llvm::zip(to, extents))
      end = std::min(end, extent);
    touch.isAll &= addBox(buffer, from, to, bytes, many);
  });
  bytes = joined(std::move(bytes));
}

ProgramTouches::ProgramTouches(ProgramOp program,
                               std::optional<int64_t> outputs)
    : program(program), outputs(outputs), verifier(program) {
  SymbolTable symbols(program);
  for (PhaseOp phase : phasesOf(program)) {
    bool advances = !phase.getBody().getOps<AdvanceOp>().empty();
    for (AccessAttr access : phase.getAccessAttrs()) {
      auto buffer = symbols.lookup<BufferOp>(access.getBuffer().getAttr());
      if (buffer.getKind() != BufferKind::persistent)
        continue;
      // What the runtime writes is not there before the next program.
      if (advances && access.getWrite()) {
        if (verifier.covers(phase, access))
          provided[access.getBuffer().getValue()] = placeOf(buffer);
        continue;
      }
      Touch touch{access, buffer, {}};
      if (isFixed(buffer))
        list(phase, touch);
      touches[phase].push_back(std::move(touch));
    }
  }
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    if (buffer.getKind() != BufferKind::persistent)
      continue;
    if (!isFixed(buffer) && verifier.writesWhole(buffer))
      whole.push_back(buffer);
    if (!buffer.getCarry())
      continue;
    Bytes &bytes = carried[buffer.getCarry() == Carry::kept ? 0 : 1]
                          [buffer.getStorageAttr().getAttr()];
    for (uint64_t copy = 0; copy < buffer.getLayers(); ++copy) {
      std::vector<Span> one;
      addBox(buffer, SmallVector<int64_t>(buffer.getCapacity().size(), 0),
             SmallVector<int64_t>(buffer.getCapacity()), one, Many::nothing);
      int64_t base = copy * buffer.getLayerStride() * bytesOf(buffer);
      for (Span span : joined(one))
        bytes.add({span.begin + base, span.end + base});
    }
  }
}

//===----------------------------------------------------------------------===//
// A step of one rank
//===----------------------------------------------------------------------===//

namespace {
/// One rank's memory, as its programs write it.
class StepMemory {
public:
  explicit StepMemory(const StepSequence &sequence) : sequence(sequence) {}

  LogicalResult run();

private:
  /// A microbatch in flight, a storage, and a chunk; -1 where it has none. The
  /// flight is first, so that all memory of one is a range.
  using Region = std::tuple<int, const void *, int>;
  /// The flight of what only one run of a program has.
  static constexpr int kTransient = -2;
  struct Memory {
    Bytes written;
    /// Written, or what a task may have written.
    Bytes possible;
    Bytes kept, carried;
    /// Buffers of extents that depend on the step, by place.
    std::set<Place> whole;
  };

  ProgramTouches &touchesOf(const ProgramRun &run);
  void declare(const ProgramRun &run);
  void forget(int flight);
  LogicalResult runProgram(size_t index);
  LogicalResult runPhase(const ProgramRun &run, PhaseOp phase, int64_t layer);
  LogicalResult read(const ProgramRun &run, PhaseOp phase, const Touch &touch,
                     int64_t layer);
  LogicalResult write(const ProgramRun &run, PhaseOp phase, const Touch &touch,
                      int64_t layer);
  LogicalResult verifyRenewed(const ProgramRun &run);
  Region regionOf(const ProgramRun &run, StringAttr storage,
                  int64_t &begin) const;
  LogicalResult reportMissing(const ProgramRun &run, PhaseOp phase,
                              const Touch &touch, std::string element,
                              StringRef how);

  const StepSequence &sequence;
  std::map<Region, Memory> memories;
  std::map<std::pair<Operation *, int64_t>, std::unique_ptr<ProgramTouches>>
      touches;
  struct Storage {
    StorageScope scope;
    int64_t bytes = 0;
  };
  /// Of each program, by name: looked up for each touch of each layer.
  llvm::DenseMap<Operation *, llvm::DenseMap<StringAttr, Storage>> storages;
  /// What the runtime has written before the program that runs.
  const llvm::StringMap<Place> *provided = nullptr;
};
} // namespace

ProgramTouches &StepMemory::touchesOf(const ProgramRun &run) {
  std::unique_ptr<ProgramTouches> &entry =
      touches[{run.program, run.outputs.value_or(-1)}];
  if (!entry)
    entry = std::make_unique<ProgramTouches>(run.program, run.outputs);
  return *entry;
}

/// The memory that a program has for a storage, and its first byte there.
StepMemory::Region StepMemory::regionOf(const ProgramRun &run,
                                        StringAttr storage,
                                        int64_t &begin) const {
  begin = 0;
  const void *name = storage.getAsOpaquePointer();
  ProgramOp program = run.program;
  if (!program->hasAttr("event.part") || program->hasAttr("event.stages"))
    return {-1, name, -1};
  const auto &[scope, bytes] =
      storages.find(run.program)->second.find(storage)->second;
  if (scope.slot == "microbatch")
    begin = run.microbatch.value_or(0) * bytes;
  if (scope.slot == "chunk")
    begin = run.chunk * bytes;
  switch (scope.kind) {
  case StorageScope::rank:
    return {-1, name, -1};
  case StorageScope::stage:
    return {scope.slot == "flight" ? int(run.slot) : -1, name, int(run.chunk)};
  case StorageScope::transient:
    return {kTransient, name, -1};
  }
}

/// What a program says of its memory before any runs.
void StepMemory::declare(const ProgramRun &run) {
  auto [known, isNew] = storages.try_emplace(run.program);
  if (isNew) {
    const auto scopes = scopesOf(run.program);
    ProgramOp program = run.program;
    for (auto storage : program.getBody().getOps<StorageOp>()) {
      StringAttr name = storage.getSymNameAttr();
      known->second[name] = {scopes.lookup(name), int64_t(storage.getBytes())};
    }
  }
  ProgramTouches &touched = touchesOf(run);
  for (bool renewed : {false, true})
    for (auto &[storage, bytes] : touched.carried[renewed]) {
      int64_t begin;
      Memory &memory = memories[regionOf(run, storage, begin)];
      for (Span span : bytes.list()) {
        Span own = {span.begin + begin, span.end + begin};
        memory.carried.add(own);
        if (!renewed)
          memory.kept.add(own);
      }
    }
}

/// The index of the element that has a byte of the copy.
static std::string elementAt(BufferOp buffer, int64_t byte) {
  int64_t rest = byte / bytesOf(buffer) - int64_t(buffer.getOffset());
  if (buffer.getLayers() > 1 && buffer.getLayerStride())
    rest %= int64_t(buffer.getLayerStride());
  SmallVector<std::pair<int64_t, unsigned>> strides;
  for (auto [d, stride] : llvm::enumerate(buffer.getStrides()))
    strides.push_back({-stride, unsigned(d)});
  llvm::sort(strides);
  SmallVector<int64_t> index(strides.size());
  for (auto [stride, d] : strides) {
    index[d] = rest / -stride;
    rest %= -stride;
  }
  return tupleText(index);
}

LogicalResult StepMemory::reportMissing(const ProgramRun &run, PhaseOp phase,
                                        const Touch &touch, std::string element,
                                        StringRef how) {
  auto diagnostic = phase.emitError()
                    << "phase '" << phase.getName() << "' reads "
                    << touch.access.getBuffer() << element << ", " << how;
  if (sequence.runs.size() > 1) {
    diagnostic << "; in a step that runs";
    for (const ProgramRun &each : sequence.runs) {
      diagnostic << " @" << ProgramOp(each.program).getSymName();
      if (&each == &run)
        break;
    }
    if (ProgramOp(run.program)->hasAttr("event.part"))
      diagnostic << " at place " << sequence.place;
  }
  return diagnostic;
}

LogicalResult StepMemory::read(const ProgramRun &run, PhaseOp phase,
                               const Touch &touch, int64_t layer) {
  BufferOp buffer = touch.buffer;
  AccessAttr access = touch.access;
  auto given = provided->find(access.getBuffer().getValue());
  if (given != provided->end() && given->second == placeOf(buffer))
    return success();
  StringRef nobody = "which no task of the step has written, nothing carries "
                     "from the step before, and the runtime does not provide";
  int64_t begin;
  Memory &memory =
      memories[regionOf(run, buffer.getStorageAttr().getAttr(), begin)];
  if (!isFixed(buffer)) {
    if (memory.whole.contains(placeOf(buffer)) ||
        touchesOf(run).isWritten(phase, access))
      return success();
    return reportMissing(run, phase, touch, "", nobody);
  }
  begin += buffer.getCopy(layer) * buffer.getLayerStride() * bytesOf(buffer);
  int64_t tag = buffer.getRing() ? layer : Bytes::kNoTag;
  bool isBegun = access.getCondition() && !run.accumulates;
  for (Span span : touch.spans) {
    Span own = {span.begin + begin, span.end + begin};
    // The first microbatch reads none of what others add to, and forgets it.
    if (isBegun && !memory.written.meets(own))
      continue;
    if (isBegun)
      return phase.emitError()
             << "phase '" << phase.getName() << "' begins "
             << access.getBuffer()
             << " anew in a step's first microbatch, but others have added to "
                "it before";
    Span open = own;
    const Bytes &there = access.getMay() ? memory.possible : memory.written;
    while (auto missing = there.findMissing(open, tag)) {
      open.begin = *missing;
      auto uncarried = memory.carried.findMissing(open);
      if (uncarried == missing)
        return reportMissing(run, phase, touch,
                             elementAt(buffer, *missing - begin), nobody);
      open.begin = uncarried.value_or(open.end);
    }
    // What a ring holds from now on is this layer's.
    if (buffer.getRing())
      for (Bytes *bytes : {&memory.written, &memory.possible})
        bytes->add(own, layer);
  }
  return success();
}

LogicalResult StepMemory::write(const ProgramRun &run, PhaseOp phase,
                                const Touch &touch, int64_t layer) {
  BufferOp buffer = touch.buffer;
  int64_t begin;
  Memory &memory =
      memories[regionOf(run, buffer.getStorageAttr().getAttr(), begin)];
  // Nothing is known of what other shapes of the memory hold.
  Place place = placeOf(buffer);
  std::erase_if(memory.whole, [&](const Place &other) {
    return isFixed(buffer) || other != place;
  });
  if (!isFixed(buffer)) {
    memory.written.clear();
    memory.possible.clear();
  }
  begin += buffer.getCopy(layer) * buffer.getLayerStride() * bytesOf(buffer);
  // What depends on the step may be all that there is room for.
  std::vector<Span> room = touch.spans;
  if (!isFixed(buffer) || !touch.isAll) {
    room.clear();
    addBox(buffer, SmallVector<int64_t>(buffer.getCapacity().size(), 0),
           SmallVector<int64_t>(buffer.getCapacity()), room, Many::everything);
  }
  for (Span span : room)
    if (memory.kept.meets({span.begin + begin, span.end + begin}))
      return phase.emitError()
             << "phase '" << phase.getName() << "' writes "
             << touch.access.getBuffer()
             << ", of which a buffer of the same storage is said to be kept "
                "from step to step";
  for (Span span : touch.spans) {
    Span own = {span.begin + begin, span.end + begin};
    int64_t tag = buffer.getRing() ? layer : Bytes::kNoTag;
    memory.possible.add(own, tag);
    if (!touch.access.getMay())
      memory.written.add(own, tag);
  }
  return success();
}

LogicalResult StepMemory::runPhase(const ProgramRun &run, PhaseOp phase,
                                   int64_t layer) {
  ArrayRef<Touch> all = touchesOf(run).of(phase);
  for (const Touch &touch : all)
    if (!touch.access.getWrite() && failed(read(run, phase, touch, layer)))
      return failure();
  for (const Touch &touch : all)
    if (touch.access.getWrite() && failed(write(run, phase, touch, layer)))
      return failure();
  return success();
}

/// What programs have written into the memory of a flight.
void StepMemory::forget(int flight) {
  for (auto at = memories.lower_bound({flight, nullptr, INT_MIN});
       at != memories.end() && std::get<0>(at->first) == flight; ++at) {
    Memory &memory = at->second;
    memory = Memory{{}, {}, memory.kept, memory.carried, {}};
  }
}

LogicalResult StepMemory::runProgram(size_t index) {
  const ProgramRun &run = sequence.runs[index];
  ProgramOp program = run.program;
  // Another microbatch takes the place of one that is through, and another
  // program that of one's transient memory.
  if (auto part = program->getAttrOfType<StringAttr>("event.part")) {
    forget(kTransient);
    if (part == "forward")
      forget(int(run.slot));
  }
  for (auto segment : program.getBody().getOps<SegmentOp>()) {
    int64_t repeat = segment.getRepeat();
    for (int64_t i = 0; i < repeat; ++i)
      for (auto phase : segment.getBody().getOps<PhaseOp>()) {
        int64_t ahead = phase.getAhead() ? 1 : 0;
        if (i + ahead < repeat &&
            failed(runPhase(run, phase, segment.getLayer(i + ahead))))
          return failure();
      }
  }
  for (BufferOp buffer : touchesOf(run).writtenWhole()) {
    int64_t begin;
    memories[regionOf(run, buffer.getStorageAttr().getAttr(), begin)]
        .whole.insert(placeOf(buffer));
  }
  provided = &touchesOf(run).provided;
  return success();
}

/// A step that updates leaves new values in all that it hands to the next one.
LogicalResult StepMemory::verifyRenewed(const ProgramRun &run) {
  ProgramOp program = run.program;
  // What all ranks run reads also what others write.
  if (program->hasAttr("event.part") && !program->hasAttr("event.stage"))
    return success();
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    if (buffer.getCarry() != Carry::renewed)
      continue;
    int64_t begin;
    Memory &memory =
        memories[regionOf(run, buffer.getStorageAttr().getAttr(), begin)];
    std::vector<Span> all;
    addBox(buffer, SmallVector<int64_t>(buffer.getCapacity().size(), 0),
           SmallVector<int64_t>(buffer.getCapacity()), all, Many::everything);
    all = joined(std::move(all));
    for (uint64_t copy = 0; copy < buffer.getLayers(); ++copy)
      for (Span span : all) {
        int64_t base = begin + copy * buffer.getLayerStride() * bytesOf(buffer);
        if (auto missing = memory.written.findMissing(
                {span.begin + base, span.end + base}))
          return buffer.emitError()
                 << "@" << buffer.getSymName()
                 << " is carried to the next step, but no task of the step "
                    "writes its element "
                 << elementAt(buffer, *missing - base)
                 << (buffer.getLayers() > 1
                         ? " of layer " + std::to_string(copy)
                         : std::string());
      }
  }
  return success();
}

LogicalResult StepMemory::run() {
  for (const ProgramRun &run : sequence.runs)
    declare(run);
  // The step before ended with the same program.
  provided = &touchesOf(sequence.runs.back()).provided;
  for (size_t i = 0; i < sequence.runs.size(); ++i)
    if (failed(runProgram(i)))
      return failure();
  const ProgramRun &last = sequence.runs.back();
  if (!last.outputs || *last.outputs > 0)
    for (const ProgramRun &run : sequence.runs)
      if (failed(verifyRenewed(run)))
        return failure();
  return success();
}

LogicalResult tasks::verifyValues(const StepSequence &sequence) {
  return StepMemory(sequence).run();
}

//===----------------------------------------------------------------------===//
// Storages
//===----------------------------------------------------------------------===//

LogicalResult tasks::verifyStorages(ModuleOp module) {
  // What outlives a program in a storage, and the program that says so.
  llvm::DenseMap<StringAttr, BufferOp> lasting;
  auto programOf = [](BufferOp buffer) {
    return buffer->getParentOfType<ProgramOp>().getSymName();
  };
  auto forEach = [&](bool transient, auto visit) {
    for (auto program : module.getOps<ProgramOp>())
      for (auto buffer : program.getBody().getOps<BufferOp>())
        if (buffer.getStorage() &&
            (buffer.getKind() == BufferKind::transient) == transient)
          if (failed(visit(buffer, buffer.getStorageAttr().getAttr())))
            return failure();
    return success();
  };
  if (failed(forEach(false, [&](BufferOp buffer, StringAttr storage) {
        BufferOp &entry = lasting[storage];
        if (!entry)
          entry = buffer;
        if (entry.getKind() != buffer.getKind())
          return LogicalResult(
              buffer.emitError()
              << "@" << buffer.getSymName() << " is "
              << stringifyBufferKind(buffer.getKind()) << ", but lies in @"
              << storage.getValue() << ", where program @" << programOf(entry)
              << " has the " << stringifyBufferKind(entry.getKind())
              << " buffer @" << entry.getSymName());
        return success();
      })))
    return failure();
  return forEach(true, [&](BufferOp buffer, StringAttr storage) {
    BufferOp entry = lasting.lookup(storage);
    if (entry && entry->getParentOp() != buffer->getParentOp())
      return LogicalResult(buffer.emitError()
                           << "@" << buffer.getSymName() << " of program @"
                           << programOf(buffer) << " lies in @"
                           << storage.getValue() << ", where program @"
                           << programOf(entry) << " has @" << entry.getSymName()
                           << ", whose values outlive the program");
    return success();
  });
}

/// What a plan says that the runtime writes is what it does write.
static LogicalResult verifyInputs(ModuleOp module) {
  for (auto program : module.getOps<ProgramOp>())
    for (PhaseOp phase : phasesOf(program)) {
      if (phase.getBody().getOps<AdvanceOp>().empty())
        continue;
      SmallVector<std::string_view> inputs(step_inputs.begin(),
                                           step_inputs.end());
      if (auto batch = program->getAttrOfType<DictionaryAttr>("event.batch")) {
        inputs.assign(batch_step_inputs.begin(), batch_step_inputs.end());
        if (batch.contains("adapters"))
          inputs.append(batch_adapter_inputs.begin(),
                        batch_adapter_inputs.end());
        inputs.push_back(batch_step_wanted);
      }
      for (AccessAttr access : phase.getAccessAttrs()) {
        StringRef name = access.getBuffer().getValue();
        if (!access.getWrite() ||
            llvm::is_contained(inputs,
                               std::string_view(name.data(), name.size())))
          continue;
        auto diagnostic = phase.emitError()
                          << "phase '" << phase.getName()
                          << "' states that the runtime writes @" << name
                          << ", but it writes only ";
        llvm::interleaveComma(inputs, diagnostic, [&](std::string_view input) {
          diagnostic << StringRef(input.data(), input.size());
        });
        return diagnostic;
      }
    }
  return success();
}

/// What reads depend on is what the runtime sets for all microbatches but the
/// first.
static LogicalResult verifyFlags(ModuleOp module) {
  for (auto program : module.getOps<ProgramOp>())
    for (PhaseOp phase : phasesOf(program))
      for (AccessAttr access : phase.getAccessAttrs()) {
        FlatSymbolRefAttr flag = access.getCondition();
        if (!flag)
          continue;
        auto buffer =
            cast<BufferOp>(SymbolTable::lookupSymbolIn(program, flag));
        StringRef expected(accumulate_input.data(), accumulate_input.size());
        if (flag.getValue() != expected || buffer.countWriters() != 0)
          return phase.emitError()
                 << "phase '" << phase.getName() << "' reads "
                 << access.getBuffer() << " if " << flag << ", expected @"
                 << expected << ", which the runtime alone writes";
      }
  return success();
}

LogicalResult tasks::verifyStep(ModuleOp module) {
  takeOverflow();
  if (failed(verifyStorages(module)) || failed(verifyInputs(module)) ||
      failed(verifyFlags(module)))
    return failure();
  FailureOr<SmallVector<StepSequences>> steps = sequencesOf(module);
  if (failed(steps))
    return failure();
  for (const StepSequences &step : *steps) {
    if (failed(verifyOrder(step)))
      return failure();
    for (const StepSequence &sequence : step)
      if (failed(verifyValues(sequence)))
        return failure();
  }
  if (takeOverflow())
    return module.emitError()
           << "has programs whose maps combine to coefficients beyond 64 bits, "
              "so that nothing can be proved of the step";
  return success();
}
