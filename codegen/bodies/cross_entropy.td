//===- cross_entropy.td - the loss of whole rows of logits -----------------===//

include "codegen/bodies/Body.td"

def CrossEntropyBody : Body<"cross_entropy",
    (takes Writes<["rows", "1"]>:$loss, Stride:$loss_stride,
           Updates<["rows", "vocabulary"]>:$logits, Stride:$logits_stride,
           ReadsIntegers<["rows"]>:$targets, Reads<["rows"]>:$weights,
           Count:$rows, Count:$vocabulary, Number:$scale, Number:$softcap)> {
  let description = [{
    With `l = cap(scale * logits[r][t])`, `cap(l) = softcap * tanh(l / softcap)`
    where `softcap` is not 0: `loss[r] = weights[r] * ((maximum - l[targets[r]]) +
    log(sum))`, `sum` that of `e^(l - maximum)`; in the place of logits their
    gradients, `weights[r] * (e^(l - maximum) / sum - (t == targets[r])) * cap' *
    scale`. Maxima and sums are those of blocks of 256 tokens, merged in ascending
    order as blocks of attention are. A row of weight 0 gives zeros, whatever it
    holds.
  }];
  // Maximum, exponential, share, and what is left of the gradient.
  let flops = "8 * rows * vocabulary";
}
