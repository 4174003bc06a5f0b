//===- BodyPrinter.cpp - task bodies that users wrote, as CUDA C++ --------===//

#include "codegen/cuda/BodyPrinter.h"

#include "codegen/cuda/BodyExpressions.h"
#include "codegen/cuda/BodyLowering.h"
#include "codegen/plan/BodyFunctions.h"
#include "codegen/plan/LibraryCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace baton;
using namespace baton::cuda;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::Twine;

static std::string list(ArrayRef<std::string> items) {
  return llvm::join(items, ", ");
}

namespace {

/// What an op, with all inside of it, does to memory.
struct Effects {
  bool reads = false, writes = false;
};

/// Who runs what is printed.
enum class Threads {
  /// All of the block, together.
  all,
  first,
  /// Each, or each sixteen, have points of their own.
  points,
  vectorPoints,
};

/// Prints one function. An op without C++ ends it; see takeError().
class FunctionPrinter {
public:
  FunctionPrinter(func::FuncOp function, StringRef name, raw_ostream &os)
      : function(function), name(name), os(os) {}

  void print();
  Error takeError(StringRef body) const;

private:
  void printArguments();
  void printDealt(Block &block);
  void printDealtIf(scf::IfOp branch);
  void printDealtFor(scf::ForOp loop);
  void printForHead(scf::ForOp loop);
  void printCall(func::CallOp call);
  void printByFirst(llvm::ArrayRef<Operation *> ops);
  void printBlock(Block &block);
  void printOp(Operation &op);
  void printFor(scf::ForOp loop);
  void printParallel(scf::ParallelOp loop, bool dealt);
  void printIf(scf::IfOp branch);
  void printYield(ValueRange results, Block &block);
  void printMemory(Operation &op);
  void printView(memref::ViewOp part);
  void printVector(Operation &op);

  /// The C++ name of a value.
  std::string operator[](Value value) const { return names.lookup(value); }
  std::string fresh() { return "v" + std::to_string(count++); }
  /// Names a value that is about to be declared; fails without a type for it.
  std::string declare(Value value);
  void define(Value value, const Twine &text);
  void fail(Operation &op) {
    if (!unknown)
      unknown = &op;
  }
  raw_ostream &line() { return os.indent(indent); }

  func::FuncOp function;
  std::string name;
  raw_ostream &os;
  llvm::DenseMap<Value, std::string> names;
  unsigned count = 0, indent = 2;
  Threads threads = Threads::all;
  Operation *unknown = nullptr;
};

} // namespace

static Effects effectsOf(Operation &op) {
  Effects effects;
  op.walk([&](Operation *inside) {
    // Of the task library.
    effects.reads |= isa<func::CallOp>(inside);
    effects.writes |= isa<func::CallOp>(inside);
    auto interface = dyn_cast<MemoryEffectOpInterface>(inside);
    if (!interface)
      return;
    SmallVector<MemoryEffects::EffectInstance> instances;
    interface.getEffects(instances);
    for (const auto &instance : instances) {
      effects.reads |= isa<MemoryEffects::Read>(instance.getEffect());
      effects.writes |= isa<MemoryEffects::Write>(instance.getEffect());
    }
  });
  return effects;
}

std::string FunctionPrinter::declare(Value value) {
  std::string type = typeName(value.getType());
  if (type.empty()) {
    fail(value.getDefiningOp() ? *value.getDefiningOp()
                               : *value.getParentBlock()->getParentOp());
    return "";
  }
  std::string variable = fresh();
  names[value] = variable;
  return type + " " + variable;
}

void FunctionPrinter::define(Value value, const Twine &text) {
  std::string variable = declare(value);
  if (!variable.empty())
    line() << "const " << variable << " = " << text << ";\n";
}

/// Whether an op, or what is in it, has to do with vectors.
static bool hasVectors(Operation &op) {
  auto found = op.walk([](Operation *inside) {
    bool has = llvm::any_of(inside->getOperandTypes(), isVector) ||
               llvm::any_of(inside->getResultTypes(), isVector);
    return has ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

template <typename OpT> static bool contains(Operation &op) {
  return op.walk([](OpT) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// A branch or a loop that deals out what is in it: its condition, or its
/// bounds, are everybody's.
static bool dealsInside(Operation &op) {
  return op.getNumResults() == 0 && isa<scf::IfOp, scf::ForOp>(op) &&
         (contains<scf::ParallelOp>(op) || contains<func::CallOp>(op));
}

/// What only the first thread computes must not be needed by others.
static bool canBeDealt(Block &block) {
  return llvm::all_of(block, [](Operation &op) {
    if (dealsInside(op))
      return llvm::all_of(op.getRegions(), [](Region &region) {
        return region.empty() || canBeDealt(region.front());
      });
    return !effectsOf(op).writes || op.use_empty();
  });
}

/// Of each memref what a call passes: the pointer twice, 0, sizes, strides.
/// Scratch comes as floats, and is bytes.
void FunctionPrinter::printArguments() {
  os << "static __device__ void " << name << "(";
  std::string views;
  auto arguments = function.getArguments();
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    auto type = cast<MemRefType>(argument.getType());
    const bool isScratch =
        i + 1 == arguments.size() && function->hasAttr(plan::kScratchAttribute);
    std::string element = isScratch ? "float" : typeName(type.getElementType());
    bool written = i + 1 == arguments.size();
    std::string pointer = (written ? "" : "const ") + element + " *";
    std::string sizes, strides;
    os << (i ? ",\n    " : "\n    ") << pointer << ", " << pointer << "a" << i
       << ", int64_t";
    for (const char *what : {"size", "stride"})
      for (int64_t d = 0; d < type.getRank(); ++d) {
        std::string parameter = formatv("a{0}_{1}{2}", i, what, d);
        os << ", int64_t " << parameter;
        (what == StringRef("size") ? sizes : strides) += parameter + ", ";
      }
    std::string view = fresh();
    names[argument] = view;
    std::string base = formatv(isScratch ? "reinterpret_cast<int8_t *>(a{1})"
                                         : "const_cast<{0} *>(a{1})",
                               element, i);
    views += formatv("  const {0} {1} = {{{2}, 0, {{{3}1}, {{{4}1}};\n",
                     typeName(type), view, base, sizes, strides);
  }
  os << ") {\n" << views;
}

void FunctionPrinter::print() {
  Block &block = function.getBody().front();
  printArguments();
  if (canBeDealt(block)) {
    printDealt(block);
  } else {
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      ops.push_back(&op);
    printByFirst(ops);
  }
  os << "}\n";
}

/// By the first thread alone.
void FunctionPrinter::printByFirst(llvm::ArrayRef<Operation *> ops) {
  line() << "if (threadIdx.x == 0) {\n";
  indent += 2;
  threads = Threads::first;
  for (Operation *op : ops)
    printOp(*op);
  threads = Threads::all;
  indent -= 2;
  line() << "}\n";
}

/// By all threads. A barrier is in front of the body and behind it.
void FunctionPrinter::printDealt(Block &block) {
  bool hasRead = false, hasWritten = false;
  for (Operation &op : block) {
    Effects effects = effectsOf(op);
    if ((hasWritten && (effects.reads || effects.writes)) ||
        (hasRead && effects.writes)) {
      line() << "__syncthreads();\n";
      hasRead = hasWritten = false;
    }
    hasRead |= effects.reads;
    hasWritten |= effects.writes;
    if (auto loop = dyn_cast<scf::ParallelOp>(op))
      printParallel(loop, /*dealt=*/true);
    else if (auto call = dyn_cast<func::CallOp>(op))
      printCall(call);
    else if (isa<scf::IfOp>(op) && dealsInside(op))
      printDealtIf(cast<scf::IfOp>(op));
    else if (dealsInside(op))
      printDealtFor(cast<scf::ForOp>(op));
    else if (effects.writes)
      printByFirst({&op});
    else
      printOp(op);
  }
}

void FunctionPrinter::printDealtIf(scf::IfOp branch) {
  line() << "if (" << (*this)[branch.getCondition()] << ") {\n";
  indent += 2;
  printDealt(*branch.thenBlock());
  indent -= 2;
  if (Block *otherwise = branch.elseBlock()) {
    line() << "} else {\n";
    indent += 2;
    printDealt(*otherwise);
    indent -= 2;
  }
  line() << "}\n";
}

/// Each time between barriers.
void FunctionPrinter::printDealtFor(scf::ForOp loop) {
  printForHead(loop);
  indent += 2;
  line() << "__syncthreads();\n";
  printDealt(*loop.getBody());
  indent -= 2;
  line() << "}\n";
}

/// A function of the task library's, which all threads call.
void FunctionPrinter::printCall(func::CallOp call) {
  SmallVector<std::string> operands;
  for (Value operand : call.getOperands()) {
    if (plan::isNull(operand))
      operands.push_back("nullptr");
    else if (isa<MemRefType>(operand.getType()))
      operands.push_back((*this)[operand] + ".base + " + (*this)[operand] +
                         ".offset");
    else
      operands.push_back((*this)[operand]);
  }
  line() << call.getCallee() << "(" << list(operands) << ");\n";
}

void FunctionPrinter::printBlock(Block &block) {
  indent += 2;
  for (Operation &op : block)
    printOp(op);
  indent -= 2;
}

/// Assigns to the results of the op that the block belongs to.
void FunctionPrinter::printYield(ValueRange results, Block &block) {
  indent += 2;
  for (auto [result, value] :
       llvm::zip(results, block.getTerminator()->getOperands()))
    line() << (*this)[result] << " = " << (*this)[value] << ";\n";
  indent -= 2;
}

void FunctionPrinter::printFor(scf::ForOp loop) {
  for (auto [result, first] :
       llvm::zip(loop.getResults(), loop.getInitArgs())) {
    std::string variable = declare(result);
    line() << variable << " = " << (*this)[first] << ";\n";
  }
  printForHead(loop);
  indent += 2;
  for (auto [argument, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
    define(argument, (*this)[result]);
  indent -= 2;
  printBlock(*loop.getBody());
  printYield(loop.getResults(), *loop.getBody());
  line() << "}\n";
}

void FunctionPrinter::printForHead(scf::ForOp loop) {
  Value counter = loop.getInductionVar();
  std::string variable = declare(counter), at = (*this)[counter];
  line() << "for (" << variable << " = " << (*this)[loop.getLowerBound()]
         << "; " << at << " < " << (*this)[loop.getUpperBound()] << "; " << at
         << " += " << (*this)[loop.getStep()] << ") {\n";
}

void FunctionPrinter::printIf(scf::IfOp branch) {
  for (Value result : branch.getResults())
    line() << declare(result) << ";\n";
  line() << "if (" << (*this)[branch.getCondition()] << ") {\n";
  printBlock(*branch.thenBlock());
  printYield(branch.getResults(), *branch.thenBlock());
  if (Block *otherwise = branch.elseBlock()) {
    line() << "} else {\n";
    printBlock(*otherwise);
    printYield(branch.getResults(), *otherwise);
  }
  line() << "}\n";
}

/// Point by point, the last dimension moving fastest; dealt out, a thread has
/// every blockDim.x-th, or sixteen threads every blockDim.x / 16th.
void FunctionPrinter::printParallel(scf::ParallelOp loop, bool dealt) {
  if (loop.getNumResults())
    return fail(*loop);
  bool vectors = dealt && hasVectors(*loop);
  StringRef first = vectors ? "threadIdx.x / 16" : dealt ? "threadIdx.x" : "0";
  StringRef stride = vectors ? "blockDim.x / 16" : dealt ? "blockDim.x" : "1";
  line() << "{\n";
  indent += 2;
  std::string points = "1";
  SmallVector<std::string> extents, own;
  for (auto [low, high, step] :
       llvm::zip(loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
    extents.push_back(fresh());
    line() << formatv("const int64_t {0} = {1} < {2} ? ({2} - {1} + {3} - 1) / "
                      "{3} : 0;\n",
                      extents.back(), (*this)[low], (*this)[high],
                      (*this)[step]);
    points = points == "1" ? extents.back() : points + " * " + extents.back();
  }
  std::string point = fresh(), rest = point;
  if (extents.size() == 2) {
    line() << formatv("for (baton::cuda::Points {0}({1}, {2}, {3}, {4}); "
                      "{0}.row < {3}; {0}.advance()) {{\n",
                      point, first, stride, extents[0], extents[1]);
    own = {point + ".row", point + ".column"};
  } else {
    line() << formatv("for (int64_t {0} = {1}; {0} < {2}; {0} += {3}) {{\n",
                      point, first, points, stride);
    own.resize(extents.size());
    for (size_t d = extents.size(); d-- > 0;) {
      own[d] = d ? "(" + rest + ") % " + extents[d] : rest;
      rest = "(" + rest + ") / " + extents[d];
    }
  }
  indent += 2;
  for (size_t d = 0; d < extents.size(); ++d)
    define(loop.getInductionVars()[d],
           formatv("{0} + ({1}) * {2}", (*this)[loop.getLowerBound()[d]],
                   own[d], (*this)[loop.getStep()[d]])
               .str());
  indent -= 2;
  Threads outer = threads;
  if (dealt)
    threads = vectors ? Threads::vectorPoints : Threads::points;
  printBlock(*loop.getBody());
  threads = outer;
  line() << "}\n";
  indent -= 2;
  line() << "}\n";
}

/// Bytes as rows of elements, behind one another.
void FunctionPrinter::printView(memref::ViewOp part) {
  MemRefType type = part.getType();
  std::string element = typeName(type.getElementType());
  if (element.empty())
    return fail(*part);
  std::string bytes = (*this)[part.getSource()];
  unsigned next = 0;
  SmallVector<std::string> sizes, strides(type.getRank() + 1, "1");
  for (int64_t size : type.getShape())
    sizes.push_back(ShapedType::isDynamic(size)
                        ? (*this)[part.getSizes()[next++]]
                        : std::to_string(size));
  sizes.push_back("1");
  for (int64_t d = type.getRank() - 1; d-- > 0;)
    strides[d] =
        sizes[d + 1] + (strides[d + 1] == "1" ? "" : " * " + strides[d + 1]);
  return define(
      part, formatv("{0}{{reinterpret_cast<{1} *>({2}.base + {3}), 0, "
                    "{{{4}}, {{{5}}}",
                    typeName(type), element, bytes,
                    (*this)[part.getByteShift()], list(sizes), list(strides))
                .str());
}

void FunctionPrinter::printMemory(Operation &op) {
  auto spelled = [&](ArrayRef<OpFoldResult> values) {
    SmallVector<std::string> items;
    for (OpFoldResult value : values)
      items.push_back(
          isa<Attribute>(value)
              ? std::to_string(
                    cast<IntegerAttr>(cast<Attribute>(value)).getInt())
              : (*this)[cast<Value>(value)]);
    // Arrays are one longer than the rank.
    items.push_back("1");
    return list(items);
  };
  auto element = [&](Value memref, ValueRange indices) {
    SmallVector<std::string> items;
    for (Value index : indices)
      items.push_back((*this)[index]);
    return (*this)[memref] + ".at(" + list(items) + ")";
  };
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return define(load, element(load.getMemRef(), load.getIndices()));
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    // Sixteen threads would store what is one's to store.
    if (threads == Threads::vectorPoints)
      return fail(op);
    line() << element(store.getMemRef(), store.getIndices()) << " = "
           << (*this)[store.getValue()] << ";\n";
    return;
  }
  if (auto dim = dyn_cast<memref::DimOp>(op))
    return define(dim, (*this)[dim.getSource()] + ".sizes[" +
                           (*this)[dim.getIndex()] + "]");
  if (auto cast = dyn_cast<memref::CastOp>(op);
      cast && isa<MemRefType>(cast.getSource().getType()))
    return define(cast, (*this)[cast.getSource()]);
  if (auto part = dyn_cast<memref::ReinterpretCastOp>(op);
      part && isa<MemRefType>(part.getSource().getType()))
    return define(
        part,
        formatv("{0}{{{1}.base, {2}, {{{3}}, {{{4}}}", typeName(part.getType()),
                (*this)[part.getSource()],
                StringRef(spelled(part.getMixedOffsets())).rsplit(", ").first,
                spelled(part.getMixedSizes()), spelled(part.getMixedStrides()))
            .str());
  if (auto part = dyn_cast<memref::ViewOp>(op))
    return printView(part);
  if (auto whole = dyn_cast<memref::ExtractStridedMetadataOp>(op)) {
    std::string view = (*this)[whole.getSource()];
    define(whole.getBaseBuffer(),
           formatv("{0}{{{1}.base, 0, {{1}, {{1}}",
                   typeName(whole.getBaseBuffer().getType()), view)
               .str());
    define(whole.getOffset(), view + ".offset");
    for (auto [d, size] : llvm::enumerate(whole.getSizes()))
      define(size, view + ".sizes[" + Twine(d) + "]");
    for (auto [d, stride] : llvm::enumerate(whole.getStrides()))
      define(stride, view + ".strides[" + Twine(d) + "]");
    return;
  }
  if (auto memory = dyn_cast<memref::AllocaOp>(op)) {
    MemRefType type = memory.getType();
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!type.hasStaticShape() ||
        failed(getStridesAndOffset(type, strides, offset)) || offset != 0 ||
        !type.getLayout().isIdentity() ||
        typeName(type.getElementType()).empty())
      return fail(op);
    std::string storage = fresh();
    line() << formatv("{0} {1}[{2}];\n", typeName(type.getElementType()),
                      storage, std::max<int64_t>(1, type.getNumElements()));
    auto numbers = [](ArrayRef<int64_t> values) {
      SmallVector<std::string> items;
      for (int64_t value : values)
        items.push_back(std::to_string(value));
      items.push_back("1");
      return list(items);
    };
    return define(memory,
                  formatv("{0}{{{1}, 0, {{{2}}, {{{3}}}", typeName(type),
                          storage, numbers(type.getShape()), numbers(strides))
                      .str());
  }
  fail(op);
}

/// A thread has the element of its place among sixteen.
void FunctionPrinter::printVector(Operation &op) {
  auto element = [&](Value memref, ValueRange indices) {
    SmallVector<std::string> items;
    for (Value index : indices)
      items.push_back((*this)[index]);
    items.back() += " + threadIdx.x % 16";
    return (*this)[memref] + ".at(" + list(items) + ")";
  };
  auto isOwn = [&](VectorType type) { return !typeName(type).empty(); };
  if (auto spread = dyn_cast<vector::BroadcastOp>(op);
      spread && !isVector(spread.getSourceType()))
    return define(spread, (*this)[spread.getSource()]);
  if (auto mask = dyn_cast<vector::CreateMaskOp>(op);
      mask && isOwn(mask.getVectorType()))
    return define(mask,
                  "threadIdx.x % 16 < " + (*this)[mask.getOperands().front()]);
  if (auto load = dyn_cast<vector::LoadOp>(op))
    return define(load, element(load.getBase(), load.getIndices()));
  if (auto load = dyn_cast<vector::MaskedLoadOp>(op))
    return define(load, (*this)[load.getMask()] + " ? " +
                            element(load.getBase(), load.getIndices()) + " : " +
                            (*this)[load.getPassThru()]);
  // Behind a mask, what is none of the thread's own is not touched.
  if (auto store = dyn_cast<vector::StoreOp>(op);
      store && isOwn(store.getVectorType())) {
    line() << element(store.getBase(), store.getIndices()) << " = "
           << (*this)[store.getValueToStore()] << ";\n";
    return;
  }
  if (auto store = dyn_cast<vector::MaskedStoreOp>(op);
      store && isOwn(store.getVectorType())) {
    line() << "if (" << (*this)[store.getMask()] << ")\n";
    line() << "  " << element(store.getBase(), store.getIndices()) << " = "
           << (*this)[store.getValueToStore()] << ";\n";
    return;
  }
  // In ascending order, as on the CPU; sixteens meet by themselves.
  if (auto reduction = dyn_cast<vector::ReductionOp>(op);
      reduction && threads != Threads::first && !reduction.getAcc() &&
      reduction.getKind() == vector::CombiningKind::ADD &&
      reduction.getDest().getType().isF32() &&
      isOwn(reduction.getSourceVectorType()))
    return define(reduction, "baton::cuda::sum_of_elements(" +
                                 (*this)[reduction.getVector()] + ")");
  if (auto reduction = dyn_cast<vector::ReductionOp>(op);
      reduction && threads != Threads::first && !reduction.getAcc() &&
      reduction.getKind() == vector::CombiningKind::MAXNUMF &&
      reduction.getDest().getType().isF32() &&
      isOwn(reduction.getSourceVectorType()))
    return define(reduction, "baton::cuda::largest_of_elements(" +
                                 (*this)[reduction.getVector()] + ")");
  fail(op);
}

void FunctionPrinter::printOp(Operation &op) {
  if (unknown)
    return;
  // Null pointers are spelled where they are passed.
  if (op.getNumResults() == 1 && plan::isNull(op.getResult(0)))
    return;
  // Vectors take sixteen threads.
  bool alone = threads == Threads::first || threads == Threads::points;
  if (alone && op.getNumRegions() == 0 && hasVectors(op))
    return fail(op);
  if (op.hasTrait<OpTrait::IsTerminator>()) {
    // A loop of scf.parallel ends so too; what it reduces is refused.
    if (!isa<scf::YieldOp, scf::ReduceOp, func::ReturnOp>(op))
      fail(op);
    return;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return printFor(loop);
  if (auto loop = dyn_cast<scf::ParallelOp>(op))
    return printParallel(loop, /*dealt=*/false);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return printIf(branch);
  if (op.getName().getDialectNamespace() == "memref")
    return printMemory(op);
  if (op.getName().getDialectNamespace() == "vector")
    return printVector(op);
  std::optional<std::string> text =
      op.getNumResults() == 1 && !typeName(op.getResult(0).getType()).empty()
          ? expressionOf(op, [this](Value value) { return (*this)[value]; })
          : std::nullopt;
  if (!text)
    return fail(op);
  define(op.getResult(0), *text);
}

Error FunctionPrinter::takeError(StringRef body) const {
  if (!unknown)
    return Error::success();
  std::string location;
  llvm::raw_string_ostream stream(location);
  stream << unknown->getLoc();
  if (auto call = dyn_cast<func::CallOp>(unknown)) {
    StringRef callee = call.getCallee();
    callee.consume_front("baton_task_");
    return createStringError(
        "body @" + body + ": the call of the task library's '" + callee +
        "' at " + location +
        " is for all threads of a block, and one thread runs the body, which "
        "has an op that writes and has results; let it have no results, or "
        "use --target=cpu");
  }
  return createStringError("body @" + body + ": '" +
                           unknown->getName().getStringRef() + "' at " +
                           location +
                           " has no CUDA C++; give the body other ops, or use "
                           "--target=cpu");
}

Expected<cuda::PrintedBodies> cuda::printBodies(ModuleOp source) {
  PrintedBodies printed;
  auto made = plan::makeBodyFunctions(source);
  if (!made)
    return made.takeError();
  OwningOpRef<ModuleOp> &module = *made;
  if (!module)
    return printed;
  if (Error error = plan::compileBodies(source, [&] {
        PassManager manager(source.getContext());
        addBodyLowering(manager);
        return manager.run(*module);
      }))
    return std::move(error);
  llvm::raw_string_ostream os(printed.text);
  os << "#include \"codegen/cuda/library/body.h\"\n";
  // Declarations stand behind the bodies' functions.
  auto isDeclaration = [](func::FuncOp function) {
    return function.isDeclaration();
  };
  if (llvm::any_of(module->getOps<func::FuncOp>(), isDeclaration))
    os << "#include \"codegen/cuda/library/library.h\"\n";
  auto bodies = source.getOps<event::BodyOp>();
  for (auto [body, function] :
       llvm::zip(bodies, module->getOps<func::FuncOp>())) {
    std::string name = "baton_body_" + std::to_string(printed.functions.size());
    printed.functions[body.getSymName()] = name;
    os << "\n";
    FunctionPrinter printer(function, name, os);
    printer.print();
    if (Error error = printer.takeError(body.getSymName()))
      return std::move(error);
  }
  return printed;
}
