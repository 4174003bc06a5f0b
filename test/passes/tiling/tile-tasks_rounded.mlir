// What linears call of a program whose inputs are rounded to BF16.
//
// RUN: baton-opt --tile-tasks=max-rows=64 %s | FileCheck %s

// A worker rounds its tile of rows once, behind what it normalises; of two numbers one
// element is made.
// CHECK: event.phase "norm"
// CHECK-NEXT: event.call "rms_norm" [#event.scratch<0>, 256,
// CHECK-NEXT: event.call "round_rows" [#event.scratch<[[ROUNDED:[0-9]+]]>, 128, #event.scratch<0>, 256, {{.*}}] invariant
// CHECK-NEXT: event.call "rounded_linear_bf16" [{{.*}}#event.scratch<[[ROUNDED]]>, 128, #event.weight

// CHECK: event.phase "gated"
// CHECK-NEXT: event.call "round_rows" [#event.scratch<[[ROUNDED]]>, 128, #event.address<@norm,
// CHECK-NEXT: event.call "rounded_gated_linear_bf16"

// What is not BF16 multiplies F32.
// CHECK: event.phase "plain"
// CHECK-NEXT: event.call "linear_f16" [{{.*}}#event.address<@gated,
// CHECK: event.phase "blocks"
// CHECK-NEXT: event.call "linear_q8_0" [{{.*}}#event.address<@plain,
// CHECK: event.phase "logits"
// CHECK-NEXT: event.call "round_rows"
// CHECK-NEXT: event.call "rounded_linear_bf16"

!rows = !model.tensor<rows x 256 x f32>
!weight = !model.tensor<256 x 256 x bf16>
!table = !model.tensor<40 x 256 x bf16>
model.program @model max_seq 64 inputs bf16 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["table"] : <40 x 256 x bf16>
  %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !table) -> !rows loc("x")
  %a = model.parameter ["a"] : <256 x 256 x bf16>
  %norm = model.parameter ["norm"] : <256 x f32>
  %0 = model.linear %x, %a norm_weight %norm {norm = #model.norm<rms>} : (!rows, !weight, !model.tensor<256 x f32>) -> !rows loc("norm")
  %b = model.parameter ["b"] : <256 x 256 x bf16>
  %c = model.parameter ["c"] : <256 x 256 x bf16>
  %1 = model.gated_linear %0, %b, %c {activation = #model.activation<silu>} : (!rows, !weight, !weight) -> !rows loc("gated")
  %d = model.parameter ["d"] : <256 x 256 x f16>
  %2 = model.linear %1, %d : (!rows, !model.tensor<256 x 256 x f16>) -> !rows loc("plain")
  %e = model.parameter ["e"] : <256 x 256 x !model.quantized<"q8_0">>
  %3 = model.linear %2, %e : (!rows, !model.tensor<256 x 256 x !model.quantized<"q8_0">>) -> !rows loc("blocks")
  %last = model.last_rows %3 : (!rows) -> !model.tensor<outputs x 256 x f32>
  %logits = model.linear %last, %table : (!model.tensor<outputs x 256 x f32>, !table) -> !model.tensor<outputs x 40 x f32> loc("logits")
  model.return %logits : !model.tensor<outputs x 40 x f32>
}
