//===- rope.td - rotary position embedding ---------------------------------===//

include "codegen/bodies/Body.td"

def RopeTableBody : Body<"rope_table",
    (takes Writes<["rows", "2 * half"]>:$out, Stride:$out_stride,
           ReadsWeight<["half"]>:$inverse_frequencies, Count:$half,
           Position:$position, Count:$rows, Number:$scale)> {
  let description = [{
    `out[r] = [cos(a_i) * scale for i < half | sin(a_i) * scale for i < half]` with
    `a_i = Real(position + r) * inverse_frequencies[i]`.
  }];
  // The angle, its cosine and sine, and their scales.
  let flops = "5 * rows * half";
}

def RopeTableAtBody : Body<"rope_table_at",
    (takes Writes<["rows", "2 * half"]>:$out, Stride:$out_stride,
           ReadsWeight<["half"]>:$inverse_frequencies, Count:$half,
           ReadsIntegers<["rows"]>:$positions, Count:$rows, Number:$scale)> {
  let description = [{
    As `rope_table`, of rows at these positions.
  }];
  let flops = "5 * rows * half";
}

def RopeBody : Body<"rope",
    (takes Writes<["rows", "heads * head_dim"]>:$out, Stride:$out_stride,
           Reads<["rows", "heads * head_dim"]>:$x, Stride:$x_stride,
           Reads<["rows", "2 * half"]>:$table, Stride:$table_stride,
           Count:$rows, Count:$heads, Count:$head_dim, Count:$half)> {
  let description = [{
    Rotates every head of `x` (`[rows, heads * head_dim]`) by its row of `table`
    (as `rope_table` writes it): for `i < half` `out[i] = x[i] cos_i - x[i + half]
    sin_i` and `out[i + half] = x[i + half] cos_i + x[i] sin_i`, each product
    rounded; elements from `2 * half` on are copied.
  }];
  let inPlace = ["x"];
  // Four products and two sums for each pair of elements.
  let flops = "6 * rows * heads * half";
}

def RopeBackBody : Body<"rope_back",
    (takes Writes<["rows", "heads * head_dim"]>:$out, Stride:$out_stride,
           Reads<["rows", "heads * head_dim"]>:$dy, Stride:$dy_stride,
           Reads<["rows", "2 * half"]>:$table, Stride:$table_stride,
           Count:$rows, Count:$heads, Count:$head_dim, Count:$half)> {
  let description = [{
    The transpose of `rope`, its adjoint.
  }];
  let inPlace = ["dy"];
  let flops = "6 * rows * heads * half";
}
