//===- Segments.td - places of rows with experts, whoever makes them ------===//

#ifndef BATON_DIALECTS_MODEL_SEGMENTS
#define BATON_DIALECTS_MODEL_SEGMENTS

include "mlir/IR/OpBase.td"

def Model_Segments : OpInterface<"Segments"> {
  let cppNamespace = "::baton::model";
  let description = [{
    Says which places are whose. Expert e of those that a rank has has places
    `bounds[e]` to `bounds[e + 1]`. A last segment may be of none of them: no task
    works on it.
  }];
  let methods = [
    InterfaceMethod<"Where segments begin and end.", "::mlir::Value", "getSegmentBounds">,
    InterfaceMethod<"Experts that a rank has.", "int64_t", "countExperts">,
    InterfaceMethod<"Whether the last segment is of none of them.", "bool", "hasOthers">
  ];
}

def Model_PlacesMove : OpInterface<"PlacesMove"> {
  let cppNamespace = "::baton::model";
  let description = "Its result has what stood at other places, of other ranks.";
  let methods = [
    InterfaceMethod<"The bounds of the result's places.", "::mlir::Value", "getBoundsOfResult">
  ];
}

#endif // BATON_DIALECTS_MODEL_SEGMENTS
