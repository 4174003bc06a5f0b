// RUN: baton-opt %s -split-input-file -verify-diagnostics

// Rows that go to experts of other ranks, and come back: constraints of event.exchange.

// Fine, and what the others are changes of.
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// Back from experts.
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      event.exchange combine over ["ep"] for "combine_rows" [#event.transfer<@y to @x, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// tables of a dispatch
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{does not say by which bounds, counts and received bounds}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>]
    }
  }
}

// -----

// three of them
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{does not say by which bounds, counts and received bounds}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts]
    }
  }
}

// -----

// no tables of others
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{is by tables, which an exchange all_gather does not read}}
      event.exchange all_gather over ["ep"] for "all_gather" [#event.transfer<@x to @y, 64 by 32>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// bounds are a table
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]

  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{is by @bounds, expected a table, a partition from 0 on}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// bounds are a partition
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) distinct
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{is by @bounds, expected a table, a partition from 0 on}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// bounds begin at 0
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (1) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{is by @received, expected a table, a partition from 0 on}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// experts of all ranks
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{is by @bounds of 3 experts and @received of 2, expected 2 times as many, and at least one}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// an expert at least
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (2)> capacity [2] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{is by @bounds of 4 experts and @received of 0, expected 2 times as many, and at least one}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// counts are integers
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : f32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{is by @counts, expected 2 rows of 16 counts in i32}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// counts of all ranks, in whole cache lines
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 8)> capacity [2, 8] strides [8, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{is by @counts, expected 2 rows of 16 counts in i32}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// rows of one length
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{has rows of s0 elements, expected a number}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by ()[r, p, o] -> (r)>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// rows behind one another
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [16, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{moves rows of 8 elements, which @y does not have behind one another}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// rows as long
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{moves rows of 4 elements, which @x does not have behind one another}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 4>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// as many rows as bounds are of
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{moves s0 rows of @x by @bounds, which is of s0 * 2}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// as many rows as experts may get
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 3 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{moves s0 * 2 rows of @y by @received, which is of s0 * 3}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
  }
}

// -----

// all of the own rows
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1]
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1]
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1]
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[r, p, o] -> (1)> capacity [1] accesses [] {
      // expected-error @+1 {{is of s0 * 4 elements, but @x has s0 * 8}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 4) by 8>] by [@bounds, @counts, @received]
    }
  }
}
