//===- Child.h - work that may crash, in a process of its own
//--------------===//

#ifndef BATON_COMPILER_BODIES_CHILD_H
#define BATON_COMPILER_BODIES_CHILD_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace baton::checks {

/// Where the work is, in words, for whoever asks when it has crashed. Never
/// longer than a page.
using Say = llvm::function_ref<void(llvm::StringRef where)>;

struct Outcome {
  /// What the work returned.
  std::string result;
  /// How it crashed instead, and where it was; empty when it did not.
  std::string crash, where;
};

/// Runs the work in a copy of the process. A call of it that does not say
/// anything for a minute has crashed, too. The process has no other threads.
llvm::Expected<Outcome>
runInChild(llvm::function_ref<std::string(Say say)> work);

} // namespace baton::checks

#endif // BATON_COMPILER_BODIES_CHILD_H
