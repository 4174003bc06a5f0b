//===- hyper.td - hyper-connections ----------------------------------------===//

include "codegen/bodies/Body.td"

// A row has `streams` (1 to 8) streams of `width` elements, one behind the
// other. Its maps are `streams` weights of what is read; with a mixing other
// than NONE as many of what is written; and with FREE or SINKHORN a matrix
// [streams][streams] of how they mix. Sums over streams, and over rows and
// columns of that matrix, ascend one by one.

def HyperProjectBody : Body<"hyper_project",
    (takes Writes<["rows", "outputs"]>:$out, Stride:$out_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           ReadsWeight<["outputs", "width"]>:$phi,
           Count:$rows, Count:$width, Count:$outputs, Number:$epsilon)> {
  let description = [{
    `out[r][i] = (x[r] · phi[i]) / sqrt(mean(x[r]^2) + epsilon)`; `phi` is
    `[outputs, width]`, and `width` that of all streams. The products are sums as a
    norm's: of 16 partial sums each.
  }];
  // The squares, and the products with a row of phi each.
  let flops = "2 * rows * width * (outputs + 1)";
}

def HyperMapsBody : Body<"hyper_maps",
    (takes Writes<["rows", "maps_of(streams, mixing)"]>:$out, Stride:$out_stride,
           Reads<["rows", "maps_of(streams, mixing)"]>:$logits, Stride:$logits_stride,
           ReadsWeight<["map_scales(mixing)"]>:$scale,
           ReadsWeight<["maps_of(streams, mixing)"]>:$base,
           Count:$rows, Count:$streams, Choice<"BatonMixing">:$mixing,
           Count:$iterations, Number:$epsilon)> {
  let description = [{
    With `z = scale * logits + base`, each part of the maps with its own scale:
    `sigmoid(z) + epsilon`, `2 sigmoid(z)`, and `z` or `sinkhorn(z)`, which is
    softmax of the rows plus epsilon; columns divided by their sums plus epsilon;
    then `iterations - 1` times rows and columns so divided.
  }];
  let inPlace = ["logits"];
  let flops = "rows * map_flops(streams, mixing, iterations)";
}

def HyperPreBody : Body<"hyper_pre",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["rows", "streams * width"]>:$x, Stride:$x_stride,
           Reads<["rows", "streams"]>:$weights, Stride:$weights_stride,
           Count:$rows, Count:$streams, Count:$width)> {
  let description = [{
    `out` = the sum over `j` of `weights[j] * x[j]`, ascending, fused from the
    second on.
  }];
  let flops = "2 * rows * streams * width";
}

def HyperPostBody : Body<"hyper_post",
    (takes Writes<["rows", "streams * width"]>:$out, Stride:$out_stride,
           Reads<["rows", "streams * width"]>:$x, Stride:$x_stride,
           Reads<["rows", "width"]>:$y, Stride:$y_stride,
           Reads<["rows", "written_maps(streams, mixes)"]>:$weights, Stride:$weights_stride,
           Count:$rows, Count:$streams, Count:$width, Switch:$mixes)> {
  let description = [{
    `out[j] = weights[j] * y +` the sum over `m` of `weights[streams + m * streams +
    j] * x[m]`, a chain of fused multiply-adds; or, where nothing mixes, `weights[j]
    * y + x[j]`, fused.
  }];
  let inPlace = ["x"];
  // What is written, and how streams mix if they do.
  let flops = "2 * rows * streams * width * mixed_streams(streams, mixes)";
}

def HyperEnterBody : Body<"hyper_enter",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Writes<["rows", "maps_of(streams, mixing)"]>:$maps, Stride:$maps_stride,
           Reads<["rows", "streams * width"]>:$x, Stride:$x_stride,
           ReadsWeight<["maps_of(streams, mixing)", "streams * width"]>:$phi,
           ReadsWeight<["map_scales(mixing)"]>:$scale,
           ReadsWeight<["maps_of(streams, mixing)"]>:$base,
           Count:$rows, Count:$streams, Count:$width, Number:$norm_epsilon,
           Choice<"BatonMixing">:$mixing, Count:$iterations, Number:$epsilon)> {
  let description = [{
    `hyper_project`, `hyper_maps` and `hyper_pre`, with the same bits.
  }];
  let flops = "rows * (2 * width * streams * (maps_of(streams, mixing) + 2)"
              " + map_flops(streams, mixing, iterations))";
}

def HyperTurnBody : Body<"hyper_turn",
    (takes Writes<["rows", "streams * width"], ["streams_stride", "1"]>:$streams_out,
           Stride:$streams_stride,
           Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Writes<["rows", "maps_of(streams, mixing)"]>:$maps, Stride:$maps_stride,
           Reads<["rows", "streams * width"]>:$x, Stride:$x_stride,
           Reads<["rows", "width"]>:$y, Stride:$y_stride,
           Reads<["rows", "written_maps(streams, mixes)"]>:$weights, Stride:$weights_stride,
           ReadsWeight<["maps_of(streams, mixing)", "streams * width"]>:$phi,
           ReadsWeight<["map_scales(mixing)"]>:$scale,
           ReadsWeight<["maps_of(streams, mixing)"]>:$base,
           Count:$rows, Count:$streams, Count:$width, Switch:$mixes,
           Number:$norm_epsilon, Choice<"BatonMixing">:$mixing, Count:$iterations,
           Number:$epsilon)> {
  let description = [{
    `hyper_post` into `streams_out`, and `hyper_enter` of that, with the same bits.
  }];
  let inPlace = ["x"];
  let flops = "rows * (2 * width * streams * (maps_of(streams, mixing) + 2)"
              " + map_flops(streams, mixing, iterations))"
              " + 2 * rows * streams * width * mixed_streams(streams, mixes)";
}
