//===- ScratchTest.cpp - plans reserve what task bodies ask for -----------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/training.h"
#include "dialects/Event/Event.h"
#include "dialects/Model/Model.h"
#include "dialects/Update/Update.h"
#include "passes/plan/Passes.h"
#include "passes/proof/Passes.h"
#include "passes/tiling/Passes.h"
#include "passes/tiling/Products.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

using namespace baton;

namespace {

/// {0} query heads on {1} key heads of {2} and value heads of {4}; nothing but
/// attention needs scratch.
constexpr const char *kModel = R"mlir(
model.program @attention max_seq 80 {{
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<5 x {3} x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<5 x {3} x f32>) -> !model.tensor<rows x {3} x f32>
  %q = model.reshape %e : (!model.tensor<rows x {3} x f32>) -> !model.tensor<rows x {0} x {2} x f32>
  %x = model.slice %q {{axis = 1, offset = 0} : (!model.tensor<rows x {0} x {2} x f32>) -> !model.tensor<rows x {1} x {2} x f32>
  %k = model.kv_append %x to "k" : (!model.tensor<rows x {1} x {2} x f32>) -> !model.tensor<kv x {1} x {2} x f32>
  %values = model.parameter ["v"] : !model.tensor<5 x {5} x f32>
  %w = model.embedding %tokens, %values : (!model.tensor<rows x i32>, !model.tensor<5 x {5} x f32>) -> !model.tensor<rows x {5} x f32>
  %y = model.reshape %w : (!model.tensor<rows x {5} x f32>) -> !model.tensor<rows x {1} x {4} x f32>
  %v = model.kv_append %y to "v" : (!model.tensor<rows x {1} x {4} x f32>) -> !model.tensor<kv x {1} x {4} x f32>
  %a = model.attention %q, %k, %v {{scale = 1.0 : f32} : (!model.tensor<rows x {0} x {2} x f32>, !model.tensor<kv x {1} x {2} x f32>, !model.tensor<kv x {1} x {4} x f32>) -> !model.tensor<rows x {0} x {4} x f32>
  %f = model.reshape %a : (!model.tensor<rows x {0} x {4} x f32>) -> !model.tensor<rows x {6} x f32>
  %l = model.last_rows %f : (!model.tensor<rows x {6} x f32>) -> !model.tensor<outputs x {6} x f32>
  model.return %l : !model.tensor<outputs x {6} x f32>
}
)mlir";

/// The plan, without a split or with one.
mlir::OwningOpRef<mlir::ModuleOp> planOf(mlir::MLIRContext &context,
                                         int64_t rows, int64_t heads,
                                         int64_t groups, int64_t width,
                                         int64_t valueWidth, int64_t split) {
  context.loadDialect<model::ModelDialect, event::EventDialect>();
  std::string text =
      llvm::formatv(kModel, heads, groups, width, heads * width, valueWidth,
                    groups * valueWidth, heads * valueWidth)
          .str();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  mlir::PassManager manager(&context);
  tasks::TileTasksOptions options;
  options.attentionRows = rows;
  options.attentionSplit = split;
  if (split)
    options.maxRows = rows;
  manager.addPass(tasks::createTileTasks(options));
  if (!module || failed(manager.run(*module)))
    return {};
  return module;
}

event::ProgramOp programOf(mlir::ModuleOp module) {
  return *module.getOps<event::ProgramOp>().begin();
}

} // namespace

TEST(Scratch, OfAttentionIsWhatTheLibraryAsksFor) {
  for (int64_t rows : {1, 6, 48})
    for (auto [heads, groups] :
         {std::pair<int64_t, int64_t>{1, 1}, {6, 2}, {32, 1}})
      for (auto [width, valueWidth] :
           {std::pair<int64_t, int64_t>{10, 10}, {64, 64}, {16, 100}})
        for (int64_t split : {0, 64}) {
          mlir::MLIRContext context;
          auto plan =
              planOf(context, rows, heads, groups, width, valueWidth, split);
          ASSERT_TRUE(plan);
          EXPECT_EQ(programOf(*plan).getScratchBytes(),
                    baton_attention_scratch_bytes(rows, heads / groups, width,
                                                  valueWidth))
              << rows << " rows, " << heads << " heads on " << groups << " of "
              << width << " and " << valueWidth << ", split " << split;
        }
}

namespace {
/// {0} heads of {1}, and a vocabulary of {3}.
constexpr const char *kTraining = R"mlir(
update.rule @keep {{
^bb0(%p: tensor<?x?xf32>, %g: tensor<?x?xf32>):
  %n = update.map (%w = %p) {{
    update.yield %w
  }
  update.return %n
}
update.group @keep
model.program @training max_seq 80 training {{
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %table = model.parameter ["t"] : !model.tensor<{3} x {2} x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<{3} x {2} x f32>) -> !model.tensor<rows x {2} x f32>
  %q = model.reshape %e : (!model.tensor<rows x {2} x f32>) -> !model.tensor<rows x {0} x {1} x f32>
  %a, %s = model.sequence_attention %q, %q, %q, %positions {{scale = 1.0 : f32} : (!model.tensor<rows x {0} x {1} x f32>, !model.tensor<rows x {0} x {1} x f32>, !model.tensor<rows x {0} x {1} x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x {0} x {1} x f32>, !model.tensor<rows x {0} x 2 x f32>)
  %f = model.reshape %a : (!model.tensor<rows x {0} x {1} x f32>) -> !model.tensor<rows x {2} x f32>
  %l, %dx, %dw = model.cross_entropy %f, %table, %targets, %weights : (!model.tensor<rows x {2} x f32>, !model.tensor<{3} x {2} x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x {2} x f32>, !model.tensor<{3} x {2} x f32>)
  model.gradient %dw of %table : !model.tensor<{3} x {2} x f32>, !model.tensor<{3} x {2} x f32>
  model.return %l : !model.tensor<rows x f32>
}
)mlir";
} // namespace

TEST(Scratch, OfTrainingIsWhatTheLibraryAsksFor) {
  // Attention needs most in the first, products of the loss in the others.
  for (auto [heads, width, rows, columns] :
       {std::tuple<int64_t, int64_t, int64_t, int64_t>{1, 2048, 16, 16},
        {2, 20, 7, 48},
        {4, 64, 128, 256}}) {
    mlir::MLIRContext context;
    context.loadDialect<model::ModelDialect, event::EventDialect,
                        update::UpdateDialect>();
    std::string text =
        llvm::formatv(kTraining, heads, width, heads * width, 300).str();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    mlir::PassManager manager(&context);
    tasks::TileTasksOptions options;
    options.linearRows = rows;
    options.linearColumns = columns;
    options.attentionRows = 16;
    options.maxRows = 256;
    manager.addPass(tasks::createTileTasks(options));
    ASSERT_TRUE(succeeded(manager.run(*module)));
    EXPECT_EQ(
        programOf(*module).getScratchBytes(),
        std::max(baton_sequence_attention_scratch_bytes(16, 1, width, width),
                 baton_product_scratch_bytes(columns)))
        << heads << " heads of " << width << ", tiles of " << rows << " by "
        << columns;
  }
}

TEST(Scratch, OfFrozenWeightsIsWhatTheLibraryAsksFor) {
  for (int64_t columns : {1, 16, 32, 100}) {
    EXPECT_EQ(tasks::transposedScratch(columns),
              baton_linear_transposed_scratch_bytes(columns));
    for (int64_t rank : {1, 16, 1024})
      EXPECT_EQ(tasks::squaresScratch(columns, rank),
                baton_adapted_squares_scratch_bytes(columns, rank));
  }
}

TEST(Scratch, PartsOfAttentionAreAsWideAsTheLibrarysAre) {
  for (int64_t valueWidth : {10, 64}) {
    mlir::MLIRContext context;
    auto plan = planOf(context, 2, 6, 2, 16, valueWidth, 64);
    ASSERT_TRUE(plan);
    auto partials =
        programOf(*plan).lookupSymbol<event::BufferOp>("attention.partial");
    ASSERT_TRUE(partials);
    EXPECT_EQ(partials.getStrides()[2],
              baton_attention_partial_width(valueWidth));
  }
}
