//===- LibraryCalls.cpp - calls of the task library in task bodies --------===//

#include "codegen/plan/LibraryCalls.h"

#include "codegen/bodies/TaskCalls.h"
#include "dialects/Event/LibraryCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace baton;
using namespace baton::event;

/// Of scratch, in bytes: lines of caches.
static constexpr int64_t kAlignment = 64;
/// Of functions, in front of their bodies' names.
static constexpr llvm::StringLiteral kPrefix = "baton_task_";

/// A memref of a matrix's part, or of a vector's, whatever it is a part of.
static MemRefType canonicalType(Type element, int64_t rank) {
  SmallVector<int64_t> shape(rank, ShapedType::kDynamic), strides(shape);
  strides.back() = 1;
  return MemRefType::get(shape, element,
                         StridedLayoutAttr::get(element.getContext(),
                                                ShapedType::kDynamic, strides));
}

bool plan::isNull(Value memref) {
  auto made = memref.getDefiningOp<UnrealizedConversionCastOp>();
  return made && made.getInputs().empty();
}

/// As the checks of other ops say it, which name the op and its place.
static void insist(OpBuilder &builder, Operation *op, Value holds,
                   const Twine &what) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  stream << "ERROR: Runtime op verification failed\n"
         << *op << "\n^ " << what << "\nLocation: " << op->getLoc();
  builder.create<cf::AssertOp>(op->getLoc(), holds, message);
}

namespace {

/// Writes out one call.
class Expansion {
public:
  Expansion(LibraryCallOp op, OpBuilder &declarations, Value scratch, Value end,
            ArrayRef<int64_t> panels)
      : op(op), declarations(declarations), scratch(scratch), end(end),
        panels(panels), builder(op), location(op.getLoc()),
        real(cast<MemRefType>(op.getOutputs().front().getType())
                 .getElementType()) {}

  void assertSizes();
  LogicalResult emit() {
    emitCalls();
    return failure(isAmbiguous);
  }

private:
  Value constant(int64_t value) {
    return builder.create<arith::ConstantIndexOp>(location, value);
  }
  Value size(Value memref, int64_t dimension) {
    return builder.create<memref::DimOp>(location, memref, dimension);
  }
  Value strideOf(Value memref, unsigned dimension) {
    return builder.create<memref::ExtractStridedMetadataOp>(location, memref)
        .getStrides()[dimension];
  }
  Value number(StringRef name) {
    return builder.create<arith::ConstantOp>(
        location, builder.getFloatAttr(real, op.getNumber(name)));
  }
  Value pointer(Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    MemRefType canonical = canonicalType(type.getElementType(), type.getRank());
    if (type == canonical)
      return memref;
    return builder.create<memref::CastOp>(location, canonical, memref);
  }
  Value null() {
    return builder
        .create<UnrealizedConversionCastOp>(
            location, TypeRange{canonicalType(real, 1)}, ValueRange())
        .getResult(0);
  }
  Value input(unsigned i) {
    return i < op.getInputs().size() ? op.getInputs()[i] : Value();
  }
  Value pointerOrNull(Value memref) {
    return memref ? pointer(memref) : null();
  }
  /// Rows and columns of one head.
  Value head(Value memref, Value head);
  Value scratchPointer();
  void insist(Value holds, const Twine &what) {
    ::insist(builder, op, holds, what);
  }
  void call(StringRef name, ValueRange operands);
  void callAttention();
  void callLinear(SmallVector<Value> operands);
  void emitCalls();

  LibraryCallOp op;
  OpBuilder &declarations;
  Value scratch, end;
  /// Arguments that are packed.
  ArrayRef<int64_t> panels;
  OpBuilder builder;
  Location location;
  Type real;
  /// A body of a user's has the name of what is called.
  bool isAmbiguous = false;
};

} // namespace

void Expansion::call(StringRef name, ValueRange operands) {
  // The library in F64 has reals instead of stored weights.
  std::string callee =
      kPrefix.str() + (real.isF64() ? bodies::inDouble(name) : name.str());
  auto module = cast<ModuleOp>(declarations.getBlock()->getParentOp());
  if (auto known = module.lookupSymbol<func::FuncOp>(callee)) {
    if (!known.isDeclaration() && !isAmbiguous) {
      isAmbiguous = true;
      op.emitOpError() << "calls the task library's '"
                       << StringRef(callee).drop_front(kPrefix.size())
                       << "', and there is a body of that name; give the body "
                          "another one";
    }
  } else {
    auto function = declarations.create<func::FuncOp>(
        location, callee, builder.getFunctionType(operands.getTypes(), {}));
    function.setPrivate();
  }
  builder.create<func::CallOp>(location, callee, TypeRange(), operands);
}

Value Expansion::head(Value memref, Value head) {
  auto type = cast<MemRefType>(memref.getType());
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets = {zero, head, zero},
                            sizes = {size(memref, 0), one, size(memref, 2)},
                            strides(3, one);
  return builder.create<memref::SubViewOp>(
      location, canonicalType(type.getElementType(), 2), memref, offsets, sizes,
      strides);
}

Value Expansion::scratchPointer() {
  auto type = MemRefType::get({ShapedType::kDynamic}, real);
  return pointer(
      builder
          .create<UnrealizedConversionCastOp>(
              location, TypeRange{type}, ValueRange{scratch, end, constant(0)})
          .getResult(0));
}

void Expansion::assertSizes() {
  auto isEqual = [&](Value a, Value b) {
    return builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::eq, a,
                                         b);
  };
  llvm::StringMap<Value> known;
  forEachSize(op, [&](StringRef operand, StringRef name, Value memref,
                      unsigned dimension) {
    Value &first = known[name];
    Value here = size(memref, dimension);
    if (first)
      insist(isEqual(here, first),
             "operand '" + operand + "' has other " + name);
    else
      first = here;
  });
  if (!known.contains("groups"))
    return;
  insist(builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::sge,
                                       known["positions"], known["rows"]),
         "there are fewer positions than rows");
  insist(isEqual(builder.create<arith::RemSIOp>(location, known["heads"],
                                                known["groups"]),
                 constant(0)),
         "groups do not divide heads");
}

/// A call for all query heads of a key/value head, where they lie behind one
/// another; else for each by itself.
void Expansion::callAttention() {
  Value out = op.getOutputs().front(), queries = input(0), keys = input(1),
        values = input(2);
  Value rows = size(out, 0), heads = size(out, 1), valueWidth = size(out, 2),
        width = size(queries, 2);
  Value one = constant(1), zero = constant(0);
  Value position = builder.create<arith::SubIOp>(location, size(keys, 0), rows);
  auto positive = [&](Value value) {
    return builder.create<arith::MaxSIOp>(location, value, one);
  };
  Value shared = positive(
      builder.create<arith::DivSIOp>(location, heads, positive(size(keys, 1))));
  auto isBehind = [&](Value memref, Value size) {
    return builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::eq,
                                         strideOf(memref, 1), size);
  };
  Value group = builder.create<arith::SelectOp>(
      location,
      builder.create<arith::AndIOp>(location, isBehind(queries, width),
                                    isBehind(out, valueWidth)),
      shared, one);
  Value scale = number("scale"), softcap = number("softcap"),
        window = constant(static_cast<int64_t>(op.getNumber("window")));
  Value memory = scratchPointer();
  auto loop = builder.create<scf::ForOp>(location, zero, heads, group);
  builder.setInsertionPointToStart(loop.getBody());
  Value first = loop.getInductionVar();
  Value headGroup = builder.create<arith::DivSIOp>(location, first, shared);
  Value target = head(out, first), query = head(queries, first),
        key = head(keys, headGroup), value = head(values, headGroup);
  call("attention", {target,     strideOf(target, 0),
                     query,      strideOf(query, 0),
                     key,        strideOf(key, 0),
                     value,      strideOf(value, 0),
                     rows,       position,
                     group,      width,
                     valueWidth, scale,
                     softcap,    window,
                     null(),     zero,
                     zero,       null(),
                     memory});
  builder.setInsertionPointAfter(loop);
}

/// Behind what all functions of rows take.
void Expansion::callLinear(SmallVector<Value> operands) {
  Value out = op.getOutputs().front(), weight = input(1),
        bias = pointerOrNull(input(2));
  Value rows = size(out, 0), columns = size(out, 1), depth = size(input(0), 1);
  Type stored = cast<MemRefType>(weight.getType()).getElementType();
  StringRef format = stored.isBF16() ? "bf16" : stored.isF16() ? "f16" : "f32";
  auto argument = dyn_cast<BlockArgument>(weight);
  if (!argument || !llvm::is_contained(panels, argument.getArgNumber())) {
    operands.append(
        {pointer(weight), strideOf(weight, 0), bias, rows, depth, columns});
    return call(bodies::functionName("stored_linear", format), operands);
  }
  Value noActivation =
      builder.create<arith::ConstantOp>(location, builder.getI32IntegerAttr(0));
  operands.append({pointer(weight), bias, null(), constant(0), rows, depth,
                   columns, noActivation});
  call(bodies::functionName("linear", format), operands);
}

void Expansion::emitCalls() {
  if (op.getCallee() == "attention")
    return callAttention();
  Value out = op.getOutputs().front(), x = input(0);
  Value rows = size(out, 0), columns = size(out, 1);
  SmallVector<Value> operands = {pointer(out), strideOf(out, 0), pointer(x),
                                 strideOf(x, 0)};
  if (op.getCallee() == "rms_norm") {
    operands.append({pointer(input(1)), rows, columns, number("epsilon")});
    call("rms_norm", operands);
  } else if (op.getCallee() == "layer_norm") {
    operands.append({pointer(input(1)), pointerOrNull(input(2)), rows, columns,
                     number("epsilon")});
    call("layer_norm", operands);
  } else if (op.getCallee() == "softmax") {
    operands.append({rows, columns, null()});
    call("softmax", operands);
  } else {
    callLinear(operands);
  }
}

/// A temporary's bytes, rounded up. Of a tile without rows there are none.
static Value bytesOf(OpBuilder &builder, memref::AllocaOp op) {
  MemRefType type = op.getType();
  Location location = op.getLoc();
  auto constant = [&](int64_t value) {
    return builder.create<arith::ConstantIndexOp>(location, value).getResult();
  };
  int64_t known = type.getElementTypeBitWidth() / 8;
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size))
      known *= size;
  Value bytes = constant(known), zero = constant(0);
  for (Value size : op.getDynamicSizes())
    bytes = builder.create<arith::MulIOp>(
        location, bytes, builder.create<arith::MaxSIOp>(location, size, zero));
  Value lines = builder.create<arith::DivUIOp>(
      location,
      builder.create<arith::AddIOp>(location, bytes, constant(kAlignment - 1)),
      constant(kAlignment));
  return builder.create<arith::MulIOp>(location, lines, constant(kAlignment));
}

LogicalResult plan::expandLibraryCalls(func::FuncOp function, BodyOp body,
                                       OpBuilder &declarations, bool checked) {
  Block &block = function.getBody().front();
  ArrayRef<int64_t> panels;
  if (auto numbers = body->getAttrOfType<DenseI64ArrayAttr>(kPanelsAttribute))
    panels = numbers;
  OpBuilder builder(function.getContext());
  Value scratch, end;
  if (body.usesScratch()) {
    auto type =
        MemRefType::get({ShapedType::kDynamic}, builder.getIntegerType(8));
    scratch = block.addArgument(type, function.getLoc());
    function.setFunctionType(
        builder.getFunctionType(block.getArgumentTypes(), {}));
    function->setAttr(kScratchAttribute, builder.getUnitAttr());
    builder.setInsertionPointToStart(&block);
    end = builder.create<arith::ConstantIndexOp>(function.getLoc(), 0);
  }
  auto expand = [&](LibraryCallOp op) {
    Expansion expansion(op, declarations, scratch, end, panels);
    if (checked)
      expansion.assertSizes();
    LogicalResult emitted = expansion.emit();
    op.erase();
    return emitted;
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto memory = dyn_cast<memref::AllocaOp>(op);
    if (!memory) {
      SmallVector<LibraryCallOp> calls;
      op.walk([&](LibraryCallOp call) { calls.push_back(call); });
      for (LibraryCallOp call : calls)
        if (failed(expand(call)))
          return failure();
      continue;
    }
    if (!memory.getType().getLayout().isIdentity() ||
        memory.getType().getMemorySpace())
      return memory.emitOpError()
             << "is " << memory.getType()
             << ", expected a temporary without a layout or a memory space";
    builder.setInsertionPoint(memory);
    SmallVector<Value> parts = {scratch, end};
    llvm::append_range(parts, memory.getDynamicSizes());
    auto made = builder.create<UnrealizedConversionCastOp>(
        memory.getLoc(), TypeRange{memory.getType()}, parts);
    end = builder.create<arith::AddIOp>(memory.getLoc(), end,
                                        bytesOf(builder, memory));
    if (checked)
      insist(builder, memory,
             builder.create<arith::CmpIOp>(
                 memory.getLoc(), arith::CmpIPredicate::sle, end,
                 builder.create<memref::DimOp>(memory.getLoc(), scratch, 0)),
             "the temporary ends behind the scratch");
    memory.replaceAllUsesWith(made.getResult(0));
    memory.erase();
  }
  return success();
}

namespace {
struct PlaceTemporaries
    : public PassWrapper<PlaceTemporaries, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceTemporaries)
  StringRef getArgument() const override { return "place-temporaries"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<memref::MemRefDialect>();
  }

  void runOnOperation() override {
    SmallVector<UnrealizedConversionCastOp> casts;
    getOperation().walk([&](UnrealizedConversionCastOp op) {
      if (op.getInputs().size() >= 2 && isa<MemRefType>(op.getType(0)))
        casts.push_back(op);
    });
    for (UnrealizedConversionCastOp op : casts) {
      OpBuilder builder(op);
      op.replaceAllUsesWith(ValueRange{builder.create<memref::ViewOp>(
          op.getLoc(), cast<MemRefType>(op.getType(0)), op.getOperand(0),
          op.getOperand(1), op.getOperands().drop_front(2))});
      op.erase();
    }
  }
};
} // namespace

std::unique_ptr<Pass> plan::createPlaceTemporariesPass() {
  return std::make_unique<PlaceTemporaries>();
}
