//===- Metadata.h - what the runtime must know of a plan ------------------===//

#ifndef BATON_CODEGEN_PLAN_METADATA_H
#define BATON_CODEGEN_PLAN_METADATA_H

#include "codegen/plan/ProgramLayout.h"

#include <nlohmann/json_fwd.hpp>

namespace baton::plan {

/// What the runtime must know of a plan, or of several that share memory
/// (ProgramLayout::together), as JSON:
///
///     max_rows, max_seq, max_outputs      limits of a step
///     scratch_bytes                       each worker's scratch
///     programs     [{name, max_rows, first_phase, phases, logits}]
///     parameters   [{name, layers, and the entries of the description}]
///     storages     [{name, bytes, kind: "transient" | "state"}]
///     events       {words, tensors: [{name, words, capacity}]}
///     phases       [{name, segment, repeat, flops?, writes: [{buffer, element,
///                    storage, offset, strides, capacity, layers,
///                    layer_stride, extents}]}], in order of rank
///     logits       {vocabulary, storage, offset, stride} of the first
///                  program, or null
///     mesh         {axes: [{name, size}], batch: [names]} of a program of
///                  several ranks, numbered with the last axis fastest
///     collectives  [{name, kind: "all_to_all" | "all_gather" | "dispatch" |
///                    "combine", axes, operation,
///                    payload, payload_bytes, segment, iterations,
///                    every_step, tensors}]: what its ranks exchange; without
///                  every_step only in steps that end with an update
///     proof        what event-verify wrote about the first program, or null
///
/// Offsets and strides count elements. `storage` is an index into storages. An
/// extent is a number, "rows", "outputs", "past+rows", or any other affine
/// expression of these in MLIR's syntax.
nlohmann::json planMetadata(llvm::ArrayRef<ProgramLayout> layouts);

} // namespace baton::plan

#endif // BATON_CODEGEN_PLAN_METADATA_H
