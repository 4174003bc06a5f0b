//===- gated_linear.td - a linear layer gated by another ------------------===//

include "codegen/bodies/Body.td"

def GatedLinearBody : Body<"gated_linear",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "k"]>:$x, Stride:$x_stride,
           ReadsMatrix<[], "2 * whole_panels(columns) * (k + overhead())">:$panels,
           Nullable<ReadsWeight<["columns"]>>:$bias_gate,
           Nullable<ReadsWeight<["columns"]>>:$bias_up,
           Count:$rows, Count:$k, Count:$columns, Choice<"BatonActivation">:$activation)> {
  let description = [{
    `out = activation(x G^T + bias_gate) * (x U^T + bias_up)`. The panels of the
    two weights alternate: gate panel 0, up panel 0, gate panel 1, ...; `columns`
    counts outputs.
  }];
  let variants = !listconcat(WeightVariants, BlockVariants);
  let flops = "4 * rows * k * columns";
  let isProduct = true;
  let tuned = [Tuning<"cuda", "matrix", !listconcat([BF16], BlockVariants)>,
               Tuning<"cuda", "stream", !listconcat([BF16], BlockVariants)>,
               Tuning<"cuda", "cublaslt", [BF16]>];
}
