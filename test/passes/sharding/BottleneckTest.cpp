//===- BottleneckTest.cpp - low-rank pairs of linears on several ranks ----===//

#include "Ranks.h"

#include "passes/fusion/Passes.h"
#include "passes/sharding/Passes.h"
#include "passes/training/Passes.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace baton;
using namespace baton::sharding::test;

namespace {

/// The norm as it is sometimes printed: every rank divides its part by the
/// deviation of that part, and all multiply the sum of products by what this
/// is of the whole row's.
class DividesPartsFirst : public Ranks {
public:
  using Ranks::Ranks;

private:
  std::vector<Tensor> compute(Operation &op, unsigned rank) override {
    std::vector<Tensor> results = Ranks::compute(op, rank);
    if (isa<model::NormBeginOp>(op)) {
      for (int64_t row = 0; row < results[0].shape[0]; ++row)
        for (int64_t k = 0; k < results[0].shape[1]; ++k)
          results[0].at(row, k) /=
              deviation(results[1].data[row], results[0].shape[1]);
    } else if (auto end = dyn_cast<model::NormEndOp>(op)) {
      // Back in the adjoint, all is as it should be.
      auto sum = end.getSquares().getDefiningOp<dist::AllReduceOp>();
      if (!sum)
        return results;
      const Tensor &own = values[sum.getX()][rank];
      for (int64_t row = 0; row < results[0].shape[0]; ++row)
        for (int64_t n = 0; n < results[0].shape[1]; ++n)
          results[0].at(row, n) *=
              deviation(own.data[row], end.getWidth() / numRanks);
    }
    return results;
  }

  static double deviation(double squares, int64_t width) {
    return std::sqrt(squares / width + 1e-5);
  }
};

class Bottleneck : public testing::TestWithParam<int> {
protected:
  Bottleneck() {
    context.loadDialect<model::ModelDialect, dist::DistDialect>();
  }

  /// On so many ranks, or on one.
  model::ProgramOp make(int ranks, bool deferred, bool joined = false) {
    modules.push_back(
        parseSourceFile<ModuleOp>(INPUTS "/bottleneck.mlir", &context));
    ModuleOp module = *modules.back();
    dist::MeshOp mesh = dist::findMesh(module);
    if (ranks > 1)
      mesh.setSizesAttr(DenseI64ArrayAttr::get(&context, {1, ranks}));
    else
      mesh.erase();
    PassManager passes(&context);
    if (deferred)
      passes.addPass(fusion::createDeferNorms());
    passes.addPass(training::createTrainingForm());
    passes.addPass(training::createDifferentiate());
    if (ranks > 1)
      addSharding(passes, "bottleneck:tensor");
    if (joined) {
      passes.addPass(sharding::createJoinCollectives());
      passes.addPass(sharding::createVerifySharding());
    }
    EXPECT_TRUE(succeeded(passes.run(module)));
    return *module.getOps<model::ProgramOp>().begin();
  }

  /// Parts of a row of which one is a thousand times the other.
  static void makeUnequal(Ranks &ranks) {
    ranks.adjust = [](StringRef name, Tensor &whole) {
      if (name != "embed")
        return;
      for (int64_t row = 0; row < whole.shape[0]; ++row)
        for (int64_t k = 0; k < whole.shape[1] / 2; ++k)
          whole.at(row, k) *= 1e3;
    };
  }

  static double largest(const std::map<std::string, Tensor> &outcome) {
    double result = 0;
    for (const auto &[name, tensor] : outcome)
      for (double value : tensor.data)
        result = std::max(result, std::abs(value));
    return result;
  }

  MLIRContext context;
  std::vector<OwningOpRef<ModuleOp>> modules;
};

} // namespace

TEST_F(Bottleneck, ADividedProductIsTheProductOfWhatIsDivided) {
  Ranks plain(make(1, false), 2, 4), deferred(make(1, true), 2, 4);
  auto expected = plain.run(), found = deferred.run();
  ASSERT_EQ(plain.problem + deferred.problem, "");
  ASSERT_EQ(expected.size(), 52u); // 3 outside, 16 of each layer, losses
  EXPECT_LT(difference(expected, found), 1e-11);
}

TEST_P(Bottleneck, LossesAndGradientsAreThoseOfOneRank) {
  for (bool unequal : {false, true}) {
    Ranks one(make(1, false), 2, 4);
    Ranks ranks(make(GetParam(), true), 2, 4);
    Ranks joined(make(GetParam(), true, true), 2, 4);
    for (Ranks *each : {&one, &ranks, &joined})
      if (unequal)
        makeUnequal(*each);
    auto expected = one.run(), found = ranks.run(), together = joined.run();
    ASSERT_EQ(one.problem + ranks.problem + joined.problem, "");
    EXPECT_LT(difference(expected, found), 1e-11 * largest(expected));
    EXPECT_EQ(difference(found, together), 0);
  }
}

TEST_P(Bottleneck, PartsOfARowCannotBeDividedByThemselves) {
  for (bool unequal : {false, true}) {
    Ranks one(make(1, false), 2, 4);
    DividesPartsFirst ranks(make(GetParam(), true), 2, 4);
    if (unequal) {
      makeUnequal(one);
      makeUnequal(ranks);
    }
    auto expected = one.run(), found = ranks.run();
    // Ranks do not even have the same.
    EXPECT_TRUE(!ranks.problem.empty() ||
                difference(expected, found) > 1e-2 * largest(expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Bottleneck, testing::Values(2, 4));
