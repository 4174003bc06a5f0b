//===- FlopsTest.cpp - what ops of a training step cost -------------------===//

#include "passes/pipeline/Flops.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace baton;

/// Four experts, of which a row has two: of 16 inputs and 32 outputs.
static const char *kExperts = R"mlir(
!rows = !model.tensor<rows x i32>
!k = !model.tensor<rows x 2 x i32>
!x = !model.tensor<rows x 2 x 16 x f32>
!y = !model.tensor<rows x 2 x 32 x f32>
!w = !model.tensor<4 x 32 x 16 x f32>
!b = !model.tensor<5 x i32>
%e = "test.value"() : () -> !k
%x = "test.value"() : () -> !x
%dy = "test.value"() : () -> !y
%w = "test.value"() : () -> !w
%b, %c, %p = model.dispatch %e : (!k) -> (!b, !k, !k)
%y = model.grouped_linear %x, %b, %w : (!x, !b, !w) -> !y
%dx = model.grouped_linear_input_gradient %dy, %b, %w : (!y, !b, !w) -> !x
%dw = model.grouped_linear_weight_gradient %dy, %x, %b : (!y, !x, !b) -> !w
)mlir";

TEST(Flops, GradientsOfExpertsCostWhatTheirProductsDo) {
  MLIRContext context;
  context.loadDialect<model::ModelDialect, dist::DistDialect>();
  context.allowUnregisteredDialects();
  auto module = parseSourceString<ModuleOp>(kExperts, &context);
  ASSERT_TRUE(module);
  double products = 0;
  module->walk([&](Operation *op) {
    if (!isa<model::GroupedLinearOp, model::GroupedLinearInputGradientOp,
             model::GroupedLinearWeightGradientOp>(op))
      return;
    EXPECT_EQ(pipeline::countFlops(op), 2 * 2 * 16 * 32)
        << op->getName().getStringRef().str();
    ++products;
  });
  EXPECT_EQ(products, 3);
}
