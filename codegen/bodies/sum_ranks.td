//===- sum_ranks.td - what ranks have parts of -----------------------------===//
//
// No tiling rule: ops of the dist dialect are exchanges and what each rank adds
// to them; passes/collectives/StepSums.cpp tiles them, and
// passes/collectives/RankSums.cpp the sums of gradients.
// No sharding rule: these ops state where their operands and results lie.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

class RanksBody<string name>
    : Body<name, (takes Writes<["columns"]>:$out,
                        MayRead<["ranks", "columns"], ["stride", "1"]>:$parts,
                        Stride:$stride, Count:$ranks, Count:$columns)> {
  let inPlace = ["parts"];
  let flops = "ranks * columns";
}

def SumRanksBody : RanksBody<"sum_ranks"> {
  let description = [{
    `out[c] = parts[0][c] + parts[1][c] + ...`, ascending in ranks, whose parts are
    `stride` elements apart. `out` may be one of them.
  }];
}

def MaxRanksBody : RanksBody<"max_ranks"> {
  let description = [{
    As `sum_ranks`, of the largest instead of the sum.
  }];
}

def AddRanksBody : Body<"add_ranks",
    (takes Accumulates<["columns"]>:$out,
           MayRead<["ranks", "columns"], ["stride", "1"]>:$parts, Stride:$stride,
           Count:$ranks, Count:$columns, Accumulate:$accumulate)> {
  let description = [{
    The sum of `sum_ranks`, added to what `out` has where `*accumulate` is not 0.
  }];
  let flops = "ranks * columns";
}

def SumRankRowsBody : Body<"sum_rank_rows",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           MayRead<["ranks", "rows * width"], ["parts_stride", "1"]>:$parts,
           Stride:$parts_stride, Count:$ranks, Count:$rows, Count:$width,
           Position:$first, Count:$part, Count:$all, Place<>:$place)> {
  let description = [{
    `out` = the sum of what `ranks` have of rows, `parts[r * parts_stride]` of the
    rth, in ascending order. Rows are those from `place[0] * part + first` on;
    zeros behind the last one of `all`.
  }];
  let flops = "ranks * rows * width";
}

def SumNumbersBody : Body<"sum_numbers",
    (takes Writes<["width"]>:$out, Count:$width,
           Reads<["count", "1"], ["stride", "1"]>:$numbers, Stride:$stride, Count:$count)> {
  let description = [{
    `out = {`the sum of `count` numbers, ascending; zeros`}` of `width` numbers.
  }];
  let flops = "count";
}

def TakePartBody : Body<"take_part",
    (takes Writes<["count"]>:$out, Reads<["elements"]>:$whole, Count:$elements,
           Count:$part, Position:$first, Count:$count, Place<>:$place)> {
  let description = [{
    `out[i]` = element `first + i`, for `i < count`, of the part of `whole` that the
    rank at `*place` has, of `part` elements; 0 behind the end of `whole`, which has
    `elements`.
  }];
  let flops = "0";
}

def TakeColumnsBody : Body<"take_columns",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["rows", "rest()"]>:$x, Stride:$x_stride,
           Count:$rows, Count:$width, Place<>:$place)> {
  let description = [{
    `out` = the columns of `x` from `place[0] * width` on.
  }];
  let flops = "0";
}

def KeepFirstBody : Body<"keep_first",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           Count:$rows, Count:$width, Place<>:$place)> {
  let description = [{
    `out = x` on the first of some ranks, `place[0] == 0`, and zeros on others.
  }];
  let inPlace = ["x"];
  let flops = "0";
}

def ClearBody : Body<"clear", (takes Writes<["columns"]>:$out, Count:$columns)> {
  let description = [{
    `out[c] = 0`.
  }];
  let flops = "0";
}
