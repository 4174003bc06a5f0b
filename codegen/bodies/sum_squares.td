//===- sum_squares.td - sums of squares ------------------------------------===//
//
// No tiling rule: it is no op of a model; passes/tiling/Training.cpp adds it
// behind all gradients.
// No sharding rule: it is no op of a model.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

def SumSquaresBody : Body<"sum_squares",
    (takes Writes<["1"]>:$out, Reads<["elements"]>:$x, Count:$elements, Count:$columns)> {
  let description = [{
    `out[0]` = the sum of squares of `elements` elements behind one another, in
    rows of `columns`, of which the last one may be shorter: each row by the rule
    for sums (16 lanes), rows added in ascending order. Zeros behind them, rows of
    them too, change no bits.
  }];
  let flops = "2 * elements";
}
