//===- RanksTest.cpp - sharded programs compute what unsharded ones do ----===//

#include "Ranks.h"

#include "passes/sharding/Passes.h"
#include "passes/training/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <random>

using namespace mlir;
using namespace baton;
using namespace baton::sharding::test;

/// Two layers with grouped queries, a gate and a norm of every head, a bias
/// behind a sum, and the embedding's table, with a bias, as output projection.
static const char *kProgram = R"mlir(
!index = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!qs = !model.tensor<rows x 16 x f32>
!both = !model.tensor<rows x 32 x f32>
!heads = !model.tensor<rows x 4 x 8 x f32>
!wq = !model.tensor<32 x 8 x f32>
!bq = !model.tensor<32 x f32>
!ks = !model.tensor<rows x 8 x f32>
!q = !model.tensor<rows x 4 x 4 x f32>
!k = !model.tensor<rows x 2 x 4 x f32>
!kv = !model.tensor<kv x 2 x 4 x f32>
!h = !model.tensor<rows x 12 x f32>
!angles = !model.tensor<rows x 4 x f32>
!table = !model.tensor<9 x 8 x f32>
!o = !model.tensor<outputs x 8 x f32>
model.program @llama max_seq 64 {
^bb0(%tokens: !index):
  %table = model.parameter ["table"] : !table
  %e = model.embedding %tokens, %table : (!index, !table) -> !x
  %angles = model.rope_table {frequencies = array<f32: 1.0, 0.3>} : () -> !angles
  %y = model.stack %e repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    %n1 = model.parameter ["norm1.{layer}"] : !model.tensor<8 x f32>
    %b = model.rms_norm %a, %n1 {epsilon = 1.0e-5 : f32} : (!x, !model.tensor<8 x f32>) -> !x
    %wq = model.parameter ["q.{layer}"] : !wq
    %wk = model.parameter ["k.{layer}"] : !model.tensor<8 x 8 x f32>
    %wv = model.parameter ["v.{layer}"] : !model.tensor<8 x 8 x f32>
    %bq = model.parameter ["q_bias.{layer}"] : !bq
    %q0 = model.linear %b, %wq bias %bq : (!x, !wq, !bq) -> !both
    %k0 = model.linear %b, %wk : (!x, !model.tensor<8 x 8 x f32>) -> !ks
    %v0 = model.linear %b, %wv : (!x, !model.tensor<8 x 8 x f32>) -> !ks
    %qg = model.reshape %q0 : (!both) -> !heads
    %q1 = model.slice %qg {axis = 2 : i64, offset = 0 : i64} : (!heads) -> !q
    %gate = model.slice %qg {axis = 2 : i64, offset = 4 : i64} : (!heads) -> !q
    %k1 = model.reshape %k0 : (!ks) -> !k
    %v1 = model.reshape %v0 : (!ks) -> !k
    %nq = model.parameter ["q_norm.{layer}"] : !model.tensor<4 x f32>
    %q2 = model.rms_norm %q1, %nq {epsilon = 1.0e-5 : f32} : (!q, !model.tensor<4 x f32>) -> !q
    %q3 = model.rope %q2, %angles : (!q, !angles) -> !q
    %k3 = model.rope %k1, %angles : (!k, !angles) -> !k
    %ks = model.kv_append %k3 to "k" : (!k) -> !kv
    %vs = model.kv_append %v1 to "v" : (!k) -> !kv
    %r = model.attention %q3, %ks, %vs, %gate {scale = 0.5 : f32} : (!q, !kv, !kv, !q) -> !q
    %r1 = model.reshape %r : (!q) -> !qs
    %wo = model.parameter ["o.{layer}"] : !model.tensor<8 x 16 x f32>
    %bo = model.parameter ["o_bias.{layer}"] : !model.tensor<8 x f32>
    %c = model.linear %r1, %wo bias %bo : (!qs, !model.tensor<8 x 16 x f32>, !model.tensor<8 x f32>) -> !x
    %d = model.add %a, %c : (!x, !x) -> !x
    %n2 = model.parameter ["norm2.{layer}"] : !model.tensor<8 x f32>
    %f = model.rms_norm %d, %n2 {epsilon = 1.0e-5 : f32} : (!x, !model.tensor<8 x f32>) -> !x
    %wg = model.parameter ["gate.{layer}"] : !model.tensor<12 x 8 x f32>
    %wu = model.parameter ["up.{layer}"] : !model.tensor<12 x 8 x f32>
    %g = model.linear %f, %wg : (!x, !model.tensor<12 x 8 x f32>) -> !h
    %u = model.linear %f, %wu : (!x, !model.tensor<12 x 8 x f32>) -> !h
    %s = model.activate %g {activation = #model.activation<silu>} : (!h) -> !h
    %m = model.mul %s, %u : (!h, !h) -> !h
    %wd = model.parameter ["down.{layer}"] : !model.tensor<8 x 12 x f32>
    %t = model.linear %m, %wd : (!h, !model.tensor<8 x 12 x f32>) -> !x
    %z = model.add %d, %t : (!x, !x) -> !x
    model.yield %z : !x
  }
  %last = model.last_rows %y : (!x) -> !o
  %bias = model.parameter ["bias"] : !model.tensor<9 x f32>
  %l = model.linear %last, %table bias %bias : (!o, !table, !model.tensor<9 x f32>) -> !model.tensor<outputs x 9 x f32>
  model.return %l : !model.tensor<outputs x 9 x f32>
}
)mlir";

namespace {

struct Plan {
  const char *mesh, *tactics;
};

void PrintTo(const Plan &plan, std::ostream *stream) {
  *stream << plan.mesh << " " << plan.tactics;
}

class ShardedProgram : public testing::Test {
protected:
  ShardedProgram() {
    context.loadDialect<model::ModelDialect, dist::DistDialect>();
  }

  /// The training step; sharded if there is a plan, after `edit` has seen it.
  model::ProgramOp
  make(const Plan *plan,
       llvm::function_ref<void(model::ProgramOp)> edit = nullptr) {
    std::string text = kProgram;
    if (plan)
      text = std::string("dist.mesh ") + plan->mesh + "\n" + text;
    modules.push_back(parseSourceString<ModuleOp>(text, &context));
    PassManager passes(&context), after(&context);
    passes.addPass(training::createTrainingForm());
    passes.addPass(training::createDifferentiate());
    EXPECT_TRUE(succeeded(passes.run(*modules.back())));
    auto program = *modules.back()->getOps<model::ProgramOp>().begin();
    if (edit)
      edit(program);
    if (plan)
      addSharding(after, plan->tactics);
    EXPECT_TRUE(succeeded(after.run(*modules.back())));
    return program;
  }

  MLIRContext context;
  std::vector<OwningOpRef<ModuleOp>> modules;
};

class RanksTest : public ShardedProgram,
                  public testing::WithParamInterface<Plan> {};

} // namespace

TEST_P(RanksTest, LossesAndGradientsAreThoseOfOneRank) {
  Ranks one(make(nullptr), 4, 4);
  auto expected = one.run();
  ASSERT_EQ(one.problem, "");
  ASSERT_EQ(expected.size(),
            27u); // the table and its bias, 12 parameters twice, losses
  Ranks ranks(make(&GetParam()), 4, 4);
  auto found = ranks.run();
  EXPECT_EQ(ranks.problem, "");
  EXPECT_LT(difference(expected, found), 1e-12);
}

/// None of the moves is there for nothing, and the comparison sees each.
TEST_P(RanksTest, EveryMoveMatters) {
  Ranks one(make(nullptr), 4, 4);
  auto expected = one.run();
  model::ProgramOp program = make(&GetParam());
  SmallVector<Operation *> moves;
  program.walk([&](Operation *op) {
    if (op->hasAttr("to"))
      moves.push_back(op);
  });
  ASSERT_GT(moves.size(), 0u);
  for (Operation *op : moves) {
    Ranks ranks(program, 4, 4);
    ranks.forgotten = op;
    auto found = ranks.run();
    EXPECT_TRUE(!ranks.problem.empty() || difference(expected, found) > 1e-9)
        << op->getName().getStringRef().str();
  }
}

/// A placement of some of the axes.
static dist::PlacementAttr randomPlacement(std::mt19937 &generator,
                                           model::StepTensorType type,
                                           dist::MeshOp mesh) {
  SmallVector<SmallVector<StringAttr>> axes(type.getRank());
  for (auto axis : mesh.getNames().getAsRange<StringAttr>()) {
    unsigned dimension = generator() % (type.getRank() + 1);
    if (dimension == axes.size())
      continue;
    SmallVector<StringAttr> more = axes[dimension];
    more.push_back(axis);
    int64_t size = type.getDimension(dimension);
    if (model::isSymbol(size) || size % mesh.countRanks(more) == 0)
      axes[dimension] = more;
  }
  SmallVector<dist::DimensionAttr> dimensions;
  for (auto [size, list] : llvm::zip(type.getShape(), axes)) {
    dimensions.push_back(
        dist::DimensionAttr::getShard(type.getContext(), list));
    if (model::isSymbol(size) || list.size() != 1 || generator() % 4)
      continue;
    // Uneven blocks of two.
    int64_t ranks = mesh.getSize(list.front()), rest = (size + 1) / 2;
    SmallVector<int64_t> units;
    for (int64_t rank = 0; rank + 1 < ranks; ++rank) {
      units.push_back(generator() % (rest + 1));
      rest -= units.back();
    }
    units.push_back(rest);
    dimensions.back() =
        dist::DimensionAttr::get(type.getContext(), list, 2, units);
  }
  return dist::PlacementAttr::get(type.getContext(), dimensions,
                                  dist::Reduction::sum, {});
}

/// Whatever somebody states of a few values.
TEST_F(ShardedProgram, StatedPlacementsNeverChangeTheMeaning) {
  Ranks one(make(nullptr), 4, 4);
  auto expected = one.run();
  std::mt19937 generator(1);
  const Plan plans[] = {{"[data = 2, tensor = 2] batch [data]", ""},
                        {"[data = 2, tensor = 2] batch [data]", "data:data"},
                        {"[data = 2, tensor = 2, zero = 2] batch [data]",
                         "tensor:tensor,zero:zero"},
                        {"[data = 2, tensor = 2] batch [data]",
                         "data:data,tensor:tensor,sequence:tensor,zero:data"}};
  for (unsigned trial = 0; trial < 120; ++trial) {
    SCOPED_TRACE(trial);
    model::ProgramOp program =
        make(&plans[trial % 4], [&](model::ProgramOp program) {
          SmallVector<Operation *> ops;
          // A parameter is stated once, not where its adjoint reads it again.
          llvm::DenseSet<Attribute> names;
          program.getBody().walk([&](Operation *op) {
            auto parameter = dyn_cast<model::ParameterOp>(op);
            if (op->getNumResults() &&
                (!parameter || names.insert(parameter.getSourcesAttr()).second))
              ops.push_back(op);
          });
          for (unsigned i = 0; i < 1 + trial % 6; ++i) {
            Operation *op = ops[generator() % ops.size()];
            SmallVector<Attribute> placements;
            for (Type type : op->getResultTypes())
              placements.push_back(
                  randomPlacement(generator, cast<model::StepTensorType>(type),
                                  dist::findMesh(program)));
            op->setAttr(dist::kPlacements,
                        ArrayAttr::get(&context, placements));
          }
        });
    Ranks ranks(program, 4, 4);
    auto found = ranks.run();
    ASSERT_EQ(ranks.problem, "");
    ASSERT_LT(difference(expected, found), 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, RanksTest,
    testing::Values(
        Plan{"[tensor = 2]", "tensor:tensor"},
        Plan{"[tensor = 2]", "tensor:tensor,sequence:tensor"},
        // More ranks than key/value heads: on all ranks, or by two axes.
        Plan{"[tensor = 4]", "tensor:tensor,sequence:tensor"},
        Plan{"[a = 2, b = 2]", "tensor:a,tensor:b,sequence:a"},
        Plan{"[data = 2] batch [data]", "data:data"},
        Plan{"[data = 4] batch [data]", "data:data,zero:data"},
        Plan{"[data = 2] batch [data]", "data:data,gradients:data"},
        Plan{"[data = 2, tensor = 2] batch [data]",
             "data:data,tensor:tensor,sequence:tensor,zero:data"},
        Plan{"[tensor = 2, data = 2] batch [data]",
             "tensor:tensor,data:data,gradients:data"},
        Plan{"[data = 2, tensor = 4] batch [data]",
             "data:data,tensor:tensor,zero:data"},
        // Without rows that are sharded: parameters alone, or rows last.
        Plan{"[data = 2] batch [data]", "zero:data"},
        Plan{"[data = 2] batch [data]", "zero:data,data:data"},
        Plan{"[tensor = 2]", "sequence:tensor,tensor:tensor"}));
