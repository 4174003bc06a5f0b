// RUN: baton-opt %S/inputs/block.mlir --tile-tasks="max-rows=16 linear-rows=8 linear-columns=16 attention-rows=4 plain-rows=4 max-outputs=2" | FileCheck %s

// Access maps and calls of every kind of task.

// CHECK-DAG: #[[TOKEN_TILES:.*]] = affine_map<()[s0, s1, s2] -> (s0 ceildiv 4)>
// CHECK-DAG: #[[LINEAR_TILES:.*]] = affine_map<()[s0, s1, s2] -> (s0 ceildiv 8, 4)>
// CHECK-DAG: #[[HEAD_TILES:.*]] = affine_map<()[s0, s1, s2] -> (s0 ceildiv 4, 2)>
// CHECK-DAG: #[[OUTPUT_TILES:.*]] = affine_map<()[s0, s1, s2] -> (s2 ceildiv 8, 4)>
// CHECK: event.program @block max_rows 16 max_seq 64 max_outputs 2

// Weights that name a layer have one set of bytes for each iteration; a concat
// of parameters is one parameter of several parts.
// CHECK: event.parameter @linear.weight : bf16 layers 3 as #event.panels<64 by 32>
// CHECK-SAME: from [#event.source<["h.{layer}.q"] : 32 by 32>, #event.source<["h.{layer}.kv"] : 32 by 32>]
// States have a copy for each iteration; heads lie apart. Keys and values that
// only attention reads lie in panels of 16 positions, values by 16 columns.
// CHECK: event.buffer @k state : f32 {{.*}} capacity [64, 2, 8] strides [8, 512, 16] {interleave = 16 : i64, layer_stride = 1024 : i64, layers = 3 : i64}
// CHECK: event.buffer @v state : f32 {{.*}} capacity [64, 2, 8] strides [8, 512, 16] {interleave = 16 : i64, interleave_columns = 16 : i64, layer_stride = 1024 : i64, layers = 3 : i64}

// CHECK: event.phase "embedding" grid #[[TOKEN_TILES]] capacity [4]
// CHECK-SAME: #event.access<read @tokens, (d0)[s0, s1, s2] -> (d0 * 4 + s1) to (d0)[s0, s1, s2] -> (d0 * 4 + s1 + 4)>
// CHECK-SAME: #event.access<write @embedding, (d0)[s0, s1, s2] -> (d0 * 4, 0) to (d0)[s0, s1, s2] -> (d0 * 4 + 4, 32)>
// CHECK-NEXT: event.call "embedding_bf16"

// A norm in front of a linear is computed into scratch, once per row tile.
// CHECK: event.segment "layers" repeat 3
// CHECK-NEXT: event.phase "linear" grid #[[LINEAR_TILES]] capacity [2, 4]
// CHECK-SAME: #event.access<read @embedding, (d0, d1)[s0, s1, s2] -> (d0 * 8, 0) to (d0, d1)[s0, s1, s2] -> (d0 * 8 + 8, 32)>
// CHECK-NEXT: event.call "rms_norm" [#event.scratch<0>, 32, {{.*}} invariant
// CHECK-NEXT: event.call "linear_bf16" [#event.address<@linear, {{.*}} -> (d0 * 8, d1 * 16)>, #event.stride<@linear, [1, 0]>, #event.scratch<0>, 32, #event.weight<@linear.weight, {{.*}} -> (d1 * 512)>, #event.null, #event.null, 0, #event.count<{{.*}} -> (8, d0 * -8 + s0)>, 32, #event.count<{{.*}} -> (16, d1 * -16 + 64)>, 0 : i32]

// Slices and reshapes are offsets: keys are columns 32 to 48 of the linear.
// CHECK: event.phase "rope" grid #[[TOKEN_TILES]]
// CHECK-SAME: #event.access<read @linear, {{[^>]*}}> (d0 * 4, 32) to {{[^>]*}}> (d0 * 4 + 4, 48)>

// CHECK: event.phase "kv_append" grid #[[HEAD_TILES]]
// CHECK-SAME: #event.access<write @k, (d0, d1)[s0, s1, s2] -> (d0 * 4 + s1, d1, 0) to (d0, d1)[s0, s1, s2] -> (d0 * 4 + s1 + 4, d1 + 1, 8)>

// CHECK: event.call "append_keys" [#event.address<@k, {{[^>]*}}> (((d0 * 4 + s1) floordiv 16) * 16, d1, 0)>
// CHECK-SAME: #event.count<{{[^>]*}}> ((d0 * 4 + s1) mod 16)>

// CHECK: event.call "append_values" [#event.address<@v, {{[^>]*}}> (((d0 * 4 + s1) floordiv 16) * 16, d1, 0)>

// A task of attention reads its head's columns and positions up to its rows';
// of the keys' last panel all 16.
// CHECK: event.phase "attention" grid #[[HEAD_TILES]]
// CHECK-SAME: #event.access<read @linear, (d0, d1)[s0, s1, s2] -> (d0 * 4, d1 * 16) to (d0, d1)[s0, s1, s2] -> (d0 * 4 + 4, d1 * 16 + 16)>
// CHECK-SAME: #event.access<read @k, (d0, d1)[s0, s1, s2] -> (0, d1, 0) to (d0, d1)[s0, s1, s2] -> (d0 * 4 + s1 + 19, d1 + 1, 8) beyond 15>
// CHECK-SAME: #event.access<read @v, (d0, d1)[s0, s1, s2] -> (0, d1, 0) to (d0, d1)[s0, s1, s2] -> (d0 * 4 + s1 + 4, d1 + 1, 8)>

// The carried value is updated in place: the residual is the tile itself.
// CHECK: event.phase "linear.2"
// CHECK-SAME: #event.access<read @embedding, (d0, d1)[s0, s1, s2] -> (d0 * 8, d1 * 16) to {{[^>]*}}> (d0 * 8 + 8, d1 * 16 + 16)>
// CHECK-SAME: #event.access<write @embedding, (d0, d1)[s0, s1, s2] -> (d0 * 8, d1 * 16) to {{[^>]*}}> (d0 * 8 + 8, d1 * 16 + 16)>

// The last rows start at rows - outputs.
// CHECK: event.segment "end" repeat 1
// CHECK-NEXT: event.phase "linear.3" grid #[[OUTPUT_TILES]]
// CHECK-SAME: #event.access<read @embedding, (d0, d1)[s0, s1, s2] -> (d0 * 8 + s0 - s2, 0) to
// CHECK: event.phase "advance"
// CHECK: event.advance @linear.3
