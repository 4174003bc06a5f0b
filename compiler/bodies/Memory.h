//===- Memory.h - values that a task body is run on
//------------------------===//
//
// A value lies in an area that has margins: space behind each row, and before
// and behind the value, so that an index outside of a box is an element of the
// area that is nobody's, or a neighbour's. Around the area no memory can be
// accessed: an index that leaves the area ends the process with a signal.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_BODIES_MEMORY_H
#define BATON_COMPILER_BODIES_MEMORY_H

#include "compiler/bodies/Body.h"
#include "compiler/bodies/Shapes.h"

#include <cstddef>

namespace baton::checks {

/// A number as an element of a type: f64, f32, f16 or bf16.
void store(char *element, mlir::Type type, double number);
double load(const char *element, mlir::Type type);
/// Some NaN.
void storeNan(char *element, mlir::Type type, Random &random);

class Memory {
public:
  /// Strides have space behind each row; the last one may be 2 where the body
  /// takes it and `spread` asks for it.
  Memory(const Argument &argument, llvm::ArrayRef<int64_t> extents, bool spread,
         Random &random);
  ~Memory();
  Memory(Memory &&other);
  Memory(const Memory &) = delete;

  /// Of the area, in the order of memory.
  size_t elements() const { return count; }
  char *element(size_t number) { return area + number * bytes; }
  size_t sizeInBytes() const { return count * bytes; }
  char *data() { return area; }
  /// The number in the area of an element of the value, which may be outside.
  int64_t numberOf(llvm::ArrayRef<int64_t> index) const;
  /// The value's index there, which is outside of the extents in a margin.
  Index indexOf(int64_t number) const;

  /// What a call passes of the box: the pointer twice, 0, sizes, strides.
  void append(const Box &box, std::vector<int64_t> &words);

  const Argument &argument;
  const Index extents;

  /// The memory that an address is next to, among all that live; null when it
  /// is far from all. In a handler of signals, too.
  static const Memory *at(const void *address);
  int64_t numberOf(const void *address) const;

private:
  char *reserved = nullptr, *area = nullptr;
  unsigned bytes;
  size_t count = 0;
  /// The element at the value's first index.
  int64_t origin = 0;
  Index strides;
};

} // namespace baton::checks

#endif // BATON_COMPILER_BODIES_MEMORY_H
