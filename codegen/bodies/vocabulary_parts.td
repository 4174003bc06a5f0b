//===- vocabulary_parts.td - losses of parts of a vocabulary ---------------===//

include "codegen/bodies/Body.td"

// A rank has the tokens from place[0] on, place[1] of them, and room for more,
// whose logits do not count. Rows of the bodies on logits are one or none.

def LogitStatisticsBody : Body<"logit_statistics",
    (takes Writes<["rows", "1"]>:$maximum, Stride:$maximum_stride,
           Writes<["rows", "1"]>:$largest, Stride:$largest_stride,
           Writes<["rows", "2"]>:$own, Stride:$own_stride,
           Reads<["rows", "rest()"]>:$logits, Stride:$logits_stride,
           ReadsIntegers<["rows"]>:$targets, Place<"2">:$place,
           Count:$rows, Number:$scale, Number:$softcap)> {
  let description = [{
    `maximum = largest` = the maximum of the rank's `l` (see `cross_entropy`), `own
    = {`the sum of `e^(l - maximum)`, the target's `l`, or 0 if others have it`}`.
  }];
  let flops = ?;
}

def LogitSumsBody : Body<"logit_sums",
    (takes Writes<["rows", "2"]>:$out, Stride:$out_stride,
           Reads<["rows", "1"]>:$largest, Stride:$largest_stride,
           Reads<["rows", "2"]>:$own, Stride:$own_stride,
           Reads<["rows", "1"]>:$maximum, Stride:$maximum_stride, Count:$rows)> {
  let description = [{
    `out = {own[0]` relative to the maximum of all ranks`, own[1]}`.
  }];
  let flops = "3 * rows";
}

def LossesBody : Body<"losses",
    (takes Writes<["rows", "1"]>:$loss, Stride:$loss_stride,
           Reads<["rows", "1"]>:$maximum, Stride:$maximum_stride,
           Reads<["rows", "2"]>:$sums, Stride:$sums_stride,
           Reads<["rows", "1"]>:$weights, Stride:$weights_stride, Count:$rows)> {
  let description = [{
    `loss = weights * ((maximum - sums[1]) + log(sums[0]))`, 0 where the weight is.
  }];
  let flops = "4 * rows";
}

def LossGradientsBody : Body<"loss_gradients",
    (takes Updates<["rows", "room"]>:$logits, Stride:$logits_stride,
           ReadsIntegers<["rows"]>:$targets, Reads<["rows"]>:$weights,
           Reads<["rows"]>:$maximum, Reads<["rows", "2"], ["2", "1"]>:$sums,
           Place<"2">:$place, Count:$rows, Count:$room, Number:$scale, Number:$softcap)> {
  let description = [{
    In the place of logits their gradients, as `cross_entropy` has them; those of
    the room are 0.
  }];
  let flops = "8 * rows * room";
}

// The same with a teacher, which says of a row what `teacher_loss` reads: `named` tokens
// of the whole vocabulary, of which a rank has some, and `named + 5` numbers.

def TeacherStatisticsBody : Body<"teacher_statistics",
    (takes Writes<["rows", "2"]>:$maximum, Stride:$maximum_stride,
           Writes<["rows", "2"]>:$largest, Stride:$largest_stride,
           Writes<["rows", "6"]>:$own, Stride:$own_stride,
           Reads<["rows", "rest()"]>:$logits, Stride:$logits_stride,
           ReadsIntegers<["rows"]>:$targets,
           ReadsIntegers<["rows", "named"], ["named", "1"]>:$tokens,
           Reads<["rows", "named + 5"], ["named + 5", "1"]>:$numbers,
           Place<"2">:$place, Count:$rows, Count:$named, Number:$scale, Number:$softcap)> {
  let description = [{
    `maximum = largest = {`the maximum of the rank's `l`, that of tokens that are not
    named`}`. With `d = (l - maximum[0]) / T`, `own` are: the sum of `e^(l - maximum[0])`; of
    `e^d`; over tokens that are not named, of `e^((l - maximum[1]) / T)`; the target's `l`;
    over those that are named, the sum of `p * (log(p) - d)` and of p, or in reverse of
    `e^d * (d - log(p))` and of `e^d`. Sums over tokens are those of blocks of 256, added in
    ascending order; over named ones each of 16 lanes adds every 16th.
  }];
  let flops = ?;
}

def TeacherSumsBody : Body<"teacher_sums",
    (takes Writes<["rows", "6"]>:$out, Stride:$out_stride,
           Reads<["rows", "2"]>:$largest, Stride:$largest_stride,
           Reads<["rows", "6"]>:$own, Stride:$own_stride,
           Reads<["rows", "2"]>:$maximum, Stride:$maximum_stride,
           Reads<["rows", "5"]>:$numbers, Stride:$numbers_stride, Count:$rows)> {
  let description = [{
    `own` relative to the maxima of all ranks.
  }];
  let flops = "20 * rows";
}

def TeacherLossesBody : Body<"teacher_losses",
    (takes Writes<["rows", "3"]>:$loss, Stride:$loss_stride,
           Reads<["rows", "2"]>:$maximum, Stride:$maximum_stride,
           Reads<["rows", "6"]>:$sums, Stride:$sums_stride,
           Reads<["rows", "1"]>:$weights, Stride:$weights_stride,
           Reads<["rows", "5"]>:$numbers, Stride:$numbers_stride, Count:$rows)> {
  let description = [{
    With s the sums, `log(q) = (maximum[1] - maximum[0]) / T + log(s[2]) - log(s[1])` of all
    tokens that are not named, `divergence = s[4] + s[5] * log(s[1]) + rest * (log(rest) -
    log(q))`, or in reverse `s[4] / s[1] - s[5] / s[1] * log(s[1]) + q * (log(q) -
    log(rest))`, without the last term where `s[2]` is 0. `entropy = (maximum[0] - s[3]) +
    log(s[0])`, and `loss = weights * {b * divergence + c * entropy, divergence, entropy}`, 0
    where the weight is.
  }];
  let flops = "20 * rows";
}

def TeacherGradientsBody : Body<"teacher_gradients",
    (takes Updates<["rows", "room"]>:$logits, Stride:$logits_stride,
           ReadsIntegers<["rows"]>:$targets, Reads<["rows"]>:$weights,
           Reads<["rows", "2"], ["2", "1"]>:$maximum, Reads<["rows", "6"], ["6", "1"]>:$sums,
           ReadsIntegers<["rows", "named"], ["named", "1"]>:$tokens,
           Reads<["rows", "named + 5"], ["named + 5", "1"]>:$numbers,
           Place<"2">:$place, Count:$rows, Count:$room, Count:$named,
           Number:$scale, Number:$softcap)> {
  let description = [{
    In the place of logits their gradients. With `q = e^((l - maximum[0]) / T) / s[1]` that
    of the divergence is `1 / T` times `q - p`, or of a token that is not named `q - rest *
    e^((l - maximum[1]) / T) / s[2]`; in reverse `q * (log(q) - log(p) - divergence)`, with q
    and p those of all tokens that are not named together in the logarithms of one. `b` times
    this and `c` times what `cross_entropy` has, times `weights * cap' * scale`; those of the
    room are 0.
  }];
  let flops = "16 * rows * room";
}
