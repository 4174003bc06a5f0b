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
