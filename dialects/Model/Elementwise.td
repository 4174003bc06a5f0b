//===- Elementwise.td - ops that compute every element by itself ----------===//

#ifndef BATON_DIALECTS_MODEL_ELEMENTWISE
#define BATON_DIALECTS_MODEL_ELEMENTWISE

include "mlir/IR/OpBase.td"

def Model_Elementwise : OpInterface<"Elementwise"> {
  let cppNamespace = "::baton::model";
  let description = [{
    An element of the result depends on the elements at its place in the
    operands, which have the result's type, and on nothing else but numbers.
    The op's tiles, its rule of sharding and which operands a tile may be
    written over follow from that and from its body.
  }];
  let methods = [
    InterfaceMethod<"The body that computes a tile (codegen/bodies); it takes rows and a width.",
                    "::llvm::StringRef", "getBody", (ins),
                    "", "return $_op->getName().stripDialect();">,
    InterfaceMethod<"What the body takes behind them.",
                    "::llvm::SmallVector<::mlir::Attribute>", "getBodyNumbers", (ins),
                    "", "return {};">
  ];
}

#endif // BATON_DIALECTS_MODEL_ELEMENTWISE
