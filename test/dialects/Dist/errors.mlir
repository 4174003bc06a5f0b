// Each verifier check, in the order of the constraints in DistOps.td.
//
// RUN: baton-opt %s --split-input-file -verify-diagnostics

// expected-error @+1 {{a granularity is at least 1, found 0}}
#p = #dist.placement<[ragged(a: 0, [1])]>

// -----

// expected-error @+1 {{a granularity is at least 1, found -2}}
#p = #dist.placement<[ragged(a: -2, [1])]>

// -----

// expected-error @+1 {{units are not negative, found -1}}
#p = #dist.placement<[ragged(a: 1, [2, -1])]>

// -----

// expected-error @+1 {{a ragged dimension has units}}
#p = #dist.placement<[ragged(a: 1, [])]>

// -----

// expected-error @+1 {{expected valid keyword or string}}
#p = #dist.placement<[shard()]>

// -----

// expected-error @+1 {{expected 'replicate', 'shard' or 'ragged', found 'split'}}
#p = #dist.placement<[split(a)]>

// -----

// expected-error @+1 {{axis "a" occurs twice}}
#p = #dist.placement<[shard(a), shard(a)]>

// -----

// expected-error @+1 {{axis "a" occurs twice}}
#p = #dist.placement<[shard(a)], partial sum(a)>

// -----

// expected-error @+1 {{expected valid keyword or string}}
#p = #dist.placement<[shard(a)], partial sum()>

// -----

// expected-error @+1 {{a partial is a 'sum' or a 'max', found 'product'}}
#p = #dist.placement<[shard(a)], partial product(b)>

// -----

dist.mesh [a = 2]
// expected-error @+1 {{'dist.mesh' op is the module's second mesh}}
dist.mesh [b = 2]

// -----

model.program @p max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  // expected-error @+1 {{'dist.mesh' op stands outside of a module}}
  dist.mesh [a = 2]
  %w = model.parameter ["w"] : !model.tensor<4 x 8 x f32>
  %e = model.embedding %tokens, %w : (!model.tensor<rows x i32>, !model.tensor<4 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %l = model.last_rows %e : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}

// -----

// expected-error @+1 {{'dist.mesh' op has 0 names and 0 sizes, expected one or more axes}}
dist.mesh []

// -----

// expected-error @+1 {{'dist.mesh' op has two axes "a"}}
dist.mesh [a = 2, a = 3]

// -----

// expected-error @+1 {{'dist.mesh' op axis "a" has size 0, expected at least 1}}
dist.mesh [a = 0]

// -----

// expected-error @+1 {{'dist.mesh' op has more than 1048576 ranks}}
dist.mesh [a = 1024, b = 2048]

// -----

// expected-error @+1 {{'dist.mesh' op has no axis "b" for batches}}
dist.mesh [a = 2] batch [b]

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
// expected-error @+1 {{'dist.placements': a placement of 1 dimensions for a tensor of 2}}
%w = model.parameter ["w"] {dist.placements = [#dist.placement<[shard(tensor)]>]} : !model.tensor<8 x 8 x f32>

// -----

// expected-error @+1 {{'dist.placements': a placement needs a mesh, and the module has none}}
%w = model.parameter ["w"] {dist.placements = [#dist.placement<[shard(tensor), replicate]>]} : !model.tensor<8 x 8 x f32>

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
// expected-error @+1 {{'dist.placements': the mesh has no axis "model"}}
%w = model.parameter ["w"] {dist.placements = [#dist.placement<[shard(model), replicate]>]} : !model.tensor<8 x 8 x f32>

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
// expected-error @+1 {{'dist.placements': dimension 1 of 6 is not divisible by 4, the size of #dist.dimension<shard(tensor)>}}
%w = model.parameter ["w"] {dist.placements = [#dist.placement<[replicate, shard(tensor)]>]} : !model.tensor<8 x 6 x f32>

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
// expected-error @+1 {{'dist.placements': dimension 0 has 2 units for 4 ranks}}
%w = model.parameter ["w"] {dist.placements = [#dist.placement<[ragged(tensor: 1, [4, 4]), replicate]>]} : !model.tensor<8 x 6 x f32>

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
// expected-error @+1 {{'dist.placements': dimension 0 has 7 blocks of 1, but 8 indices make 8}}
%w = model.parameter ["w"] {dist.placements = [#dist.placement<[ragged(tensor: 1, [4, 3, 0, 0]), replicate]>]} : !model.tensor<8 x 6 x f32>

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
// expected-error @+1 {{'dist.placements': dimension 0 has 4 blocks of 3, but 8 indices make 3}}
%w = model.parameter ["w"] {dist.placements = [#dist.placement<[ragged(tensor: 3, [2, 1, 0, 1]), replicate]>]} : !model.tensor<8 x 6 x f32>

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
// expected-error @+1 {{'dist.placements': expected 1 placements in brackets}}
%w = model.parameter ["w"] {dist.placements = []} : !model.tensor<8 x f32>

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
// expected-error @+1 {{'dist.where' is no attribute that 'model.parameter' has}}
%w = model.parameter ["w"] {dist.where} : !model.tensor<8 x f32>

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
// expected-error @+1 {{'dist.shared_heads' is no attribute that 'model.parameter' has}}
%w = model.parameter ["w"] {dist.shared_heads} : !model.tensor<8 x f32>

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
// expected-error @+1 {{'dist.gradient' is no attribute that 'model.parameter' has}}
%w = model.parameter ["w"] {dist.gradient} : !model.tensor<8 x f32>

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
// expected-error @+1 {{'dist.arguments' is no attribute that 'model.parameter' has}}
%w = model.parameter ["w"] {dist.arguments} : !model.tensor<8 x f32>

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
// expected-error @+1 {{'dist.arguments': expected 4 placements in brackets}}
model.program @p max_seq 8 training attributes {dist.arguments = [#dist.placement<[replicate]>]} {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !model.tensor<rows x f32>):
  model.return %weights : !model.tensor<rows x f32>
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.operands': expected 1 placements in brackets}}
  %y = model.tanh %x {dist.operands = []} : (!x) -> !x
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.computed': expected 1 placements in brackets}}
  %y = model.tanh %x {dist.computed = [1]} : (!x) -> !x
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.gradient': a placement of 1 dimensions for a tensor of 2}}
  model.gradient %w of %w {dist.gradient = #dist.placement<[replicate]>} : !w, !w
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.placements': dimension 0 is ragged, but no number}}
  %y = model.tanh %x {dist.placements = [#dist.placement<[ragged(tensor: 1, [1, 1, 1, 1]), replicate]>]} : (!x) -> !x
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.placements': rows have batch axis "data" behind another axis}}
  %y = model.tanh %x {dist.placements = [#dist.placement<[shard(tensor, data), replicate]>]} : (!x) -> !x
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.reshard' op the mesh has no axis "model"}}
  %y = dist.reshard %x : !x from #dist.placement<[replicate, shard(model)]> to #dist.placement<[replicate, replicate]>
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.reshard' op the mesh has no axis "model"}}
  %y = dist.reshard %x : !x from #dist.placement<[replicate, replicate]> to #dist.placement<[replicate, shard(model)]>
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_reduce' op the mesh has no axis "model"}}
  %y = dist.all_reduce %x : !x over ["tensor"] from #dist.placement<[replicate, shard(model)]> to #dist.placement<[replicate, replicate]> payload "4 * rows * 8"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_reduce' op the mesh has no axis "model"}}
  %y = dist.all_reduce %x : !x over ["tensor"] from #dist.placement<[replicate, replicate]> to #dist.placement<[replicate, shard(model)]> payload "4 * rows * 8"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_gather' op the mesh has no axis "model"}}
  %y = dist.all_gather %x : !x dimension 0 over ["tensor"] from #dist.placement<[replicate, shard(model)]> to #dist.placement<[replicate, replicate]> payload "4 * rows * 8"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_gather' op the mesh has no axis "model"}}
  %y = dist.all_gather %x : !x dimension 0 over ["tensor"] from #dist.placement<[replicate, replicate]> to #dist.placement<[replicate, shard(model)]> payload "4 * rows * 8"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.reduce_scatter' op the mesh has no axis "model"}}
  %y = dist.reduce_scatter %x : !x dimension 0 over ["tensor"] from #dist.placement<[replicate, shard(model)]> to #dist.placement<[replicate, replicate]> payload "4 * rows * 8"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.reduce_scatter' op the mesh has no axis "model"}}
  %y = dist.reduce_scatter %x : !x dimension 0 over ["tensor"] from #dist.placement<[replicate, replicate]> to #dist.placement<[replicate, shard(model)]> payload "4 * rows * 8"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_to_all' op the mesh has no axis "model"}}
  %y = dist.all_to_all %x : !x dimension 0 to 1 over ["tensor"] from #dist.placement<[replicate, shard(model)]> to #dist.placement<[replicate, replicate]> payload "4 * rows * 8"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_to_all' op the mesh has no axis "model"}}
  %y = dist.all_to_all %x : !x dimension 0 to 1 over ["tensor"] from #dist.placement<[replicate, replicate]> to #dist.placement<[replicate, shard(model)]> payload "4 * rows * 8"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.slice' op the mesh has no axis "model"}}
  %y = dist.slice %x : !x dimension 0 over ["tensor"] from #dist.placement<[replicate, shard(model)]> to #dist.placement<[replicate, replicate]>
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.slice' op the mesh has no axis "model"}}
  %y = dist.slice %x : !x dimension 0 over ["tensor"] from #dist.placement<[replicate, replicate]> to #dist.placement<[replicate, shard(model)]>
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.first_rank' op the mesh has no axis "model"}}
  %y = dist.first_rank %x : !x over ["tensor"] from #dist.placement<[replicate, shard(model)]> to #dist.placement<[replicate, replicate]>
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.first_rank' op the mesh has no axis "model"}}
  %y = dist.first_rank %x : !x over ["tensor"] from #dist.placement<[replicate, replicate]> to #dist.placement<[replicate, shard(model)]>
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.reshard' op makes a partial maximum over "tensor", expected a sum}}
  %y = dist.reshard %x : !x from #dist.placement<[replicate, replicate]> to #dist.placement<[replicate, replicate], partial max(tensor)>
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_reduce' op over ["tensor"] does not lead from #dist.placement<[replicate, replicate]> to #dist.placement<[replicate, replicate]>}}
  %y = dist.all_reduce %x : !x over ["tensor"] from #dist.placement<[replicate, replicate]> to #dist.placement<[replicate, replicate]> payload ""
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_reduce' op over ["tensor"] does not lead from #dist.placement<[replicate, replicate], partial sum(tensor)> to #dist.placement<[shard(tensor), replicate]>}}
  %y = dist.all_reduce %x : !x over ["tensor"] from #dist.placement<[replicate, replicate], partial sum(tensor)> to #dist.placement<[shard(tensor), replicate]> payload ""
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_reduce' op has payload '8 * rows', expected '4 * rows * 8'}}
  %y = dist.all_reduce %x : !x over ["tensor"] from #dist.placement<[replicate, replicate], partial sum(tensor)> to #dist.placement<[replicate, replicate]> payload "8 * rows"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_reduce' op is joined to no all_reduce over ["tensor"]}}
  %y = dist.all_reduce %x : !x over ["tensor"] from #dist.placement<[replicate, replicate], partial sum(tensor)> to #dist.placement<[replicate, replicate]> payload "4 * rows * 8" {dist.joined}
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %y = dist.all_reduce %x : !x over ["data"] from #dist.placement<[replicate, replicate], partial sum(data)> to #dist.placement<[replicate, replicate]> payload "4 * rows * 8"
  // expected-error @+1 {{'dist.all_reduce' op is joined to no all_reduce over ["tensor"]}}
  %z = dist.all_reduce %x : !x over ["tensor"] from #dist.placement<[replicate, replicate], partial sum(tensor)> to #dist.placement<[replicate, replicate]> payload "4 * rows * 8" {dist.joined}
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %y = dist.all_reduce %x : !x over ["tensor"] from #dist.placement<[replicate, replicate], partial sum(tensor)> to #dist.placement<[replicate, replicate]> payload "4 * rows * 8"
  %z = dist.all_reduce %x : !x over ["tensor"] from #dist.placement<[replicate, replicate], partial sum(tensor)> to #dist.placement<[replicate, replicate]> payload "4 * rows * 8" {dist.joined}
  // expected-error @+1 {{'dist.all_reduce' op is joined to the all_reduce that makes its x}}
  %u = dist.all_reduce %y : !x over ["tensor"] from #dist.placement<[replicate, replicate], partial sum(tensor)> to #dist.placement<[replicate, replicate]> payload "4 * rows * 8" {dist.joined}
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  // expected-error @+1 {{'dist.all_gather' op makes '!model.tensor<rows over 4 x 8 x f32>' of '!model.tensor<rows x 8 x f32>' over 4 ranks}}
  %y = dist.all_gather %x : !x -> !model.tensor<rows over 4 x 8 x f32> dimension 0 over ["tensor"] from #dist.placement<[shard(tensor), replicate]> to #dist.placement<[replicate, replicate]> payload "4 * rows * 8"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %v = model.parameter ["v"] : !model.tensor<8 x 4 x f32>
  %n = model.embedding %tokens, %v : (!index, !model.tensor<8 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  // expected-error @+1 {{'dist.all_gather' op makes '!model.tensor<rows x 8 x f32>' of '!model.tensor<rows x 4 x f32>' over 4 ranks}}
  %y = dist.all_gather %n : !model.tensor<rows x 4 x f32> -> !x dimension 1 over ["tensor"] from #dist.placement<[replicate, shard(tensor)]> to #dist.placement<[replicate, replicate]> payload "4 * rows * 8"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  // expected-error @+1 {{'dist.slice' op makes '!model.tensor<rows x 4 x f32>' of '!model.tensor<rows x 8 x f32>' over 4 ranks}}
  %y = dist.slice %x : !x -> !model.tensor<rows x 4 x f32> dimension 1 over ["tensor"] from #dist.placement<[replicate, replicate]> to #dist.placement<[replicate, shard(tensor)]>
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  // expected-error @+1 {{'dist.reduce_scatter' op makes '!model.tensor<rows over 2 x 8 x f32>' of '!model.tensor<rows x 8 x f32>' over 4 ranks}}
  %y = dist.reduce_scatter %x : !x -> !model.tensor<rows over 2 x 8 x f32> dimension 0 over ["tensor"] from #dist.placement<[replicate, replicate], partial sum(tensor)> to #dist.placement<[shard(tensor), replicate]> payload "4 * rows * 8"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_gather' op over ["tensor"] does not lead from #dist.placement<[shard(tensor), replicate]> to #dist.placement<[replicate, replicate]>}}
  %y = dist.all_gather %x : !x dimension 1 over ["tensor"] from #dist.placement<[shard(tensor), replicate]> to #dist.placement<[replicate, replicate]> payload ""
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_gather' op over ["tensor"] does not lead from #dist.placement<[shard(tensor), replicate]> to #dist.placement<[replicate, shard(tensor)]>}}
  %y = dist.all_gather %x : !x dimension 0 over ["tensor"] from #dist.placement<[shard(tensor), replicate]> to #dist.placement<[replicate, shard(tensor)]> payload ""
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_gather' op has payload '4 * rows/4 * 8', expected '4 * rows * 8'}}
  %y = dist.all_gather %x : !x dimension 0 over ["tensor"] from #dist.placement<[shard(tensor), replicate]> to #dist.placement<[replicate, replicate]> payload "4 * rows/4 * 8"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.reduce_scatter' op over ["tensor"] does not lead from #dist.placement<[replicate, replicate]> to #dist.placement<[shard(tensor), replicate]>}}
  %y = dist.reduce_scatter %x : !x dimension 0 over ["tensor"] from #dist.placement<[replicate, replicate]> to #dist.placement<[shard(tensor), replicate]> payload ""
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.reduce_scatter' op over ["tensor"] does not lead from #dist.placement<[replicate, replicate], partial sum(tensor)> to #dist.placement<[shard(tensor), replicate]>}}
  %y = dist.reduce_scatter %x : !x dimension 1 over ["tensor"] from #dist.placement<[replicate, replicate], partial sum(tensor)> to #dist.placement<[shard(tensor), replicate]> payload ""
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.reduce_scatter' op has payload '1', expected '4 * rows * 8'}}
  %y = dist.reduce_scatter %x : !x dimension 0 over ["tensor"] from #dist.placement<[replicate, replicate], partial sum(tensor)> to #dist.placement<[shard(tensor), replicate]> payload "1"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_to_all' op over ["tensor"] does not lead from #dist.placement<[shard(tensor), replicate]> to #dist.placement<[replicate, shard(tensor)]>}}
  %y = dist.all_to_all %x : !x dimension 1 to 0 over ["tensor"] from #dist.placement<[shard(tensor), replicate]> to #dist.placement<[replicate, shard(tensor)]> payload ""
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_to_all' op over ["tensor"] does not lead from #dist.placement<[shard(tensor), replicate]> to #dist.placement<[replicate, replicate]>}}
  %y = dist.all_to_all %x : !x dimension 0 to 1 over ["tensor"] from #dist.placement<[shard(tensor), replicate]> to #dist.placement<[replicate, replicate]> payload ""
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.all_to_all' op has payload '1', expected '4 * rows/4 * 8'}}
  %y = dist.all_to_all %x : !x dimension 0 to 1 over ["tensor"] from #dist.placement<[shard(tensor), replicate]> to #dist.placement<[replicate, shard(tensor)]> payload "1"
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.slice' op over ["tensor"] does not lead from #dist.placement<[replicate, shard(tensor)]> to #dist.placement<[shard(tensor), replicate]>}}
  %y = dist.slice %x : !x dimension 0 over ["tensor"] from #dist.placement<[replicate, shard(tensor)]> to #dist.placement<[shard(tensor), replicate]>
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.slice' op over ["tensor"] does not lead from #dist.placement<[replicate, replicate]> to #dist.placement<[shard(tensor), replicate]>}}
  %y = dist.slice %x : !x dimension 2 over ["tensor"] from #dist.placement<[replicate, replicate]> to #dist.placement<[shard(tensor), replicate]>
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.first_rank' op over ["tensor"] does not lead from #dist.placement<[shard(tensor), replicate]> to #dist.placement<[replicate, replicate], partial sum(tensor)>}}
  %y = dist.first_rank %x : !x over ["tensor"] from #dist.placement<[shard(tensor), replicate]> to #dist.placement<[replicate, replicate], partial sum(tensor)>
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.first_rank' op makes a partial maximum, expected a sum}}
  %y = dist.first_rank %x : !x over ["tensor"] from #dist.placement<[replicate, replicate]> to #dist.placement<[replicate, replicate], partial max(tensor)>
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.logit_maximum' op x is '!model.tensor<16 x 8 x f32>', expected [rows, K] in f32}}
  %y = dist.logit_maximum %w, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!w, !w) -> !rows
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.logit_maximum' op the weight is '!model.tensor<rows x 8 x f32>', expected [V, 8]}}
  %y = dist.logit_maximum %x, %x {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !x) -> !rows
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.logit_maximum' op the result has shape [rows, 2], expected [rows]}}
  %y = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !two
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.logit_maximum' op a teacher is its tokens, [rows, N] in i32, and its numbers}}
  %y = dist.logit_maximum %x, %w, %targets {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index) -> !rows
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.logit_maximum' op a teacher is its tokens, [rows, N] in i32, and its numbers}}
  %y = dist.logit_maximum %x, %w, %targets, %weights {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !rows
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.logit_maximum' op the result has 'i32' elements, expected f32}}
  %y = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !index
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.logit_maximum' op scale is not finite}}
  %y = dist.logit_maximum %x, %w {scale = 0x7F800000 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.logit_maximum' op softcap is negative or not finite}}
  %y = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = -1.0 : f32} : (!x, !w) -> !rows
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.logit_sums' op x is '!model.tensor<16 x 8 x f32>', expected [rows, K] in f32}}
  %y = dist.logit_sums %w, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!w, !w, !index, !rows) -> !two
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.logit_sums' op targets are not i32}}
  %y = dist.logit_sums %x, %w, %m, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !rows, !rows) -> !two
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.logit_sums' op the maximum has shape [rows, 8], expected [rows]}}
  %y = dist.logit_sums %x, %w, %targets, %x {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !x) -> !two
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.logit_sums' op the result has shape [rows], expected [rows, 2]}}
  %y = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !rows
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.losses' op the maximum has shape [rows, 8], expected [rows]}}
  %y = dist.losses %x, %x, %m : (!x, !x, !rows) -> !rows
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // expected-error @+1 {{'dist.losses' op sums has shape [rows, 8], expected [rows, 2]}}
  %y = dist.losses %m, %x, %m : (!rows, !x, !rows) -> !rows
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %s = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // expected-error @+1 {{'dist.losses' op weights has shape [rows, 2], expected [rows]}}
  %y = dist.losses %m, %s, %s : (!rows, !two, !two) -> !rows
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %s = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // expected-error @+1 {{'dist.losses' op the result has shape [rows, 2], expected [rows]}}
  %y = dist.losses %m, %s, %weights : (!rows, !two, !rows) -> !two
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %s = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // expected-error @+1 {{'dist.losses' op the maximum has shape [rows], expected [rows, 2]}}
  %y = dist.losses %m, %x, %m, %x : (!rows, !x, !rows, !x) -> !rows
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %s = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // expected-error @+1 {{'dist.loss_gradients' op x is '!model.tensor<16 x 8 x f32>', expected [rows, K] in f32}}
  %dx, %dw = dist.loss_gradients %w, %w, %targets, %weights, %m, %s {scale = 1.0 : f32, softcap = 0.0 : f32} : (!w, !w, !index, !rows, !rows, !two) -> (!x, !w)
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %s = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // expected-error @+1 {{'dist.loss_gradients' op targets are not i32}}
  %dx, %dw = dist.loss_gradients %x, %w, %m, %weights, %m, %s {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !rows, !rows, !rows, !two) -> (!x, !w)
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %s = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // expected-error @+1 {{'dist.loss_gradients' op weights has shape [rows, 2], expected [rows]}}
  %dx, %dw = dist.loss_gradients %x, %w, %targets, %s, %m, %s {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !two, !rows, !two) -> (!x, !w)
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %s = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // expected-error @+1 {{'dist.loss_gradients' op the maximum has shape [rows, 2], expected [rows]}}
  %dx, %dw = dist.loss_gradients %x, %w, %targets, %weights, %s, %s {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows, !two, !two) -> (!x, !w)
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %s = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // expected-error @+1 {{'dist.loss_gradients' op sums has shape [rows], expected [rows, 2]}}
  %dx, %dw = dist.loss_gradients %x, %w, %targets, %weights, %m, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows, !rows, !rows) -> (!x, !w)
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %s = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // expected-error @+1 {{'dist.loss_gradients' op dx is '!model.tensor<16 x 8 x f32>', expected '!model.tensor<rows x 8 x f32>'}}
  %dx, %dw = dist.loss_gradients %x, %w, %targets, %weights, %m, %s {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows, !rows, !two) -> (!w, !w)
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %s = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // expected-error @+1 {{'dist.loss_gradients' op dweight has shape [rows, 8], expected [16, 8]}}
  %dx, %dw = dist.loss_gradients %x, %w, %targets, %weights, %m, %s {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows, !rows, !two) -> (!x, !x)
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
!bias = !model.tensor<8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %bias = model.parameter ["bias"] : !bias
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %s = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // expected-error @+1 {{'dist.logit_maximum' op the bias has shape [8], expected [16]}}
  %bm = dist.logit_maximum %x, %w bias %bias {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !bias) -> !rows
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
!bias = !model.tensor<16 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %bias = model.parameter ["bias"] : !bias
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %s = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // expected-error @+1 {{'dist.loss_gradients' op has a bias without a dbias, or the other way round, expected both or neither}}
  %dx, %dw = dist.loss_gradients %x, %w, %targets, %weights, %m, %s bias %bias {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows, !rows, !two, !bias) -> (!x, !w)
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
!bias = !model.tensor<16 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %bias = model.parameter ["bias"] : !bias
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %s = dist.logit_sums %x, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // expected-error @+1 {{'dist.loss_gradients' op dbias has shape [16, 8], expected [16]}}
  %dx, %dw, %db = dist.loss_gradients %x, %w, %targets, %weights, %m, %s bias %bias {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows, !rows, !two, !bias) -> (!x, !w, !w)
  model.return %weights : !rows
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
// expected-error @+1 {{'dist.summed' is no attribute that 'model.parameter' has}}
%w = model.parameter ["w"] {dist.summed = ["data"]} : !model.tensor<8 x f32>

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
model.program @p max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !model.tensor<8 x f32>
  // expected-error @+1 {{'dist.summed': expected names of axes in brackets}}
  model.gradient %w of %w {dist.summed = []} : <8 x f32>, <8 x f32>
  model.return %weights : !model.tensor<rows x f32>
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
model.program @p max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !model.tensor<8 x f32>
  // expected-error @+1 {{'dist.summed': expected names of axes in brackets}}
  model.gradient %w of %w {dist.summed = "data"} : <8 x f32>, <8 x f32>
  model.return %weights : !model.tensor<rows x f32>
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
model.program @p max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !model.tensor<8 x f32>
  // expected-error @+1 {{'dist.summed': there is no axis "pipe"}}
  model.gradient %w of %w {dist.summed = ["pipe"]} : <8 x f32>, <8 x f32>
  model.return %weights : !model.tensor<rows x f32>
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
model.program @p max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !model.tensor<8 x f32>
  // expected-error @+1 {{'dist.summed': axis "data" occurs twice}}
  model.gradient %w of %w {dist.summed = ["data", "data"]} : <8 x f32>, <8 x f32>
  model.return %weights : !model.tensor<rows x f32>
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
model.program @p max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !model.tensor<8 x f32>
  // expected-error @+1 {{'dist.scattered': expected "update" or "step", beside 'dist.summed'}}
  model.gradient %w of %w {dist.scattered = "update"} : <8 x f32>, <8 x f32>
  model.return %weights : !model.tensor<rows x f32>
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
model.program @p max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !model.tensor<8 x f32>
  // expected-error @+1 {{'dist.scattered': expected "update" or "step", beside 'dist.summed'}}
  model.gradient %w of %w {dist.scattered = "never", dist.summed = ["data"]} : <8 x f32>, <8 x f32>
  model.return %weights : !model.tensor<rows x f32>
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
model.program @p max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !model.tensor<8 x f32>
  // expected-error @+1 {{'dist.scattered_over': expected some axes of 'dist.summed', not all, beside 'dist.scattered'}}
  model.gradient %w of %w {dist.scattered = "step", dist.scattered_over = ["data", "tensor"], dist.summed = ["data", "tensor"]} : <8 x f32>, <8 x f32>
  model.return %weights : !model.tensor<rows x f32>
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
model.program @p max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !model.tensor<8 x f32>
  // expected-error @+1 {{'dist.scattered_over': expected some axes of 'dist.summed', not all, beside 'dist.scattered'}}
  model.gradient %w of %w {dist.scattered = "step", dist.scattered_over = ["tensor"], dist.summed = ["data"]} : <8 x f32>, <8 x f32>
  model.return %weights : !model.tensor<rows x f32>
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
model.program @p max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !model.tensor<8 x f32>
  // expected-error @+1 {{'dist.scattered_over': expected some axes of 'dist.summed', not all, beside 'dist.scattered'}}
  model.gradient %w of %w {dist.scattered_over = ["tensor"], dist.summed = ["data", "tensor"]} : <8 x f32>, <8 x f32>
  model.return %weights : !model.tensor<rows x f32>
}

// -----

dist.mesh [data = 2, tensor = 4] batch [data]
// expected-error @+1 {{'dist.gathered': there is no axis "pipe"}}
%w = model.parameter ["w"] {dist.gathered = ["pipe"]} : !model.tensor<8 x f32>

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %number = builtin.unrealized_conversion_cast %m : !rows to i32
  // expected-error @+1 {{'dist.logit_sums' op the maximum is no tensor}}
  %s = dist.logit_sums %x, %w, %targets, %number {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, i32) -> !two
  model.return %weights : !rows
}

// -----

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %m = dist.logit_maximum %x, %w {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  %number = builtin.unrealized_conversion_cast %m : !rows to i32
  // expected-error @+1 {{'dist.logit_sums' op targets are no tensor}}
  %s = dist.logit_sums %x, %w, %number, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, i32, !rows) -> !two
  model.return %weights : !rows
}

// -----

dist.mesh [tensor = 4]
!rows = !model.tensor<rows x f32>
!index = !model.tensor<rows x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  // expected-error @+1 {{'dist.placements': a placement is one of a tensor, found 'i32'}}
  %number = builtin.unrealized_conversion_cast %weights : !rows to i32 {dist.placements = [#dist.placement<[replicate]>]}
  model.return %weights : !rows
}
