//===- StagePrograms.h - programs for the stages of a pipeline ------------===//
//
// A training step that is cut into stages (dist.schedule, dist.stage) becomes
// several programs, each a plan with a proof of its own:
//
//   agreement         of all ranks: the loss and the norm of gradients
//   stage0.forward    the phases of a dist.stage, for one microbatch; two of
//   stage0.input      three where the schedule joins both halves of the
//   stage0.weight     backward step (stage0.backward)
//   stage0.norm       at the step's end: sums of gradients over ranks, and of
//                     their squares
//   stage0.update     the parameters change
//
// A rank runs one program for each step of its schedule's table, and at the end
// norm, agreement and update. All workers meet between two programs, so that
// nothing is to be ordered between them. What one leaves for another lies in
// persistent buffers, which say by "slot" that there are several of them:
//
//   "flight"       one for each microbatch in flight: what a phase keeps for
//                  another phase of the same microbatch
//   "microbatch"   one for each microbatch of a step: its loss
//   "chunk"        one for each of a rank's stages: sums of squares
//
// The maps of a program know of one of these, whose memory the runtime chooses
// before the program runs. So a proof, code, and the time of both do not grow
// with microbatches or chunks, and have no other symbols than those of one
// rank's program.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_STAGES_STAGEPROGRAMS_H
#define BATON_PASSES_STAGES_STAGEPROGRAMS_H

#include "passes/tiling/Training.h"

#include "dialects/Dist/Dist.h"

namespace baton::tasks {

/// Whether it is rows of one length in a buffer of their own, in the order of
/// their elements, as ranks send and receive them.
bool isPlain(const View &view);

class StagePrograms {
public:
  /// Makes an empty program of this name.
  using Create =
      std::function<mlir::FailureOr<event::ProgramOp>(llvm::StringRef)>;
  /// Ends one that has its phases.
  using Finish = std::function<mlir::LogicalResult(PlanBuilder &)>;

  StagePrograms(model::ProgramOp model, const TileSizes &sizes, Create create,
                Finish finish);

  mlir::LogicalResult build();

private:
  /// What runs as one program of a stage.
  struct Part {
    llvm::StringRef name;
    llvm::SmallVector<mlir::Operation *> ops;
  };
  /// What a stage keeps between its programs: values of its body, and what its
  /// stacks save, by where they come from.
  struct Kept {
    llvm::MapVector<mlir::Value, std::string> values;
    llvm::MapVector<mlir::StringAttr, model::SaveOp> saved;
  };
  class Plan;

  void nameParameters();
  mlir::LogicalResult checkShared();
  llvm::SmallVector<Part> partsOf(dist::StageOp stage);
  mlir::FailureOr<Kept> keptBetween(dist::StageOp stage,
                                    llvm::ArrayRef<Part> parts);
  mlir::LogicalResult addPart(dist::StageOp stage, unsigned number,
                              const Part &part, const Kept &kept);
  mlir::LogicalResult addNorm(dist::StageOp stage, unsigned number);
  mlir::LogicalResult addUpdate(dist::StageOp stage, unsigned number);
  mlir::LogicalResult addAgreement();
  void addShared(dist::StageOp stage, Plan &plan);
  mlir::DictionaryAttr describe();

  model::ProgramOp model;
  dist::ScheduleOp schedule;
  dist::MeshOp mesh;
  TileSizes sizes;
  Create create;
  Finish finish;
  llvm::SmallVector<dist::StageOp> stages;
  ParameterNames names;
  /// Parameters whose gradient the first and the last position add up.
  llvm::SmallVector<mlir::Attribute> shared;
};

} // namespace baton::tasks

#endif // BATON_PASSES_STAGES_STAGEPROGRAMS_H
