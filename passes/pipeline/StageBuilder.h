//===- StageBuilder.h - what one position of a pipeline does --------------===//

#ifndef BATON_PASSES_PIPELINE_STAGEBUILDER_H
#define BATON_PASSES_PIPELINE_STAGEBUILDER_H

#include "passes/pipeline/Layout.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace baton::pipeline {

/// Writes the body of a position's stage.
class StageBuilder {
public:
  /// Numbers of layers count from `firstLayer`.
  StageBuilder(const Layout &layout, model::ProgramOp program, int position,
               int count, bool fused, int64_t firstLayer,
               mlir::OpBuilder &builder)
      : layout(layout), program(program), position(position), count(count),
        fused(fused), firstLayer(firstLayer), builder(builder) {}

  /// Of a training step: the phases of a microbatch.
  void build();
  /// Of a program that decodes: all of it, with these arguments. Where the
  /// model does not end it hands over the last rows of what it sends.
  mlir::LogicalResult buildDecoding(mlir::ValueRange arguments);

private:
  void begin(dist::PhaseKind phase);
  void receive(llvm::ArrayRef<Crossing> crossings, dist::Neighbor from);
  void send(llvm::ArrayRef<Crossing> crossings, dist::Neighbor to);
  void add(mlir::Operation *op);
  void addStack(model::StackOp stack);
  void need(mlir::Value value);
  mlir::Value made(const Crossing &crossing) const;
  bool isHere(mlir::Operation *op) const;

  const Layout &layout;
  model::ProgramOp program;
  int position, count;
  bool fused;
  int64_t firstLayer;
  mlir::OpBuilder &builder;
  mlir::IRMapping mapping;
  /// What stacks that are cut receive and make, by their results.
  llvm::DenseMap<mlir::Value, mlir::Value> carriedIn, carriedOut;
  llvm::SmallVector<mlir::Value> remade;
};

} // namespace baton::pipeline

#endif // BATON_PASSES_PIPELINE_STAGEBUILDER_H
