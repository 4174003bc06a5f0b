// What linears of weights in blocks call, and of weights that multiply whole numbers.
//
// RUN: baton-opt --tile-tasks=max-rows=64 %s | FileCheck %s

// Each layer has the room of its own format.
// CHECK: event.parameter @stacked.weight : i8 layers 3 as #event.blocks<"q4_k|bf16", 256 by 256>
// CHECK-SAME: event.layer_formats = ["q4_k", "bf16", "q4_k"]

// Without `inputs` the product reads x itself, or its norm.
// CHECK: event.phase "real"
// CHECK-NEXT: event.call "linear_q4_k" [{{.*}}#event.address<@x,

// A worker rounds its tile of rows once, behind what it normalises.
// CHECK: event.phase "integers"
// CHECK-NEXT: event.call "rms_norm" [#event.scratch<0>, 256,
// CHECK-NEXT: event.call "quantise_rows" [#event.scratch<[[ROUNDED:[0-9]+]]>, 80, #event.scratch<0>, 256, {{.*}}] invariant
// CHECK-NEXT: event.call "integer_linear_q4_k" [{{.*}}#event.scratch<[[ROUNDED]]>, 80, #event.weight

// CHECK: event.phase "gated"
// CHECK-NEXT: event.call "quantise_rows" [#event.scratch<[[ROUNDED]]>, 80, #event.address<@integers,
// CHECK-NEXT: event.call "integer_gated_linear_q8_0"

// CHECK: event.phase "mixed"
// CHECK: event.call "integer_linear_mixed"

// Layers that are not quantised multiply the rows that were rounded, as they were before.
// CHECK: event.phase "stacked"
// CHECK-NEXT: event.call "rms_norm" [#event.scratch<0>, 256,
// CHECK-NEXT: event.call "quantise_rows" [#event.scratch<[[ROUNDED]]>, 80, #event.scratch<0>, 256, {{.*}}] invariant
// CHECK-NEXT: event.call "partly_integer_linear_mixed" [{{.*}}#event.scratch<[[ROUNDED]]>, 80, #event.scratch<0>, 256, #event.weight

!rows = !model.tensor<rows x 256 x f32>
!real = !model.tensor<256 x 256 x !model.quantized<"q4_k">>
!integers = !model.tensor<256 x 256 x !model.quantized<"q4_k", inputs = i8>>
!bytes = !model.tensor<256 x 256 x !model.quantized<"q8_0", inputs = i8>>
!partly = !model.tensor<256 x 256 x !model.quantized<"q4_k|bf16", inputs = i8>>
!mixed = !model.tensor<256 x 256 x !model.quantized<"q4_k|q6_k", inputs = i8>>
!vector = !model.tensor<256 x f32>
model.program @model max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["table"] : <40 x 256 x f32>
  %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<40 x 256 x f32>) -> !rows loc("x")
  %a = model.parameter ["a"] : <256 x 256 x !model.quantized<"q4_k">>
  %0 = model.linear %x, %a : (!rows, !real) -> !rows loc("real")
  %b = model.parameter ["b"] : <256 x 256 x !model.quantized<"q4_k", inputs = i8>>
  %norm = model.parameter ["norm"] : <256 x f32>
  %1 = model.linear %0, %b norm_weight %norm {norm = #model.norm<rms>} : (!rows, !integers, !vector) -> !rows loc("integers")
  %c = model.parameter ["c"] : <256 x 256 x !model.quantized<"q8_0", inputs = i8>>
  %d = model.parameter ["d"] : <256 x 256 x !model.quantized<"q8_0", inputs = i8>>
  %2 = model.gated_linear %1, %c, %d {activation = #model.activation<silu>} : (!rows, !bytes, !bytes) -> !rows loc("gated")
  %e = model.parameter ["e"] : <256 x 256 x !model.quantized<"q4_k|q6_k", inputs = i8>>
  %3 = model.linear %2, %e : (!rows, !mixed) -> !rows loc("mixed")
  %4 = model.stack %3 repeat 3 : (!rows) -> !rows {
  ^bb0(%row: !rows):
    %f = model.parameter ["f.{layer}"] {model.layer_formats = ["q4_k", "bf16", "q4_k"]} : <256 x 256 x !model.quantized<"q4_k|bf16", inputs = i8>>
    %5 = model.linear %row, %f norm_weight %norm {norm = #model.norm<rms>} : (!rows, !partly, !vector) -> !rows loc("stacked")
    model.yield %5 : !rows
  }
  %last = model.last_rows %4 : (!rows) -> !model.tensor<outputs x 256 x f32>
  %logits = model.linear %last, %table : (!model.tensor<outputs x 256 x f32>, !model.tensor<40 x 256 x f32>) -> !model.tensor<outputs x 40 x f32> loc("logits")
  model.return %logits : !model.tensor<outputs x 40 x f32>
}
