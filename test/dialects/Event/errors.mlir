// RUN: baton-opt %s -split-input-file -verify-diagnostics

// A case for every line under **Constraints:** in EventOps.td.

// program: limits
// expected-error @+1 {{has max_outputs 2, max_rows 9, max_seq 8, expected 1 <= max_outputs <= max_rows <= max_seq}}
event.program @p max_rows 9 max_seq 8 max_outputs 2 {
}

// -----

// program: phase names
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
    }
    // expected-error @+1 {{another phase has the name 'a'}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
    }
  }
}

// -----

// program: one phase notifies a tensor
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{notifies @e, which phase 'a' notifies already}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
  }
}

// -----

// parameter: layers
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{has 0 layers, expected at least 1 and less than 2^48}}
  event.parameter @w : f32 layers 0 {}
}

// -----

// parameter: elements are numbers of whole bytes
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{has elements of type 'i1', expected numbers of whole bytes}}
  event.parameter @w : i1 layers 1 {}
}

// -----

// parameter: a form has sources
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{has no sources of its form}}
  event.parameter @w : f32 layers 1 as #event.panels<16 by 8>
}

// -----

// parameter: sources have a form
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{has sources, and no form that is made of them}}
  event.parameter @w : f32 layers 1 from [#event.source<["w"] : 16 by 8>]
}

// -----

// parameter: formats of layers are of blocks of several formats
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{has formats of layers, and no blocks of several formats}}
  event.parameter @w : i8 layers 2 as #event.blocks<"q8_0", 16 by 32> from [#event.source<["w"] : 16 by 32>] {event.layer_formats = ["q8_0", "q8_0"]}
}

// -----

// parameter: every layer has formats
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{has formats of 1 layers, and 2 layers}}
  event.parameter @w : i8 layers 2 as #event.blocks<"q8_0|f16", 16 by 32> from [#event.source<["w"] : 16 by 32>] {event.layer_formats = ["q8_0"]}
}

// -----

// parameter: layers have formats of the parameter's
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{has a layer of "f32|f16", of which not all are among q8_0|f16}}
  event.parameter @w : i8 layers 2 as #event.blocks<"q8_0|f16", 16 by 32> from [#event.source<["w"] : 16 by 32>] {event.layer_formats = ["q8_0", "f32|f16"]}
}

// -----

// parameter: one format is of blocks
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{'f16|bf16' lists formats of weights of which none is quantised; f16, bf16 and f32 are types of elements by themselves}}
  event.parameter @w : i8 layers 2 as #event.blocks<"f16|bf16", 16 by 32> from [#event.source<["w"] : 16 by 32>]
}

// -----

// parameter: a source has a name
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{expected names of tensors}}
  event.parameter @w : f32 layers 1 as #event.vector<16> from [#event.source<[] : 16>]
}

// -----

// program: scratch
// expected-error @+1 {{scratch_bytes is -8, expected 0 or more and less than 2^48}}
event.program @p max_rows 4 max_seq 8 max_outputs 2 attributes {scratch_bytes = -8 : i64} {
}

// -----

// call: scratch that there is
event.program @p max_rows 4 max_seq 8 max_outputs 2 attributes {scratch_bytes = 64 : i64} {
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
      // expected-error @+1 {{#event.scratch<64> lies outside the program's 64 bytes of scratch}}
      event.call "f" [#event.scratch<64>]
    }
  }
}

// -----

// call: a stride steps along the buffer
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
      // expected-error @+1 {{#event.stride<@x, [1, -1]> steps by -1 in a dimension of 4}}
      event.call "f" [#event.stride<@x, [1, -1]>]
    }
  }
}

// -----

// tensor: words
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{has 2^28 words or more}}
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows, rows)> capacity [4294967296, 4294967296] count affine_map<()[rows, past, outputs] -> (1)>
}

// -----

// storage: bytes
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{has no bytes}}
  event.storage @s bytes 0
}

// -----

// buffer: elements of whole bytes
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 60
  // expected-error @+1 {{has elements of type 'i1', expected numbers of whole bytes}}
  event.buffer @x transient : i1 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @s
}

// -----

// buffer: elements are numbers
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 60
  // expected-error @+1 {{has elements of type 'index', expected numbers of whole bytes}}
  event.buffer @x transient : index extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @s
}

// -----

// buffer: dimensions agree
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 60
  // expected-error @+1 {{extents, capacity and strides differ in rank}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4] strides [4, 1]
}

// -----

// buffer: at least one dimension
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 60
  // expected-error @+1 {{has no dimensions}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> ()> capacity [] strides []
}

// -----

// buffer: symbols
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 60
  // expected-error @+1 {{extents has 1 symbols, expected rows, past, outputs}}
  event.buffer @x transient : f32 extents affine_map<()[rows] -> (rows, 4)> capacity [4, 4] strides [4, 1]
}

// -----

// buffer: capacities
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 60
  // expected-error @+1 {{capacity holds 0, expected at least 1}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 0] strides [4, 1]
}

// -----

// buffer: strides
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 60
  // expected-error @+1 {{strides holds 0, expected at least 1}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 0]
}

// -----

// buffer: offset
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 60
  // expected-error @+1 {{the offset is negative}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] {offset = -1 : i64}
}

// -----

// buffer: inside its storage
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 60
  // expected-error @+1 {{does not fit into @s of 60 bytes}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @s
}

// -----

// buffer: the storage exists
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 60
  // expected-error @+1 {{there is no storage @nowhere}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @nowhere
}

// -----

// buffer: layers
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 60
  // expected-error @+1 {{has layers but is an input}}
  event.buffer @x input : i32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1] {layers = 2 : i64}
}

// -----

// buffer: a ring has several layers
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{is a ring, expected a persistent buffer of several layers}}
  event.buffer @x persistent : f32 extents affine_map<()[rows, past, outputs] -> (4)> capacity [4] strides [1] {ring}
}

// -----

// buffer: a ring is persistent
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{is a ring, expected a persistent buffer of several layers}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (4)> capacity [4] strides [1] {layers = 2, ring}
}

// -----

// buffer: only a persistent one has a description
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{has a description but is not persistent}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] {description = {role = "parameter"}}
}

// -----

// buffer: interleaved by a divisor
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{is interleaved by 3, expected a divisor of the first capacity}}
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] {interleave = 3 : i64}
}

// -----

// buffer: only a state is interleaved
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{is interleaved but is no state}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 2] {interleave = 2 : i64}
}

// -----

// buffer: interleaved columns fill a run
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{interleaves columns, expected a last dimension of stride 2}}
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] {interleave = 2 : i64, interleave_columns = 2 : i64}
}

// -----

// buffer: columns of interleaved indices
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{interleaves columns of single indices}}
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] {interleave_columns = 2 : i64}
}

// -----

// buffer: interleaved columns
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{interleaves 0 columns}}
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 2] {interleave = 2 : i64, interleave_columns = 0 : i64}
}

// -----

// buffer: interleaved alone in its storage
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 128
  // expected-error @+1 {{is interleaved but shares @s with @y}}
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 2] in @s {interleave = 2 : i64}
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1] in @s {offset = 16 : i64}
}

// -----

// buffer: only a state lies in pages
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.buffer @slots persistent : i32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1]
  event.table @slots holds ()[rows, past, outputs] -> (0) to ()[rows, past, outputs] -> (99) distinct
  // expected-error @+1 {{lies in pages but is no state}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] strides [2, 1] {slots = @slots, page = 8 : i64, page_stride = 16 : i64}
}

// -----

// buffer: ... all of slots, page and page_stride
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.buffer @slots persistent : i32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1]
  event.table @slots holds ()[rows, past, outputs] -> (0) to ()[rows, past, outputs] -> (99) distinct
  // expected-error @+1 {{states only some of slots, page and page_stride}}
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] strides [2, 1] {slots = @slots, page = 8 : i64}
}

// -----

// buffer: ... at slots that are distinct
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.buffer @slots persistent : i32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1]
  event.table @slots holds ()[rows, past, outputs] -> (0) to ()[rows, past, outputs] -> (99) any
  // expected-error @+1 {{lies in pages at the slots @slots, expected a table of distinct numbers, one for each index}}
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] strides [2, 1] {slots = @slots, page = 8 : i64, page_stride = 16 : i64}
}

// -----

// buffer: ... one for each row
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.buffer @slots persistent : i32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1]
  event.table @slots holds ()[rows, past, outputs] -> (0) to ()[rows, past, outputs] -> (99) distinct
  // expected-error @+1 {{lies in pages at the slots @slots, expected a table of distinct numbers, one for each index}}
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (past + rows, 2)> capacity [8, 2] strides [2, 1] {slots = @slots, page = 8 : i64, page_stride = 16 : i64}
}

// -----

// buffer: pages are far enough apart for all layers
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.buffer @slots persistent : i32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1]
  event.table @slots holds ()[rows, past, outputs] -> (0) to ()[rows, past, outputs] -> (99) distinct
  // expected-error @+1 {{has pages of 8 indices, 31 elements apart, of which its layers take 32}}
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] strides [2, 1] {slots = @slots, page = 8 : i64, page_stride = 31 : i64, layers = 2 : i64, layer_stride = 16 : i64}
}

// -----

// buffer: ... and the storage has the bytes of one
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.buffer @slots persistent : i32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1]
  event.table @slots holds ()[rows, past, outputs] -> (0) to ()[rows, past, outputs] -> (99) distinct
  event.storage @s bytes 64
  // expected-error @+1 {{has pages 17 elements apart, but @s has 64 bytes for one}}
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] strides [2, 1] in @s {slots = @slots, page = 8 : i64, page_stride = 17 : i64}
}

// -----

// buffer: ... alone in it
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.buffer @slots persistent : i32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1]
  event.table @slots holds ()[rows, past, outputs] -> (0) to ()[rows, past, outputs] -> (99) distinct
  event.storage @s bytes 64
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1] in @s
  // expected-error @+1 {{lies in pages but shares @s with @y}}
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] strides [2, 1] in @s {slots = @slots, page = 8 : i64, page_stride = 16 : i64}
}

// -----

// buffer: interleaved elements fit into the storage
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 60
  // expected-error @+1 {{does not fit into @s of 60 bytes}}
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 2] in @s {interleave = 2 : i64}
}

// -----

// buffer: addresses of 64 bits
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{has an element that no 64 bits can address}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [281474976710655, 4] strides [281474976710655, 1]
}

// -----

// call: addresses begin a run of interleaved elements
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 64
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 2] in @s {interleave = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
      event.call "f" [#event.address<@x, (d0)[s0, s1, s2] -> ((d0 floordiv 2) * 2, 0)>]
      // expected-error @+1 {{points into the middle of 2 by 1 interleaved elements}}
      event.call "f" [#event.address<@x, (d0)[s0, s1, s2] -> ((d0 * 2 + 2) floordiv 4, 0)>]
    }
  }
}

// -----

// call: addresses begin interleaved columns
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 64
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 2] in @s {interleave = 2 : i64, interleave_columns = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
      event.call "f" [#event.address<@x, (d0)[s0, s1, s2] -> (d0 * 2, 2)>]
      // expected-error @+1 {{points into the middle of 2 by 2 interleaved elements}}
      event.call "f" [#event.address<@x, (d0)[s0, s1, s2] -> (d0 * 2, 1)>]
      event.call "f" [#event.stride<@x, [2, 2]>]
    }
  }
}

// -----

// call: strides count interleaved columns
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 64
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 2] in @s {interleave = 2 : i64, interleave_columns = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
      // expected-error @+1 {{steps into the middle of 2 by 2 interleaved elements}}
      event.call "f" [#event.stride<@x, [0, 1]>]
    }
  }
}

// -----

// call: strides count whole runs of interleaved elements
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @s bytes 64
  event.buffer @x state : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 2] in @s {interleave = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
      event.call "f" [#event.address<@x, (d0)[s0, s1, s2] -> (d0 * 2, 0)>, #event.stride<@x, [2, 0]>]
      // expected-error @+1 {{steps into the middle of 2 by 1 interleaved elements}}
      event.call "f" [#event.stride<@x, [1, 0]>]
    }
  }
}

// -----

// tensor: rank
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{shape and capacity differ in rank}}
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4, 4] count affine_map<()[rows, past, outputs] -> (1)>
}

// -----

// tensor: capacity
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{capacity holds 0, expected at least 1}}
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [0] count affine_map<()[rows, past, outputs] -> (1)>
}

// -----

// tensor: one count
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{count has 2 results, expected 1}}
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1, 2)>
}

// -----

// tensor: symbols
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{shape has 0 symbols, expected rows, past, outputs}}
  event.tensor @e shape affine_map<() -> (4)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
}

// -----

// segment: repeat
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{repeat is less than 1}}
  event.segment "s" repeat 0 {
  }
}

// -----

// segment: phases only
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.segment "s" repeat 1 {
    // expected-error @+1 {{expects parent op 'event.program'}}
    event.storage @s bytes 4
  }
}

// -----

// phase: grid
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.segment "s" repeat 1 {
    // expected-error @+1 {{the grid takes 1 coordinates, expected 0}}
    event.phase "a" grid affine_map<(m)[rows, past, outputs] -> (m)> capacity [4] accesses [] {
    }
  }
}

// -----

// phase: capacity
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{grid and capacity differ in rank}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4, 4] accesses [] {
    }
  }
}

// -----

// phase: accesses name buffers
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{accesses @q, which is no buffer}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [#event.access<read @q, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>] {
    }
  }
}

// -----

// phase: accesses have the buffer's dimensions
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{an access's corner has 1 results, expected 2}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// phase: accesses have the grid's coordinates
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{an access's corner takes 2 coordinates, expected 1}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [#event.access<read @x, (m, n)[rows, past, outputs] -> (m, 0) to (m, n)[rows, past, outputs] -> (m + 1, 4)>] {
    }
  }
}

// -----

// buffer: an input lies in no storage
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @ts bytes 32
  // expected-error @+1 {{is an input, which lies in no storage}}
  event.buffer @t input : i32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1] in @ts
}

// -----

// buffer: the runtime's tokens lie one behind the other
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{is an input, expected one dimension of stride 1 and no offset}}
  event.buffer @t input : i32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [2]
}

// -----

// phase: an input is not written
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.buffer @t input : i32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1]
  event.segment "s" repeat 1 {
    // expected-error @+1 {{writes the input @t}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [#event.access<write @t, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// phase: waits name event tensors
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{waits on @q, which is no event tensor}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] waits [#event.wait<@q, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// phase: waits have the rank of the tensor
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{a wait's corner has 2 results, expected 1}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] waits [#event.wait<@e, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m, 1)>] {
    }
  }
}

// -----

// phase: somebody notifies
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{waits on @e, which no phase notifies}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// phase: distances
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{waits at distance 2, expected 0 or 1}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] waits [#event.wait<@e distance 2, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// phase: only an exchange is ahead
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.segment "s" repeat 2 {
    // expected-error @+1 {{is ahead but is no exchange}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1] accesses [] attributes {ahead} {
    }
  }
}

// -----

// phase: what is ahead has an iteration to be ahead of
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.buffer @x persistent : f32 extents affine_map<()[rows, past, outputs] -> (16)> capacity [16] strides [1]
  event.buffer @y persistent : f32 extents affine_map<()[rows, past, outputs] -> (32)> capacity [32] strides [1]
  event.segment "s" repeat 1 {
    // expected-error @+1 {{is ahead in a segment of one iteration}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1] accesses [] attributes {ahead} {
      event.exchange all_gather over ["dp"] for "all_gather" [#event.transfer<@x to @y, 32 by 16>]
    }
  }
}

// -----

// phase: what is ahead accesses persistent buffers
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.buffer @x persistent : f32 extents affine_map<()[rows, past, outputs] -> (16)> capacity [16] strides [1]
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (32)> capacity [32] strides [1]
  event.segment "s" repeat 2 {
    // expected-error @+1 {{is ahead but accesses @y, which is not persistent}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1] accesses [#event.access<write @y, (t)[rows, past, outputs] -> (0) to (t)[rows, past, outputs] -> (32)>] attributes {ahead} {
      event.exchange all_gather over ["dp"] for "all_gather" [#event.transfer<@x to @y, 32 by 16>]
    }
  }
}

// -----

// phase: distance 1 within the segment
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
  }
  event.segment "t" repeat 1 {
    // expected-error @+1 {{waits at distance 1 on @e of another segment}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] waits [#event.wait<@e distance 1, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// phase: later segments are not waited for
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{waits on @e, which a later segment notifies}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
  event.segment "t" repeat 1 {
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
  }
}

// -----

// phase: a later phase is waited for at distance 1
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{waits on @e, which is notified no earlier}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
  }
}

// -----

// phase: nor itself
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{waits on @e, which is notified no earlier}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
  }
}

// -----

// phase: the notification picks coordinates
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{the notification's map picks no coordinates in order}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] notifies <@e, (m)[rows, past, outputs] -> (m + 1)> {
    }
  }
}

// -----

// phase: the notification has the tensor's rank
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{the notification has 0 results, expected 1}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] notifies <@e, (m)[rows, past, outputs] -> ()> {
    }
  }
}

// -----

// phase: the notification names an event tensor
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{notifies @q, which is no event tensor}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] notifies <@q, (m)[rows, past, outputs] -> (m)> {
    }
  }
}

// -----

// call: kinds of operands
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.parameter @w : f32 layers 1 {}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] accesses [] {
      // expected-error @+1 {{is no operand}}
      event.call "f" ["text"]
    }
  }
}

// -----

// call: integers
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.parameter @w : f32 layers 1 {}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] accesses [] {
      // expected-error @+1 {{is neither i32 nor i64}}
      event.call "f" [3 : i8]
    }
  }
}

// -----

// call: floats
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.parameter @w : f32 layers 1 {}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] accesses [] {
      // expected-error @+1 {{is neither f32 nor f64}}
      event.call "f" [3.0 : f16]
    }
  }
}

// -----

// call: addresses name buffers
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.parameter @w : f32 layers 1 {}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] accesses [] {
      // expected-error @+1 {{there is no buffer @q}}
      event.call "f" [#event.address<@q, (m, n)[rows, past, outputs] -> (m, n)>]
    }
  }
}

// -----

// call: addresses have the buffer's rank
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.parameter @w : f32 layers 1 {}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] accesses [] {
      // expected-error @+1 {{an operand's map has 1 results, expected 2}}
      event.call "f" [#event.address<@x, (m, n)[rows, past, outputs] -> (m)>]
    }
  }
}

// -----

// call: strides have the buffer's rank
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.parameter @w : f32 layers 1 {}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] accesses [] {
      // expected-error @+1 {{names 1 of 2 dimensions}}
      event.call "f" [#event.stride<@x, [1]>]
    }
  }
}

// -----

// call: strides name buffers
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.parameter @w : f32 layers 1 {}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] accesses [] {
      // expected-error @+1 {{there is no buffer @q}}
      event.call "f" [#event.stride<@q, [1]>]
    }
  }
}

// -----

// call: weights name parameters
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.parameter @w : f32 layers 1 {}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] accesses [] {
      // expected-error @+1 {{there is no parameter @q}}
      event.call "f" [#event.weight<@q, (m, n)[rows, past, outputs] -> (m)>]
    }
  }
}

// -----

// call: one offset
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.parameter @w : f32 layers 1 {}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] accesses [] {
      // expected-error @+1 {{an operand's map has 2 results, expected 1}}
      event.call "f" [#event.weight<@w, (m, n)[rows, past, outputs] -> (m, n)>]
    }
  }
}

// -----

// call: counts have a value
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.parameter @w : f32 layers 1 {}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] accesses [] {
      // expected-error @+1 {{a count has no value}}
      event.call "f" [#event.count<(m, n)[rows, past, outputs] -> ()>]
    }
  }
}

// -----

// call: maps have the phase's coordinates
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.parameter @w : f32 layers 1 {}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] accesses [] {
      // expected-error @+1 {{an operand's map takes 1 coordinates, expected 2}}
      event.call "f" [#event.count<(m)[rows, past, outputs] -> (m)>]
    }
  }
}

// -----

// call: invariant
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.parameter @w : f32 layers 1 {}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows, 2)> capacity [4, 2] accesses [] {
      // expected-error @+1 {{is invariant but depends on coordinate 1}}
      event.call "f" [#event.count<(m, n)[rows, past, outputs] -> (n)>] invariant
    }
  }
}

// -----

// phase: tickets
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.buffer @t transient : f32 extents affine_map<()[rows, past, outputs] -> (outputs, 4)> capacity [2, 4] strides [4, 1]
  event.segment "s" repeat 1 {
    // expected-error @+1 {{has tickets, which only phases have whose tasks call bodies and do nothing else}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> ()> capacity [] accesses [] attributes {distribution = #event<distribution ticket>} {
      event.advance @t
    }
  }
}

// -----

// advance: two dimensions
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.buffer @t transient : f32 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [4] strides [1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
      // expected-error @+1 {{@t has no two dimensions}}
      event.advance @t
    }
  }
}

// -----

// advance: the buffer exists
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
      // expected-error @+1 {{there is no buffer @q}}
      event.advance @q
    }
  }
}

// -----

// schedule: ranges
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
    }
  }
  // expected-error @+1 {{rows 5, past 0, outputs 0 lie outside the program's ranges}}
  event.schedule rows 5 past 0 outputs 0 workers []
}

// -----

// schedule: every task
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
    }
  }
  // expected-error @+1 {{lists 1 of 2 tasks}}
  event.schedule rows 2 past 0 outputs 0 workers [[#event.task<"a", 0, [0]>]]
}

// -----

// schedule: once
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
    }
  }
  // expected-error @+1 {{is listed twice}}
  event.schedule rows 2 past 0 outputs 0 workers [[#event.task<"a", 0, [0]>], [#event.task<"a", 0, [0]>]]
}

// -----

// schedule: inside the grid
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
    }
  }
  // expected-error @+1 {{is outside its phase's grid}}
  event.schedule rows 2 past 0 outputs 0 workers [[#event.task<"a", 0, [2]>]]
}

// -----

// schedule: names phases
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
    }
  }
  // expected-error @+1 {{there is no phase "q"}}
  event.schedule rows 2 past 0 outputs 0 workers [[#event.task<"q", 0, [0]>]]
}

// -----

// schedule: lists
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
    }
  }
  // expected-error @+1 {{is no list of tasks}}
  event.schedule rows 2 past 0 outputs 0 workers [3]
}

// -----

// program: one mesh
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch []
  // expected-error @+1 {{is the program's second mesh}}
  event.mesh ["tp"] sizes [2] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// mesh: an axis at least
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  // expected-error @+1 {{has 0 names and 0 sizes, expected one or more axes}}
  event.mesh [] sizes [] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// mesh: names are different
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  // expected-error @+1 {{has two axes "dp"}}
  event.mesh ["dp", "dp"] sizes [2, 2] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// mesh: sizes
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  // expected-error @+1 {{axis "dp" has size 0, expected at least 1}}
  event.mesh ["dp"] sizes [0] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// mesh: ranks
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  // expected-error @+1 {{has more than 1048576 ranks}}
  event.mesh ["dp", "tp"] sizes [1024, 1025] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// mesh: batch names axes
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  // expected-error @+1 {{has no axis "tp" for batches}}
  event.mesh ["dp"] sizes [2] batch ["tp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// exchange: a mesh
event.program @p max_rows 4 max_seq 8 max_outputs 1 {

  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{needs a mesh, and the program has none}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// exchange: axes of the mesh
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{is over ["pp"], of which the mesh does not have all}}
      event.exchange all_to_all over ["pp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// exchange: axes are different
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{names axis "dp" twice}}
      event.exchange all_to_all over ["dp", "dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// exchange: at least two ranks
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [1] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{is over ["dp"], a single rank}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// exchange: alone in its phase
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      event.call "f" []
      // expected-error @+1 {{does not stand alone in phase 'a'}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// exchange: a grid of outputs
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [1] accesses [] {
      // expected-error @+1 {{stands in a grid that is not the same on all ranks, as it depends on more than outputs}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// exchange: one task
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs * 2)> capacity [2] accesses [] {
      // expected-error @+1 {{stands in a grid of up to 2 tasks, expected one}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// exchange: a tensor
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{moves no tensor}}
      event.exchange all_to_all over ["dp"] for "all_reduce" []
    }
  }
}

// -----

// exchange: tensors are transfers
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{1 : i64 is no transfer}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [1]
    }
  }
}

// -----

// exchange: buffers
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{@q is no buffer that tasks read and write}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@q to @r, 40 by 32>]
    }
  }
}

// -----

// exchange: no inputs
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{@tokens is no buffer that tasks read and write}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@tokens to @r, 40 by 32>]
    }
  }
}

// -----

// exchange: one element type
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.buffer @h transient : f16 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{sends elements of type 'f16' to @r of 'f32'}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@h to @r, 40 by 32>]
    }
  }
}

// -----

// exchange: parts are aligned
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{#event.transfer<@g to @r, 40 by 24> has parts of 24 elements, expected a multiple of 16 up to 2^42}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 24>]
    }
  }
}

// -----

// exchange: parts are aligned by bytes
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.buffer @h transient : f16 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @i transient : f16 extents affine_map<()[rows, past, outputs] -> (2, 48)> capacity [2, 48] strides [48, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{#event.transfer<@h to @i, 40 by 48> has parts of 48 elements, expected a multiple of 32 up to 2^42}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@h to @i, 40 by 48>]
    }
  }
}

// -----

// exchange: not in place
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{sends @g and receives into it}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @g, 64 by 32>]
    }
  }
}

// -----

// exchange: nothing is received into what another tensor is sent from
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{sends @r and receives into it}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 64 by 32>, #event.transfer<@r to @g, 64 by 32>]
    }
  }
}

// -----

// exchange: buffers are received into once
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{receives into @r twice}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>, #event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// exchange: parts are the whole
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{#event.transfer<@g to @r, 40 by 16> has 40 elements, expected 1 to 32, as many as 2 parts have}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 16>]
    }
  }
}

// -----

// exchange: all_to_all sends the whole
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{#event.transfer<@g to @r, 41 by 32> is of 41 elements, but @g has 40}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 41 by 32>]
    }
  }
}

// -----

// exchange: all_to_all receives rows of a part
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{#event.transfer<@g to @r, 40 by 48> is by parts of 48 elements, but rows of @r have 32}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 48>]
    }
  }
}

// -----

// exchange: all_to_all receives all parts
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{#event.transfer<@g to @r, 40 by 32> brings 3 parts, but @r has 2 rows}}
      event.exchange all_to_all over ["tp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// exchange: all_gather sends rows of a part
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{#event.transfer<@r to @g, 40 by 48> is by parts of 48 elements, but rows of @r have 32}}
      event.exchange all_gather over ["dp"] for "all_reduce" [#event.transfer<@r to @g, 40 by 48>]
    }
  }
}

// -----

// exchange: all_gather receives the whole
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      // expected-error @+1 {{#event.transfer<@r to @g, 39 by 32> is of 39 elements, but @g has 40}}
      event.exchange all_gather over ["dp"] for "all_reduce" [#event.transfer<@r to @g, 39 by 32>]
    }
  }
}

// -----

// schedule: no exchange
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp", "tp"] sizes [2, 3] batch ["dp"]
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1]
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1] accesses [] {
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
  // expected-error @+1 {{lists tasks of a program whose ranks exchange tensors, in phase 'a'}}
  event.schedule rows 1 past 0 outputs 0 workers [[]]
}

// -----

event.program @p max_rows 16 max_seq 32 max_outputs 4 {
  // expected-error @+2 {{expected ::baton::event::Scope to be one of: device, system}}
  // expected-error @+2 {{failed to parse Event_ScopeAttr}}
  event.tensor @e shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (1)> scope block
}

// -----

// exchange: parts are a multiple of 64 bytes, in every step
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 24)> capacity [4, 24] strides [24, 1]
  event.buffer @p transient : f32 extents affine_map<()[rows, past, outputs] -> (2, (rows * 24) ceildiv 32 * 16)> capacity [2, 48] strides [48, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{has parts of s0 * 24 elements, expected a multiple of 16 up to 2^42}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@y to @p, ()[rows, past, outputs] -> (rows * 24) by ()[rows, past, outputs] -> (rows * 24)>]
    }
  }
}

// -----

// exchange: a quotient of a multiple of 64 bytes need be none
event.program @p max_rows 30 max_seq 30 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch []
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> ((rows * 16) floordiv 48, 2)> capacity [10, 2] strides [2, 1]
  event.buffer @p transient : f32 extents affine_map<()[rows, past, outputs] -> (2, (rows * 16) floordiv 48)> capacity [2, 10] strides [10, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{has parts of (s0 * 16) floordiv 48 elements, expected a multiple of 16 up to 2^42}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@y to @p, ()[rows, past, outputs] -> (((rows * 16) floordiv 48) * 2) by ()[rows, past, outputs] -> ((rows * 16) floordiv 48)>]
    }
  }
}

// -----

// exchange: as many elements as the rows in use have
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 24)> capacity [4, 24] strides [24, 1]
  event.buffer @p transient : f32 extents affine_map<()[rows, past, outputs] -> (2, (rows * 24) ceildiv 32 * 16)> capacity [2, 48] strides [48, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{is of s0 * 23 elements, but @y has s0 * 24}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@y to @p, ()[rows, past, outputs] -> (rows * 23) by ()[rows, past, outputs] -> ((rows * 24) ceildiv 32 * 16)>]
    }
  }
}

// -----

// exchange: rows of a part
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 24)> capacity [4, 24] strides [24, 1]
  event.buffer @p transient : f32 extents affine_map<()[rows, past, outputs] -> (2, (rows * 24) ceildiv 32 * 16)> capacity [2, 48] strides [48, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{is by parts of s0 * 16 elements, but rows of @p have ((s0 * 24) ceildiv 32) * 16}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@y to @p, ()[rows, past, outputs] -> (rows * 24) by ()[rows, past, outputs] -> (rows * 16)>]
    }
  }
}

// -----

// exchange: n rows
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 24)> capacity [4, 24] strides [24, 1]
  event.buffer @p transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, (rows * 24) ceildiv 32 * 16)> capacity [4, 48] strides [48, 1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{brings 2 parts, but @p has s0 rows}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@y to @p, ()[rows, past, outputs] -> (rows * 24) by ()[rows, past, outputs] -> ((rows * 24) ceildiv 32 * 16)>]
    }
  }
}

// -----

// buffer: what is carried is persistent
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  // expected-error @+1 {{is carried from step to step, expected a persistent buffer that is no ring}}
  event.buffer @g transient : f32 extents affine_map<()[rows, past, outputs] -> (4)> capacity [4] strides [1] {carry = #event<carry kept>}
  event.segment "s" repeat 1 {
  }
}

// -----

// buffer: what is carried is no ring
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  // expected-error @+1 {{is carried from step to step, expected a persistent buffer that is no ring}}
  event.buffer @g persistent : f32 extents affine_map<()[rows, past, outputs] -> (4)> capacity [4] strides [1] {carry = #event<carry renewed>, layers = 2, layer_stride = 4, ring}
  event.segment "s" repeat 1 {
  }
}

// -----

// phase: no write has a condition
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @g persistent : f32 extents affine_map<()[rows, past, outputs] -> (4)> capacity [4] strides [1]
  event.buffer @f persistent : i32 extents affine_map<()[rows, past, outputs] -> (1)> capacity [1] strides [1]
  event.segment "s" repeat 1 {
    // expected-error @+1 {{writes @g on a condition}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @f, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (1)>, #event.access<write @g, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (4) if @f>] {
    }
  }
}

// -----

// phase: a condition is an integer
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @g persistent : f32 extents affine_map<()[rows, past, outputs] -> (4)> capacity [4] strides [1]
  event.buffer @f persistent : f32 extents affine_map<()[rows, past, outputs] -> (1)> capacity [1] strides [1]
  event.segment "s" repeat 1 {
    // expected-error @+1 {{reads @g if @f, which is no persistent buffer of integers}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @f, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (1)>, #event.access<read @g, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (4) if @f>] {
    }
  }
}

// -----

// phase: a condition is read
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @g persistent : f32 extents affine_map<()[rows, past, outputs] -> (4)> capacity [4] strides [1]
  event.buffer @f persistent : i32 extents affine_map<()[rows, past, outputs] -> (1)> capacity [1] strides [1]
  event.segment "s" repeat 1 {
    // expected-error @+1 {{reads @g if @f, but states no read of that}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @g, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (4) if @f>] {
    }
  }
}

// -----

// phase: what is read beyond the end is not negative
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @g persistent : f32 extents affine_map<()[rows, past, outputs] -> (4)> capacity [4] strides [1]
  event.buffer @f persistent : i32 extents affine_map<()[rows, past, outputs] -> (1)> capacity [1] strides [1]
  event.segment "s" repeat 1 {
    // expected-error @+1 {{reaches beyond @g by -1}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @g, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (4) beyond -1>] {
    }
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  // expected-error @below {{@x is no table, expected one dimension of i32 with stride 1 and no interleaving}}
  event.table @x holds ()[r, p, o] -> (0) to ()[r, p, o] -> (4) distinct
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  // expected-error @below {{there is no buffer @u}}
  event.table @u holds ()[r, p, o] -> (0) to ()[r, p, o] -> (4) distinct
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (4) distinct
  // expected-error @below {{@t is a table already}}
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (4) distinct
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  // expected-error @below {{the end of the values takes 1 coordinates, expected 0}}
  event.table @t holds ()[r, p, o] -> (0) to (d)[r, p, o] -> (4) distinct
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (4) distinct
  event.segment "s" repeat 1 {
    // expected-error @below {{has entries of @x, of which no event.table says what it holds}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      entries [#event.address<@x, (i)[r, p, o] -> (i)>]
      accesses [#event.access<read @t, (i, v)[r, p, o] -> (i) to (i, v)[r, p, o] -> (i + 1)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (4) distinct
  event.segment "s" repeat 1 {
    // expected-error @below {{has entries of @t, but states no read of it}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      entries [#event.address<@t, (i)[r, p, o] -> (i)>]
      accesses [#event.access<read @x, (i, v)[r, p, o] -> (v) to (i, v)[r, p, o] -> (v + 1)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (4) distinct
  event.segment "s" repeat 1 {
    // expected-error @below {{an access's corner takes 1 coordinates, expected 2}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      entries [#event.address<@t, (i)[r, p, o] -> (i)>]
      accesses [#event.access<read @t, (i)[r, p, o] -> (i) to (i)[r, p, o] -> (i + 1)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (4) distinct
  event.segment "s" repeat 1 {
    // expected-error @below {{an entry takes 2 coordinates, expected 1}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      entries [#event.address<@t, (i, v)[r, p, o] -> (v)>]
      accesses [#event.access<read @t, (i, v)[r, p, o] -> (i) to (i, v)[r, p, o] -> (i + 1)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (4) distinct
  event.segment "s" repeat 1 {
    // expected-error @below {{7 : i32 is no entry, expected #event.address<@TABLE, (coordinates)[rows, past, outputs] -> (place)>}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      entries [7 : i32]
      accesses [#event.access<read @t, (i, v)[r, p, o] -> (i) to (i, v)[r, p, o] -> (i + 1)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.tensor @e shape affine_map<()[r, p, o] -> (4)> capacity [4] count affine_map<()[r, p, o] -> (1)>
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (4) distinct
  event.segment "s" repeat 1 {
    // expected-error @below {{a wait's corner takes 2 coordinates, expected 1}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      entries [#event.address<@t, (i)[r, p, o] -> (i)>]
      accesses [#event.access<read @t, (i, v)[r, p, o] -> (i) to (i, v)[r, p, o] -> (i + 1)>] waits [#event.wait<@e, (i, v)[r, p, o] -> (v) to (i, v)[r, p, o] -> (v + 1)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (4) distinct
  event.segment "s" repeat 1 {
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      entries [#event.address<@t, (i)[r, p, o] -> (i)>]
      accesses [#event.access<read @t, (i, v)[r, p, o] -> (i) to (i, v)[r, p, o] -> (i + 1)>] {
      // expected-error @below {{is invariant but depends on coordinate 1}}
      event.call "f" [#event.address<@x, (i, v)[r, p, o] -> (v)>] invariant
    }
  }
}
