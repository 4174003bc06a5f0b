//===- UpdateBody.cpp - task bodies of update rules -----------------------===//
//
// Elements are computed in vectors of kLanes, in a row's whole vectors and one
// masked rest: so sums have one order, which no compiler has to be asked for.
// What needs no order is an scf.parallel, which devices deal out.
//
//===----------------------------------------------------------------------===//

#include "passes/updates/UpdateBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static constexpr int64_t kLanes = 16;

static VectorType vectorOf(Type element) {
  return VectorType::get({kLanes}, element);
}

UpdateBody::UpdateBody(PhaseBuilder &phase, NumberSources &numbers,
                       Location location, MLIRContext *context)
    : phase(phase), numbers(numbers), location(location), context(context),
      body(std::make_unique<Region>()), block(&body->emplaceBlock()),
      builder(context) {
  builder.setInsertionPointToEnd(block);
}

UpdateBody::~UpdateBody() = default;

//===----------------------------------------------------------------------===//
// Arguments and numbers
//===----------------------------------------------------------------------===//

Value UpdateBody::argument(const BodyArgument &argument) {
  for (auto [i, known] : llvm::enumerate(passed))
    if (known.name == argument.name) {
      known.read |= argument.read;
      known.written |= argument.written;
      return block->getArgument(i);
    }
  passed.push_back(argument);
  size_t rank = argument.box.low.size();
  SmallVector<int64_t> strides(rank, ShapedType::kDynamic);
  strides.back() = 1;
  return block->addArgument(
      MemRefType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic),
                      argument.view.type.getElementType(),
                      StridedLayoutAttr::get(context, 0, strides)),
      location);
}

Value UpdateBody::index(int64_t value) {
  return builder.create<arith::ConstantIndexOp>(location, value);
}

Value UpdateBody::load(const NumberSource &source) {
  Value memory =
      argument({source.name, source.view, phase.whole(source.view), true});
  SmallVector<Value> indices;
  for (int64_t i : source.index)
    indices.push_back(index(i));
  return builder.create<memref::LoadOp>(location, memory, indices);
}

Value UpdateBody::number(Value value) {
  if (Value known = made.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  auto constant = [&](float number) -> Value {
    return builder.create<arith::ConstantOp>(location,
                                             builder.getF32FloatAttr(number));
  };
  Value result;
  if (auto given = dyn_cast<update::NumberOp>(op)) {
    std::optional<float> fixed = numbers.constant(given);
    result = fixed ? constant(*fixed) : load(numbers.source(given));
  } else if (auto extent = dyn_cast<update::ExtentOp>(op)) {
    result = constant(numbers.extent(extent));
  } else if (isa<update::SumOp>(op)) {
    result = load(numbers.source(cast<OpResult>(value)));
  } else {
    for (Value operand : op->getOperands())
      number(operand);
    result = builder.clone(*op, made)->getResult(0);
  }
  made.map(value, result);
  return result;
}

Value UpdateBody::spread(Value value) {
  if (Value known = spreads.lookupOrNull(value))
    return known;
  Value result = builder.create<vector::BroadcastOp>(
      location, vectorOf(value.getType()), value);
  spreads.map(value, result);
  return result;
}

/// What elements need of the rule's numbers is computed once, ahead.
void UpdateBody::prepare(Region &region) {
  for (Operation &op : region.front()) {
    if (isa<arith::ConstantOp>(op)) {
      Value constant = builder.clone(op)->getResult(0);
      made.map(op.getResult(0), constant);
      spread(constant);
    }
    for (Value operand : op.getOperands())
      if (operand.getParentRegion() != &region)
        spread(number(operand));
  }
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

UpdateBody::Values UpdateBody::elements(OpBuilder &at, Region &region,
                                        ArrayRef<Value> inputs) {
  IRMapping mapping;
  Block &from = region.front();
  for (auto [argument, input] : llvm::zip_equal(from.getArguments(), inputs))
    mapping.map(argument, input);
  auto vectorized = [&](Value value) {
    Value inside = mapping.lookupOrNull(value);
    return inside ? inside : spreads.lookup(made.lookup(value));
  };
  for (Operation &op : from.without_terminator()) {
    if (isa<arith::ConstantOp>(op))
      continue;
    IRMapping operands;
    for (Value operand : op.getOperands())
      operands.map(operand, vectorized(operand));
    Operation *copy = at.clone(op, operands);
    Value result = copy->getResult(0);
    result.setType(vectorOf(result.getType()));
    mapping.map(op.getResult(0), result);
  }
  Values results;
  for (Value value : from.getTerminator()->getOperands())
    results.push_back(vectorized(value));
  return results;
}

UpdateBody::Values UpdateBody::loadAll(OpBuilder &at, ArrayRef<Value> tiles,
                                       Value row, Value column, Value mask) {
  Values values;
  Value zero = mask ? Value(at.create<arith::ConstantOp>(
                          location, at.getZeroAttr(vectorOf(at.getF32Type()))))
                    : Value();
  for (Value tile : tiles) {
    VectorType type =
        vectorOf(cast<MemRefType>(tile.getType()).getElementType());
    ValueRange place{row, column};
    values.push_back(
        mask ? at.create<vector::MaskedLoadOp>(location, type, tile, place,
                                               mask, zero)
                   .getResult()
             : at.create<vector::LoadOp>(location, type, tile, place)
                   .getResult());
  }
  return values;
}

void UpdateBody::scale(OpBuilder &at, Values &inputs,
                       std::optional<unsigned> gradient) {
  if (gradient)
    inputs[*gradient] =
        at.create<arith::MulFOp>(location, inputs[*gradient], factor);
}

namespace {
/// Goes through a tile in whole vectors and, masked, what is left of each row.
struct TileLoop {
  using Place = llvm::function_ref<void(OpBuilder &, Value row, Value column,
                                        Value mask)>;
  using Step = llvm::function_ref<SmallVector<Value>(
      OpBuilder &, Value row, Value column, Value mask, ValueRange carried)>;

  TileLoop(OpBuilder &builder, Location location, Value tile)
      : builder(builder), location(location), zero(index(0)), one(index(1)),
        lanes(index(kLanes)) {
    rows = builder.create<memref::DimOp>(location, tile, zero);
    Value columns = builder.create<memref::DimOp>(location, tile, one);
    Value rest = builder.create<arith::RemUIOp>(location, columns, lanes);
    whole = builder.create<arith::SubIOp>(location, columns, rest);
    hasRest = builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::ne,
                                            rest, zero);
    mask = builder.create<vector::CreateMaskOp>(
        location, vectorOf(builder.getI1Type()), rest);
  }

  /// In any order, or at the same time.
  void each(Place place) {
    builder.create<scf::ParallelOp>(
        location, ValueRange{zero, zero}, ValueRange{rows, whole},
        ValueRange{one, lanes}, [&](OpBuilder &at, Location, ValueRange point) {
          place(at, point[0], point[1], Value());
        });
    builder.create<scf::IfOp>(
        location, hasRest, [&](OpBuilder &inside, Location) {
          inside.create<scf::ParallelOp>(
              location, ValueRange{zero}, ValueRange{rows}, ValueRange{one},
              [&](OpBuilder &at, Location, ValueRange point) {
                place(at, point[0], whole, mask);
              });
          inside.create<scf::YieldOp>(location);
        });
  }

  /// Row by row, with values that each step hands to the next.
  SmallVector<Value> run(ValueRange initial, Step step) {
    auto yield = [&](OpBuilder &at, ValueRange values) {
      at.create<scf::YieldOp>(location, values);
    };
    auto rowLoop = builder.create<scf::ForOp>(
        location, zero, rows, one, initial,
        [&](OpBuilder &at, Location, Value row, ValueRange carried) {
          auto vectors = at.create<scf::ForOp>(
              location, zero, whole, lanes, carried,
              [&](OpBuilder &inner, Location, Value column, ValueRange values) {
                yield(inner, step(inner, row, column, Value(), values));
              });
          auto remaining = at.create<scf::IfOp>(
              location, hasRest,
              [&](OpBuilder &inner, Location) {
                yield(inner,
                      step(inner, row, whole, mask, vectors.getResults()));
              },
              [&](OpBuilder &inner, Location) {
                yield(inner, vectors.getResults());
              });
          yield(at, remaining.getResults());
        });
    return SmallVector<Value>(rowLoop.getResults());
  }

private:
  Value index(int64_t value) {
    return builder.create<arith::ConstantIndexOp>(location, value);
  }

  OpBuilder &builder;
  Location location;
  Value zero, one, lanes, rows, whole, hasRest, mask;
};
} // namespace

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

void UpdateBody::map(Region &region, ArrayRef<BodyArgument> inputs,
                     ArrayRef<BodyArgument> outputs,
                     std::optional<unsigned> gradient, bool guarded) {
  SmallVector<Value> sources, places;
  for (const BodyArgument &input : inputs)
    sources.push_back(argument(input));
  for (const BodyArgument &output : outputs)
    places.push_back(argument(output));
  prepare(region);
  if (gradient)
    factor = spread(load(numbers.factor()));
  auto run = [&](OpBuilder &at) {
    TileLoop(at, location, places.front())
        .each([&](OpBuilder &inner, Value row, Value column, Value mask) {
          Values values = loadAll(inner, sources, row, column, mask);
          scale(inner, values, gradient);
          for (auto [value, place] :
               llvm::zip(elements(inner, region, values), places)) {
            ValueRange indices{row, column};
            if (mask)
              inner.create<vector::MaskedStoreOp>(location, place, indices,
                                                  mask, value);
            else
              inner.create<vector::StoreOp>(location, value, place, indices);
          }
        });
  };
  if (!guarded)
    return run(builder);
  Value zero =
      builder.create<arith::ConstantOp>(location, builder.getF32FloatAttr(0));
  Value changes = builder.create<arith::CmpFOp>(
      location, arith::CmpFPredicate::ONE, load(numbers.changes()), zero);
  builder.create<scf::IfOp>(location, changes, [&](OpBuilder &at, Location) {
    run(at);
    at.create<scf::YieldOp>(location);
  });
}

void UpdateBody::sum(Region &region, ArrayRef<BodyArgument> inputs,
                     std::optional<unsigned> gradient,
                     const BodyArgument &partials) {
  SmallVector<Value> sources;
  for (const BodyArgument &input : inputs)
    sources.push_back(argument(input));
  Value place = argument(partials);
  prepare(region);
  if (gradient)
    factor = spread(load(numbers.factor()));
  size_t count = region.front().getTerminator()->getNumOperands();
  Value none = builder.create<arith::ConstantOp>(
      location, builder.getZeroAttr(vectorOf(builder.getF32Type())));
  SmallVector<Value> sums =
      TileLoop(builder, location, sources.front())
          .run(SmallVector<Value>(count, none), [&](OpBuilder &inner, Value row,
                                                    Value column, Value mask,
                                                    ValueRange carried) {
            Values values = loadAll(inner, sources, row, column, mask);
            scale(inner, values, gradient);
            SmallVector<Value> next;
            for (auto [value, sum] :
                 llvm::zip(elements(inner, region, values), carried)) {
              Value term = value;
              if (mask)
                term =
                    inner.create<arith::SelectOp>(location, mask, term, none);
              next.push_back(inner.create<arith::AddFOp>(location, sum, term));
            }
            return next;
          });
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value number = builder.create<vector::ReductionOp>(
        location, vector::CombiningKind::ADD, sum);
    builder.create<memref::StoreOp>(location, number, place,
                                    ValueRange{index(0), index(i)});
  }
}

void UpdateBody::total(const BodyArgument &partials, int64_t count,
                       int64_t width, const BodyArgument &sums) {
  Value from = argument(partials), to = argument(sums);
  Value zero = index(0), one = index(1), end = index(count);
  Value none =
      builder.create<arith::ConstantOp>(location, builder.getF32FloatAttr(0));
  for (int64_t i = 0; i < width; ++i) {
    Value column = index(i);
    auto loop = builder.create<scf::ForOp>(
        location, zero, end, one, none,
        [&](OpBuilder &at, Location, Value row, ValueRange carried) {
          Value part = at.create<memref::LoadOp>(location, from,
                                                 ValueRange{row, column});
          Value sum = at.create<arith::AddFOp>(location, carried[0], part);
          at.create<scf::YieldOp>(location, sum);
        });
    builder.create<memref::StoreOp>(location, loop.getResult(0), to,
                                    ValueRange{zero, column});
  }
}

void UpdateBody::finish(StringRef name, AffineMap grid,
                        event::ProgramOp program) {
  SmallVector<Attribute> accesses;
  unsigned rank = grid.getNumResults();
  auto state = [&](const BodyArgument &argument, bool write) {
    auto map = [&](ArrayRef<AffineExpr> results) {
      return simplifyAffineMap(
          AffineMap::get(rank, event::kStepSymbols, results, context));
    };
    accesses.push_back(event::AccessAttr::get(
        context, write, FlatSymbolRefAttr::get(context, argument.name),
        map(argument.box.low), map(argument.box.high)));
  };
  // Arguments are numbered as accesses first name them.
  for (const BodyArgument &argument : passed) {
    if (argument.read)
      state(argument, /*write=*/false);
    if (argument.written)
      state(argument, /*write=*/true);
  }
  OpBuilder at(program);
  auto op = at.create<event::BodyOp>(location, at.getStringAttr(name),
                                     AffineMapAttr::get(grid),
                                     at.getArrayAttr(accesses),
                                     /*adjoint_inputs=*/FlatSymbolRefAttr(),
                                     /*adjoint_weights=*/FlatSymbolRefAttr());
  op.getBody().takeBody(*body);
}
