//===- SourceFile.cpp - MLIR that somebody wrote --------------------------===//

#include "compiler/SourceFile.h"

#include "llvm/Support/FileSystem.h"

using namespace baton;
using llvm::createStringError;

static constexpr unsigned kDeepestNesting = 200;

/// The line where brackets outside of strings and comments nest too deeply, or
/// nothing.
static std::optional<unsigned> findDeepLine(llvm::StringRef text) {
  unsigned depth = 0, line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i], next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\n') {
      ++line;
    } else if (c == '"') {
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
    } else if (c == '/' && next == '/') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if ((c == '-' && next == '>') || (c == '<' && next == '=') ||
               (c == '>' && next == '=')) {
      ++i;
    } else if (llvm::StringRef("([{<").contains(c)) {
      if (++depth > kDeepestNesting)
        return line;
    } else if (llvm::StringRef(")]}>").contains(c) && depth) {
      --depth;
    }
  }
  return std::nullopt;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
compiler::readSourceFile(const std::string &path) {
  // (A pipe ends.)
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) &&
      (status.type() == llvm::sys::fs::file_type::character_file ||
       status.type() == llvm::sys::fs::file_type::block_file))
    return createStringError(path + ": is a device");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return createStringError("cannot read " + path + ": " +
                             buffer.getError().message());
  if (auto line = findDeepLine((*buffer)->getBuffer()))
    return createStringError(path + ":" + std::to_string(*line) +
                             ": nests more than " +
                             std::to_string(kDeepestNesting) + " levels deep");
  return std::move(*buffer);
}
