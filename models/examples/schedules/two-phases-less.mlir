// A layer of a Llama has nine phases by default. The rotary embeddings of
// queries and keys run on the same grid and touch nothing of each other's, and
// so do the copies of keys and values into their states: one task can do both.
// Seven phases remain, and two events less between them.
//
//     batonc ./llama -o llama --schedule=two-phases-less.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @plan(%plan: !transform.any_op {transform.readonly}) {
    %ropes = transform.baton.match named "layers.self_attn.{q,k}_rope" in %plan
    transform.baton.merge %ropes
    %states = transform.baton.match named "layers.self_attn.{k,v}_state" in %plan
    transform.baton.merge %states
    transform.yield
  }
}
