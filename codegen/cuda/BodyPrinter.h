//===- BodyPrinter.h - task bodies that users wrote, as CUDA C++ ----------===//
//
// A body becomes a function that all threads of a block call. Plain values and
// what is only read they compute alike; what writes is done by the first
// thread, in the order in which it stands, but for loops that are proved to be
// parallel: the parallel dimensions of structured ops (linalg) at the top of
// the body whose elements are written once each and read nowhere else. These
// are dealt out. Barriers stand between what writes and what reads or writes
// next. Nothing depends on the number of threads.
//
// The arithmetic is the CPU's, operation by operation: functions such as exp
// become the same polynomials, and nothing is fused. Indices are not checked.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_BODYPRINTER_H
#define BATON_CODEGEN_CUDA_BODYPRINTER_H

#include "dialects/Event/Event.h"

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

/// The bodies beside `program`. Fails in one line that names the body, and the
/// op with its location for which there is no C++.
llvm::Expected<PrintedBodies> printBodies(event::ProgramOp program);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_BODYPRINTER_H
