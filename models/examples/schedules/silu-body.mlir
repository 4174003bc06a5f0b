// The activation silu(gate) * up of a Llama's feed-forward layers, as a task
// body of one's own: what the ops compute that it replaces, so that diff-run can
// compare the two. docs/debugging.md plants faults in it.
//
//     batonc ./llama -o llama --schedule=silu-body.mlir
#same = affine_map<(i, j) -> (i, j)>

module attributes {transform.with_named_sequence} {
  event.body @silu_times
      grid ()[rows, past, outputs] -> (rows ceildiv 16)
      accesses [#event.access<read @gate, (t)[rows, past, outputs] -> (t * 16, 0)
                                       to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<read @up, (t)[rows, past, outputs] -> (t * 16, 0)
                                     to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<write @y, (t)[rows, past, outputs] -> (t * 16, 0)
                                     to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>] {
  ^bb0(%gate: memref<?x?xf32, strided<[?, ?]>>, %up: memref<?x?xf32, strided<[?, ?]>>,
       %y: memref<?x?xf32, strided<[?, ?]>>):
    linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
        ins(%gate, %up : memref<?x?xf32, strided<[?, ?]>>, memref<?x?xf32, strided<[?, ?]>>)
        outs(%y : memref<?x?xf32, strided<[?, ?]>>) {
    ^bb0(%g: f32, %u: f32, %old: f32):
      %one = arith.constant 1.0 : f32
      %negative = arith.negf %g : f32
      %power = math.exp %negative : f32
      %divisor = arith.addf %one, %power : f32
      %silu = arith.divf %g, %divisor : f32
      %product = arith.mulf %silu, %u : f32
      linalg.yield %product : f32
    }
  }

  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %mine = transform.baton.match ["model.activate", "model.mul"] named "layers.mlp.*" in %program
    transform.baton.replace %mine with @silu_times
    %softmaxes = transform.baton.match ["model.softmax"] in %program
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
