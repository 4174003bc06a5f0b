//===- experts_gradient.td - adjoints of rows to experts and back ----------===//
//
// Those of products of grouped places are products: product.td.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

// Choices and places are those of dispatch_rows.

def RouteRowsGradientBody : Body<"route_rows_gradient",
    (takes Writes<["rows", "count"]>:$dlogits, Stride:$dlogits_stride,
           Reads<["rows", "k"]>:$dweights, Stride:$dweights_stride,
           Reads<["rows", "count"]>:$logits, Stride:$logits_stride,
           ReadsIntegers<["rows", "k"]>:$experts, Stride:$experts_stride,
           Count:$rows, Count:$k, Count:$count, Choice<"BatonScoring">:$scoring,
           Switch:$normalize, Number:$factor)> {
  let description = [{
    The adjoint of `route_rows` for `logits`, through the weights of the `experts` that it
    has chosen. With `normalize` and softmax these depend on the chosen logits only, and
    others get +0.
  }];
  // Exponentials, their sum, and what a softmax's adjoint takes.
  let flops = "rows * (5 * count + 4 * k)";
}

def GatherRowsGradientBody : Body<"gather_rows_gradient",
    (takes Writes<["rows", "width"]>:$dx, Stride:$dx_stride,
           Reads<["place_count", "width"]>:$dy, Stride:$dy_stride,
           ReadsIntegers<["rows * k"]>:$places,
           Count:$rows, Count:$place_count, Count:$k, Count:$width)> {
  let description = [{
    `dx[r]` is the sum of `dy[places[r k + j]]` over ascending j, from the first one on; of places
    below `place_count` only, 0 without any.
  }];
  let flops = "rows * k * width";
}

def CombineRowsGradientBody : Body<"combine_rows_gradient",
    (takes Writes<["rows", "width"]>:$dx, Stride:$dx_stride,
           Reads<["source_rows", "width"]>:$dy, Stride:$dy_stride,
           Reads<["source_rows", "k"]>:$weights, Stride:$weights_stride,
           ReadsIntegers<["rows"]>:$choices,
           Count:$rows, Count:$source_rows, Count:$k, Count:$width)> {
  let description = [{
    The adjoint of `combine_rows` for `x`, of `rows` places: with c = `choices[p]`,
    `dx[p] = weights[c / k][c % k] * dy[c / k]`.
  }];
  let flops = "rows * width";
}

def CombineWeightsGradientBody : Body<"combine_weights_gradient",
    (takes Writes<["rows", "k"]>:$dweights, Stride:$dweights_stride,
           Reads<["rows", "width"]>:$dy, Stride:$dy_stride,
           Reads<["place_count", "width"]>:$x, Stride:$x_stride,
           ReadsIntegers<["rows * k"]>:$places,
           Count:$rows, Count:$place_count, Count:$k, Count:$width)> {
  let description = [{
    The adjoint of `combine_rows` for `weights`: `dweights[r][j]` is the sum of
    `dy[r] * x[places[r k + j]]`; 0 where that is no place below `place_count`.
  }];
  let flops = "2 * rows * k * width";
}
