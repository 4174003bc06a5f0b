//===- Dialects.h - every dialect that may stand in a file ----------------===//

#ifndef BATON_COMPILER_DIALECTS_H
#define BATON_COMPILER_DIALECTS_H

namespace mlir {
class DialectRegistry;
}

namespace baton::compiler {

/// Baton's own, the transform dialect with Baton's ops for schedules, and those
/// that task bodies of users are written in.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace baton::compiler

#endif // BATON_COMPILER_DIALECTS_H
