//===- Body.h - a task body, as what it states ----------------------------===//
//
// An event.body says in affine maps which tasks there are and which box of each
// value a task touches. Here these are numbers, for one step.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_BODIES_BODY_H
#define BATON_COMPILER_BODIES_BODY_H

#include "dialects/Event/Event.h"

#include <cstdint>
#include <string>
#include <vector>

namespace baton::checks {

using Index = llvm::SmallVector<int64_t, 4>;

/// "(1, 2)"
std::string text(llvm::ArrayRef<int64_t> index);

struct Step {
  int64_t rows = 1, past = 0, outputs = 1;
  Index symbols() const { return {rows, past, outputs}; }
};

/// What is between two corners, without the second one.
struct Box {
  Index low, high;
  bool contains(llvm::ArrayRef<int64_t> index) const;
  /// "[0..16, 0..5]"
  std::string text() const;
};

/// A step, and the extents of the value that each argument is a part of.
struct Shape {
  Step step;
  std::vector<Index> extents;
};

struct Argument {
  std::string name;
  mlir::MemRefType type;
  llvm::SmallVector<event::AccessAttr, 2> reads, writes;
  /// What the memref is: the first access's box.
  event::AccessAttr first;

  unsigned rank() const { return type.getRank(); }
  /// Neighbours in the last dimension lie side by side.
  bool isDense() const;
  unsigned elementBytes() const;
  /// Tasks need not write all of what they state to write.
  bool mayWrite() const;
};

class Body {
public:
  explicit Body(event::BodyOp op);

  mlir::Operation *op;
  std::string name;
  /// How many tasks there are along each coordinate.
  mlir::AffineMap grid;
  std::vector<Argument> arguments;

  /// Coordinates of all tasks.
  std::vector<Index> tasks(const Step &step) const;
  /// What a task states to touch, not cut to any extents.
  static Box uncut(event::AccessAttr access, llvm::ArrayRef<int64_t> task,
                   const Step &step);
  /// The same cut to the value's extents.
  static Box cut(event::AccessAttr access, llvm::ArrayRef<int64_t> task,
                 const Step &step, llvm::ArrayRef<int64_t> extents);
  /// "rows 17, past 0, outputs 1, @x 17 x 5, @y 17 x 5"
  std::string text(const Shape &shape) const;
};

} // namespace baton::checks

#endif // BATON_COMPILER_BODIES_BODY_H
