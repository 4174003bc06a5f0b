//===- RulesTest.cpp - no op without a sharding rule or a reason ----------===//

#include "passes/sharding/Rules.h"
#include "dialects/Dist/Dist.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace baton;
using namespace baton::sharding;

static std::vector<std::string> opsOf(MLIRContext &context, StringRef dialect) {
  std::vector<std::string> names;
  for (RegisteredOperationName op : context.getRegisteredOperations())
    if (op.getDialectNamespace() == dialect)
      names.push_back(op.getStringRef().str());
  return names;
}

/// Somebody who adds an op adds a line to the table, or says why there is none.
TEST(ShardingRules, EveryModelOpHasARuleOrAReason) {
  MLIRContext context;
  context.loadDialect<model::ModelDialect>();
  std::vector<std::string> names = opsOf(context, "model");
  ASSERT_GT(names.size(), 50u);
  for (const std::string &name : names)
    EXPECT_NE(hasRule(name), !whyWithoutRule(name).empty()) << name;
}

/// The dist dialect's own ops compute, or say where their results lie.
TEST(ShardingRules, EveryDistOpThatComputesHasARule) {
  MLIRContext context;
  context.loadDialect<dist::DistDialect>();
  for (const std::string &name : opsOf(context, "dist")) {
    bool moves = llvm::is_contained(
        {"dist.mesh", "dist.reshard", "dist.all_reduce", "dist.all_gather",
         "dist.reduce_scatter", "dist.all_to_all", "dist.slice",
         "dist.first_rank", "dist.exchange_counts", "dist.dispatch_rows",
         "dist.combine_rows"},
        name);
    bool isOfPipeline = llvm::is_contained(
        {"dist.schedule", "dist.stage", "dist.phase", "dist.stage_end",
         "dist.send", "dist.receive", "dist.sum_gradients"},
        name);
    EXPECT_NE(hasRule(name), moves || isOfPipeline) << name;
  }
}

TEST(ShardingRules, KnowsNothingOfOtherDialects) {
  EXPECT_FALSE(hasRule("builtin.module"));
  EXPECT_EQ(whyWithoutRule("builtin.module"), "");
}

namespace {

/// One op over values that nothing makes.
class RuleWriterTest : public testing::Test {
protected:
  RuleWriterTest() { context.loadDialect<model::ModelDialect>(); }

  /// `x -> y` of these shapes.
  OwningOpRef<Operation *> op(ArrayRef<int64_t> x, ArrayRef<int64_t> y) {
    context.allowUnregisteredDialects();
    OpBuilder builder(&context);
    auto type = [&](ArrayRef<int64_t> shape) {
      return model::StepTensorType::get(&context, shape, builder.getF32Type());
    };
    Location location = builder.getUnknownLoc();
    OperationState source(location, "test.source");
    source.addTypes(type(x));
    made = builder.create(source);
    OperationState state(location, "test.op");
    state.addOperands(made->getResults());
    state.addTypes(type(y));
    return builder.create(state);
  }

  /// What a rule that does not fit says.
  std::string problem(ArrayRef<int64_t> x, ArrayRef<int64_t> y,
                      StringRef equation) {
    std::string text;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      text = diagnostic.str();
      return success();
    });
    OwningOpRef<Operation *> owned = op(x, y);
    EXPECT_FALSE(RuleWriter(*owned).equation(equation).finish());
    return text;
  }

  MLIRContext context;
  OwningOpRef<Operation *> made;
};

} // namespace

TEST_F(RuleWriterTest, InfersSizesOfCompoundDimensions) {
  OwningOpRef<Operation *> owned = op({6, 5}, {2, 3, 5});
  auto rule = RuleWriter(*owned).equation("gr k -> g r k").finish();
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->text(), "gr k -> g r k; g=2 r=3 k=5");
}

TEST_F(RuleWriterTest, RefusesFactorsThatDoNotMakeTheDimension) {
  EXPECT_EQ(problem({7, 5}, {2, 3, 5}, "gr k -> g r k"),
            "'test.op' op does not fit its sharding rule: a dimension of 7 is "
            "not what its factors make");
}

TEST_F(RuleWriterTest, RefusesOneFactorOfTwoSizes) {
  EXPECT_EQ(problem({7}, {8}, "k -> k"),
            "'test.op' op does not fit its sharding rule: a dimension of 8 is "
            "not what its factors make");
}

TEST_F(RuleWriterTest, RefusesAnUnstatedSum) {
  EXPECT_EQ(problem({7, 5}, {7}, "n k -> n"),
            "'test.op' op does not fit its sharding rule: a result lacks the "
            "parallel factor k");
}

TEST_F(RuleWriterTest, RefusesMissingDimensions) {
  EXPECT_EQ(problem({7, 5}, {7}, "n -> n"),
            "'test.op' op does not fit its sharding rule: 'n' does not name "
            "the dimensions");
}
