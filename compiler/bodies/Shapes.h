//===- Shapes.h - shapes that a task body may get
//--------------------------===//
//
// A body states boxes, which are cut to the extents of values; it does not
// state the extents. These are found so:
//
// - A dimension whose boxes move with the step has rows, outputs or past + rows
//   elements: the most of these that the boxes of all tasks hold.
// - Others are free, up to where the boxes end. Dimensions that the code walks
//   by one loop are one size, as far as the loop's bound is one dimension's
//   size; a half, a third of it or so, where the code divides by 2 or 3. What
//   is divided by a constant is a multiple of it.
//
// A few elements too few or too many in the code do not change what is found:
// that is what checks are for.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_BODIES_SHAPES_H
#define BATON_COMPILER_BODIES_SHAPES_H

#include "compiler/bodies/Body.h"

#include "llvm/Support/Error.h"

#include <random>

namespace baton::checks {

/// Numbers from a seed, the same with every C++ library.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  uint64_t bits() { return engine(); }
  int64_t below(int64_t count) { return int64_t(bits() % uint64_t(count)); }
  /// Between -1 and 1.
  double number() { return double(int64_t(bits())) * 0x1p-63; }

private:
  std::mt19937_64 engine;
};

/// A size that the user says: "x.1=8,16".
struct GivenSize {
  std::string argument;
  unsigned dimension;
  std::vector<int64_t> sizes;
};
llvm::Expected<GivenSize> parseGivenSize(llvm::StringRef text);

class Shapes {
public:
  /// Fails for a body whose code cannot be lowered to loops.
  static llvm::Expected<Shapes> of(const Body &body);

  /// What the code of another body, of the same values, says of their sizes;
  /// for each of its arguments the argument here that it is shaped like.
  llvm::Error learnFrom(const Body &other, llvm::ArrayRef<unsigned> like);

  /// Sizes of dimensions. That of the first dimension of a class is also that
  /// of all others of which nobody says another. Fails for an argument or a
  /// dimension that there is not.
  llvm::Error give(llvm::ArrayRef<GivenSize> sizes);

  /// The number-th shape; the first ones have what is most often forgotten:
  /// one row, borders of tiles, sizes of 1. Small ones have few elements.
  Shape draw(unsigned number, Random &random, bool small = false) const;

private:
  llvm::Error give(const GivenSize &given);
  enum class Kind { free, rows, outputs, positions };
  /// A dimension of an argument, as `numerator / denominator` of its class.
  struct Dimension {
    Kind kind = Kind::free;
    /// Tasks have different parts of it.
    bool isTiled = false;
    int64_t least = 1, most = 0, tile = 0;
    /// The code divides it by this.
    int64_t divisor = 1;
    unsigned parent = 0;
    int64_t numerator = 1, denominator = 1;
    /// What the user says of it; of the root, what follows for the class.
    std::vector<int64_t> given, givenOfAll;
  };
  struct Part {
    unsigned root;
    int64_t numerator, denominator;
  };

  void state(const Body &body);
  unsigned number(unsigned argument, unsigned dimension) const {
    return offsets[argument] + dimension;
  }
  Part find(unsigned dimension) const;
  /// States that one is numerator / denominator of the other.
  void tie(unsigned one, unsigned other, int64_t numerator,
           int64_t denominator);

  std::vector<std::string> names;
  std::vector<unsigned> offsets;
  std::vector<Dimension> dimensions;
};

} // namespace baton::checks

#endif // BATON_COMPILER_BODIES_SHAPES_H
