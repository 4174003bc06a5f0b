// The down projection, with something of its input computed on the way: a
// product whose tiles are vectors on the CPU, with rows, columns and depth left
// over.
module attributes {transform.with_named_sequence} {
  event.body @projection grid ()[rows, past, outputs] -> (rows ceildiv 20, 2)
      accesses [#event.access<read @x, (t, c)[rows, past, outputs] -> (t * 20, 0) to (t, c)[rows, past, outputs] -> (t * 20 + 20, 65536)>,
                #event.access<read @w, (t, c)[rows, past, outputs] -> (c * 36, 0) to (t, c)[rows, past, outputs] -> (c * 36 + 36, 65536)>,
                #event.access<write @y, (t, c)[rows, past, outputs] -> (t * 20, c * 36) to (t, c)[rows, past, outputs] -> (t * 20 + 20, c * 36 + 36)>] {
  ^bb0(%x: memref<?x?xf32, strided<[?, 1]>>, %w: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>):
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %rows = memref.dim %x, %c0 : memref<?x?xf32, strided<[?, 1]>>
    %whole = arith.index_cast %rows : index to i32
    %real = arith.sitofp %whole : i32 to f32
    %one = arith.divf %real, %real : f32
    linalg.fill ins(%zero : f32) outs(%y : memref<?x?xf32, strided<[?, 1]>>)
    linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                                     affine_map<(i, j, k) -> (i, j)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<?x?xf32, strided<[?, 1]>>, memref<?x?xf32, strided<[?, 1]>>) outs(%y : memref<?x?xf32, strided<[?, 1]>>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %twice = arith.addf %a, %a : f32
      %half = arith.constant 0.5 : f32
      %once = arith.mulf %twice, %half : f32
      %same = arith.mulf %once, %one : f32
      %product = arith.mulf %same, %b : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
    }
  }
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %ops = transform.baton.match ["model.linear"] named "layers.mlp.down_proj" in %program
    transform.baton.replace %ops with @projection
    transform.yield
  }
}
