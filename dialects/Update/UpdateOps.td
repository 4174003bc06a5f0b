//===- UpdateOps.td - the update dialect: optimizers -----------------------===//

#ifndef BATON_DIALECTS_UPDATE_OPS
#define BATON_DIALECTS_UPDATE_OPS

include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Update_Dialect : Dialect {
  let name = "update";
  let cppNamespace = "::baton::update";
  let summary = "Optimizers: what becomes of a parameter when its gradient is known";
  let description = [{
    A rule is a program over whole tensors: the parameter, its gradient, the
    states that it keeps from step to step. `update.map` is one pass over them,
    element by element; `update.sum` adds something up over all elements;
    `update.product` multiplies matrices. What stands around these are numbers,
    computed with ops of arith and math.

    ```mlir
    // Sutskever, Martens, Dahl and Hinton, 2013.
    update.rule @momentum states ["momentum"] {
    ^bb0(%parameter: tensor<?x?xf32>, %gradient: tensor<?x?xf32>, %momentum: tensor<?x?xf32>):
      %rate = update.number "learning_rate"
      %keep = update.number "momentum" default 0.9
      %p, %m = update.map (%w = %parameter, %g = %gradient, %old = %momentum) {
        %kept = arith.mulf %old, %keep : f32
        %new = arith.addf %kept, %g : f32
        %change = arith.mulf %new, %rate : f32
        %next = arith.subf %w, %change : f32
        update.yield %next, %new
      }
      update.return %p, %m
    }
    update.group @momentum
    ```

    Groups say which parameter takes which rule: the first group that fits. A
    map is a phase of tasks, a sum two, a product one: what a rule costs can be
    read off it. A parameter is a matrix of one layer, a vector one of one row.
    The gradient is the one of the whole step, already clipped, but for rules that
    are `unscaled`.

    A step whose loss or gradients are not finite changes nothing.

    States are F32, unless the rule gives one a format of blocks (`update.format`),
    in which it is kept as codes of 8 bits and a scale for each block. A state of
    the type `tensor<?x1xf32>` has a number for each row of the parameter, one of
    `tensor<1x?xf32>` for each column; sums along a dimension make such vectors, and
    maps spread them over the matrices beside which they read them.

    A learned optimizer is a rule with weights of its own: `update.weights` are what
    a run reads from a file, `update.dense` is a layer of a network that a map applies
    to each element.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

class Update_Op<string mnemonic, list<Trait> traits = []> : Op<Update_Dialect, mnemonic, traits>;

/// A matrix of any size.
def Update_Whole : Type<CPred<"::baton::update::isWhole($_self)">, "tensor<?x?xf32>">,
                   BuildableType<"::baton::update::wholeType($_builder.getContext())">;

/// A matrix, or a number for each of its rows or columns.
def Update_Tensor : Type<CPred<"::baton::update::isTensor($_self)">,
                         "tensor<?x?xf32>, tensor<?x1xf32> or tensor<1x?xf32>">;

/// Numbers that a run reads from a file.
def Update_Table : Type<CPred<"::baton::update::isTable($_self)">,
                        "a vector or matrix of f32 of fixed extents">;

//===----------------------------------------------------------------------===//
// Rules and groups
//===----------------------------------------------------------------------===//

def Update_RuleOp : Update_Op<"rule", [Symbol, IsolatedFromAbove, SingleBlock,
                                       DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "how a parameter and its states change";
  let description = [{
    The arguments are the parameter, its gradient and the states, in that order;
    states begin as zeros. With `wide`, a matrix that has more rows than columns
    is taken transposed, in all that the rule says of it. With `unscaled`, the
    gradient is what steps have added up, neither clipped nor divided by the scale of
    losses: of what is no loss's.

    `formats` names the `update.format` that a state is kept in. Maps and sums
    read the numbers that its codes stand for. The map that makes its new value
    goes through the tensor block by block, and every reader behind that map
    finds what the new codes stand for.

    **Constraints:**
    - there is one argument more than the parameter and one for each state; parameter and gradient are tensor<?x?xf32>, states that or tensor<?x1xf32> or tensor<1x?xf32>
    - states have different names, which are not empty
    - ends in `update.return`; other ops are those of update, and such ops of arith and math that compute one number from numbers
    - a number has one default wherever it stands
    - formats are of states of tensor<?x?xf32>, exist, and have blocks of one shape; with `wide` a multiple of 16 rows
    - what has a format is no operand of a product
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DefaultValuedAttr<StrArrayAttr, "{}">:$states,
                       OptionalAttr<DictionaryAttr>:$formats, UnitAttr:$wide, UnitAttr:$unscaled);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`states` $states^)? (`formats` $formats^)? (`wide` $wide^)? (`unscaled` $unscaled^)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getParameter() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getGradient() { return getBody().getArgument(1); }
    ::baton::update::ReturnOp getReturn();
    /// The state that a value is, before the step or after it; none of others.
    std::optional<unsigned> getState(::mlir::Value value);
    /// The format in which a value is kept, null of F32.
    ::baton::update::FormatOp getFormat(::mlir::Value value);
    /// Any of its formats, all of which have the same blocks; null without one.
    ::baton::update::FormatOp getAnyFormat();
  }];
}

def Update_FormatOp : Update_Op<"format", [Symbol, IsolatedFromAbove]> {
  let summary = "how numbers are kept as codes of 8 bits, with a scale for each block";
  let description = [{
    ```mlir
    // Signed codes, evenly apart.
    update.format @linear codes i8 blocks [32, 32] scale (%largest) {
      %most = arith.constant 127.0 : f32
      %scale = arith.divf %largest, %most : f32
      update.yield %scale
    } encode (%value, %scale) {
      %code = arith.divf %value, %scale : f32
      update.yield %code
    } decode (%code, %scale) {
      %value = arith.mulf %code, %scale : f32
      update.yield %value
    }
    ```

    A matrix is cut into blocks of so many rows and columns, in every layer, and
    for every expert, from its first element on; at its ends they are smaller. A
    vector is a matrix of one row. `scale` makes a block's scale of the largest
    magnitude in it, `encode` a code of each number, `decode` a number of each
    code. What `encode` yields is rounded to the nearest integer, of two the even
    one, and then to the nearest that `codes` has: those from -128 to 127 of `i8`,
    from 0 to 255 of `ui8`. What is no number becomes the least of them. Codes of a
    block whose scale is 0 are 0. A state begins with codes and scales of 0.

    **Constraints:**
    - codes are i8 or ui8
    - blocks have two extents, of at least one row, and of a multiple of 16 columns
    - regions yield one f32 each; their ops are those of arith and math that compute one number from numbers
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$codes, DenseI64ArrayAttr:$blocks);
  let regions = (region SizedRegion<1>:$scale, SizedRegion<1>:$encode, SizedRegion<1>:$decode);
  let assemblyFormat = [{
    $sym_name `codes` $codes `blocks` $blocks `scale` custom<Elements>($scale)
    `encode` custom<Elements>($encode) `decode` custom<Elements>($decode) attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getBlockRows() { return getBlocks()[0]; }
    int64_t getBlockColumns() { return getBlocks()[1]; }
    bool isUnsigned() { return getCodes().isUnsignedInteger(); }
  }];
}

def Update_ReturnOp : Update_Op<"return", [HasParent<"RuleOp">, Pure, Terminator]> {
  let summary = "the parameter and the states after the step";
  let description = [{
    They are written where the old ones lie.

    **Constraints:**
    - there is a value for the parameter and each state, of its type; each is a result of a map, all different
    - no op after that map reads the old value
  }];
  let arguments = (ins Variadic<Update_Tensor>:$values);
  let assemblyFormat = "custom<Tensors>($values, type($values)) attr-dict";
  let hasVerifier = 1;
}

def Update_GroupOp : Update_Op<"group", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "which parameters take a rule";
  let description = [{
    The first group of the module that fits a parameter says what becomes of it.
    A group fits if any of `names` does, a pattern with `*` and `?` for the name
    in the checkpoint or in the program, and the rank, if it has one. `numbers`
    are fixed for the group's parameters; others have the values that the run
    gives them.

    **Constraints:**
    - the rule exists, and has every number of `numbers`
    - `numbers` are of f32
    - the rank is 1 or 2
    - patterns can be parsed
  }];
  let arguments = (ins FlatSymbolRefAttr:$rule, OptionalAttr<StrArrayAttr>:$names,
                       OptionalAttr<I64Attr>:$rank, OptionalAttr<DictionaryAttr>:$numbers);
  let assemblyFormat = [{
    $rule (`names` $names^)? (`rank` $rank^)? (`numbers` $numbers^)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

def Update_NumberOp : Update_Op<"number", [Pure]> {
  let summary = "a number that the run sets";
  let description = [{
    `step` counts the updates from 1 on, `learning_rate` is what the schedule
    says of this step. Others have defaults, which the run may replace.

    **Constraints:**
    - the name is not empty
    - there is a default, a finite one, unless the name is `step` or `learning_rate`
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<F32Attr>:$initial);
  let results = (outs F32:$result);
  let assemblyFormat = "$name (`default` $initial^)? attr-dict";
  let hasVerifier = 1;
}

def Update_ExtentOp : Update_Op<"extent", [Pure]> {
  let summary = "rows (0) or columns (1) of a tensor";
  let description = [{
    **Constraints:**
    - the dimension is 0 or 1
  }];
  let arguments = (ins Update_Whole:$tensor, I64Attr:$dimension);
  let results = (outs F32:$result);
  let assemblyFormat = "$tensor `,` $dimension attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Weights of learned optimizers
//===----------------------------------------------------------------------===//

def Update_WeightsOp : Update_Op<"weights", [Pure]> {
  let summary = "a learned optimizer's weights, which a run reads from a file";
  let description = [{
    The name is a tensor's of the run's `--optimizer-weights`, a safetensors file.
    With `default`, all elements, row by row, a file may lack it. Rules that name
    one tensor have it in common.

    ```mlir
    %weight = update.weights "network.input.weight" : tensor<32x39xf32>
    %offsets = update.weights "rms_decays" default [0.0108] : tensor<1xf32>
    ```

    **Constraints:**
    - the name is not empty
    - the type is tensor<Nxf32> or tensor<NxMxf32>, with extents of at least 1
    - defaults are finite, and one for each element
    - a name has one type and one default wherever it stands in the module
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<DenseF32ArrayAttr>:$initial);
  let results = (outs Update_Table:$result);
  let assemblyFormat = "$name (`default` $initial^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many numbers these are.
    int64_t getCount() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType()).getNumElements();
    }
  }];
}

def Update_ElementOp : Update_Op<"element", [Pure]> {
  let summary = "one of the weights";
  let description = [{
    ```mlir
    %offset = update.element %offsets[0] : tensor<3xf32>
    ```

    **Constraints:**
    - there is an index for each dimension, within its extent
    - the weights are those of an `update.weights`
  }];
  let arguments = (ins Update_Table:$weights, DenseI64ArrayAttr:$index);
  let results = (outs F32:$result);
  let assemblyFormat = "$weights `` $index attr-dict `:` type($weights)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Its place among the weights, row by row.
    int64_t getPlace();
  }];
}

def Update_DenseOp : Update_Op<"dense", [Pure, HasParent<"MapOp">]> {
  let summary = "a layer of a network, of one element's numbers";
  let description = [{
    Of the inputs x, n of them, it makes m numbers: of each row of the weights, the
    bias plus the sum of products with the inputs, in their order, each a fused
    multiply-add. With `relu` what is below 0 becomes 0.

    ```mlir
    %h:2 = update.dense %weight, %bias (%g, %m, %p) relu : tensor<2x3xf32>
    ```

    A map goes through a tensor some elements at a time: for these it computes the
    inputs of the first layer, the layers, and what the region yields. Only a
    worker's scratch holds what lies between, a few KiB.

    **Constraints:**
    - weights are of m rows and n columns, the bias of m numbers, both of an `update.weights`
    - there are n inputs and m results
    - stands in an `update.map` that makes no state kept in a format
  }];
  let arguments = (ins Update_Table:$weights, Update_Table:$bias, Variadic<F32>:$inputs,
                       UnitAttr:$relu);
  let results = (outs Variadic<F32>:$results);
  let assemblyFormat = [{
    $weights `,` $bias `(` $inputs `)` (`relu` $relu^)? attr-dict `:`
    custom<Layer>(type($weights), type($bias), type($results))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Whole tensors
//===----------------------------------------------------------------------===//

class Update_Pass<string mnemonic, dag attributes = (ins)>
    : Update_Op<mnemonic, [Pure, SingleBlock]> {
  let arguments = !con((ins Variadic<Update_Tensor>:$inputs), attributes);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::baton::update::YieldOp getYield();
  }];
}

def Update_MapOp : Update_Pass<"map"> {
  let summary = "computes tensors, element by element";
  let description = [{
    The region gets an element of each input; what it yields are elements of the
    results. Numbers of the rule are seen from inside. Inputs of another type than
    tensor<?x?xf32> say so; those that have one row, or one column, have the same
    element for all of a dimension that another input has. Results have one row, or
    one column, if all inputs do.

    ```mlir
    %u = update.map (%g = %gradient, %r = %row : tensor<?x1xf32>) {
      %scaled = arith.mulf %g, %r : f32
      update.yield %scaled
    }
    ```

    **Constraints:**
    - reads at least one tensor and makes at least one
    - the region's arguments are f32, one for each input; it yields an f32 for each result
    - ops are those of arith and math that compute one number from numbers, and `update.dense`
  }];
  let results = (outs Variadic<Update_Tensor>:$results);
}

def Update_SumOp : Update_Pass<"sum", (ins OptionalAttr<I64Attr>:$dimension)> {
  let summary = "adds up what a region computes of every element";
  let description = [{
    In one order for each shape, whatever the number of workers. With `dimension`
    1 the columns of each row are added up, and there is a result for each row,
    tensor<?x1xf32>; with 0 the rows of each column, tensor<1x?xf32>.

    ```mlir
    %row = update.sum (%g = %gradient) dimension 1 {
      %square = arith.mulf %g, %g : f32
      update.yield %square
    }
    ```

    **Constraints:**
    - the dimension is 0 or 1, and all inputs are tensor<?x?xf32> then
    - reads at least one tensor and makes at least one number
    - the region's arguments are f32, one for each input; it yields an f32 for each result
    - ops are those of arith and math that compute one number from numbers
  }];
  let results = (outs Variadic<AnyTypeOf<[F32, Update_Tensor]>>:$results);
}

def Update_YieldOp : Update_Op<"yield", [Pure, Terminator, ParentOneOf<["MapOp", "SumOp", "FormatOp"]>]> {
  let summary = "what a region makes of one element";
  let arguments = (ins Variadic<F32>:$values);
  let assemblyFormat = "$values attr-dict";
}

def Update_ProductOp : Update_Op<"product", [Pure]> {
  let summary = "a product of matrices, either of them transposed or not";
  let description = [{
    **Constraints:**
    - the operands are not the gradient, which only maps and sums scale
  }];
  let arguments = (ins Update_Whole:$left, Update_Whole:$right,
                       UnitAttr:$transpose_left, UnitAttr:$transpose_right);
  let results = (outs Update_Whole:$result);
  let assemblyFormat = [{
    $left (`transposed` $transpose_left^)? `,` $right (`transposed` $transpose_right^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // BATON_DIALECTS_UPDATE_OPS
