//===- RouterBias.h - biases of routers that move without a loss ----------===//

#ifndef BATON_COMPILER_ROUTERBIAS_H
#define BATON_COMPILER_ROUTERBIAS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace baton::compiler {

/// Has each step of a program that trains move the biases that correct its
/// routers' choices by `rate`, by a rule of theirs beside the optimizer's: up,
/// where an expert had fewer rows than the mean, and down, where it had more
/// (Wang et al., "Auxiliary-Loss-Free Load Balancing Strategy for
/// Mixture-of-Experts", 2024). Fails where no router has one.
llvm::Error addRouterBiasUpdate(mlir::ModuleOp module, double rate,
                                const std::string &model);

} // namespace baton::compiler

#endif // BATON_COMPILER_ROUTERBIAS_H
