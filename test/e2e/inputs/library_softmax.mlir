// Attention's softmax of one head's rows by the task library; and a softmax with
// its adjoint, which calls it, too.
!tile = memref<?x?x?xf32, strided<[?, ?, 1]>>
!rows = memref<?x?xf32, strided<[?, 1]>>
!temporary = memref<?x?xf32>
module attributes {transform.with_named_sequence} {
  event.body @weights grid ()[rows, past, outputs] -> (rows ceildiv 16, 6)
      accesses [#event.access<read @x, (t, h)[rows, past, outputs] -> (h, t * 16, 0)
                    to (t, h)[rows, past, outputs] -> (h + 1, t * 16 + 16, 65536)>,
                #event.access<write @y, (t, h)[rows, past, outputs] -> (h, t * 16, 0)
                    to (t, h)[rows, past, outputs] -> (h + 1, t * 16 + 16, 65536)>] {
  ^bb0(%x: !tile, %y: !tile):
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %tall = memref.dim %x, %c1 : !tile
    %wide = memref.dim %x, %c2 : !tile
    %scores = memref.subview %x[0, 0, 0] [1, %tall, %wide] [1, 1, 1] : !tile to !rows
    %made = memref.subview %y[0, 0, 0] [1, %tall, %wide] [1, 1, 1] : !tile to !rows
    event.library_call "softmax" ins(%scores : !rows) outs(%made : !rows)
  }
  event.body @softmax_of_rows grid ()[rows, past, outputs] -> (rows ceildiv 4)
      accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t * 4, 0)
                    to (t)[rows, past, outputs] -> (t * 4 + 4, 65536)>,
                #event.access<write @y, (t)[rows, past, outputs] -> (t * 4, 0)
                    to (t)[rows, past, outputs] -> (t * 4 + 4, 65536)>]
      attributes {adjoint_inputs = @softmax_adjoint} {
  ^bb0(%x: !rows, %y: !rows):
    event.library_call "softmax" ins(%x : !rows) outs(%y : !rows)
  }
  event.body @softmax_adjoint grid ()[rows, past, outputs] -> (rows ceildiv 4)
      accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t * 4, 0)
                    to (t)[rows, past, outputs] -> (t * 4 + 4, 65536)>,
                #event.access<read @dy, (t)[rows, past, outputs] -> (t * 4, 0)
                    to (t)[rows, past, outputs] -> (t * 4 + 4, 65536)>,
                #event.access<write @dx, (t)[rows, past, outputs] -> (t * 4, 0)
                    to (t)[rows, past, outputs] -> (t * 4 + 4, 65536)>] {
  ^bb0(%x: !rows, %dy: !rows, %dx: !rows):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %tall = memref.dim %x, %c0 : !rows
    %wide = memref.dim %x, %c1 : !rows
    %y = memref.alloca(%tall, %wide) : !temporary
    %sums = memref.alloca(%tall) : memref<?xf32>
    event.library_call "softmax" ins(%x : !rows) outs(%y : !temporary)
    linalg.fill ins(%zero : f32) outs(%sums : memref<?xf32>)
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                    iterator_types = ["parallel", "reduction"]}
        ins(%y, %dy : !temporary, !rows) outs(%sums : memref<?xf32>) {
    ^bb0(%weight: f32, %d: f32, %sum: f32):
      %product = arith.mulf %weight, %d : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                                     affine_map<(i, j) -> (i, j)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%y, %dy, %sums : !temporary, !rows, memref<?xf32>) outs(%dx : !rows) {
    ^bb0(%weight: f32, %d: f32, %sum: f32, %old: f32):
      %difference = arith.subf %d, %sum : f32
      %gradient = arith.mulf %weight, %difference : f32
      linalg.yield %gradient : f32
    }
  }
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %softmaxes = transform.baton.match ["model.softmax"] in %program
    transform.baton.replace %softmaxes with @weights
    transform.yield
  }
}
