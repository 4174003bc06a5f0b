// Lists of formats with layers that are not quantised. In steps of many rows the body on tensor cores
// rounds their numbers as it rounds others; a ring has all of them.
//
// RUN: batonc %s --target=cuda:sm_90a --emit=cuda | FileCheck %s
// RUN: batonc %s --target=cuda:sm_90a --batch-invariant --emit=cuda | FileCheck %s --check-prefix=INVARIANT

// Bits of q8_0, q4_k, f16, f32 in the order of runtime/weight_blocks.h. One body for all.
// CHECK: #define BATON_MIXED_FORMATS 0x280081u
// CHECK: struct Calls {
// CHECK-NEXT: BatonMatrixLinear body_0;
// CHECK-NEXT: };
// CHECK: calls.body_0 = baton_hand_linear_mixed(
// CHECK: calls.body_0 = baton_hand_linear_mixed(
// CHECK: baton_matrix_multiply_blocks<0x280081u, 256, 128, 128>(shared, calls.body_0);

// CHECK: using Ring = BatonBlockRing<Weights, 0x280081u, 131072, 256>;
// CHECK: baton_called_stream_blocks_linear_mixed(ring,
// CHECK: baton_called_stream_blocks_linear_mixed(ring,

// INVARIANT-NOT: baton_matrix_multiply_blocks
// INVARIANT: baton_task_linear_mixed(
// INVARIANT-NOT: Ring

!rows = !model.tensor<rows x 256 x f32>
!half = !model.tensor<256 x 256 x !model.quantized<"q4_k|f16">>
!whole = !model.tensor<256 x 256 x !model.quantized<"q8_0|f32">>
model.program @model max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["table"] : <40 x 256 x f32>
  %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<40 x 256 x f32>) -> !rows loc("x")
  %a = model.parameter ["a"] : <256 x 256 x !model.quantized<"q4_k|f16">>
  %0 = model.linear %x, %a : (!rows, !half) -> !rows loc("half")
  %c = model.parameter ["c"] : <256 x 256 x !model.quantized<"q8_0|f32">>
  %1 = model.linear %0, %c : (!rows, !whole) -> !rows loc("whole")
  %last = model.last_rows %1 : (!rows) -> !model.tensor<outputs x 256 x f32>
  %logits = model.linear %last, %table : (!model.tensor<outputs x 256 x f32>, !model.tensor<40 x 256 x f32>) -> !model.tensor<outputs x 40 x f32> loc("logits")
  model.return %logits : !model.tensor<outputs x 40 x f32>
}
