// RUN: baton-opt %s --event-verify --split-input-file --verify-diagnostics

// What lies at the edges of a proof, each beside a plan that differs in one
// thing and is fine.

// Two persistent views of one storage, one of which begins a layer later: copy 1
// of @one is copy 0 of @other.
event.program @shifted_views max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @memory bytes 4096
  event.buffer @one persistent : f32 extents affine_map<()[r, p, o] -> (8, 8)> capacity [8, 8] strides [8, 1] in @memory {layers = 2 : i64, layer_stride = 64 : i64}
  event.buffer @other persistent : f32 extents affine_map<()[r, p, o] -> (8, 8)> capacity [8, 8] strides [8, 1] in @memory {layers = 2 : i64, layer_stride = 64 : i64, offset = 64 : i64}
  event.tensor @done shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "layers" repeat 2 {
    // expected-error @+1 {{phase 'write' does not wait for phase 'read': write after read of @one and @other, which share @memory in the next iteration}}
    event.phase "write" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @one, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (8, 8)>]
      waits [#event.wait<@done distance 1, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>]
      notifies <@done, (m)[r, p, o] -> ()> {
    }
    event.phase "read" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @other, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (8, 8)>]
      waits [#event.wait<@done, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
    }
  }
}

// -----

// Two halves of each layer: no copy of one reaches into the next of the other.
event.program @halves_of_layers max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @memory bytes 512
  event.buffer @whole persistent : f32 extents affine_map<()[r, p, o] -> (8, 8)> capacity [8, 8] strides [8, 1] in @memory {layers = 2 : i64, layer_stride = 64 : i64}
  event.buffer @half persistent : f32 extents affine_map<()[r, p, o] -> (4, 8)> capacity [4, 8] strides [8, 1] in @memory {layers = 2 : i64, layer_stride = 64 : i64, offset = 32 : i64}
  event.tensor @done shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "layers" repeat 2 {
    event.phase "write" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @whole, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (8, 8)>]
      waits [#event.wait<@done distance 1, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>]
      notifies <@done, (m)[r, p, o] -> ()> {
    }
    event.phase "read" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @half, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (4, 8)>]
      waits [#event.wait<@done, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
    }
  }
}

// -----

// Of 16 outputs the second tile has another height than the first, so that
// another worker runs it.
event.program @exchanges_of_two_workers max_rows 16 max_seq 16 max_outputs 16 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.storage @s1 bytes 256
  event.storage @r1 bytes 256
  event.storage @s2 bytes 256
  event.storage @r2 bytes 256
  event.buffer @a persistent : f32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @s1 {carry = #event<carry kept>}
  event.buffer @ar persistent : f32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @r1
  event.buffer @b persistent : f32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @s2 {carry = #event<carry kept>}
  event.buffer @br persistent : f32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @r2
  event.segment "s" repeat 1 {
    event.phase "first" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @a, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (2, 16)>,
                #event.access<write @ar, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (2, 16)>] {
      event.exchange all_to_all over ["dp"] for "x" [#event.transfer<@a to @ar, 32 by 16>]
    }
    // expected-error @+1 {{phase 'second' may be run by another worker than phase 'first' and does not wait for it, so that ranks may come to their exchanges in different orders; for example with rows 16, past 0, outputs 2}}
    event.phase "second" grid affine_map<()[r, p, o] -> (o ceildiv 16)> capacity [1]
      accesses [#event.access<read @b, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (2, 16)>,
                #event.access<write @br, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (2, 16)>] {
      event.exchange all_to_all over ["dp"] for "x" [#event.transfer<@b to @br, 32 by 16>]
    }
  }
}

// -----

// Whoever runs it, an event holds the second exchange back.
event.program @exchanges_in_order max_rows 16 max_seq 16 max_outputs 16 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.storage @s1 bytes 256
  event.storage @r1 bytes 256
  event.storage @s2 bytes 256
  event.storage @r2 bytes 256
  event.buffer @a persistent : f32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @s1 {carry = #event<carry kept>}
  event.buffer @ar persistent : f32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @r1
  event.buffer @b persistent : f32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @s2 {carry = #event<carry kept>}
  event.buffer @br persistent : f32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @r2
  event.tensor @done shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)> scope system
  event.segment "s" repeat 1 {
    event.phase "first" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @a, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (2, 16)>,
                #event.access<write @ar, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (2, 16)>]
      notifies <@done, (m)[r, p, o] -> ()> {
      event.exchange all_to_all over ["dp"] for "x" [#event.transfer<@a to @ar, 32 by 16>]
    }
    event.phase "second" grid affine_map<()[r, p, o] -> (o ceildiv 16)> capacity [1]
      accesses [#event.access<read @b, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (2, 16)>,
                #event.access<write @br, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (2, 16)>]
      waits [#event.wait<@done, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.exchange all_to_all over ["dp"] for "x" [#event.transfer<@b to @br, 32 by 16>]
    }
  }
}

// -----

// A worker may send the second before another one sends the first. (Between two
// ranks the next and the previous one are the same: so are the channels.)
event.program @messages_of_two_workers max_rows 16 max_seq 16 max_outputs 16 {
  event.mesh ["pp"] sizes [2] batch []
  event.storage @s1 bytes 1024
  event.storage @s2 bytes 1024
  event.buffer @a persistent : f32 extents affine_map<()[r, p, o] -> (16, 16)> capacity [16, 16] strides [16, 1] in @s1 {carry = #event<carry kept>}
  event.buffer @b persistent : f32 extents affine_map<()[r, p, o] -> (16, 16)> capacity [16, 16] strides [16, 1] in @s2 {carry = #event<carry kept>}
  event.segment "s" repeat 1 {
    event.phase "first" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @a, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (16, 16)>] {
      event.message send [@a] to next over "pp" for "activations"
    }
    // expected-error @+1 {{phase 'second' may be run by another worker than phase 'first' and does not wait for it, so that messages of one channel may change places}}
    event.phase "second" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @b, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (16, 16)>] attributes {distribution = #event<distribution cyclic>} {
      event.message send [@b] to previous over "pp" for "activations"
    }
  }
}

// -----

// Each of two ranks receives what the other one has not sent yet.
event.program @receive_first max_rows 16 max_seq 16 max_outputs 16 {
  event.mesh ["pp"] sizes [2] batch []
  event.storage @s1 bytes 1024
  event.storage @s2 bytes 1024
  event.buffer @a persistent : f32 extents affine_map<()[r, p, o] -> (16, 16)> capacity [16, 16] strides [16, 1] in @s1 {carry = #event<carry kept>}
  event.buffer @b persistent : f32 extents affine_map<()[r, p, o] -> (16, 16)> capacity [16, 16] strides [16, 1] in @s2
  event.segment "s" repeat 1 {
    // expected-error @+1 {{ranks wait for one another: place 0 in 'receive' of @receive_first waits for a message of channel 'x' from the previous place}}
    event.phase "receive" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @b, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (16, 16)>] {
      event.message receive [@b] to previous over "pp" for "x"
    }
    event.phase "send" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @a, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (16, 16)>] {
      event.message send [@a] to next over "pp" for "x"
    }
  }
}

// -----

event.program @send_first max_rows 16 max_seq 16 max_outputs 16 {
  event.mesh ["pp"] sizes [2] batch []
  event.storage @s1 bytes 1024
  event.storage @s2 bytes 1024
  event.buffer @a persistent : f32 extents affine_map<()[r, p, o] -> (16, 16)> capacity [16, 16] strides [16, 1] in @s1 {carry = #event<carry kept>}
  event.buffer @b persistent : f32 extents affine_map<()[r, p, o] -> (16, 16)> capacity [16, 16] strides [16, 1] in @s2
  event.segment "s" repeat 1 {
    event.phase "send" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @a, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (16, 16)>] {
      event.message send [@a] to next over "pp" for "x"
    }
    event.phase "receive" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @b, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (16, 16)>] {
      event.message receive [@b] to previous over "pp" for "x"
    }
  }
}

// -----

// No tile of one row may reach twice as far as the buffer.
event.program @beyond_the_rows max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @xm bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [16, 4] strides [4, 1] in @xm
  event.tensor @done shape affine_map<()[r, p, o] -> (r)> capacity [8] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "write" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 4)>] notifies <@done, (m)[r, p, o] -> (m)> {
    }
    // expected-error @+1 {{phase 'read' reads @x up to 1 in dimension 0 of 1, further beyond the end than a tile reaches or the access states; for example read(0) with rows 1, past 0, outputs 0}}
    event.phase "read" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r * 2, 4)>]
      waits [#event.wait<@done, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {
    }
  }
}

// -----

event.program @before_the_rows max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @xm bytes 4096
  event.buffer @x persistent : f32 extents affine_map<()[r, p, o] -> (8, 4)> capacity [8, 4] strides [4, 1] in @xm {carry = #event<carry kept>}
  event.segment "s" repeat 1 {
    // expected-error @+1 {{phase 'read' reads @x from -5 in dimension 0; for example read(0)}}
    event.phase "read" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[r, p, o] -> (-5, 0) to (m)[r, p, o] -> (8, 4)>] {
    }
  }
}

// -----

// Tiles of four rows, the last one of which the end cuts; and who reads panels of
// eight rows says so.
event.program @tiles_and_panels max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @xm bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [16, 4] strides [4, 1] in @xm
  event.tensor @done shape affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "write" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 4)>] notifies <@done, (m)[r, p, o] -> (m)> {
    }
    event.phase "read" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (m * 4 + 11, 4) beyond 7>]
      waits [#event.wait<@done, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r ceildiv 4)>] {
    }
  }
}

// -----

// Coefficients that no 64 bits hold once they are multiplied.
event.program @large_coefficients max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @xm bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @xm
  event.segment "s" repeat 1 {
    // expected-error @+1 {{has coefficients of 2^31 or more, beyond what the proof can multiply}}
    event.phase "write" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> ((m * 1073741824 + r) * 1073741824) to (m)[r, p, o] -> (4)>] {
    }
  }
}

// -----

// An invariant call, which a worker does not repeat, writes scratch only.
event.program @invariant_writes max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @xm bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (8, 4)> capacity [8, 4] strides [4, 1] in @xm
  event.segment "s" repeat 1 {
    event.phase "write" grid affine_map<()[r, p, o] -> (8)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 4)>] {
      // expected-error @+1 {{is invariant, so that it writes scratch only, but is passed @x, which phase 'write' states only to write}}
      event.call "copy" [#event.address<@x, (m)[r, p, o] -> (m, 0)>] invariant
    }
  }
}

// -----

// A buffer that a sum goes through in two phases, one of which is gone.
event.program @lost_contribution max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @gm bytes 64
  // expected-error @+1 {{@g is to be written by 2 phases, but 1 state it}}
  event.buffer @g transient : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @gm {writers = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "first" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @g, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>] {
    }
  }
}

// -----

// Nobody has written what a body is sure to read; who may read only what was
// written is trusted.
event.program @may_write max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @xm bytes 128
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @xm {offset = 16 : i64}
  event.tensor @done shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "write" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<may write @x, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>,
                #event.access<may write @y, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] notifies <@done, (m)[r, p, o] -> ()> {
    }
    event.phase "fine" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<may read @y, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>]
      waits [#event.wait<@done, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
    }
    // expected-error @+1 {{phase 'read' reads @x(0), which no task before it writes}}
    event.phase "read" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>]
      waits [#event.wait<@done, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
    }
  }
}
