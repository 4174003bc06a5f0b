// RUN: baton-opt %s --event-verify --split-input-file --verify-diagnostics

// @b is what the microbatch before left in @a: but it lies two rows behind it.
#rows = affine_map<()[s0, s1, s2] -> (s0, 4)>
#one = affine_map<()[s0, s1, s2] -> (1)>
#none = affine_map<()[s0, s1, s2] -> ()>
event.program @values max_rows 8 max_seq 8 max_outputs 1 {
  event.storage @memory bytes 512
  event.buffer @a persistent : f32 extents #rows capacity [8, 4] strides [4, 1] in @memory
  event.buffer @b persistent : f32 extents #rows capacity [8, 4] strides [4, 1] in @memory {offset = 40 : i64}
  event.storage @flag_memory bytes 4
  event.buffer @accumulate persistent : i32 extents #one capacity [1] strides [1] in @flag_memory
  event.storage @out_memory bytes 128
  event.buffer @out transient : f32 extents #rows capacity [8, 4] strides [4, 1] in @out_memory
  event.storage @logits_memory bytes 16
  event.buffer @logits transient : f32 extents affine_map<()[s0, s1, s2] -> (s2, 4)> capacity [1, 4] strides [4, 1] in @logits_memory
  event.tensor @read.done shape #none capacity [] count #one
  event.tensor @write.done shape #none capacity [] count #one
  event.segment "all" repeat 1 {
// expected-error@+1 {{phase 'read' reads @b, which no task of the step has written}}
    event.phase "read" grid #one capacity [1]
        accesses [#event.access<read @accumulate, (d0)[s0, s1, s2] -> (0) to (d0)[s0, s1, s2] -> (1)>,
                  #event.access<read @b, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s0, 4) if @accumulate>,
                  #event.access<write @out, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s0, 4)>]
        notifies #event.notify<@read.done, (d0)[s0, s1, s2] -> ()> {}
    event.phase "write" grid #one capacity [1]
        accesses [#event.access<read @out, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s0, 4)>,
                  #event.access<write @logits, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s2, 4)>,
                  #event.access<write @a, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s0, 4)>]
        waits [#event.wait<@read.done, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>]
        notifies #event.notify<@write.done, (d0)[s0, s1, s2] -> ()> {}
    event.phase "advance" grid #one capacity [1]
        accesses [#event.access<read @logits, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s2, 4)>,
                  #event.access<write @accumulate, (d0)[s0, s1, s2] -> (0) to (d0)[s0, s1, s2] -> (1)>]
        waits [#event.wait<@write.done, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>] {
      event.advance @logits
    }
  }
}

// -----

// @k has two copies, the segment one iteration: nobody writes rows of the second.
event.program @growth max_rows 8 max_seq 8 max_outputs 1 {
  event.storage @memory bytes 512
// expected-error@+1 {{a step leaves layer 1 of @k unwritten, which later steps may read}}
  event.buffer @k state : f32 extents affine_map<()[s0, s1, s2] -> (s0 + s1, 4)> capacity [8, 4] strides [4, 1] in @memory {layers = 2 : i64, layer_stride = 32 : i64}
  event.storage @out_memory bytes 128
  event.buffer @out transient : f32 extents affine_map<()[s0, s1, s2] -> (s0, 4)> capacity [8, 4] strides [4, 1] in @out_memory
  event.tensor @done shape affine_map<()[s0, s1, s2] -> ()> capacity [] count affine_map<()[s0, s1, s2] -> (1)>
  event.segment "layers" repeat 1 {
    event.phase "write" grid affine_map<()[s0, s1, s2] -> (1)> capacity [1]
        accesses [#event.access<write @k, (d0)[s0, s1, s2] -> (s1, 0) to (d0)[s0, s1, s2] -> (s0 + s1, 4)>]
        notifies #event.notify<@done, (d0)[s0, s1, s2] -> ()> {}
    event.phase "read" grid affine_map<()[s0, s1, s2] -> (1)> capacity [1]
        accesses [#event.access<read @k, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s0 + s1, 4)>,
                  #event.access<write @out, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s0, 4)>]
        waits [#event.wait<@done, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>] {}
  }
}

// -----

// @p is renewed, but no task writes it. With max_outputs 1 this is rejected.
event.program @renewal max_rows 8 max_seq 8 max_outputs 2 {
  event.storage @memory bytes 16
// expected-error@+1 {{@p is carried to the next step, but no task of the step writes its element (0)}}
  event.buffer @p persistent : f32 extents affine_map<()[s0, s1, s2] -> (4)> capacity [4] strides [1] in @memory {carry = #event<carry renewed>}
  event.storage @out_memory bytes 128
  event.buffer @out transient : f32 extents affine_map<()[s0, s1, s2] -> (s0, 4)> capacity [8, 4] strides [4, 1] in @out_memory
  event.segment "all" repeat 1 {
    event.phase "read" grid affine_map<()[s0, s1, s2] -> (1)> capacity [1]
        accesses [#event.access<read @p, (d0)[s0, s1, s2] -> (0) to (d0)[s0, s1, s2] -> (4)>,
                  #event.access<write @out, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s0, 4)>] {}
  }
}

// -----

// @p is said to be kept, but rows of it are written.
#rows = affine_map<()[s0, s1, s2] -> (s0, 4)>
event.program @keeping max_rows 8 max_seq 8 max_outputs 1 {
  event.storage @memory bytes 128
  event.buffer @p persistent : f32 extents #rows capacity [8, 4] strides [4, 1] in @memory {carry = #event<carry kept>}
  event.segment "all" repeat 1 {
    // expected-error@+1 {{phase 'write' writes @p, of which a buffer of the same storage is said to be kept}}
    event.phase "write" grid affine_map<()[s0, s1, s2] -> (1)> capacity [1]
        accesses [#event.access<write @p, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s0, 4)>] {}
  }
}
