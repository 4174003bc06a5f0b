//===- LogitStream.h - logits of a program, as they come ------------------===//
//
// What `FILE logits --data` writes: a line of JSON, the tokens of all windows
// (int32 [windows, context]), and of each window the rows of logits that count
// (float32 [rows, vocabulary]).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_COMPARISON_LOGITSTREAM_H
#define BATON_COMPILER_COMPARISON_LOGITSTREAM_H

#include "codegen/link/Scratch.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace baton::comparison {

class LogitStream {
public:
  /// Starts the program, and reads all but the rows. `name` is what errors call
  /// it; `file` in the scratch folder gets what it says itself.
  static llvm::Expected<LogitStream>
  start(const link::Scratch &scratch, const std::string &file,
        const std::string &name, llvm::ArrayRef<std::string> arguments);

  size_t vocabulary() const { return row.size(); }
  size_t windows() const { return windowCount; }
  /// Tokens of a window.
  size_t context() const { return contextTokens; }
  /// Rows of a window; row i is of the token at context() - rows() + i.
  size_t rows() const { return rowCount; }
  /// [windows, context].
  llvm::ArrayRef<int32_t> tokens() const { return allTokens; }
  llvm::Error fail(const llvm::Twine &what) const { return program.fail(what); }

  /// The next row, valid until the one after it is read. Fails with what the
  /// program says, where it ends before.
  llvm::Expected<llvm::ArrayRef<float>> next();
  /// Waits for the program's end, behind its last row.
  llvm::Error finish();

private:
  explicit LogitStream(link::RunningProgram program)
      : program(std::move(program)) {}
  llvm::Error readHeader();

  link::RunningProgram program;
  size_t windowCount = 0, contextTokens = 0, rowCount = 0;
  std::vector<int32_t> allTokens;
  std::vector<float> row;
};

} // namespace baton::comparison

#endif // BATON_COMPILER_COMPARISON_LOGITSTREAM_H
