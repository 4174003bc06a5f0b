//===- layer_arrival.td - a layer's weights come from a file ----------------===//
//
// No tiling rule: no op stands for it; offload-layers adds its phases
// (passes/plan/OffloadLayers.cpp).
//
// No sharding rule: it comes with a plan's phases, behind localize.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

def LayerArrivalBody : Body<"layer_arrival",
    (takes WritesIntegers<["1"]>:$arrived, ReadsIntegers<["4"]>:$arrival)> {
  let description = [{
    Has the runtime bring what the next layer reads into memory, by the function in
    `arrival`, a `BatonLayerArrival` (runtime/layer_arrival.h), and waits for it.
    Writes which layer it is, 0 where all are in memory.
  }];
  let libraries = ["cpu"];
  let flops = "0";
}
