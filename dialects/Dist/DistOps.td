//===- DistOps.td - the dist dialect: one model over many ranks -----------===//

#ifndef BATON_DIALECTS_DIST_OPS
#define BATON_DIALECTS_DIST_OPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Dialect
//===----------------------------------------------------------------------===//

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::baton::dist";
  let summary = "One model over many ranks: a mesh, placements, collectives";
  let description = [{
    Types stay those of the whole model. A placement says which part of a tensor
    a rank has, and attributes say it of values:

    | attribute         | on              | what                                                  |
    |-------------------|-----------------|-------------------------------------------------------|
    | `dist.placements` | any op          | where its results lie; of a stack, also what it carries |
    | `dist.arguments`  | `model.program` | where its arguments lie                               |
    | `dist.operands`   | any op          | how the op reads its operands                         |
    | `dist.computed`   | any op          | how its results come out, before a reshard            |
    | `dist.gradient`   | `model.gradient`| where the gradient lies, if not as its parameter      |
    | `dist.shared_heads` | attention     | every rank has all key/value heads                    |
    | `dist.summed`     | `model.gradient`| axes over whose ranks the gradient is a sum, made once a step ends with an update |

    sharding-propagation writes them, insert-reshards makes them true, and
    verify-sharding shows that they are.

    **Constraints:**
    - the dialect's attributes are those of this table
    - `dist.placements` and `dist.computed` have a placement for each result, `dist.operands` one for each operand, `dist.arguments` one for each argument of the program, `dist.gradient` is one
    - every placement is one of its value: see `dist.placement`
    - `dist.summed` names different axes of the mesh, at least one
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::baton::model::ModelDialect"];
}

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

def Dist_Reduction : I32EnumAttr<"Reduction", "how the parts of a partial value make the value", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>]> {
  let cppNamespace = "::baton::dist";
  let genSpecializedAttr = 0;
}

class Dist_Attr<string name, string text> : AttrDef<Dist_Dialect, name> {
  let mnemonic = text;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Dist_DimensionAttr : Dist_Attr<"Dimension", "dimension"> {
  let summary = "which part of a dimension a rank has";
  let description = [{
    `replicate` (all of it), `shard(a, b)` (equal parts, first over axis a, each
    of these over b), or `ragged(a: g, [u0, u1, ...])`: blocks of g indices, of
    which rank i of the axes has the next u_i; the last block may be shorter.

    **Constraints:**
    - shard and ragged have an axis
    - a granularity is at least 1, units are not negative, and there is one
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes, "int64_t":$granularity,
                        ArrayRefParameter<"int64_t">:$units);
  let extraClassDeclaration = [{
    bool isReplicate() const { return getAxes().empty(); }
    bool isRagged() const { return getGranularity() != 0; }
    static DimensionAttr getShard(::mlir::MLIRContext *context, ::llvm::ArrayRef<::mlir::StringAttr> axes) {
      return get(context, axes, 0, {});
    }
  }];
}

def Dist_PlacementAttr : Dist_Attr<"Placement", "placement"> {
  let summary = "which part of a tensor a rank has, and whether that is a part of a sum";
  let description = [{
    ```mlir
    #dist.placement<[shard(data, tensor), replicate]>
    #dist.placement<[ragged(tensor: 1, [66, 65]), replicate]>
    #dist.placement<[shard(data), replicate], partial sum(tensor)>
    ```
    A partial value is the sum, or the maximum, of what the ranks of its axes
    have.

    **Constraints:**
    - an axis occurs once
    - a partial has an axis
    - the module has a mesh with these axes
    - there is a dimension for each of the tensor's
    - a number that is sharded is divisible by the sizes of its axes; rows and outputs are taken to be
    - a ragged dimension is a number, with units for the ranks of its axes that cover it, and no block more
    - rows have the mesh's batch axes before others
  }];
  let parameters = (ins ArrayRefParameter<"::baton::dist::DimensionAttr">:$dimensions,
                        "::baton::dist::Reduction":$reduction,
                        ArrayRefParameter<"::mlir::StringAttr">:$partialAxes);
  let extraClassDeclaration = [{
    bool isPartial() const { return !getPartialAxes().empty(); }
    /// The same without, or with another, partial.
    PlacementAttr withPartial(Reduction reduction, ::llvm::ArrayRef<::mlir::StringAttr> axes) const;
    PlacementAttr withoutPartial() const { return withPartial(Reduction::sum, {}); }
    PlacementAttr withDimension(unsigned index, DimensionAttr dimension) const;
  }];
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

class Dist_Op<string mnemonic, list<Trait> traits = []> : Op<Dist_Dialect, mnemonic, traits>;

def Dist_MeshOp : Dist_Op<"mesh"> {
  let summary = "the ranks: named axes and their sizes";
  let description = [{
    ```mlir
    dist.mesh [data = 2, tensor = 4] batch [data]
    ```
    Rank numbers ascend in the last axis first. Over `batch` axes rows are cut
    between sequences, so that attention does not cross a cut; over others
    anywhere.

    **Constraints:**
    - stands in a module, which has one mesh
    - there is at least one axis; names are different and sizes at least 1
    - there are at most 2^20 ranks
    - batch names axes
  }];
  let arguments = (ins StrArrayAttr:$names, DenseI64ArrayAttr:$sizes,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$batch);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// 0 where there is no such axis.
    int64_t getSize(::mlir::StringAttr axis);
    int64_t countRanks(::llvm::ArrayRef<::mlir::StringAttr> axes);
    bool isBatch(::mlir::StringAttr axis);
  }];
}

//===----------------------------------------------------------------------===//
// Reshards and collectives
//===----------------------------------------------------------------------===//

class Dist_Move<string mnemonic> : Dist_Op<mnemonic, [Pure, AllTypesMatch<["x", "result"]>]> {
  let results = (outs AnyType:$result);
  let hasVerifier = 1;
}

def Dist_ReshardOp : Dist_Move<"reshard"> {
  let summary = "the same value, in another place";
  let description = [{
    insert-reshards writes it, lower-reshards makes collectives of it.

    **Constraints:**
    - both placements are ones of x
    - what becomes partial becomes a sum
  }];
  let arguments = (ins AnyType:$x, Dist_PlacementAttr:$from, Dist_PlacementAttr:$to);
  let assemblyFormat = "$x `:` type($x) `from` $from `to` $to attr-dict";
}

/// Ranks of `axes` exchange what they have of x. `payload` are the bytes of the
/// tensor that a rank has, a formula in the step's symbols.
class Dist_Collective<string mnemonic> : Dist_Move<mnemonic> {
  let arguments = (ins AnyType:$x, StrArrayAttr:$axes, I64Attr:$dimension, Dist_PlacementAttr:$from,
                       Dist_PlacementAttr:$to, StrAttr:$payload);
  let assemblyFormat = [{
    $x `:` type($x) `dimension` $dimension `over` $axes `from` $from `to` $to `payload` $payload attr-dict
  }];
}

def Dist_AllReduceOp : Dist_Move<"all_reduce"> {
  let summary = "a partial value becomes whole on all ranks";
  let description = [{
    **Constraints:**
    - both placements are ones of x
    - `axes` are partial in `from`, and `to` is `from` without them
    - the payload are the bytes of what a rank has
  }];
  let arguments = (ins AnyType:$x, StrArrayAttr:$axes, Dist_PlacementAttr:$from,
                       Dist_PlacementAttr:$to, StrAttr:$payload);
  let assemblyFormat = [{
    $x `:` type($x) `over` $axes `from` $from `to` $to `payload` $payload attr-dict
  }];
}

def Dist_AllGatherOp : Dist_Collective<"all_gather"> {
  let summary = "shards become whole on all ranks";
  let description = [{
    **Constraints:**
    - both placements are ones of x
    - `axes` are the last ones of the dimension in `from`, and `to` is `from` without them
    - the payload are the bytes of what a rank has afterwards
  }];
}

def Dist_ReduceScatterOp : Dist_Collective<"reduce_scatter"> {
  let summary = "a partial value becomes shards: every rank gets its part of the whole";
  let description = [{
    **Constraints:**
    - both placements are ones of x
    - `axes` are partial in `from` and the last ones of the dimension in `to`, which is `from` in all else
    - the payload are the bytes of what a rank has before
  }];
}

def Dist_AllToAllOp : Dist_Move<"all_to_all"> {
  let summary = "shards of one dimension become shards of another";
  let description = [{
    **Constraints:**
    - both placements are ones of x
    - `axes` are the last ones of `source` in `from` and of `dimension` in `to`; the placements agree in all else
    - the payload are the bytes of what a rank has
  }];
  let arguments = (ins AnyType:$x, StrArrayAttr:$axes, I64Attr:$source, I64Attr:$dimension,
                       Dist_PlacementAttr:$from, Dist_PlacementAttr:$to, StrAttr:$payload);
  let assemblyFormat = [{
    $x `:` type($x) `dimension` $source `to` $dimension `over` $axes `from` $from `to` $to
    `payload` $payload attr-dict
  }];
}

def Dist_SliceOp : Dist_Move<"slice"> {
  let summary = "every rank keeps its shard of what all have; nothing is sent";
  let description = [{
    **Constraints:**
    - both placements are ones of x
    - `axes` are the last ones of the dimension in `to`, and `from` is `to` without them
  }];
  let arguments = (ins AnyType:$x, StrArrayAttr:$axes, I64Attr:$dimension, Dist_PlacementAttr:$from,
                       Dist_PlacementAttr:$to);
  let assemblyFormat = [{
    $x `:` type($x) `dimension` $dimension `over` $axes `from` $from `to` $to attr-dict
  }];
}

def Dist_FirstRankOp : Dist_Move<"first_rank"> {
  let summary = "the first rank of the axes keeps the value, the others have zeros; nothing is sent";
  let description = [{
    So a term that all ranks have counts once in a sum over them.

    **Constraints:**
    - both placements are ones of x
    - `axes` are partial in `to`, a sum, and `from` is `to` without them
  }];
  let arguments = (ins AnyType:$x, StrArrayAttr:$axes, Dist_PlacementAttr:$from,
                       Dist_PlacementAttr:$to);
  let assemblyFormat = "$x `:` type($x) `over` $axes `from` $from `to` $to attr-dict";
}

//===----------------------------------------------------------------------===//
// Cross-entropy over a sharded vocabulary
//===----------------------------------------------------------------------===//

class Dist_LossOp<string mnemonic> : Dist_Op<mnemonic, [Pure]> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Dist_LogitMaximumOp : Dist_LossOp<"logit_maximum"> {
  let summary = "the largest of every row's logits";
  let description = [{
    Logits are those of `model.cross_entropy`, of which this and the next three
    ops are the parts: a rank has some of the vocabulary, and ranks exchange
    three numbers a row, never logits.

    **Constraints:**
    - x is [rows, K] in f32, the weight static [V, K]; the result is [rows] in f32
    - scale is finite; softcap is not negative
  }];
  let arguments = (ins AnyType:$x, AnyType:$weight, F32Attr:$scale, F32Attr:$softcap);
  let results = (outs AnyType:$result);
}

def Dist_LogitSumsOp : Dist_LossOp<"logit_sums"> {
  let summary = "of every row the sum of exp(logit - maximum), and its target's logit";
  let description = [{
    A target that a rank's part of the vocabulary does not have counts zero.

    **Constraints:**
    - x, weight, scale and softcap are as for `dist.logit_maximum`
    - targets are [rows] in i32, the maximum is [rows] in f32; the result is [rows, 2] in f32
  }];
  let arguments = (ins AnyType:$x, AnyType:$weight, AnyType:$targets, AnyType:$maximum,
                       F32Attr:$scale, F32Attr:$softcap);
  let results = (outs AnyType:$result);
}

def Dist_LossesOp : Dist_LossOp<"losses"> {
  let summary = "weights * (log(sum) + maximum - target's logit)";
  let description = [{
    **Constraints:**
    - maximum, weights and the result are [rows] in f32, the sums [rows, 2]
  }];
  let arguments = (ins AnyType:$maximum, AnyType:$sums, AnyType:$weights);
  let results = (outs AnyType:$result);
}

def Dist_LossGradientsOp : Dist_LossOp<"loss_gradients"> {
  let summary = "dx and dweight of model.cross_entropy";
  let description = [{
    **Constraints:**
    - x, weight, targets, scale and softcap are as for `dist.logit_sums`
    - weights and maximum are [rows] in f32, the sums [rows, 2]
    - dx has x's type, dweight the weight's shape in f32
  }];
  let arguments = (ins AnyType:$x, AnyType:$weight, AnyType:$targets, AnyType:$weights,
                       AnyType:$maximum, AnyType:$sums, F32Attr:$scale, F32Attr:$softcap);
  let results = (outs AnyType:$dx, AnyType:$dweight);
}

#endif // BATON_DIALECTS_DIST_OPS
