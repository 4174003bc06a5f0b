//===- elementwise.td - element-wise bodies --------------------------------===//

include "codegen/bodies/Body.td"

class UnaryBody<string name, string operations, string theDescription>
    : Body<name, (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
                        Reads<["rows", "width"]>:$x, Stride:$x_stride,
                        Count:$rows, Count:$width)> {
  let description = theDescription;
  let inPlace = ["x"];
  let flops = operations # " * rows * width";
}
class BinaryBody<string name, string theDescription>
    : Body<name, (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
                        Reads<["rows", "width"]>:$a, Stride:$a_stride,
                        Reads<["rows", "width"]>:$b, Stride:$b_stride,
                        Count:$rows, Count:$width)> {
  let description = theDescription;
  let inPlace = ["a", "b"];
  let flops = "rows * width";
}

def CopyBody : UnaryBody<"copy", "0", "`out = x`.">;
def TanhBody : UnaryBody<"tanh", "1", "`out = tanh(x)`.">;
def SiluBody : UnaryBody<"silu", "4", "`out = x * sigmoid(x)`.">;
def GeluBody : UnaryBody<"gelu", "5", "GELU in the exact form, with erf.">;
def GeluTanhBody : UnaryBody<"gelu_tanh", "8", "GELU in the approximation with tanh.">;
def ReluBody : UnaryBody<"relu", "1", "`out = max(x, 0)`.">;
def AddBody : BinaryBody<"add", "`out = a + b`.">;
def MulBody : BinaryBody<"mul", "`out = a * b`.">;

def ClampedSwigluBody : Body<"clamped_swiglu",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["rows", "width"]>:$gate, Stride:$gate_stride,
           Reads<["rows", "width"]>:$up, Stride:$up_stride, Count:$rows, Count:$width)> {
  let description = [{
    `out = g * sigmoid(1.702 g) * (u + 1)` with `g = min(gate, 7)` and `u = max(min(up, 7), -7)`.
  }];
  let inPlace = ["gate", "up"];
  let flops = "9 * rows * width";
}

def ScaleBody : Body<"scale",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride, Count:$rows, Count:$width,
           Number:$factor)> {
  let description = [{`out = x * factor`.}];
  let inPlace = ["x"];
  let flops = "rows * width";
}
