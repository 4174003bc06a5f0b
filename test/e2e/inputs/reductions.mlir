// In front of the products of a feed-forward layer, in the place of its norm: rows'
// largest element, the sum of exponentials below it, the sum of squares, a row of
// weights, sums of products of two columns with all of a row, and a mean, each by a
// structured op with one dimension that it reduces over. On CPUs sixteen rows, or
// columns, are the lanes of vectors; of twenty rows four are left over.
!rows = memref<?x?xf32, strided<[?, 1]>>
!vector = memref<?xf32, strided<[1]>>
!temporary = memref<?xf32>
module attributes {transform.with_named_sequence} {
  event.body @norm grid ()[rows, past, outputs] -> (rows ceildiv 20)
      accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t * 20, 0)
                    to (t)[rows, past, outputs] -> (t * 20 + 20, 65536)>,
                #event.access<read @weight, (t)[rows, past, outputs] -> (0)
                    to (t)[rows, past, outputs] -> (65536)>,
                #event.access<write @y, (t)[rows, past, outputs] -> (t * 20, 0)
                    to (t)[rows, past, outputs] -> (t * 20 + 20, 65536)>] {
  ^bb0(%x: !rows, %weight: !vector, %y: !rows):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0xFF800000 : f32
    %tall = memref.dim %x, %c0 : !rows
    %wide = memref.dim %x, %c1 : !rows
    %most = memref.alloca(%tall) : !temporary
    %sums = memref.alloca(%tall) : !temporary
    %squares = memref.alloca(%tall) : !temporary
    linalg.fill ins(%least : f32) outs(%most : !temporary)
    linalg.fill ins(%zero : f32) outs(%sums : !temporary)
    linalg.fill ins(%zero : f32) outs(%squares : !temporary)
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                    iterator_types = ["parallel", "reduction"]}
        ins(%x : !rows) outs(%most : !temporary) {
    ^bb0(%e: f32, %old: f32):
      %larger = arith.maximumf %e, %old : f32
      linalg.yield %larger : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                     affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>,
                                     affine_map<(i, j) -> (i)>],
                    iterator_types = ["parallel", "reduction"]}
        ins(%x, %weight, %most : !rows, !vector, !temporary) outs(%sums, %squares : !temporary, !temporary) {
    ^bb0(%e: f32, %w: f32, %largest: f32, %sum: f32, %square: f32):
      %below = arith.subf %e, %largest : f32
      %power = math.exp %below : f32
      %weighted = arith.mulf %power, %w : f32
      %next = arith.addf %sum, %weighted : f32
      %squared = arith.mulf %e, %e : f32
      %more = arith.addf %square, %squared : f32
      linalg.yield %next, %more : f32, f32
    }
    // What all rows of a tile say of a column would be another model for other tiles:
    // these sums are of a row's elements, and columns are the lanes.
    linalg.fill ins(%zero : f32) outs(%y : !rows)
    linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j)>,
                                     affine_map<(i, j, k) -> (i, j)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %x : !rows, !rows) outs(%y : !rows) {
    ^bb0(%one: f32, %other: f32, %old: f32):
      %distance = arith.subf %one, %other : f32
      %size = math.absf %distance : f32
      %next = arith.addf %old, %size : f32
      linalg.yield %next : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                                     affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%x, %sums, %squares : !rows, !temporary, !temporary) outs(%y : !rows) {
    ^bb0(%e: f32, %sum: f32, %square: f32, %distances: f32):
      %part = arith.mulf %e, %sum : f32
      %all = arith.addf %square, %distances : f32
      %normal = arith.divf %part, %all : f32
      linalg.yield %normal : f32
    }
  }
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %norm = transform.baton.match named "layers.post_attention_layernorm" in %program
    transform.baton.replace %norm with @norm
    transform.yield
  }
}
