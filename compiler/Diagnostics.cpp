//===- Diagnostics.cpp - what MLIR says, kept for one line ----------------===//

#include "compiler/Diagnostics.h"

#include "runtime/weights/message.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"

using namespace baton::compiler;

std::string baton::compiler::describe(mlir::Location location) {
  if (auto file = mlir::dyn_cast<mlir::FileLineColLoc>(location))
    return (llvm::Twine(file.getFilename()) + ":" +
            llvm::Twine(file.getLine()) + ":" + llvm::Twine(file.getColumn()))
        .str();
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location))
    return name.getName().str();
  if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location))
    for (mlir::Location part : fused.getLocations())
      if (std::string text = describe(part); !text.empty())
        return text;
  return "";
}

/// Where MLIR says that there is no such op: the one of its dialect that was
/// meant, if one is near.
static std::string nearestOp(mlir::MLIRContext *context, llvm::StringRef what) {
  for (auto [before, behind] : {std::pair<llvm::StringRef, llvm::StringRef>{
                                    "custom op '", " is unknown"},
                                {"unregistered operation '", ""}}) {
    if (!what.contains(before))
      continue;
    const auto [wanted, rest] = what.split(before).second.split('\'');
    if (!rest.starts_with(behind))
      continue;
    std::vector<std::string> names;
    for (mlir::RegisteredOperationName op : context->getRegisteredOperations())
      if (op.getDialectNamespace() == wanted.split('.').first)
        names.push_back(op.getStringRef().str());
    return baton::nearest_text(wanted.str(), names);
  }
  return "";
}

Diagnostics::Diagnostics(mlir::MLIRContext *context)
    : handler(context, [this, context](mlir::Diagnostic &diagnostic) {
        std::string at = describe(diagnostic.getLocation());
        std::string what = diagnostic.str();
        std::replace(what.begin(), what.end(), '\n', ' ');
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Remark)
          kept.push_back({at, what});
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
            text.empty())
          text =
              at + (at.empty() ? "" : ": ") + what + nearestOp(context, what);
        return mlir::success();
      }) {}

llvm::Error Diagnostics::take(llvm::StringRef otherwise) const {
  return llvm::createStringError(text.empty() ? otherwise.str() : text);
}
