//===- sample.td - tokens drawn from logits ---------------------------------===//
//
// No sharding rule: batch-form makes this op of what a rank has, behind
// localize.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

def SampleBody : Body<"sample",
    (takes WritesIntegers<["rows", "42"]>:$draws, Stride:$draws_stride,
           MayWriteIntegers<["rows", "256"]>:$listed, Stride:$listed_stride,
           MayWrite<["rows", "2 * vocabulary"]>:$workspace, Stride:$workspace_stride,
           MayRead<["rows", "vocabulary"]>:$logits, Stride:$logits_stride,
           ReadsIntegers<["rows", "28"]>:$sampling, Stride:$sampling_stride,
           ReadsIntegers<["change_words"]>:$changes, Count:$change_words, Count:$line_words,
           MayReadIntegers<["rows", "(vocabulary + 31) / 32"]>:$masks, Stride:$masks_stride,
           Count:$rows, Count:$vocabulary, Scratch:$scratch)> {
  let description = [{
    Draws a token from each row of logits, scores one that is given, or some that are
    listed, as the row's
    words of `sampling` say, a `BatonSampling`; `draws` and `listed` are the parts of
    `BatonDraw`s (runtime/step_sampling.h). `changes`
    has lines of `line_words` words, and rows that have a mask read theirs of `masks`.
    Of a row that wants listed tokens only no other logits are read.
    A token's weight is a whole number: `e^((l - maximum) / temperature)` times a
    power of two, rounded. So sums are exact in any order. The weights of all candidates, times a number in `[0, 1)` that is made of
    seed and position, say which one it is: candidates in ascending order of tokens
    where all are, else the likeliest first.
  }];
  // A comparison each; what else is wanted of a row is data.
  let flops = "rows * vocabulary";
}
