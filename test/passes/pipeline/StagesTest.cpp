//===- StagesTest.cpp - pipelines compute what one rank does --------------===//

#include "Stages.h"

#include "passes/pipeline/Passes.h"
#include "passes/sharding/Passes.h"
#include "passes/training/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace mlir;
using namespace baton;
using namespace baton::pipeline;
using namespace baton::pipeline::test;
using baton::sharding::test::difference;

/// Two stacks with a norm between them, the embedding again behind the first
/// one, and its table as output projection.
static const char *kProgram = R"mlir(
!index = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!n = !model.tensor<8 x f32>
!w = !model.tensor<8 x 8 x f32>
!q = !model.tensor<rows x 2 x 4 x f32>
!kv = !model.tensor<kv x 2 x 4 x f32>
!h = !model.tensor<rows x 12 x f32>
!up = !model.tensor<12 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
!angles = !model.tensor<rows x 4 x f32>
!table = !model.tensor<9 x 8 x f32>
!o = !model.tensor<outputs x 8 x f32>
model.program @two_stacks max_seq 64 {
^bb0(%tokens: !index):
  %table = model.parameter ["table"] : !table
  %e = model.embedding %tokens, %table : (!index, !table) -> !x
  %angles = model.rope_table {frequencies = array<f32: 1.0, 0.3>} : () -> !angles
  %y = model.stack %e repeat 5 : (!x) -> !x {
  ^bb1(%a: !x):
    %n1 = model.parameter ["norm1.{layer}"] : !n
    %b = model.rms_norm %a, %n1 {epsilon = 1.0e-5 : f32} : (!x, !n) -> !x
    %wq = model.parameter ["q.{layer}"] : !w
    %wk = model.parameter ["k.{layer}"] : !w
    %wv = model.parameter ["v.{layer}"] : !w
    %q0 = model.linear %b, %wq : (!x, !w) -> !x
    %k0 = model.linear %b, %wk : (!x, !w) -> !x
    %v0 = model.linear %b, %wv : (!x, !w) -> !x
    %q1 = model.reshape %q0 : (!x) -> !q
    %k1 = model.reshape %k0 : (!x) -> !q
    %v1 = model.reshape %v0 : (!x) -> !q
    %q2 = model.rope %q1, %angles : (!q, !angles) -> !q
    %k2 = model.rope %k1, %angles : (!q, !angles) -> !q
    %ks = model.kv_append %k2 to "k" : (!q) -> !kv
    %vs = model.kv_append %v1 to "v" : (!q) -> !kv
    %r = model.attention %q2, %ks, %vs {scale = 0.5 : f32} : (!q, !kv, !kv) -> !q
    %r1 = model.reshape %r : (!q) -> !x
    %wo = model.parameter ["o.{layer}"] : !w
    %bo = model.parameter ["o_bias.{layer}"] : !n
    %c = model.linear %r1, %wo bias %bo : (!x, !w, !n) -> !x
    %d = model.add %a, %c : (!x, !x) -> !x
    model.yield %d : !x
  }
  %nm = model.parameter ["middle"] : !n
  %z0 = model.rms_norm %y, %nm {epsilon = 1.0e-5 : f32} : (!x, !n) -> !x
  %z1 = model.add %z0, %e : (!x, !x) -> !x
  %z = model.stack %z1 repeat 4 {first_layer = 5 : i64} : (!x) -> !x {
  ^bb1(%a: !x):
    %n2 = model.parameter ["norm2.{layer}"] : !n
    %f = model.rms_norm %a, %n2 {epsilon = 1.0e-5 : f32} : (!x, !n) -> !x
    %wg = model.parameter ["gate.{layer}"] : !up
    %wu = model.parameter ["up.{layer}"] : !up
    %g = model.linear %f, %wg : (!x, !up) -> !h
    %u = model.linear %f, %wu : (!x, !up) -> !h
    %s = model.activate %g {activation = #model.activation<silu>} : (!h) -> !h
    %m = model.mul %s, %u : (!h, !h) -> !h
    %wd = model.parameter ["down.{layer}"] : !down
    %t = model.linear %m, %wd : (!h, !down) -> !x
    %v = model.add %a, %t : (!x, !x) -> !x
    model.yield %v : !x
  }
  %nf = model.parameter ["final"] : !n
  %x = model.rms_norm %z, %nf {epsilon = 1.0e-5 : f32} : (!x, !n) -> !x
  %last = model.last_rows %x : (!x) -> !o
  %l = model.linear %last, %table : (!o, !table) -> !model.tensor<outputs x 9 x f32>
  model.return %l : !model.tensor<outputs x 9 x f32>
}
)mlir";

namespace {

struct Plan {
  std::string mesh, schedule, tactics;
  int microbatches = 4;
  bool split = true;
};

void PrintTo(const Plan &plan, std::ostream *stream) {
  *stream << plan.mesh << " " << plan.schedule << " " << plan.tactics << " "
          << plan.microbatches << (plan.split ? " split" : " joint");
}

class StagedProgram : public testing::Test {
protected:
  StagedProgram() {
    context.loadDialect<model::ModelDialect, dist::DistDialect>();
  }

  model::ProgramOp make(const Plan *plan, bool clean = false) {
    std::string text = kProgram;
    if (plan)
      text = "dist.mesh " + plan->mesh + "\n" + text;
    modules.push_back(parseSourceString<ModuleOp>(text, &context));
    PassManager passes(&context);
    passes.addPass(training::createTrainingForm());
    training::DifferentiateOptions differentiate;
    differentiate.split = plan && plan->split;
    passes.addPass(training::createDifferentiate(differentiate));
    if (clean)
      passes.addPass(createCSEPass());
    if (plan && !plan->tactics.empty())
      sharding::test::addSharding(passes, plan->tactics);
    if (plan) {
      pipeline::PipelinePartitioningOptions options;
      options.schedule = plan->schedule;
      options.microbatches = plan->microbatches;
      passes.addPass(pipeline::createPipelinePartitioning(options));
      passes.addPass(sharding::createVerifySharding());
    }
    if (clean)
      passes.addPass(createCSEPass());
    EXPECT_TRUE(succeeded(passes.run(*modules.back())));
    return *modules.back()->getOps<model::ProgramOp>().begin();
  }

  /// One rank, with the microbatches as one batch.
  std::map<std::string, Tensor> reference(int microbatches) {
    Ranks one(make(nullptr), 2 * microbatches, 3);
    auto expected = one.run();
    EXPECT_EQ(one.problem, "");
    // The table, norms of the middle and the end, layers, losses.
    EXPECT_EQ(expected.size(), 3u + 5 * 6 + 4 * 4 + 1);
    return expected;
  }

  MLIRContext context;
  std::vector<OwningOpRef<ModuleOp>> modules;
};

class StagesTest : public StagedProgram,
                   public testing::WithParamInterface<Plan> {};

} // namespace

TEST_P(StagesTest, LossesAndGradientsAreThoseOfOneRank) {
  auto expected = reference(GetParam().microbatches);
  for (bool clean : {false, true}) {
    model::ProgramOp program = make(&GetParam(), clean);
    Stages stages(program, 2, 3);
    auto found = stages.run();
    EXPECT_EQ(stages.problem, "");
    EXPECT_LT(difference(expected, found), 1e-12);
    EXPECT_EQ(ArrayRef(stages.inFlight),
              dist::findSchedule(program).getInFlight());
  }
}

/// The table is embedding and projection: each end has a part of its gradient.
TEST_P(StagesTest, TiedEmbeddingsAreSummed) {
  model::ProgramOp program = make(&GetParam());
  auto sums = llvm::to_vector(program.getOps<dist::SumGradientsOp>());
  dist::ScheduleOp schedule = dist::findSchedule(program);
  if (schedule.countStages() == 1) {
    EXPECT_TRUE(sums.empty());
    return;
  }
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].getStages(),
            ArrayRef<int64_t>({0, schedule.countStages() - 1}));
  Stages stages(program, 2, 3);
  stages.forgotten = sums[0];
  stages.run();
  EXPECT_EQ(stages.problem, "stages disagree on the gradient of table");
}

/// A stage has gradients of what its forward phase reads, and of all of it.
TEST_P(StagesTest, GradientsAreWhereTheirParametersAre) {
  for (auto stage : make(&GetParam()).getOps<dist::StageOp>()) {
    DenseSet<Attribute> read, contributed;
    bool isForward = true;
    for (Operation &op : stage.getBody().front()) {
      if (auto phase = dyn_cast<dist::PhaseOp>(op))
        isForward = phase.getPhase() == dist::PhaseKind::forward;
      op.walk([&](Operation *inner) {
        if (auto gradient = dyn_cast<model::GradientOp>(inner))
          contributed.insert(gradient.getParameter()
                                 .getDefiningOp<model::ParameterOp>()
                                 .getSourcesAttr());
        if (auto parameter = dyn_cast<model::ParameterOp>(inner))
          if (isForward)
            read.insert(parameter.getSourcesAttr());
      });
    }
    EXPECT_EQ(read.size(), contributed.size());
    for (Attribute sources : contributed)
      EXPECT_TRUE(read.contains(sources))
          << cast<StringAttr>(cast<ArrayAttr>(sources)[0]).str();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, StagesTest,
    testing::Values(
        Plan{"[pipe = 1]", "1f1b", ""}, Plan{"[pipe = 2]", "gpipe", ""},
        Plan{"[pipe = 2]", "1f1b", ""}, Plan{"[pipe = 2]", "zb-h1", ""},
        Plan{"[pipe = 2]", "zb-h2", "", 6},
        Plan{"[pipe = 2]", "interleaved:2", ""},
        Plan{"[pipe = 2]", "interleaved:3", "", 6},
        Plan{"[pipe = 4]", "gpipe", ""}, Plan{"[pipe = 4]", "1f1b", "", 7},
        Plan{"[pipe = 4]", "zb-h1", "", 7}, Plan{"[pipe = 4]", "zb-h2", "", 9},
        Plan{"[pipe = 3]", "interleaved:3", "", 6},
        // Every item a position of its own.
        Plan{"[pipe = 12]", "1f1b", "", 2},
        // Gradients of parameters in the phase of gradients of inputs.
        Plan{"[pipe = 3]", "1f1b", "", 5, false},
        Plan{"[pipe = 2]", "interleaved:2", "", 4, false},
        // Each stage is several ranks.
        Plan{"[pipe = 2, tensor = 2]", "zb-h1",
             "tensor:tensor,sequence:tensor"},
        Plan{"[data = 2, pipe = 2] batch [data]", "1f1b", "data:data"},
        Plan{"[data = 2, pipe = 2] batch [data]", "zb-h2",
             "data:data,zero:data"}));

/// Tables that somebody writes: whatever the proof accepts computes the same.
TEST_F(StagedProgram, ProvedTablesComputeTheSame) {
  auto expected = reference(4);
  std::mt19937 generator(1);
  unsigned accepted = 0, refused = 0;
  const char *schedules[] = {"gpipe", "1f1b", "zb-h1", "zb-h2"};
  for (unsigned trial = 0; trial < 100; ++trial) {
    SCOPED_TRACE(trial);
    Plan plan{"[pipe = 3]", schedules[trial % 4], "", 4};
    model::ProgramOp program = make(&plan);
    dist::ScheduleOp op = dist::findSchedule(program);
    Schedule schedule = op.getSchedule();
    for (unsigned i = 0; i < 1 + trial % 3; ++i) {
      Table &table = schedule.tables[generator() % 3];
      size_t from = generator() % table.size();
      size_t to = std::min(from + generator() % 3, table.size() - 1);
      std::rotate(table.begin() + from, table.begin() + from + 1,
                  table.begin() + to + 1);
    }
    schedule.inFlight = countInFlight(schedule);
    SmallVector<std::string> texts;
    for (const Table &table : schedule.tables)
      texts.push_back(toText(table));
    SmallVector<StringRef> tables(texts.begin(), texts.end());
    op.setTablesAttr(Builder(&context).getStrArrayAttr(tables));
    op.setInFlight(SmallVector<int64_t>(schedule.inFlight.begin(),
                                        schedule.inFlight.end()));
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
    if (failed(verify(*modules.back()))) {
      ++refused;
      continue;
    }
    ++accepted;
    Stages stages(program, 2, 3);
    auto found = stages.run();
    ASSERT_EQ(stages.problem, "");
    ASSERT_LT(difference(expected, found), 1e-12);
    EXPECT_EQ(ArrayRef(stages.inFlight), op.getInFlight());
  }
  EXPECT_GT(accepted, 20u);
  EXPECT_GT(refused, 20u);
}

/// Microbatches are added in one order: schedules differ in time alone.
TEST_F(StagedProgram, SchedulesHaveTheSameBits) {
  std::map<std::string, Tensor> first;
  for (const char *schedule : {"gpipe", "1f1b", "zb-h1", "zb-h2"}) {
    Plan plan{"[pipe = 3]", schedule, "", 5};
    Stages stages(make(&plan), 2, 3);
    auto found = stages.run();
    ASSERT_EQ(stages.problem, "");
    if (first.empty())
      first = found;
    EXPECT_EQ(difference(first, found), 0) << schedule;
  }
}
