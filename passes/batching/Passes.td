//===- Passes.td - from a model of one sequence to one of many ------------===//

#ifndef BATON_PASSES_BATCHING
#define BATON_PASSES_BATCHING

include "mlir/Pass/PassBase.td"

def BatchForm : Pass<"batch-form", "::mlir::ModuleOp"> {
  let summary = "Make steps of several sequences of a program that decodes one";
  let description = [{
    ```mlir
    model.program @p max_seq 128 {
    ^bb0(%tokens: !model.tensor<rows x i32>):
      ...
      %k = model.kv_append %a to "k"
      %v = model.kv_append %b to "v"
      %y = model.attention %q, %k, %v
    ```
    becomes, with `sequences=4`,
    ```mlir
    model.program @p max_seq 128 batch 4 {
    ^bb0(%tokens, %positions, %sequences, %slots: !model.tensor<rows x i32>,
         %pages: !model.tensor<8 x i32>, %sampling: !model.tensor<outputs x 28 x i32>,
         %changes: !model.tensor<13824 x i32>):
      ...
      %k = model.paged_append %a at %slots to "k"
      %v = model.paged_append %b at %slots to "v"
      %y = model.paged_attention %q, %k, %v, %positions, %sequences, %pages
      ...
      %masks = model.token_mask %sampling
      %draws = model.sample %logits, %sampling, %changes, %masks
      model.return %logits, %draws
    ```
    With `hidden-states`, a third result is what the linear multiplies that makes
    logits, of all rows: `!model.tensor<rows x K x f32>`.

    What takes a row's position takes it from `%positions`. Attention is fused
    already: as products, it sums over the positions of one sequence.
  }];
  let options = [
    Option<"sequences", "sequences", "int64_t", "16", "Most sequences that a step has rows of">,
    Option<"stored", "stored", "std::string", "\"f32\"", "How keys and values are stored: f32, bf16, int8 or fp8">,
    Option<"hiddenStates", "hidden-states", "bool", "false", "Whether steps return the last hidden state of each row, too">
  ];
  let dependentDialects = ["::baton::model::ModelDialect"];
  let statistics = [
    Statistic<"numAttentions", "attentions", "Attentions to pages">
  ];
}

#endif // BATON_PASSES_BATCHING
