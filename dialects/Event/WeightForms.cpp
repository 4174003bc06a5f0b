//===- WeightForms.cpp - how parameters lie in memory --------------------===//
//
// A form a section: its size, where a tile of its outputs begins, and what the
// loader is told. How it is packed is in runtime/weights, under the same name.
//
//===----------------------------------------------------------------------===//

#include "dialects/Event/Event.h"

#include "runtime/weight_formats.h"

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

namespace {
/// "96 by 64", or "96 by 64 alternating".
struct MatrixText {
  int64_t outputs, inputs;
  bool alternating;

  ParseResult parse(AsmParser &parser) {
    if (parser.parseInteger(outputs) || parser.parseKeyword("by") ||
        parser.parseInteger(inputs))
      return failure();
    alternating = succeeded(parser.parseOptionalKeyword("alternating"));
    return success();
  }
  void print(AsmPrinter &printer) const {
    printer << outputs << " by " << inputs
            << (alternating ? " alternating" : "");
  }
};
} // namespace

Attribute PanelsAttr::parse(AsmParser &parser, Type) {
  MatrixText matrix;
  if (parser.parseLess() || matrix.parse(parser) || parser.parseGreater())
    return {};
  return get(parser.getContext(), matrix.outputs, matrix.inputs,
             matrix.alternating);
}

void PanelsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  MatrixText{getOutputs(), getInputs(), getAlternating()}.print(printer);
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

static std::string_view view(StringRef text) {
  return {text.data(), text.size()};
}

StringRef BlocksAttr::getKind() const { return "blocks"; }

StringRef BlocksAttr::getVariant() const {
  return baton::blocks::variant_of(view(getFormats()));
}

bool BlocksAttr::isPacked() const { return true; }

int64_t BlocksAttr::countOverhead() const {
  return baton::blocks::bytes_of_output(view(getFormats()), getInputs()) -
         getInputs();
}

std::optional<int64_t> BlocksAttr::countElements() const {
  int64_t weights = getAlternating() ? 2 : 1;
  return elementsOf(padded(getOutputs() / weights) * weights,
                    getInputs() + countOverhead());
}

AffineExpr BlocksAttr::getOffset(AffineExpr output) const {
  return output *
         ((getAlternating() ? 2 : 1) * (getInputs() + countOverhead()));
}

SmallVector<NamedAttribute> BlocksAttr::getEntries() const {
  Entries entries(getContext());
  return entries.add("k", getInputs())
      .add("n", getOutputs())
      .add("interleave", entries.builder.getBoolAttr(getAlternating()))
      .add("formats", entries.builder.getStringAttr(getFormats()))
      .take();
}

LogicalResult BlocksAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef formats, int64_t /*outputs*/,
                                 int64_t inputs, bool /*alternating*/) {
  std::string wrong = baton::blocks::check_formats(view(formats));
  if (!wrong.empty())
    return emitError() << wrong;
  const int64_t block = baton::blocks::block_inputs(view(formats));
  if (inputs < 1 || inputs % block)
    return emitError() << inputs << " inputs are no whole blocks of " << formats
                       << ", of " << block << " each";
  return success();
}

Attribute BlocksAttr::parse(AsmParser &parser, Type) {
  std::string formats;
  MatrixText matrix;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseString(&formats) ||
      parser.parseComma() || matrix.parse(parser) || parser.parseGreater())
    return {};
  if (failed(verify([&] { return parser.emitError(location); }, formats,
                    matrix.outputs, matrix.inputs, matrix.alternating)))
    return {};
  return get(parser.getContext(), formats, matrix.outputs, matrix.inputs,
             matrix.alternating);
}

void BlocksAttr::print(AsmPrinter &printer) const {
  printer << "<\"" << getFormats() << "\", ";
  MatrixText{getOutputs(), getInputs(), getAlternating()}.print(printer);
  printer << '>';
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
  DenseI64ArrayAttr blocks, inputs;
  FloatAttr plus;
  ShardAttr experts;
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
      (succeeded(parser.parseOptionalKeyword("experts")) &&
       parser.parseAttribute(experts)) ||
      (succeeded(parser.parseOptionalKeyword("inputs")) &&
       parser.parseAttribute(inputs)) ||
      parser.parseGreater())
    return {};
  auto isText = [](Attribute name) { return mlir::isa<StringAttr>(name); };
  if (names.empty() || !llvm::all_of(names, isText)) {
    parser.emitError(parser.getCurrentLocation())
        << "expected names of tensors";
    return {};
  }
  return get(parser.getContext(), names, shape, transposed, blocks, plus,
             shards, experts, inputs);
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
  if (getExperts())
    printer << " experts " << getExperts();
  if (getInputs())
    printer << " inputs " << getInputs();
  printer << '>';
}

std::optional<int64_t> ParameterOp::countElements() {
  auto form = getFormAttr();
  return form ? form.countElements() : std::nullopt;
}
