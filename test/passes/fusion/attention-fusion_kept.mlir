// What looks like attention and is left as it is, each for a reason.
//
// RUN: baton-opt %s --allow-unregistered-dialect --attention-fusion="explain=true" -verify-diagnostics | FileCheck %s

!q = !model.tensor<rows x 6 x 4 x f32>
!k = !model.tensor<kv x 2 x 4 x f32>
!v = !model.tensor<kv x 2 x 8 x f32>
!k6 = !model.tensor<kv x 6 x 4 x f32>
!v6 = !model.tensor<kv x 6 x 8 x f32>
!qh = !model.tensor<6 x rows x 4 x f32>
!kh = !model.tensor<2 x 4 x kv x f32>
!vh = !model.tensor<2 x kv x 8 x f32>
!kh6 = !model.tensor<6 x 4 x kv x f32>
!vh6 = !model.tensor<6 x kv x 8 x f32>
!scores = !model.tensor<6 x rows x kv x f32>
!rh = !model.tensor<6 x rows x 8 x f32>
!result = !model.tensor<rows x 6 x 8 x f32>

// CHECK-LABEL: "test.scores_used_twice"
// CHECK-NOT: model.attention
"test.scores_used_twice"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the value of its 'model.matmul' has other users}}
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
  "test.use"(%s0) : (!scores) -> ()
}) : () -> ()

// CHECK-LABEL: "test.scaled_scores_used_twice"
// CHECK-NOT: model.attention
"test.scaled_scores_used_twice"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the value of its 'model.scale' has other users}}
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
  "test.use"(%s1) : (!scores) -> ()
}) : () -> ()

// CHECK-LABEL: "test.masked_scores_used_twice"
// CHECK-NOT: model.attention
"test.masked_scores_used_twice"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the value of its 'model.mask' has other users}}
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
  "test.use"(%s2) : (!scores) -> ()
}) : () -> ()

// CHECK-LABEL: "test.probabilities_used_twice"
// CHECK-NOT: model.attention
"test.probabilities_used_twice"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the value of its 'model.softmax' has other users}}
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
  "test.use"(%s3) : (!scores) -> ()
}) : () -> ()

// CHECK-LABEL: "test.result_used_twice"
// CHECK-NOT: model.attention
"test.result_used_twice"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the result is used otherwise than as rows of heads}}
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
  "test.use"(%r) : (!rh) -> ()
}) : () -> ()

// The value between cap and tanh leaves the kernel.
// CHECK-LABEL: "test.capped_scores_used_twice"
// CHECK-NOT: model.attention
"test.capped_scores_used_twice"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.scale %s1 {factor = 0.1 : f32} : (!scores) -> !scores
  %s3 = model.tanh %s2 : (!scores) -> !scores
  %s4 = model.scale %s3 {factor = 10.0 : f32} : (!scores) -> !scores
  %s5 = model.mask %s4 : (!scores) -> !scores
  %s6 = model.softmax %s5 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the value of its 'model.scale' has other users}}
  %r = model.matmul %s6, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
  "test.use"(%s2) : (!scores) -> ()
}) : () -> ()

// Every row sees every position.
// CHECK-LABEL: "test.no_mask"
// CHECK-NOT: model.attention
"test.no_mask"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.softmax %s1 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the scores have no causal mask}}
  %r = model.matmul %s2, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// Minus infinity is no score that a cap or a scale should see.
// CHECK-LABEL: "test.mask_before_scale"
// CHECK-NOT: model.attention
"test.mask_before_scale"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.mask %s0 : (!scores) -> !scores
  %s2 = model.scale %s1 {factor = 0.5 : f32} : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the scores have no causal mask}}
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// CHECK-LABEL: "test.scaled_twice"
// CHECK-NOT: model.attention
"test.scaled_twice"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.scale %s1 {factor = 0.5 : f32} : (!scores) -> !scores
  %s3 = model.mask %s2 : (!scores) -> !scores
  %s4 = model.softmax %s3 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the scores are no product, scaled once}}
  %r = model.matmul %s4, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// CHECK-LABEL: "test.scaled_on_both_sides_of_the_transpose"
// CHECK-NOT: model.attention
"test.scaled_on_both_sides_of_the_transpose"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qt = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %qh = model.scale %qt {factor = 0.25 : f32} : (!qh) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the queries are no view of [rows, heads, dim]}}
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// CHECK-LABEL: "test.cap_not_reciprocal"
// CHECK-NOT: model.attention
"test.cap_not_reciprocal"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.1 : f32} : (!scores) -> !scores
  %s2 = model.tanh %s1 : (!scores) -> !scores
  %s3 = model.scale %s2 {factor = 11.0 : f32} : (!scores) -> !scores
  %s4 = model.mask %s3 : (!scores) -> !scores
  %s5 = model.softmax %s4 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the factors around a tanh are not each other's reciprocal}}
  %r = model.matmul %s5, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// CHECK-LABEL: "test.cap_negative"
// CHECK-NOT: model.attention
"test.cap_negative"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = -0.1 : f32} : (!scores) -> !scores
  %s2 = model.tanh %s1 : (!scores) -> !scores
  %s3 = model.scale %s2 {factor = -10.0 : f32} : (!scores) -> !scores
  %s4 = model.mask %s3 : (!scores) -> !scores
  %s5 = model.softmax %s4 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the factors around a tanh are not each other's reciprocal}}
  %r = model.matmul %s5, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// CHECK-LABEL: "test.tanh_alone"
// CHECK-NOT: model.attention
"test.tanh_alone"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.tanh %s1 : (!scores) -> !scores
  %s3 = model.mask %s2 : (!scores) -> !scores
  %s4 = model.softmax %s3 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: a tanh of the scores has no scale on both sides}}
  %r = model.matmul %s4, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// Keys have two heads, values six.
// CHECK-LABEL: "test.keys_repeated_otherwise"
// CHECK-NOT: model.attention
"test.keys_repeated_otherwise"() ({
^bb0(%q: !q, %k: !k, %v: !v6):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vh = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v6) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: keys and values are repeated differently}}
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// Heads first already: nothing shows [kv, heads, dim].
// CHECK-LABEL: "test.keys_not_of_a_state"
// CHECK-NOT: model.attention
"test.keys_not_of_a_state"() ({
^bb0(%q: !q, %kh: !kh6, %vh: !vh6):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.mask %s0 : (!scores) -> !scores
  %s2 = model.softmax %s1 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the keys are no view of [kv, heads, dim]}}
  %r = model.matmul %s2, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// CHECK-LABEL: "test.values_heads_first"
// CHECK-NOT: model.attention
"test.values_heads_first"() ({
^bb0(%q: !q, %k: !k6, %v: !vh6):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kh = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k6) -> !kh6
  %vh = model.broadcast %v {axis = 0 : i64, times = 1 : i64} : (!vh6) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the values are no view of [kv, heads, dim]}}
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// Key dimensions are repeated where heads should be.
// CHECK-LABEL: "test.wrong_axis_repeated"
// CHECK-NOT: model.attention
"test.wrong_axis_repeated"() ({
^bb0(%q: !q, %k: !model.tensor<kv x 6 x 2 x f32>, %v: !v6):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!model.tensor<kv x 6 x 2 x f32>) -> !model.tensor<6 x 2 x kv x f32>
  %kh = model.broadcast %kt {axis = 1 : i64, times = 2 : i64} : (!model.tensor<6 x 2 x kv x f32>) -> !kh6
  %vh = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v6) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.mask %s0 : (!scores) -> !scores
  %s2 = model.softmax %s1 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the keys are no view of [kv, heads, dim]}}
  %r = model.matmul %s2, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// Heads and dimensions trade places: shapes agree, meaning does not.
// CHECK-LABEL: "test.heads_and_dimensions_swapped"
// CHECK-NOT: model.attention
"test.heads_and_dimensions_swapped"() ({
^bb0(%q: !model.tensor<rows x 4 x 4 x f32>, %k: !model.tensor<kv x 4 x 4 x f32>, %v: !model.tensor<kv x 4 x 4 x f32>):
  %qh = model.transpose %q {permutation = array<i64: 2, 0, 1>} : (!model.tensor<rows x 4 x 4 x f32>) -> !model.tensor<4 x rows x 4 x f32>
  %kh = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!model.tensor<kv x 4 x 4 x f32>) -> !model.tensor<4 x 4 x kv x f32>
  %vh = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!model.tensor<kv x 4 x 4 x f32>) -> !model.tensor<4 x kv x 4 x f32>
  %s0 = model.matmul %qh, %kh : (!model.tensor<4 x rows x 4 x f32>, !model.tensor<4 x 4 x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
  %s1 = model.mask %s0 : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
  %s2 = model.softmax %s1 : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
  // expected-remark @below {{attention is not fused: the queries are no view of [rows, heads, dim]}}
  %r = model.matmul %s2, %vh : (!model.tensor<4 x rows x kv x f32>, !model.tensor<4 x kv x 4 x f32>) -> !model.tensor<4 x rows x 4 x f32>
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!model.tensor<4 x rows x 4 x f32>) -> !model.tensor<rows x 4 x 4 x f32>
  "test.use"(%o) : (!model.tensor<rows x 4 x 4 x f32>) -> ()
}) : () -> ()

// CHECK-LABEL: "test.result_turned_otherwise"
// CHECK-NOT: model.attention
"test.result_turned_otherwise"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  // expected-remark @below {{attention is not fused: the result is used otherwise than as rows of heads}}
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 2, 0>} : (!rh) -> !model.tensor<rows x 8 x 6 x f32>
  "test.use"(%o) : (!model.tensor<rows x 8 x 6 x f32>) -> ()
}) : () -> ()
