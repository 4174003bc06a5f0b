// Every form of attention that becomes one op.
//
// RUN: baton-opt %s --allow-unregistered-dialect --attention-fusion | FileCheck %s

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

// Three query heads share each key/value head.
// CHECK-LABEL: "test.grouped_query"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[O:.+]] = model.attention %[[Q]], %[[K]], %[[V]] {scale = 5.000000e-01 : f32}
// CHECK-NEXT: "test.use"(%[[O]])
"test.grouped_query"() ({
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
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// Every query head has its own.
// CHECK-LABEL: "test.multi_head"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[O:.+]] = model.attention %[[Q]], %[[K]], %[[V]] {scale = 5.000000e-01 : f32}
// CHECK-NEXT: "test.use"(%[[O]])
"test.multi_head"() ({
^bb0(%q: !q, %k: !k6, %v: !v6):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kh = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k6) -> !kh6
  %vh = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v6) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// Sinks of softmax are those of attention.
// CHECK-LABEL: "test.sinks"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}, %[[S:.+]]: {{.*}}):
// CHECK-NEXT: %[[O:.+]] = model.attention %[[Q]], %[[K]], %[[V]] sinks %[[S]] {scale = 1.000000e+00 : f32}
// CHECK-NEXT: "test.use"(%[[O]])
"test.sinks"() ({
^bb0(%q: !q, %k: !k6, %v: !v6, %sinks: !model.tensor<6 x f32>):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kh = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k6) -> !kh6
  %vh = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v6) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s2 = model.mask %s0 : (!scores) -> !scores
  %s3 = model.softmax %s2 sinks %sinks : (!scores, !model.tensor<6 x f32>) -> !scores
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// All query heads share one key/value head.
// CHECK-LABEL: "test.multi_query"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[O:.+]] = model.attention %[[Q]], %[[K]], %[[V]] {scale = 5.000000e-01 : f32}
// CHECK-SAME: !model.tensor<kv x 1 x 4 x f32>
// CHECK-NEXT: "test.use"(%[[O]])
"test.multi_query"() ({
^bb0(%q: !q, %k: !model.tensor<kv x 1 x 4 x f32>, %v: !model.tensor<kv x 1 x 8 x f32>):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!model.tensor<kv x 1 x 4 x f32>) -> !model.tensor<1 x 4 x kv x f32>
  %kh = model.broadcast %kt {axis = 0 : i64, times = 6 : i64} : (!model.tensor<1 x 4 x kv x f32>) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!model.tensor<kv x 1 x 8 x f32>) -> !model.tensor<1 x kv x 8 x f32>
  %vh = model.broadcast %vt {axis = 0 : i64, times = 6 : i64} : (!model.tensor<1 x kv x 8 x f32>) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// Heads may be repeated as they stand in the state.
// CHECK-LABEL: "test.repeated_before_transposes"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[O:.+]] = model.attention %[[Q]], %[[K]], %[[V]] {scale = 5.000000e-01 : f32}
// CHECK-NEXT: "test.use"(%[[O]])
"test.repeated_before_transposes"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %k6 = model.broadcast %k {axis = 1 : i64, times = 3 : i64} : (!k) -> !k6
  %kh = model.transpose %k6 {permutation = array<i64: 1, 2, 0>} : (!k6) -> !kh6
  %v6 = model.broadcast %v {axis = 1 : i64, times = 3 : i64} : (!v) -> !v6
  %vh = model.transpose %v6 {permutation = array<i64: 1, 0, 2>} : (!v6) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// Heads first, then repeated, then turned: as transformers writes it.
// CHECK-LABEL: "test.repeated_among_transposes"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[O:.+]] = model.attention %[[Q]], %[[K]], %[[V]] {scale = 5.000000e-01 : f32}
// CHECK-NEXT: "test.use"(%[[O]])
"test.repeated_among_transposes"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 0, 2>} : (!k) -> !model.tensor<2 x kv x 4 x f32>
  %kr = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!model.tensor<2 x kv x 4 x f32>) -> !model.tensor<6 x kv x 4 x f32>
  %kh = model.transpose %kr {permutation = array<i64: 0, 2, 1>} : (!model.tensor<6 x kv x 4 x f32>) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// Twice by two and three is once by six.
// CHECK-LABEL: "test.repeated_twice"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: model.attention %[[Q]], %[[K]], %[[V]] {scale = 5.000000e-01 : f32}
"test.repeated_twice"() ({
^bb0(%q: !q, %k: !model.tensor<kv x 1 x 4 x f32>, %v: !model.tensor<kv x 1 x 8 x f32>):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %k2 = model.broadcast %k {axis = 1 : i64, times = 2 : i64} : (!model.tensor<kv x 1 x 4 x f32>) -> !k
  %kt = model.transpose %k2 {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!model.tensor<kv x 1 x 8 x f32>) -> !model.tensor<1 x kv x 8 x f32>
  %vh = model.broadcast %vt {axis = 0 : i64, times = 6 : i64} : (!model.tensor<1 x kv x 8 x f32>) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// A sliding window.
// CHECK-LABEL: "test.window"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[O:.+]] = model.attention %[[Q]], %[[K]], %[[V]] {scale = 5.000000e-01 : f32, window = 32 : i64}
// CHECK-NEXT: "test.use"(%[[O]])
"test.window"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 {window = 32 : i64} : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// No scale is a scale of one.
// CHECK-LABEL: "test.no_scale"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[O:.+]] = model.attention %[[Q]], %[[K]], %[[V]] {scale = 1.000000e+00 : f32}
// CHECK-NEXT: "test.use"(%[[O]])
"test.no_scale"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.mask %s0 : (!scores) -> !scores
  %s2 = model.softmax %s1 : (!scores) -> !scores
  %r = model.matmul %s2, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// The scale may be on the queries,
// CHECK-LABEL: "test.scale_on_rows_of_q"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[O:.+]] = model.attention %[[Q]], %[[K]], %[[V]] {scale = 2.500000e-01 : f32}
// CHECK-NEXT: "test.use"(%[[O]])
"test.scale_on_rows_of_q"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qs = model.scale %q {factor = 0.25 : f32} : (!q) -> !q
  %qh = model.transpose %qs {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.mask %s0 : (!scores) -> !scores
  %s2 = model.softmax %s1 : (!scores) -> !scores
  %r = model.matmul %s2, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// ... or on their transpose.
// CHECK-LABEL: "test.scale_on_heads_of_q"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[O:.+]] = model.attention %[[Q]], %[[K]], %[[V]] {scale = 2.500000e-01 : f32}
// CHECK-NEXT: "test.use"(%[[O]])
"test.scale_on_heads_of_q"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qt = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %qh = model.scale %qt {factor = 0.25 : f32} : (!qh) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.mask %s0 : (!scores) -> !scores
  %s2 = model.softmax %s1 : (!scores) -> !scores
  %r = model.matmul %s2, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// Of two scales the one on q stays, as their product would be rounded once more.
// CHECK-LABEL: "test.two_scales"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[S:.+]] = model.scale %[[Q]] {factor = 2.500000e-01 : f32}
// CHECK-NEXT: model.attention %[[S]], %[[K]], %[[V]] {scale = 5.000000e-01 : f32}
"test.two_scales"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qs = model.scale %q {factor = 0.25 : f32} : (!q) -> !q
  %qh = model.transpose %qs {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// The scale stands before the cap.
// CHECK-LABEL: "test.softcap"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[O:.+]] = model.attention %[[Q]], %[[K]], %[[V]] {scale = 5.000000e-01 : f32, softcap = 3.000000e+01 : f32}
// CHECK-NEXT: "test.use"(%[[O]])
"test.softcap"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.scale %s1 {factor = 0.0333333333 : f32} : (!scores) -> !scores
  %s3 = model.tanh %s2 : (!scores) -> !scores
  %s4 = model.scale %s3 {factor = 30.0 : f32} : (!scores) -> !scores
  %s5 = model.mask %s4 : (!scores) -> !scores
  %s6 = model.softmax %s5 : (!scores) -> !scores
  %r = model.matmul %s6, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// Without a scale on the scores, the one before the tanh is the cap's.
// CHECK-LABEL: "test.softcap_with_scale_on_q"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[O:.+]] = model.attention %[[Q]], %[[K]], %[[V]] {scale = 2.500000e-01 : f32, softcap = 5.000000e+01 : f32, window = 8 : i64}
// CHECK-NEXT: "test.use"(%[[O]])
"test.softcap_with_scale_on_q"() ({
^bb0(%q: !q, %k: !k, %v: !v):
  %qs = model.scale %q {factor = 0.25 : f32} : (!q) -> !q
  %qh = model.transpose %qs {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k) -> !kh
  %kh = model.broadcast %kt {axis = 0 : i64, times = 3 : i64} : (!kh) -> !kh6
  %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v) -> !vh
  %vh = model.broadcast %vt {axis = 0 : i64, times = 3 : i64} : (!vh) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.02 : f32} : (!scores) -> !scores
  %s2 = model.tanh %s1 : (!scores) -> !scores
  %s3 = model.scale %s2 {factor = 50.0 : f32} : (!scores) -> !scores
  %s4 = model.mask %s3 {window = 8 : i64} : (!scores) -> !scores
  %s5 = model.softmax %s4 : (!scores) -> !scores
  %r = model.matmul %s5, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
}) : () -> ()

// Views with other users stay for those.
// CHECK-LABEL: "test.shared_views"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[QH:.+]] = model.transpose %[[Q]]
// CHECK-NEXT: model.attention %[[Q]], %[[K]], %[[V]]
// CHECK-NEXT: "test.use"
// CHECK-NEXT: "test.use"(%[[QH]])
"test.shared_views"() ({
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
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  "test.use"(%o) : (!result) -> ()
  "test.use"(%qh) : (!qh) -> ()
}) : () -> ()

// A gate becomes the epilogue, though its logits come after the keys.
// CHECK-LABEL: "test.gated"
// CHECK-NEXT: ^bb0(%[[Q:.+]]: {{.*}}, %[[K:.+]]: {{.*}}, %[[V:.+]]: {{.*}}):
// CHECK-NEXT: %[[G:.+]] = "test.gates"()
// CHECK-NEXT: %[[O:.+]] = model.attention %[[Q]], %[[K]], %[[V]], %[[G]] {scale = 5.000000e-01 : f32}
// CHECK-NEXT: "test.use"(%[[O]])
"test.gated"() ({
^bb0(%q: !q, %k: !k6, %v: !v6):
  %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
  %kh = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!k6) -> !kh6
  %vh = model.transpose %v {permutation = array<i64: 1, 0, 2>} : (!v6) -> !vh6
  %s0 = model.matmul %qh, %kh : (!qh, !kh6) -> !scores
  %s1 = model.scale %s0 {factor = 0.5 : f32} : (!scores) -> !scores
  %s2 = model.mask %s1 : (!scores) -> !scores
  %s3 = model.softmax %s2 : (!scores) -> !scores
  %r = model.matmul %s3, %vh : (!scores, !vh6) -> !rh
  %o = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!rh) -> !result
  %g = "test.gates"() : () -> !model.tensor<rows x 6 x f32>
  %y = model.gate %o, %g : (!result, !model.tensor<rows x 6 x f32>) -> !result
  "test.use"(%y) : (!result) -> ()
}) : () -> ()

// A result that something else reads ungated stays as it is.
// CHECK-LABEL: "test.read_ungated"
// CHECK: %[[O:.+]] = model.attention %{{.+}}, %{{.+}}, %{{.+}} {scale = 5.000000e-01 : f32}
// CHECK-NEXT: %[[Y:.+]] = model.gate %[[O]], %{{.+}}
// CHECK-NEXT: "test.use"(%[[O]], %[[Y]])
"test.read_ungated"() ({
^bb0(%q: !q, %k: !k6, %v: !v6, %g: !result):
  %o = model.attention %q, %k, %v {scale = 0.5 : f32} : (!q, !k6, !v6) -> !result
  %y = model.gate %o, %g : (!result, !result) -> !result
  "test.use"(%o, %y) : (!result, !result) -> ()
}) : () -> ()

// Only one gate.
// CHECK-LABEL: "test.gated_twice"
// CHECK: %[[O:.+]] = model.attention %{{.+}}, %{{.+}}, %{{.+}}, %[[G:.+]] {scale = 5.000000e-01 : f32}
// CHECK-NEXT: %[[Y:.+]] = model.gate %[[O]], %[[G]]
"test.gated_twice"() ({
^bb0(%q: !q, %k: !k6, %v: !v6, %g: !result):
  %o = model.attention %q, %k, %v {scale = 0.5 : f32} : (!q, !k6, !v6) -> !result
  %x = model.gate %o, %g : (!result, !result) -> !result
  %y = model.gate %x, %g : (!result, !result) -> !result
  "test.use"(%y) : (!result) -> ()
}) : () -> ()
