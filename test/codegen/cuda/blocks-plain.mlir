// Lists of formats with layers that are not quantised. In steps of many rows the body on tensor cores
// rounds their numbers as it rounds others. Of inputs of 8 bits products of bytes have the blocks, and
// that body has the others, with the inputs as they were. A ring has all of them.
//
// RUN: batonc %s --target=cuda:sm_90a --emit=cuda | FileCheck %s
// RUN: sed '/"few_rows": {/,/}/d' %golden/../../compiler/targets/cuda.json > %t.json
// RUN: batonc %s --target=cuda:sm_90a --target-file=%t.json --emit=cuda | FileCheck %s --check-prefix=ONE
// RUN: batonc %s --target=cuda:sm_90a --batch-invariant --emit=cuda | FileCheck %s --check-prefix=INVARIANT
// RUN: batonc explain %s --target=cuda:sm_90a --prefill 64 --workers 132 --bandwidth 4000 --event-us 2 --peak 60000 \
// RUN:   --tensor-peak 600000 --json | FileCheck %s --check-prefix=EXPLAIN

// Bits of q8_0, q4_k, f16, bf16, f32 in the order of runtime/weight_blocks.h. One body for all, and of bytes
// one that skips some.
// CHECK: #define BATON_MIXED_FORMATS 0x380081u
// CHECK: struct Calls {
// CHECK-NEXT: BatonMatrixLinear body_0;
// CHECK-NEXT: BatonMatrixLinear body_1;
// CHECK-NEXT: };
// CHECK: calls.body_0 = baton_hand_linear_mixed(
// CHECK: calls.body_0 = baton_hand_linear_mixed(
// The second body's columns are those that the first one leaves.
// CHECK: calls.body_1 = baton_hand_partly_integer_linear_mixed([[LIST:.*]]);
// CHECK-NEXT: if (baton_asks_for_columns(calls.body_1)) {
// CHECK-NEXT: place = {1, {{.*}}, 1, iteration, tile, previous};
// CHECK-NEXT: return false;
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: {{\[\[}}fallthrough]];
// CHECK-NEXT: case 1:
// CHECK-NEXT: {
// CHECK-NEXT: calls.body_0 = baton_hand_exact_columns([[LIST]]);
// CHECK-NEXT: if (baton_asks_for_columns(calls.body_0)) {
// CHECK-NEXT: place = {0, {{.*}}, 2, iteration, tile, previous};
// CHECK-NEXT: return false;
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: {{\[\[}}fallthrough]];
// CHECK-NEXT: case 2:
// CHECK: baton_matrix_multiply_blocks<0x380081u, 256, 128, 128, 80>(shared, calls.body_0);
// CHECK: baton_matrix_multiply_integers<0x100001u, 256, 128, 128>(shared, calls.body_1);

// CHECK: using Ring = BatonBlockRing<Weights, 0x380081u, 131072, 256>;
// CHECK: baton_called_stream_blocks_linear_mixed(ring,
// CHECK: baton_called_stream_blocks_linear_mixed(ring,
// CHECK: baton_called_stream_blocks_partly_integer_linear_mixed(ring,

// One kernel for all steps. In a step of one row the ring has all columns.
// ONE: if (rows == 1)
// ONE: baton_called_stream_blocks_partly_integer_linear_mixed(ring, [[LIST:.*]]);
// ONE-NEXT: else
// ONE-NEXT: {
// ONE-NEXT: calls.body_1 = baton_hand_partly_integer_linear_mixed([[LIST]]);
// ONE: case 1:
// ONE-NEXT: if (rows != 1) {
// ONE-NEXT: calls.body_0 = baton_hand_exact_columns([[LIST]]);
// ONE-NEXT: if (baton_asks_for_columns(calls.body_0)) {

// INVARIANT-NOT: baton_matrix_multiply
// INVARIANT: baton_task_linear_mixed(
// INVARIANT: baton_task_partly_integer_linear_mixed(
// INVARIANT-NOT: Ring

// 2 * 64 * 256 * 256 of 600 TFLOP/s, with what rounds a row.
// EXPLAIN: "flops":8388608.0,{{[^}]*}}},{{[^}]*}}"compute_us":0.014,
// EXPLAIN-SAME: "flops":8388608.0,{{[^}]*}}},{{[^}]*}}"compute_us":0.014,
// EXPLAIN-SAME: "flops":8437760.0,{{[^}]*}}},{{[^}]*}}"compute_us":0.015,

!rows = !model.tensor<rows x 256 x f32>
!half = !model.tensor<256 x 256 x !model.quantized<"q4_k|f16">>
!whole = !model.tensor<256 x 256 x !model.quantized<"q8_0|f32">>
!bytes = !model.tensor<256 x 256 x !model.quantized<"q8_0|bf16", inputs = i8>>
model.program @model max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["table"] : <40 x 256 x f32>
  %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<40 x 256 x f32>) -> !rows loc("x")
  %a = model.parameter ["a"] : <256 x 256 x !model.quantized<"q4_k|f16">>
  %0 = model.linear %x, %a : (!rows, !half) -> !rows loc("half")
  %c = model.parameter ["c"] : <256 x 256 x !model.quantized<"q8_0|f32">>
  %1 = model.linear %0, %c : (!rows, !whole) -> !rows loc("whole")
  %d = model.parameter ["d"] : <256 x 256 x !model.quantized<"q8_0|bf16", inputs = i8>>
  %2 = model.linear %1, %d : (!rows, !bytes) -> !rows loc("bytes")
  %last = model.last_rows %2 : (!rows) -> !model.tensor<outputs x 256 x f32>
  %logits = model.linear %last, %table : (!model.tensor<outputs x 256 x f32>, !model.tensor<40 x 256 x f32>) -> !model.tensor<outputs x 40 x f32> loc("logits")
  model.return %logits : !model.tensor<outputs x 40 x f32>
}
