// Rotary positions, and the states of keys and values, by one body: three
// phases of a layer become one.
//
//     batonc ./llama -o llama --schedule=rope-append.mlir
//
// A body that appends to states writes the step's rows of them: the last
// arguments, which begin where the states end so far. Attention reads states
// that a body writes element by element, not in the panels that the library's
// own appends make.
!heads = memref<?x?x?xf32, strided<[?, ?, ?]>>
!table = memref<?x?xf32, strided<[?, ?]>>
#all = affine_map<(r, h, i) -> (r, h, i)>
#angle = affine_map<(r, h, i) -> (r, i)>

module attributes {transform.with_named_sequence} {
  event.body @rope_append
      grid ()[rows, past, outputs] -> (rows ceildiv 4)
      accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t * 4, 0, 0)
                                    to (t)[rows, past, outputs] -> (t * 4 + 4, 65536, 65536)>,
                #event.access<read @angles, (t)[rows, past, outputs] -> (t * 4, 0)
                                         to (t)[rows, past, outputs] -> (t * 4 + 4, 65536)>,
                #event.access<read @values, (t)[rows, past, outputs] -> (t * 4, 0, 0)
                                         to (t)[rows, past, outputs] -> (t * 4 + 4, 65536, 65536)>,
                #event.access<write @k, (t)[rows, past, outputs] -> (t * 4, 0, 0)
                                     to (t)[rows, past, outputs] -> (t * 4 + 4, 65536, 65536)>,
                #event.access<write @v, (t)[rows, past, outputs] -> (t * 4, 0, 0)
                                     to (t)[rows, past, outputs] -> (t * 4 + 4, 65536, 65536)>] {
  ^bb0(%x: !heads, %angles: !table, %values: !heads, %k: !heads, %v: !heads):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %rows = memref.dim %x, %c0 : !heads
    %heads = memref.dim %x, %c1 : !heads
    %width = memref.dim %x, %c2 : !heads
    %half = arith.divui %width, %c2 : index
    // The table has cosines, then sines; a pair lies half a head apart.
    %cosines = memref.subview %angles[0, 0] [%rows, %half] [1, 1]
        : !table to memref<?x?xf32, strided<[?, ?]>>
    %sines = memref.subview %angles[0, %half] [%rows, %half] [1, 1]
        : !table to memref<?x?xf32, strided<[?, ?], offset: ?>>
    %low = memref.subview %x[0, 0, 0] [%rows, %heads, %half] [1, 1, 1]
        : !heads to memref<?x?x?xf32, strided<[?, ?, ?]>>
    %high = memref.subview %x[0, 0, %half] [%rows, %heads, %half] [1, 1, 1]
        : !heads to memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
    %k_low = memref.subview %k[0, 0, 0] [%rows, %heads, %half] [1, 1, 1]
        : !heads to memref<?x?x?xf32, strided<[?, ?, ?]>>
    %k_high = memref.subview %k[0, 0, %half] [%rows, %heads, %half] [1, 1, 1]
        : !heads to memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
    linalg.generic {indexing_maps = [#all, #all, #angle, #angle, #all, #all],
                    iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%low, %high, %cosines, %sines
            : memref<?x?x?xf32, strided<[?, ?, ?]>>, memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>,
              memref<?x?xf32, strided<[?, ?]>>, memref<?x?xf32, strided<[?, ?], offset: ?>>)
        outs(%k_low, %k_high
            : memref<?x?x?xf32, strided<[?, ?, ?]>>, memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>) {
    ^bb0(%a: f32, %b: f32, %cosine: f32, %sine: f32, %old_low: f32, %old_high: f32):
      %ac = arith.mulf %a, %cosine : f32
      %bs = arith.mulf %b, %sine : f32
      %bc = arith.mulf %b, %cosine : f32
      %as = arith.mulf %a, %sine : f32
      %first = arith.subf %ac, %bs : f32
      %second = arith.addf %bc, %as : f32
      linalg.yield %first, %second : f32, f32
    }
    linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%values : !heads) outs(%v : !heads) {
    ^bb0(%value: f32, %old: f32):
      linalg.yield %value : f32
    }
  }

  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %k = transform.baton.match ["model.rope"] named "layers.self_attn.k_rope" in %program
    %states = transform.baton.match ["model.kv_append"] in %program
    %all = transform.merge_handles %k, %states : !transform.any_op
    transform.baton.replace %all with @rope_append
    %softmaxes = transform.baton.match ["model.softmax"] in %program
    transform.baton.fuse %softmaxes
    %products = transform.baton.match ["model.mul"] in %program
    transform.baton.fuse %products optional
    %linears = transform.baton.match ["model.linear"] in %program
    transform.baton.group %linears optional
    %norms = transform.baton.match ["model.rms_norm"] in %program
    transform.baton.recompute %norms optional
    %sums = transform.baton.match ["model.add"] in %program
    transform.baton.fuse %sums optional
    transform.yield
  }
}
