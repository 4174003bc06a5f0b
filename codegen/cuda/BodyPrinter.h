//===- BodyPrinter.h - task bodies that users wrote, as CUDA C++ ----------===//
//
// A body becomes a function that all threads of a block call. Plain values and
// what is only read they compute alike; what writes is done by the first
// thread, in the order in which it stands, but for parallel loops at the top of
// the body or in a branch there: the parallel dimensions of structured ops
// (linalg) whose elements are provably written once each and read nowhere else,
// and scf.parallel, which promises that. These are dealt out. Barriers stand
// between what writes and what reads or writes next. Nothing depends on the
// number of threads. Functions of the task library, and loops and branches with
// calls of them, are for all threads, too; temporaries lie in the block's
// scratch.
//
// Of a vector, sixteen elements, each of as many neighbouring threads has one:
// what only loads and computes is every sixteen's alike, and points of loops
// with vectors are dealt to sixteens. Bodies of update rules
// (passes/updates/UpdateBody.h) are written so.
//
// The arithmetic is the CPU's, operation by operation: functions such as exp
// become the same polynomials, and nothing is fused. Indices are not checked.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_BODYPRINTER_H
#define BATON_CODEGEN_CUDA_BODYPRINTER_H

#include "dialects/Event/Event.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>

namespace baton::cuda {

struct PrintedBodies {
  /// The functions, behind what they include; empty without bodies.
  std::string text;
  /// Their names, by the bodies'. They take a call's operands as they come.
  llvm::StringMap<std::string> functions;
};

/// The bodies of `source`. Fails in one line that names the body, and the
/// op with its location for which there is no C++.
llvm::Expected<PrintedBodies> printBodies(mlir::ModuleOp source);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_BODYPRINTER_H
