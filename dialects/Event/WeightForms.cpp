//===- WeightForms.cpp - how parameters lie in memory --------------------===//
//
// A form a section: its size, where a tile of its outputs begins, and what the
// loader is told. How it is packed is in runtime/weights, under the same name.
//
//===----------------------------------------------------------------------===//

#include "dialects/Event/Event.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace baton::event;

/// What bodies compute side by side.
static constexpr int64_t kLanes = 16;

/// Nothing where the product is no size of something in memory.
static std::optional<int64_t> elementsOf(int64_t outer, int64_t inner) {
  constexpr int64_t most = int64_t(1) << 48;
  int64_t total;
  if (outer < 1 || outer > most || inner < 1 ||
      __builtin_mul_overflow(outer, inner, &total) || total > most)
    return std::nullopt;
  return total;
}

static int64_t padded(int64_t outputs) {
  return llvm::alignTo(std::max<int64_t>(outputs, 0), kLanes);
}

namespace {
/// Collects entries by name.
class Entries {
public:
  explicit Entries(MLIRContext *context) : builder(context) {}

  Entries &add(StringRef name, int64_t value) {
    return add(name, builder.getI64IntegerAttr(value));
  }
  Entries &add(StringRef name, Attribute value) {
    entries.push_back(builder.getNamedAttr(name, value));
    return *this;
  }
  SmallVector<NamedAttribute> take() { return std::move(entries); }

  Builder builder;

private:
  SmallVector<NamedAttribute> entries;
};
} // namespace

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

StringRef PanelsAttr::getKind() const { return "panels"; }

std::optional<int64_t> PanelsAttr::countElements() const {
  int64_t weights = getAlternating() ? 2 : 1;
  return elementsOf(padded(getOutputs() / weights) * weights, getInputs());
}

bool PanelsAttr::isPacked() const { return true; }

/// Of two weights, `output` counts those of each.
AffineExpr PanelsAttr::getOffset(AffineExpr output) const {
  return output * (getAlternating() ? 2 * getInputs() : getInputs());
}

SmallVector<NamedAttribute> PanelsAttr::getEntries() const {
  Entries entries(getContext());
  return entries.add("k", getInputs())
      .add("n", getOutputs())
      .add("interleave", entries.builder.getBoolAttr(getAlternating()))
      .take();
}

Attribute PanelsAttr::parse(AsmParser &parser, Type) {
  int64_t outputs, inputs;
  if (parser.parseLess() || parser.parseInteger(outputs) ||
      parser.parseKeyword("by") || parser.parseInteger(inputs))
    return {};
  bool alternating = succeeded(parser.parseOptionalKeyword("alternating"));
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), outputs, inputs, alternating);
}

void PanelsAttr::print(AsmPrinter &printer) const {
  printer << '<' << getOutputs() << " by " << getInputs()
          << (getAlternating() ? " alternating" : "") << '>';
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

StringRef VectorAttr::getKind() const { return "vector"; }

std::optional<int64_t> VectorAttr::countElements() const {
  return elementsOf(padded(getSize()), 1);
}

AffineExpr VectorAttr::getOffset(AffineExpr output) const { return output; }

SmallVector<NamedAttribute> VectorAttr::getEntries() const {
  return Entries(getContext()).add("n", getSize()).take();
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

StringRef TableAttr::getKind() const { return "table"; }

std::optional<int64_t> TableAttr::countElements() const {
  return elementsOf(getRows(), getColumns());
}

AffineExpr TableAttr::getOffset(AffineExpr output) const {
  return output * getColumns();
}

SmallVector<NamedAttribute> TableAttr::getEntries() const {
  return Entries(getContext())
      .add("rows", getRows())
      .add("columns", getColumns())
      .take();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

StringRef ConstantAttr::getKind() const { return "constant"; }

std::optional<int64_t> ConstantAttr::countElements() const {
  return elementsOf(padded(getValues().size()), 1);
}

AffineExpr ConstantAttr::getOffset(AffineExpr output) const { return output; }

SmallVector<NamedAttribute> ConstantAttr::getEntries() const {
  return Entries(getContext())
      .add("n", getValues().size())
      .add("values", getValues())
      .take();
}

Attribute ConstantAttr::parse(AsmParser &parser, Type) {
  DenseF32ArrayAttr values;
  if (parser.parseLess() || parser.parseAttribute(values) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), values);
}

void ConstantAttr::print(AsmPrinter &printer) const {
  printer << '<' << Attribute(getValues()) << '>';
}

//===----------------------------------------------------------------------===//
// What they are made of
//===----------------------------------------------------------------------===//

StringRef SourceAttr::getName() const {
  return mlir::cast<StringAttr>(getNames()[0]).getValue();
}

Attribute SourceAttr::parse(AsmParser &parser, Type) {
  ArrayAttr names, shards;
  SmallVector<int64_t> shape;
  DenseI64ArrayAttr blocks;
  FloatAttr plus;
  if (parser.parseLess() || parser.parseAttribute(names) || parser.parseColon())
    return {};
  do {
    if (parser.parseInteger(shape.emplace_back()))
      return {};
  } while (succeeded(parser.parseOptionalKeyword("by")));
  bool transposed = succeeded(parser.parseOptionalKeyword("transposed"));
  if ((succeeded(parser.parseOptionalKeyword("blocks")) &&
       parser.parseAttribute(blocks)) ||
      (succeeded(parser.parseOptionalKeyword("plus")) &&
       parser.parseAttribute(plus)) ||
      (succeeded(parser.parseOptionalKeyword("shards")) &&
       parser.parseAttribute(shards)) ||
      parser.parseGreater())
    return {};
  auto isText = [](Attribute name) { return mlir::isa<StringAttr>(name); };
  if (names.empty() || !llvm::all_of(names, isText)) {
    parser.emitError(parser.getCurrentLocation())
        << "expected names of tensors";
    return {};
  }
  return get(parser.getContext(), names, shape, transposed, blocks, plus,
             shards);
}

void SourceAttr::print(AsmPrinter &printer) const {
  printer << '<' << getNames() << " : ";
  llvm::interleave(getShape(), printer.getStream(), " by ");
  if (getTransposed())
    printer << " transposed";
  if (getBlocks())
    printer << " blocks " << getBlocks();
  if (getPlus())
    printer << " plus " << getPlus();
  if (getShards())
    printer << " shards " << getShards();
  printer << '>';
}

std::optional<int64_t> ParameterOp::countElements() {
  auto form = getFormAttr();
  return form ? form.countElements() : std::nullopt;
}
