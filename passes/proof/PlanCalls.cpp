//===- PlanCalls.cpp - what calls touch is what their phases state --------===//
//
// Bodies declare what they touch behind each pointer (codegen/bodies), as a
// block of so many elements along so many strides. In the index space of the
// buffer that the pointer is into, that is a box: it has to lie within boxes
// that the phase states to read or to write. Boxes that a phase states to write
// have to be written by its calls, element by element.
//
// Of bodies that users wrote, and of libraries with others, nothing is
// declared.
//
//===----------------------------------------------------------------------===//

#include "passes/proof/PlanMessages.h"
#include "passes/proof/PlanVerifier.h"

#include "codegen/bodies/Regions.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace baton;
using namespace baton::event;
using namespace baton::tasks;
using bodies::Extent;
using bodies::Role;

namespace {

/// What a call touches of a buffer, by index: in each dimension from `low` on,
/// before all of `ends`.
struct Touched {
  SmallVector<AffineExpr> low;
  SmallVector<SmallVector<AffineExpr, 2>> ends;
  /// False where it may be less than that.
  bool isExact = true;
};

/// Follows a region's strides through the dimensions of a buffer.
class RegionWalk {
public:
  RegionWalk(CallOp call, BufferOp buffer, AffineMap index)
      : call(call), buffer(buffer), index(index), context(call.getContext()),
        steps(index.getNumResults()) {}

  /// Nothing where its strides are not multiples of those of dimensions, or
  /// panels are taken for rows.
  std::optional<Touched> run(const bodies::Region &region, bool readsPanels);

private:
  /// So many indices, so far apart.
  struct Step {
    Extent extent;
    int64_t distance;
  };

  void walk(unsigned dimension, const Extent &extent, int64_t distance) {
    steps[dimension].push_back({extent, distance});
  }
  void walkBehind(const Extent &extent);
  void walkStride(const Extent &extent, Attribute stride);
  std::optional<unsigned> dimensionBehind(unsigned dimension,
                                          const Extent &elements);
  std::optional<unsigned> dimensionOf(int64_t stride);

  bool addEnds(Touched &touched, unsigned dimension);

  CallOp call;
  BufferOp buffer;
  AffineMap index;
  MLIRContext *context;
  /// What is walked along each dimension, outermost first.
  SmallVector<SmallVector<Step, 2>> steps;
  /// Whether rows are taken as panels, in which those of such a buffer lie.
  bool isInPanels = false;
  /// Whether a stride is no multiple of that of a dimension.
  bool isLost = false;
  /// Whether rows follow one another with no stride of their own: all of it.
  bool isWhole = false;
};

} // namespace

/// The dimension whose indices lie so many elements apart. Where one of them
/// has a single index, another one is meant.
std::optional<unsigned> RegionWalk::dimensionOf(int64_t stride) {
  std::optional<unsigned> found;
  for (auto [d, length] : llvm::enumerate(buffer.getStrides()))
    if (length == stride && (!found || buffer.getCapacity()[d] > 1))
      found = d;
  return found;
}

/// Elements behind one another: of as many of the innermost dimensions as it
/// takes.
void RegionWalk::walkBehind(const Extent &extent) {
  std::optional<unsigned> d =
      isInPanels ? std::optional<unsigned>(steps.size() - 1) : dimensionOf(1);
  if (!d) {
    if (extent.asConstant() != 1)
      isLost = true;
    return;
  }
  // A dimension whole, and the next one as far as elements go.
  Extent rest = extent;
  while (std::optional<unsigned> next = dimensionBehind(*d, rest)) {
    int64_t capacity = buffer.getCapacity()[*d];
    walk(*d, capacity, 1);
    rest =
        rest.with(capacity, context, [](AffineExpr elements, AffineExpr whole) {
          return elements.floorDiv(whole);
        });
    d = next;
  }
  walk(*d, rest, 1);
}

/// The dimension in which elements go on behind all of `d`, if there are as
/// many as take it whole.
std::optional<unsigned> RegionWalk::dimensionBehind(unsigned d,
                                                    const Extent &elements) {
  int64_t capacity = buffer.getCapacity()[d];
  if (elements.isRest() ||
      index.getResult(d) != getAffineConstantExpr(0, context))
    return std::nullopt;
  for (AffineExpr bound : elements.bounds(context)) {
    auto constant = dyn_cast<AffineConstantExpr>(bound);
    if ((constant && constant.getValue() <= capacity) ||
        bound.getLargestKnownDivisor() % capacity != 0)
      return std::nullopt;
  }
  std::optional<unsigned> next = dimensionOf(buffer.getStrides()[d] * capacity);
  return next != d ? next : std::nullopt;
}

void RegionWalk::walkStride(const Extent &extent, Attribute stride) {
  int64_t distance = 0;
  if (auto along = dyn_cast<StrideAttr>(stride)) {
    BufferOp other =
        SymbolTable::lookupNearestSymbolFrom<BufferOp>(call, along.getBuffer());
    std::optional<unsigned> only;
    for (auto [d, step] : llvm::enumerate(along.getSteps()))
      if (step != 0)
        only = only ? steps.size() : d;
    if (other == buffer && only && *only < steps.size() &&
        along.getSteps()[*only] > 0)
      return walk(*only, extent, along.getSteps()[*only]);
    for (auto [step, length] :
         llvm::zip_equal(along.getSteps(), other.getStrides()))
      distance += step * length;
  } else if (auto number = dyn_cast<IntegerAttr>(stride)) {
    distance = number.getInt();
  }
  if (distance == 0 && buffer.getInterleave() > 1) {
    isInPanels = true;
    return walk(0, extent, 1);
  }
  if (extent.asConstant() == 1)
    return;
  if (distance == 1)
    return walkBehind(extent);
  // Several indices at a time of the outermost dimension that comes out even.
  std::optional<unsigned> along;
  for (auto [d, length] : llvm::enumerate(buffer.getStrides()))
    if (length > 0 && distance > 0 && distance % length == 0 &&
        (!along || buffer.getStrides()[*along] < length))
      along = d;
  if (!along) {
    isLost = true;
    return;
  }
  int64_t length = buffer.getStrides()[*along];
  walk(*dimensionOf(length), extent, distance / length);
}

/// Adds where a dimension's indices end. False where that is not all of them.
bool RegionWalk::addEnds(Touched &touched, unsigned d) {
  AffineExpr start = index.getResult(d);
  if (llvm::any_of(steps[d], [](const Step &s) { return s.extent.isRest(); })) {
    touched.ends[d] = {buffer.getExtents().getResult(d)};
    return false;
  }
  // The last index of each step, and the one behind it.
  Extent span = 1;
  bool isDense = true;
  std::optional<int64_t> inner = 1;
  for (const Step &step : llvm::reverse(steps[d])) {
    isDense &= step.distance == inner;
    span =
        span.with(step.extent, context, [&](AffineExpr part, AffineExpr count) {
          return part + (count - 1) * step.distance;
        });
    auto count = step.extent.asConstant();
    inner = inner && count ? std::optional(*inner * *count) : std::nullopt;
  }
  for (AffineExpr bound : span.bounds(context))
    touched.ends[d].push_back(start + bound);
  return isDense;
}

std::optional<Touched> RegionWalk::run(const bodies::Region &region,
                                       bool readsPanels) {
  // Where the outermost dimension leads.
  std::optional<unsigned> outermost;
  for (auto [i, dimension] : llvm::enumerate(region.dimensions)) {
    Extent extent = dimension.extent;
    if (i == 0 && readsPanels && buffer.getInterleave() > 1)
      extent = extent.with(buffer.getInterleave(), context,
                           [](AffineExpr end, AffineExpr panel) {
                             return end.ceilDiv(panel) * panel;
                           });
    if (dimension.stride)
      walkStride(extent, dimension.stride);
    else if (i + 1 == region.dimensions.size())
      walkBehind(extent);
    else if (buffer.getInterleave() > 1) {
      isInPanels = true;
      walk(0, extent, 1);
    } else if (extent.asConstant() != 1) {
      isWhole = true;
    }
    if (i == 0)
      for (unsigned d = 0; d < steps.size(); ++d)
        if (!steps[d].empty() && steps[d].front().distance == 1)
          outermost = d;
  }
  if (isLost || isInPanels != (buffer.getInterleave() > 1))
    return std::nullopt;
  unsigned rank = steps.size();
  Touched touched;
  touched.low.assign(index.getResults().begin(), index.getResults().end());
  touched.ends.resize(rank);
  touched.isExact = !isWhole;
  for (unsigned d = 0; d < rank; ++d) {
    if (isWhole) {
      touched.low[d] = getAffineConstantExpr(0, context);
      touched.ends[d] = {buffer.getExtents().getResult(d)};
    } else {
      touched.isExact &= addEnds(touched, d);
    }
  }
  if (region.first.asConstant() != 0) {
    auto bounds = region.first.bounds(context);
    if (bounds.size() == 1 && outermost && !isWhole)
      touched.low[*outermost] = touched.low[*outermost] + bounds.front();
    else
      touched.isExact = false;
  }
  return touched;
}

//===----------------------------------------------------------------------===//
// Proofs
//===----------------------------------------------------------------------===//

// A task of these relations is its coordinates and its entries: what a call
// touches is held against what the phase states for each value of a table.

/// Pairs of a task and an element that its call touches.
static std::optional<Conjunction> relationOf(PhaseOp phase,
                                             const Touched &touched,
                                             ProgramOp program,
                                             const HappensBefore &plan) {
  Conjunction relation(phase.getMapRank(), touched.low.size());
  requireSymbols(relation, program);
  SmallVector<unsigned> task = columnsFrom(0, phase.getMapRank());
  if (!plan.requireTask(relation, phase, task))
    return std::nullopt;
  for (auto [d, low] : llvm::enumerate(touched.low)) {
    Row element = relation.variable(relation.rangeColumn() + d);
    std::optional<Row> from = relation.flatten(low, task);
    if (!from)
      return std::nullopt;
    relation.atLeast(element, *from);
    for (AffineExpr end : touched.ends[d]) {
      std::optional<Row> to = relation.flatten(end, task);
      if (!to)
        return std::nullopt;
      relation.less(element, *to);
    }
  }
  return relation;
}

/// Which elements of an access count.
enum class Cut {
  /// Those that there are.
  extents,
  /// Those too that it states to reach beyond the end.
  beyond,
  /// All of a tile, which may reach beyond the end by less than its height.
  none,
};

/// Pairs of a task and an element of an access.
static std::optional<Conjunction> relationOf(PhaseOp phase, AccessAttr access,
                                             BufferOp buffer, Cut cut,
                                             ProgramOp program,
                                             const HappensBefore &plan) {
  unsigned rank = access.getLow().getNumResults();
  Conjunction relation(phase.getMapRank(), rank);
  requireSymbols(relation, program);
  SmallVector<unsigned> task = columnsFrom(0, phase.getMapRank()),
                        element = columnsFrom(relation.rangeColumn(), rank);
  if (!plan.requireTask(relation, phase, task) ||
      !requireBox(relation, access.getLow(), access.getHigh(), task, element))
    return std::nullopt;
  if (cut == Cut::none)
    return relation;
  int64_t reach = cut == Cut::beyond ? access.getBeyond() : 0;
  for (auto [d, extent] : llvm::enumerate(buffer.getExtents().getResults())) {
    std::optional<Row> end = relation.flatten(extent + reach, {});
    if (!end)
      return std::nullopt;
    relation.atLeast(relation.variable(element[d]), {});
    relation.less(relation.variable(element[d]), *end);
  }
  return relation;
}

/// Whether a flag is 0 in every step, as memory is that nobody has written: it
/// is kept from one to the next, and no program of the step writes where it
/// lies.
static bool isNeverSet(BufferOp flag) {
  if (flag.getKind() != BufferKind::persistent ||
      flag.getCarry() != Carry::kept)
    return false;
  // The runtime writes what has another role.
  if (std::optional<DictionaryAttr> description = flag.getDescription())
    if (auto role = description->getAs<StringAttr>("role");
        description->size() > 1 || !role || role != "kept")
      return false;
  auto module = flag->getParentOfType<ModuleOp>();
  for (auto program : module.getOps<ProgramOp>()) {
    SymbolTable symbols(program);
    for (PhaseOp phase : phasesOf(program))
      for (AccessAttr access : phase.getAccessAttrs())
        if (access.getWrite() &&
            symbols.lookup<BufferOp>(access.getBuffer().getAttr())
                    .getStorageAttr() == flag.getStorageAttr())
          return false;
  }
  return true;
}

/// What says at run time whether a gradient is added to what is there.
static AddressAttr flagOf(CallOp call) {
  for (auto [operand, given] :
       llvm::zip_equal(bodies::signatureOf(bodies::lookUp(call)->kind).operands,
                       call.getOperands_()))
    if (operand.role == Role::Flag)
      return dyn_cast<AddressAttr>(given);
  return {};
}

/// Whether an access of a phase allows what an operand of that role does.
static bool allows(AccessAttr access, Role role, bool written, bool isFlagged) {
  if (access.getWrite() != written)
    return false;
  if (written)
    // What others may read was written.
    return !bodies::isPartial(role) || access.getMay();
  if (access.getMay())
    return bodies::isPartial(role);
  return !access.getCondition() || (role == Role::Accumulated && isFlagged);
}

FailureOr<PlanVerifier::TouchedByCall>
PlanVerifier::touchedBy(PhaseOp phase, CallOp call,
                        const bodies::Region &region) {
  const bodies::OperandSignature &operand =
      bodies::signatureOf(bodies::lookUp(call)->kind).operands[region.operand];
  auto address = cast<AddressAttr>(call.getOperands_()[region.operand]);
  BufferOp buffer = plan.lookUpBuffer(address.getBuffer());
  std::optional<Touched> touched =
      RegionWalk(call, buffer, address.getIndex())
          .run(region, /*readsPanels=*/operand.role == Role::Keys);
  if (!touched)
    return call.emitError()
           << "'" << call.getCallee() << "' is given " << address.getBuffer()
           << " as '" << operand.name
           << "' with strides that are not those of its dimensions";
  std::optional<Conjunction> elements =
      relationOf(phase, *touched, program, plan);
  if (!elements)
    return call.emitError() << "operand '" << operand.name
                            << "' has counts that are not quasi-affine";
  AddressAttr flag = flagOf(call);
  bool mayAdd = !flag || !isNeverSet(plan.lookUpBuffer(flag.getBuffer()));
  bool isRead = bodies::isRead(operand.role) &&
                (operand.role != Role::Accumulated || mayAdd);
  return TouchedByCall{address.getBuffer(), plan.relations().known(*elements),
                       bodies::isWritten(operand.role), isRead,
                       touched->isExact && !bodies::isPartial(operand.role)};
}

/// Whether a call reads only what its task has written in calls before it: what
/// was there before the task is nothing to it.
bool PlanVerifier::readsOwnWrites(const CallsOfPhase &before,
                                  const TouchedByCall &touched) {
  RelationMemo &memo = plan.relations();
  KnownRelation open = touched.elements;
  for (const TouchedByCall &earlier : before.touched)
    if (earlier.isWritten && earlier.isExact &&
        earlier.buffer == touched.buffer)
      open = memo.subtract(open, earlier.elements);
  return memo.isEmpty(open);
}

LogicalResult PlanVerifier::verifyRegion(PhaseOp phase, CallOp call,
                                         const bodies::Region &region,
                                         const TouchedByCall &touched) {
  const bodies::OperandSignature &operand =
      bodies::signatureOf(bodies::lookUp(call)->kind).operands[region.operand];
  BufferOp buffer = plan.lookUpBuffer(touched.buffer);
  RelationMemo &memo = plan.relations();
  for (bool isWrite : {true, false}) {
    if (!(isWrite ? touched.isWritten : touched.isRead))
      continue;
    Cut cut = isWrite                      ? Cut::extents
              : operand.role == Role::Keys ? Cut::none
                                           : Cut::beyond;
    KnownRelation stated =
        memo.empty(phase.getMapRank(), buffer.getExtents().getNumResults());
    for (AccessAttr access : phase.getAccessAttrs())
      if (access.getBuffer() == touched.buffer &&
          allows(access, operand.role, isWrite, flagOf(call) != nullptr))
        if (auto box = relationOf(phase, access, buffer, cut, program, plan))
          stated = memo.unite(stated, memo.known(*box));
    if (memo.isSubsetOf(touched.elements, stated))
      continue;
    auto diagnostic = call.emitError()
                      << "'" << call.getCallee() << "' "
                      << (isWrite ? "writes " : "reads ") << touched.buffer
                      << " as '" << operand.name << "' where phase '"
                      << phase.getName() << "' states no such "
                      << (isWrite ? "write" : "read");
    if (auto point = memo.sample(memo.subtract(touched.elements, stated)))
      diagnostic << ": " << touched.buffer << tupleText(point->range) << " in "
                 << taskName(phase, point->domain) << " with "
                 << symbolNames(point->symbols);
    return diagnostic;
  }
  return success();
}

/// The most that bounds without coordinates and symbols allow.
static std::optional<int64_t> mostOf(const Extent &extent,
                                     MLIRContext *context) {
  std::optional<int64_t> most;
  for (AffineExpr bound : extent.bounds(context))
    if (auto constant = dyn_cast<AffineConstantExpr>(bound))
      most = std::min(most.value_or(constant.getValue()), constant.getValue());
  return most;
}

/// What a call keeps in scratch, the program reserves.
LogicalResult PlanVerifier::verifyScratch(PhaseOp phase, CallOp call,
                                          const bodies::Region &region) {
  const bodies::BodyFunction function = *bodies::lookUp(call);
  StringRef name =
      bodies::signatureOf(function.kind).operands[region.operand].name;
  auto scratch = cast<ScratchAttr>(call.getOperands_()[region.operand]);
  int64_t last = 0, dense = 1;
  for (const bodies::Region::Dimension &dimension :
       llvm::reverse(region.dimensions)) {
    std::optional<int64_t> most = mostOf(dimension.extent, call.getContext());
    auto stride = dyn_cast_or_null<IntegerAttr>(dimension.stride);
    int64_t span, bytes;
    if (!most || (dimension.stride && (!stride || stride.getInt() < 0)))
      return call.emitError() << "'" << name
                              << "' is scratch, but how much of "
                                 "it is no constant";
    if (*most < 1)
      return success();
    if (__builtin_mul_overflow(*most - 1, stride ? stride.getInt() : dense,
                               &span) ||
        __builtin_add_overflow(last, span, &last) ||
        __builtin_mul_overflow(last + 1, int64_t(8), &bytes))
      return call.emitError() << "'" << name << "' has 2^60 elements or more";
    dense *= *most;
  }
  int64_t end =
      scratch.getOffset() +
      (last + 1) * int64_t(function.isDouble ? sizeof(double) : sizeof(float));
  if (end > int64_t(program.getScratchBytes()))
    return call.emitError()
           << "'" << name << "' takes scratch up to byte " << end
           << ", of which the program reserves " << program.getScratchBytes();
  return success();
}

/// What a call reads of a parameter lies inside of one of its layers.
LogicalResult PlanVerifier::verifyWeight(PhaseOp phase, CallOp call,
                                         const bodies::WeightExtent &read) {
  auto weight = dyn_cast<WeightAttr>(call.getOperands_()[read.operand]);
  if (!weight || read.elements.isRest())
    return success();
  auto parameter = symbols.lookup<ParameterOp>(weight.getParameter().getAttr());
  std::optional<int64_t> all = parameter.countElements();
  if (!all)
    return success();
  SmallVector<unsigned> task = columnsFrom(0, phase.getMapRank());
  Conjunction beyond(phase.getMapRank(), 0);
  requireSymbols(beyond, program);
  std::optional<Row> offset =
      beyond.flatten(weight.getOffset().getResult(0), task);
  if (!offset || !plan.requireTask(beyond, phase, task))
    return failure();
  for (AffineExpr bound : read.elements.bounds(call.getContext())) {
    std::optional<Row> elements = beyond.flatten(bound, task);
    if (!elements)
      return call.emitError() << "has counts that are not quasi-affine";
    beyond.atLeast(*elements, beyond.constant(1));
    beyond.less(beyond.constant(*all), sum(*offset, *elements));
  }
  if (auto point = sampleOf(beyond)) {
    StringRef name = bodies::signatureOf(bodies::lookUp(call)->kind)
                         .operands[read.operand]
                         .name;
    return call.emitError()
           << "'" << call.getCallee() << "' reads '" << name << "' beyond the "
           << *all << " elements of " << weight.getParameter()
           << "; for example " << taskName(phase, point->domain) << " with "
           << symbolNames(point->symbols);
  }
  return success();
}

LogicalResult PlanVerifier::verifyPointers(CallOp call,
                                           ArrayRef<bodies::Region> regions) {
  const bodies::Signature &signature =
      bodies::signatureOf(bodies::lookUp(call)->kind);
  ArrayAttr operands = call.getOperands_();
  for (auto [i, one] : llvm::enumerate(signature.operands)) {
    if (!isa<AddressAttr>(operands[i]))
      continue;
    if (llvm::none_of(regions, [i = i](const bodies::Region &region) {
          return region.operand == i;
        }))
      return call.emitError()
             << "'" << call.getCallee() << "' is given an address as '"
             << one.name
             << "', of which only a weight's form says what is read";
    if (!bodies::isWritten(one.role))
      continue;
    if (call.getInvariant())
      return call.emitError()
             << "is invariant, so that it writes scratch only, but is given "
             << cast<AddressAttr>(operands[i]).getBuffer() << " as '"
             << one.name << "'";
    for (auto [k, other] : llvm::enumerate(signature.operands))
      if (k != i && operands[k] == operands[i] &&
          !(i == 0 && llvm::is_contained(signature.inPlace, other.name)))
        return call.emitError()
               << "'" << call.getCallee() << "' is given one address as '"
               << one.name << "' and as '" << other.name
               << "', which it does not allow";
  }
  return success();
}

/// What a user's body is given of the scratch, behind its arguments: a memref
/// of bytes, its size before its stride.
static LogicalResult verifyBodysScratch(CallOp call, ProgramOp program) {
  auto module = program->getParentOfType<ModuleOp>();
  auto body = module.lookupSymbol<BodyOp>(call.getCallee());
  if (!body || !body.usesScratch())
    return success();
  ArrayRef<Attribute> operands = call.getOperands_().getValue();
  auto scratch = operands.size() < 5
                     ? ScratchAttr()
                     : dyn_cast<ScratchAttr>(operands[operands.size() - 5]);
  auto bytes = scratch ? dyn_cast<IntegerAttr>(operands[operands.size() - 2])
                       : IntegerAttr();
  if (!bytes)
    return call.emitError() << "'" << call.getCallee()
                            << "' takes scratch, which the call does not pass";
  const int64_t end = scratch.getOffset() + bytes.getInt();
  if (end > int64_t(program.getScratchBytes()))
    return call.emitError()
           << "'" << call.getCallee() << "' takes scratch up to byte " << end
           << ", of which the program reserves " << program.getScratchBytes();
  return success();
}

/// Of states in pages as bodies of the library read them: indices of a page,
/// and of a panel in it.
static constexpr int64_t kPage = 64, kPanel = 16;

namespace {
/// An operand that is a state in pages, how far these are apart, and where its
/// rows go, if the body writes them.
struct PagedOperand {
  bodies::Kind kind;
  StringLiteral state, stride, slots;
};
} // namespace

static constexpr PagedOperand kPagedOperands[] = {
    {bodies::Kind::append_key_pages, "state", "page_stride", "slots"},
    {bodies::Kind::append_value_pages, "state", "page_stride", "slots"},
    {bodies::Kind::paged_attention, "keys", "key_page_stride", ""},
    {bodies::Kind::paged_attention, "values", "value_page_stride", ""},
    {bodies::Kind::paged_latent_attention, "keys", "key_page_stride", ""}};

/// An address in a state in pages says nothing of rows: only bodies that find
/// them by the state's slots take it, and these take nothing else.
LogicalResult PlanVerifier::verifyPages(CallOp call, bool isLibrarys) {
  ArrayRef<Attribute> operands = call.getOperands_().getValue();
  auto bufferOf = [&](Attribute operand) {
    auto address = dyn_cast<AddressAttr>(operand);
    return address ? plan.lookUpBuffer(address.getBuffer()) : BufferOp();
  };
  if (!isLibrarys) {
    for (Attribute operand : operands)
      if (BufferOp buffer = bufferOf(operand); buffer && buffer.isPaged())
        return call.emitError()
               << "'" << call.getCallee() << "' is given @"
               << buffer.getSymName() << ", a state in pages, of which it does "
               << "not know where rows are";
    return success();
  }
  const bodies::Kind kind = bodies::lookUp(call)->kind;
  const bodies::Signature &signature = bodies::signatureOf(kind);
  auto operandOf = [&](StringRef name) {
    return operands[llvm::find_if(signature.operands,
                                  [&](const bodies::OperandSignature &one) {
                                    return one.name == name;
                                  }) -
                    signature.operands.begin()];
  };
  for (auto [i, one] : llvm::enumerate(signature.operands)) {
    BufferOp buffer = bufferOf(operands[i]);
    const auto *paged =
        llvm::find_if(kPagedOperands, [&](const PagedOperand &each) {
          return each.kind == kind && each.state == one.name;
        });
    const bool takesPages = paged != std::end(kPagedOperands);
    if (!buffer || (!takesPages && !buffer.isPaged()))
      continue;
    if (!takesPages || !buffer.isPaged())
      return call.emitError()
             << "'" << call.getCallee() << "' is given @" << buffer.getSymName()
             << " as '" << one.name << "', "
             << (takesPages ? "which is no state in pages"
                            : "a state in pages, of which it does not know "
                              "where rows are");
    auto stride = dyn_cast<IntegerAttr>(operandOf(paged->stride));
    if (!stride || stride.getInt() != int64_t(buffer.getPageStride()) ||
        int64_t(buffer.getPage()) != kPage ||
        int64_t(buffer.getInterleave()) != kPanel)
      return call.emitError()
             << "'" << call.getCallee() << "' is given @" << buffer.getSymName()
             << " with other pages than it has: of " << kPage
             << " indices, in panels of " << kPanel << ", "
             << int64_t(buffer.getPageStride()) << " elements apart";
    auto state = cast<AddressAttr>(operands[i]);
    if (paged->slots.empty()) {
      // A row may see any of the step's, whatever the body is told of them.
      auto rows = dyn_cast<CountAttr>(operandOf("step_rows"));
      MLIRContext *context = call.getContext();
      if (!rows || rows.getMap().getNumResults() != 1 ||
          rows.getMap().getResult(0) != getAffineSymbolExpr(kRows, context) ||
          state.getIndex().getResult(0) != getAffineConstantExpr(0, context))
        return call.emitError()
               << "'" << call.getCallee() << "' is given @"
               << buffer.getSymName()
               << " without all rows of the step, of which it may read any";
      continue;
    }
    auto slots = dyn_cast<AddressAttr>(operandOf(paged->slots));
    if (!slots || slots.getBuffer() != buffer.getSlotsAttr() ||
        slots.getIndex().getResult(0) != state.getIndex().getResult(0))
      return call.emitError()
             << "'" << call.getCallee() << "' is given @" << buffer.getSymName()
             << " with slots that are not those of its rows, "
             << buffer.getSlotsAttr();
  }
  return success();
}

LogicalResult PlanVerifier::verifyCalls(PhaseOp phase) {
  CallsOfPhase &calls = callsOf[phase];
  // Without a body a phase is what it states.
  calls.areDeclared = !phase.getBody().front().empty();
  for (Operation &op : phase.getBody().front()) {
    auto call = dyn_cast<CallOp>(op);
    // A body that a user wrote may have a name of the library's; the target
    // refuses that.
    if (!call || !bodies::lookUp(call.getCallee()) ||
        usersBodies.contains(call.getCallee())) {
      calls.areDeclared = false;
      if (call && (failed(verifyBodysScratch(call, program)) ||
                   failed(verifyPages(call, /*isLibrarys=*/false))))
        return failure();
      continue;
    }
    if (llvm::Error error = bodies::checkCall(call))
      return call.emitError() << "'" << call.getCallee()
                              << "': " << llvm::toString(std::move(error));
    if (failed(verifyPages(call, /*isLibrarys=*/true)))
      return failure();
    SmallVector<bodies::Region> regions = bodies::regionsOf(call);
    if (failed(verifyPointers(call, regions)))
      return failure();
    for (const bodies::WeightExtent &read : bodies::weightsOf(call))
      if (failed(verifyWeight(phase, call, read)))
        return failure();
    SmallVector<TouchedByCall> ofCall;
    for (const bodies::Region &region : regions) {
      Attribute pointer = call.getOperands_()[region.operand];
      if (isa<ScratchAttr>(pointer) &&
          failed(verifyScratch(phase, call, region)))
        return failure();
      if (!isa<AddressAttr>(pointer))
        continue;
      FailureOr<TouchedByCall> touched = touchedBy(phase, call, region);
      if (failed(touched))
        return failure();
      if (touched->isRead && readsOwnWrites(calls, *touched))
        touched->isRead = false;
      if (failed(verifyRegion(phase, call, region, *touched)))
        return failure();
      ofCall.push_back(*touched);
    }
    // What a call writes is there for the next one.
    calls.touched.append(ofCall.begin(), ofCall.end());
  }
  return success();
}

/// Takes from `open`, pairs of a task of `phase` and an element of `buffer`,
/// what `later` writes over, if it works on the same copy. False if it may read
/// some.
bool PlanVerifier::passes(PhaseOp phase, BufferOp buffer, PhaseOp later,
                          bool isSameCopy, KnownRelation &open) {
  RelationMemo &memo = plan.relations();
  auto name = FlatSymbolRefAttr::get(buffer.getSymNameAttr());
  const CallsOfPhase &calls = callsOf[later];
  for (const TouchedByCall &touched : calls.touched)
    if (calls.areDeclared && touched.isRead && touched.buffer == name &&
        !memo.isEmpty(memo.intersect(
            open,
            memo.known(touched.elements->rangeUnder(phase.getMapRank())))))
      return false;
  for (AccessAttr access : later.getAccessAttrs()) {
    if (access.getBuffer() != name)
      continue;
    if (!access.getWrite() && !calls.areDeclared)
      return false;
    if (isSameCopy && access.getWrite() && !access.getMay())
      open = memo.subtract(open, touched(later, access, phase.getMapRank()));
  }
  return true;
}

/// Whether nobody reads what tasks of `phase` have left as it was of a buffer,
/// `open`, until others have written there.
bool PlanVerifier::isUnseen(PhaseOp phase, BufferOp buffer,
                            KnownRelation open) {
  RelationMemo &memo = plan.relations();
  SegmentOp segment = HappensBefore::segmentOf(phase);
  // The rest of the iteration, the next one up to the phase, later segments.
  SmallVector<PhaseOp> rest, next, later;
  unsigned index = plan.indexOf(phase);
  for (auto [i, other] : llvm::enumerate(plan.phases())) {
    bool isSame = HappensBefore::segmentOf(other) == segment;
    if (isSame && i > index)
      rest.push_back(other);
    else if (isSame && segment.getRepeat() > 1)
      next.push_back(other);
    else if (i > index)
      later.push_back(other);
  }
  auto pass = [&](ArrayRef<PhaseOp> part, bool isSameCopy) {
    return llvm::all_of(part, [&](PhaseOp other) {
      return memo.isEmpty(open) ||
             passes(phase, buffer, other, isSameCopy, open);
    });
  };
  bool hasOneCopy = !isLayered(buffer);
  return pass(rest, /*isSameCopy=*/true) && pass(next, hasOneCopy) &&
         pass(later, hasOneCopy) &&
         (memo.isEmpty(open) || buffer.getKind() == BufferKind::transient);
}

/// What a phase states to write, its calls write; or others do before anyone
/// reads it.
LogicalResult PlanVerifier::verifyOutputs(PhaseOp phase) {
  RelationMemo &memo = plan.relations();
  const CallsOfPhase &calls = callsOf[phase];
  if (!calls.areDeclared)
    return success();
  for (AccessAttr access : phase.getAccessAttrs()) {
    if (!access.getWrite() || access.getMay())
      continue;
    BufferOp buffer = plan.lookUpBuffer(access.getBuffer());
    auto box = relationOf(phase, access, buffer, Cut::extents, program, plan);
    if (!box)
      continue;
    KnownRelation open = memo.known(*box);
    for (const TouchedByCall &touched : calls.touched)
      if (touched.isWritten && touched.isExact &&
          touched.buffer == access.getBuffer())
        open = memo.subtract(open, touched.elements);
    if (memo.isEmpty(open) || isUnseen(phase, buffer, open))
      continue;
    auto diagnostic = phase.emitError()
                      << "phase '" << phase.getName() << "' states to write "
                      << access.getBuffer()
                      << ", of which its calls leave elements as they were";
    if (auto point = memo.sample(open))
      diagnostic << ": " << access.getBuffer() << tupleText(point->range)
                 << " in " << taskName(phase, point->domain) << " with "
                 << symbolNames(point->symbols);
    return diagnostic;
  }
  return success();
}
