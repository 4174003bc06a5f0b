//===- DecodeStages.cpp - a program that decodes, cut into stages ---------===//

#include "passes/pipeline/DecodeStages.h"

#include "passes/pipeline/StageBuilder.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::pipeline;

FailureOr<SmallVector<ProgramOp>>
pipeline::cutDecoding(ProgramOp program, std::pair<StringAttr, int64_t> stages,
                      ArrayRef<int64_t> layers) {
  auto [axis, count] = stages;
  if (program->hasAttr(dist::kPosition))
    return program.emitOpError() << "is of a stage already";
  Layout layout(program);
  if (failed(layout.analyze()) || failed(layout.cut(int(count), layers)))
    return failure();
  OpBuilder builder(program);
  SmallVector<ProgramOp> parts;
  for (int64_t position = count; position-- > 0;) {
    builder.setInsertionPoint(program);
    auto part = cast<ProgramOp>(builder.cloneWithoutRegions(*program));
    part.setSymName((program.getSymName() + ".stage" + Twine(position)).str());
    part->setAttr(dist::kPosition, dist::describe({axis, position}));
    Block &body = part.getBody().emplaceBlock();
    for (BlockArgument argument : program.getBody().getArguments())
      body.addArgument(argument.getType(), argument.getLoc());
    builder.setInsertionPointToEnd(&body);
    if (failed(StageBuilder(layout, program, int(position), int(count),
                            /*fused=*/false, /*firstLayer=*/0, builder)
                   .buildDecoding(body.getArguments())))
      return failure();
    parts.push_back(part);
  }
  program.erase();
  return parts;
}
