//===- Communication.h - what ranks exchange, in numbers ------------------===//

#ifndef BATON_PASSES_PLANNING_COMMUNICATION_H
#define BATON_PASSES_PLANNING_COMMUNICATION_H

#include "passes/sharding/ReshardSteps.h"

#include "llvm/Support/Error.h"

namespace baton::planning {

/// What types leave open: rows of a step, of all ranks; of these, rows whose
/// logits are wanted; and positions that attention sees.
struct Sizes {
  double rows = 0, outputs = 0, kv = 0;

  double of(int64_t symbol) const;
};

/// Bytes of what a rank has of a tensor, as dist::countBytes writes them.
double bytesOf(model::StepTensorType type, dist::PlacementAttr placement,
               dist::MeshOp mesh, const Sizes &sizes);

/// What ranks exchange in a step. A payload is the bytes of a collective's
/// tensor on a rank; of it a rank of n sends 2 (n - 1) / n for a sum that all
/// have then, (n - 1) / n otherwise.
struct Communication {
  double collectives = 0, payload = 0, sent = 0;

  Communication &operator+=(const Communication &other);
  Communication operator*(double times) const;
  bool operator==(const Communication &other) const = default;
};

/// Of a payload over so many ranks.
Communication communicationOf(double payload, int64_t ranks, bool isAllReduce);

/// Of one step of a value's way; nothing where it exchanges none.
Communication communicationOf(const sharding::ReshardStep &step,
                              model::StepTensorType type, dist::MeshOp mesh,
                              const Sizes &sizes);

/// Of a whole program, whose collectives have been written: their payloads, as
/// often as stacks repeat them. An error names a collective that is not known
/// or a payload that is no product.
llvm::Expected<Communication> countCommunication(model::ProgramOp program,
                                                 dist::MeshOp mesh,
                                                 const Sizes &sizes);

/// How often an op of a program runs in a step.
double repeatsOf(mlir::Block *block);

} // namespace baton::planning

#endif // BATON_PASSES_PLANNING_COMMUNICATION_H
