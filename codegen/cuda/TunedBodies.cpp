//===- TunedBodies.cpp - calls that CUDA has faster bodies for ------------===//

#include "codegen/cuda/TunedBodies.h"

#include "codegen/bodies/TaskCalls.h"
#include "codegen/cuda/library/attention_shape.h"
#include "codegen/cuda/library/matrix_blocks_shape.h"
#include "codegen/cuda/library/product_matrix_shape.h"
#include "codegen/cuda/library/product_shape.h"
#include "codegen/cuda/library/stream_blocks_shape.h"
#include "runtime/weight_formats.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace baton;
using namespace baton::event;
using namespace baton::bodies;

template <typename CallT>
static cuda::PanelsProduct panelsProduct(CallT call, unsigned sides) {
  return {sides,       call.out(),     call.outStride(),
          call.x(),    call.xStride(), call.panels(),
          call.rows(), call.k(),       call.columns()};
}

/// The tile of a product on tensor cores.
static BatonMatrixShape tileOf(const cuda::SourceOptions &options) {
  return {int(options.threads), int(options.matrixRows),
          int(options.matrixColumns), int(options.architecture)};
}

/// Formats as codegen/cuda/library/matrix_blocks_shape.h has them.
static uint32_t bitsOf(BlocksAttr form) {
  uint32_t formats = 0;
  const StringRef list = form.getFormats();
  for (const blocks::Format *format :
       blocks::listed_formats({list.data(), list.size()}))
    formats |= 1u << (format - blocks::formats);
  return formats;
}

std::optional<cuda::PanelsProduct> cuda::PanelsProduct::of(CallOp call) {
  if (auto linear = dynCall<LinearCall>(call))
    return panelsProduct(linear, 1);
  if (auto gated = dynCall<GatedLinearCall>(call))
    return panelsProduct(gated, 2);
  if (auto linear = dynCall<IntegerLinearCall>(call))
    return panelsProduct(linear, 1);
  if (auto gated = dynCall<IntegerGatedLinearCall>(call))
    return panelsProduct(gated, 2);
  if (auto linear = dynCall<PartlyIntegerLinearCall>(call)) {
    PanelsProduct product = panelsProduct(linear, 1);
    product.exact = linear.exact();
    product.exactStride = linear.exactStride();
    return product;
  }
  return std::nullopt;
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

static bool hasOneRow(mlir::Attribute rows) {
  if (auto one = mlir::dyn_cast<mlir::IntegerAttr>(rows))
    return one.getValue().isOne();
  auto count = mlir::dyn_cast<CountAttr>(rows);
  return count && any_of(count.getMap().getResults(), isRestOfRows);
}

/// A linear whose weights are packed, and for whose variant there are bodies so
/// tuned.
static std::optional<cuda::PanelsProduct> tunedLinear(CallOp call,
                                                      StringRef tuning) {
  std::optional<cuda::PanelsProduct> product = cuda::PanelsProduct::of(call);
  if (product && isTuned(call.getCallee(), "cuda", tuning) &&
      mlir::isa<WeightAttr>(product->panels))
    return product;
  return std::nullopt;
}

uint32_t cuda::mixedFormats(ProgramOp program) {
  uint32_t formats = 0;
  for (auto parameter : program.getBody().getOps<ParameterOp>())
    if (auto form =
            mlir::dyn_cast_if_present<BlocksAttr>(parameter.getFormAttr()))
      if (uint32_t listed = bitsOf(form); (listed & (listed - 1)) != 0)
        formats |= listed;
  return formats;
}

/// The formats of a linear's weights, as bits: none of what are no blocks.
static uint32_t formatsOf(CallOp call) {
  auto weight = mlir::cast<WeightAttr>(cuda::PanelsProduct::of(call)->panels);
  auto parameter = mlir::SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
      call, weight.getParameter());
  auto form = mlir::dyn_cast_if_present<BlocksAttr>(parameter.getFormAttr());
  return form ? bitsOf(form) : 0;
}

uint32_t cuda::streamFormats(CallOp call) {
  const uint32_t formats = formatsOf(call);
  return formats ? formats : 1u << blocks::bf16;
}

bool cuda::canStreamSegments(CallOp call, const SourceOptions &options) {
  return tunedLinear(call, "stream") && !call.getInvariant() &&
         options.holdsChunks(streamFormats(call));
}

bool cuda::canStream(CallOp call, const SourceOptions &options) {
  return canStreamSegments(call, options) &&
         hasOneRow(PanelsProduct::of(call)->rows);
}

bool cuda::SourceOptions::holdsChunks(uint32_t formats) const {
  return formats == 1u << blocks::bf16 ||
         BatonBlockRingShape{int(ringStages * threads * 16), int(threads),
                             formats}
                 .slots() >= 2;
}

/// One that a phase hands to the kernel's `function`.
static cuda::MatrixBody linearBody(CallOp call, const std::string &function,
                                   int64_t sharedBytes) {
  return {function, sharedBytes, function, "BatonMatrixLinear",
          ("baton_hand_" + call.getCallee()).str()};
}

/// Arguments of its template.
static std::string sizesOf(const BatonMatrixShape &tile) {
  return formatv("{0}, {1}, {2}", tile.threads, tile.rows, tile.columns);
}

// Which formats of a call's weights the bodies of matrix_blocks.h and
// matrix_integers.h multiply by; the latter skip what is not quantised.

static uint32_t decodedFormats(CallOp call) {
  if (tunedLinear(call, "matrix"))
    return formatsOf(call);
  if (dynCall<PartlyIntegerLinearCall>(call) && tunedLinear(call, "bytes"))
    return formatsOf(call) & ~0u << blocks::first_plain_format;
  return 0;
}
static uint32_t integerFormats(CallOp call) {
  return tunedLinear(call, "bytes") ? formatsOf(call) : 0;
}

/// One body for all formats of the program, as a kernel has little room for
/// several; if that is too large, one for the call's own formats. `formatsRead`
/// says which of a call's it multiplies by, `bytesOf` what formats take of
/// shared memory, `sizes` are the other arguments of its template.
static std::optional<cuda::MatrixBody>
blocksBody(CallOp call, uint32_t (*formatsRead)(CallOp),
           const std::string &function, const std::string &sizes,
           const cuda::SourceOptions &options,
           function_ref<int64_t(uint32_t)> bytesOf) {
  uint32_t all = 0;
  for (PhaseOp phase : phasesOf(call->getParentOfType<ProgramOp>()))
    for (auto other : phase.getBody().getOps<CallOp>())
      all |= formatsRead(other);
  for (uint32_t formats : {all, formatsRead(call)})
    if (int64_t bytes = bytesOf(formats); bytes <= options.sharedLimit)
      return linearBody(
          call, formatv("{0}<{1:x}u, {2}>", function, formats, sizes), bytes);
  return std::nullopt;
}

static bool isPartly(CallOp call) {
  return bool(dynCall<PartlyIntegerLinearCall>(call));
}

static std::optional<cuda::MatrixBody>
decodingBody(CallOp call, const cuda::SourceOptions &options) {
  BatonMatrixShape tile = tileOf(options);
  // In a kernel with the body for bytes, the one by warpgroups spilled
  // registers.
  if (any_of(phasesOf(call->getParentOfType<ProgramOp>()), [](PhaseOp phase) {
        return any_of(phase.getBody().getOps<CallOp>(), isPartly);
      }))
    tile.architecture = 80;
  if (!tile.is_valid())
    return std::nullopt;
  std::string sizes = sizesOf(tile);
  if (tile.architecture != options.architecture)
    sizes += ", " + std::to_string(tile.architecture);
  return blocksBody(
      call, decodedFormats, "baton_matrix_multiply_blocks", sizes, options,
      [&](uint32_t formats) {
        return BatonBlocksMatrixShape{tile, formats}.shared_bytes();
      });
}

static std::optional<cuda::MatrixBody>
matrixLinear(CallOp call, const cuda::SourceOptions &options) {
  if (formatsOf(call))
    return decodingBody(call, options);
  const BatonMatrixShape tile = tileOf(options);
  if (!tile.is_valid())
    return std::nullopt;
  if (tile.shared_bytes() > options.sharedLimit)
    return std::nullopt;
  return linearBody(call, "baton_matrix_multiply<" + sizesOf(tile) + ">",
                    tile.shared_bytes());
}

SmallVector<cuda::MatrixBody, 2>
cuda::integersBodies(CallOp call, const SourceOptions &options) {
  BatonMatrixShape tile = tileOf(options);
  tile.architecture = 80;
  if (!tunedLinear(call, "bytes") || !tile.is_valid())
    return {};
  std::optional<MatrixBody> integers = blocksBody(
      call, integerFormats, "baton_matrix_multiply_integers", sizesOf(tile),
      options, [&](uint32_t formats) {
        return BatonBlocksMatrixShape{tile, formats}.integer_shared_bytes();
      });
  if (!integers)
    return {};
  if (!dynCall<PartlyIntegerLinearCall>(call))
    return {*integers};
  // The portable body reads all panels.
  std::optional<MatrixBody> others =
      options.ownBits ? decodingBody(call, options) : std::nullopt;
  if (!others)
    return {};
  others->hand = "baton_hand_exact_columns";
  return {*integers, *others};
}

static std::optional<cuda::MatrixBody>
matrixAttention(AttentionCall call, const cuda::SourceOptions &options) {
  auto integer = [](mlir::Attribute operand) {
    return mlir::dyn_cast<mlir::IntegerAttr>(operand);
  };
  mlir::IntegerAttr head = integer(call.headDim()),
                    value = integer(call.valueDim());
  // In panels, strides are 0.
  if (!head || !value || !integer(call.keyStride()) ||
      !integer(call.valueStride()) || !isPowerOf2_64(options.threads))
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
  if (!options.ownBits)
    return std::nullopt;
  if (tunedLinear(call, "matrix"))
    return matrixLinear(call, options);
  if (auto attention = dynCall<AttentionCall>(call);
      attention && isTuned(call.getCallee(), "cuda", "matrix"))
    return matrixAttention(attention, options);
  return std::nullopt;
}

/// What a product rounds its sides to, as the library names it.
static const char *typeOf(StringRef format) {
  return format == "bf16" ? "baton::cuda::BFloat16Operands"
                          : "baton::cuda::Float16Operands";
}

static bool isTrainingProduct(CallOp call) {
  return dynCall<ProductCall>(call) || dynCall<ProductGradientCall>(call);
}

/// Of a product whose sides are rounded to 16 bits.
static std::optional<cuda::MatrixBody>
matrixProduct(CallOp call, const cuda::SourceOptions &options) {
  BatonProductMatrixShape shape{
      int(options.threads), int(options.matrixRows),
      BatonProductMatrixShape::columns_of(int(options.matrixColumns),
                                          int(options.architecture)),
      int(options.architecture)};
  if (!options.ownBits || !shape.is_valid() ||
      shape.shared_bytes() > options.sharedLimit)
    return std::nullopt;
  return cuda::MatrixBody{
      formatv("baton_matrix_{0}<{1}, {2}, {3}>", call.getCallee(),
              shape.threads, shape.rows, shape.columns),
      shape.shared_bytes(),
      formatv("baton_matrix_multiply<{0}, {1}, {2}, {3}>",
              typeOf(lookUp(call)->format), shape.threads, shape.rows,
              shape.columns),
      "BatonMatrixProduct", ("baton_hand_" + call.getCallee()).str()};
}

std::optional<cuda::MatrixBody>
cuda::productBody(CallOp call, const SourceOptions &options) {
  if (!isTrainingProduct(call) || !isTuned(call.getCallee(), "cuda", "staged"))
    return std::nullopt;
  if (isTuned(call.getCallee(), "cuda", "matrix"))
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
  if (!options.ownBits)
    return nullptr;
  bool bfloat = false, half = false;
  for (PhaseOp phase : phasesOf(program))
    for (auto call : phase.getBody().getOps<CallOp>())
      if (isTrainingProduct(call)) {
        bfloat |= lookUp(call)->format == "bf16";
        half |= lookUp(call)->format == "f16";
      }
  if (bfloat == half)
    return nullptr;
  return typeOf(bfloat ? "bf16" : "f16");
}

/// Whether an address and its rows' stride are multiples of 16 bytes, for rows
/// of F32.
static bool isAligned(CallOp call, mlir::Attribute pointer,
                      mlir::Attribute rowStride) {
  constexpr int64_t kFloats = 4;
  auto bufferOf = [&](mlir::FlatSymbolRefAttr symbol) {
    return mlir::SymbolTable::lookupNearestSymbolFrom<BufferOp>(call, symbol);
  };
  auto address = mlir::dyn_cast<AddressAttr>(pointer);
  auto stride = mlir::dyn_cast<StrideAttr>(rowStride);
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

namespace {
/// What attention of sequences and its adjoints have in common.
struct SequenceBody {
  CallOp call;
  mlir::Attribute headDim, valueDim;
  /// Whether all that the tuned body loads by sixteen bytes allows it.
  bool isAligned;
  bool isAdjoint, ofKeys;

  static std::optional<SequenceBody> of(CallOp call);
};
} // namespace

template <typename CallT>
static SequenceBody sequenceBody(CallT call, bool isAdjoint, bool ofKeys) {
  CallOp op = call.getOp();
  return {op,
          call.headDim(),
          call.valueDim(),
          isAligned(op, call.keys(), call.keyStride()) &&
              isAligned(op, call.values(), call.valueStride()),
          isAdjoint,
          ofKeys};
}

template <typename CallT>
static SequenceBody adjointBody(CallT call, bool ofKeys) {
  SequenceBody body = sequenceBody(call, /*isAdjoint=*/true, ofKeys);
  body.isAligned &= isAligned(body.call, call.dout(), call.doutStride()) &&
                    isAligned(body.call, call.q(), call.qStride());
  return body;
}

std::optional<SequenceBody> SequenceBody::of(CallOp call) {
  if (auto forward = dynCall<SequenceAttentionCall>(call))
    return sequenceBody(forward, /*isAdjoint=*/false, /*ofKeys=*/false);
  if (auto queries = dynCall<AttentionQueryGradientCall>(call))
    return adjointBody(queries, /*ofKeys=*/false);
  if (auto keys = dynCall<AttentionKeyValueGradientCall>(call))
    return adjointBody(keys, /*ofKeys=*/true);
  return std::nullopt;
}

std::optional<cuda::MatrixBody>
cuda::sequenceAttention(CallOp call, const char *operandType,
                        const SourceOptions &options) {
  std::optional<SequenceBody> body = SequenceBody::of(call);
  if (!operandType || !body || !body->isAligned ||
      !isTuned(call.getCallee(), "cuda", "matrix"))
    return std::nullopt;
  auto dimension = [](mlir::Attribute operand) -> int64_t {
    auto size = mlir::dyn_cast<mlir::IntegerAttr>(operand);
    return size ? size.getInt() : 0;
  };
  int64_t head = dimension(body->headDim), value = dimension(body->valueDim);
  BatonAttentionGradientShape shape{int(options.threads), int(head), int(value),
                                    body->ofKeys};
  // Attention and its adjoints go together.
  int64_t bytes = !shape.is_valid()
                      ? 0
                      : (body->isAdjoint ? shape.shared_bytes()
                                         : baton_matrix_attention_shared_bytes(
                                               options.threads, head, value));
  if (bytes == 0 || bytes > options.sharedLimit)
    return std::nullopt;
  return MatrixBody{formatv("baton_matrix_{0}<{1}, {2}, {3}, {4}>",
                            call.getCallee(), options.threads, head, value,
                            operandType),
                    bytes};
}

bool cuda::hasMatrixLinears(ProgramOp program, const SourceOptions &options) {
  return any_of(phasesOf(program), [&](PhaseOp phase) {
    return any_of(phase.getBody().getOps<CallOp>(), [&](CallOp call) {
      return tunedLinear(call, "matrix") && matrixBody(call, options);
    });
  });
}
