//===- Linears.h - what linears and gated linears have in common ----------===//

#ifndef BATON_PASSES_TILING_LINEARS_H
#define BATON_PASSES_TILING_LINEARS_H

#include "codegen/bodies/Formulas.h"
#include "dialects/Model/LayerFormats.h"
#include "passes/tiling/Norms.h"
#include "passes/tiling/Products.h"
#include "passes/tiling/Weights.h"

namespace baton::tasks {

/// Rows of a task: of a linear's input x itself, or x normalised into scratch.
struct LinearInput {
  mlir::Attribute pointer, stride;
  /// Of rows that were rounded, what they were before.
  mlir::Attribute exact = {}, exactStride = {};
};

/// What is wrong with x as a linear's input, if it is there at all: what each
/// reader computes is not.
template <typename OpT>
mlir::LogicalResult expectLinearInput(OpT op, const View &x) {
  return isRecomputed(op.getX()) ? mlir::success() : expectRows(op, "x", x);
}

/// What products with a weight round their inputs to, as bodies are called that
/// read such: whole numbers of 8 bits ("integer_"), or these only where layers
/// are quantised ("partly_integer_"), BF16 ("rounded_", or "amx_" where sums
/// are AMX's), or nothing (""), as a router's, lest rows go to other experts.
template <typename OpT>
llvm::StringRef inputRounding(OpT op, mlir::Value weight) {
  if (llvm::any_of(op->getUsers(), [](mlir::Operation *user) {
        return mlir::isa<model::RouteOp>(user);
      }))
    return "";
  mlir::Type element = model::typeOf(weight).getElementType();
  if (auto stored = mlir::dyn_cast<model::QuantizedType>(element))
    return !stored.getInputs()                ? ""
           : model::isQuantizedInPart(stored) ? "partly_integer_"
                                              : "integer_";
  auto program = op->template getParentOfType<model::ProgramOp>();
  if (!element.isBF16() || !program.getInputs() ||
      (program.getTraining() && !model::isFrozen(weight)))
    return "";
  return program.getAmx() ? "amx_" : "rounded_";
}

/// What gradients by such a weight, and logits of a training step, round: only
/// AMX's sums have bodies for these.
template <typename OpT>
llvm::StringRef gradientRounding(OpT op, mlir::Value weight) {
  const llvm::StringRef rounding = inputRounding(op, weight);
  return rounding == "amx_" ? rounding : "";
}

/// Whether such bodies also read the rows that were rounded.
inline bool readsExactRows(llvm::StringRef rounding) {
  return rounding == "partly_integer_";
}

/// Who rounds rows of `depth` inputs so, and how many F32s wide they become.
struct RoundedRows {
  llvm::StringRef body;
  int64_t width;

  RoundedRows(llvm::StringRef rounding, int64_t depth)
      : body(isWhole(rounding) ? "quantise_rows" : "round_rows"),
        width(isWhole(rounding) ? bodies::quantised_row(depth)
                                : ceilDiv(depth, 2)) {}

private:
  static bool isWhole(llvm::StringRef rounding) {
    return rounding.ends_with("integer_");
  }
};

/// Of a gate, whose up is stored alike: no body reads several formats of both.
inline mlir::LogicalResult expectOneFormat(mlir::Operation *op,
                                           mlir::Value gate) {
  auto stored = mlir::dyn_cast<model::QuantizedType>(
      model::typeOf(gate).getElementType());
  if (!stored || !stored.isMixed())
    return mlir::success();
  return op->emitOpError() << "cannot be tiled: gates and ups are stored as "
                           << stored.getFormats()
                           << ", and no body reads several formats of both; "
                              "multiply by each of them in an op of its own";
}

/// Reads a tile of rows of x, through the linear's norm if it has one, or
/// through the body that makes it. That is computed again by every worker: it
/// costs less than handing it on.
template <typename OpT>
mlir::FailureOr<LinearInput>
readRealInput(OpT op, PhaseBuilder &phase, const View &x, const RowTiles &tiles,
              const std::string &name, Tiler &tiler) {
  int64_t stride =
      ceilDiv(model::typeOf(op.getX()).getDimension(1), kPanel) * kPanel;
  LinearInput made{phase.scratch(0), phase.integer(stride)};
  if (isRecomputed(op.getX())) {
    phase.needsScratch(tiles.size * stride * sizeof(float));
    if (failed(
            callRecomputed(op.getX().template getDefiningOp<model::CustomOp>(),
                           phase, tiles, stride, tiler)))
      return mlir::failure();
    return made;
  }
  Box in = rowsOfTask(phase, x, tiles.size);
  phase.reads(x, in);
  if (op.getNorm() == model::Norm::identity)
    return LinearInput{phase.address(x, in), phase.stride(x, 0)};
  phase.needsScratch(tiles.size * stride * sizeof(float));
  Weight weight =
             vectorWeight(name + ".norm_weight", op.getNormWeight(), tiler),
         bias = vectorWeight(name + ".norm_bias", op.getNormBias(), tiler);
  llvm::APFloat epsilon = op.getEpsilon();
  callNorm(phase, op.getNorm(), x, in,
           {made.pointer, made.stride, tiles.count(phase), weight.all(phase),
            bias.all(phase), epsilon},
           /*invariant=*/true);
  return made;
}

/// The same, and rounded behind that in scratch where products with `weight`
/// want it; behind `taken` bytes that other calls of the task write there, too.
template <typename OpT>
mlir::FailureOr<LinearInput>
readLinearInput(OpT op, mlir::Value weight, PhaseBuilder &phase, const View &x,
                const RowTiles &tiles, const std::string &name, Tiler &tiler,
                int64_t taken = 0) {
  mlir::FailureOr<LinearInput> input =
      readRealInput(op, phase, x, tiles, name, tiler);
  const llvm::StringRef rounding = inputRounding(op, weight);
  if (failed(input) || rounding.empty())
    return input;
  constexpr int64_t kBytes = sizeof(float), kLine = 64;
  const int64_t depth = model::typeOf(op.getX()).getDimension(1);
  const int64_t begin =
      std::max(tiles.size * ceilDiv(depth, kPanel) * kPanel * kBytes,
               ceilDiv(taken, kLine) * kLine);
  const RoundedRows rows(rounding, depth);
  const int64_t stride = ceilDiv(rows.width, kPanel) * kPanel;
  phase.needsScratch(begin + tiles.size * stride * kBytes);
  LinearInput rounded{phase.scratch(begin), phase.integer(stride),
                      input->pointer, input->stride};
  phase.call(rows.body,
             {rounded.pointer, rounded.stride, input->pointer, input->stride,
              tiles.count(phase), phase.integer(depth)},
             /*invariant=*/true);
  return rounded;
}

/// Calls what adds to the tile of a linear that the same task has made, at
/// `out`.
using LinearAddition = llvm::function_ref<mlir::LogicalResult(
    PhaseBuilder &phase, const ProductTiles &tiles, LinearInput out)>;

/// Tiles a linear whose tiles are those of what `made` makes of them: itself,
/// or an op that only adds to them, by `add`.
mlir::LogicalResult tileLinear(model::LinearOp op, mlir::Operation *made,
                               LinearAddition add, Tiler &tiler);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_LINEARS_H
