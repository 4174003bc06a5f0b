//===- DistOps.td - the dist dialect: one model over many ranks -----------===//

#ifndef BATON_DIALECTS_DIST_OPS
#define BATON_DIALECTS_DIST_OPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

include "../Model/Segments.td"

//===----------------------------------------------------------------------===//
// Dialect
//===----------------------------------------------------------------------===//

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::baton::dist";
  let summary = "One model over many ranks: a mesh, placements, collectives, pipelines";
  let description = [{
    Types stay those of the whole model. A placement says which part of a tensor
    a rank has, and attributes say it of values:

    | attribute         | on              | what                                                  |
    |-------------------|-----------------|-------------------------------------------------------|
    | `dist.placements` | any op          | where its results lie; of a stack, also what it carries |
    | `dist.arguments`  | `model.program` | where its arguments lie                               |
    | `dist.planned`    | `model.program` | axes that shard parameters where placements state it, and nowhere else |
    | `dist.operands`   | any op          | how the op reads its operands                         |
    | `dist.computed`   | any op          | how its results come out, before a reshard            |
    | `dist.gradient`   | `model.gradient`| where the gradient lies, if not as its parameter      |
    | `dist.shared_heads` | attention     | every rank has all key/value heads                    |
    | `dist.summed`     | `model.gradient`| axes over whose ranks the gradient is a sum, made once a step ends with an update |
    | `dist.scattered`  | `model.gradient`| of that sum a rank needs only its part, once a step ends with an `"update"`, or of each `"step"` |
    | `dist.scattered_over` | `model.gradient`| the axes whose ranks have different parts, if not all of the sum's: others have the same |
    | `dist.gathered`   | `model.parameter`| axes over whose ranks parts of it are gathered before the ops of its block |
    | `dist.part_of`    | `model.stack`   | of a stage's part: the first layer of the model's stack that it is cut from, if that is not layer 0 |

    sharding-propagation writes them, insert-reshards makes them true, and
    verify-sharding shows that they are.

    **Constraints:**
    - the dialect's attributes are those of this table
    - `dist.placements` and `dist.computed` have a placement for each result, `dist.operands` one for each operand, `dist.arguments` one for each argument of the program, `dist.gradient` is one
    - every placement is one of its value: see `dist.placement`
    - `dist.planned`, `dist.summed` and `dist.gathered` name different axes of the mesh, at least one
    - `dist.part_of` is at least 1, on a stack of a `dist.stage`, or of a program with `dist.position`
    - `dist.scattered` is `"update"` or `"step"`, beside `dist.summed`
    - `dist.scattered_over` names some axes of `dist.summed`, not all, beside `dist.scattered`
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
/// tensor that a rank has, a formula in the step's symbols. In one rank's
/// program types are those of what the rank has: of rows or columns, a part.
class Dist_Collective<string mnemonic> : Dist_Op<mnemonic, [Pure]> {
  let results = (outs AnyType:$result);
  let hasVerifier = 1;
  let arguments = (ins AnyType:$x, StrArrayAttr:$axes, I64Attr:$dimension, Dist_PlacementAttr:$from,
                       Dist_PlacementAttr:$to, StrAttr:$payload);
  let assemblyFormat = [{
    $x `:` custom<LocalTypes>(type($x), type($result)) `dimension` $dimension `over` $axes `from` $from `to` $to `payload` $payload attr-dict
  }];
}

def Dist_AllReduceOp : Dist_Move<"all_reduce"> {
  let summary = "a partial value becomes whole on all ranks";
  let description = [{
    With the attribute `dist.joined` its tensor goes along with that of the all_reduce
    before it: what is communicated at once is a run of such ops.

    **Constraints:**
    - both placements are ones of x
    - `axes` are partial in `from`, and `to` is `from` without them
    - the payload are the bytes of what a rank has
    - of a joined one, the op before is another all_reduce over the same axes, and x no result of its run
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
    - both placements are ones of the result
    - x and the result are of one type, or, in one rank's program, differ in the dimension: rows or numbers, and x's part of them for as many ranks as the axes have
    - `axes` are the last ones of the dimension in `from`, and `to` is `from` without them
    - the payload are the bytes of what a rank has afterwards
  }];
}

def Dist_ReduceScatterOp : Dist_Collective<"reduce_scatter"> {
  let summary = "a partial value becomes shards: every rank gets its part of the whole";
  let description = [{
    **Constraints:**
    - both placements are ones of x
    - x and the result are of one type, or, in one rank's program, differ in the dimension: rows, and the result's part of them for as many ranks as the axes have
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

def Dist_SliceOp : Dist_Op<"slice", [Pure]> {
  let summary = "every rank keeps its shard of what all have; nothing is sent";
  let description = [{
    **Constraints:**
    - both placements are ones of x
    - x and the result are of one type, or, in one rank's program, differ in the dimension: numbers, and the result's part of them
    - `axes` are the last ones of the dimension in `to`, and `from` is `to` without them
  }];
  let arguments = (ins AnyType:$x, StrArrayAttr:$axes, I64Attr:$dimension, Dist_PlacementAttr:$from,
                       Dist_PlacementAttr:$to);
  let results = (outs AnyType:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $x `:` custom<LocalTypes>(type($x), type($result)) `dimension` $dimension `over` $axes `from` $from `to` $to attr-dict
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
// Rows that go to experts of other ranks
//===----------------------------------------------------------------------===//

def Dist_ExchangeCountsOp : Dist_Op<"exchange_counts", [Pure, Model_Segments]> {
  let summary = "how many rows come to each of a rank's experts, and from whom";
  let description = [{
    ```mlir
    %received, %counts = dist.exchange_counts %bounds over ["ep"] payload "4 * 2 * 16"
      : (!model.tensor<5 x i32>) -> (!model.tensor<4 x i32>, !model.tensor<2 x 16 x i32>)
    ```
    In one rank's program. Ranks along `axes` have other rows each, and have sent
    them to places, expert by expert, of all E experts. Each of the n ranks has E / n
    of these, the first ones the first rank. It tells the others how many rows
    they get for each of theirs; `counts[j][e]` are what the rank at place j sends to
    its expert e. So expert e gets the places `result[e]` to `result[e + 1]`, in
    which rows lie rank by rank. Those that nobody has sent anything to are the last
    segment: there is room for all rows of all ranks.

    **Constraints:**
    - bounds are made by `model.dispatch`, without axes, of E experts, which the axes' ranks divide
    - the result is `E / n + 2 x i32`
    - counts are `n x w x i32`, w the next multiple of 16 from E / n on
    - the payload are the bytes of counts
  }];
  let arguments = (ins AnyType:$bounds, StrArrayAttr:$axes, StrAttr:$payload);
  let results = (outs AnyType:$result, AnyType:$counts);
  let assemblyFormat = [{
    $bounds `over` $axes `payload` $payload attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t countExperts();
    bool hasOthers() { return true; }
    ::mlir::Value getSegmentBounds() { return getResult(); }
    /// The ranks that exchange rows, and the places of a row's experts.
    int64_t countRanks();
    int64_t countChoices();
  }];
}

/// Rows of places, to the ranks of their experts or back. The payload are the
/// bytes of what a rank has of its own rows' places.
class Dist_RowExchange<string mnemonic, string text> : Dist_Op<mnemonic, [Pure, Model_PlacesMove]> {
  let summary = text;
  let arguments = (ins AnyType:$x, AnyType:$bounds, AnyType:$received, AnyType:$counts,
                       StrArrayAttr:$axes, StrAttr:$payload);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $x `,` $bounds `,` $received `,` $counts `over` $axes `payload` $payload attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Dist_DispatchRowsOp : Dist_RowExchange<"dispatch_rows", "rows go to the ranks of their experts"> {
  let description = [{
    What stands at the places `bounds` of a rank's own rows goes to the places
    `received` of the rank that has the expert: of each expert rank by rank, and of
    each rank in the order in which it was.

    **Constraints:**
    - received and counts are made by one `dist.exchange_counts` of bounds, over the same axes
    - x is `rows x k x K x f32`, of places of rows with k experts; the result is `rows x n k x K x f32`
    - the payload are the bytes of x
  }];
  let extraClassDeclaration = "::mlir::Value getBoundsOfResult() { return getReceived(); }";
}

def Dist_CombineRowsOp : Dist_RowExchange<"combine_rows", "what experts have made of rows goes back to the ranks of the rows"> {
  let description = [{
    The same backwards: it is the adjoint of `dist.dispatch_rows`, as that is its.

    **Constraints:**
    - received and counts are made by one `dist.exchange_counts` of bounds, over the same axes
    - the result is `rows x k x K x f32`, of places of rows with k experts; x is `rows x n k x K x f32`
    - the payload are the bytes of the result
  }];
  let extraClassDeclaration = "::mlir::Value getBoundsOfResult() { return getBounds(); }";
}

//===----------------------------------------------------------------------===//
// Cross-entropy over a sharded vocabulary
//===----------------------------------------------------------------------===//

class Dist_LossOp<string mnemonic, list<Trait> traits = []> : Dist_Op<mnemonic, [Pure] # traits> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

/// One that makes a rank's logits. `before`: how its operands before a teacher's read.
class Dist_LogitOp<string mnemonic, string before> : Dist_LossOp<mnemonic, [AttrSizedOperandSegments]> {
  let assemblyFormat = before # [{ (`,` $teacher^)? (`bias` $bias^)? attr-dict `:` functional-type(operands, results) }];
}

def Dist_LogitMaximumOp : Dist_LogitOp<"logit_maximum", "$x `,` $weight"> {
  let summary = "the largest of every row's logits";
  let description = [{
    Logits are those of `model.cross_entropy`, of which this and the next three
    ops are the parts: a rank has some of the vocabulary, and ranks exchange
    three numbers a row, never logits. With a teacher they are eight: the second
    maximum is that of tokens which the teacher does not name.

    **Constraints:**
    - x is [rows, K] in f32, the weight static [V, K], a bias [V]
    - a teacher is its tokens, [rows, N] in i32, and its numbers, [rows, N + 5] in f32
    - the result is [rows] in f32, with a teacher [rows, 2]
    - scale is finite; softcap is not negative
  }];
  let arguments = (ins AnyType:$x, AnyType:$weight, Variadic<AnyType>:$teacher,
                       Optional<AnyType>:$bias, F32Attr:$scale, F32Attr:$softcap);
  let results = (outs AnyType:$result);
}

def Dist_LogitSumsOp : Dist_LogitOp<"logit_sums", "$x `,` $weight `,` $targets `,` $maximum"> {
  let summary = "of every row the sum of exp(logit - maximum), and its target's logit";
  let description = [{
    A target that a rank's part of the vocabulary does not have counts zero. With a
    teacher, whose temperature is T, also: the sums of exp((logit - maximum) / T) over
    all tokens, and over those that it does not name, relative to their own maximum;
    and over those that it names, of what its divergence adds up, and of their
    probabilities, the teacher's or, in reverse, those of the logits (see the body
    `teacher_statistics`).

    **Constraints:**
    - x, weight, the teacher, scale and softcap are as for `dist.logit_maximum`
    - targets are [rows] in i32, the maximum is that op's; the result is [rows, 2] in f32, with a teacher [rows, 6]
  }];
  let arguments = (ins AnyType:$x, AnyType:$weight, AnyType:$targets, AnyType:$maximum,
                       Variadic<AnyType>:$teacher, Optional<AnyType>:$bias,
                       F32Attr:$scale, F32Attr:$softcap);
  let results = (outs AnyType:$result);
}

def Dist_LossesOp : Dist_LossOp<"losses"> {
  let summary = "weights * (log(sum) + maximum - target's logit)";
  let description = [{
    With a teacher the three losses of `model.cross_entropy`.

    **Constraints:**
    - weights and the result are [rows] in f32, with a teacher the result [rows, 3]
    - maximum and sums are as those ops make them; a teacher is its numbers
  }];
  let arguments = (ins AnyType:$maximum, AnyType:$sums, AnyType:$weights,
                       Variadic<AnyType>:$teacher);
  let results = (outs AnyType:$result);
}

def Dist_LossGradientsOp
    : Dist_LogitOp<"loss_gradients", "$x `,` $weight `,` $targets `,` $weights `,` $maximum `,` $sums"> {
  let summary = "dx, dweight and dbias of model.cross_entropy";
  let description = [{
    **Constraints:**
    - x, weight, targets, the teacher, the bias, scale and softcap are as for `dist.logit_sums`
    - weights are [rows] in f32, maximum and sums as those ops make them
    - dx has x's type, dweight the weight's shape in f32
    - with a bias, and only then, there is a dbias of its shape in f32
  }];
  let arguments = (ins AnyType:$x, AnyType:$weight, AnyType:$targets, AnyType:$weights,
                       AnyType:$maximum, AnyType:$sums, Variadic<AnyType>:$teacher,
                       Optional<AnyType>:$bias, F32Attr:$scale, F32Attr:$softcap);
  let results = (outs AnyType:$dx, AnyType:$dweight, Optional<AnyType>:$dbias);
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

def Dist_PhaseAttr : I32EnumAttr<"PhaseKind", "a third of a training step", [
    I32EnumAttrCase<"forward", 0>, I32EnumAttrCase<"input", 1>, I32EnumAttrCase<"weight", 2>]> {
  let cppNamespace = "::baton::dist";
}

def Dist_NeighborAttr : I32EnumAttr<"Neighbor", "the position before or after", [
    I32EnumAttrCase<"previous", 0>, I32EnumAttrCase<"next", 1>]> {
  let cppNamespace = "::baton::dist";
}

def Dist_ScheduleOp : Dist_Op<"schedule"> {
  let summary = "which stage of a pipeline does what, in which order";
  let description = [{
    ```mlir
    dist.schedule "1f1b" over "pipe" microbatches 3 fused in_flight [2, 1]
      tables ["F0 F1 B0 W0 F2 B1 W1 B2 W2", "F0 B0 W0 F1 B1 W1 F2 B2 W2"]
    ```
    Stages are the ranks of an axis of the mesh. Each has `chunks` parts of the
    model: part `chunk * stages + stage` is its position, and stages run the
    phases that `dist.stage` has for a position. A table is what a stage executes,
    for each microbatch and chunk forward (F), gradients of inputs (B) and
    gradients of parameters (W): `F3`, or `F3.1` for chunk 1.

    `in_flight` is how many microbatches of a stage's chunks are between the begin
    of their forward phase and the end of their weight phase: what they keep is
    there so many times. In a `fused` schedule both halves of a backward step are
    one: gradients are sent after the weight phase.

    **Constraints:**
    - stands in the body of a training program, which has one schedule
    - the module has a mesh with this axis
    - there is at least one microbatch and at least one chunk
    - each stage has a table, and a number in flight
    - tables consist of steps
    - no step is missing, twice or too early, and no stages wait for one another: see `ScheduleProof.h`
    - `in_flight` is what the tables reach
    - each position is in one `dist.stage`
    - what a position sends to another one is what that one receives, in number, order, type and placement
    - the first position has nothing before it, the last one nothing after it
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$axis, I64Attr:$microbatches,
                       DefaultValuedAttr<I64Attr, "1">:$chunks, UnitAttr:$fused,
                       DenseI64ArrayAttr:$in_flight, StrArrayAttr:$tables);
  let assemblyFormat = [{
    $name `over` $axis `microbatches` $microbatches (`chunks` $chunks^)? (`fused` $fused^)?
    `in_flight` $in_flight `tables` $tables attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The axis' size; 0 without a mesh that has it.
    int64_t countStages();
    int64_t countPositions() { return countStages() * getChunks(); }
    /// The op as the object that generators, proof and simulator share. A word
    /// that is no step comes back in `wrong`.
    ::baton::pipeline::Schedule getSchedule(std::string *wrong = nullptr);
    /// The program's stage that has a position; null if there is none.
    StageOp findStage(int64_t position);
  }];
}

def Dist_StageOp : Dist_Op<"stage", [SingleBlock]> {
  let summary = "what becomes of a microbatch at some positions of a pipeline";
  let description = [{
    ```mlir
    dist.stage [1, 2] offsets [0, 4] {
      dist.phase forward
      %x = dist.receive from previous payload "32 * rows" : !model.tensor<rows x 8 x f32>
      %y = model.stack %x repeat 4 {first_layer = 4 : i64} ...
      dist.send %y to next payload "32 * rows" : !model.tensor<rows x 8 x f32>
      dist.phase input
      %dy = dist.receive from next payload "32 * rows" : !model.tensor<rows x 8 x f32>
      %dx = model.stack %dy repeat 4 reverse {first_layer = 4 : i64} ...
      dist.send %dx to previous payload "32 * rows" : !model.tensor<rows x 8 x f32>
      dist.phase weight
      model.stack repeat 4 reverse {first_layer = 4 : i64} ...
      dist.stage_end
    }
    ```
    Positions that differ in their layers' numbers alone are one op: at the n-th
    one, `first_layer` of its stacks is greater by the n-th offset. Phases run at
    different times; what one reads of an earlier one, saved values too, is kept
    for the microbatch. The results are the losses of a microbatch.

    **Constraints:**
    - stands in the body of a program, behind its `dist.schedule`
    - there is a position, positions ascend, and are ones of the schedule
    - there is an offset for each position; the first one is 0, none is negative
    - it begins with `dist.phase forward`, and has `input` and `weight` after it, once each and in this order
    - a phase begins with what it receives, and ends with what it sends
    - activations are received and sent in `forward`, gradients received in `input` and sent there, too, or in `weight` if the schedule is fused
    - of values around it, it reads the program's arguments alone
    - one with results has one position, and ends with a `dist.stage_end` of their types
  }];
  let arguments = (ins DenseI64ArrayAttr:$positions, DenseI64ArrayAttr:$offsets);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$positions `offsets` $offsets (`->` type($results)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Dist_PhaseOp : Dist_Op<"phase", [HasParent<"StageOp">]> {
  let summary = "what follows, up to the next one, is this phase of a stage";
  let arguments = (ins Dist_PhaseAttr:$phase);
  let assemblyFormat = "$phase attr-dict";
}

def Dist_StageEndOp : Dist_Op<"stage_end", [Pure, Terminator, HasParent<"StageOp">]> {
  let summary = "ends a stage, with the losses where the model ends";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

class Dist_MessageOp<string mnemonic>
    : Dist_Op<mnemonic, [ParentOneOf<["StageOp", "::baton::model::ProgramOp"]>]> {
  let hasVerifier = 1;
}

def Dist_SendOp : Dist_MessageOp<"send"> {
  let summary = "a value goes to the position before or after";
  let description = [{
    The first value that a phase sends is the first one that the other position
    receives, and so on. Ranks in the same place on all other axes exchange what
    they have.

    A stage of a model that decodes is a program of its own (`dist.position`), whose
    body sends and receives:
    ```mlir
    model.program @llama.stage0 max_seq 512 attributes {dist.position = ["pp", 0]} {
    ^bb0(%tokens: !model.tensor<rows x i32>):
      ...
      dist.send %y to next payload "4 * rows * 60" : !model.tensor<rows x 60 x f32>
      model.return %last : !model.tensor<outputs x 60 x f32>
    }
    ```

    **Constraints:**
    - in the body of a program, this is one with a position, and behind the op stands another one or the end; `to` is next
    - x is a tensor that has a gradient or is one: floating-point, with rows
    - the payload are the bytes of what a rank has
  }];
  let arguments = (ins AnyType:$x, Dist_NeighborAttr:$to, StrAttr:$payload);
  let assemblyFormat = "$x `to` $to `payload` $payload attr-dict `:` type($x)";
}

def Dist_ReceiveOp : Dist_MessageOp<"receive"> {
  let summary = "a value comes from the position before or after";
  let description = [{
    **Constraints:**
    - in the body of a program, this is one with a position, and before the op stands another one or nothing; `from` is previous
    - the result is as x of `dist.send`
    - the payload are the bytes of what a rank has
  }];
  let arguments = (ins Dist_NeighborAttr:$from, StrAttr:$payload);
  let results = (outs AnyType:$result);
  let assemblyFormat = "`from` $from `payload` $payload attr-dict `:` type($result)";
}

def Dist_SumGradientsOp : Dist_Op<"sum_gradients"> {
  let summary = "the gradient of a parameter that several stages have";
  let description = [{
    ```mlir
    %table = model.parameter ["wte"] : !model.tensor<131 x 60 x f32>
    dist.sum_gradients %table over [0, 3] payload "4 * 131 * 60" : !model.tensor<131 x 60 x f32>
    ```
    Once a step, after all microbatches: these stages add what each has of the
    parameter's gradient, in their order, and each has the sum then. An embedding's
    table that is the output projection, too, is on the first stage and on the
    last one.

    **Constraints:**
    - stands in the body of a program, behind its stages
    - of a `model.parameter`
    - there are at least two stages, they ascend, and are ones of the schedule
    - the payload are the bytes of what a rank has of the gradient, in f32
  }];
  let arguments = (ins AnyType:$parameter, DenseI64ArrayAttr:$stages, StrAttr:$payload);
  let assemblyFormat = "$parameter `over` $stages `payload` $payload attr-dict `:` type($parameter)";
  let hasVerifier = 1;
}

#endif // BATON_DIALECTS_DIST_OPS
