// RUN: baton-opt %s --event-verify --split-input-file --verify-diagnostics

// Calls have the operands that their bodies declare, and touch what their phases
// state: each wrong plan beside one that differs in one thing and is fine.

// A tile of four rows: what the call copies is what the phase states.
event.program @fine max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

event.program @one_too_many max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'copy': has 7 operands, copy takes 6: out, out_stride, x, x_stride, rows, width}}
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64, 8 : i64]
    }
  }
}

// -----

event.program @one_too_few max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'copy': has 5 operands, copy takes 6: out, out_stride, x, x_stride, rows, width}}
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>]
    }
  }
}

// -----

event.program @a_number_for_a_pointer max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'copy': operand 'x' is 8 : i64, copy takes an address, scratch or a weight}}
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, 8 : i64, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

event.program @a_count_for_a_stride max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'copy': operand 'out_stride' is #event.count<(d0)[s0, s1, s2] -> (4, d0 * -4 + s0)>, copy takes a stride or an i64}}
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

event.program @a_weight_written max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'copy': operand 'out' is #event.weight<@w, (d0)[s0, s1, s2] -> (0)>, copy takes an address or scratch, which is written}}
      event.call "copy" [#event.weight<@w, (m)[r, p, o] -> (0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

// What panels hold, only their form says.
event.program @panels_in_a_buffer max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'linear_f32' is given an address as 'panels', of which only a weight's form says what is read}}
      event.call "linear_f32" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (0, 0)>, #event.null, #event.null, 0 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64, 8 : i64, 0 : i32]
    }
  }
}

// -----

// Eight outputs are one panel.
event.program @panels_to_their_end max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 as #event.panels<8 by 8> from [#event.source<["w"] : 8 by 8>]
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "linear_bf16" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.weight<@packed, (m)[r, p, o] -> (0)>, #event.null, #event.null, 0 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64, 8 : i64, 0 : i32]
    }
  }
}

// -----

event.program @panels_beyond_their_end max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 as #event.panels<8 by 8> from [#event.source<["w"] : 8 by 8>]
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'linear_bf16' reads 'panels' beyond the 128 elements of @packed; for example task(0)}}
      event.call "linear_bf16" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.weight<@packed, (m)[r, p, o] -> (8)>, #event.null, #event.null, 0 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64, 8 : i64, 0 : i32]
    }
  }
}

// -----

// The second of two panels, where layers have formats of their own: it is 1088 bytes behind the
// first where panels are as long as F16's.
event.program @second_panel max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : i8 layers 1 as #event.blocks<"q8_0|f16", 32 by 32> from [#event.source<["w"] : 32 by 32>] {event.layer_formats = ["q8_0"]}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 32)> capacity [8, 32] strides [32, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 32)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 32)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "linear_mixed" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.weight<@packed, (m)[r, p, o] -> (1088)>, #event.null, #event.null, 0 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 32 : i64, 8 : i64, 0 : i32]
    }
  }
}

// -----

event.program @within_a_panel max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : i8 layers 1 as #event.blocks<"q8_0|f16", 32 by 32> from [#event.source<["w"] : 32 by 32>] {event.layer_formats = ["q8_0"]}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 32)> capacity [8, 32] strides [32, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 32)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 32)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{reads @packed, whose layers have formats of their own, from another place than where a panel begins}}
      event.call "linear_mixed" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.weight<@packed, (m)[r, p, o] -> (1024)>, #event.null, #event.null, 0 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 32 : i64, 8 : i64, 0 : i32]
    }
  }
}

// -----

// A body is of the format that its weights have.
event.program @another_format max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : i8 layers 1 as #event.blocks<"q8_0", 32 by 32> from [#event.source<["w"] : 32 by 32>] {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 32)> capacity [8, 32] strides [32, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 32)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 32)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{linear takes blocks of q4_0}}
      event.call "linear_q4_0" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.weight<@packed, (m)[r, p, o] -> (0)>, #event.null, #event.null, 0 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 32 : i64, 8 : i64, 0 : i32]
    }
  }
}


// -----

event.program @bytes_beside_numbers max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : i8 layers 1 as #event.blocks<"q8_0|f16", 32 by 32> from [#event.source<["w"] : 32 by 32>] {event.layer_formats = ["q8_0"]}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 32)> capacity [8, 32] strides [32, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 32)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 32)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{integer_linear takes blocks of whole numbers}}
      event.call "integer_linear_mixed" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.weight<@packed, (m)[r, p, o] -> (1088)>, #event.null, #event.null, 0 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 32 : i64, 8 : i64, 0 : i32]
    }
  }
}


// -----

// The suffix of a body says what its weights are stored as.
event.program @packed_as_it_says max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "linear_bf16" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.weight<@packed, (m)[r, p, o] -> (0)>, #event.null, #event.null, 0 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64, 8 : i64, 0 : i32]
    }
  }
}

// -----

event.program @packed_otherwise max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'linear_bf16': operand 'panels' is #event.weight<@w, (d0)[s0, s1, s2] -> (0)>, linear takes bf16 there, and it holds f32}}
      event.call "linear_bf16" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.weight<@w, (m)[r, p, o] -> (0)>, #event.null, #event.null, 0 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64, 8 : i64, 0 : i32]
    }
  }
}

// -----

// The last tile may be short: four rows are more than there are.
event.program @no_rows_at_the_end max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'copy' writes @y as 'out' where phase 'task' states no such write: @}}
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, 4 : i64, 8 : i64]
    }
  }
}

// -----

event.program @other_rows max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'copy' reads @x as 'x' where phase 'task' states no such read: @}}
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (0, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

// Every other row, as far as the end.
event.program @wide max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'copy' reads @x as 'x' where phase 'task' states no such read}}
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [2, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

event.program @a_stride_that_leads_nowhere max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'copy' reads @x as 'x' where phase 'task' states no such read}}
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, 1000000 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

// A phase that states the whole buffer allows no element beyond it.
event.program @a_stride_that_leads_nowhere_in_the_whole max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'copy' reads @x as 'x' where phase 'task' states no such read}}
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, 1000000 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

// What a phase states to write is written, or nobody may see what was there.
event.program @half_of_the_columns max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    // expected-error @+1 {{phase 'task' states to write @y, of which its calls leave elements as they were: @y(}}
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 4 : i64]
    }
    event.phase "use" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @y, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>] {
    }
  }
}

// -----

// Here nobody reads it.
event.program @half_of_the_columns_unseen max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 4 : i64]
    }
  }
}

// -----

// Two calls write a half each.
event.program @two_halves max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 4 : i64]
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 4)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 4)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 4 : i64]
    }
  }
}

// -----

// A sum may take the place of what it adds; a product of matrices may not.
event.program @in_place max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "add" [#event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

event.program @not_in_place max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'matmul' is given one address as 'out' and as 'a', which it does not allow}}
      event.call "matmul" [#event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, 1 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

// Four rows of eight numbers in scratch.
event.program @scratch max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 128 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "rms_norm" [#event.scratch<0>, 8 : i64, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.weight<@w, (m)[r, p, o] -> (0)>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64, 1.0e-5 : f32] invariant
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.scratch<0>, 8 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

event.program @not_enough_scratch max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 128 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.scratch<0>, 8 : i64, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
      // expected-error @+1 {{'out' takes scratch up to byte 192, of which the program reserves 128}}
      event.call "rms_norm" [#event.scratch<64>, 8 : i64, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.weight<@w, (m)[r, p, o] -> (0)>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64, 1.0e-5 : f32] invariant
    }
  }
}

// -----

event.program @invariant max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<read @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{is invariant, so that it writes scratch only, but is given @y as 'out'}}
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64] invariant
    }
  }
}

// -----

// A gradient whose flag nobody ever sets is begun anew: it is not read.
event.program @begun_anew max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.storage @zm bytes 64
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (8)> capacity [8] strides [1] in @zm
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>, #event.access<write @z, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (8)>, #event.access<read @flag, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (1)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "sum_rows" [#event.address<@z, (m)[r, p, o] -> (0)>, #event.address<@x, (m)[r, p, o] -> (0, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (r)>, 8 : i64, #event.address<@flag, (m)[r, p, o] -> (0)>]
    }
  }
}

// -----

// Without a flag it is added to what is there.
event.program @added_to max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.parameter @w : f32 layers 1 {}
  event.parameter @packed : bf16 layers 1 {}
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.storage @fm bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.storage @zm bytes 64
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (8)> capacity [8] strides [1] in @zm
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>, #event.access<write @z, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'sum_rows' reads @z as 'out' where phase 'task' states no such read}}
      event.call "sum_rows" [#event.address<@z, (m)[r, p, o] -> (0)>, #event.address<@x, (m)[r, p, o] -> (0, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (r)>, 8 : i64, #event.null]
    }
  }
}
