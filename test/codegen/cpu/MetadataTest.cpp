//===- MetadataTest.cpp - a plan's description as JSON --------------------===//

#include "codegen/plan/Metadata.h"
#include "test/codegen/cpu/Fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace baton::cpu;
using namespace baton::cpu::test;
using nlohmann::json;

static constexpr const char *kPlan = R"mlir(
event.program @p max_rows 16 max_seq 32 max_outputs 4 proof {status = "proved", assumptions = ["one", "two"]}
    attributes {scratch_bytes = 4096 : i64} {
  event.parameter @w : f32 layers 2 as #event.panels<12 by 4 alternating>
      from [#event.source<["a.weight", "b.weight"] : 4 by 12 transposed blocks array<i64: 2, 4, 2> plus 5.000000e-01 : f64
                          shards [#event.shard<dimension = 0, extent = 12, axes = ["tp"], granularity = 2, units = [3, 3]>]>]
      {first_layer = 1, layer_step = 2}
  event.parameter @v : bf16 layers 1 {}
  event.storage @s0 bytes 768
  event.storage @s1 bytes 4096
  event.buffer @tokens input : i32 extents affine_map<()[r, p, o] -> (p + r)> capacity [32] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 12)> capacity [16, 12] strides [12, 1] in @s0
  event.buffer @keys state : f32 extents affine_map<()[r, p, o] -> (p + r, 4)> capacity [32, 4] strides [4, 1] in @s1 {offset = 3, layers = 2, layer_stride = 128, interleave = 8}
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (o, 7)> capacity [4, 7] strides [8, 1] in @s0
  event.buffer @scores transient : f32 extents affine_map<()[r, p, o] -> (r * 2 + o)> capacity [36] strides [1] in @s0
  event.tensor @e shape affine_map<()[r, p, o] -> (r ceildiv 8)> capacity [2] count affine_map<()[r, p, o] -> (1)>
  event.tensor @f shape affine_map<()[r, p, o] -> (r, 3)> capacity [16, 3] count affine_map<()[r, p, o] -> (1)>
  event.segment "start" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [16]
      accesses [#event.access<read @tokens, (m)[r, p, o] -> (p + m) to (m)[r, p, o] -> (p + m + 1)>,
                #event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 6)>,
                #event.access<write @x, (m)[r, p, o] -> (m, 6) to (m)[r, p, o] -> (m + 1, 12)>] {
    }
  }
  event.segment "block" repeat 2 {
    event.phase "keys" grid affine_map<()[r, p, o] -> (r)> capacity [16]
      accesses [#event.access<write @keys, (m)[r, p, o] -> (p + m, 0) to (m)[r, p, o] -> (p + m + 1, 4)>,
                #event.access<write @scores, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] attributes {event.flops = 96 : i64} {
    }
    event.phase "head" grid affine_map<()[r, p, o] -> ()> capacity []
      accesses [#event.access<write @y, ()[r, p, o] -> (0, 0) to ()[r, p, o] -> (o, 7)>] {
      event.advance @y
    }
  }
}
)mlir";

TEST(Metadata, DescribesThePlan) {
  Plan plan(kPlan);
  json metadata =
      baton::plan::planMetadata(baton::plan::ProgramLayout(plan.program()));
  json expected = json::parse(R"json({
    "max_rows": 16, "max_seq": 32, "max_outputs": 4, "scratch_bytes": 4096,
    "parameters": [
      {"name": "w", "layers": 2, "kind": "panels", "dtype": "f32", "n": 12,
       "k": 4, "interleave": true, "first_layer": 1, "layer_step": 2,
       "parts": [{"sources": ["a.weight", "b.weight"], "shape": [4, 12],
                  "transposed": true, "blocks": [2, 4, 2], "plus": 0.5,
                  "shards": [{"dimension": 0, "extent": 12, "axes": ["tp"],
                              "granularity": 2, "units": [3, 3]}]}]},
      {"name": "v", "layers": 1}],
    "storages": [{"name": "s0", "bytes": 768, "kind": "transient"},
                 {"name": "s1", "bytes": 4096, "kind": "state"}],
    "events": {"words": 50, "tensors": [
      {"name": "e", "words": 2, "capacity": [2]},
      {"name": "f", "words": 48, "capacity": [16, 3]}]},
    "phases": [
      {"name": "embed", "segment": "start", "repeat": 1, "grid": ["rows"], "writes": [
        {"buffer": "x", "element": "f32", "storage": 0, "offset": 0,
         "strides": [12, 1], "capacity": [16, 12], "layers": 1,
         "layer_stride": 0, "interleave": 1, "interleave_columns": 1, "extents": ["rows", 12]}]},
      {"name": "keys", "segment": "block", "repeat": 2, "flops": 96, "grid": ["rows"], "writes": [
        {"buffer": "keys", "element": "f32", "storage": 1, "offset": 3,
         "strides": [4, 1], "capacity": [32, 4], "layers": 2,
         "layer_stride": 128, "interleave": 8, "interleave_columns": 1, "extents": ["past+rows", 4]},
        {"buffer": "scores", "element": "f32", "storage": 0, "offset": 0,
         "strides": [1], "capacity": [36], "layers": 1,
         "layer_stride": 0, "interleave": 1, "interleave_columns": 1, "extents": [["+", ["*", "rows", 2], "outputs"]]}]},
      {"name": "head", "segment": "block", "repeat": 2, "grid": [], "writes": [
        {"buffer": "y", "element": "f32", "storage": 0, "offset": 0,
         "strides": [8, 1], "capacity": [4, 7], "layers": 1,
         "layer_stride": 0, "interleave": 1, "interleave_columns": 1, "extents": ["outputs", 7]}]}],
    "programs": [{"name": "p", "max_rows": 16, "first_phase": 0, "phases": 3,
      "logits": {"vocabulary": 7, "storage": 0, "offset": 0, "stride": 8}}],
    "logits": {"vocabulary": 7, "storage": 0, "offset": 0, "stride": 8},
    "proof": {"status": "proved", "assumptions": ["one", "two"]}})json");
  EXPECT_EQ(metadata, expected) << metadata.dump(2);
}

TEST(Metadata, SaysWhatIsNotThere) {
  Plan plan("event.program @p max_rows 1 max_seq 1 max_outputs 1 {}");
  json metadata =
      baton::plan::planMetadata(baton::plan::ProgramLayout(plan.program()));
  EXPECT_EQ(metadata["scratch_bytes"], 0);
  EXPECT_EQ(metadata["logits"], nullptr);
  EXPECT_EQ(metadata["proof"], nullptr);
  EXPECT_EQ(metadata["events"]["words"], 0);
}
