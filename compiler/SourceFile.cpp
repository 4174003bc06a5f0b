//===- SourceFile.cpp - MLIR that somebody wrote --------------------------===//

#include "compiler/SourceFile.h"

#include "dialects/Event/Event.h"
#include "runtime/weights/message.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"

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

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
compiler::parseSourceFile(const std::string &path, mlir::MLIRContext &context,
                          Diagnostics &diagnostics) {
  auto buffer = readSourceFile(path);
  if (!buffer)
    return buffer.takeError();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (module && mlir::succeeded(refuseUnknownAttributes(*module)))
    return module;
  // An op that has a name in the file is known by it, and not by its line.
  std::string what =
      llvm::toString(diagnostics.take(path + ": cannot be parsed"));
  if (!llvm::StringRef(what).starts_with(path + ":"))
    what = path + ": " + what;
  return createStringError(what);
}

/// Whether an op is of this project, and knows its attributes by itself; the
/// library's function says which a call of it has.
static bool isOwn(mlir::Operation *op) {
  const llvm::StringRef name = op->getName().getStringRef();
  if (name == "event.library_call")
    return false;
  return llvm::is_contained({"model", "update", "dist", "event"},
                            name.split('.').first) ||
         name.starts_with("transform.baton.");
}

/// Of a dialect of this project: what its passes keep at an op.
static bool isOfPasses(llvm::StringRef attribute) {
  return llvm::is_contained({"model", "update", "dist", "event", "schedule"},
                            attribute.split('.').first);
}

mlir::LogicalResult compiler::refuseUnknownAttributes(mlir::Operation *root) {
  // What passes keep at bodies, which a plan that was printed has, would be
  // believed.
  const bool isPlan =
      root->walk([](event::ProgramOp) { return mlir::WalkResult::interrupt(); })
          .wasInterrupted();
  const mlir::WalkResult result = root->walk([&](mlir::Operation *op) {
    if (!isOwn(op))
      return mlir::WalkResult::advance();
    const bool isWritten =
        (llvm::isa<event::BodyOp>(op) && !isPlan) ||
        op->getName().getStringRef().starts_with("transform.");
    for (mlir::NamedAttribute attribute : op->getDiscardableAttrs()) {
      const llvm::StringRef name = attribute.getName();
      if (name.contains('.') && !(isWritten && isOfPasses(name)))
        continue;
      std::vector<std::string> known;
      for (mlir::StringAttr each : op->getName().getAttributeNames())
        known.push_back(each.str());
      op->emitOpError() << "has no attribute '" << name << "'"
                        << nearest_text(name.str(), known);
      return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  });
  return mlir::failure(result.wasInterrupted());
}
