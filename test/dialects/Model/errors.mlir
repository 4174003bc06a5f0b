// One case for every line under **Constraints:** in ModelOps.td, in its order of
// ops; "..." continues the line above.
//
// RUN: baton-opt %s --allow-unregistered-dialect -verify-diagnostics -split-input-file

// tensor: every number is at least 1
// expected-error @below {{dimensions are at least 1, found 0}}
%x = "test.value"() : () -> !model.tensor<rows x 0 x f32>

// -----

// tensor: the element type is f32, f16, bf16, f64, i32 or `!model.quantized`
// expected-error @below {{elements are f32, f16, bf16, f64, i32 or !model.quantized, found 'i8'}}
%x = "test.value"() : () -> !model.tensor<rows x 8 x i8>

// -----

// quantized: every format is one of these, none twice, and one at least is quantised
// expected-error @below {{'q9_0' lists formats of weights of which one is unknown}}
%x = "test.value"() : () -> !model.tensor<32 x 32 x !model.quantized<"q9_0">>

// -----

// expected-error @below {{'q8_0|f16|f16' lists formats of weights of which one is there twice}}
%x = "test.value"() : () -> !model.tensor<32 x 32 x !model.quantized<"q8_0|f16|f16">>

// -----

// expected-error @below {{'bf16|f32' lists formats of weights of which none is quantised; f16, bf16 and f32 are types of elements by themselves}}
%x = "test.value"() : () -> !model.tensor<32 x 32 x !model.quantized<"bf16|f32">>

// -----

// expected-error @below {{'f16' lists formats of weights of which none is quantised}}
%x = "test.value"() : () -> !model.tensor<32 x 32 x !model.quantized<"f16", inputs = i8>>

// -----

// quantized: inputs are i8
// expected-error @below {{inputs of quantised weights are i8, found 'f32'}}
%x = "test.value"() : () -> !model.tensor<32 x 32 x !model.quantized<"q8_0", inputs = f32>>

// -----

// tensor: rows are cut over 2 to 2^20 ranks
// expected-error @below {{rows are cut over 2 to 1048576 ranks, found 1}}
%x = "test.value"() : () -> !model.tensor<rows over 1 x 8 x f32>

// -----

// quantized: quantised numbers that inputs in i8 are multiplied by are whole: ggml's, int4's and
// int8's
// expected-error @below {{inputs of int4_g32|nf4, whose numbers are not whole, are not i8}}
%x = "test.value"() : () -> !model.tensor<64 x 64 x !model.quantized<"int4_g32|nf4", inputs = i8>>

// -----

// tensor: a symbol occurs at most once
// expected-error @below {{dimension symbol 'rows' occurs twice}}
%x = "test.value"() : () -> !model.tensor<rows x rows x f32>

// -----

// program: max_seq is at least 1
// expected-error @below {{max_seq is 0, expected 1 to 16777216}}
model.program @p max_seq 0 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %l = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}

// -----

// program: ... and not negative
// expected-error @below {{max_seq is -1, expected 1 to 16777216}}
model.program @p max_seq -1 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %l = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}

// -----

// program: ... and at most 2^24
// expected-error @below {{max_seq is 16777217, expected 1 to 16777216}}
model.program @p max_seq 16777217 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %l = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}

// -----

// program: `inputs` is bf16
// expected-error @below {{inputs of linears are 'f16', expected bf16}}
model.program @p max_seq 8 inputs f16 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %l = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}

// -----

// program: ... a program that trains has none
// expected-error @below {{trains, and rounds inputs of linears}}
model.program @p max_seq 8 training inputs bf16 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %l = "test.value"() : () -> !model.tensor<rows x f32>
  model.return %l : !model.tensor<rows x f32>
}

// -----

// program: the body takes one argument
// expected-error @below {{the body takes one argument of type}}
model.program @p max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>, %more: !model.tensor<rows x i32>):
  %l = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}

// -----

// program: ... of rows x i32
// expected-error @below {{the body takes one argument of type}}
model.program @p max_seq 8 {
^bb0(%tokens: !model.tensor<rows x f32>):
  %l = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}

// -----

// program: a state name is appended to by one kv_append only
model.program @p max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
  %a = model.kv_append %x to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  // expected-error @below {{appends to state 'k', which another op appends to already}}
  %b = model.kv_append %x to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  %l = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}

// -----

// return: there is one operand
model.program @p max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  // expected-error @below {{returns the logits and nothing else}}
  model.return
}

// -----

// return: ... not two
model.program @p max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %l0 = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
  %l1 = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
  // expected-error @below {{returns the logits and nothing else}}
  model.return %l0, %l1 : !model.tensor<outputs x 8 x f32>, !model.tensor<outputs x 8 x f32>
}

// -----

// return: its shape is outputs x V
model.program @p max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %l0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  // expected-error @below {{logits have shape [rows, 8], expected [outputs, vocabulary]}}
  model.return %l0 : !model.tensor<rows x 8 x f32>
}

// -----

// return: its elements are f32
model.program @p max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %l0 = "test.value"() : () -> !model.tensor<outputs x 8 x f16>
  // expected-error @below {{the logits has 'f16' elements, expected f32}}
  model.return %l0 : !model.tensor<outputs x 8 x f16>
}

// -----

// stack: repeat is at least 1
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{repeat is 0, expected 1 to 1048576}}
%y = model.stack %x repeat 0 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
^bb0(%z: !model.tensor<rows x 8 x f32>):
  %e = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  model.yield %e : !model.tensor<rows x 8 x f32>
}

// -----

// stack: ... and at most 2^20
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{repeat is 1048577, expected 1 to 1048576}}
%y = model.stack %x repeat 1048577 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
^bb0(%z: !model.tensor<rows x 8 x f32>):
  %e = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  model.yield %e : !model.tensor<rows x 8 x f32>
}

// -----

// stack: first_layer is at least 0
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{first_layer is negative}}
%y = model.stack %x repeat 2 {first_layer = -1 : i64} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
^bb0(%z: !model.tensor<rows x 8 x f32>):
  %e = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  model.yield %e : !model.tensor<rows x 8 x f32>
}

// -----

// stack: layers_per_iteration is at least 1
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{layers_per_iteration is less than 1}}
%y = model.stack %x repeat 2 {layers_per_iteration = 0 : i64} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
^bb0(%z: !model.tensor<rows x 8 x f32>):
  %e = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  model.yield %e : !model.tensor<rows x 8 x f32>
}

// -----

// stack: block arguments agree with operands
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{block arguments do not match the operands}}
%y = model.stack %x repeat 2 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
^bb0(%z: !model.tensor<rows x 9 x f32>):
  %e = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  model.yield %e : !model.tensor<rows x 8 x f32>
}

// -----

// stack: yielded values agree with operands
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{yielded values do not match the operands}}
%y = model.stack %x repeat 2 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
^bb0(%z: !model.tensor<rows x 8 x f32>):
  %e = "test.value"() : () -> !model.tensor<rows x 9 x f32>
  model.yield %e : !model.tensor<rows x 9 x f32>
}

// -----

// stack: results agree with operands
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{results do not match the operands}}
%y = model.stack %x repeat 2 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 9 x f32> {
^bb0(%z: !model.tensor<rows x 8 x f32>):
  %e = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  model.yield %e : !model.tensor<rows x 8 x f32>
}

// -----

// stack: carried tensors have rows as their first dimension
%x = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
// expected-error @below {{whose first dimension is not 'rows'}}
%y = model.stack %x repeat 2 : (!model.tensor<outputs x 8 x f32>) -> !model.tensor<outputs x 8 x f32> {
^bb0(%z: !model.tensor<outputs x 8 x f32>):
  %e = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
  model.yield %e : !model.tensor<outputs x 8 x f32>
}

// -----

// stack: the body ends with a yield
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the body ends with model.yield}}
%y = model.stack %x repeat 2 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
^bb0(%z: !model.tensor<rows x 8 x f32>):
  %e = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  "test.end"() : () -> ()
}

// -----

// parameter: there is at least one name
// expected-error @below {{names no tensor}}
%w = model.parameter [] : !model.tensor<8 x f32>

// -----

// parameter: ... none empty
// expected-error @below {{has an empty tensor name}}
%w = model.parameter ["a", ""] : !model.tensor<8 x f32>

// -----

// parameter: the type is static
// expected-error @below {{the type has a dimension that only a step knows}}
%w = model.parameter ["a"] : !model.tensor<rows x 8 x f32>

// -----

// parameter: ... with floating-point elements
// expected-error @below {{the type has 'i32' elements, expected floating-point}}
%w = model.parameter ["a"] : !model.tensor<8 x i32>

// -----

// parameter: transposed needs two dimensions
// expected-error @below {{transposed needs two dimensions}}
%w = model.parameter ["a"] transposed : !model.tensor<8 x f32>

// -----

// ... blocks of quantised weights lie along the inputs of a matrix, and are whole, on ranks too
// expected-error @below {{is quantised, but no matrix}}
%w = model.parameter ["a"] : !model.tensor<256 x !model.quantized<"q4_k">>

// -----

// expected-error @below {{has 128 inputs, no whole blocks of q4_k, of 256 each}}
%w = model.parameter ["a"] {shards = [#model.shard<1 of 256 over ["tp"]>]} : !model.tensor<32 x 128 x !model.quantized<"q4_k">>

// -----

// expected-error @below {{has 96 inputs, no whole blocks of q8_0|int4_g64, of 64 each}}
%w = model.parameter ["a"] : !model.tensor<32 x 96 x !model.quantized<"q8_0|int4_g64">>

// -----

// parameter: {layer} occurs only inside a stack
// expected-error @below {{'h.{layer}.a' names a layer outside a stack}}
%w = model.parameter ["h.{layer}.a"] : !model.tensor<8 x f32>

// -----

// parameter: ... {layer+1} too
// expected-error @below {{'h.{layer+1}.a' names a layer outside a stack}}
%w = model.parameter ["h.{layer+1}.a"] : !model.tensor<8 x f32>

// -----

// embedding: tokens are rows
%t = "test.value"() : () -> !model.tensor<outputs x i32>
%w = "test.value"() : () -> !model.tensor<50 x 8 x f32>
// expected-error @below {{tokens has shape [outputs], expected [rows]}}
%r = model.embedding %t, %w : (!model.tensor<outputs x i32>, !model.tensor<50 x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// embedding: ... of i32
%t = "test.value"() : () -> !model.tensor<rows x f32>
%w = "test.value"() : () -> !model.tensor<50 x 8 x f32>
// expected-error @below {{tokens are not i32}}
%r = model.embedding %t, %w : (!model.tensor<rows x f32>, !model.tensor<50 x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// embedding: the table is static
%t = "test.value"() : () -> !model.tensor<rows x i32>
%w = "test.value"() : () -> !model.tensor<kv x 8 x f32>
// expected-error @below {{the table has a dimension that only a step knows}}
%r = model.embedding %t, %w : (!model.tensor<rows x i32>, !model.tensor<kv x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// embedding: ... [vocabulary, width]
%t = "test.value"() : () -> !model.tensor<rows x i32>
%w = "test.value"() : () -> !model.tensor<50 x f32>
// expected-error @below {{the table has 1 dimensions, expected 2}}
%r = model.embedding %t, %w : (!model.tensor<rows x i32>, !model.tensor<50 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// embedding: the result is rows x width
%t = "test.value"() : () -> !model.tensor<rows x i32>
%w = "test.value"() : () -> !model.tensor<50 x 8 x f32>
// expected-error @below {{the result has shape [rows, 9], expected [rows, 8]}}
%r = model.embedding %t, %w : (!model.tensor<rows x i32>, !model.tensor<50 x 8 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// embedding: ... of f32
%t = "test.value"() : () -> !model.tensor<rows x i32>
%w = "test.value"() : () -> !model.tensor<50 x 8 x f32>
// expected-error @below {{the result has 'bf16' elements, expected f32}}
%r = model.embedding %t, %w : (!model.tensor<rows x i32>, !model.tensor<50 x 8 x f32>) -> !model.tensor<rows x 8 x bf16>

// -----

// embedding: the multiplier is finite
%t = "test.value"() : () -> !model.tensor<rows x i32>
%w = "test.value"() : () -> !model.tensor<50 x 8 x f32>
// expected-error @below {{the multiplier is not finite}}
%r = model.embedding %t, %w {multiplier = 0x7F800000 : f32} : (!model.tensor<rows x i32>, !model.tensor<50 x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// embedding: ... and not zero
%t = "test.value"() : () -> !model.tensor<rows x i32>
%w = "test.value"() : () -> !model.tensor<50 x 8 x f32>
// expected-error @below {{the multiplier is zero}}
%r = model.embedding %t, %w {multiplier = 0.0 : f32} : (!model.tensor<rows x i32>, !model.tensor<50 x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// position_embedding: the table is static
%w = "test.value"() : () -> !model.tensor<kv x 8 x f32>
// expected-error @below {{the table has a dimension that only a step knows}}
%r = model.position_embedding %w : (!model.tensor<kv x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// position_embedding: ... [positions, width]
%w = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{the table has 1 dimensions, expected 2}}
%r = model.position_embedding %w : (!model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// position_embedding: the result is rows x width
%w = "test.value"() : () -> !model.tensor<50 x 8 x f32>
// expected-error @below {{the result has shape [rows, 9], expected [rows, 8]}}
%r = model.position_embedding %w : (!model.tensor<50 x 8 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// position_embedding: ... of f32
%w = "test.value"() : () -> !model.tensor<50 x 8 x f32>
// expected-error @below {{the result has 'f16' elements, expected f32}}
%r = model.position_embedding %w : (!model.tensor<50 x 8 x f32>) -> !model.tensor<rows x 8 x f16>

// -----

// position_embedding: positions is at least the program's max_seq
model.program @p max_seq 51 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %w = model.parameter ["w"] : !model.tensor<50 x 8 x f32>
  // expected-error @below {{the table has 50 positions, fewer than the program's max_seq 51}}
  %x = model.position_embedding %w : (!model.tensor<50 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %l = model.last_rows %x : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}

// -----

// linear: x is [R, K]
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
// expected-error @below {{x has 3 dimensions, expected 2}}
%r = model.linear %x, %w : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: ... R a symbol
%x = "test.value"() : () -> !model.tensor<4 x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
// expected-error @below {{x has shape [4, 8], expected a symbol and a number}}
%r = model.linear %x, %w : (!model.tensor<4 x 8 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: ... of f32
%x = "test.value"() : () -> !model.tensor<rows x 8 x f16>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
// expected-error @below {{x has 'f16' elements, expected f32}}
%r = model.linear %x, %w : (!model.tensor<rows x 8 x f16>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: the weight is static
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<kv x 8 x f32>
// expected-error @below {{the weight has a dimension that only a step knows}}
%r = model.linear %x, %w : (!model.tensor<rows x 8 x f32>, !model.tensor<kv x 8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: ... [N, K]
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 9 x f32>
// expected-error @below {{x has width 8, but the weight takes 9}}
%r = model.linear %x, %w : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 9 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: ... floating-point
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x i32>
// expected-error @below {{the weight has 'i32' elements, expected floating-point}}
%r = model.linear %x, %w : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x i32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: the result is [R, N]
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
// expected-error @below {{the result has shape [rows, 13], expected [rows, 12]}}
%r = model.linear %x, %w : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 13 x f32>

// -----

// linear: ... in f32
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
// expected-error @below {{the result has 'f16' elements, expected f32}}
%r = model.linear %x, %w : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f16>

// -----

// linear: bias is [N]
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%b = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{the bias has shape [8], expected [12]}}
%r = model.linear %x, %w bias %b : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: a norm has a weight
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
// expected-error @below {{has a norm but no norm weight}}
%r = model.linear %x, %w {norm = #model.norm<rms>} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: ... of [K]
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<12 x f32>
// expected-error @below {{the norm weight has shape [12], expected [8]}}
%r = model.linear %x, %w norm_weight %g {norm = #model.norm<rms>} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<12 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: norm = rms has no bias
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
%c = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{an rms norm takes no bias}}
%r = model.linear %x, %w norm_weight %g norm_bias %c {norm = #model.norm<rms>} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: the bias of norm = layer is [K]
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
%c = "test.value"() : () -> !model.tensor<12 x f32>
// expected-error @below {{the norm bias has shape [12], expected [8]}}
%r = model.linear %x, %w norm_weight %g norm_bias %c {norm = #model.norm<layer>} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<12 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: without a norm there is no weight
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{has norm operands but no norm}}
%r = model.linear %x, %w norm_weight %g : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: ... and no bias
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%c = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{has norm operands but no norm}}
%r = model.linear %x, %w norm_bias %c : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: epsilon is not negative
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{epsilon is negative or not finite}}
%r = model.linear %x, %w norm_weight %g {norm = #model.norm<rms>, epsilon = -1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// linear: the residual has the result's type
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%s = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the residual has type '!model.tensor<rows x 8 x f32>', expected '!model.tensor<rows x 12 x f32>'}}
%r = model.linear %x, %w residual %s : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// gated_linear: x is [R, K]
%x = "test.value"() : () -> !model.tensor<rows x f32>
%g = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%u = "test.value"() : () -> !model.tensor<12 x 8 x f32>
// expected-error @below {{x has 1 dimensions, expected 2}}
%r = model.gated_linear %x, %g, %u {activation = #model.activation<silu>} : (!model.tensor<rows x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// gated_linear: ... R a symbol
%x = "test.value"() : () -> !model.tensor<4 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%u = "test.value"() : () -> !model.tensor<12 x 8 x f32>
// expected-error @below {{x has shape [4, 8], expected a symbol and a number}}
%r = model.gated_linear %x, %g, %u {activation = #model.activation<silu>} : (!model.tensor<4 x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// gated_linear: both weights are static
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%u = "test.value"() : () -> !model.tensor<kv x 8 x f32>
// expected-error @below {{the up weight has a dimension that only a step knows}}
%r = model.gated_linear %x, %g, %u {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<kv x 8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// gated_linear: ... [N, K]
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<12 x 9 x f32>
%u = "test.value"() : () -> !model.tensor<12 x 8 x f32>
// expected-error @below {{x has width 8, but the gate takes 9}}
%r = model.gated_linear %x, %g, %u {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 9 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// gated_linear: ... with equal types
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%u = "test.value"() : () -> !model.tensor<12 x 8 x f16>
// expected-error @below {{the weights' types differ}}
%r = model.gated_linear %x, %g, %u {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<12 x 8 x f16>) -> !model.tensor<rows x 12 x f32>

// -----

// gated_linear: the result is [R, N]
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%u = "test.value"() : () -> !model.tensor<12 x 8 x f32>
// expected-error @below {{the result has shape [rows, 13], expected [rows, 12]}}
%r = model.gated_linear %x, %g, %u {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 13 x f32>

// -----

// gated_linear: ... in f32
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%u = "test.value"() : () -> !model.tensor<12 x 8 x f32>
// expected-error @below {{the result has 'f16' elements, expected f32}}
%r = model.gated_linear %x, %g, %u {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f16>

// -----

// gated_linear: both biases are there, or neither
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%u = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%b = "test.value"() : () -> !model.tensor<12 x f32>
// expected-error @below {{has one bias of two}}
%r = model.gated_linear %x, %g, %u gate_bias %b {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<12 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// gated_linear: ... of [N]
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%u = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%b = "test.value"() : () -> !model.tensor<12 x f32>
%c = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{a bias has shape [8], expected [12]}}
%r = model.gated_linear %x, %g, %u gate_bias %b up_bias %c {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<12 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// gated_linear: the norm's operands are as for linear
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%u = "test.value"() : () -> !model.tensor<12 x 8 x f32>
// expected-error @below {{has a norm but no norm weight}}
%r = model.gated_linear %x, %g, %u {activation = #model.activation<silu>, norm = #model.norm<layer>} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// gated_linear: the activation is not identity
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<12 x 8 x f32>
%u = "test.value"() : () -> !model.tensor<12 x 8 x f32>
// expected-error @below {{has no activation}}
%r = model.gated_linear %x, %g, %u {activation = #model.activation<identity>} : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f32>

// -----

// rms_norm: x is [R, K] or [R, H, K]
%x = "test.value"() : () -> !model.tensor<rows x 2 x 2 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{x has 4 dimensions, expected 2}}
%r = model.rms_norm %x, %g {epsilon = 1.0 : f32} : (!model.tensor<rows x 2 x 2 x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 2 x 2 x 8 x f32>

// -----

// rms_norm: ... H a number
%x = "test.value"() : () -> !model.tensor<rows x kv x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{x has shape [rows, kv, 8], expected a symbol and numbers}}
%r = model.rms_norm %x, %g {epsilon = 1.0 : f32} : (!model.tensor<rows x kv x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x kv x 8 x f32>

// -----

// gate: x is rows x H x E
%x = "test.value"() : () -> !model.tensor<outputs x 2 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<outputs x 2 x f32>
// expected-error @below {{x has shape [outputs, 2, 8], expected [rows, heads, dim]}}
%r = model.gate %x, %g : (!model.tensor<outputs x 2 x 8 x f32>, !model.tensor<outputs x 2 x f32>) -> !model.tensor<outputs x 2 x 8 x f32>

// -----

// gate: the result has x's type
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{types differ}}
%r = model.gate %x, %g : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 8 x 2 x f32>

// -----

// gate: for every head or every element
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the gate has shape [rows, 8], expected [rows, 2] or [rows, 2, 8]}}
%r = model.gate %x, %g : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 8 x f32>

// -----

// attention: the gate's shape
%q = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%k = "test.value"() : () -> !model.tensor<kv x 2 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{the gate has shape [rows, 2], expected [rows, 4] or [rows, 4, 8]}}
%r = model.attention %q, %k, %k, %g {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<kv x 2 x 8 x f32>, !model.tensor<kv x 2 x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// parameter: blocks are three numbers
// expected-error @below {{blocks are a size, a stride and an offset of rows}}
%w = model.parameter ["w"] {blocks = array<i64: 4, 8>} : !model.tensor<8 x 4 x f32>

// -----

// parameter: a size that divides dimension 0
// expected-error @below {{blocks of 3 rows do not make 8}}
%w = model.parameter ["w"] {blocks = array<i64: 3, 8, 0>} : !model.tensor<8 x 4 x f32>

// -----

// parameter: an offset that leaves room for a block
// expected-error @below {{a block of 4 rows at 5 does not fit into 8}}
%w = model.parameter ["w"] {blocks = array<i64: 4, 8, 5>} : !model.tensor<8 x 4 x f32>

// -----

// parameter: plus is for one dimension
// expected-error @below {{plus needs one dimension}}
%w = model.parameter ["w"] {plus = 1.0 : f32} : !model.tensor<8 x 4 x f32>

// -----

// parameter: plus is finite
// expected-error @below {{plus is not finite}}
%w = model.parameter ["w"] {plus = 0x7F800000 : f32} : !model.tensor<8 x f32>

// -----

// rms_norm: ... R a symbol
%x = "test.value"() : () -> !model.tensor<4 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{x has shape [4, 8], expected a symbol and a number}}
%r = model.rms_norm %x, %g {epsilon = 1.0 : f32} : (!model.tensor<4 x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<4 x 8 x f32>

// -----

// rms_norm: the result has its type
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{types differ}}
%r = model.rms_norm %x, %g {epsilon = 1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<outputs x 8 x f32>

// -----

// rms_norm: weight is [K]
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<9 x f32>
// expected-error @below {{the weight has shape [9], expected [8]}}
%r = model.rms_norm %x, %g {epsilon = 1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<9 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// rms_norm: epsilon is not negative
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{epsilon is negative or not finite}}
%r = model.rms_norm %x, %g {epsilon = -1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// norm_begin: x is R x K
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{x has 3 dimensions, expected 2}}
%r:2 = "model.norm_begin"(%v0, %v1) {} : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 1 x f32>)

// -----

// ... R a symbol
%v0 = "test.value"() : () -> !model.tensor<4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{x has shape [4, 8], expected a symbol and a number}}
%r:2 = "model.norm_begin"(%v0, %v1) {} : (!model.tensor<4 x 8 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<4 x 8 x f32>, !model.tensor<4 x 1 x f32>)

// -----

// norm_begin: scaled has its type
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{types differ}}
%r:2 = "model.norm_begin"(%v0, %v1) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 9 x f32>, !model.tensor<rows x 1 x f32>)

// -----

// norm_begin: weight is [K]
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<9 x f32>
// expected-error @below {{the weight has shape [9], expected [8]}}
%r:2 = "model.norm_begin"(%v0, %v1) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<9 x f32>) -> (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>)

// -----

// norm_begin: squares are R x 1
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{the squares has shape [rows, 2], expected [rows, 1]}}
%r:2 = "model.norm_begin"(%v0, %v1) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x f32>)

// -----

// norm_end: x is R x N
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 1 x f32>
// expected-error @below {{x has 3 dimensions, expected 2}}
%r = "model.norm_end"(%v0, %v1) {width = 8 : i64, epsilon = 1.0 : f32} : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 2 x 8 x f32>

// -----

// norm_end: the result has its type
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 1 x f32>
// expected-error @below {{types differ}}
%r = "model.norm_end"(%v0, %v1) {width = 8 : i64, epsilon = 1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// norm_end: squares are R x 1
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<outputs x 1 x f32>
// expected-error @below {{the squares has shape [outputs, 1], expected [rows, 1]}}
%r = "model.norm_end"(%v0, %v1) {width = 8 : i64, epsilon = 1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<outputs x 1 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// norm_end: width is at least 1
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 1 x f32>
// expected-error @below {{width is 0, expected at least 1}}
%r = "model.norm_end"(%v0, %v1) {width = 0 : i64, epsilon = 1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// norm_end: epsilon is not negative
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 1 x f32>
// expected-error @below {{epsilon is negative or not finite}}
%r = "model.norm_end"(%v0, %v1) {width = 8 : i64, epsilon = -1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// layer_norm: x is [R, K]
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{x has 3 dimensions, expected 2}}
%r = model.layer_norm %x, %g {epsilon = 1.0 : f32} : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 2 x 8 x f32>

// -----

// layer_norm: ... R a symbol
%x = "test.value"() : () -> !model.tensor<4 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{x has shape [4, 8], expected a symbol and a number}}
%r = model.layer_norm %x, %g {epsilon = 1.0 : f32} : (!model.tensor<4 x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<4 x 8 x f32>

// -----

// layer_norm: the result has its type
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{types differ}}
%r = model.layer_norm %x, %g {epsilon = 1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<outputs x 8 x f32>

// -----

// layer_norm: weight is [K]
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<9 x f32>
// expected-error @below {{the weight has shape [9], expected [8]}}
%r = model.layer_norm %x, %g {epsilon = 1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<9 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// layer_norm: bias is [K]
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
%b = "test.value"() : () -> !model.tensor<9 x f32>
// expected-error @below {{the bias has shape [9], expected [8]}}
%r = model.layer_norm %x, %g, %b {epsilon = 1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<9 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// layer_norm: epsilon is not negative
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%g = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{epsilon is negative or not finite}}
%r = model.layer_norm %x, %g {epsilon = -1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// rope_table: there is at least one frequency
// expected-error @below {{has no frequencies}}
%r = model.rope_table {frequencies = array<f32>} : () -> !model.tensor<rows x 2 x f32>

// -----

// rope_table: all are finite
// expected-error @below {{a frequency is not finite}}
%r = model.rope_table {frequencies = array<f32: 1.0, 0x7F800000>} : () -> !model.tensor<rows x 4 x f32>

// -----

// rope_table: the scale is finite
// expected-error @below {{the scale is not finite}}
%r = model.rope_table {frequencies = array<f32: 1.0>, scale = 0x7FC00000 : f32} : () -> !model.tensor<rows x 2 x f32>

// -----

// rope_table: the result is rows x 2 n
// expected-error @below {{the result has shape [rows, 2], expected [rows, 4]}}
%r = model.rope_table {frequencies = array<f32: 1.0, 0.1>} : () -> !model.tensor<rows x 2 x f32>

// -----

// rope_table: ... of f32
// expected-error @below {{the result has 'f64' elements, expected f32}}
%r = model.rope_table {frequencies = array<f32: 1.0>} : () -> !model.tensor<rows x 2 x f64>

// -----

// rope: x is rows x heads x head_dim
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%a = "test.value"() : () -> !model.tensor<rows x 4 x f32>
// expected-error @below {{x has 2 dimensions, expected 3}}
%r = model.rope %x, %a : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// rope: ... not of other rows
%x = "test.value"() : () -> !model.tensor<outputs x 2 x 4 x f32>
%a = "test.value"() : () -> !model.tensor<rows x 4 x f32>
// expected-error @below {{x has shape [outputs, 2, 4], expected [rows, heads, head_dim]}}
%r = model.rope %x, %a : (!model.tensor<outputs x 2 x 4 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 2 x 4 x f32>

// -----

// rope: the result has its type
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
%a = "test.value"() : () -> !model.tensor<rows x 4 x f32>
// expected-error @below {{types differ}}
%r = model.rope %x, %a : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x 2 x f32>

// -----

// rope: the table is rows x 2 n
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
%a = "test.value"() : () -> !model.tensor<rows x 3 x f32>
// expected-error @below {{the table has shape [rows, 3], expected [rows, 2 n]}}
%r = model.rope %x, %a : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<rows x 3 x f32>) -> !model.tensor<rows x 2 x 4 x f32>

// -----

// rope: ... of f32
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
%a = "test.value"() : () -> !model.tensor<rows x 4 x f16>
// expected-error @below {{the table has 'f16' elements, expected f32}}
%r = model.rope %x, %a : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<rows x 4 x f16>) -> !model.tensor<rows x 2 x 4 x f32>

// -----

// rope: ... with 2 n at most head_dim
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
%a = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{the table rotates 6 dimensions of heads that have 4}}
%r = model.rope %x, %a : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<rows x 6 x f32>) -> !model.tensor<rows x 2 x 4 x f32>

// -----

// kv_append: x is rows x heads x dim
%x = "test.value"() : () -> !model.tensor<outputs x 2 x 4 x f32>
// expected-error @below {{x has shape [outputs, 2, 4], expected [rows, heads, dim]}}
%r = model.kv_append %x to "k" : (!model.tensor<outputs x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>

// -----

// kv_append: ... of f32
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f16>
// expected-error @below {{x has 'f16' elements, expected f32}}
%r = model.kv_append %x to "k" : (!model.tensor<rows x 2 x 4 x f16>) -> !model.tensor<kv x 2 x 4 x f32>

// -----

// kv_append: the result is kv x heads x dim
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{the result has shape [kv, 4, 2], expected [kv, 2, 4]}}
%r = model.kv_append %x to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 4 x 2 x f32>

// -----

// kv_append: ... of f32
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{the result has 'f16' elements, expected f32}}
%r = model.kv_append %x to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f16>

// -----

// kv_append: the state's name is not empty
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{the state has no name}}
%r = model.kv_append %x to "" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>

// -----

// last_rows: x is rows x K
%x = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
// expected-error @below {{x has shape [outputs, 8], expected [rows, width]}}
%r = model.last_rows %x : (!model.tensor<outputs x 8 x f32>) -> !model.tensor<outputs x 8 x f32>

// -----

// last_rows: the result is outputs x K
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the result has shape [outputs, 9], expected [outputs, 8]}}
%r = model.last_rows %x : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 9 x f32>

// -----

// attention: q is rows x H x D
%q = "test.value"() : () -> !model.tensor<kv x 6 x 4 x f32>
%k = "test.value"() : () -> !model.tensor<kv x 2 x 4 x f32>
%v = "test.value"() : () -> !model.tensor<kv x 2 x 5 x f32>
// expected-error @below {{q has shape [kv, 6, 4], expected [rows, heads, dim]}}
%r = model.attention %q, %k, %v {scale = 1.0 : f32} : (!model.tensor<kv x 6 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<kv x 2 x 5 x f32>) -> !model.tensor<rows x 6 x 5 x f32>

// -----

// attention: k is kv x G x D
%q = "test.value"() : () -> !model.tensor<rows x 6 x 4 x f32>
%k = "test.value"() : () -> !model.tensor<kv x 2 x 3 x f32>
%v = "test.value"() : () -> !model.tensor<kv x 2 x 5 x f32>
// expected-error @below {{k has shape [kv, 2, 3], expected [kv, 2, 4]}}
%r = model.attention %q, %k, %v {scale = 1.0 : f32} : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<kv x 2 x 3 x f32>, !model.tensor<kv x 2 x 5 x f32>) -> !model.tensor<rows x 6 x 5 x f32>

// -----

// attention: ... and not of the step alone
%q = "test.value"() : () -> !model.tensor<rows x 6 x 4 x f32>
%k = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
%v = "test.value"() : () -> !model.tensor<kv x 2 x 5 x f32>
// expected-error @below {{k has shape [rows, 2, 4], expected [kv, 2, 4]}}
%r = model.attention %q, %k, %v {scale = 1.0 : f32} : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<rows x 2 x 4 x f32>, !model.tensor<kv x 2 x 5 x f32>) -> !model.tensor<rows x 6 x 5 x f32>

// -----

// attention: v is kv x G x E
%q = "test.value"() : () -> !model.tensor<rows x 6 x 4 x f32>
%k = "test.value"() : () -> !model.tensor<kv x 2 x 4 x f32>
%v = "test.value"() : () -> !model.tensor<kv x 3 x 5 x f32>
// expected-error @below {{v has shape [kv, 3, 5], expected [kv, 2, 5]}}
%r = model.attention %q, %k, %v {scale = 1.0 : f32} : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<kv x 3 x 5 x f32>) -> !model.tensor<rows x 6 x 5 x f32>

// -----

// attention: the result is rows x H x E
%q = "test.value"() : () -> !model.tensor<rows x 6 x 4 x f32>
%k = "test.value"() : () -> !model.tensor<kv x 2 x 4 x f32>
%v = "test.value"() : () -> !model.tensor<kv x 2 x 5 x f32>
// expected-error @below {{the result has shape [rows, 6, 4], expected [rows, 6, 5]}}
%r = model.attention %q, %k, %v {scale = 1.0 : f32} : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<kv x 2 x 5 x f32>) -> !model.tensor<rows x 6 x 4 x f32>

// -----

// attention: all are f32
%q = "test.value"() : () -> !model.tensor<rows x 6 x 4 x f32>
%k = "test.value"() : () -> !model.tensor<kv x 2 x 4 x f16>
%v = "test.value"() : () -> !model.tensor<kv x 2 x 5 x f32>
// expected-error @below {{k has 'f16' elements, expected f32}}
%r = model.attention %q, %k, %v {scale = 1.0 : f32} : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<kv x 2 x 4 x f16>, !model.tensor<kv x 2 x 5 x f32>) -> !model.tensor<rows x 6 x 5 x f32>

// -----

// attention: G divides H
%q = "test.value"() : () -> !model.tensor<rows x 6 x 4 x f32>
%k = "test.value"() : () -> !model.tensor<kv x 4 x 4 x f32>
%v = "test.value"() : () -> !model.tensor<kv x 4 x 5 x f32>
// expected-error @below {{6 query heads are no multiple of 4 key/value heads}}
%r = model.attention %q, %k, %v {scale = 1.0 : f32} : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<kv x 4 x 4 x f32>, !model.tensor<kv x 4 x 5 x f32>) -> !model.tensor<rows x 6 x 5 x f32>

// -----

// attention: scale is finite
%q = "test.value"() : () -> !model.tensor<rows x 6 x 4 x f32>
%k = "test.value"() : () -> !model.tensor<kv x 2 x 4 x f32>
%v = "test.value"() : () -> !model.tensor<kv x 2 x 5 x f32>
// expected-error @below {{scale is not finite}}
%r = model.attention %q, %k, %v {scale = 0x7F800000 : f32} : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<kv x 2 x 5 x f32>) -> !model.tensor<rows x 6 x 5 x f32>

// -----

// attention: softcap is not negative
%q = "test.value"() : () -> !model.tensor<rows x 6 x 4 x f32>
%k = "test.value"() : () -> !model.tensor<kv x 2 x 4 x f32>
%v = "test.value"() : () -> !model.tensor<kv x 2 x 5 x f32>
// expected-error @below {{softcap is negative or not finite}}
%r = model.attention %q, %k, %v {scale = 1.0 : f32, softcap = -1.0 : f32} : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<kv x 2 x 5 x f32>) -> !model.tensor<rows x 6 x 5 x f32>

// -----

// attention: window is 0 or at least 1
%q = "test.value"() : () -> !model.tensor<rows x 6 x 4 x f32>
%k = "test.value"() : () -> !model.tensor<kv x 2 x 4 x f32>
%v = "test.value"() : () -> !model.tensor<kv x 2 x 5 x f32>
// expected-error @below {{window is negative}}
%r = model.attention %q, %k, %v {scale = 1.0 : f32, window = -1 : i64} : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<kv x 2 x 5 x f32>) -> !model.tensor<rows x 6 x 5 x f32>

// -----

// matmul: lhs is [B, M, K]
%a = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%b = "test.value"() : () -> !model.tensor<6 x 4 x kv x f32>
// expected-error @below {{lhs has 2 dimensions, expected 3}}
%r = model.matmul %a, %b : (!model.tensor<rows x 4 x f32>, !model.tensor<6 x 4 x kv x f32>) -> !model.tensor<6 x rows x kv x f32>

// -----

// matmul: ... rhs [B, K, N]
%a = "test.value"() : () -> !model.tensor<6 x rows x 4 x f32>
%b = "test.value"() : () -> !model.tensor<6 x 5 x kv x f32>
// expected-error @below {{lhs has shape [6, rows, 4] and rhs [6, 5, kv], expected [B, M, K] and [B, K, N]}}
%r = model.matmul %a, %b : (!model.tensor<6 x rows x 4 x f32>, !model.tensor<6 x 5 x kv x f32>) -> !model.tensor<6 x rows x kv x f32>

// -----

// matmul: ... with one B
%a = "test.value"() : () -> !model.tensor<6 x rows x 4 x f32>
%b = "test.value"() : () -> !model.tensor<3 x 4 x kv x f32>
// expected-error @below {{lhs has shape [6, rows, 4] and rhs [3, 4, kv], expected [B, M, K] and [B, K, N]}}
%r = model.matmul %a, %b : (!model.tensor<6 x rows x 4 x f32>, !model.tensor<3 x 4 x kv x f32>) -> !model.tensor<6 x rows x kv x f32>

// -----

// matmul: the result is [B, M, N]
%a = "test.value"() : () -> !model.tensor<6 x rows x 4 x f32>
%b = "test.value"() : () -> !model.tensor<6 x 4 x kv x f32>
// expected-error @below {{the result has shape [6, rows, 4], expected [6, rows, kv]}}
%r = model.matmul %a, %b : (!model.tensor<6 x rows x 4 x f32>, !model.tensor<6 x 4 x kv x f32>) -> !model.tensor<6 x rows x 4 x f32>

// -----

// matmul: all are f32
%a = "test.value"() : () -> !model.tensor<6 x rows x 4 x f32>
%b = "test.value"() : () -> !model.tensor<6 x 4 x kv x f16>
// expected-error @below {{rhs has 'f16' elements, expected f32}}
%r = model.matmul %a, %b : (!model.tensor<6 x rows x 4 x f32>, !model.tensor<6 x 4 x kv x f16>) -> !model.tensor<6 x rows x kv x f32>

// -----

// matmul: M is a symbol
%a = "test.value"() : () -> !model.tensor<6 x 3 x 4 x f32>
%b = "test.value"() : () -> !model.tensor<6 x 4 x kv x f32>
// expected-error @below {{lhs has shape [6, 3, 4] and rhs [6, 4, kv], expected [B, M, K] and [B, K, N]}}
%r = model.matmul %a, %b : (!model.tensor<6 x 3 x 4 x f32>, !model.tensor<6 x 4 x kv x f32>) -> !model.tensor<6 x 3 x kv x f32>

// -----

// mask: x is H x rows x kv
%x = "test.value"() : () -> !model.tensor<6 x kv x rows x f32>
// expected-error @below {{x has shape [6, kv, rows], expected [heads, rows, kv]}}
%r = model.mask %x : (!model.tensor<6 x kv x rows x f32>) -> !model.tensor<6 x kv x rows x f32>

// -----

// mask: ... of f32
%x = "test.value"() : () -> !model.tensor<6 x rows x kv x f16>
// expected-error @below {{x has 'f16' elements, expected f32}}
%r = model.mask %x : (!model.tensor<6 x rows x kv x f16>) -> !model.tensor<6 x rows x kv x f16>

// -----

// mask: the result has its type
%x = "test.value"() : () -> !model.tensor<6 x rows x kv x f32>
// expected-error @below {{types differ}}
%r = model.mask %x : (!model.tensor<6 x rows x kv x f32>) -> !model.tensor<5 x rows x kv x f32>

// -----

// mask: there are positions in training programs
model.program @p max_seq 8 training {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %g: !model.tensor<rows x i32>, %w: !model.tensor<rows x f32>):
  %x = "test.value"() : () -> !model.tensor<6 x rows x kv x f32>
  // expected-error @below {{has no positions in training}}
  %r = model.mask %x : (!model.tensor<6 x rows x kv x f32>) -> !model.tensor<6 x rows x kv x f32>
  model.return %w : !model.tensor<rows x f32>
}

// -----

// mask: ... and only there
model.program @p max_seq 8 {
^bb0(%t: !model.tensor<rows x i32>):
  %x = "test.value"() : () -> !model.tensor<6 x rows x kv x f32>
  // expected-error @below {{has positions outside training}}
  %r = model.mask %x, %t : (!model.tensor<6 x rows x kv x f32>, !model.tensor<rows x i32>) -> !model.tensor<6 x rows x kv x f32>
  %y = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
  model.return %y : !model.tensor<outputs x 8 x f32>
}

// -----

// mask: ... they are rows x i32
%x = "test.value"() : () -> !model.tensor<6 x rows x kv x f32>
%p = "test.value"() : () -> !model.tensor<kv x i32>
// expected-error @below {{positions has shape [kv], expected [rows]}}
%r = model.mask %x, %p : (!model.tensor<6 x rows x kv x f32>, !model.tensor<kv x i32>) -> !model.tensor<6 x rows x kv x f32>

// -----

// mask: window is 0 or at least 1
%x = "test.value"() : () -> !model.tensor<6 x rows x kv x f32>
// expected-error @below {{window is negative}}
%r = model.mask %x {window = -1 : i64} : (!model.tensor<6 x rows x kv x f32>) -> !model.tensor<6 x rows x kv x f32>

// -----

// softmax: operand and result have the same type
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{types differ}}
%r = model.softmax %x : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// softmax: a sink for each head
%x = "test.value"() : () -> !model.tensor<2 x rows x kv x f32>
%s = "test.value"() : () -> !model.tensor<3 x f32>
// expected-error @below {{sinks has shape [3], expected [2]}}
%r = model.softmax %x sinks %s : (!model.tensor<2 x rows x kv x f32>, !model.tensor<3 x f32>) -> !model.tensor<2 x rows x kv x f32>

// -----

// attention: a sink for each query head
%q = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%k = "test.value"() : () -> !model.tensor<kv x 2 x 8 x f32>
%s = "test.value"() : () -> !model.tensor<2 x f32>
// expected-error @below {{sinks has shape [2], expected [4]}}
%r = model.attention %q, %k, %k sinks %s {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<kv x 2 x 8 x f32>, !model.tensor<kv x 2 x 8 x f32>, !model.tensor<2 x f32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// softmax: elements are floating-point
%x = "test.value"() : () -> !model.tensor<rows x 8 x i32>
// expected-error @below {{operand has 'i32' elements, expected floating-point}}
%r = model.softmax %x : (!model.tensor<rows x 8 x i32>) -> !model.tensor<rows x 8 x i32>

// -----

// tanh: operand and result have the same type
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{types differ}}
%r = model.tanh %x : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// tanh: elements are floating-point
%x = "test.value"() : () -> !model.tensor<rows x 8 x i32>
// expected-error @below {{operand has 'i32' elements, expected floating-point}}
%r = model.tanh %x : (!model.tensor<rows x 8 x i32>) -> !model.tensor<rows x 8 x i32>

// -----

// activate: operand and result have the same type
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{types differ}}
%r = model.activate %x {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// activate: elements are floating-point
%x = "test.value"() : () -> !model.tensor<rows x 8 x i32>
// expected-error @below {{operand has 'i32' elements, expected floating-point}}
%r = model.activate %x {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x i32>) -> !model.tensor<rows x 8 x i32>

// -----

// scale: operand and result have the same type
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{types differ}}
%r = model.scale %x {factor = 2.0 : f32} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// scale: elements are floating-point
%x = "test.value"() : () -> !model.tensor<rows x 8 x i32>
// expected-error @below {{operand has 'i32' elements, expected floating-point}}
%r = model.scale %x {factor = 2.0 : f32} : (!model.tensor<rows x 8 x i32>) -> !model.tensor<rows x 8 x i32>

// -----

// scale: the factor is finite
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the factor is not finite}}
%r = model.scale %x {factor = 0x7F800000 : f32} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// add: both operands have the same type
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%y = "test.value"() : () -> !model.tensor<rows x 9 x f32>
// expected-error @below {{types differ}}
%r = model.add %x, %y : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 9 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// add: ... and the result
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%y = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{types differ}}
%r = model.add %x, %y : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// add: elements are floating-point
%x = "test.value"() : () -> !model.tensor<rows x 8 x i32>
%y = "test.value"() : () -> !model.tensor<rows x 8 x i32>
// expected-error @below {{operand has 'i32' elements, expected floating-point}}
%r = model.add %x, %y : (!model.tensor<rows x 8 x i32>, !model.tensor<rows x 8 x i32>) -> !model.tensor<rows x 8 x i32>

// -----

// mul: both operands have the same type
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%y = "test.value"() : () -> !model.tensor<rows x 9 x f32>
// expected-error @below {{types differ}}
%r = model.mul %x, %y : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 9 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// mul: ... and the result
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%y = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{types differ}}
%r = model.mul %x, %y : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// mul: elements are floating-point
%x = "test.value"() : () -> !model.tensor<rows x 8 x i32>
%y = "test.value"() : () -> !model.tensor<rows x 8 x i32>
// expected-error @below {{operand has 'i32' elements, expected floating-point}}
%r = model.mul %x, %y : (!model.tensor<rows x 8 x i32>, !model.tensor<rows x 8 x i32>) -> !model.tensor<rows x 8 x i32>

// -----

// reshape: the first dimension stays
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{changes the first dimension: [rows, 8] to [kv, 2, 4]}}
%r = model.reshape %x : (!model.tensor<rows x 8 x f32>) -> !model.tensor<kv x 2 x 4 x f32>

// -----

// reshape: the products of the others agree
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{cannot make [rows, 3, 4] of [rows, 8]}}
%r = model.reshape %x : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 3 x 4 x f32>

// -----

// reshape: ... and are numbers
%x = "test.value"() : () -> !model.tensor<6 x rows x kv x f32>
// expected-error @below {{cannot make [6, kv, rows] of [6, rows, kv]}}
%r = model.reshape %x : (!model.tensor<6 x rows x kv x f32>) -> !model.tensor<6 x kv x rows x f32>

// -----

// reshape: element types agree
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{element types differ}}
%r = model.reshape %x : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f16>

// -----

// transpose: permutation is one
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{the permutation is none}}
%r = model.transpose %x {permutation = array<i64: 1, 1, 0>} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>

// -----

// transpose: ... of indices in range
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{the permutation is none}}
%r = model.transpose %x {permutation = array<i64: 1, 3, 0>} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>

// -----

// transpose: ... of x's dimensions
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{the permutation names 2 of 3 dimensions}}
%r = model.transpose %x {permutation = array<i64: 1, 0>} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>

// -----

// transpose: the result's shape follows
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{the result has shape [rows, 2, 4], expected [2, rows, 4]}}
%r = model.transpose %x {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>

// -----

// transpose: element types agree
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{element types differ}}
%r = model.transpose %x {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<2 x rows x 4 x f16>

// -----

// slice: axis names a dimension
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{axis 2 is not one of 2 dimensions}}
%r = model.slice %x {axis = 2 : i64, offset = 0 : i64} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 4 x f32>

// -----

// slice: ... that is a number
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{axis 0 is the symbol 'rows'}}
%r = model.slice %x {axis = 0 : i64, offset = 0 : i64} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 4 x f32>

// -----

// slice: offset is not negative
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{takes 4 from offset -1 of 8}}
%r = model.slice %x {axis = 1 : i64, offset = -1 : i64} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 4 x f32>

// -----

// slice: offset plus size stays inside
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{takes 4 from offset 5 of 8}}
%r = model.slice %x {axis = 1 : i64, offset = 5 : i64} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 4 x f32>

// -----

// slice: the result has x's type but for that dimension
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the result has shape [kv, 4], expected [rows, 4]}}
%r = model.slice %x {axis = 1 : i64, offset = 0 : i64} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<kv x 4 x f32>

// -----

// slice: ... and its rank
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{changes the number of dimensions}}
%r = model.slice %x {axis = 1 : i64, offset = 0 : i64} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>

// -----

// slice: ... and its elements
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{element types differ}}
%r = model.slice %x {axis = 1 : i64, offset = 0 : i64} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 4 x f16>

// -----

// concat: there are at least two parts
%p0 = model.parameter ["p0"] : !model.tensor<4 x 8 x f32>
// expected-error @below {{joins fewer than two parts}}
%r = model.concat %p0 : (!model.tensor<4 x 8 x f32>) -> !model.tensor<4 x 8 x f32>

// -----

// concat: each is a parameter
%p0 = "test.value"() : () -> !model.tensor<4 x 8 x f32>
%p1 = "test.value"() : () -> !model.tensor<4 x 8 x f32>
// expected-error @below {{joins a value that is no parameter}}
%r = model.concat %p0, %p1 : (!model.tensor<4 x 8 x f32>, !model.tensor<4 x 8 x f32>) -> !model.tensor<8 x 8 x f32>

// -----

// concat: parts agree in everything but dimension 0
%p0 = model.parameter ["p0"] : !model.tensor<4 x 8 x f32>
%p1 = model.parameter ["p1"] : !model.tensor<4 x 9 x f32>
// expected-error @below {{joins '!model.tensor<4 x 9 x f32>' into '!model.tensor<8 x 8 x f32>'}}
%r = model.concat %p0, %p1 : (!model.tensor<4 x 8 x f32>, !model.tensor<4 x 9 x f32>) -> !model.tensor<8 x 8 x f32>

// -----

// concat: ... elements too
%p0 = model.parameter ["p0"] : !model.tensor<4 x 8 x f32>
%p1 = model.parameter ["p1"] : !model.tensor<4 x 8 x f16>
// expected-error @below {{joins '!model.tensor<4 x 8 x f16>' into '!model.tensor<8 x 8 x f32>'}}
%r = model.concat %p0, %p1 : (!model.tensor<4 x 8 x f32>, !model.tensor<4 x 8 x f16>) -> !model.tensor<8 x 8 x f32>

// -----

// concat: dimension 0 adds up
%p0 = model.parameter ["p0"] : !model.tensor<4 x 8 x f32>
%p1 = model.parameter ["p1"] : !model.tensor<5 x 8 x f32>
// expected-error @below {{the result has shape [8, 8], expected [9, 8]}}
%r = model.concat %p0, %p1 : (!model.tensor<4 x 8 x f32>, !model.tensor<5 x 8 x f32>) -> !model.tensor<8 x 8 x f32>

// -----

// broadcast: axis names a dimension
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{axis 3 is not one of 3 dimensions}}
%r = model.broadcast %x {axis = 3 : i64, times = 2 : i64} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>

// -----

// broadcast: ... that is a number
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{axis 0 is the symbol 'rows'}}
%r = model.broadcast %x {axis = 0 : i64, times = 2 : i64} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>

// -----

// broadcast: times is at least 1
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{times is less than 1}}
%r = model.broadcast %x {axis = 1 : i64, times = 0 : i64} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>

// -----

// broadcast: the dimension is times as large
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{the result has shape [rows, 4, 4], expected [rows, 6, 4]}}
%r = model.broadcast %x {axis = 1 : i64, times = 3 : i64} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 4 x 4 x f32>

// -----

// broadcast: element types agree
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{element types differ}}
%r = model.broadcast %x {axis = 1 : i64, times = 3 : i64} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 6 x 4 x f16>

// -----

// parameter: a shard is of a dimension
// expected-error @below {{#model.shard<2 of 16 over ["tp"]> is of no dimension}}
%w = model.parameter ["w"] {shards = [#model.shard<2 of 16 over ["tp"]>]} : !model.tensor<8 x 4 x f32>

// -----

// parameter: over an axis
// expected-error @below {{#model.shard<0 of 16 over []> is over no axis}}
%w = model.parameter ["w"] {shards = [#model.shard<0 of 16 over []>]} : !model.tensor<8 x 4 x f32>

// -----

// parameter: that no other shard is over
// expected-error @below {{is over "tp", expected different axes}}
%w = model.parameter ["w"] {shards = [#model.shard<0 of 16 over ["tp"]>, #model.shard<1 of 8 over ["tp"]>]} : !model.tensor<8 x 4 x f32>

// -----

// parameter: units are not negative
// expected-error @below {{has units that are not 16 in blocks of 1}}
%w = model.parameter ["w"] {shards = [#model.shard<0 of 16 over ["tp"] by 1 units [17, -1]>]} : !model.tensor<8 x 4 x f32>

// -----

// parameter: units are as many as the extent has
// expected-error @below {{has units that are not 15 in blocks of 4}}
%w = model.parameter ["w"] {shards = [#model.shard<0 of 15 over ["tp"] by 4 units [2, 1]>]} : !model.tensor<8 x 4 x f32>

// -----

// parameter: blocks of units have at least 1 index
// expected-error @below {{has units that are not 15 in blocks of 0}}
%w = model.parameter ["w"] {shards = [#model.shard<0 of 15 over ["tp"] by 0 units [8, 7]>]} : !model.tensor<8 x 4 x f32>

// -----

// parameter: equal parts leave a divisor of the extent
// expected-error @below {{#model.shard<0 of 15 over ["tp"]> does not leave 8 of dimension 0}}
%w = model.parameter ["w"] {shards = [#model.shard<0 of 15 over ["tp"]>]} : !model.tensor<8 x 4 x f32>

// -----

// parameter: uneven parts leave the most units
// expected-error @below {{#model.shard<0 of 15 over ["tp"] by 1 units [9, 6]> does not leave 8 of dimension 0}}
%w = model.parameter ["w"] {shards = [#model.shard<0 of 15 over ["tp"] by 1 units [9, 6]>]} : !model.tensor<8 x 4 x f32>

// -----

// parameter: a shard of the same dimension leaves the next one's extent
// expected-error @below {{#model.shard<0 of 33 over ["tp"]> does not leave 16 of dimension 0}}
%w = model.parameter ["w"] {shards = [#model.shard<0 of 33 over ["tp"]>, #model.shard<0 of 16 over ["dp"]>]} : !model.tensor<8 x 4 x f32>

// -----

// parameter: `model.layer_formats` are those of a stack's layers, of a type with several: for each layer
// one of these
// expected-error @below {{has formats of layers, and is not of a stack's layers, stored in several}}
%w = model.parameter ["w"] {model.layer_formats = ["q8_0"]} : !model.tensor<32 x 32 x !model.quantized<"q8_0|f16">>

// -----

!rows = !model.tensor<rows x 32 x f32>
%x = "test.value"() : () -> !rows
%y = model.stack %x repeat 2 : (!rows) -> !rows {
^bb0(%row: !rows):
  // expected-error @below {{has formats of 1 layers, in a stack of 2}}
  %w = model.parameter ["w.{layer}"] {model.layer_formats = ["q8_0"]} : !model.tensor<32 x 32 x !model.quantized<"q8_0|f16">>
  %z = model.linear %row, %w : (!rows, !model.tensor<32 x 32 x !model.quantized<"q8_0|f16">>) -> !rows
  model.yield %z : !rows
}

// -----

!rows = !model.tensor<rows x 32 x f32>
%x = "test.value"() : () -> !rows
%y = model.stack %x repeat 2 : (!rows) -> !rows {
^bb0(%row: !rows):
  // expected-error @below {{has a layer of "q8_0|f16", which is not one of q8_0|f16}}
  %w = model.parameter ["w.{layer}"] {model.layer_formats = ["q8_0", "q8_0|f16"]} : !model.tensor<32 x 32 x !model.quantized<"q8_0|f16">>
  %z = model.linear %row, %w : (!rows, !model.tensor<32 x 32 x !model.quantized<"q8_0|f16">>) -> !rows
  model.yield %z : !rows
}

// -----

// parameter: blocks are of the whole tensor
// expected-error @below {{blocks of 3 rows do not make 16}}
%w = model.parameter ["w"] {blocks = array<i64: 3, 8, 0>, shards = [#model.shard<0 of 16 over ["tp"]>]} : !model.tensor<8 x 4 x f32>
