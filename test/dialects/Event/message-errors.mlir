// What messages between ranks promise.
//
// RUN: baton-opt %s -split-input-file -verify-diagnostics

// a mesh
event.program @p max_rows 4 max_seq 8 max_outputs 1 {

  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @wide transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2, 4)> capacity [4, 2, 4] strides [8, 4, 1]
  event.buffer @open transient : f32 extents affine_map<()[rows, past, outputs] -> (4, rows)> capacity [4, 4] strides [4, 1]
  event.buffer @layers transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1] {layer_stride = 32 : i64, layers = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [4] accesses [] {
      // expected-error @+1 {{needs a mesh, and the program has none}}
      event.message send [@x] to next over "pp" for "a"
    }
  }
}

// -----

// an axis of the mesh
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["pp", "dp"] sizes [2, 1] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @wide transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2, 4)> capacity [4, 2, 4] strides [8, 4, 1]
  event.buffer @open transient : f32 extents affine_map<()[rows, past, outputs] -> (4, rows)> capacity [4, 4] strides [4, 1]
  event.buffer @layers transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1] {layer_stride = 32 : i64, layers = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [4] accesses [] {
      // expected-error @+1 {{is over "tp", which is no axis of the mesh}}
      event.message send [@x] to next over "tp" for "a"
    }
  }
}

// -----

// at least two ranks
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["pp", "dp"] sizes [2, 1] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @wide transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2, 4)> capacity [4, 2, 4] strides [8, 4, 1]
  event.buffer @open transient : f32 extents affine_map<()[rows, past, outputs] -> (4, rows)> capacity [4, 4] strides [4, 1]
  event.buffer @layers transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1] {layer_stride = 32 : i64, layers = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [4] accesses [] {
      // expected-error @+1 {{is over "dp", a single rank}}
      event.message send [@x] to next over "dp" for "a"
    }
  }
}

// -----

// alone in its phase
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["pp", "dp"] sizes [2, 1] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @wide transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2, 4)> capacity [4, 2, 4] strides [8, 4, 1]
  event.buffer @open transient : f32 extents affine_map<()[rows, past, outputs] -> (4, rows)> capacity [4, 4] strides [4, 1]
  event.buffer @layers transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1] {layer_stride = 32 : i64, layers = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [4] accesses [] {
      event.call "add" []
      // expected-error @+1 {{does not stand alone in phase 'a'}}
      event.message send [@x] to next over "pp" for "a"
    }
  }
}

// -----

// one task
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["pp", "dp"] sizes [2, 1] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @wide transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2, 4)> capacity [4, 2, 4] strides [8, 4, 1]
  event.buffer @open transient : f32 extents affine_map<()[rows, past, outputs] -> (4, rows)> capacity [4, 4] strides [4, 1]
  event.buffer @layers transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1] {layer_stride = 32 : i64, layers = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
      // expected-error @+1 {{stands in a grid of more or less than one task}}
      event.message send [@x] to next over "pp" for "a"
    }
  }
}

// -----

// one task in all iterations
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["pp", "dp"] sizes [2, 1] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @wide transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2, 4)> capacity [4, 2, 4] strides [8, 4, 1]
  event.buffer @open transient : f32 extents affine_map<()[rows, past, outputs] -> (4, rows)> capacity [4, 4] strides [4, 1]
  event.buffer @layers transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1] {layer_stride = 32 : i64, layers = 2 : i64}
  event.segment "s" repeat 2 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [4] accesses [] {
      // expected-error @+1 {{stands in a segment that is repeated}}
      event.message send [@x] to next over "pp" for "a"
    }
  }
}

// -----

// a tensor
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["pp", "dp"] sizes [2, 1] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @wide transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2, 4)> capacity [4, 2, 4] strides [8, 4, 1]
  event.buffer @open transient : f32 extents affine_map<()[rows, past, outputs] -> (4, rows)> capacity [4, 4] strides [4, 1]
  event.buffer @layers transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1] {layer_stride = 32 : i64, layers = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [4] accesses [] {
      // expected-error @+1 {{moves no tensor}}
      event.message send [] to next over "pp" for "a"
    }
  }
}

// -----

// each once
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["pp", "dp"] sizes [2, 1] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @wide transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2, 4)> capacity [4, 2, 4] strides [8, 4, 1]
  event.buffer @open transient : f32 extents affine_map<()[rows, past, outputs] -> (4, rows)> capacity [4, 4] strides [4, 1]
  event.buffer @layers transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1] {layer_stride = 32 : i64, layers = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [4] accesses [] {
      // expected-error @+1 {{moves @x twice}}
      event.message send [@x, @x] to next over "pp" for "a"
    }
  }
}

// -----

// a buffer
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["pp", "dp"] sizes [2, 1] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @wide transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2, 4)> capacity [4, 2, 4] strides [8, 4, 1]
  event.buffer @open transient : f32 extents affine_map<()[rows, past, outputs] -> (4, rows)> capacity [4, 4] strides [4, 1]
  event.buffer @layers transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1] {layer_stride = 32 : i64, layers = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [4] accesses [] {
      // expected-error @+1 {{@none is no buffer that tasks read and write}}
      event.message send [@none] to next over "pp" for "a"
    }
  }
}

// -----

// no input
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["pp", "dp"] sizes [2, 1] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @wide transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2, 4)> capacity [4, 2, 4] strides [8, 4, 1]
  event.buffer @open transient : f32 extents affine_map<()[rows, past, outputs] -> (4, rows)> capacity [4, 4] strides [4, 1]
  event.buffer @layers transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1] {layer_stride = 32 : i64, layers = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [4] accesses [] {
      // expected-error @+1 {{@tokens is no buffer that tasks read and write}}
      event.message send [@tokens] to next over "pp" for "a"
    }
  }
}

// -----

// one or two dimensions
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["pp", "dp"] sizes [2, 1] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @wide transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2, 4)> capacity [4, 2, 4] strides [8, 4, 1]
  event.buffer @open transient : f32 extents affine_map<()[rows, past, outputs] -> (4, rows)> capacity [4, 4] strides [4, 1]
  event.buffer @layers transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1] {layer_stride = 32 : i64, layers = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [4] accesses [] {
      // expected-error @+1 {{moves @wide, expected rows of one length, in one copy}}
      event.message send [@wide] to next over "pp" for "a"
    }
  }
}

// -----

// rows of one length
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["pp", "dp"] sizes [2, 1] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @wide transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2, 4)> capacity [4, 2, 4] strides [8, 4, 1]
  event.buffer @open transient : f32 extents affine_map<()[rows, past, outputs] -> (4, rows)> capacity [4, 4] strides [4, 1]
  event.buffer @layers transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1] {layer_stride = 32 : i64, layers = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [4] accesses [] {
      // expected-error @+1 {{moves @open, expected rows of one length, in one copy}}
      event.message send [@open] to next over "pp" for "a"
    }
  }
}

// -----

// one copy
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["pp", "dp"] sizes [2, 1] batch []
  event.buffer @tokens input : f32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [8] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1]
  event.buffer @wide transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 2, 4)> capacity [4, 2, 4] strides [8, 4, 1]
  event.buffer @open transient : f32 extents affine_map<()[rows, past, outputs] -> (4, rows)> capacity [4, 4] strides [4, 1]
  event.buffer @layers transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 8)> capacity [4, 8] strides [8, 1] {layer_stride = 32 : i64, layers = 2 : i64}
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [4] accesses [] {
      // expected-error @+1 {{moves @layers, expected rows of one length, in one copy}}
      event.message send [@layers] to next over "pp" for "a"
    }
  }
}
