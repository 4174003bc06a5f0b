//===- elementwise_gradient.td - adjoints of element-wise bodies -----------===//

include "codegen/bodies/Body.td"

def ActivateGradientBody : Body<"activate_gradient",
    (takes Writes<["rows", "width"]>:$dx, Stride:$dx_stride,
           Reads<["rows", "width"]>:$dy, Stride:$dy_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           Count:$rows, Count:$width, Choice<"BatonActivation">:$activation)> {
  let description = [{
    `dx = dy * activation'(x)`.
  }];
  let inPlace = ["dy"];
  let flops = "8 * rows * width";
}

def TanhGradientBody : Body<"tanh_gradient",
    (takes Writes<["rows", "width"]>:$dx, Stride:$dx_stride,
           Reads<["rows", "width"]>:$dy, Stride:$dy_stride,
           Reads<["rows", "width"]>:$y, Stride:$y_stride, Count:$rows, Count:$width)> {
  let description = [{
    `dx = dy * (1 - y^2)`, `y` the result of `tanh`.
  }];
  let inPlace = ["dy"];
  let flops = "3 * rows * width";
}

def SoftmaxGradientBody : Body<"softmax_gradient",
    (takes Writes<["rows", "width"]>:$dx, Stride:$dx_stride,
           Reads<["rows", "width"]>:$dy, Stride:$dy_stride,
           Reads<["rows", "width"]>:$y, Stride:$y_stride, Count:$rows, Count:$width)> {
  let description = [{
    `dx = y * (dy - sum(dy * y))`, `y` the result of `softmax`, per row.
  }];
  let inPlace = ["dy"];
  let flops = "4 * rows * width";
}

def GateGradientBody : Body<"gate_gradient",
    (takes Writes<["rows", "heads * gate_width"]>:$dgate, Stride:$dgate_stride,
           Reads<["rows", "heads * width"]>:$dy, Stride:$dy_stride,
           Reads<["rows", "heads * width"]>:$x, Stride:$x_stride,
           Reads<["rows", "heads * gate_width"]>:$gate, Stride:$gate_stride,
           Count:$rows, Count:$heads, Count:$width, Count:$gate_width)> {
  let description = [{
    With `out = x * sigmoid(gate)`, as `gate` computes it: `dgate = dy * x * s * (1
    - s)`, summed over the head's elements where `gate_width` is 1. The adjoint for
    `x` is `gate` itself.
  }];
  let inPlace = ["dy"];
  let flops = "5 * rows * heads * width";
}
