//===- TunedBodies.h - calls that CUDA has faster bodies for --------------===//
//
// Beside the portable bodies of all operators, the CUDA task library has tuned
// ones of some, for some forms of weights and numbers of rows, and for products
// of training in 16 bits. They take shared memory, and most have bits of their
// own. Which calls of a plan they suit follows from its operands.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_TUNEDBODIES_H
#define BATON_CODEGEN_CUDA_TUNEDBODIES_H

#include "codegen/cuda/SourceOptions.h"
#include "dialects/Event/Event.h"

namespace baton::cuda {

/// What linear and gated_linear have in common, and those of bytes.
struct PanelsProduct {
  /// Null if the call is neither.
  static std::optional<PanelsProduct> of(event::CallOp call);

  /// The number of panels side by side that the call reads: gate and up are
  /// two.
  unsigned sides;
  mlir::Attribute out, outStride, x, xStride, panels, rows, depth, columns;
  /// Of products of bytes beside which others are not, the rows of these; else
  /// null.
  mlir::Attribute exact = {}, exactStride = {};
};

/// Whether, in steps of one row, the call's weights may flow through the ring
/// (codegen/cuda/library/stream.h, stream_blocks.h): linears of packed BF16
/// weights and of blocks whose tile is then one row.
bool canStream(event::CallOp call, const SourceOptions &options);
/// The same of a product whose rows are a segment that the step's own tables
/// say, row by row: in a step of one row each expert has one row or none.
bool canStreamSegments(event::CallOp call, const SourceOptions &options);
/// What such a call brings to the ring, as BatonBlockRingShape has it.
uint32_t streamFormats(event::CallOp call);

/// A body of codegen/cuda/library/matrix.h, matrix_blocks.h, matrix_integers.h,
/// attention_matrix.h, product.h or product_matrix.h that takes the block's
/// shared memory.
struct MatrixBody {
  /// "baton_matrix_attention<256, 64, 64>"
  std::string name;
  int64_t sharedBytes;
  /// Where phases of a persistent kernel hand their calls to the kernel: what
  /// the kernel calls, "baton_matrix_multiply<256, 128, 128>", the type of what
  /// that takes, "BatonMatrixLinear", and who makes one of a call's operands,
  /// "baton_hand_linear_bf16". Else empty.
  std::string kernelsOwn = {}, type = {}, hand = {};
};

/// The body on tensor cores for calls in steps of many rows, if there is one.
std::optional<MatrixBody> matrixBody(event::CallOp call,
                                     const SourceOptions &options);

/// The body on tensor cores for products of bytes in steps of many rows, which
/// has the portable one's bits; where some layers are not quantised another one
/// for those, which has not. None, if there are no such bodies.
mlir::SmallVector<MatrixBody, 2> integersBodies(event::CallOp call,
                                                const SourceOptions &options);

/// The bits of the formats that panels of several formats have.
uint32_t mixedFormats(event::ProgramOp program);

/// The body for products of training: on tensor cores if both sides are rounded
/// to 16 bits, else in F32 and with the portable one's bits.
std::optional<MatrixBody> productBody(event::CallOp call,
                                      const SourceOptions &options);

/// The type of 16 bits, as the library names it, that all products with weights
/// of a program that trains round their sides to; null if there is none, or
/// --batch-invariant asks for portable bits.
const char *operandTypeOf(event::ProgramOp program,
                          const SourceOptions &options);

/// The body on tensor cores for attention of sequences or an adjoint of it,
/// with operands of that type, if there is one.
std::optional<MatrixBody> sequenceAttention(event::CallOp call,
                                            const char *operandType,
                                            const SourceOptions &options);

/// Whether a program has linears that run on tensor cores; attention then does,
/// too.
bool hasMatrixLinears(event::ProgramOp program, const SourceOptions &options);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_TUNEDBODIES_H
