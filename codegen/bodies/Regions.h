//===- Regions.h - what a call touches, by its body's declaration ---------===//
//
// Behind each pointer a body touches a block: so many elements along so many
// dimensions, each with a stride. How many is known of one task, in the words
// of its phase: coordinates and the step's symbols.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_BODIES_REGIONS_H
#define BATON_CODEGEN_BODIES_REGIONS_H

#include "codegen/bodies/TaskCalls.h"

#include "mlir/IR/AffineExpr.h"

namespace baton::bodies {

/// The least of some affine expressions, or all that there is.
class Extent {
public:
  Extent(int64_t constant) : constant(constant) {}
  /// The value of an operand that is a number; anything of others.
  static Extent ofOperand(mlir::Attribute operand);
  static Extent rest();
  static Extent least(const Extent &left, const Extent &right);

  bool isRest() const { return !constant && expressions.empty(); }
  std::optional<int64_t> asConstant() const { return constant; }
  /// All that bounds it.
  llvm::SmallVector<mlir::AffineExpr, 2>
  bounds(mlir::MLIRContext *context) const;

  using Change =
      llvm::function_ref<mlir::AffineExpr(mlir::AffineExpr, mlir::AffineExpr)>;
  /// `change`, which ascends in both, of any two bounds.
  Extent with(const Extent &other, mlir::MLIRContext *context,
              Change change) const;

  /// What its expressions are made in; null of a constant.
  mlir::MLIRContext *getContext() const {
    return expressions.empty() ? nullptr : expressions.front().getContext();
  }

private:
  Extent() = default;

  std::optional<int64_t> constant;
  llvm::SmallVector<mlir::AffineExpr, 2> expressions;
};

struct Region {
  struct Dimension {
    Extent extent;
    /// The operand that says how far apart elements are. Without it: 1 in the
    /// last dimension, and in others as it follows from how a buffer lies.
    mlir::Attribute stride;
  };

  unsigned operand;
  /// The first index along the outermost dimension that is touched.
  Extent first;
  llvm::SmallVector<Dimension, 3> dimensions;
};

/// Nothing of what is no body of the library, and of operands whose form says
/// what is read of them.
llvm::SmallVector<Region> regionsOf(event::CallOp op);

/// What a body reads of one of its weights, in elements from the pointer on.
struct WeightExtent {
  unsigned operand;
  Extent elements;
};

/// Nothing of tables, from which rows pick their own.
llvm::SmallVector<WeightExtent> weightsOf(event::CallOp op);

} // namespace baton::bodies

#endif // BATON_CODEGEN_BODIES_REGIONS_H
