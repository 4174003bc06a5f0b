//===- hyper_gradient.td - adjoints of hyper-connections -------------------===//

include "codegen/bodies/Body.td"

def ScaleRowsBody : Body<"scale_rows",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           Reads<["rows", "2"]>:$statistics, Stride:$statistics_stride,
           Count:$rows, Count:$width)> {
  let description = [{
    `out[r] = x[r] * statistics[r][1]`.
  }];
  let inPlace = ["x"];
  let flops = "rows * width";
}

def HyperProjectGradientBody : Body<"hyper_project_gradient",
    (takes Writes<["rows", "width"]>:$dx, Stride:$dx_stride,
           Reads<["rows", "outputs"]>:$dy, Stride:$dy_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           ReadsWeight<["outputs", "width"]>:$phi,
           Reads<["rows", "outputs"]>:$y, Stride:$y_stride,
           Reads<["rows", "2"]>:$statistics, Stride:$statistics_stride,
           Count:$rows, Count:$width, Count:$outputs)> {
  let description = [{
    The adjoint of `hyper_project` for `x`, given its result `y` and the streams'
    statistics; `phi` is `[outputs, width]`.
  }];
  // The product with phi, and what the norm's scale takes of every element.
  let flops = "2 * rows * width * (outputs + 2)";
}

def HyperMapsGradientBody : Body<"hyper_maps_gradient",
    (takes Writes<["rows", "maps_of(streams, mixing)"]>:$dlogits, Stride:$dlogits_stride,
           Writes<["rows", "maps_of(streams, mixing)"]>:$dz, Stride:$dz_stride,
           Reads<["rows", "maps_of(streams, mixing)"]>:$dy, Stride:$dy_stride,
           Reads<["rows", "maps_of(streams, mixing)"]>:$logits, Stride:$logits_stride,
           ReadsWeight<["map_scales(mixing)"]>:$scale,
           ReadsWeight<["maps_of(streams, mixing)"]>:$base,
           Count:$rows, Count:$streams, Choice<"BatonMixing">:$mixing,
           Count:$iterations, Number:$epsilon)> {
  let description = [{
    The adjoint of `hyper_maps`: for `logits`, and for `z = scale * logits + base`.
    `iterations` are at most `BATON_MOST_ITERATIONS`.
  }];
  // Maps are made again; their adjoint takes about twice as much.
  let flops = "3 * rows * map_flops(streams, mixing, iterations)";
}

def HyperScaleGradientBody : Body<"hyper_scale_gradient",
    (takes Accumulates<["map_scales(mixing)"]>:$dscale,
           Reads<["rows", "maps_of(streams, mixing)"]>:$dz, Stride:$dz_stride,
           Reads<["rows", "maps_of(streams, mixing)"]>:$logits, Stride:$logits_stride,
           Count:$rows, Count:$streams, Choice<"BatonMixing">:$mixing,
           Accumulate:$accumulate)> {
  let description = [{
    `dscale[p] (+)=` the sum over rows and the elements of part `p` of `dz *
    logits`.
  }];
  let flops = "2 * rows * maps_of(streams, mixing)";
}

def HyperPreGradientBody : Body<"hyper_pre_gradient",
    (takes Writes<["rows", "streams * width"]>:$dx, Stride:$dx_stride,
           Writes<["rows", "streams"]>:$dweights, Stride:$dweights_stride,
           Reads<["rows", "width"]>:$dy, Stride:$dy_stride,
           Reads<["rows", "streams * width"]>:$x, Stride:$x_stride,
           Reads<["rows", "streams"]>:$weights, Stride:$weights_stride,
           Count:$rows, Count:$streams, Count:$width)> {
  let description = [{
    `dx[j] = weights[j] * dy` and `dweights[j] = dy . x[j]`.
  }];
  let flops = "3 * rows * streams * width";
}

def HyperPostGradientBody : Body<"hyper_post_gradient",
    (takes Writes<["rows", "streams * width"]>:$dx, Stride:$dx_stride,
           Writes<["rows", "width"]>:$dy, Stride:$dy_stride,
           Writes<["rows", "written_maps(streams, mixes)"]>:$dweights, Stride:$dweights_stride,
           Reads<["rows", "streams * width"]>:$dout, Stride:$dout_stride,
           Reads<["rows", "streams * width"]>:$x, Stride:$x_stride,
           Reads<["rows", "width"]>:$y, Stride:$y_stride,
           Reads<["rows", "written_maps(streams, mixes)"]>:$weights, Stride:$weights_stride,
           Count:$rows, Count:$streams, Count:$width, Switch:$mixes)> {
  let description = [{
    The adjoint of `hyper_post`, `dout` the gradient of its result.
  }];
  // For y and its weights, and, where streams mix, for streams and theirs.
  let flops = "4 * rows * streams * width * mixed_streams(streams, mixes)";
}
