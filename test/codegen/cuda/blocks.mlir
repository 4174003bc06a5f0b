// Quantised weights on CUDA. In steps of many rows one body on tensor cores has all formats of the
// program, and products of bytes have another; phases hand theirs over. In steps of one row weights
// flow through a ring for all of their formats, and BF16's.
//
// RUN: batonc %s --target=cuda:sm_90a --emit=cuda | FileCheck %s
// RUN: batonc %s --target=cuda:sm_90a --batch-invariant --emit=cuda | FileCheck %s --check-prefix=INVARIANT

// Bits of q4_k, q6_k, q8_0 in the order of runtime/weight_blocks.h.
// CHECK: #define BATON_MIXED_FORMATS 0x280u
// CHECK: struct Calls {
// CHECK-NEXT: BatonMatrixLinear body_0;
// CHECK-NEXT: BatonMatrixLinear body_1;
// CHECK-NEXT: BatonMatrixLinear body_2;
// CHECK: calls.body_[[BLOCKS:[0-9]]] = baton_hand_linear_q4_k(
// CHECK: calls.body_[[BYTES:[0-9]]] = baton_hand_integer_gated_linear_q8_0(
// CHECK: calls.body_[[BLOCKS]] = baton_hand_linear_mixed(
// CHECK-DAG: baton_matrix_multiply_blocks<0x280u, 256, 128, 128>(shared, calls.body_[[BLOCKS]]);
// CHECK-DAG: baton_matrix_multiply_integers<0x1u, 256, 128, 128>(shared, calls.body_[[BYTES]]);
// CHECK-DAG: baton_matrix_multiply<256, 128, 128>(shared, calls.body_{{[0-9]}});

// A panel of 256 inputs is one block: of a Q4_K 2368 bytes; a mixed one begins with a head of 64 bytes and
// is as long as a Q6_K. Gate and up alternate.
// CHECK: __device__ bool next(BatonBlockPanels &next) {
// CHECK: BatonBlockPanels panels = {};
// CHECK: panels = {worker.parameter<int8_t>({{.*}}, baton_ceil_div({{.*}}, 16), 256, 2368, 7};
// CHECK: panels = {worker.parameter<int8_t>({{.*}}, baton_ceil_div({{.*}}, 16) * 2, 256, 4352, 0};
// CHECK: panels = {worker.parameter<int8_t>({{.*}}, baton_ceil_div({{.*}}, 16), 256, 3424, baton::cuda::mixed_format};
// CHECK: panels = {worker.parameter<uint16_t>({{.*}}, baton_ceil_div({{.*}}, 16), 256, 256 * 32, 20};
// CHECK: using Ring = BatonBlockRing<Weights, 0x100281u, 131072, 256>;
// CHECK: baton_called_stream_blocks_linear_q4_k(ring,
// CHECK: baton_called_stream_blocks_integer_gated_linear_q8_0(ring,
// CHECK: baton_called_stream_blocks_linear_mixed(ring,
// CHECK: baton_called_stream_blocks_linear_bf16(ring,

// Of bytes the bits are the portable body's.
// INVARIANT: struct Calls {
// INVARIANT-NEXT: BatonMatrixLinear body_0;
// INVARIANT-NEXT: };
// INVARIANT: baton_task_linear_q4_k(
// INVARIANT: calls.body_0 = baton_hand_integer_gated_linear_q8_0(
// INVARIANT: baton_task_linear_mixed(
// INVARIANT-NOT: Ring

!rows = !model.tensor<rows x 256 x f32>
!real = !model.tensor<256 x 256 x !model.quantized<"q4_k">>
!bytes = !model.tensor<256 x 256 x !model.quantized<"q8_0", inputs = i8>>
!mixed = !model.tensor<256 x 256 x !model.quantized<"q4_k|q6_k">>
model.program @model max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["table"] : <40 x 256 x bf16>
  %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<40 x 256 x bf16>) -> !rows loc("x")
  %a = model.parameter ["a"] : <256 x 256 x !model.quantized<"q4_k">>
  %0 = model.linear %x, %a : (!rows, !real) -> !rows loc("real")
  %c = model.parameter ["c"] : <256 x 256 x !model.quantized<"q8_0", inputs = i8>>
  %d = model.parameter ["d"] : <256 x 256 x !model.quantized<"q8_0", inputs = i8>>
  %1 = model.gated_linear %0, %c, %d {activation = #model.activation<silu>} : (!rows, !bytes, !bytes) -> !rows loc("gated")
  %e = model.parameter ["e"] : <256 x 256 x !model.quantized<"q4_k|q6_k">>
  %2 = model.linear %1, %e : (!rows, !mixed) -> !rows loc("mixed")
  %last = model.last_rows %2 : (!rows) -> !model.tensor<outputs x 256 x f32>
  %logits = model.linear %last, %table : (!model.tensor<outputs x 256 x f32>, !model.tensor<40 x 256 x bf16>) -> !model.tensor<outputs x 40 x f32> loc("logits")
  model.return %logits : !model.tensor<outputs x 40 x f32>
}
