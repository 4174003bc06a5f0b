// Fewer tasks mean fewer events, so why not make a linear one task? Because a
// step of decoding has one row, and all its parallelism lies in the columns:
// whoever gets no tile waits. This schedule is slower with two workers or more.
//
//     batonc ./llama -o llama --schedule=fewer-wider-tiles.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %softmaxes = transform.baton.match ["model.softmax"] in %program
    transform.baton.fuse %softmaxes
    %products = transform.baton.match ["model.mul"] in %program
    transform.baton.fuse %products
    %linears = transform.baton.match ["model.linear"] in %program
    transform.baton.group %linears optional
    %norms = transform.baton.match ["model.rms_norm", "model.layer_norm"] in %program
    transform.baton.recompute %norms optional
    %sums = transform.baton.match ["model.add"] in %program
    transform.baton.fuse %sums optional

    %wide = transform.baton.match ["model.linear", "model.gated_linear"] in %program
    transform.baton.tile %wide [48, 65536]
    transform.yield
  }
}
