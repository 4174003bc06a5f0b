//===- DecodeStages.h - a program that decodes, cut into stages -----------===//
//
// Each stage is a program of its own, which begins with the rows that it
// receives and ends with those that it sends. States stay with the layers that
// append to them. There is one sequence, so that there is no schedule to
// choose: stages run one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_PIPELINE_DECODESTAGES_H
#define BATON_PASSES_PIPELINE_DECODESTAGES_H

#include "dialects/Dist/Dist.h"

namespace baton::pipeline {

/// Makes programs of `program`, which is gone then: one for each of `stages`,
/// the last one first, which has the logits; of so many layers each, if given.
/// Says what cannot be cut.
mlir::FailureOr<llvm::SmallVector<model::ProgramOp>>
cutDecoding(model::ProgramOp program,
            std::pair<mlir::StringAttr, int64_t> stages,
            llvm::ArrayRef<int64_t> layers = {});

} // namespace baton::pipeline

#endif // BATON_PASSES_PIPELINE_DECODESTAGES_H
