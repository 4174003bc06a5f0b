// A decoder whose linears are pairs of rank 8: the first one narrows, the second one
// widens. 4 query heads of 16 over 2 key/value heads, width 64, inside 160.
!x = !model.tensor<rows x 64 x f32>
!r = !model.tensor<rows x 8 x f32>
!a = !model.tensor<8 x 64 x f32>
!b = !model.tensor<64 x 8 x f32>
!n = !model.tensor<64 x f32>
!q = !model.tensor<rows x 4 x 16 x f32>
!k = !model.tensor<rows x 2 x 16 x f32>
!kw = !model.tensor<32 x 8 x f32>
!kf = !model.tensor<rows x 32 x f32>
!kv = !model.tensor<kv x 2 x 16 x f32>
!h = !model.tensor<rows x 160 x f32>
!hb = !model.tensor<160 x 8 x f32>
!ha = !model.tensor<8 x 160 x f32>
!table = !model.tensor<131 x 64 x f32>
!o = !model.tensor<outputs x 64 x f32>
dist.mesh [data = 2, tensor = 2] batch [data]
model.program @lowrank max_seq 64 family "llama" {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["embed"] : !table
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !table) -> !x
  %y = model.stack %e repeat 3 : (!x) -> !x {
  ^bb0(%a: !x):
    %n1 = model.parameter ["norm1.{layer}"] : !n
    %b = model.rms_norm %a, %n1 {epsilon = 1.0e-5 : f32} : (!x, !n) -> !x
    %qa = model.parameter ["q_a.{layer}"] : !a
    %qb = model.parameter ["q_b.{layer}"] : !b
    %ka = model.parameter ["k_a.{layer}"] : !a
    %kb = model.parameter ["k_b.{layer}"] : !kw
    %va = model.parameter ["v_a.{layer}"] : !a
    %vb = model.parameter ["v_b.{layer}"] : !kw
    %q0 = model.linear %b, %qa : (!x, !a) -> !r
    %k0 = model.linear %b, %ka : (!x, !a) -> !r
    %v0 = model.linear %b, %va : (!x, !a) -> !r
    %q1 = model.linear %q0, %qb : (!r, !b) -> !x
    %k1 = model.linear %k0, %kb : (!r, !kw) -> !kf
    %v1 = model.linear %v0, %vb : (!r, !kw) -> !kf
    %q = model.reshape %q1 : (!x) -> !q
    %k = model.reshape %k1 : (!kf) -> !k
    %v = model.reshape %v1 : (!kf) -> !k
    %ks = model.kv_append %k to "k" : (!k) -> !kv
    %vs = model.kv_append %v to "v" : (!k) -> !kv
    %at = model.attention %q, %ks, %vs {scale = 2.5e-01 : f32} : (!q, !kv, !kv) -> !q
    %at1 = model.reshape %at : (!q) -> !x
    %oa = model.parameter ["o_a.{layer}"] : !a
    %ob = model.parameter ["o_b.{layer}"] : !b
    %o0 = model.linear %at1, %oa : (!x, !a) -> !r
    %o1 = model.linear %o0, %ob : (!r, !b) -> !x
    %d = model.add %a, %o1 : (!x, !x) -> !x
    %n2 = model.parameter ["norm2.{layer}"] : !n
    %f = model.rms_norm %d, %n2 {epsilon = 1.0e-5 : f32} : (!x, !n) -> !x
    %ga = model.parameter ["gate_a.{layer}"] : !a
    %gb = model.parameter ["gate_b.{layer}"] : !hb
    %ua = model.parameter ["up_a.{layer}"] : !a
    %ub = model.parameter ["up_b.{layer}"] : !hb
    %g0 = model.linear %f, %ga : (!x, !a) -> !r
    %u0 = model.linear %f, %ua : (!x, !a) -> !r
    %g1 = model.linear %g0, %gb : (!r, !hb) -> !h
    %u1 = model.linear %u0, %ub : (!r, !hb) -> !h
    %s = model.activate %g1 {activation = #model.activation<silu>} : (!h) -> !h
    %m = model.mul %s, %u1 : (!h, !h) -> !h
    %da = model.parameter ["down_a.{layer}"] : !ha
    %db = model.parameter ["down_b.{layer}"] : !b
    %t0 = model.linear %m, %da : (!h, !ha) -> !r
    %t1 = model.linear %t0, %db : (!r, !b) -> !x
    %z = model.add %d, %t1 : (!x, !x) -> !x
    model.yield %z : !x
  }
  %nf = model.parameter ["final"] : !n
  %x = model.rms_norm %y, %nf {epsilon = 1.0e-5 : f32} : (!x, !n) -> !x
  %head = model.parameter ["head"] : !table
  %last = model.last_rows %x : (!x) -> !o
  %l = model.linear %last, %head : (!o, !table) -> !model.tensor<outputs x 131 x f32>
  model.return %l : !model.tensor<outputs x 131 x f32>
}
