//===- Accepted.h - keeps the inputs that a target accepts ----------------===//

#ifndef BATON_TEST_FUZZ_ACCEPTED_H
#define BATON_TEST_FUZZ_ACCEPTED_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <fstream>
#include <string>

namespace baton::fuzz {

/// What a target returns. Where BATON_FUZZ_ACCEPTED names a folder, inputs are
/// made from accepted ones only, and these are kept there under the hash of
/// what came of them: inputs of the same meaning are one.
inline int outcome(const std::string &input, const char *suffix,
                   mlir::ModuleOp result) {
  static const char *folder = std::getenv("BATON_FUZZ_ACCEPTED");
  if (!folder)
    return 0;
  if (!result)
    return -1; // libFuzzer's word for an input that is not to be built on
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  result.print(stream);
  std::ofstream(std::string(folder) + "/" +
                std::to_string(std::hash<std::string>()(printed)) + suffix)
      << input;
  return 0;
}

} // namespace baton::fuzz

#endif // BATON_TEST_FUZZ_ACCEPTED_H
