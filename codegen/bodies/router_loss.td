//===- router_loss.td - losses of routers -----------------------------------===//

include "codegen/bodies/Body.td"

// A row's sums over layers are, of `count` experts, their probabilities, the square
// of the logits' log-sum-exp, and how often each expert was chosen.

def RouterBeginBody : Body<"router_begin",
    (takes Writes<["rows", "width"]>:$sums, Stride:$sums_stride,
           Count:$rows, Count:$width)> {
  let description = [{
    +0 everywhere.
  }];
  let flops = "0";
}

def RouterSumsBody : Body<"router_sums",
    (takes Writes<["rows", "2 * count + 1"]>:$out, Stride:$out_stride,
           Reads<["rows", "2 * count + 1"]>:$sums, Stride:$sums_stride,
           Reads<["rows", "count"]>:$logits, Stride:$logits_stride,
           ReadsIntegers<["rows", "k"]>:$experts, Stride:$experts_stride,
           Count:$rows, Count:$k, Count:$count)> {
  let description = [{
    With `m` the largest of a row's logits l and `s` the sum of `e^(l - m)`, one chain,
    `out` is `sums` plus `e^(l[e] - m) / s` at e, plus `(m + log s)^2`, fused, at
    `count`, and plus 1 at `count + 1 + e` for each of the row's k `experts`.
  }];
  let inPlace = ["sums"];
  // Two exponentials, comparisons and sums.
  let flops = "rows * (8 * count + k)";
}

def RouterSumsGradientBody : Body<"router_sums_gradient",
    (takes Writes<["rows", "count"]>:$dlogits, Stride:$dlogits_stride,
           Reads<["rows", "count + 1"]>:$dsums, Stride:$dsums_stride,
           Reads<["rows", "count"]>:$logits, Stride:$logits_stride,
           Count:$rows, Count:$count)> {
  let description = [{
    The adjoint of `router_sums` for `logits`: with p their softmax,
    `p[e] * ((dsums[e] - sum(p * dsums)) + 2 * dsums[count] * (m + log s))`.
  }];
  let flops = "rows * 11 * count";
}

def ExpertSharesBody : Body<"expert_shares",
    (takes Writes<["columns"]>:$shares,
           Reads<["rows", "columns"]>:$choices, Stride:$choices_stride,
           Reads<["rows"]>:$weights,
           Count:$rows, Count:$columns, Count:$layers)> {
  let description = [{
    `shares[c]` is the sum of `choices[r][c]` over the rows whose weight is not 0, divided
    by as many rows times `layers`; 0 where there is no such row.
  }];
  let flops = "rows * columns";
}

def RouterLoadsBody : Body<"router_loads",
    (takes Accumulates<["columns"]>:$loads,
           ReadsIntegers<["rows", "k"]>:$experts, Stride:$experts_stride,
           Count:$rows, Count:$k, Position:$first, Count:$columns, Accumulate:$accumulate)> {
  let description = [{
    `loads[c] (+)=` how many of `experts` are `first + c`.
  }];
  let flops = "rows * k";
}

def RouterLossBody : Body<"router_loss",
    (takes Writes<["rows", "4"]>:$losses, Stride:$losses_stride,
           Writes<["rows", "count + 1"]>:$dsums, Stride:$dsums_stride,
           Reads<["rows", "1"]>:$loss, Stride:$loss_stride,
           Reads<["rows", "count + 1"]>:$sums, Stride:$sums_stride,
           Reads<["rows"]>:$weights, Reads<["count"]>:$shares,
           Count:$rows, Count:$count, Count:$layers, Number:$balance, Number:$z)> {
  let description = [{
    With `w = weights[r] / layers`, `b = w * count * sum(shares * sums[r])`, one chain of
    fused multiply-adds, and `q = w * sums[r][count]`: `losses[r] = {loss[r] + (balance * b
    + z * q), loss[r], b, q}`; `dsums[r][e] = balance * w * count * shares[e]` and
    `dsums[r][count] = z * w`. A row of weight 0 gives zeros, whatever it holds.
  }];
  let flops = "rows * 3 * count";
}
