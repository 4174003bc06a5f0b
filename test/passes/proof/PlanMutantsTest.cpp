//===- PlanMutantsTest.cpp - event-verify accepts no broken plan ----------===//
//
// Plans of small models, as the compiler makes them, each changed in one place
// (or two). Whatever event-verify still accepts, the oracle must find free of
// faults for every step that is tried. What event-verify rejects may well be
// sound, as its rules are stricter than the meaning of a plan; how often is
// printed.
//
//===----------------------------------------------------------------------===//

#include "test/passes/proof/PlanMutants.h"
#include "compiler/Dialects.h"
#include "compiler/Pipeline.h"
#include "dialects/Dist/Dist.h"
#include "models/Importer.h"
#include "passes/batching/Passes.h"
#include "passes/fusion/Passes.h"
#include "passes/plan/Passes.h"
#include "passes/proof/Passes.h"
#include "passes/tiling/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

using namespace baton;
using namespace baton::test;

namespace {

/// Heights that divide one another, and some that do not.
struct Tiles {
  int64_t linearRows = 0, attentionRows = 0, plainRows = 0;
  int64_t attentionSplit = 0;
};

struct Model {
  const char *name;
  const char *config = nullptr;
  Tiles tiles = {};
  int64_t maxSeq = 10;
  bool trains = false;
  /// Mutants of one class.
  size_t most = 32;
  /// Ranks, each of which keeps a part of all weights, to train, or some of the
  /// experts.
  int64_t ranks = 1;
  /// Layers make their values again in the backward step, and matrices are
  /// updated by sums and products over each.
  bool recomputes = false;
  /// Phases with entries of tables, before they have events and memory; instead
  /// of a config.
  const char *phases = nullptr;
  /// Ranks that train have some of the experts each, not a part of all weights.
  bool spreadsExperts = false;
  /// And rows of their own, which go to experts of other ranks.
  bool exchangesExperts = false;
  /// Sequences that a step has rows of; 0 for one, with a past.
  int64_t batch = 0;
};

constexpr int64_t kMaxRows = 6, kMaxOutputs = 2;

/// Rows of one tile, of a part of one, of two and of all; steps without and
/// with a past, and with any number of outputs.
constexpr Step kSteps[] = {{1, 0, 1}, {3, 0, 0}, {3, 2, 2}, {5, 0, 2},
                           {5, 2, 1}, {1, 2, 0}, {6, 4, 2}};
/// Of training: sequences have no past, and steps end with an update or not.
constexpr Step kTrainingSteps[] = {
    {1, 0, 1}, {2, 0, 0}, {3, 0, 1}, {5, 0, 0}, {6, 0, 1}};
/// Where there are enough positions: rows on both sides of a part's end, and
/// behind it.
constexpr Step kLongSteps[] = {{3, 62, 1}, {1, 64, 1}};

/// Rows go to segments, as they go to experts: in every layer one task counts
/// and sorts, two products work segment by segment, and rows are gathered.
constexpr const char *kRouted = R"(
#rows = affine_map<()[r, p, o] -> (r)>
#wide = affine_map<()[r, p, o] -> (r, 4)>
event.program @routed max_rows 6 max_seq 10 max_outputs 2 {
  event.buffer @x transient : f32 extents #wide capacity [6, 4] strides [4, 1]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @place transient : i32 extents #rows capacity [6] strides [1]
  event.buffer @hidden transient : f32 extents #wide capacity [6, 4] strides [4, 1]
  event.buffer @out transient : f32 extents #wide capacity [6, 4] strides [4, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @place holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r) distinct
  event.segment "begin" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r ceildiv 2)> capacity [3]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m * 2, 0) to (m)[r, p, o] -> (m * 2 + 2, 4)>] {}
  }
  event.segment "layers" repeat 2 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 4)>,
                #event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>,
                #event.access<write @place, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {}
    event.phase "up" grid affine_map<()[r, p, o] -> (3, 2)> capacity [3, 2]
      entries [#event.address<@bounds, (s, c)[r, p, o] -> (s)>, #event.address<@bounds, (s, c)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, c, b, e)[r, p, o] -> (s) to (s, c, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, c, b, e)[r, p, o] -> (0, 0) to (s, c, b, e)[r, p, o] -> (r, 4)>,
                #event.access<write @hidden, (s, c, b, e)[r, p, o] -> (b, c * 2) to (s, c, b, e)[r, p, o] -> (e, c * 2 + 2)>] {}
    event.phase "down" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @hidden, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 4)>,
                #event.access<write @out, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 4)>] {}
    event.phase "combine" grid #rows capacity [6]
      entries [#event.address<@place, (m)[r, p, o] -> (m)>]
      accesses [#event.access<read @place, (m, v)[r, p, o] -> (m) to (m, v)[r, p, o] -> (m + 1)>,
                #event.access<read @out, (m, v)[r, p, o] -> (v, 0) to (m, v)[r, p, o] -> (v + 1, 4)>,
                #event.access<read @x, (m, v)[r, p, o] -> (m, 0) to (m, v)[r, p, o] -> (m + 1, 4)>,
                #event.access<write @x, (m, v)[r, p, o] -> (m, 0) to (m, v)[r, p, o] -> (m + 1, 4)>] {}
  }
  event.segment "end" repeat 1 {
    event.phase "hand" grid affine_map<()[r, p, o] -> ()> capacity []
      accesses [#event.access<read @x, ()[r, p, o] -> (0, 0) to ()[r, p, o] -> (r, 4)>] {}
  }
})";

/// Rows of several sequences, as a batch has them: the runtime says where each
/// sequence begins, in which order they go, and in which slots
/// they are kept. (Under names of inputs that it has today.)
constexpr const char *kBatched = R"(
#rows = affine_map<()[r, p, o] -> (r)>
#wide = affine_map<()[r, p, o] -> (r, 2)>
event.program @batched max_rows 6 max_seq 10 max_outputs 2 {
  event.buffer @tokens persistent : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @targets persistent : i32 extents #rows capacity [6] strides [1]
  event.buffer @positions persistent : i32 extents #rows capacity [6] strides [1]
  event.buffer @x transient : f32 extents #wide capacity [6, 2] strides [2, 1]
  event.buffer @sorted transient : f32 extents #wide capacity [6, 2] strides [2, 1]
  event.buffer @kept transient : f32 extents #wide capacity [6, 2] strides [2, 1]
  event.buffer @y transient : f32 extents #wide capacity [6, 2] strides [2, 1]
  event.buffer @logits transient : f32 extents affine_map<()[r, p, o] -> (o, 2)> capacity [2, 2] strides [2, 1]
  event.table @tokens holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @targets holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r) distinct
  event.table @positions holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r) distinct
  event.segment "layers" repeat 2 {
    event.phase "make" grid affine_map<()[r, p, o] -> (r ceildiv 2, 2)> capacity [3, 2]
      accesses [#event.access<write @x, (m, c)[r, p, o] -> (m * 2, c) to (m, c)[r, p, o] -> (m * 2 + 2, c + 1)>] {}
    event.phase "sort" grid #rows capacity [6]
      entries [#event.address<@positions, (m)[r, p, o] -> (m)>]
      accesses [#event.access<read @positions, (m, v)[r, p, o] -> (m) to (m, v)[r, p, o] -> (m + 1)>,
                #event.access<read @x, (m, v)[r, p, o] -> (m, 0) to (m, v)[r, p, o] -> (m + 1, 2)>,
                #event.access<write @sorted, (m, v)[r, p, o] -> (v, 0) to (m, v)[r, p, o] -> (v + 1, 2)>] {}
    event.phase "append" grid #rows capacity [6]
      entries [#event.address<@targets, (m)[r, p, o] -> (m)>, #event.address<@positions, (m)[r, p, o] -> (m)>]
      accesses [#event.access<read @targets, (m, v, w)[r, p, o] -> (m) to (m, v, w)[r, p, o] -> (m + 1)>,
                #event.access<read @positions, (m, v, w)[r, p, o] -> (m) to (m, v, w)[r, p, o] -> (m + 1)>,
                #event.access<read @sorted, (m, v, w)[r, p, o] -> (w, 0) to (m, v, w)[r, p, o] -> (w + 1, 2)>,
                #event.access<write @kept, (m, v, w)[r, p, o] -> (v, 0) to (m, v, w)[r, p, o] -> (v + 1, 2)>] {}
    event.phase "attend" grid affine_map<()[r, p, o] -> (3, 2)> capacity [3, 2]
      entries [#event.address<@tokens, (s, c)[r, p, o] -> (s)>, #event.address<@tokens, (s, c)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @tokens, (s, c, b, e)[r, p, o] -> (s) to (s, c, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @sorted, (s, c, b, e)[r, p, o] -> (b, c) to (s, c, b, e)[r, p, o] -> (e, c + 1)>,
                #event.access<read @kept, (s, c, b, e)[r, p, o] -> (0, 0) to (s, c, b, e)[r, p, o] -> (r, 2)>,
                #event.access<write @y, (s, c, b, e)[r, p, o] -> (b, c) to (s, c, b, e)[r, p, o] -> (e, c + 1)>] {}
    event.phase "leave" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@tokens, (s)[r, p, o] -> (s)>, #event.address<@tokens, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @tokens, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 2)>] {}
  }
  event.segment "end" repeat 1 {
    event.phase "score" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @y, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 2)>,
                #event.access<write @logits, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 2)>] {}
    event.phase "hand" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @logits, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 2)>,
                #event.access<write @tokens, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>,
                #event.access<write @targets, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @positions, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {
      event.advance @logits
    }
  }
})";

constexpr Model kModels[] = {
    {"grouped-heads",
     R"({
      "architectures": ["LlamaForCausalLM"], "model_type": "llama",
      "hidden_act": "silu", "attention_bias": false, "mlp_bias": false,
      "max_position_embeddings": 16, "rms_norm_eps": 0.01,
      "tie_word_embeddings": false, "hidden_size": 32, "num_hidden_layers": 3,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
      "intermediate_size": 48, "vocab_size": 40, "rope_theta": 10000.0})",
     {3, 2, 2}},
    {"learned-positions",
     R"({
      "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
      "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05,
      "n_embd": 24, "n_head": 3, "n_layer": 2, "n_positions": 16,
      "vocab_size": 40})",
     {2, 4, 2}},
    {"odd-widths",
     R"({
      "architectures": ["LlamaForCausalLM"], "model_type": "llama",
      "hidden_act": "silu", "attention_bias": true, "mlp_bias": true,
      "max_position_embeddings": 16, "rms_norm_eps": 1e-05,
      "tie_word_embeddings": true, "torch_dtype": "float16",
      "hidden_size": 21, "num_hidden_layers": 2, "num_attention_heads": 3,
      "num_key_value_heads": 1, "head_dim": 6, "intermediate_size": 19,
      "vocab_size": 25, "rope_theta": 10000.0})",
     {3, 3, 1}},
    {"split-attention",
     R"({
      "architectures": ["LlamaForCausalLM"], "model_type": "llama",
      "hidden_act": "silu", "attention_bias": false, "mlp_bias": false,
      "max_position_embeddings": 128, "rms_norm_eps": 0.01,
      "tie_word_embeddings": false, "hidden_size": 16, "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4,
      "intermediate_size": 16, "vocab_size": 20, "rope_theta": 10000.0})",
     {3, kMaxRows, 4, 64},
     70},
    {"experts",
     R"({
      "architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
      "hidden_act": "silu", "max_position_embeddings": 16,
      "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "hidden_size": 16,
      "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": 32,
      "num_local_experts": 3, "num_experts_per_tok": 2, "vocab_size": 20,
      "rope_theta": 10000.0})",
     {3, 2, 2},
     10,
     /*trains=*/false,
     96},
    // A rank has two of them, and adds up with others what they make.
    {"experts-of-ranks",
     R"({
      "architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
      "hidden_act": "silu", "max_position_embeddings": 16,
      "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "hidden_size": 16,
      "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": 32,
      "num_local_experts": 4, "num_experts_per_tok": 2, "vocab_size": 20,
      "rope_theta": 10000.0})",
     {3, 2, 2},
     10,
     /*trains=*/false,
     96,
     /*ranks=*/2},
    {"training",
     R"({
      "architectures": ["LlamaForCausalLM"], "model_type": "llama",
      "hidden_act": "silu", "attention_bias": false, "mlp_bias": false,
      "max_position_embeddings": 16, "rms_norm_eps": 1e-05,
      "tie_word_embeddings": true, "hidden_size": 12, "num_hidden_layers": 2,
      "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4,
      "intermediate_size": 20, "vocab_size": 18, "rope_theta": 10000.0})",
     {3, 2, 2},
     10,
     /*trains=*/true,
     12},
    // A layer's weights are gathered while the layer before computes.
    {"gathered-weights",
     R"({
      "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
      "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05,
      "n_embd": 8, "n_head": 1, "n_layer": 3, "n_positions": 16,
      "vocab_size": 10})",
     {3, 3, 3},
     10,
     /*trains=*/true,
     6,
     /*ranks=*/2},
    {"recomputed-layers",
     R"({
      "architectures": ["LlamaForCausalLM"], "model_type": "llama",
      "hidden_act": "silu", "attention_bias": false, "mlp_bias": false,
      "max_position_embeddings": 16, "rms_norm_eps": 1e-05,
      "tie_word_embeddings": true, "hidden_size": 8, "num_hidden_layers": 2,
      "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 8,
      "intermediate_size": 12, "vocab_size": 10, "rope_theta": 10000.0})",
     {3, 3, 2},
     10,
     /*trains=*/true,
     6,
     /*ranks=*/1,
     /*recomputes=*/true},
    {.name = "trained-experts",
     .config = R"({
      "architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
      "hidden_act": "silu", "max_position_embeddings": 16,
      "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "hidden_size": 16,
      "num_hidden_layers": 2, "num_attention_heads": 1,
      "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": 16,
      "num_local_experts": 3, "num_experts_per_tok": 2, "vocab_size": 10,
      "rope_theta": 10000.0, "output_router_logits": true})",
     .tiles = {3, 3, 2},
     .maxSeq = 10,
     .trains = true,
     .most = 24},
    // What a layer saves has zeros where other ranks' experts have places.
    {.name = "trained-experts-of-ranks",
     .config = R"({
      "architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
      "hidden_act": "silu", "max_position_embeddings": 16,
      "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "hidden_size": 16,
      "num_hidden_layers": 2, "num_attention_heads": 1,
      "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": 16,
      "num_local_experts": 4, "num_experts_per_tok": 2, "vocab_size": 10,
      "rope_theta": 10000.0})",
     .tiles = {3, 3, 2},
     .maxSeq = 10,
     .trains = true,
     .most = 24,
     .ranks = 2,
     .spreadsExperts = true},
    // How many rows come, a table says.
    {.name = "exchanged-experts",
     .config = R"({
      "architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
      "hidden_act": "silu", "max_position_embeddings": 16,
      "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "hidden_size": 16,
      "num_hidden_layers": 2, "num_attention_heads": 1,
      "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": 16,
      "num_local_experts": 4, "num_experts_per_tok": 2, "vocab_size": 10,
      "rope_theta": 10000.0})",
     .tiles = {3, 3, 2},
     .maxSeq = 10,
     .trains = true,
     .most = 24,
     .ranks = 2,
     .spreadsExperts = true,
     .exchangesExperts = true},
    {.name = "many-sequences",
     .config = R"({
      "architectures": ["LlamaForCausalLM"], "model_type": "llama",
      "hidden_act": "silu", "attention_bias": false, "mlp_bias": false,
      "max_position_embeddings": 100, "rms_norm_eps": 0.01,
      "tie_word_embeddings": false, "hidden_size": 16, "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4,
      "intermediate_size": 16, "vocab_size": 20, "rope_theta": 10000.0})",
     .tiles = {3, 2, 2},
     .maxSeq = 100,
     .most = 128,
     .batch = 2},
    {.name = "routed-rows", .most = 128, .phases = kRouted},
    {.name = "batched-rows", .most = 128, .phases = kBatched},
};

/// An update with a state, of each parameter as it is.
constexpr const char *kOptimizer = R"(
  update.rule @momentum states ["momentum"] {
  ^bb0(%parameter: tensor<?x?xf32>, %gradient: tensor<?x?xf32>,
       %momentum: tensor<?x?xf32>):
    %rate = update.number "learning_rate"
    %p, %m = update.map (%w = %parameter, %g = %gradient, %old = %momentum) {
      %new = arith.addf %old, %g : f32
      %change = arith.mulf %new, %rate : f32
      %next = arith.subf %w, %change : f32
      update.yield %next, %new
    }
    update.return %p, %m
  }
)";
constexpr const char *kEveryParameter = "update.group @momentum";
constexpr const char *kMatrices = R"(
  update.rule @turned states ["momentum"] {
  ^bb0(%parameter: tensor<?x?xf32>, %gradient: tensor<?x?xf32>,
       %momentum: tensor<?x?xf32>):
    %rate = update.number "learning_rate"
    %squares = update.sum (%g = %gradient) {
      %g2 = arith.mulf %g, %g : f32
      update.yield %g2
    }
    %m = update.map (%g = %gradient, %old = %momentum) {
      %unit = arith.divf %g, %squares : f32
      %new = arith.addf %old, %unit : f32
      update.yield %new
    }
    %gram = update.product %m, %m transposed
    %turned = update.product %gram, %m
    %p = update.map (%w = %parameter, %t = %turned) {
      %change = arith.mulf %t, %rate : f32
      %next = arith.subf %w, %change : f32
      update.yield %next
    }
    update.return %p, %m
  }
  update.group @momentum rank 1
  update.group @turned
)";

/// A folder with one config.json, for as long as it lives.
class ConfigFolder {
public:
  explicit ConfigFolder(const char *config) {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("plan-mutants", path));
    std::ofstream(file()) << config;
  }
  ~ConfigFolder() {
    (void)llvm::sys::fs::remove(file());
    (void)llvm::sys::fs::remove(path);
  }
  std::string folder() const { return path.str().str(); }

private:
  std::string file() const { return folder() + "/config.json"; }
  llvm::SmallString<128> path;
};

event::ProgramOp programOf(mlir::ModuleOp module) {
  return *module.getOps<event::ProgramOp>().begin();
}

/// A class of mutants, and of how many one is judged.
class PlanMutants
    : public testing::TestWithParam<std::tuple<MutationClass, unsigned>> {
protected:
  PlanMutants() : context(mlir::MLIRContext::Threading::DISABLED) {
    mlir::DialectRegistry registry;
    compiler::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  void addOptimizer(mlir::ModuleOp module, const char *groups) {
    auto rules = mlir::parseSourceString<mlir::ModuleOp>(
        std::string(kOptimizer) + groups, &context);
    ASSERT_TRUE(rules);
    auto first = module.getBody()->begin();
    for (mlir::Operation &op :
         llvm::make_early_inc_range(rules->getBody()->getOperations()))
      op.moveBefore(module.getBody(), first);
  }

  void addMesh(mlir::ModuleOp module, const compiler::MeshAxis &axis,
               bool isBatch) {
    auto builder = mlir::OpBuilder::atBlockBegin(module.getBody());
    builder.create<dist::MeshOp>(module.getLoc(),
                                 builder.getStrArrayAttr({axis.name}),
                                 builder.getDenseI64ArrayAttr(axis.size),
                                 isBatch ? builder.getStrArrayAttr({axis.name})
                                         : builder.getArrayAttr({}));
  }

  void addPlanPasses(mlir::PassManager &manager) {
    manager.addPass(tasks::createDeriveEvents());
    manager.addPass(tasks::createPlanMemory());
    manager.addPass(tasks::createScheduleStatic());
  }

  mlir::OwningOpRef<mlir::ModuleOp> planOf(const Model &model) {
    if (model.phases) {
      auto module =
          mlir::parseSourceString<mlir::ModuleOp>(model.phases, &context);
      mlir::PassManager manager(&context);
      addPlanPasses(manager);
      EXPECT_TRUE(module && succeeded(manager.run(*module))) << model.name;
      return module;
    }
    ConfigFolder config(model.config);
    models::ImportOptions options;
    options.maxSeq = model.maxSeq;
    std::string error;
    auto module =
        models::importFolder(context, config.folder(), options, error);
    EXPECT_TRUE(module) << error;
    if (!module)
      return {};
    mlir::PassManager manager(&context);
    if (model.trains) {
      addOptimizer(*module, model.recomputes ? kMatrices : kEveryParameter);
      compiler::CompileOptions training;
      training.training = true;
      if (model.recomputes)
        training.recompute = training::RecomputeMode::full;
      compiler::addTrainingPasses(manager, training, schedule::Schedule());
      if (model.ranks > 1) {
        training.mesh = {
            {model.spreadsExperts ? compiler::kExpertAxis : compiler::kDataAxis,
             model.ranks}};
        training.zero = model.spreadsExperts ? 0 : 3;
        training.exchangesExperts = model.exchangesExperts;
        addMesh(*module, training.mesh.front(),
                !model.spreadsExperts || model.exchangesExperts);
        compiler::addShardingPasses(manager, training, /*localizes=*/true);
      }
    } else {
      manager.addPass(mlir::createCanonicalizerPass());
      manager.addPass(mlir::createCSEPass());
      if (model.ranks > 1) {
        compiler::CompileOptions decoding;
        decoding.mesh = {{compiler::kExpertAxis, model.ranks}};
        addMesh(*module, decoding.mesh.front(), /*isBatch=*/false);
        compiler::addShardingPasses(manager, decoding, /*localizes=*/true,
                                    /*fusesAttention=*/true);
      }
      manager.addPass(fusion::createAttentionFusion());
      manager.addPass(fusion::createLinearGrouping());
      manager.addPass(fusion::createNormRewrites());
      if (model.batch)
        manager.addPass(batching::createBatchForm({model.batch}));
      manager.addPass(mlir::createCanonicalizerPass());
    }
    tasks::TileTasksOptions tiles;
    tiles.maxRows = kMaxRows;
    tiles.maxOutputs = model.trains ? 1 : kMaxOutputs;
    tiles.linearRows = model.tiles.linearRows;
    tiles.linearColumns = 16;
    tiles.attentionRows = model.tiles.attentionRows;
    tiles.attentionSplit = model.tiles.attentionSplit;
    tiles.plainRows = model.tiles.plainRows;
    tiles.gatheredLayers = 2;
    manager.addPass(tasks::createTileTasks(tiles));
    addPlanPasses(manager);
    if (failed(manager.run(*module))) {
      ADD_FAILURE() << "no plan of " << model.name;
      return {};
    }
    return module;
  }

  /// What the dialect's verifier and event-verify have against a plan.
  std::optional<std::string> rejection(mlir::ModuleOp module) {
    std::string first;
    mlir::ScopedDiagnosticHandler handler(&context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            if (first.empty())
                                              first = diagnostic.str();
                                            return mlir::success();
                                          });
    mlir::PassManager manager(&context);
    manager.addPass(tasks::createEventVerify());
    if (succeeded(mlir::verify(module)) && succeeded(manager.run(module)))
      return std::nullopt;
    return first.empty() ? "no reason given" : first;
  }

  static llvm::ArrayRef<Step> stepsOf(const Model &model) {
    return model.trains || model.batch ? llvm::ArrayRef(kTrainingSteps)
                                       : llvm::ArrayRef(kSteps);
  }

  /// Of the steps that are tried; only the schedules' own if there are any.
  static std::optional<Fault> faultOf(event::ProgramOp program,
                                      const Model &model) {
    auto schedules = program.getBody().getOps<event::ScheduleOp>();
    if (!schedules.empty()) {
      auto schedule = *schedules.begin();
      return findFault(program, {int64_t(schedule.getRows()),
                                 int64_t(schedule.getPast()),
                                 int64_t(schedule.getOutputs())});
    }
    // Of tables, some that may come.
    unsigned tries = program.getBody().getOps<event::TableOp>().empty() ? 1 : 4;
    for (const Step &step : stepsOf(model))
      for (unsigned seed = 0; seed < tries; ++seed)
        if (auto fault = findFault(program, step, seed))
          return fault;
    for (const Step &step : kLongSteps)
      if (step.rows + step.past <= int64_t(program.getMaxSeq()))
        if (auto fault = findFault(program, step))
          return fault;
    return std::nullopt;
  }

  mlir::MLIRContext context;
};

constexpr unsigned kSeed = 20;

TEST_P(PlanMutants, NoFaultyPlanIsAccepted) {
  auto [mutationClass, share] = GetParam();
  size_t made = 0, rejected = 0, confirmed = 0;
  // Where each model has some mutants only, each class has some models only.
  unsigned number = static_cast<unsigned>(mutationClass);
  for (const Model &model : kModels) {
    if (share > 1 && ++number % 3)
      continue;
    auto plan = planOf(model);
    ASSERT_TRUE(plan);
    auto steps = stepsOf(model);
    auto mutations =
        mutationsOf(programOf(*plan), mutationClass, kSeed, model.most / share,
                    steps[made % steps.size()]);
    for (const Mutation &mutation : mutations) {
      mlir::OwningOpRef<mlir::ModuleOp> mutant = plan->clone();
      mutation.apply(programOf(*mutant));
      ++made;
      bool isRejected = rejection(*mutant).has_value();
      // The oracle wants a program that the dialect's verifier is content with.
      bool isWellFormed;
      {
        mlir::ScopedDiagnosticHandler quiet(
            &context, [](mlir::Diagnostic &) { return mlir::success(); });
        isWellFormed = succeeded(mlir::verify(*mutant));
      }
      std::optional<Fault> fault;
      if (isWellFormed)
        fault = faultOf(programOf(*mutant), model);
      rejected += isRejected;
      confirmed += isRejected && (fault || !isWellFormed);
      if (!isRejected && fault)
        ADD_FAILURE() << "event-verify accepts " << model.name << " with "
                      << mutation.description << ", but " << fault->message;
    }
  }
  std::printf("%s: %zu made, %zu rejected, %zu accepted; %zu rejections "
              "confirmed (%.0f %% of them needless)\n",
              nameOf(mutationClass), made, rejected, made - rejected, confirmed,
              rejected ? 100.0 * (rejected - confirmed) / rejected : 0.0);
  EXPECT_GE(rejected, 1u);
}

std::vector<MutationClass> allClasses() {
  std::vector<MutationClass> classes;
  for (unsigned i = 0; i < kMutationClasses; ++i)
    classes.push_back(MutationClass(i));
  return classes;
}

std::string nameOfCase(
    const testing::TestParamInfo<std::tuple<MutationClass, unsigned>> &info) {
  return nameOf(std::get<0>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Class, PlanMutants,
                         testing::Combine(testing::ValuesIn(allClasses()),
                                          testing::Values(12)),
                         nameOfCase);
INSTANTIATE_TEST_SUITE_P(EveryClass, PlanMutants,
                         testing::Combine(testing::ValuesIn(allClasses()),
                                          testing::Values(1)),
                         nameOfCase);

class Plans : public PlanMutants {
protected:
  template <typename Wanted> void expectAThousandMutants(Wanted wanted);
};

TEST_F(Plans, AreAcceptedAndFreeOfFaults) {
  for (const Model &model : kModels) {
    auto plan = planOf(model);
    ASSERT_TRUE(plan);
    EXPECT_EQ(rejection(*plan), std::nullopt) << model.name;
    auto fault = faultOf(programOf(*plan), model);
    EXPECT_FALSE(fault) << model.name << ": " << fault->message;
  }
}

/// That plans of models that are so have enough mutants.
template <typename Wanted> void Plans::expectAThousandMutants(Wanted wanted) {
  size_t made = 0;
  for (const Model &model : kModels) {
    if (!wanted(model))
      continue;
    auto plan = planOf(model);
    ASSERT_TRUE(plan);
    for (MutationClass mutationClass : allClasses())
      made += mutationsOf(programOf(*plan), mutationClass, kSeed, model.most,
                          stepsOf(model)[0])
                  .size();
  }
  std::printf("%zu mutants\n", made);
  EXPECT_GE(made, 1000u);
}

TEST_F(Plans, HaveAThousandMutants) {
  expectAThousandMutants([](const Model &) { return true; });
}

TEST_F(Plans, OfManySequencesHaveAThousandMutants) {
  expectAThousandMutants([](const Model &model) { return model.batch > 0; });
}

TEST_F(Plans, OfExpertsHaveAThousandMutants) {
  for (const char *ending : {"experts", "experts-of-ranks"})
    expectAThousandMutants([&](const Model &model) {
      return llvm::StringRef(model.name).ends_with(ending);
    });
}

} // namespace
