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

def AdapterSlots : Pass<"adapter-slots", "::mlir::ModuleOp"> {
  let summary = "Give each row of a batch a low-rank adapter of its own";
  let description = [{
    ```mlir
    %y = model.linear %x, %w
    ```
    becomes, with `ranks=64` and `most=16`,
    ```mlir
    %low = model.adapter_down %x, %a, %places, %counts {ranks = 64}
    %b0 = model.linear %x, %w
    %y = model.adapter_up %b0, %low, %b, %places, %counts {ranks = 64}
    ```
    where `%places` and `%counts` are new arguments of the program: which of the
    64 ranks are those of a row's adapter. Pairs are beside linears of the modules
    that `targets` names, as PEFT has it. To be run behind batch-form.

    What a linear does before and behind its product becomes ops of their own: its
    norm, since the pair multiplies the same rows, and its activation, since the
    pair is added before it. A gated linear becomes two. The sum of linears that
    were grouped has a pair for each part; where a part does not begin at a
    multiple of 16 columns, these are linears of their own again.

    The bits of a row without an adapter are those of the program without.
  }];
  let options = [
    Option<"ranks", "ranks", "int64_t", "64", "Ranks that there is room for, of all adapters together">,
    Option<"most", "most", "int64_t", "16", "Ranks that one adapter has at most">,
    Option<"stored", "stored", "std::string", "\"f32\"", "How adapters are kept: f32 or bf16">,
    ListOption<"targets", "targets", "std::string", "Names of linears' modules, or all-linear">
  ];
  let dependentDialects = ["::baton::model::ModelDialect"];
  let statistics = [
    Statistic<"numPairs", "pairs", "Linears beside which adapters have pairs">
  ];
}

#endif // BATON_PASSES_BATCHING
