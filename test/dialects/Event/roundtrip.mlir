// RUN: baton-opt %s --verify-roundtrip | FileCheck %s

// Every op and attribute, printed and parsed again.

// CHECK-LABEL: event.program @everything max_rows 16 max_seq 32 max_outputs 4 proof {status = "by hand"} attributes {scratch_bytes = 128 : i64}
event.program @everything max_rows 16 max_seq 32 max_outputs 4 proof {status = "by hand"} attributes {scratch_bytes = 128 : i64} {
  // CHECK: event.parameter @w : bf16 layers 2 as #event.panels<32 by 8 alternating> from [#event.source<["w"] : 8 by 16 transposed>, #event.source<["v", "u"] : 16 by 8 blocks array<i64: 8, 16, 0> plus 1.000000e+00 : f32 shards [#event.shard<dimension = 0, extent = 16, axes = ["tp"]>]>] {first_layer = 0 : i64, layer_step = 1 : i64}
  event.parameter @w : bf16 layers 2 as #event.panels<32 by 8 alternating>
      from [#event.source<["w"] : 8 by 16 transposed>,
            #event.source<["v", "u"] : 16 by 8 blocks array<i64: 8, 16, 0> plus 1.0 : f32 shards [#event.shard<dimension = 0, extent = 16, axes = ["tp"]>]>]
      {first_layer = 0 : i64, layer_step = 1 : i64}
  // CHECK: event.parameter @table : f32 layers 1 as #event.table<4 by 8> from [#event.source<["t"] : 4 by 8>]
  event.parameter @table : f32 layers 1 as #event.table<4 by 8> from [#event.source<["t"] : 4 by 8>]
  // CHECK: event.parameter @vector : f32 layers 1 as #event.vector<8> from [#event.source<["b"] : 8>]
  event.parameter @vector : f32 layers 1 as #event.vector<8> from [#event.source<["b"] : 8>]
  // CHECK: event.parameter @constant : f32 layers 1 as #event.constant<array<f32: 1.000000e+00, 0.316227764>>
  event.parameter @constant : f32 layers 1 as #event.constant<array<f32: 1.0, 0.316227764>>
  // CHECK: event.storage @s bytes 768
  event.storage @s bytes 768
  event.storage @cache bytes 2048
  // CHECK: event.buffer @tokens input : i32 extents {{.*}} capacity [32] strides [1]
  event.buffer @tokens input : i32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [32] strides [1]
  // CHECK: event.buffer @x transient : f32 extents {{.*}} capacity [16, 12] strides [12, 1] in @s
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 12)> capacity [16, 12] strides [12, 1] in @s
  // CHECK: event.buffer @k state : f32 {{.*}} in @cache {layer_stride = 256 : i64, layers = 2 : i64}
  event.buffer @k state : f32 extents affine_map<()[rows, past, outputs] -> (past + rows, 8)> capacity [32, 8] strides [8, 1] in @cache {layers = 2 : i64, layer_stride = 256 : i64}
  // CHECK: event.tensor @e shape {{.*}} capacity [2] count #{{[^ ]+$}}
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows ceildiv 8)> capacity [2] count affine_map<()[rows, past, outputs] -> (1)>
  // CHECK: event.tensor @all shape {{.*}} capacity [] count {{.*}} scope system
  event.tensor @all shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (rows ceildiv 4)> scope system
  // CHECK: event.segment "start" repeat 1
  event.segment "start" repeat 1 {
    // CHECK: event.phase "embed"
    // CHECK-SAME: accesses [#event.access<read @tokens, (d0)[s0, s1, s2] -> (d0 * 8 + s1) to (d0)[s0, s1, s2] -> (d0 * 8 + s1 + 8)>
    // CHECK-SAME: #event.access<write @x,
    // CHECK-SAME: notifies <@e, (d0)[s0, s1, s2] -> (d0)>
    // CHECK-SAME: distribution = #event<distribution cyclic>
    event.phase "embed" grid affine_map<()[rows, past, outputs] -> (rows ceildiv 8)> capacity [2]
      accesses [#event.access<read @tokens, (m)[rows, past, outputs] -> (past + m * 8) to (m)[rows, past, outputs] -> (past + m * 8 + 8)>,
                #event.access<write @x, (m)[rows, past, outputs] -> (m * 8, 0) to (m)[rows, past, outputs] -> (m * 8 + 8, 12)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> attributes {distribution = #event<distribution cyclic>} {
      // CHECK: event.call "body" [#event.address<@x, {{.*}}>, #event.stride<@x, [1, 0]>, #event.count<{{.*}} -> (8, d0 * -8 + s0)>, 12, 3 : i32, 1.000000e+00 : f32, #event.null, #event.scratch<64>, #event.weight<@w, {{.*}}>] invariant
      event.call "body" [#event.address<@x, (m)[rows, past, outputs] -> (m * 8, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[rows, past, outputs] -> (8, rows - m * 8)>, 12 : i64, 3 : i32, 1.0 : f32, #event.null, #event.scratch<64>, #event.weight<@w, (m)[rows, past, outputs] -> (m)>] invariant
    }
  }
  event.segment "layers" repeat 2 {
    // CHECK: event.phase "norm"
    // CHECK-SAME: waits [#event.wait<@e, {{.*}}>, #event.wait<@all distance 1, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>]
    // CHECK-SAME: notifies <@all, (d0)[s0, s1, s2] -> ()>
    event.phase "norm" grid affine_map<()[rows, past, outputs] -> (rows ceildiv 4)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m * 4, 0) to (m)[rows, past, outputs] -> (m * 4 + 4, 12)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> ((m * 4) floordiv 8) to (m)[rows, past, outputs] -> ((m * 4 + 4) ceildiv 8)>,
             #event.wait<@all distance 1, (m)[rows, past, outputs] -> () to (m)[rows, past, outputs] -> ()>]
      notifies <@all, (m)[rows, past, outputs] -> ()> {
      // CHECK: event.advance @x
      event.advance @x
    }
  }
  // CHECK: event.schedule rows 1 past 3 outputs 0 workers
  // CHECK-SAME: #event.task<"embed", 0, [0]>, #event.task<"norm", 1, [0]>
  event.schedule rows 1 past 3 outputs 0 workers [[#event.task<"embed", 0, [0]>, #event.task<"norm", 1, [0]>], [#event.task<"norm", 0, [0]>]]
}

// CHECK-LABEL: event.program @ranks
event.program @ranks max_rows 4 max_seq 8 max_outputs 1 {
  // CHECK: event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 24)> capacity [4, 24] strides [24, 1]
  event.buffer @p transient : f32 extents affine_map<()[rows, past, outputs] -> (2, (rows * 24) ceildiv 32 * 16)> capacity [2, 48] strides [48, 1]
  event.segment "s" repeat 1 {
    event.phase "rows" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1] accesses [] {
      // CHECK: event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@y to @p, ()[s0, s1, s2] -> (s0 * 24) by ()[s0, s1, s2] -> (((s0 * 24) ceildiv 32) * 16)>]
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@y to @p, ()[rows, past, outputs] -> (rows * 24) by ()[rows, past, outputs] -> ((rows * 24) ceildiv 32 * 16)>]
    }
    event.phase "exchange" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // CHECK: event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
    event.phase "gather" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // CHECK: event.exchange all_gather over ["dp"] for "all_reduce" [#event.transfer<@r to @g, 40 by 32>]
      event.exchange all_gather over ["dp"] for "all_reduce" [#event.transfer<@r to @g, 40 by 32>]
    }
  }
}

// CHECK-LABEL: event.program @stages
event.program @stages max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["pp"] sizes [2] batch []
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1]
  event.segment "s" repeat 1 {
    event.phase "receive" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1] accesses [] {
      // CHECK: event.message receive [@x] to previous over "pp" for "activations"
      event.message receive [@x] to previous over "pp" for "activations"
    }
    event.phase "send" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1] accesses [] {
      // CHECK: event.message send [@x, @y] to next over "pp" for "activations"
      event.message send [@x, @y] to next over "pp" for "activations"
    }
  }
}
