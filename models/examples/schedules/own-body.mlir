// A task body of one's own, without C++: relu(gate)^2 * up, the activation of
// a feed-forward layer that no library has. Nothing of the model says so; the
// schedule takes the activation and the product out of it and puts the body in
// their place.
//
//     batonc ./llama -o llama --schedule=own-body.mlir
//
// The grid and the accesses say what a task touches: 16 rows, all columns.
// Events, memory and proof follow from that. The adjoint makes it train, too:
//
//     batonc ./llama -o trainer --mode=train --schedule=own-body.mlir
//
module attributes {transform.with_named_sequence} {
  event.body @relu_squared_times
      grid ()[rows, past, outputs] -> (rows ceildiv 16)
      accesses [#event.access<read @gate, (t)[rows, past, outputs] -> (t * 16, 0)
                                       to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<read @up, (t)[rows, past, outputs] -> (t * 16, 0)
                                     to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<write @y, (t)[rows, past, outputs] -> (t * 16, 0)
                                     to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>]
      attributes {adjoint_inputs = @relu_squared_times_adjoint} {
  ^bb0(%gate: memref<?x?xf32, strided<[?, ?]>>, %up: memref<?x?xf32, strided<[?, ?]>>,
       %y: memref<?x?xf32, strided<[?, ?]>>):
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                                     affine_map<(i, j) -> (i, j)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%gate, %up : memref<?x?xf32, strided<[?, ?]>>, memref<?x?xf32, strided<[?, ?]>>)
        outs(%y : memref<?x?xf32, strided<[?, ?]>>) {
    ^bb0(%g: f32, %u: f32, %old: f32):
      %zero = arith.constant 0.0 : f32
      %positive = arith.maximumf %g, %zero : f32
      %square = arith.mulf %positive, %positive : f32
      %product = arith.mulf %square, %u : f32
      linalg.yield %product : f32
    }
  }

  // From the operands and the gradient of what is made to those of the operands.
  event.body @relu_squared_times_adjoint
      grid ()[rows, past, outputs] -> (rows ceildiv 16)
      accesses [#event.access<read @gate, (t)[rows, past, outputs] -> (t * 16, 0)
                                       to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<read @up, (t)[rows, past, outputs] -> (t * 16, 0)
                                     to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<read @dy, (t)[rows, past, outputs] -> (t * 16, 0)
                                     to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<write @dgate, (t)[rows, past, outputs] -> (t * 16, 0)
                                         to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<write @dup, (t)[rows, past, outputs] -> (t * 16, 0)
                                       to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>] {
  ^bb0(%gate: memref<?x?xf32, strided<[?, ?]>>, %up: memref<?x?xf32, strided<[?, ?]>>,
       %dy: memref<?x?xf32, strided<[?, ?]>>,
       %dgate: memref<?x?xf32, strided<[?, ?]>>, %dup: memref<?x?xf32, strided<[?, ?]>>):
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                                     affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                                     affine_map<(i, j) -> (i, j)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%gate, %up, %dy : memref<?x?xf32, strided<[?, ?]>>, memref<?x?xf32, strided<[?, ?]>>,
            memref<?x?xf32, strided<[?, ?]>>)
        outs(%dgate, %dup : memref<?x?xf32, strided<[?, ?]>>, memref<?x?xf32, strided<[?, ?]>>) {
    ^bb0(%g: f32, %u: f32, %d: f32, %old_gate: f32, %old_up: f32):
      %zero = arith.constant 0.0 : f32
      %two = arith.constant 2.0 : f32
      %positive = arith.maximumf %g, %zero : f32
      %twice = arith.mulf %positive, %two : f32
      %slope = arith.mulf %twice, %u : f32
      %to_gate = arith.mulf %slope, %d : f32
      %square = arith.mulf %positive, %positive : f32
      %to_up = arith.mulf %square, %d : f32
      linalg.yield %to_gate, %to_up : f32, f32
    }
  }

  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %mine = transform.baton.match ["model.activate", "model.mul"] named "layers.mlp.*" in %program
    %made = transform.baton.replace %mine with @relu_squared_times
    // Each task of the down projection computes it for its rows, into scratch.
    transform.baton.recompute %made optional
    // With --mesh attention is fused before ranks get their parts.
    %softmaxes = transform.baton.match ["model.softmax"] in %program optional
    transform.baton.fuse %softmaxes
    %linears = transform.baton.match ["model.linear"] in %program
    transform.baton.group %linears optional
    %norms = transform.baton.match ["model.rms_norm"] in %program
    transform.baton.recompute %norms optional
    %sums = transform.baton.match ["model.add"] in %program
    transform.baton.fuse %sums optional
    transform.yield
  }
}
