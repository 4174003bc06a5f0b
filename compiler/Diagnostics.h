//===- Diagnostics.h - what MLIR says, kept for one line ------------------===//

#ifndef BATON_COMPILER_DIAGNOSTICS_H
#define BATON_COMPILER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace baton::compiler {

/// Something that a pass did or left, and why.
struct Remark {
  /// The op's name from the importer ("layers.self_attn.q_proj"), or
  /// "file.mlir:3:5".
  std::string at;
  std::string text;
};

/// "file.mlir:3:5", or the name that an importer gave; the first of a fused
/// location's.
std::string describe(mlir::Location location);

/// While it lives, keeps a context's first error as one line, and all remarks.
class Diagnostics {
public:
  explicit Diagnostics(mlir::MLIRContext *context);

  /// The first error, or `otherwise` if there was none.
  llvm::Error take(llvm::StringRef otherwise) const;
  const std::vector<Remark> &remarks() const { return kept; }

private:
  std::string text;
  std::vector<Remark> kept;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace baton::compiler

#endif // BATON_COMPILER_DIAGNOSTICS_H
