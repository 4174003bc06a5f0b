//===- token_mask.td - tokens that constraints allow ------------------------===//
//
// No sharding rule: batch-form makes this op of what a rank has, behind
// localize.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

def TokenMaskBody : Body<"token_mask",
    (takes MayWriteIntegers<["rows", "words"]>:$masks, Stride:$masks_stride,
           ReadsIntegers<["rows", "28"]>:$sampling, Stride:$sampling_stride,
           Count:$rows, Count:$words)> {
  let description = [{
    The masks of rows whose words of `sampling`, a `BatonSampling`
    (runtime/step_sampling.h), say that they have one. On a CPU the body has the
    row's function of the host write it. On a GPU it waits until the host has.
    Other rows are left alone.
  }];
  let flops = "0";
}
