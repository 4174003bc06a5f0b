//===- experts.td - rows to experts and back --------------------------------===//
//
// What experts make of rows are products of grouped places: linear.td and
// gated_linear.td.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

// A row has `k` (1 to 64) of `count` experts. Choice c is [c / k, c % k] of
// `experts`.

def RouteRowsBody : Body<"route_rows",
    (takes WritesIntegers<["rows", "k"]>:$experts, Stride:$experts_stride,
           Writes<["rows", "k"]>:$weights, Stride:$weights_stride,
           Reads<["rows", "count"]>:$logits, Stride:$logits_stride,
           Nullable<ReadsWeight<["count"]>>:$bias,
           Count:$rows, Count:$k, Count:$count, Choice<"BatonScoring">:$scoring,
           Switch:$normalize, Number:$factor, Count:$groups, Count:$groups_of_row,
           Switch:$best_two)> {
  let description = [{
    The experts with the `k` largest logits, or, with `bias`, scores plus bias, of
    equal ones the lower number first, in ascending order; and their scores, softmax
    or sigmoids of the logits, divided by their sum with `normalize`, times `factor`.
    With `groups`, which divide `count`, only experts of the row's `groups_of_row` best
    groups, of equal ones the lower number first: by their largest, or with `best_two` by
    the sum of their two largest scores (plus bias).
    A row with a NaN has the experts `0 .. k - 1`, and weights that are NaN.
  }];
  // A comparison for each of the chosen, experts and groups, and what softmax
  // takes.
  let flops = "rows * (count * (k + 3) + groups * groups_of_row)";
}

def DispatchRowsBody : Body<"dispatch_rows",
    (takes WritesIntegers<["count + 1"]>:$bounds,
           WritesIntegers<["rows * k"]>:$choices, WritesIntegers<["rows * k"]>:$places,
           ReadsIntegers<["rows", "k"]>:$experts, Stride:$experts_stride,
           Count:$rows, Count:$k, Count:$count)> {
  let description = [{
    Sorts choices by their expert, those of one in ascending order: expert e has the
    places `bounds[e] .. bounds[e + 1)`, place p has choice `choices[p]`, and choice c
    place `places[c]`. An expert that there is not is left out.
  }];
  let flops = "0";
}

// A rank has the experts from place[0] on, `count` of them.

def DispatchRowsPartBody : Body<"dispatch_rows_part",
    (takes WritesIntegers<["count + 2"]>:$bounds,
           WritesIntegers<["rows * k"]>:$choices, WritesIntegers<["rows * k"]>:$places,
           ReadsIntegers<["rows", "k"]>:$experts, Stride:$experts_stride,
           Count:$rows, Count:$k, Count:$count, Place<"2">:$place)> {
  let description = [{
    As `dispatch_rows`, of the rank's own experts: its e-th has the places
    `bounds[e] .. bounds[e + 1)`, and those of all others are the ones behind, to
    `bounds[count + 1]`.
  }];
  let flops = "0";
}

// Of `ranks` ranks each has `experts` of them, the first ones the first rank.

def CountPlacesBody : Body<"count_places",
    (takes WritesIntegers<["ranks", "width"]>:$counts, Stride:$counts_stride,
           ReadsIntegers<["ranks * experts + 1"]>:$bounds,
           Count:$ranks, Count:$experts, Count:$width)> {
  let description = [{
    `counts[r][e] = bounds[r experts + e + 1] - bounds[r experts + e]`: the places of expert
    e of rank r; and 0 from `experts` on.
  }];
  let flops = "0";
}

def BoundPlacesBody : Body<"bound_places",
    (takes WritesIntegers<["experts + 2"]>:$bounds,
           ReadsIntegers<["ranks", "experts"]>:$counts, Stride:$counts_stride,
           Count:$ranks, Count:$experts, Count:$places)> {
  let description = [{
    Expert e gets `counts[r][e]` places from rank r, those of all ranks behind one
    another: `bounds[e] .. bounds[e + 1)`. All of the `places` that are left are the last
    segment, to `bounds[experts + 1]`.
  }];
  let flops = "0";
}

def GatherRowsBody : Body<"gather_rows",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["source_rows", "width"]>:$x, Stride:$x_stride,
           ReadsIntegers<["rows"]>:$choices,
           Count:$rows, Count:$source_rows, Count:$k, Count:$width)> {
  let description = [{
    `out[r] = x[choices[r] / k]`.
  }];
  let flops = "0";
}

def CombineRowsBody : Body<"combine_rows",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["place_count", "width"]>:$x, Stride:$x_stride,
           ReadsIntegers<["rows * k"]>:$places,
           Reads<["rows", "k"]>:$weights, Stride:$weights_stride,
           Count:$rows, Count:$place_count, Count:$k, Count:$width)> {
  let description = [{
    `out[r]` is the chain of `fma(weights[r][j], x[places[r k + j]], sum)` over
    ascending j, from +0 on, without those whose place is not below `place_count`.
  }];
  let flops = "2 * rows * k * width";
}
