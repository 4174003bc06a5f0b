//===- embedding.td - rows of tables ---------------------------------------===//

include "codegen/bodies/Body.td"

def EmbeddingBody : Body<"embedding",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           ReadsIntegers<["rows"]>:$tokens,
           ReadsTable<["vocabulary", "width"], "rows * width">:$table,
           Count:$rows, Count:$width, Count:$vocabulary, Number:$multiplier)> {
  let description = [{
    `out[r][0 .. width) = table[tokens[r]] * multiplier`; `table` is `[vocabulary,
    width]`. A token outside the vocabulary gives a row of NaN.
  }];
  let variants = WeightVariants;
  let flops = "rows * width";
}

def EmbeddingPanelsBody : Body<"embedding_panels",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           ReadsIntegers<["rows"]>:$tokens,
           ReadsTable<[], "rows * width">:$panels,
           Count:$rows, Count:$width, Count:$vocabulary, Number:$multiplier)> {
  let description = [{
    The same from a table in panels, of `width` input features and `vocabulary`
    output features.
  }];
  let variants = !listconcat(WeightVariants, BlockVariants);
  let flops = "rows * width";
}

def PositionEmbeddingBody : Body<"position_embedding",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           From<"position", ReadsTable<["position + rows", "width"], "rows * width">>:$table,
           Position:$position, Count:$rows, Count:$width)> {
  let description = [{
    `out[r] = table[position + r]`; `table` has at least position + rows rows.
  }];
  let variants = WeightVariants;
  let flops = "0";
}

// A rank has the tokens from place[0] on, place[1] of them, and room for more.

def EmbeddingPartBody : Body<"embedding_part",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           ReadsIntegers<["rows"]>:$tokens,
           ReadsTable<["rest()", "width"], "rows * width">:$table,
           Count:$rows, Count:$width, Count:$vocabulary, Number:$multiplier,
           Place<"2">:$place)> {
  let description = [{
    As `embedding`, of a table with the rank's tokens; others give zeros, those
    outside `vocabulary` NaN.
  }];
  let variants = WeightVariants;
  let flops = "rows * width";
}

def EmbeddingPanelsPartBody : Body<"embedding_panels_part",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           ReadsIntegers<["rows"]>:$tokens,
           ReadsTable<[], "rows * width">:$panels,
           Count:$rows, Count:$width, Count:$vocabulary, Number:$multiplier,
           Place<"2">:$place)> {
  let description = [{
    The same from a table in panels.
  }];
  let variants = !listconcat(WeightVariants, BlockVariants);
  let flops = "rows * width";
}
