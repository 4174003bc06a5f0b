//===- TaskLibrary.h - the bitcode that programs are linked with ----------===//

#ifndef BATON_CODEGEN_CPU_TASKLIBRARY_H
#define BATON_CODEGEN_CPU_TASKLIBRARY_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace baton::cpu {

/// The task library, read from a bitcode file and not yet part of a program.
class TaskLibrary {
public:
  /// Fails when the file is missing, is no bitcode, or is for another kind of
  /// machine than `module`, into whose context it is read.
  static llvm::Expected<TaskLibrary> load(llvm::StringRef path,
                                          llvm::Module &module);

  /// Takes the functions of `more` in. Fails when it has one of that name.
  llvm::Error add(std::unique_ptr<llvm::Module> more);

  /// Takes the functions of the library in F64 in, each with the suffix _f64.
  llvm::Error addInF64(llvm::StringRef path, llvm::Module &module);

  /// `module`'s declaration of the library's function `name`, or null if the
  /// library has none of that name.
  llvm::Function *declare(llvm::Module &module, llvm::StringRef name) const;

  /// Moves what `module` declares, and what that needs, into `module`.
  llvm::Error linkInto(llvm::Module &module) &&;

private:
  explicit TaskLibrary(std::unique_ptr<llvm::Module> bitcode)
      : bitcode(std::move(bitcode)) {}

  /// The definition of that name, in any part; null if there is none.
  llvm::Function *find(llvm::StringRef name) const;

  /// Each calls functions of those behind it only: bodies, the library in F64,
  /// the library. Of the libraries only what is called is ever parsed.
  std::unique_ptr<llvm::Module> bodies, wide, bitcode;
};

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_TASKLIBRARY_H
