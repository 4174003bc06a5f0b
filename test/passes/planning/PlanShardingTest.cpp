//===- PlanShardingTest.cpp - what planned programs compute and exchange --===//

#include "passes/planning/PlanSharding.h"

#include "../sharding/Ranks.h"
#include "passes/sharding/Passes.h"
#include "passes/training/Passes.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

using namespace mlir;
using namespace baton;
using namespace baton::planning;
using namespace baton::sharding::test;

namespace {

class PlanShardingTest : public testing::Test {
protected:
  PlanShardingTest() {
    context.loadDialect<model::ModelDialect, dist::DistDialect>();
  }

  /// The training step of the Llama that sharding is tested with.
  model::ProgramOp make(bool hasMesh) {
    std::string text =
        (*llvm::MemoryBuffer::getFile(INPUTS "/llama.mlir"))->getBuffer().str();
    if (!hasMesh) {
      size_t mesh = text.find("dist.mesh");
      text.erase(mesh, text.find('\n', mesh) - mesh);
    }
    modules.push_back(parseSourceString<ModuleOp>(text, &context));
    PassManager passes(&context);
    passes.addPass(training::createTrainingForm());
    passes.addPass(training::createDifferentiate());
    EXPECT_TRUE(succeeded(passes.run(*modules.back())));
    return *modules.back()->getOps<model::ProgramOp>().begin();
  }

  MLIRContext context;
  std::vector<OwningOpRef<ModuleOp>> modules;
};

} // namespace

/// Machines of every kind: what is chosen depends on them, what is computed and
/// that predictions are right does not.
TEST_F(PlanShardingTest, RanksComputeAndExchangeWhatWasPlanned) {
  const int64_t sequences = 4, length = 4;
  Ranks one(make(false), sequences, length);
  auto expected = one.run();
  ASSERT_EQ(one.problem, "");
  std::mt19937 random(11);
  auto power = [&](double low, double high) {
    return std::pow(10, low + (high - low) * (random() % 1000) / 1000.0);
  };
  std::set<double> payloads;
  for (int draw = 0; draw < 16; ++draw) {
    SCOPED_TRACE(draw);
    model::ProgramOp program = make(true);
    dist::MeshOp mesh = dist::findMesh(program);
    PlanRequest request;
    request.axes = {"tensor"};
    if (draw % 2)
      request.tactics = {"data:data"};
    request.facts = {power(6, 12),  power(7, 12), power(6, 11),
                     power(-7, -4), kForbidden,   4};
    request.sizes = {double(sequences * length), 1, double(length)};
    request.may = {draw % 4 >= 2, draw % 3 == 0};
    auto summary = planSharding(program, mesh, request);
    ASSERT_TRUE(succeeded(summary));
    PassManager passes(&context);
    passes.addPass(sharding::createInsertReshards());
    passes.addPass(sharding::createVerifySharding());
    passes.addPass(sharding::createLowerReshards());
    passes.addPass(sharding::createVerifySharding());
    ASSERT_TRUE(succeeded(passes.run(*modules.back())));
    auto counted = countCommunication(program, mesh, request.sizes);
    ASSERT_TRUE(bool(counted));
    // Where rows are exchanged, sums stay in parts further than plans know.
    if (request.may.rows) {
      EXPECT_LE(counted->collectives, summary->communication.collectives);
      EXPECT_LE(counted->payload, summary->communication.payload);
    } else {
      EXPECT_EQ(counted->collectives, summary->communication.collectives);
      EXPECT_EQ(counted->payload, summary->communication.payload);
    }
    payloads.insert(counted->payload);
    double parts = 0;
    for (const PartSummary &part : summary->parts)
      parts += part.seconds;
    EXPECT_NEAR(parts, summary->seconds(), 1e-9 * summary->seconds());
    Ranks ranks(program, sequences, length);
    auto found = ranks.run();
    EXPECT_EQ(ranks.problem, "");
    EXPECT_LT(difference(expected, found), 1e-11);
  }
  // They are different plans.
  EXPECT_GT(payloads.size(), 4u);
}
