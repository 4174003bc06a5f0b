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

class ClampedSwigluGradientBody<string name, string theDescription>
    : Body<name, (takes Writes<["rows", "width"]>:$dx, Stride:$dx_stride,
                        Reads<["rows", "width"]>:$dy, Stride:$dy_stride,
                        Reads<["rows", "width"]>:$gate, Stride:$gate_stride,
                        Reads<["rows", "width"]>:$up, Stride:$up_stride,
                        Count:$rows, Count:$width)> {
  let description = theDescription;
  let inPlace = ["dy"];
  let flops = "12 * rows * width";
}

// In the names of clamped_swiglu's description.
def ClampedSwigluGateGradientBody
    : ClampedSwigluGradientBody<"clamped_swiglu_gate_gradient", [{
    `dx = dy * (u + 1) * s * (1 + 1.702 g * (1 - s))` with `s = sigmoid(1.702 g)`, where the gate is at
    most 7; else 0.
  }]>;
def ClampedSwigluUpGradientBody
    : ClampedSwigluGradientBody<"clamped_swiglu_up_gradient", [{
    `dx = dy * g * sigmoid(1.702 g)`, where the up is within -7 and 7; else 0.
  }]>;

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
