//===- UpdateBody.cpp - task bodies of update rules -----------------------===//
//
// Elements are computed in vectors of kLanes, in a row's whole vectors and one
// masked rest: so sums have one order, which no compiler has to be asked for.
// What needs no order is an scf.parallel, which devices deal out.
//
// A map whose results are kept in blocks goes through each block twice. The
// first time it computes what it needs to know the largest magnitude, and so
// the scale; the second time all of it, which it writes. Computing twice is
// cheaper than memory: what a block reads stays in the first cache, and every
// byte of the states crosses the bus once each way.
//
// A map with layers of a network goes through its tile in pieces of kPiece
// elements. For each piece it computes a layer's inputs, then the layer, so on,
// and at last what it yields; a worker's scratch holds the numbers between, as
// rows of kPiece. So a layer is a product of matrices, of whose results a few
// rows of one vector stay in registers.
//
//===----------------------------------------------------------------------===//

#include "passes/updates/UpdateBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static constexpr int64_t kLanes = 16;
/// Elements that a map with layers takes at a time, and rows of a layer's
/// results that are added up together: with these, both sides of a layer stay
/// in a CPU's first two caches, and the sums in the registers of AVX2.
static constexpr int64_t kPiece = 128, kLayerRows = 4;

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

UpdateBody::Tile UpdateBody::tile(const BodyArgument &given) {
  Tile tile = {
      argument(given), given.scales, {}, given.hasRows, given.hasColumns};
  if (given.scales)
    tile.scales = argument({given.name + ".scale", given.scales->view,
                            given.scales->box, given.read, given.written});
  return tile;
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
  } else if (auto element = dyn_cast<update::ElementOp>(op)) {
    NumberSource source =
        numbers.source(element.getWeights().getDefiningOp<update::WeightsOp>());
    source.index.back() += element.getPlace();
    result = load(source);
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
      if (operand.getParentRegion() != &region &&
          !update::isTable(operand.getType()))
        spread(number(operand));
  }
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

UpdateBody::Values UpdateBody::elements(OpBuilder &at, Region &region,
                                        ArrayRef<Value> inputs, Needed needed) {
  return compute(at, region, inputs,
                 region.front().getTerminator()->getOperands(), needed, {});
}

UpdateBody::Values UpdateBody::compute(OpBuilder &at, Region &region,
                                       ArrayRef<Value> inputs,
                                       ValueRange wanted, Needed needed,
                                       Given given) {
  IRMapping mapping;
  Block &from = region.front();
  for (auto [argument, input] : llvm::zip_equal(from.getArguments(), inputs))
    if (input)
      mapping.map(argument, input);
  auto vectorized = [&](Value value) {
    Value inside = mapping.lookupOrNull(value);
    if (!inside && value.getDefiningOp<update::DenseOp>()) {
      inside = given(value);
      mapping.map(value, inside);
    }
    return inside ? inside : spreads.lookup(made.lookup(value));
  };
  auto isNeeded = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !needed || !op || op->getBlock() != &from || needed(*op) ||
           (given && isa<update::DenseOp>(op));
  };
  for (Operation &op : from.without_terminator()) {
    if (isa<arith::ConstantOp, update::DenseOp>(op) || (needed && !needed(op)))
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
  for (Value value : wanted)
    results.push_back(isNeeded(value) ? vectorized(value) : Value());
  return results;
}

Value UpdateBody::splat(OpBuilder &at, Type element, double value) {
  return at.create<arith::ConstantOp>(
      location,
      DenseElementsAttr::get(vectorOf(element),
                             Attribute(at.getFloatAttr(element, value))));
}

Value UpdateBody::loadScale(OpBuilder &at, const Tile &tile, Value row,
                            Value column) {
  auto ofBlock = [&](Value place, int64_t extent) -> Value {
    return at.create<arith::DivUIOp>(
        location, place, at.create<arith::ConstantIndexOp>(location, extent));
  };
  Value scale = at.create<memref::LoadOp>(
      location, tile.scales,
      ValueRange{ofBlock(row, tile.stored->rows),
                 ofBlock(column, tile.stored->columns)});
  return at.create<vector::BroadcastOp>(location, vectorOf(scale.getType()),
                                        scale);
}

UpdateBody::Values UpdateBody::loadAll(OpBuilder &at, ArrayRef<Tile> tiles,
                                       Value row, Value column, Value mask,
                                       ArrayRef<Value> scales) {
  Values values;
  for (auto [i, tile] : llvm::enumerate(tiles)) {
    VectorType type =
        vectorOf(cast<MemRefType>(tile.memory.getType()).getElementType());
    Value zero = at.create<arith::ConstantIndexOp>(location, 0);
    SmallVector<Value> place = {tile.hasRows ? row : zero,
                                tile.hasColumns ? column : zero};
    if (!tile.hasColumns) {
      Value number = at.create<memref::LoadOp>(location, tile.memory, place);
      values.push_back(at.create<vector::BroadcastOp>(location, type, number));
      continue;
    }
    Value value;
    if (mask) {
      Value none = at.create<arith::ConstantOp>(location, at.getZeroAttr(type));
      value = at.create<vector::MaskedLoadOp>(location, type, tile.memory,
                                              place, mask, none);
    } else {
      value = at.create<vector::LoadOp>(location, type, tile.memory, place);
    }
    if (tile.stored) {
      // A vector lies in one block, which has a multiple of kLanes columns.
      update::FormatOp format = tile.stored->format;
      Type real = vectorOf(at.getF32Type());
      Value code =
          format.isUnsigned()
              ? at.create<arith::UIToFPOp>(location, real, value).getResult()
              : at.create<arith::SIToFPOp>(location, real, value).getResult();
      Value scale =
          scales.empty() ? loadScale(at, tile, row, column) : scales[i];
      value = elements(at, format.getDecode(), {code, scale}).front();
    }
    values.push_back(value);
  }
  return values;
}

void UpdateBody::store(OpBuilder &at, Value value, Value memory, Value row,
                       Value column, Value mask) {
  ValueRange place{row, column};
  if (mask)
    at.create<vector::MaskedStoreOp>(location, memory, place, mask, value);
  else
    at.create<vector::StoreOp>(location, value, memory, place);
}

/// To the nearest of the integers that there are; of no number the least.
Value UpdateBody::encode(OpBuilder &at, const BlockScales &stored, Value value,
                         Value scale) {
  update::FormatOp format = stored.format;
  Type real = at.getF32Type();
  bool isUnsigned = format.isUnsigned();
  Value code = elements(at, format.getEncode(), {value, scale}).front();
  code = at.create<math::RoundEvenOp>(location, code);
  code = at.create<arith::MaxNumFOp>(location, code,
                                     splat(at, real, isUnsigned ? 0 : -128));
  code = at.create<arith::MinNumFOp>(location, code,
                                     splat(at, real, isUnsigned ? 255 : 127));
  Value zero = splat(at, real, 0);
  Value has = at.create<arith::CmpFOp>(location, arith::CmpFPredicate::UNE,
                                       scale, zero);
  code = at.create<arith::SelectOp>(location, has, code, zero);
  Type integers = vectorOf(at.getI8Type());
  return isUnsigned
             ? at.create<arith::FPToUIOp>(location, integers, code).getResult()
             : at.create<arith::FPToSIOp>(location, integers, code).getResult();
}

void UpdateBody::prepareFormats(ArrayRef<Tile> tiles) {
  llvm::SmallPtrSet<Operation *, 2> prepared;
  for (const Tile &tile : tiles)
    if (tile.stored && prepared.insert(tile.stored->format).second) {
      update::FormatOp format = tile.stored->format;
      for (Region *region :
           {&format.getScale(), &format.getEncode(), &format.getDecode()})
        prepare(*region);
    }
}

void UpdateBody::scale(OpBuilder &at, Values &inputs,
                       std::optional<unsigned> gradient) {
  if (gradient)
    inputs[*gradient] =
        at.create<arith::MulFOp>(location, inputs[*gradient], factor);
}

namespace {
/// Some rows and columns of a tile.
struct Area {
  Value firstRow, rows, firstColumn, columns;
};

/// Goes through a tile, or an area of it, in whole vectors and, masked, what is
/// left of each row.
struct TileLoop {
  using Place = llvm::function_ref<void(OpBuilder &, Value row, Value column,
                                        Value mask)>;
  using Step = llvm::function_ref<SmallVector<Value>(
      OpBuilder &, Value row, Value column, Value mask, ValueRange carried)>;

  TileLoop(OpBuilder &builder, Location location, Value tile)
      : builder(builder), location(location), zero(index(0)), one(index(1)),
        lanes(index(kLanes)), firstRow(zero), firstColumn(zero) {
    rows = builder.create<memref::DimOp>(location, tile, zero);
    cut(builder.create<memref::DimOp>(location, tile, one));
  }

  TileLoop(OpBuilder &builder, Location location, const Area &area)
      : builder(builder), location(location), zero(index(0)), one(index(1)),
        lanes(index(kLanes)), firstRow(area.firstRow),
        firstColumn(area.firstColumn), rows(area.rows) {
    cut(area.columns);
  }

  /// In any order, or at the same time.
  void each(Place place) {
    builder.create<scf::ParallelOp>(
        location, ValueRange{firstRow, firstColumn}, ValueRange{rows, whole},
        ValueRange{one, lanes}, [&](OpBuilder &at, Location, ValueRange point) {
          place(at, point[0], point[1], Value());
        });
    builder.create<scf::IfOp>(
        location, hasRest, [&](OpBuilder &inside, Location) {
          inside.create<scf::ParallelOp>(
              location, ValueRange{firstRow}, ValueRange{rows}, ValueRange{one},
              [&](OpBuilder &at, Location, ValueRange point) {
                place(at, point[0], whole, mask);
              });
          inside.create<scf::YieldOp>(location);
        });
  }

  /// All rows of some columns at a time, in any order.
  void eachColumn(
      llvm::function_ref<void(OpBuilder &, Value column, Value mask)> place) {
    builder.create<scf::ParallelOp>(
        location, ValueRange{firstColumn}, ValueRange{whole}, ValueRange{lanes},
        [&](OpBuilder &at, Location, ValueRange point) {
          place(at, point[0], Value());
        });
    builder.create<scf::IfOp>(
        location, hasRest, [&](OpBuilder &inside, Location) {
          inside.create<scf::ParallelOp>(
              location, ValueRange{zero}, ValueRange{one}, ValueRange{one},
              [&](OpBuilder &at, Location, ValueRange) {
                place(at, whole, mask);
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
        location, firstRow, rows, one, initial,
        [&](OpBuilder &at, Location, Value row, ValueRange carried) {
          auto vectors = at.create<scf::ForOp>(
              location, firstColumn, whole, lanes, carried,
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
  /// Columns end at `end`: what is whole vectors, and what is left.
  void cut(Value end) {
    Value columns = builder.create<arith::SubIOp>(location, end, firstColumn);
    Value rest = builder.create<arith::RemUIOp>(location, columns, lanes);
    whole = builder.create<arith::SubIOp>(location, end, rest);
    hasRest = builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::ne,
                                            rest, zero);
    mask = builder.create<vector::CreateMaskOp>(
        location, vectorOf(builder.getI1Type()), rest);
  }

  OpBuilder &builder;
  Location location;
  Value zero, one, lanes, firstRow, firstColumn, rows, whole, hasRest, mask;
};
} // namespace

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// The ops of a region that some of what it yields is computed by.
static llvm::DenseSet<Operation *> opsOf(Region &region,
                                         ArrayRef<Value> yielded) {
  llvm::DenseSet<Operation *> ops;
  SmallVector<Value> open(yielded);
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    // What layers make is at hand.
    if (op && op->getParentRegion() == &region && !isa<update::DenseOp>(op) &&
        ops.insert(op).second)
      llvm::append_range(open, op->getOperands());
  }
  return ops;
}

UpdateBody::Values UpdateBody::storeScales(OpBuilder &inside,
                                           ArrayRef<Tile> places,
                                           ValueRange largest, Value blockRow,
                                           Value blockColumn) {
  // A scale is one number, which one lane stores.
  Value one = inside.create<arith::ConstantIndexOp>(location, 1);
  Value lane = inside.create<vector::CreateMaskOp>(
      location, vectorOf(inside.getI1Type()), one);
  Values scales;
  auto next = largest.begin();
  for (const Tile &place : places) {
    scales.emplace_back();
    if (!place.stored)
      continue;
    Value most = inside.create<vector::ReductionOp>(
        location, vector::CombiningKind::MAXNUMF, *next++);
    Value spreadMost = inside.create<vector::BroadcastOp>(
        location, vectorOf(inside.getF32Type()), most);
    update::FormatOp format = place.stored->format;
    scales.back() = elements(inside, format.getScale(), {spreadMost}).front();
    store(inside, scales.back(), place.scales, blockRow, blockColumn, lane);
  }
  return scales;
}

void UpdateBody::mapBlocks(OpBuilder &at, Region &region,
                           ArrayRef<Tile> sources, ArrayRef<Tile> places,
                           std::optional<unsigned> gradient) {
  // All of them have the same blocks.
  const BlockScales &blocks = *llvm::find_if(places, [](const Tile &place) {
                                 return place.stored.has_value();
                               })->stored;
  SmallVector<Value> stored;
  for (auto [place, value] :
       llvm::zip_equal(places, region.front().getTerminator()->getOperands()))
    if (place.stored)
      stored.push_back(value);
  llvm::DenseSet<Operation *> first = opsOf(region, stored);
  auto needed = [&](Operation &op) { return first.contains(&op); };

  auto dimension = [&](int64_t d) -> Value {
    return at.create<memref::DimOp>(location, places.front().memory, d);
  };
  auto constant = [&](int64_t value) -> Value {
    return at.create<arith::ConstantIndexOp>(location, value);
  };
  Value zero = constant(0), rows = dimension(0), columns = dimension(1),
        height = constant(blocks.rows), width = constant(blocks.columns);
  at.create<scf::ParallelOp>(
      location, ValueRange{zero, zero}, ValueRange{rows, columns},
      ValueRange{height, width},
      [&](OpBuilder &inside, Location, ValueRange point) {
        Value row = point[0], column = point[1];
        auto end = [&](Value begin, Value extent, Value whole) -> Value {
          return inside.create<arith::MinUIOp>(
              location, inside.create<arith::AddIOp>(location, begin, extent),
              whole);
        };
        Area area{row, end(row, height, rows), column,
                  end(column, width, columns)};
        Values scales;
        for (const Tile &source : sources)
          scales.push_back(
              source.stored ? loadScale(inside, source, row, column) : Value());
        auto compute = [&](OpBuilder &inner, Value row, Value column,
                           Value mask, Needed only) {
          Values values = loadAll(inner, sources, row, column, mask, scales);
          scale(inner, values, gradient);
          return elements(inner, region, values, only);
        };

        Type real = inside.getF32Type();
        Value none = splat(inside, real, 0);
        SmallVector<Value> largest =
            TileLoop(inside, location, area)
                .run(SmallVector<Value>(stored.size(), none),
                     [&](OpBuilder &inner, Value row, Value column, Value mask,
                         ValueRange carried) {
                       SmallVector<Value> next;
                       Values values =
                           compute(inner, row, column, mask, needed);
                       for (auto [place, value] : llvm::zip(places, values)) {
                         if (!place.stored)
                           continue;
                         Value size =
                             inner.create<math::AbsFOp>(location, value);
                         if (mask)
                           size = inner.create<arith::SelectOp>(location, mask,
                                                                size, none);
                         next.push_back(inner.create<arith::MaxNumFOp>(
                             location, carried[next.size()], size));
                       }
                       return next;
                     });

        Values newScales =
            storeScales(inside, places, largest,
                        inside.create<arith::DivUIOp>(location, row, height),
                        inside.create<arith::DivUIOp>(location, column, width));

        TileLoop(inside, location, area)
            .run(ValueRange(), [&](OpBuilder &inner, Value row, Value column,
                                   Value mask, ValueRange) {
              Values values = compute(inner, row, column, mask, {});
              for (auto [value, place, scale] :
                   llvm::zip_equal(values, places, newScales))
                store(inner,
                      place.stored ? encode(inner, *place.stored, value, scale)
                                   : value,
                      place.memory, row, column, mask);
              return SmallVector<Value>();
            });
      });
}

Value UpdateBody::temporary(int64_t rows) {
  auto type = MemRefType::get({rows, kPiece}, builder.getF32Type());
  scratch += llvm::alignTo(rows * kPiece * sizeof(float), 64);
  return builder.create<memref::AllocaOp>(location, type);
}

/// Of `vectors` columns of kLanes.
void UpdateBody::layer(OpBuilder &at, update::DenseOp op, Value inputs,
                       Value results, Value vectors) {
  const Layer &numbers = layers.lookup(op);
  auto shape = cast<RankedTensorType>(op.getWeights().getType()).getShape();
  const int64_t count = shape[0], depth = shape[1];
  auto constant = [&](OpBuilder &at, int64_t value) -> Value {
    return at.create<arith::ConstantIndexOp>(location, value);
  };
  // `rows` of the results from a coordinate on, of one vector.
  auto add = [&](OpBuilder &inside, Value first, Value vector, int64_t rows) {
    Value column = inside.create<arith::MulIOp>(location, vector,
                                                constant(inside, kLanes));
    auto spreadAt = [&](OpBuilder &at, Value place) -> Value {
      Value number =
          at.create<memref::LoadOp>(location, numbers.numbers, place);
      return at.create<vector::BroadcastOp>(location,
                                            vectorOf(number.getType()), number);
    };
    SmallVector<Value> sums, begins;
    for (int64_t row = 0; row < rows; ++row) {
      Value own =
          inside.create<arith::AddIOp>(location, first, constant(inside, row));
      sums.push_back(
          spreadAt(inside, inside.create<arith::AddIOp>(
                               location, own, constant(inside, numbers.bias))));
      begins.push_back(inside.create<arith::AddIOp>(
          location,
          inside.create<arith::MulIOp>(location, own, constant(inside, depth)),
          constant(inside, numbers.weights)));
    }
    auto loop = inside.create<scf::ForOp>(
        location, constant(inside, 0), constant(inside, depth),
        constant(inside, 1), sums,
        [&](OpBuilder &inner, Location, Value input, ValueRange carried) {
          VectorType type = vectorOf(inner.getF32Type());
          Value x = inner.create<vector::LoadOp>(location, type, inputs,
                                                 ValueRange{input, column});
          SmallVector<Value> next;
          for (auto [begin, sum] : llvm::zip_equal(begins, carried)) {
            Value weight = spreadAt(
                inner, inner.create<arith::AddIOp>(location, begin, input));
            next.push_back(inner.create<math::FmaOp>(location, weight, x, sum));
          }
          inner.create<scf::YieldOp>(location, next);
        });
    for (auto [row, sum] : llvm::enumerate(loop.getResults())) {
      Value result = sum;
      if (op.getRelu())
        result = inside.create<arith::MaximumFOp>(
            location, result, splat(inside, inside.getF32Type(), 0));
      store(inside, result, results,
            inside.create<arith::AddIOp>(location, first,
                                         constant(inside, int64_t(row))),
            column, Value());
    }
  };
  const int64_t whole = count - count % kLayerRows;
  Value zero = constant(at, 0), one = constant(at, 1);
  if (whole)
    at.create<scf::ParallelOp>(
        location, ValueRange{zero, zero},
        ValueRange{constant(at, whole), vectors},
        ValueRange{constant(at, kLayerRows), one},
        [&](OpBuilder &inside, Location, ValueRange point) {
          add(inside, point[0], point[1], kLayerRows);
        });
  if (whole < count)
    at.create<scf::ParallelOp>(
        location, ValueRange{zero}, ValueRange{vectors}, ValueRange{one},
        [&](OpBuilder &inside, Location, ValueRange point) {
          add(inside, constant(inside, whole), point[0], count - whole);
        });
}

void UpdateBody::mapLayers(OpBuilder &at, Region &region,
                           ArrayRef<Tile> sources, ArrayRef<Tile> places,
                           std::optional<unsigned> gradient) {
  auto constant = [&](OpBuilder &at, int64_t value) -> Value {
    return at.create<arith::ConstantIndexOp>(location, value);
  };
  auto dimension = [&](int64_t d) -> Value {
    return at.create<memref::DimOp>(location, places.front().memory, d);
  };
  Value zero = constant(at, 0), one = constant(at, 1),
        lanes = constant(at, kLanes);
  Value rows = dimension(0), columns = dimension(1);
  Value vectorsOfRow = at.create<arith::DivUIOp>(
      location,
      at.create<arith::AddIOp>(location, columns, constant(at, kLanes - 1)),
      lanes);
  Value all = at.create<arith::MulIOp>(location, rows, vectorsOfRow);
  Block &block = region.front();
  auto result = [&](OpBuilder &inner, Value value, Value column) -> Value {
    auto number = cast<OpResult>(value);
    return inner.create<vector::LoadOp>(
        location, vectorOf(inner.getF32Type()),
        layers.lookup(number.getOwner()).results,
        ValueRange{constant(inner, number.getResultNumber()), column});
  };
  at.create<scf::ForOp>(
      location, zero, all, constant(at, kPiece / kLanes), ValueRange(),
      [&](OpBuilder &piece, Location, Value begin, ValueRange) {
        Value vectors = piece.create<arith::MinUIOp>(
            location, constant(piece, kPiece / kLanes),
            piece.create<arith::SubIOp>(location, all, begin));
        // `wanted` of each element, with where its vector is: in the tile, and
        // in temporaries.
        auto each =
            [&](ValueRange wanted,
                llvm::function_ref<void(OpBuilder &, ArrayRef<Value>, Value row,
                                        Value column, Value mask, Value own)>
                    use) {
              llvm::DenseSet<Operation *> ops =
                  opsOf(region, SmallVector<Value>(wanted));
              piece.create<scf::ParallelOp>(
                  location, ValueRange{zero}, ValueRange{vectors},
                  ValueRange{one},
                  [&](OpBuilder &inner, Location, ValueRange point) {
                    Value number =
                        inner.create<arith::AddIOp>(location, begin, point[0]);
                    Value row = inner.create<arith::DivUIOp>(location, number,
                                                             vectorsOfRow);
                    Value column = inner.create<arith::MulIOp>(
                        location,
                        inner.create<arith::RemUIOp>(location, number,
                                                     vectorsOfRow),
                        lanes);
                    Value own =
                        inner.create<arith::MulIOp>(location, point[0], lanes);
                    Value mask = inner.create<vector::CreateMaskOp>(
                        location, vectorOf(inner.getI1Type()),
                        ValueRange{inner.create<arith::SubIOp>(
                            location, columns, column)});
                    Values inputs = loadAll(inner, sources, row, column, mask);
                    scale(inner, inputs, gradient);
                    Values values = compute(
                        inner, region, inputs, wanted,
                        [&](Operation &op) { return ops.contains(&op); },
                        [&](Value value) { return result(inner, value, own); });
                    use(inner, values, row, column, mask, own);
                  });
            };
        for (auto op : block.getOps<update::DenseOp>()) {
          const Layer &numbers = layers.lookup(op);
          Operation *before = op.getInputs().front().getDefiningOp();
          if (!before || layers.lookup(before).results != numbers.inputs)
            each(op.getInputs(), [&](OpBuilder &inner, ArrayRef<Value> values,
                                     Value, Value, Value, Value own) {
              for (auto [i, value] : llvm::enumerate(values))
                store(inner, value, numbers.inputs, constant(inner, int64_t(i)),
                      own, Value());
            });
          layer(piece, op, numbers.inputs, numbers.results, vectors);
        }
        each(block.getTerminator()->getOperands(),
             [&](OpBuilder &inner, ArrayRef<Value> values, Value row,
                 Value column, Value mask, Value) {
               for (auto [value, place] : llvm::zip_equal(values, places))
                 store(inner, value, place.memory, row, column, mask);
             });
        piece.create<scf::YieldOp>(location);
      });
}

void UpdateBody::map(Region &region, ArrayRef<BodyArgument> inputs,
                     ArrayRef<BodyArgument> outputs,
                     std::optional<unsigned> gradient, bool guarded) {
  SmallVector<Tile> sources, places;
  for (const BodyArgument &input : inputs)
    sources.push_back(tile(input));
  for (const BodyArgument &output : outputs)
    places.push_back(tile(output));
  prepare(region);
  prepareFormats(sources);
  prepareFormats(places);
  if (gradient)
    factor = spread(load(numbers.factor()));
  for (auto op : region.front().getOps<update::DenseOp>()) {
    NumberSource weights =
        numbers.source(op.getWeights().getDefiningOp<update::WeightsOp>());
    NumberSource bias =
        numbers.source(op.getBias().getDefiningOp<update::WeightsOp>());
    // A layer of another one's results reads these where they are.
    Operation *before = op.getInputs().empty()
                            ? nullptr
                            : op.getInputs().front().getDefiningOp();
    bool follows = before && isa<update::DenseOp>(before) &&
                   op.getInputs() == before->getResults();
    layers[op] = {
        follows ? layers.lookup(before).results
                : temporary(int64_t(op.getInputs().size())),
        temporary(int64_t(op.getNumResults())),
        argument({weights.name, weights.view, phase.whole(weights.view), true}),
        weights.index.back(), bias.index.back()};
  }
  auto run = [&](OpBuilder &at) {
    if (!layers.empty())
      return mapLayers(at, region, sources, places, gradient);
    if (llvm::any_of(
            places, [](const Tile &place) { return place.stored.has_value(); }))
      return mapBlocks(at, region, sources, places, gradient);
    TileLoop(at, location, places.front().memory)
        .each([&](OpBuilder &inner, Value row, Value column, Value mask) {
          Values values = loadAll(inner, sources, row, column, mask);
          scale(inner, values, gradient);
          for (auto [value, place] :
               llvm::zip(elements(inner, region, values), places))
            store(inner, value, place.memory, row, column, mask);
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

Value UpdateBody::extentOf(OpBuilder &at, ArrayRef<Tile> tiles,
                           int64_t dimension) {
  for (const Tile &tile : tiles)
    if (dimension ? tile.hasColumns : tile.hasRows)
      return at.create<memref::DimOp>(location, tile.memory, dimension);
  return at.create<arith::ConstantIndexOp>(location, 1);
}

SmallVector<UpdateBody::Tile>
UpdateBody::prepare(Region &region, ArrayRef<BodyArgument> inputs,
                    std::optional<unsigned> gradient) {
  SmallVector<Tile> sources;
  for (const BodyArgument &input : inputs)
    sources.push_back(tile(input));
  prepare(region);
  prepareFormats(sources);
  if (gradient)
    factor = spread(load(numbers.factor()));
  return sources;
}

void UpdateBody::sumRows(Region &region, ArrayRef<BodyArgument> inputs,
                         std::optional<unsigned> gradient,
                         ArrayRef<BodyArgument> sums) {
  SmallVector<Value> places;
  for (const BodyArgument &sum : sums)
    places.push_back(argument(sum));
  SmallVector<Tile> sources = prepare(region, inputs, gradient);
  Value zero = index(0), one = index(1), rows = extentOf(builder, sources, 0),
        columns = extentOf(builder, sources, 1);
  builder.create<scf::ParallelOp>(
      location, ValueRange{zero}, ValueRange{rows}, ValueRange{one},
      [&](OpBuilder &at, Location, ValueRange point) {
        Area area{point[0], at.create<arith::AddIOp>(location, point[0], one),
                  zero, columns};
        Value none = splat(at, at.getF32Type(), 0);
        SmallVector<Value> totals =
            TileLoop(at, location, area)
                .run(SmallVector<Value>(places.size(), none),
                     [&](OpBuilder &inner, Value row, Value column, Value mask,
                         ValueRange carried) {
                       return add(inner, region, sources, gradient, row, column,
                                  mask, carried);
                     });
        Value lane = at.create<vector::CreateMaskOp>(
            location, vectorOf(at.getI1Type()), one);
        for (auto [total, place] : llvm::zip_equal(totals, places)) {
          Value number = at.create<vector::ReductionOp>(
              location, vector::CombiningKind::ADD, total);
          Value all =
              at.create<vector::BroadcastOp>(location, none.getType(), number);
          store(at, all, place, point[0], zero, lane);
        }
      });
}

void UpdateBody::addColumns(ArrayRef<Tile> sources, Compute compute,
                            ArrayRef<BodyArgument> sums) {
  SmallVector<Value> places;
  for (const BodyArgument &sum : sums)
    places.push_back(argument(sum));
  Value zero = index(0), one = index(1), rows = extentOf(builder, sources, 0),
        columns = extentOf(builder, sources, 1);
  TileLoop(builder, location, Area{zero, rows, zero, columns})
      .eachColumn([&](OpBuilder &at, Value column, Value mask) {
        Value none = splat(at, at.getF32Type(), 0);
        auto loop = at.create<scf::ForOp>(
            location, zero, rows, one, SmallVector<Value>(places.size(), none),
            [&](OpBuilder &inner, Location, Value row, ValueRange carried) {
              SmallVector<Value> next;
              for (auto [value, sum] :
                   llvm::zip(compute(inner, row, column, mask), carried))
                next.push_back(
                    inner.create<arith::AddFOp>(location, sum, value));
              inner.create<scf::YieldOp>(location, next);
            });
        for (auto [total, place] : llvm::zip_equal(loop.getResults(), places))
          store(at, total, place, zero, column, mask);
      });
}

void UpdateBody::sumColumns(Region &region, ArrayRef<BodyArgument> inputs,
                            std::optional<unsigned> gradient,
                            ArrayRef<BodyArgument> sums) {
  SmallVector<Tile> sources = prepare(region, inputs, gradient);
  addColumns(
      sources,
      [&](OpBuilder &at, Value row, Value column, Value mask) {
        Values values = loadAll(at, sources, row, column, mask);
        scale(at, values, gradient);
        return elements(at, region, values);
      },
      sums);
}

void UpdateBody::totalColumns(ArrayRef<BodyArgument> partials,
                              ArrayRef<BodyArgument> sums) {
  SmallVector<Tile> sources;
  for (const BodyArgument &partial : partials)
    sources.push_back(tile(partial));
  addColumns(
      sources,
      [&](OpBuilder &at, Value row, Value column, Value mask) {
        return loadAll(at, sources, row, column, mask);
      },
      sums);
}

SmallVector<Value> UpdateBody::add(OpBuilder &at, Region &region,
                                   ArrayRef<Tile> sources,
                                   std::optional<unsigned> gradient, Value row,
                                   Value column, Value mask,
                                   ValueRange carried) {
  Values values = loadAll(at, sources, row, column, mask);
  scale(at, values, gradient);
  SmallVector<Value> next;
  for (auto [value, sum] : llvm::zip(elements(at, region, values), carried)) {
    Value term = value;
    if (mask)
      term = at.create<arith::SelectOp>(location, mask, term,
                                        splat(at, at.getF32Type(), 0));
    next.push_back(at.create<arith::AddFOp>(location, sum, term));
  }
  return next;
}

void UpdateBody::sum(Region &region, ArrayRef<BodyArgument> inputs,
                     std::optional<unsigned> gradient,
                     const BodyArgument &partials) {
  SmallVector<Tile> sources = prepare(region, inputs, gradient);
  Value place = argument(partials);
  size_t count = region.front().getTerminator()->getNumOperands();
  Value none = builder.create<arith::ConstantOp>(
      location, builder.getZeroAttr(vectorOf(builder.getF32Type())));
  Area area{index(0), extentOf(builder, sources, 0), index(0),
            extentOf(builder, sources, 1)};
  SmallVector<Value> sums =
      TileLoop(builder, location, area)
          .run(SmallVector<Value>(count, none),
               [&](OpBuilder &inner, Value row, Value column, Value mask,
                   ValueRange carried) {
                 return add(inner, region, sources, gradient, row, column, mask,
                            carried);
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
