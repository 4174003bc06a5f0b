//===- LibraryCalls.h - what task bodies may call of the library ----------===//
//
// A table of the functions that event.library_call names: operands, the names
// of their sizes, numbers. The verifier, the lowerings of both targets and
// `batonc check-body` read it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_DIALECTS_EVENT_LIBRARYCALLS_H
#define BATON_DIALECTS_EVENT_LIBRARYCALLS_H

#include "dialects/Event/Event.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace baton::event {

struct LibraryOperand {
  llvm::StringLiteral name;
  /// Names of its sizes; those of one name are one size.
  llvm::ArrayRef<llvm::StringLiteral> sizes;
  /// It may be of BF16 or F16, too.
  bool mayBeNarrow = false;
};

struct LibraryNumber {
  llvm::StringLiteral name;
  bool isInteger = false;
  /// Where the call may leave it out, which is 0.
  bool isOptional = false;
  bool mayBeNegative = false;
};

struct LibraryFunction {
  llvm::StringLiteral name;
  /// Inputs, of which the last may be left out, and the output.
  llvm::ArrayRef<LibraryOperand> inputs;
  LibraryOperand output;
  bool isLastOptional = false;
  /// The output may be the first input.
  bool isInPlace = false;
  bool takesScratch = false;
  llvm::ArrayRef<LibraryNumber> numbers = {};
};

llvm::ArrayRef<LibraryFunction> libraryFunctions();
/// Null for a name that there is not.
const LibraryFunction *findLibraryFunction(llvm::StringRef name);

/// Calls `visit` for each size of the call's operands, with the operand's name
/// and its own: the output's first.
void forEachSize(
    LibraryCallOp call,
    llvm::function_ref<void(llvm::StringRef operand, llvm::StringRef name,
                            mlir::Value memref, unsigned dimension)>
        visit);

/// On a body: numbers of the arguments that are panels of 16 rows of a stored
/// matrix, as the task library's own weights are packed, and not its rows.
/// Sizes and strides of such a memref are those of the rows. Only `linear`
/// reads it, as its weight.
constexpr llvm::StringLiteral kPanelsAttribute = "event.panels";

/// Whether a body's argument is read as the weight of `linear` and by nobody
/// else.
bool isWeightOfLinears(mlir::BlockArgument argument);

} // namespace baton::event

#endif // BATON_DIALECTS_EVENT_LIBRARYCALLS_H
