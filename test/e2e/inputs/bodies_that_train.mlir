// Bodies that compute what they replace, with adjoints: gradients have to be
// PyTorch's. silu(gate) * up has two operands, the norm a value and a weight.
!matrix = memref<?x?xf32, strided<[?, ?]>>
!vector = memref<?xf32, strided<[?]>>
#each = affine_map<(i, j) -> (i, j)>

module attributes {transform.with_named_sequence} {
  event.body @silu_times
      grid ()[rows, past, outputs] -> (rows ceildiv 16)
      accesses [#event.access<read @gate, (t)[rows, past, outputs] -> (t * 16, 0)
                                       to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<read @up, (t)[rows, past, outputs] -> (t * 16, 0)
                                     to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<write @y, (t)[rows, past, outputs] -> (t * 16, 0)
                                     to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>]
      attributes {adjoint_inputs = @silu_times_adjoint} {
  ^bb0(%gate: !matrix, %up: !matrix, %y: !matrix):
    linalg.generic {indexing_maps = [#each, #each, #each], iterator_types = ["parallel", "parallel"]}
        ins(%gate, %up : !matrix, !matrix) outs(%y : !matrix) {
    ^bb0(%g: f32, %u: f32, %old: f32):
      %one = arith.constant 1.0 : f32
      %minus = arith.negf %g : f32
      %exp = math.exp %minus : f32
      %sum = arith.addf %one, %exp : f32
      %silu = arith.divf %g, %sum : f32
      %product = arith.mulf %silu, %u : f32
      linalg.yield %product : f32
    }
  }

  event.body @silu_times_adjoint
      grid ()[rows, past, outputs] -> (rows ceildiv 8)
      accesses [#event.access<read @gate, (t)[rows, past, outputs] -> (t * 8, 0)
                                       to (t)[rows, past, outputs] -> (t * 8 + 8, 65536)>,
                #event.access<read @up, (t)[rows, past, outputs] -> (t * 8, 0)
                                     to (t)[rows, past, outputs] -> (t * 8 + 8, 65536)>,
                #event.access<read @dy, (t)[rows, past, outputs] -> (t * 8, 0)
                                     to (t)[rows, past, outputs] -> (t * 8 + 8, 65536)>,
                #event.access<write @dgate, (t)[rows, past, outputs] -> (t * 8, 0)
                                         to (t)[rows, past, outputs] -> (t * 8 + 8, 65536)>,
                #event.access<write @dup, (t)[rows, past, outputs] -> (t * 8, 0)
                                       to (t)[rows, past, outputs] -> (t * 8 + 8, 65536)>] {
  ^bb0(%gate: !matrix, %up: !matrix, %dy: !matrix, %dgate: !matrix, %dup: !matrix):
    linalg.generic {indexing_maps = [#each, #each, #each, #each, #each],
                    iterator_types = ["parallel", "parallel"]}
        ins(%gate, %up, %dy : !matrix, !matrix, !matrix) outs(%dgate, %dup : !matrix, !matrix) {
    ^bb0(%g: f32, %u: f32, %d: f32, %old_gate: f32, %old_up: f32):
      %one = arith.constant 1.0 : f32
      %minus = arith.negf %g : f32
      %exp = math.exp %minus : f32
      %sum = arith.addf %one, %exp : f32
      %sigmoid = arith.divf %one, %sum : f32
      %silu = arith.mulf %g, %sigmoid : f32
      // silu' = sigmoid * (1 + g - silu)
      %more = arith.addf %one, %g : f32
      %rest = arith.subf %more, %silu : f32
      %slope = arith.mulf %sigmoid, %rest : f32
      %scaled = arith.mulf %slope, %u : f32
      %to_gate = arith.mulf %scaled, %d : f32
      %to_up = arith.mulf %silu, %d : f32
      linalg.yield %to_gate, %to_up : f32, f32
    }
  }

  event.body @rms
      grid ()[rows, past, outputs] -> (rows ceildiv 4)
      accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t * 4, 0)
                                    to (t)[rows, past, outputs] -> (t * 4 + 4, 65536)>,
                #event.access<read @w, (t)[rows, past, outputs] -> (0)
                                    to (t)[rows, past, outputs] -> (65536)>,
                #event.access<write @y, (t)[rows, past, outputs] -> (t * 4, 0)
                                     to (t)[rows, past, outputs] -> (t * 4 + 4, 65536)>]
      attributes {adjoint_inputs = @rms_adjoint, adjoint_weights = @rms_weights} {
  ^bb0(%x: !matrix, %w: !vector, %y: !matrix):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %epsilon = arith.constant 1.0e-2 : f32
    %rows = memref.dim %x, %c0 : !matrix
    %columns = memref.dim %x, %c1 : !matrix
    %whole = arith.index_cast %columns : index to i32
    %n = arith.sitofp %whole : i32 to f32
    scf.for %r = %c0 to %rows step %c1 {
      %squares = scf.for %c = %c0 to %columns step %c1 iter_args(%sum = %zero) -> f32 {
        %v = memref.load %x[%r, %c] : !matrix
        %square = arith.mulf %v, %v : f32
        %next = arith.addf %sum, %square : f32
        scf.yield %next : f32
      }
      %mean = arith.divf %squares, %n : f32
      %shifted = arith.addf %mean, %epsilon : f32
      %scale = math.rsqrt %shifted : f32
      scf.for %c = %c0 to %columns step %c1 {
        %v = memref.load %x[%r, %c] : !matrix
        %weight = memref.load %w[%c] : !vector
        %normal = arith.mulf %v, %scale : f32
        %out = arith.mulf %normal, %weight : f32
        memref.store %out, %y[%r, %c] : !matrix
      }
    }
  }

  // With s = 1 / rms: dx = s * (w * dy) - x * s^3 / n * sum(x * w * dy).
  event.body @rms_adjoint
      grid ()[rows, past, outputs] -> (rows ceildiv 4)
      accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t * 4, 0)
                                    to (t)[rows, past, outputs] -> (t * 4 + 4, 65536)>,
                #event.access<read @w, (t)[rows, past, outputs] -> (0)
                                    to (t)[rows, past, outputs] -> (65536)>,
                #event.access<read @dy, (t)[rows, past, outputs] -> (t * 4, 0)
                                     to (t)[rows, past, outputs] -> (t * 4 + 4, 65536)>,
                #event.access<write @dx, (t)[rows, past, outputs] -> (t * 4, 0)
                                      to (t)[rows, past, outputs] -> (t * 4 + 4, 65536)>] {
  ^bb0(%x: !matrix, %w: !vector, %dy: !matrix, %dx: !matrix):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %epsilon = arith.constant 1.0e-2 : f32
    %rows = memref.dim %x, %c0 : !matrix
    %columns = memref.dim %x, %c1 : !matrix
    %whole = arith.index_cast %columns : index to i32
    %n = arith.sitofp %whole : i32 to f32
    scf.for %r = %c0 to %rows step %c1 {
      %sums:2 = scf.for %c = %c0 to %columns step %c1
          iter_args(%squares = %zero, %products = %zero) -> (f32, f32) {
        %v = memref.load %x[%r, %c] : !matrix
        %weight = memref.load %w[%c] : !vector
        %d = memref.load %dy[%r, %c] : !matrix
        %square = arith.mulf %v, %v : f32
        %more = arith.addf %squares, %square : f32
        %weighted = arith.mulf %weight, %d : f32
        %product = arith.mulf %v, %weighted : f32
        %next = arith.addf %products, %product : f32
        scf.yield %more, %next : f32, f32
      }
      %mean = arith.divf %sums#0, %n : f32
      %shifted = arith.addf %mean, %epsilon : f32
      %scale = math.rsqrt %shifted : f32
      %square = arith.mulf %scale, %scale : f32
      %cube = arith.mulf %square, %scale : f32
      %share = arith.divf %cube, %n : f32
      %back = arith.mulf %share, %sums#1 : f32
      scf.for %c = %c0 to %columns step %c1 {
        %v = memref.load %x[%r, %c] : !matrix
        %weight = memref.load %w[%c] : !vector
        %d = memref.load %dy[%r, %c] : !matrix
        %weighted = arith.mulf %weight, %d : f32
        %first = arith.mulf %scale, %weighted : f32
        %second = arith.mulf %v, %back : f32
        %out = arith.subf %first, %second : f32
        memref.store %out, %dx[%r, %c] : !matrix
      }
    }
  }

  // dw = sum over rows of dy * x / rms, rows in ascending order.
  event.body @rms_weights
      grid ()[rows, past, outputs] -> (1)
      accesses [#event.access<read @x, (t)[rows, past, outputs] -> (0, 0)
                                    to (t)[rows, past, outputs] -> (rows, 65536)>,
                #event.access<read @w, (t)[rows, past, outputs] -> (0)
                                    to (t)[rows, past, outputs] -> (65536)>,
                #event.access<read @dy, (t)[rows, past, outputs] -> (0, 0)
                                     to (t)[rows, past, outputs] -> (rows, 65536)>,
                #event.access<write @dw, (t)[rows, past, outputs] -> (0)
                                      to (t)[rows, past, outputs] -> (65536)>] {
  ^bb0(%x: !matrix, %w: !vector, %dy: !matrix, %dw: !vector):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %epsilon = arith.constant 1.0e-2 : f32
    %rows = memref.dim %x, %c0 : !matrix
    %columns = memref.dim %x, %c1 : !matrix
    %whole = arith.index_cast %columns : index to i32
    %n = arith.sitofp %whole : i32 to f32
    linalg.fill ins(%zero : f32) outs(%dw : !vector)
    scf.for %r = %c0 to %rows step %c1 {
      %squares = scf.for %c = %c0 to %columns step %c1 iter_args(%sum = %zero) -> f32 {
        %v = memref.load %x[%r, %c] : !matrix
        %square = arith.mulf %v, %v : f32
        %next = arith.addf %sum, %square : f32
        scf.yield %next : f32
      }
      %mean = arith.divf %squares, %n : f32
      %shifted = arith.addf %mean, %epsilon : f32
      %scale = math.rsqrt %shifted : f32
      scf.for %c = %c0 to %columns step %c1 {
        %v = memref.load %x[%r, %c] : !matrix
        %d = memref.load %dy[%r, %c] : !matrix
        %sum = memref.load %dw[%c] : !vector
        %normal = arith.mulf %v, %scale : f32
        %product = arith.mulf %normal, %d : f32
        %next = arith.addf %sum, %product : f32
        memref.store %next, %dw[%c] : !vector
      }
    }
  }

  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %gates = transform.baton.match ["model.activate", "model.mul"] named "layers.mlp.*" in %program
    transform.baton.replace %gates with @silu_times
    %first = transform.baton.match ["model.rms_norm"] named "layers.input_layernorm" in %program
    transform.baton.replace %first with @rms
    %second = transform.baton.match ["model.rms_norm"] named "layers.post_attention_layernorm" in %program
    transform.baton.replace %second with @rms
    %softmaxes = transform.baton.match ["model.softmax"] in %program
    transform.baton.fuse %softmaxes
    transform.yield
  }
}
