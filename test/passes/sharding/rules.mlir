// What every op's dimensions have to do with one another.
//
// RUN: baton-opt %s --allow-unregistered-dialect --test-print-sharding-rules -verify-diagnostics

!idx = !model.tensor<rows x i32>
!voc = !model.tensor<20 x 8 x f32>
!x = !model.tensor<rows x 8 x f32>
!pos = !model.tensor<64 x 8 x f32>
!w = !model.tensor<12 x 8 x f32>
!n = !model.tensor<rows x 12 x f32>
!v12 = !model.tensor<12 x f32>
!v8 = !model.tensor<8 x f32>
!q = !model.tensor<rows x 4 x 6 x f32>
!v6 = !model.tensor<6 x f32>
!ang = !model.tensor<rows x 6 x f32>
!k = !model.tensor<rows x 2 x 6 x f32>
!kt = !model.tensor<kv x 2 x 6 x f32>
!o = !model.tensor<outputs x 8 x f32>
!dl = !model.tensor<rows x 4 x f32>
!qh = !model.tensor<4 x rows x 6 x f32>
!kh = !model.tensor<4 x 6 x kv x f32>
!sc = !model.tensor<4 x rows x kv x f32>
!vh = !model.tensor<4 x kv x 6 x f32>
!n24 = !model.tensor<rows x 24 x f32>
!s3 = !model.tensor<rows x 4 x 8 x f32>
!r16 = !model.tensor<rows x 2 x 16 x f32>
!w20 = !model.tensor<rows x 20 x f32>
!st = !model.tensor<rows x 4 x 2 x f32>
!rows = !model.tensor<rows x f32>
!two = !model.tensor<rows x 2 x f32>
!phi = !model.tensor<24 x 32 x f32>
!m = !model.tensor<rows x 24 x f32>
!p3 = !model.tensor<3 x f32>
!p24 = !model.tensor<24 x f32>
!w4 = !model.tensor<rows x 4 x f32>

%idx = "test.value"() : () -> !idx
%voc = "test.value"() : () -> !voc
%x = "test.value"() : () -> !x
%pos = "test.value"() : () -> !pos
%w = "test.value"() : () -> !w
%n = "test.value"() : () -> !n
%v12 = "test.value"() : () -> !v12
%v8 = "test.value"() : () -> !v8
%q = "test.value"() : () -> !q
%v6 = "test.value"() : () -> !v6
%ang = "test.value"() : () -> !ang
%k = "test.value"() : () -> !k
%kt = "test.value"() : () -> !kt
%dl = "test.value"() : () -> !dl
%qh = "test.value"() : () -> !qh
%kh = "test.value"() : () -> !kh
%sc = "test.value"() : () -> !sc
%vh = "test.value"() : () -> !vh
%n24 = "test.value"() : () -> !n24
%s3 = "test.value"() : () -> !s3
%w20 = "test.value"() : () -> !w20
%st = "test.value"() : () -> !st
%rows = "test.value"() : () -> !rows
%two = "test.value"() : () -> !two
%phi = "test.value"() : () -> !phi
%m = "test.value"() : () -> !m
%p3 = "test.value"() : () -> !p3
%p24 = "test.value"() : () -> !p24
%w4 = "test.value"() : () -> !w4

// expected-remark @+1 {{rule: bs, v k -> bs k; sum v; v=20 k=8}}
%r0 = model.embedding %idx, %voc : (!idx, !voc) -> !x
// expected-remark @+1 {{rule: p k -> bs k; replicated p b s; p=64 k=8}}
%r1 = model.position_embedding %pos : (!pos) -> !x
// expected-remark @+1 {{rule: bs k, n k -> bs n; sum k; k=8 n=12}}
%r2 = model.linear %x, %w : (!x, !w) -> !n
// expected-remark @+1 {{rule: bs k, n k, n, bs n -> bs n; sum k; terms 2 3; k=8 n=12}}
%r3 = model.linear %x, %w bias %v12 residual %n : (!x, !w, !v12, !n) -> !n
// expected-remark @+1 {{rule: bs k, n k, k -> bs n; replicated k; k=8 n=12}}
%r4 = model.linear %x, %w norm_weight %v8 {epsilon = 1.0e-5 : f32, norm = #model.norm<rms>} : (!x, !w, !v8) -> !n
// expected-remark @+1 {{rule: bs k, n k -> bs n; replicated k; k=8 n=12}}
%r5 = model.linear %x, %w {activation = #model.activation<gelu>} : (!x, !w) -> !n
// expected-remark @+1 {{rule: bs k, n k, n k, k -> bs n; replicated k; k=8 n=12}}
%r6 = model.gated_linear %x, %w, %w norm_weight %v8 {activation = #model.activation<silu>, epsilon = 1.0e-5 : f32, norm = #model.norm<rms>} : (!x, !w, !w, !v8) -> !n
// expected-remark @+1 {{rule: bs k, k -> bs k; replicated k; k=8}}
%r7 = model.rms_norm %x, %v8 {epsilon = 1.0e-5 : f32} : (!x, !v8) -> !x
// expected-remark @+1 {{rule: bs h k, k -> bs h k; replicated k; h=4 k=6}}
%r8 = model.rms_norm %q, %v6 {epsilon = 1.0e-5 : f32} : (!q, !v6) -> !q
// expected-remark @+1 {{rule: bs k, k, k -> bs k; replicated k; k=8}}
%r9 = model.layer_norm %x, %v8, %v8 {epsilon = 1.0e-5 : f32} : (!x, !v8, !v8) -> !x
// expected-remark @+1 {{rule: bs -> bs z; replicated z; z=6}}
%r10 = model.rope_table %idx {frequencies = array<f32: 1.0, 0.1, 0.01>} : (!idx) -> !ang
// expected-remark @+1 {{rule: -> bs z; replicated b s z; z=6}}
%r11 = model.rope_table {frequencies = array<f32: 1.0, 0.1, 0.01>} : () -> !ang
// expected-remark @+1 {{rule: bs h d, bs z -> bs h d; replicated d z; h=4 d=6 z=6}}
%r12 = model.rope %q, %ang : (!q, !ang) -> !q
%wh = "test.value"() : () -> !model.tensor<4 x 16 x 6 x f32>
// expected-remark @+1 {{rule: bs h k, h n k -> bs h n; replicated k n; h=4 k=6 n=16}}
%r12a = model.head_linear %q, %wh : (!q, !model.tensor<4 x 16 x 6 x f32>) -> !model.tensor<rows x 4 x 16 x f32>
// expected-remark @+1 {{rule: bs h d, bs h e -> bs h k; replicated d e k; h=4 d=6 e=6 k=12}}
%r12b = model.join_heads %q, %q : (!q, !q) -> !model.tensor<rows x 4 x 12 x f32>
// expected-remark @+1 {{rule: bs h d -> t h d; replicated b s d t; h=2 d=6}}
%r13 = model.kv_append %k to "k" : (!k) -> !kt
// expected-remark @+1 {{rule: bs k -> o k; replicated b s o; k=8}}
%r14 = model.last_rows %x : (!x) -> !o
// expected-remark @+1 {{rule: bs gr d, t g d, t g e -> bs gr e; replicated b s d t e; g=2 r=2 d=6 e=6}}
%r15 = model.attention %q, %kt, %kt {scale = 1.0 : f32} : (!q, !kt, !kt) -> !q
// expected-remark @+1 {{rule: bs h d, t g d, t g e, bs h -> bs h e; replicated b s d t g e; h=4 d=6 g=2 e=6}}
%r16 = model.attention %q, %kt, %kt, %dl {scale = 1.0 : f32, dist.shared_heads} : (!q, !kt, !kt, !dl) -> !q
// expected-remark @+1 {{rule: bs h e, bs h e -> bs h e; terms 0, linear in them; h=4 e=6}}
%r17 = model.gate %q, %q : (!q, !q) -> !q
// expected-remark @+1 {{rule: bs h e, bs h -> bs h e; terms 0, linear in them; h=4 e=6}}
%r18 = model.gate %q, %dl : (!q, !dl) -> !q
// expected-remark @+1 {{rule: bs A, B A -> bs B; replicated b s A B; A=8 B=12}}
%r19 = model.custom @body(%x, %w) : (!x, !w) -> !n
// expected-remark @+1 {{rule: h bs k, h k t -> h bs t; sum k; replicated t; h=4 k=6}}
%r20 = model.matmul %qh, %kh : (!qh, !kh) -> !sc
// expected-remark @+1 {{rule: h bs t, h t n -> h bs n; replicated t; h=4 n=6}}
%r21 = model.matmul %sc, %vh : (!sc, !vh) -> !qh
// expected-remark @+1 {{rule: g bs t -> g t bs; terms 0; g=4}}
%cs = model.transpose %sc {permutation = array<i64: 0, 2, 1>} : (!sc) -> !model.tensor<4 x kv x rows x f32>
// expected-remark @+1 {{rule: h t bs, h bs n -> h t n; sum b s; replicated t; h=4 n=6}}
%r21b = model.matmul %cs, %qh : (!model.tensor<4 x kv x rows x f32>, !qh) -> !vh
// expected-remark @+1 {{rule: g bs t -> g bs t; replicated b s t; g=4}}
%r22 = model.mask %sc : (!sc) -> !sc
// expected-remark @+1 {{rule: g bs t, bs -> g bs t; replicated b s t; g=4}}
%r22b = model.mask %sc, %idx : (!sc, !idx) -> !sc
// expected-remark @+1 {{rule: g bs t, bs -> g bs t; replicated b s t; g=4}}
%r22c = model.mask_gradient %sc, %idx : (!sc, !idx) -> !sc
// expected-remark @+1 {{rule: bs h k -> bs h k; replicated b s; h=4 k=6}}
%r22d = model.reindex %q : (!q) -> !model.tensor<kv x 4 x 6 x f32>
// expected-remark @+1 {{rule: g bs t -> g bs t; replicated t; g=4}}
%r23 = model.softmax %sc : (!sc) -> !sc
// expected-remark @+1 {{rule: bs k, bs k -> bs k; terms 0 1; k=8}}
%r24 = model.add %x, %x : (!x, !x) -> !x
// expected-remark @+1 {{rule: bs k, bs k -> bs k; k=8}}
%r25 = model.mul %x, %x : (!x, !x) -> !x
// expected-remark @+1 {{rule: bs k -> bs k; k=8}}
%r26 = model.tanh %x : (!x) -> !x
// expected-remark @+1 {{rule: bs k -> bs k; k=8}}
%r27 = model.activate %x {activation = #model.activation<relu>} : (!x) -> !x
// expected-remark @+1 {{rule: bs k -> bs k; terms 0; k=8}}
%r28 = model.scale %x {factor = 2.0 : f32} : (!x) -> !x
// expected-remark @+1 {{rule: bs AB -> bs A B; terms 0; A=4 B=6}}
%r29 = model.reshape %n24 : (!n24) -> !q
// expected-remark @+1 {{rule: bs A B -> bs AB; terms 0; A=4 B=6}}
%r30 = model.reshape %q : (!q) -> !n24
// expected-remark @+1 {{rule: bs A B -> bs C D; replicated A B C D; terms 0; A=4 B=8 C=2 D=16}}
%r31 = model.reshape %s3 : (!s3) -> !r16
// expected-remark @+1 {{rule: bs h k -> h bs k; terms 0; h=4 k=6}}
%r32 = model.transpose %q {permutation = array<i64: 1, 0, 2>} : (!q) -> !qh
// expected-remark @+1 {{rule: bs x -> bs y; replicated x y; x=12 y=8}}
%r33 = model.slice %n {axis = 1 : i64, offset = 2 : i64} : (!n) -> !x
// expected-remark @+1 {{rule: bs A, bs B -> bs z; replicated A B z; A=8 B=12 z=20}}
%r34 = model.join %x, %n {axis = 1 : i64} : (!x, !n) -> !w20
// expected-remark @+1 {{rule: bs h k -> bs hr k; h=2 k=6 r=2}}
%r35 = model.broadcast %k {axis = 1 : i64, times = 2 : i64} : (!k) -> !q
// expected-remark @+1 {{rule: bs gr d, bs g d, bs g e, bs -> bs gr e, bs gr z; replicated s d e z; g=2 r=2 d=6 e=6 z=2}}
%r36:2 = model.sequence_attention %q, %k, %k, %idx {scale = 1.0 : f32} : (!q, !k, !k, !idx) -> (!q, !st)
// expected-remark @+1 {{rule: bs h d, bs g d, bs g e, bs -> bs h e, bs h z; replicated s d g e z; h=4 d=6 g=2 e=6 z=2}}
%r37:2 = model.sequence_attention %q, %k, %k, %idx {scale = 1.0 : f32, dist.shared_heads} : (!q, !k, !k, !idx) -> (!q, !st)
// expected-remark @+1 {{rule: bs k, v k, bs, bs -> bs, bs k, v k; sum b s; replicated k; expanded v; k=8 v=20}}
%r38:3 = model.cross_entropy %x, %voc, %idx, %rows : (!x, !voc, !idx, !rows) -> (!rows, !x, !voc)
// expected-remark @+1 {{rule: bs n, n k -> bs k; sum n; n=12 k=8}}
%r39 = model.linear_input_gradient %n, %w : (!n, !w) -> !x
// expected-remark @+1 {{rule: bs n, bs k -> n k; sum b s; n=12 k=8}}
%r40 = model.linear_weight_gradient %n, %x : (!n, !x) -> !w
// expected-remark @+1 {{rule: bs n -> n; sum b s; n=12}}
%r41 = model.bias_gradient %n : (!n) -> !v12
// expected-remark @+1 {{rule: bs k, bs -> v k; sum b s; k=8 v=20}}
%r42 = model.embedding_gradient %x, %idx : (!x, !idx) -> !voc
// expected-remark @+1 {{rule: bs k -> bs z; replicated k z; k=8 z=2}}
%r43 = model.norm_statistics %x {norm = #model.norm<rms>, epsilon = 1.0e-5 : f32} : (!x) -> !two
// expected-remark @+1 {{rule: bs h k -> bs h z; replicated k z; h=4 k=6 z=2}}
%r44 = model.norm_statistics %q {norm = #model.norm<rms>, epsilon = 1.0e-5 : f32} : (!q) -> !st
// expected-remark @+1 {{rule: bs k, bs k, k, bs z -> bs k; replicated k z; k=8 z=2}}
%r45 = model.norm_input_gradient %x, %x, %v8, %two {norm = #model.norm<rms>} : (!x, !x, !v8, !two) -> !x
// expected-remark @+1 {{rule: bs h k, bs h k, k, bs h z -> bs h k; replicated k z; h=4 k=6 z=2}}
%r46 = model.norm_input_gradient %q, %q, %v6, %st {norm = #model.norm<rms>} : (!q, !q, !v6, !st) -> !q
// expected-remark @+1 {{rule: bs k, bs k, bs z -> k; sum b s; replicated k z; k=8 z=2}}
%r47 = model.norm_weight_gradient %x, %x, %two : (!x, !x, !two) -> !v8
// expected-remark @+1 {{rule: bs h k, bs h k, bs h z -> k; sum b s h; replicated k z; h=4 k=6 z=2}}
%r48 = model.norm_weight_gradient %q, %q, %st : (!q, !q, !st) -> !v6
// expected-remark @+1 {{rule: bs h d, bs z -> bs h d; replicated d z; h=4 d=6 z=6}}
%r49 = model.rope_gradient %q, %ang : (!q, !ang) -> !q
// expected-remark @+1 {{rule: bs h e, bs h e -> bs h; replicated e; h=4 e=6}}
%r50 = model.attention_delta %q, %q : (!q, !q) -> !dl
// expected-remark @+1 {{rule: bs gr e, bs gr d, bs g d, bs g e, bs gr, bs gr z, bs -> bs gr d; replicated s e d z; g=2 r=2 e=6 d=6 z=2}}
%r51 = model.attention_query_gradient %q, %q, %k, %k, %dl, %st, %idx {scale = 1.0 : f32} : (!q, !q, !k, !k, !dl, !st, !idx) -> !q
// expected-remark @+1 {{rule: bs h e, bs h d, bs g d, bs g e, bs h, bs h z, bs -> bs h d; replicated s e d g z; h=4 e=6 d=6 g=2 z=2}}
%r52 = model.attention_query_gradient %q, %q, %k, %k, %dl, %st, %idx {scale = 1.0 : f32, dist.shared_heads} : (!q, !q, !k, !k, !dl, !st, !idx) -> !q
// expected-remark @+1 {{rule: bs gr e, bs gr d, bs g d, bs g e, bs gr, bs gr z, bs -> bs g d, bs g e; sum r; replicated s e d z; g=2 r=2 e=6 d=6 z=2}}
%r53:2 = model.attention_key_value_gradient %q, %q, %k, %k, %dl, %st, %idx {scale = 1.0 : f32} : (!q, !q, !k, !k, !dl, !st, !idx) -> (!k, !k)
// expected-remark @+1 {{rule: bs h e, bs h d, bs g d, bs g e, bs h, bs h z, bs -> bs g d, bs g e; sum h; replicated s e d g z; h=4 e=6 d=6 g=2 z=2}}
%r54:2 = model.attention_key_value_gradient %q, %q, %k, %k, %dl, %st, %idx {scale = 1.0 : f32, dist.shared_heads} : (!q, !q, !k, !k, !dl, !st, !idx) -> (!k, !k)
// expected-remark @+1 {{rule: bs h e, bs h e, bs h e -> bs h e; h=4 e=6}}
%r55 = model.gate_gradient %q, %q, %q : (!q, !q, !q) -> !q
// expected-remark @+1 {{rule: bs h e, bs h e, bs h -> bs h; replicated e; h=4 e=6}}
%r56 = model.gate_gradient %q, %q, %dl : (!q, !q, !dl) -> !dl
// expected-remark @+1 {{rule: bs k, bs k -> bs k; k=8}}
%r57 = model.activate_gradient %x, %x {activation = #model.activation<relu>} : (!x, !x) -> !x
// expected-remark @+1 {{rule: bs k, bs k -> bs k; k=8}}
%r58 = model.tanh_gradient %x, %x : (!x, !x) -> !x
// expected-remark @+1 {{rule: bs k, bs k -> bs k; replicated k; k=8}}
%r59 = model.softmax_gradient %x, %x : (!x, !x) -> !x
// expected-remark @+1 {{rule: bs n c, m p -> bs m; replicated n c p; n=4 c=8 m=24 p=32}}
%r60 = model.hyper_project %s3, %phi {epsilon = 1.0e-5 : f32} : (!s3, !phi) -> !m
// expected-remark @+1 {{rule: bs m, p, q -> bs m; replicated m p q; m=24 p=3 q=24}}
%r61 = model.hyper_maps %m, %p3, %p24 {iterations = 3 : i64, mixing = #model.mixing<sinkhorn>, epsilon = 1.0e-5 : f32, streams = 4 : i64} : (!m, !p3, !p24) -> !m
// expected-remark @+1 {{rule: bs n c, bs n -> bs c; replicated n; n=4 c=8}}
%r62 = model.hyper_pre %s3, %w4 : (!s3, !w4) -> !x
// expected-remark @+1 {{rule: bs n c, bs c, bs m -> bs n c; replicated n m; n=4 c=8 m=20}}
%r63 = model.hyper_post %s3, %x, %w20 : (!s3, !x, !w20) -> !s3
// expected-remark @+1 {{rule: bs n c, l p, q, m -> bs c, bs m; replicated n c l p q m; n=4 c=8 l=24 p=32 q=3 m=24}}
%r64:2 = model.hyper_enter %s3, %phi, %p3, %p24 {iterations = 3 : i64, mixing = #model.mixing<sinkhorn>, epsilon = 1.0e-5 : f32, norm_epsilon = 1.0e-5 : f32} : (!s3, !phi, !p3, !p24) -> (!x, !m)
// expected-remark @+1 {{rule: bs n c, bs c, bs w, l p, q, m -> bs n c, bs c, bs m; replicated n c w l p q m; n=4 c=8 w=20 l=24 p=32 q=3 m=24}}
%r65:3 = model.hyper_turn %s3, %x, %w20, %phi, %p3, %p24 {iterations = 3 : i64, mixing = #model.mixing<sinkhorn>, epsilon = 1.0e-5 : f32, norm_epsilon = 1.0e-5 : f32} : (!s3, !x, !w20, !phi, !p3, !p24) -> (!s3, !x, !m)
// expected-remark @+1 {{rule: bs k, k -> bs k, bs z; sum k; replicated z; k=8 z=1}}
%r80:2 = model.norm_begin %x, %v8 : (!x, !v8) -> (!x, !model.tensor<rows x 1 x f32>)
// expected-remark @+1 {{rule: bs n, bs z -> bs n; replicated z; n=12 z=1}}
%r81 = model.norm_end %n, %r80#1 {width = 8 : i64, epsilon = 1.0e-5 : f32} : (!n, !model.tensor<rows x 1 x f32>) -> !n
// expected-remark @+1 {{rule: bs k, k, bs k, bs z -> bs k; replicated z; k=8 z=1}}
%r82 = model.norm_begin_gradient %x, %v8 scaled %x squares %r80#1 : (!x, !v8, !x, !model.tensor<rows x 1 x f32>) -> !x
// expected-remark @+1 {{rule: bs k, k, bs k -> bs k; k=8}}
%r83 = model.norm_begin_gradient %x, %v8 scaled %x : (!x, !v8, !x) -> !x
// expected-remark @+1 {{rule: bs n, bs n, bs z -> bs z; sum n; replicated z; n=12 z=1}}
%r84 = model.norm_end_gradient %n, %n, %r80#1 {width = 8 : i64, epsilon = 1.0e-5 : f32} : (!n, !n, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 1 x f32>
%down = "test.value"() : () -> !model.tensor<3 x 8 x f32>
%up = "test.value"() : () -> !model.tensor<20 x 3 x f32>
%v20 = "test.value"() : () -> !model.tensor<20 x f32>
%x20 = "test.value"() : () -> !model.tensor<rows x 20 x f32>
// expected-remark @+1 {{rule: n k, r k, n r -> n; sum k; replicated r; n=20 k=8 r=3}}
%r98 = model.adapted_squares %voc, %down, %up {factor = 1.0 : f32} : (!voc, !model.tensor<3 x 8 x f32>, !model.tensor<20 x 3 x f32>) -> !model.tensor<20 x f32>
// expected-remark @+1 {{rule: bs n, n, n -> bs n; n=20}}
%r99 = model.magnitude %x20, %v20, %r98 : (!model.tensor<rows x 20 x f32>, !model.tensor<20 x f32>, !model.tensor<20 x f32>) -> !model.tensor<rows x 20 x f32>
// expected-remark @+1 {{rule: bs n, n, n, n -> bs n; n=20}}
%r100 = model.magnitude %x20, %v20, %r98 bias %v20 : (!model.tensor<rows x 20 x f32>, !model.tensor<20 x f32>, !model.tensor<20 x f32>, !model.tensor<20 x f32>) -> !model.tensor<rows x 20 x f32>
// expected-remark @+1 {{rule: bs n, bs n, n -> n; sum b s; n=20}}
%r101 = model.magnitude_gradient %x20, %x20, %r98 : (!model.tensor<rows x 20 x f32>, !model.tensor<rows x 20 x f32>, !model.tensor<20 x f32>) -> !model.tensor<20 x f32>
// expected-remark @+1 {{rule: bs k, bs z -> bs k; replicated z; k=8 z=2}}
%r66 = model.scale_rows %x, %two : (!x, !two) -> !x
// expected-remark @+1 {{rule: bs m, bs n c, m p, bs m, bs z -> bs n c; replicated m n c p z; m=24 n=4 c=8 p=32 z=2}}
%r67 = model.hyper_project_gradient %m, %s3, %phi, %m, %two : (!m, !s3, !phi, !m, !two) -> !s3
// expected-remark @+1 {{rule: bs m, bs m, p, q -> bs m, bs m; replicated m p q; m=24 p=3 q=24}}
%r68:2 = model.hyper_maps_gradient %m, %m, %p3, %p24 {iterations = 3 : i64, mixing = #model.mixing<sinkhorn>, epsilon = 1.0e-5 : f32, streams = 4 : i64} : (!m, !m, !p3, !p24) -> (!m, !m)
// expected-remark @+1 {{rule: bs m, bs m -> p; sum b s; replicated m p; m=24 p=3}}
%r69 = model.hyper_scale_gradient %m, %m {streams = 4 : i64, mixing = #model.mixing<sinkhorn>} : (!m, !m) -> !p3
// expected-remark @+1 {{rule: bs c, bs n c, bs n -> bs n c, bs n; sum c; replicated n; c=8 n=4}}
%r70:2 = model.hyper_pre_gradient %x, %s3, %w4 : (!x, !s3, !w4) -> (!s3, !w4)
// expected-remark @+1 {{rule: bs n c, bs n c, bs c, bs m -> bs n c, bs c, bs m; sum c; replicated n m; n=4 c=8 m=20}}
%r71:3 = model.hyper_post_gradient %s3, %s3, %x, %w20 : (!s3, !s3, !x, !w20) -> (!s3, !x, !w20)
// expected-remark @+1 {{rule: bs k, v k -> bs; max v; replicated k; k=8 v=20}}
%r72 = dist.logit_maximum %x, %voc {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !voc) -> !rows
// expected-remark @+1 {{rule: bs k, v k, bs, bs -> bs z; sum v; replicated k z; k=8 v=20 z=2}}
%r73 = dist.logit_sums %x, %voc, %idx, %rows {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !voc, !idx, !rows) -> !two
// expected-remark @+1 {{rule: bs, bs z, bs -> bs; replicated z; z=2}}
%r74 = dist.losses %rows, %two, %rows : (!rows, !two, !rows) -> !rows
// expected-remark @+1 {{rule: bs k, v k, bs, bs, bs, bs z -> bs k, v k; sum b s v; replicated k z; k=8 v=20 z=2}}
%r75:2 = dist.loss_gradients %x, %voc, %idx, %rows, %rows, %two {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !voc, !idx, !rows, !rows, !two) -> (!x, !voc)

// Rows to experts and back. Of a value of places the first dimension is cut as experts are.
%m2 = "test.value"() : () -> !model.tensor<3 x f32>
%lg = "test.value"() : () -> !model.tensor<rows x 3 x f32>
%gu = "test.value"() : () -> !model.tensor<3 x 16 x 8 x f32>
%dn = "test.value"() : () -> !model.tensor<3 x 16 x 16 x f32>
// expected-remark @+1 {{rule: bs e, e -> bs j, bs j; replicated e j; e=3 j=2}}
%r85:2 = model.route %lg, %m2 : (!model.tensor<rows x 3 x f32>, !model.tensor<3 x f32>) -> (!model.tensor<rows x 2 x i32>, !two)
// expected-remark @+1 {{rule: bs j -> z, bs j, bs j; replicated b s j z; j=2 z=4}}
%r86:3 = model.dispatch %r85#0 : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<4 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
// expected-remark @+1 {{rule: bs k, bs j -> e j k; replicated b s j; k=8 j=2}}
%r87 = model.gather %x, %r86#1 : (!x, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 2 x 8 x f32>
// expected-remark @+1 {{rule: e j k, z, e n k, e n k -> e j n; replicated j k z; e=3 j=2 k=8 z=4 n=16}}
%r88 = model.grouped_gated_linear %r87, %r86#0, %gu, %gu {activation = #model.activation<silu>} : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<4 x i32>, !model.tensor<3 x 16 x 8 x f32>, !model.tensor<3 x 16 x 8 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
// expected-remark @+1 {{rule: e j k, z, e n k -> e j n; sum k; replicated j z; e=3 j=2 k=16 z=4 n=16}}
%r89 = model.grouped_linear %r88, %r86#0, %dn : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<4 x i32>, !model.tensor<3 x 16 x 16 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
// expected-remark @+1 {{rule: e j k, bs j, bs j -> bs k; sum e; replicated j b s; terms 0, linear in them; j=2 k=16}}
%r90 = model.combine %r89, %r86#2, %r85#1 : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x i32>, !two) -> !model.tensor<rows x 16 x f32>

// expected-remark @+1 {{no rule: its arguments lie where dist.arguments says}}
model.program @decode max_seq 64 {
^bb0(%tokens: !idx):
  // expected-remark @+1 {{rule: -> h k; h=20 k=8}}
  %table = model.parameter ["t"] : !voc
  // expected-remark @+1 {{rule: bs, v k -> bs k; sum v; v=20 k=8}}
  %e = model.embedding %tokens, %table : (!idx, !voc) -> !x
  // expected-remark @+1 {{no rule: what it carries lies in one place in all iterations}}
  %y = model.stack %e repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    // expected-remark @+1 {{rule: -> h k; h=12 k=8}}
    %p = model.parameter ["p"] : !w
    // expected-remark @+1 {{rule: bs k ->; terms 0; k=8}}
    model.save %a to "a" : !x
    // expected-remark @+1 {{rule: A k, B k -> z k; replicated A B z; A=12 k=8 B=12 z=24}}
    %c = model.concat %p, %p : (!w, !w) -> !model.tensor<24 x 8 x f32>
    // expected-remark @+1 {{no rule: it reads what the stack carries, where that lies}}
    model.yield %a : !x
  }
  // expected-remark @+1 {{no rule: what it carries lies in one place in all iterations}}
  model.stack repeat 2 : () -> () {
    // expected-remark @+1 {{rule: -> bs k; k=8}}
    %b = model.saved "a" : !x
    // expected-remark @+1 {{rule: -> h k; h=12 k=8}}
    %p = model.parameter ["p"] : !w
    // expected-remark @+1 {{rule: h k, h k ->; h=12 k=8}}
    model.gradient %p of %p : !w, !w
    // expected-remark @+1 {{no rule: it reads what the stack carries, where that lies}}
    model.yield
  }
  // expected-remark @+1 {{rule: bs k -> o k; replicated b s o; k=8}}
  %last = model.last_rows %y : (!x) -> !o
  // expected-remark @+1 {{rule: o k, n k -> o n; sum k; k=8 n=20}}
  %l = model.linear %last, %table : (!o, !voc) -> !model.tensor<outputs x 20 x f32>
  // expected-remark @+1 {{rule: o v ->; replicated o v; v=20}}
  model.return %l : !model.tensor<outputs x 20 x f32>
}

// Losses of routers: shares of experts are each rank's own.
%logits = "test.value"() : () -> !w4
%experts = "test.value"() : () -> !model.tensor<rows x 2 x i32>
// expected-remark @+1 {{rule: bs -> bs a; replicated s a; a=9}}
%none = model.router_begin %rows : (!rows) -> !model.tensor<rows x 9 x f32>
// expected-remark @+1 {{rule: bs a, bs e, bs j -> bs a; replicated s a e j; a=9 e=4 j=2}}
%sums = model.router_sums %none, %logits, %experts : (!model.tensor<rows x 9 x f32>, !w4, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 9 x f32>
// expected-remark @+1 {{rule: bs, bs a, bs -> bs l, bs d; replicated s a l d; a=9 l=4 d=5}}
%losses, %dsums = model.router_loss %rows, %sums, %rows {balance = 1.0 : f32, z = 1.0 : f32, layers = 1 : i64} : (!rows, !model.tensor<rows x 9 x f32>, !rows) -> (!w4, !model.tensor<rows x 5 x f32>)
// expected-remark @+1 {{rule: bs d, bs e -> bs e; replicated s d e; d=5 e=4}}
%dlogits = model.router_sums_gradient %dsums, %logits : (!model.tensor<rows x 5 x f32>, !w4) -> !w4
// Loads are of all ranks' rows.
// expected-remark @+1 {{rule: bs j -> e; sum b; replicated s j e; j=2 e=4}}
%loads = model.router_loads %experts : (!model.tensor<rows x 2 x i32>) -> !model.tensor<4 x f32>

// Pairs of answers, each in one sequence.
// expected-remark @+1 {{rule: bs, bs, bs p -> bs l, bs; replicated s p l; p=4 l=7}}
%pairs, %dlosses = model.preference_loss %rows, %rows, %w4 : (!rows, !rows, !w4) -> (!model.tensor<rows x 7 x f32>, !rows)
// expected-remark @+1 {{rule: bs k, bs -> bs k; k=8}}
%weighed = model.weigh_rows %x, %rows : (!x, !rows) -> !x
// expected-remark @+1 {{rule: bs, bs -> bs}}
%factors = model.weigh_rows %rows, %rows : (!rows, !rows) -> !rows

// Sinks, and heads with a weight each.
%sinks = "test.value"() : () -> !model.tensor<4 x f32>
%hw = "test.value"() : () -> !model.tensor<4 x 16 x 6 x f32>
%hdy = "test.value"() : () -> !model.tensor<rows x 4 x 16 x f32>
// expected-remark @+1 {{rule: bs gr d, bs g d, bs g e, bs, gr -> bs gr e, bs gr z; replicated s d e z; g=2 r=2 d=6 e=6 z=2}}
%r91:2 = model.sequence_attention %q, %k, %k, %idx, %sinks {scale = 1.0 : f32} : (!q, !k, !k, !idx, !model.tensor<4 x f32>) -> (!q, !st)
// expected-remark @+1 {{rule: bs h, bs h z, h -> bs h; replicated z; h=4 z=2}}
%r92 = model.attention_sink_gradient %dl, %st, %sinks : (!dl, !st, !model.tensor<4 x f32>) -> !dl
// expected-remark @+1 {{rule: bs h n, h n k -> bs h k; replicated n k; h=4 n=16 k=6}}
%r93 = model.head_linear_input_gradient %hdy, %hw : (!model.tensor<rows x 4 x 16 x f32>, !model.tensor<4 x 16 x 6 x f32>) -> !q
// expected-remark @+1 {{rule: bs h n, bs h k -> h n k; sum b s; replicated n k; h=4 n=16 k=6}}
%r94 = model.head_linear_weight_gradient %hdy, %q : (!model.tensor<rows x 4 x 16 x f32>, !q) -> !model.tensor<4 x 16 x 6 x f32>
// expected-remark @+1 {{rule: bs k, bs k -> bs k; k=8}}
%r95 = model.clamped_swiglu %x, %x : (!x, !x) -> !x
// expected-remark @+1 {{rule: bs k, bs k, bs k -> bs k; k=8}}
%r96 = model.clamped_swiglu_gate_gradient %x, %x, %x : (!x, !x, !x) -> !x
// expected-remark @+1 {{rule: bs k, bs k, bs k -> bs k; k=8}}
%r97 = model.clamped_swiglu_up_gradient %x, %x, %x : (!x, !x, !x) -> !x

// expected-remark @+1 {{no rule: its arguments lie where dist.arguments says}}
model.program @train_with_routers max_seq 64 training {
^bb0(%tokens: !idx, %positions: !idx, %targets: !idx, %weights: !rows):
  %own = "test.value"() : () -> !w4
  // expected-remark @+1 {{rule: bs v ->; replicated v; v=4}}
  model.return %own : !w4
}
// expected-remark @+1 {{no rule: its arguments lie where dist.arguments says}}
model.program @train max_seq 64 training {
^bb0(%tokens: !idx, %positions: !idx, %targets: !idx, %weights: !rows):
  // expected-remark @+1 {{rule: bs ->}}
  model.return %weights : !rows
}

// A teacher's tokens and numbers are of all of the vocabulary, and come last.
%named = "test.value"() : () -> !model.tensor<rows x 6 x i32>
%said = "test.value"() : () -> !model.tensor<rows x 11 x f32>
%six = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-remark @+1 {{rule: bs k, v k, bs, bs, bs n, bs m -> bs l, bs k, v k; sum b s; replicated k n m l; expanded v; k=8 v=20 n=6 m=11 l=3}}
%taught:3 = model.cross_entropy %x, %voc, %idx, %rows, %named, %said : (!x, !voc, !idx, !rows, !model.tensor<rows x 6 x i32>, !model.tensor<rows x 11 x f32>) -> (!model.tensor<rows x 3 x f32>, !x, !voc)
// expected-remark @+1 {{rule: bs k, v k, bs n, bs m -> bs x; max v; replicated k n m x; k=8 v=20 n=6 m=11 x=2}}
%maxima = dist.logit_maximum %x, %voc, %named, %said {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !voc, !model.tensor<rows x 6 x i32>, !model.tensor<rows x 11 x f32>) -> !two
// expected-remark @+1 {{rule: bs k, v k, bs, bs x, bs n, bs m -> bs z; sum v; replicated k x n m z; k=8 v=20 x=2 n=6 m=11 z=6}}
%sixsums = dist.logit_sums %x, %voc, %idx, %two, %named, %said {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !voc, !idx, !two, !model.tensor<rows x 6 x i32>, !model.tensor<rows x 11 x f32>) -> !model.tensor<rows x 6 x f32>
// expected-remark @+1 {{rule: bs x, bs z, bs, bs m -> bs l; replicated x z m l; x=2 z=6 m=11 l=3}}
%three = dist.losses %two, %six, %rows, %said : (!two, !model.tensor<rows x 6 x f32>, !rows, !model.tensor<rows x 11 x f32>) -> !model.tensor<rows x 3 x f32>
// expected-remark @+1 {{rule: bs k, v k, bs, bs, bs x, bs z, bs n, bs m -> bs k, v k; sum b s v; replicated k x z n m; k=8 v=20 x=2 z=6 n=6 m=11}}
%taughtdx:2 = dist.loss_gradients %x, %voc, %idx, %rows, %two, %six, %named, %said {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !voc, !idx, !rows, !two, !model.tensor<rows x 6 x f32>, !model.tensor<rows x 6 x i32>, !model.tensor<rows x 11 x f32>) -> (!x, !voc)

// A bias lies with the vocabulary, also behind a teacher.
// expected-remark @+1 {{rule: bs k, v k, bs, bs, v -> bs, bs k, v k, v; sum b s; replicated k; expanded v; k=8 v=20}}
%biased:4 = model.cross_entropy %x, %voc, %idx, %rows bias %v20 : (!x, !voc, !idx, !rows, !model.tensor<20 x f32>) -> (!rows, !x, !voc, !model.tensor<20 x f32>)
// expected-remark @+1 {{rule: bs k, v k, v -> bs; max v; replicated k; k=8 v=20}}
%biasedmax = dist.logit_maximum %x, %voc bias %v20 {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !voc, !model.tensor<20 x f32>) -> !rows
// expected-remark @+1 {{rule: bs k, v k, bs, bs, v -> bs z; sum v; replicated k z; k=8 v=20 z=2}}
%biasedsums = dist.logit_sums %x, %voc, %idx, %rows bias %v20 {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !voc, !idx, !rows, !model.tensor<20 x f32>) -> !two
// expected-remark @+1 {{rule: bs k, v k, bs, bs, bs, bs z, v -> bs k, v k, v; sum b s v; replicated k z; k=8 v=20 z=2}}
%biaseddx:3 = dist.loss_gradients %x, %voc, %idx, %rows, %rows, %two bias %v20 {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !voc, !idx, !rows, !rows, !two, !model.tensor<20 x f32>) -> (!x, !voc, !model.tensor<20 x f32>)
// expected-remark @+1 {{rule: bs k, v k, bs, bs, bs n, bs m, v -> bs l, bs k, v k, v; sum b s; replicated k n m l; expanded v; k=8 v=20 n=6 m=11 l=3}}
%taughtbias:4 = model.cross_entropy %x, %voc, %idx, %rows, %named, %said bias %v20 : (!x, !voc, !idx, !rows, !model.tensor<rows x 6 x i32>, !model.tensor<rows x 11 x f32>, !model.tensor<20 x f32>) -> (!model.tensor<rows x 3 x f32>, !x, !voc, !model.tensor<20 x f32>)
