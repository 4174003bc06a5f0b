// What a schedule may not say.
//
// RUN: baton-opt %s -split-input-file --transform-interpreter="entry-point=model" -verify-diagnostics

module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    // expected-error @below {{"event.call" is no op of the model dialect and not event.phase}}
    %x = transform.baton.match ["event.call"] in %program
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    // expected-error @below {{'layers.[' is no pattern}}
    %x = transform.baton.match named "layers.[" in %program
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    // expected-error @below {{matches nothing: no name fits 'layers.*'}}
    %x = transform.baton.match named "layers.*" in %program
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match in %program optional
    // expected-error @below {{has 0 rows, expected 1 to 4096}}
    transform.baton.tile %x [0]
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match in %program optional
    // expected-error @below {{has 24 columns, expected a multiple of 16 up to 65536}}
    transform.baton.tile %x [16, 24]
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match in %program optional
    // expected-error @below {{'random' is no worker map: there is blocked, cyclic, ticket, by_work}}
    transform.baton.distribute %x "random"
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match in %program optional
    // expected-error @below {{has few_tasks, which only by_work takes}}
    transform.baton.distribute %x "cyclic" few_tasks 8
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match in %program optional
    // expected-error @below {{'per_row' is no granularity: there is per_tile, per_phase}}
    transform.baton.events %x "per_row"
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match in %program optional
    // expected-error @below {{takes a granularity or coordinates}}
    transform.baton.events %x
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match in %program optional
    // expected-error @below {{asks for 2097152 bytes, expected 0 to 1048576}}
    transform.baton.prefetch %x 2097152
    transform.yield
  }
}

// -----

!x = !model.tensor<rows x 32 x f32>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match ["model.embedding"] in %program
    // expected-error @below {{takes model.softmax, model.gate, model.mul, model.activate, model.add and model.hyper_pre, not 'embedding' (model.embedding)}}
    transform.baton.fuse %x
    transform.yield
  }
  model.program @m max_seq 8 {
  ^bb0(%tokens: !model.tensor<rows x i32>):
    %table = model.parameter ["table"] : !model.tensor<32 x 32 x f32>
    %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<32 x 32 x f32>) -> !x
    %last = model.last_rows %x : (!x) -> !model.tensor<outputs x 32 x f32>
    model.return %last : !model.tensor<outputs x 32 x f32>
  }
}

// -----

!x = !model.tensor<rows x 32 x f32>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match ["model.add"] in %program
    // expected-error @below {{'add' (model.add): the sum stays a phase: no term is made for it alone}}
    transform.baton.fuse %x
    transform.yield
  }
  model.program @m max_seq 8 {
  ^bb0(%tokens: !model.tensor<rows x i32>):
    %table = model.parameter ["table"] : !model.tensor<32 x 32 x f32>
    %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<32 x 32 x f32>) -> !x
    %y = model.add %x, %x : (!x, !x) -> !x
    %last = model.last_rows %y : (!x) -> !model.tensor<outputs x 32 x f32>
    model.return %last : !model.tensor<outputs x 32 x f32>
  }
}

// -----

!x = !model.tensor<rows x 32 x f32>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match ["model.linear"] in %program
    // expected-error @below {{'linear' (model.linear) has 0 columns, expected a multiple of 16 up to 65536}}
    transform.baton.tile %x [16, 0]
    transform.yield
  }
  model.program @m max_seq 8 {
  ^bb0(%tokens: !model.tensor<rows x i32>):
    %table = model.parameter ["table"] : !model.tensor<32 x 32 x f32>
    %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<32 x 32 x f32>) -> !x
    %y = model.linear %x, %table : (!x, !model.tensor<32 x 32 x f32>) -> !x
    %last = model.last_rows %y : (!x) -> !model.tensor<outputs x 32 x f32>
    model.return %last : !model.tensor<outputs x 32 x f32>
  }
}

// -----

!x = !model.tensor<rows x 32 x f32>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match ["model.add"] in %program
    // expected-error @below {{'add' (model.add) takes rows alone}}
    transform.baton.tile %x [16, 16]
    transform.yield
  }
  model.program @m max_seq 8 {
  ^bb0(%tokens: !model.tensor<rows x i32>):
    %table = model.parameter ["table"] : !model.tensor<32 x 32 x f32>
    %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<32 x 32 x f32>) -> !x
    %y = model.add %x, %x : (!x, !x) -> !x
    %last = model.last_rows %y : (!x) -> !model.tensor<outputs x 32 x f32>
    model.return %last : !model.tensor<outputs x 32 x f32>
  }
}

// -----

!x = !model.tensor<rows x 32 x f32>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match ["model.add"] in %program optional
    // expected-error @below {{there is no event.body @nobody in the schedule}}
    transform.baton.replace %x with @nobody
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match in %program optional
    // expected-error @below {{makes parts of type 'f32', expected a !model.tensor}}
    transform.baton.replace %x with @parts through f32 then @whole
    transform.yield
  }
}

// -----

// What else than linears reads has a phase of its own.
!x = !model.tensor<rows x 32 x f32>
module attributes {transform.with_named_sequence} {
  event.body @copy grid ()[rows, past, outputs] -> (rows)
      accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t, 0) to (t)[rows, past, outputs] -> (t + 1, 32)>,
                #event.access<write @y, (t)[rows, past, outputs] -> (t, 0) to (t)[rows, past, outputs] -> (t + 1, 32)>] {
  ^bb0(%x: memref<?x?xf32, strided<[?, ?]>>, %y: memref<?x?xf32, strided<[?, ?]>>):
    memref.copy %x, %y : memref<?x?xf32, strided<[?, ?]>> to memref<?x?xf32, strided<[?, ?]>>
  }
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match ["model.scale"] in %program
    %made = transform.baton.replace %x with @copy
    // expected-error @below {{the body stays a phase: model.mul reads it, not only linears of its block as their input; with 'optional' it stays as it is}}
    transform.baton.recompute %made
    transform.yield
  }
  model.program @p max_seq 64 {
  ^bb0(%tokens: !model.tensor<rows x i32>):
    %table = model.parameter ["w"] : !model.tensor<64 x 32 x f32>
    %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<64 x 32 x f32>) -> !x
    // expected-remark @below {{is computed by the body @copy, as the schedule says}}
    %s = model.scale %x {factor = 2.0 : f32} : (!x) -> !x
    %m = model.mul %s, %x : (!x, !x) -> !x
    %last = model.last_rows %m : (!x) -> !model.tensor<outputs x 32 x f32>
    %l = model.linear %last, %table : (!model.tensor<outputs x 32 x f32>, !model.tensor<64 x 32 x f32>) -> !model.tensor<outputs x 64 x f32>
    model.return %l : !model.tensor<outputs x 64 x f32>
  }
}

// -----

// The first sum is read by the second one and by the mean of both.
!x = !model.tensor<rows x 32 x f32>
module attributes {transform.with_named_sequence} {
  event.body @copy grid ()[rows, past, outputs] -> (rows)
      accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t, 0) to (t)[rows, past, outputs] -> (t + 1, 32)>,
                #event.access<write @y, (t)[rows, past, outputs] -> (t, 0) to (t)[rows, past, outputs] -> (t + 1, 32)>] {
  ^bb0(%x: memref<?x?xf32, strided<[?, ?]>>, %y: memref<?x?xf32, strided<[?, ?]>>):
    memref.copy %x, %y : memref<?x?xf32, strided<[?, ?]>> to memref<?x?xf32, strided<[?, ?]>>
  }
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match ["model.add"] in %program
    // expected-error @below {{the ops from 'add' (model.add) to 'add' (model.add) read 1 values that others make, and make 2 that others read; @copy takes 2 arguments}}
    transform.baton.replace %x with @copy
    transform.yield
  }
  model.program @m max_seq 8 {
  ^bb0(%tokens: !model.tensor<rows x i32>):
    %table = model.parameter ["table"] : !model.tensor<32 x 32 x f32>
    %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<32 x 32 x f32>) -> !x
    %y = model.add %x, %x : (!x, !x) -> !x
    %z = model.add %y, %x : (!x, !x) -> !x
    %m = model.mul %y, %z : (!x, !x) -> !x
    %last = model.last_rows %m : (!x) -> !model.tensor<outputs x 32 x f32>
    model.return %last : !model.tensor<outputs x 32 x f32>
  }
}

// -----

!x = !model.tensor<rows x 32 x f32>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    // expected-error @below {{matches nothing: no name fits 'input_nrm', there is 'input_norm'; with 'optional' nothing is done}}
    %x = transform.baton.match named "input_nrm" in %program
    transform.yield
  }
  model.program @m max_seq 8 {
  ^bb0(%tokens: !model.tensor<rows x i32>):
    %table = model.parameter ["table"] : !model.tensor<32 x 32 x f32>
    %g = model.parameter ["g"] : !model.tensor<32 x f32>
    %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<32 x 32 x f32>) -> !x loc("embed_tokens")
    %n = model.rms_norm %x, %g {epsilon = 1.0e-5 : f32} : (!x, !model.tensor<32 x f32>) -> !x loc("input_norm")
    %y = model.linear %n, %table : (!x, !model.tensor<32 x 32 x f32>) -> !x loc("up_proj")
    %last = model.last_rows %y : (!x) -> !model.tensor<outputs x 32 x f32> loc("last")
    model.return %last : !model.tensor<outputs x 32 x f32>
  }
}

// -----

!x = !model.tensor<rows x 32 x f32>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    // expected-error @below {{matches nothing: no name fits 'layers.*.gate' ('batonc names' lists all)}}
    %x = transform.baton.match named "layers.*.gate" in %program
    transform.yield
  }
  model.program @m max_seq 8 {
  ^bb0(%tokens: !model.tensor<rows x i32>):
    %table = model.parameter ["table"] : !model.tensor<32 x 32 x f32>
    %g = model.parameter ["g"] : !model.tensor<32 x f32>
    %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<32 x 32 x f32>) -> !x loc("embed_tokens")
    %n = model.rms_norm %x, %g {epsilon = 1.0e-5 : f32} : (!x, !model.tensor<32 x f32>) -> !x loc("input_norm")
    %y = model.linear %n, %table : (!x, !model.tensor<32 x 32 x f32>) -> !x loc("up_proj")
    %last = model.last_rows %y : (!x) -> !model.tensor<outputs x 32 x f32> loc("last")
    model.return %last : !model.tensor<outputs x 32 x f32>
  }
}

// -----

!x = !model.tensor<rows x 32 x f32>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    // expected-error @below {{matches nothing: the program has none of these ops}}
    %x = transform.baton.match ["model.rope"] in %program
    transform.yield
  }
  model.program @m max_seq 8 {
  ^bb0(%tokens: !model.tensor<rows x i32>):
    %table = model.parameter ["table"] : !model.tensor<32 x 32 x f32>
    %g = model.parameter ["g"] : !model.tensor<32 x f32>
    %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<32 x 32 x f32>) -> !x loc("embed_tokens")
    %n = model.rms_norm %x, %g {epsilon = 1.0e-5 : f32} : (!x, !model.tensor<32 x f32>) -> !x loc("input_norm")
    %y = model.linear %n, %table : (!x, !model.tensor<32 x 32 x f32>) -> !x loc("up_proj")
    %last = model.last_rows %y : (!x) -> !model.tensor<outputs x 32 x f32> loc("last")
    model.return %last : !model.tensor<outputs x 32 x f32>
  }
}

// -----

!x = !model.tensor<rows x 32 x f32>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match ["model.last_rows"] in %program
    // expected-error @below {{has no effect on 'last' (model.last_rows), which becomes no tasks}}
    transform.baton.tile %x [16]
    transform.yield
  }
  model.program @m max_seq 8 {
  ^bb0(%tokens: !model.tensor<rows x i32>):
    %table = model.parameter ["table"] : !model.tensor<32 x 32 x f32>
    %g = model.parameter ["g"] : !model.tensor<32 x f32>
    %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<32 x 32 x f32>) -> !x loc("embed_tokens")
    %n = model.rms_norm %x, %g {epsilon = 1.0e-5 : f32} : (!x, !model.tensor<32 x f32>) -> !x loc("input_norm")
    %y = model.linear %n, %table : (!x, !model.tensor<32 x 32 x f32>) -> !x loc("up_proj")
    %last = model.last_rows %y : (!x) -> !model.tensor<outputs x 32 x f32> loc("last")
    model.return %last : !model.tensor<outputs x 32 x f32>
  }
}

// -----

!x = !model.tensor<rows x 32 x f32>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %x = transform.baton.match ["model.rms_norm"] in %program
    transform.baton.tile %x [16]
    // expected-error @below {{makes something else of 'input_norm' (model.rms_norm), which a transform.baton.tile before sized; tile what this makes, or say 'optional' there}}
    transform.baton.recompute %x
    transform.yield
  }
  model.program @m max_seq 8 {
  ^bb0(%tokens: !model.tensor<rows x i32>):
    %table = model.parameter ["table"] : !model.tensor<32 x 32 x f32>
    %g = model.parameter ["g"] : !model.tensor<32 x f32>
    %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<32 x 32 x f32>) -> !x loc("embed_tokens")
    %n = model.rms_norm %x, %g {epsilon = 1.0e-5 : f32} : (!x, !model.tensor<32 x f32>) -> !x loc("input_norm")
    %y = model.linear %n, %table : (!x, !model.tensor<32 x 32 x f32>) -> !x loc("up_proj")
    %last = model.last_rows %y : (!x) -> !model.tensor<outputs x 32 x f32> loc("last")
    model.return %last : !model.tensor<outputs x 32 x f32>
  }
}
