//===- TunedBodies.cpp - calls that CUDA has faster bodies for ------------===//

#include "codegen/cuda/TunedBodies.h"

#include "codegen/cuda/library/attention_shape.h"
#include "codegen/cuda/library/matrix_shape.h"
#include "codegen/cuda/library/product_matrix_shape.h"
#include "codegen/cuda/library/product_shape.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace baton;
using namespace baton::event;
using baton::cuda::kPanels;
using baton::cuda::rowsOf;

unsigned cuda::sidesOf(CallOp call) {
  return call.getCallee() == "gated_linear_bf16" ? 2 : 1;
}
/// Both end in rows, k, columns, activation.
mlir::Attribute cuda::depthOf(CallOp call) {
  return call.getOperands_().getValue().drop_back(2).back();
}
mlir::Attribute cuda::columnsOf(CallOp call) {
  return call.getOperands_().getValue().drop_back(1).back();
}
mlir::Attribute cuda::rowsOf(CallOp call) {
  return call.getOperands_().getValue().drop_back(3).back();
}

/// Whether `expression` is at most 1 in a step of one row: rows or outputs,
/// less multiples of coordinates.
static bool isRestOfRows(mlir::AffineExpr expression) {
  if (auto sum = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(expression);
      sum && sum.getKind() == mlir::AffineExprKind::Add) {
    auto isTaken = [](mlir::AffineExpr term) {
      auto product = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(term);
      if (!product || product.getKind() != mlir::AffineExprKind::Mul)
        return false;
      auto factor = mlir::dyn_cast<mlir::AffineConstantExpr>(product.getRHS());
      return mlir::isa<mlir::AffineDimExpr>(product.getLHS()) && factor &&
             factor.getValue() <= 0;
    };
    return (isTaken(sum.getLHS()) && isRestOfRows(sum.getRHS())) ||
           (isTaken(sum.getRHS()) && isRestOfRows(sum.getLHS()));
  }
  auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expression);
  return symbol && symbol.getPosition() != kPast;
}

static bool hasOneRow(CallOp call) {
  if (auto one = mlir::dyn_cast<mlir::IntegerAttr>(rowsOf(call)))
    return one.getValue().isOne();
  auto rows = mlir::dyn_cast<CountAttr>(rowsOf(call));
  return rows && any_of(rows.getMap().getResults(), isRestOfRows);
}

static bool isLinearOfPanels(CallOp call) {
  return (call.getCallee() == "linear_bf16" ||
          call.getCallee() == "gated_linear_bf16") &&
         mlir::isa<WeightAttr>(call.getOperands_()[kPanels]);
}

bool cuda::canStream(CallOp call) {
  return isLinearOfPanels(call) && !call.getInvariant() && hasOneRow(call);
}

static std::optional<cuda::MatrixBody>
matrixLinear(CallOp call, const cuda::SourceOptions &options) {
  BatonMatrixShape shape{int(options.threads), int(options.matrixRows),
                         int(options.matrixColumns), int(options.architecture)};
  if (!shape.is_valid() || shape.shared_bytes() > options.sharedLimit)
    return std::nullopt;
  return cuda::MatrixBody{
      formatv("baton_matrix_{0}<{1}, {2}, {3}>", call.getCallee(),
              options.threads, options.matrixRows, options.matrixColumns),
      shape.shared_bytes(),
      formatv("baton_matrix_multiply<{0}, {1}, {2}>", options.threads,
              options.matrixRows, options.matrixColumns),
      "BatonMatrixLinear", ("baton_hand_" + call.getCallee()).str()};
}

static std::optional<cuda::MatrixBody>
matrixAttention(CallOp call, const cuda::SourceOptions &options) {
  // Where the library's function has them; in panels, strides are 0.
  constexpr unsigned kKeyStride = 5, kValueStride = 7;
  constexpr unsigned kHeadDim = 11, kValueDim = 12;
  auto integer = [&](unsigned index) {
    return mlir::dyn_cast<mlir::IntegerAttr>(call.getOperands_()[index]);
  };
  mlir::IntegerAttr head = integer(kHeadDim), value = integer(kValueDim);
  if (!head || !value || !integer(kKeyStride) || !integer(kValueStride) ||
      !isPowerOf2_64(options.threads))
    return std::nullopt;
  int64_t bytes = baton_matrix_attention_shared_bytes(
      options.threads, head.getInt(), value.getInt());
  if (bytes == 0 || bytes > options.sharedLimit)
    return std::nullopt;
  return cuda::MatrixBody{formatv("baton_matrix_attention<{0}, {1}, {2}>",
                                  options.threads, head.getInt(),
                                  value.getInt()),
                          bytes};
}

std::optional<cuda::MatrixBody> cuda::matrixBody(CallOp call,
                                                 const SourceOptions &options) {
  if (options.matrixRows == 0)
    return std::nullopt;
  if (isLinearOfPanels(call))
    return matrixLinear(call, options);
  if (call.getCallee() == "attention")
    return matrixAttention(call, options);
  return std::nullopt;
}

/// What a product rounds its sides to, as the library names it.
static const char *typeOf(StringRef callee) {
  return callee.ends_with("_bf16") ? "baton::cuda::BFloat16Operands"
                                   : "baton::cuda::Float16Operands";
}

/// Of a product whose sides are rounded to 16 bits.
static std::optional<cuda::MatrixBody>
matrixProduct(CallOp call, const cuda::SourceOptions &options) {
  BatonProductMatrixShape shape{
      int(options.threads), int(options.matrixRows),
      BatonProductMatrixShape::columns_of(int(options.matrixColumns),
                                          int(options.architecture)),
      int(options.architecture)};
  if (options.matrixRows == 0 || !shape.is_valid() ||
      shape.shared_bytes() > options.sharedLimit)
    return std::nullopt;
  return cuda::MatrixBody{
      formatv("baton_matrix_{0}<{1}, {2}, {3}>", call.getCallee(),
              shape.threads, shape.rows, shape.columns),
      shape.shared_bytes(),
      formatv("baton_matrix_multiply<{0}, {1}, {2}, {3}>",
              typeOf(call.getCallee()), shape.threads, shape.rows,
              shape.columns),
      "BatonMatrixProduct", ("baton_hand_" + call.getCallee()).str()};
}

std::optional<cuda::MatrixBody>
cuda::productBody(CallOp call, const SourceOptions &options) {
  StringRef name = call.getCallee();
  bool rounded = name.consume_back("_bf16") || name.consume_back("_f16");
  if (name != "product" && name != "product_gradient")
    return std::nullopt;
  if (rounded)
    if (std::optional<MatrixBody> body = matrixProduct(call, options))
      return body;
  BatonProductShape shape{int(options.threads)};
  if (!shape.is_valid() || shape.shared_bytes() > options.sharedLimit)
    return std::nullopt;
  return MatrixBody{
      formatv("baton_staged_{0}<{1}>", call.getCallee(), options.threads),
      shape.shared_bytes()};
}

//===----------------------------------------------------------------------===//
// Attention of training
//===----------------------------------------------------------------------===//

const char *cuda::operandTypeOf(ProgramOp program,
                                const SourceOptions &options) {
  if (options.matrixRows == 0)
    return nullptr;
  bool bfloat = false, half = false;
  for (PhaseOp phase : phasesOf(program))
    for (auto call : phase.getBody().getOps<CallOp>())
      if (call.getCallee().starts_with("product")) {
        bfloat |= call.getCallee().ends_with("_bf16");
        half |= call.getCallee().ends_with("_f16");
      }
  if (bfloat == half)
    return nullptr;
  return typeOf(bfloat ? "_bf16" : "_f16");
}

/// Whether an address and the stride behind it among a call's operands are
/// multiples of 16 bytes, for rows of F32.
static bool isAligned(CallOp call, unsigned index) {
  constexpr int64_t kFloats = 4;
  auto bufferOf = [&](mlir::FlatSymbolRefAttr symbol) {
    return mlir::SymbolTable::lookupNearestSymbolFrom<BufferOp>(call, symbol);
  };
  auto address = mlir::dyn_cast<AddressAttr>(call.getOperands_()[index]);
  auto stride = mlir::dyn_cast<StrideAttr>(call.getOperands_()[index + 1]);
  if (!address || !stride)
    return false;
  BufferOp buffer = bufferOf(address.getBuffer());
  if (buffer.getOffset() % kFloats ||
      (buffer.getLayers() > 1 && buffer.getLayerStride() % kFloats))
    return false;
  for (auto [position, length] :
       zip_equal(address.getIndex().getResults(), buffer.getStrides()))
    if ((position * length).getLargestKnownDivisor() % kFloats != 0)
      return false;
  int64_t elements = 0;
  for (auto [steps, length] :
       zip_equal(stride.getSteps(), bufferOf(stride.getBuffer()).getStrides()))
    elements += steps * length;
  return elements % kFloats == 0;
}

std::optional<cuda::MatrixBody>
cuda::sequenceAttention(CallOp call, const char *operandType,
                        const SourceOptions &options) {
  StringRef name = call.getCallee();
  bool ofQueries = name == "attention_query_gradient",
       ofKeys = name == "attention_key_value_gradient";
  if (!operandType || !(name == "sequence_attention" || ofQueries || ofKeys))
    return std::nullopt;
  // What bodies load by sixteen bytes, each with its stride: keys and values,
  // and of adjoints dout and queries before these.
  unsigned first = name == "sequence_attention" ? 6 : ofQueries ? 2 : 4;
  unsigned loaded = name == "sequence_attention" ? 2 : 4;
  for (unsigned i = 0; i < loaded; ++i)
    if (!isAligned(call, first + 2 * i))
      return std::nullopt;
  // All end in head_dim, value_dim, scale, softcap, window, scratch.
  mlir::ArrayAttr operands = call.getOperands_();
  auto dimension = [&](unsigned fromEnd) -> int64_t {
    auto size =
        mlir::dyn_cast<mlir::IntegerAttr>(operands[operands.size() - fromEnd]);
    return size ? size.getInt() : 0;
  };
  int64_t head = dimension(6), value = dimension(5);
  BatonAttentionGradientShape shape{int(options.threads), int(head), int(value),
                                    ofKeys};
  // Attention and its adjoints go together.
  int64_t bytes =
      !shape.is_valid() ? 0
      : name == "sequence_attention"
          ? baton_matrix_attention_shared_bytes(options.threads, head, value)
          : shape.shared_bytes();
  if (bytes == 0 || bytes > options.sharedLimit)
    return std::nullopt;
  return MatrixBody{formatv("baton_matrix_{0}<{1}, {2}, {3}, {4}>", name,
                            options.threads, head, value, operandType),
                    bytes};
}

bool cuda::hasMatrixLinears(ProgramOp program, const SourceOptions &options) {
  return any_of(phasesOf(program), [&](PhaseOp phase) {
    return any_of(phase.getBody().getOps<CallOp>(), [&](CallOp call) {
      return isLinearOfPanels(call) && matrixBody(call, options);
    });
  });
}
