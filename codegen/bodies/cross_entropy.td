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

// What a teacher says of a row: `named` tokens, ascending, and `named + 5` numbers (see
// model.cross_entropy). Rows are one or none.
def TeacherLossBody : Body<"teacher_loss",
    (takes Writes<["rows", "3"]>:$loss, Stride:$loss_stride,
           Updates<["rows", "vocabulary"]>:$logits, Stride:$logits_stride,
           ReadsIntegers<["rows"]>:$targets, Reads<["rows"]>:$weights,
           ReadsIntegers<["rows", "named"], ["named", "1"]>:$tokens,
           Reads<["rows", "named + 5"], ["named + 5", "1"]>:$numbers,
           Count:$rows, Count:$vocabulary, Count:$named, Number:$scale, Number:$softcap)> {
  let description = [{
    The numbers of a row are `{b, c, 1 / T, log(rest), reverse, log(p)...}`. Losses are
    those that `teacher_losses` makes of the statistics of `teacher_statistics`, of all
    tokens; in the place of logits are the gradients of `teacher_gradients`. A row of
    weight 0 gives zeros, whatever it holds.
  }];
  // Maxima, two exponentials and two shares of each, and what is left of the gradient.
  let flops = "20 * rows * vocabulary";
}
