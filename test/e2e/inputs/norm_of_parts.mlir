// A norm whose rows are many tasks' work: four tasks add up the squares of a
// part of a row each, and the next ones scale the row by all four.
!matrix = memref<?x?xf32, strided<[?, ?]>>
!vector = memref<?xf32, strided<[?]>>
#each = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i, 0)>

module attributes {transform.with_named_sequence} {
  event.body @squares
      grid ()[rows, past, outputs] -> (rows ceildiv 4, 4)
      accesses [#event.access<read @x, (t, p)[rows, past, outputs] -> (t * 4, p * 15)
                                    to (t, p)[rows, past, outputs] -> (t * 4 + 4, p * 15 + 15)>,
                #event.access<read @w, (t, p)[rows, past, outputs] -> (0)
                                    to (t, p)[rows, past, outputs] -> (1)>,
                #event.access<write @parts, (t, p)[rows, past, outputs] -> (t * 4, p)
                                         to (t, p)[rows, past, outputs] -> (t * 4 + 4, p + 1)>] {
  ^bb0(%x: !matrix, %w: !vector, %parts: !matrix):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%parts : !matrix)
    linalg.generic {indexing_maps = [#each, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : !matrix) outs(%parts : !matrix) {
    ^bb0(%v: f32, %sum: f32):
      %square = arith.mulf %v, %v : f32
      %next = arith.addf %sum, %square : f32
      linalg.yield %next : f32
    }
  }

  event.body @normalise
      grid ()[rows, past, outputs] -> (rows ceildiv 4)
      accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t * 4, 0)
                                    to (t)[rows, past, outputs] -> (t * 4 + 4, 65536)>,
                #event.access<read @w, (t)[rows, past, outputs] -> (0)
                                    to (t)[rows, past, outputs] -> (65536)>,
                #event.access<read @parts, (t)[rows, past, outputs] -> (t * 4, 0)
                                        to (t)[rows, past, outputs] -> (t * 4 + 4, 4)>,
                #event.access<write @y, (t)[rows, past, outputs] -> (t * 4, 0)
                                     to (t)[rows, past, outputs] -> (t * 4 + 4, 65536)>] {
  ^bb0(%x: !matrix, %w: !vector, %parts: !matrix, %y: !matrix):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %epsilon = arith.constant 1.0e-2 : f32
    %rows = memref.dim %x, %c0 : !matrix
    %columns = memref.dim %x, %c1 : !matrix
    %count = memref.dim %parts, %c1 : !matrix
    %whole = arith.index_cast %columns : index to i32
    %n = arith.sitofp %whole : i32 to f32
    scf.for %r = %c0 to %rows step %c1 {
      %squares = scf.for %p = %c0 to %count step %c1 iter_args(%sum = %zero) -> f32 {
        %part = memref.load %parts[%r, %p] : !matrix
        %next = arith.addf %sum, %part : f32
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

  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %norms = transform.baton.match ["model.rms_norm"] named "layers.input_layernorm" in %program
    transform.baton.replace %norms with @squares through !model.tensor<rows x 4 x f32> then @normalise
    %softmaxes = transform.baton.match ["model.softmax"] in %program
    transform.baton.fuse %softmaxes
    transform.yield
  }
}
