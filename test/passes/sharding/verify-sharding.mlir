// What insert-reshards has to keep, broken one by one.
//
// RUN: baton-opt %s --split-input-file --verify-sharding -verify-diagnostics

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  // expected-error @+1 {{'model.tanh' op operand 0 is placed #dist.placement<[replicate, replicate], partial sum(tensor)>, but the op is not linear in it alone}}
  %y = model.tanh %e : (!x) -> !x
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  // expected-error @+1 {{'model.mul' op operand 0 is placed #dist.placement<[replicate, replicate], partial sum(tensor)>, but the op is not linear in it alone}}
  %y = model.mul %e, %x : (!x, !x) -> !x
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  // expected-error @+1 {{'model.add' op operand 1 is placed #dist.placement<[replicate, replicate]>, expected the sum that its result is a part of}}
  %y = model.add %e, %x {dist.placements = [#part]} : (!x, !x) -> !x
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  // expected-error @+1 {{'model.add' op operand 1 is placed #dist.placement<[replicate, replicate], partial sum(tensor)>, but the op is not linear in it alone}}
  %y = model.add %x, %e : (!x, !x) -> !x
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %m = dist.reshard %x : !x from #whole to #part
  // expected-error @+1 {{'model.add' op has its result placed #dist.placement<[replicate, replicate]>, expected #dist.placement<[replicate, replicate], partial sum(tensor)>}}
  %y = model.add %e, %m : (!x, !x) -> !x
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %m = model.softmax %x {dist.placements = [#whole]} : (!x) -> !x
  // expected-error @+1 {{'model.scale' op has its result placed #dist.placement<[replicate, replicate], partial sum(tensor)>, expected #dist.placement<[replicate, replicate]>}}
  %y = model.scale %m {factor = 2.0 : f32, dist.placements = [#part]} : (!x) -> !x
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  // expected-error @+1 {{'model.stack' op reads the result of 'model.embedding', which is partial: #dist.placement<[replicate, replicate], partial sum(tensor)>}}
  %y = model.stack %e repeat 2 {dist.placements = [#part]} : (!x) -> !x {
  ^bb1(%a: !x):
    // expected-error @+1 {{'model.yield' op reads the result of 'model.stack', which is partial}}
    model.yield %a : !x
  }
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  // expected-error @+1 {{'model.stack' op carries the result of 'dist.reshard' placed #dist.placement<[replicate, replicate]>, expected #dist.placement<[shard(tensor), replicate]>}}
  %y = model.stack %x repeat 2 {dist.placements = [#rows]} : (!x) -> !x {
  ^bb1(%a: !x):
    model.yield %a : !x
  }
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %y = model.stack %x repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    %t = dist.reshard %a : !x from #whole to #rows
  // expected-error @+1 {{'model.yield' op carries the result of 'dist.reshard' placed #dist.placement<[shard(tensor), replicate]>, expected #dist.placement<[replicate, replicate]>}}
    model.yield %t : !x
  }
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %y = model.stack %x repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    // Each rank may save its part of a sum, and reads what it saved.
    model.save %e to "e" : !x
    model.yield %a : !x
  }
  model.stack repeat 2 : () -> () {
    // expected-error @+1 {{'model.saved' op reads what was saved as 'e' placed #dist.placement<[replicate, replicate]>, expected #dist.placement<[replicate, replicate], partial sum(tensor)>}}
    %s = model.saved "e" : !x
    model.yield
  }
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %y = model.stack %x repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    model.save %a to "a" : !x
    model.yield %a : !x
  }
  model.stack repeat 2 : () -> () {
  // expected-error @+1 {{'model.saved' op reads what was saved as 'a' placed #dist.placement<[shard(tensor), replicate]>, expected #dist.placement<[replicate, replicate]>}}
    %s = model.saved "a" {dist.placements = [#rows]} : !x
    model.yield
  }
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %dw = model.embedding_gradient %x, %tokens {dist.placements = [#rows]} : (!x, !index) -> !table
  %dv = dist.reshard %dw : !table from #rows to #whole
  // expected-error @+1 {{'model.gradient' op reads the gradient of 'table' placed #dist.placement<[replicate, replicate]>, expected #dist.placement<[shard(tensor), replicate]>}}
  model.gradient %dv of %table : !table, !table
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %dw = model.embedding_gradient %x, %tokens {dist.placements = [#rows]} : (!x, !index) -> !table
  // expected-error @+1 {{'model.gradient' op reads the gradient of 'table' placed #dist.placement<[shard(tensor), replicate]>, expected #dist.placement<[replicate, replicate]>}}
  model.gradient %dw of %table {dist.gradient = #whole} : !table, !table
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %dw = model.embedding_gradient %x, %tokens {dist.placements = [#rows]} : (!x, !index) -> !table
  %dv = dist.reshard %dw : !table from #rows to #part
  // expected-error @+1 {{'model.gradient' op reads the result of 'dist.reshard', which is partial: #dist.placement<[replicate, replicate], partial sum(tensor)>}}
  model.gradient %dv of %table : !table, !table
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  // expected-error @+1 {{'model.parameter' op reads 'q', which is partial: #dist.placement<[replicate, replicate], partial sum(tensor)>}}
  %q = model.parameter ["q"] {dist.placements = [#dist.placement<[replicate, replicate], partial sum(tensor)>]} : !table
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %m = dist.logit_maximum %x, %table {dist.placements = [#dist.placement<[replicate], partial max(tensor)>], scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !table) -> !rows
  // expected-error @+1 {{'model.return' op operand 0 is placed #dist.placement<[replicate], partial max(tensor)>, but the op is not linear in it alone}}
  model.return %m : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %h = dist.reshard %x : !x from #whole to #columns
  // expected-error @+1 {{'model.softmax' op operand 0 shards dimension 1, which the op needs whole}}
  %y = model.softmax %h {dist.placements = [#columns]} : (!x) -> !x
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %h = dist.reshard %x : !x from #whole to #columns
  // expected-error @+1 {{'model.mul' op operands shard factor 'k' differently: #dist.dimension<shard(tensor)> and, operand 1, #dist.dimension<replicate>}}
  %y = model.mul %h, %x {dist.placements = [#columns]} : (!x, !x) -> !x
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %h = dist.reshard %x : !x from #whole to #columns
  // expected-error @+1 {{'model.tanh' op has its result placed #dist.placement<[replicate, replicate]>, expected #dist.placement<[replicate, shard(tensor)]>}}
  %y = model.tanh %h : (!x) -> !x
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  // expected-error @+1 {{'dist.reshard' op reads the result of 'dist.reshard' placed #dist.placement<[replicate, replicate]>, expected #dist.placement<[shard(tensor), replicate]>}}
  %t = dist.reshard %x : !x from #rows to #whole
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  // expected-error @+1 {{'model.cross_entropy' op has factor 'v' sharded, which only the ops that insert-reshards writes in its place may}}
  %loss, %dx, %dw = model.cross_entropy %x, %table, %targets, %weights {dist.placements = [#dist.placement<[replicate]>, #whole, #rows]} : (!x, !table, !index, !rows) -> (!rows, !x, !table)
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %h = dist.reshard %x : !x from #whole to #rows
  // expected-error @+1 {{'model.custom' op operand 0 shards dimension 0, which the op needs whole}}
  %c = model.custom @body(%h) : (!x) -> !x
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#max = #dist.placement<[replicate, replicate], partial max(tensor)>
dist.mesh [tensor = 4]
model.program @p max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %e = model.embedding %tokens, %table {dist.placements = [#part]} : (!index, !table) -> !x
  %x = dist.reshard %e : !x from #part to #whole
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %h = dist.reshard %x : !x from #whole to #columns
  // expected-error @+1 {{'model.reshape' op operand 0 shards dimension 1 where its factors cannot be cut}}
  %y = model.reshape %h {dist.placements = [#dist.placement<[replicate, replicate, replicate]>]} : (!x) -> !model.tensor<rows x 2 x 4 x f32>
  model.return %weights : !rows
}
