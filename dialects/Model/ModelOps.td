//===- ModelOps.td - the model dialect: what a transformer author writes -===//

#ifndef BATON_DIALECTS_MODEL_OPS
#define BATON_DIALECTS_MODEL_OPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

include "Differentiable.td"
include "Elementwise.td"
include "Segments.td"

//===----------------------------------------------------------------------===//
// Dialect
//===----------------------------------------------------------------------===//

def Model_Dialect : Dialect {
  let name = "model";
  let cppNamespace = "::baton::model";
  let summary = "Transformers, as their authors describe them";
  let description = [{
    A program computes logits for the tokens of one step. Tensor dimensions are
    numbers or one of three symbols that are known only when a step starts:

    | symbol    | meaning                                                   |
    |-----------|-----------------------------------------------------------|
    | `rows`    | tokens computed in this step                              |
    | `kv`      | positions that attention may see: those before, plus rows |
    | `outputs` | the last rows of the step, the ones that get logits       |

    Layers stay rolled: a `model.stack` repeats one pattern, and parameters
    inside name their tensors with `{layer}`.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Types, enumerations
//===----------------------------------------------------------------------===//

def Model_TensorType : TypeDef<Model_Dialect, "StepTensor"> {
  let mnemonic = "tensor";
  let summary = "a tensor whose dimensions are numbers or step symbols";
  let description = [{
    `!model.tensor<rows x 64 x f32>`. Symbols stand in `shape` as the negative
    codes of `DimensionSymbol`. In one rank's program `rows over 2` are the
    rank's part of the rows where positions are cut over 2 ranks.

    **Constraints:**
    - every number is at least 1
    - the element type is f32, f16, bf16, f64, i32 or `!model.quantized`
    - a symbol occurs at most once
    - rows are cut over 2 to 2^20 ranks
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    int64_t getDimension(int64_t i) const { return getShape()[i < 0 ? getRank() + i : i]; }
    bool isStatic() const;
    /// Same shape, other elements.
    StepTensorType withElementType(::mlir::Type type) const;
    StepTensorType withShape(::llvm::ArrayRef<int64_t> shape) const;
  }];
}

def Model_QuantizedType : TypeDef<Model_Dialect, "Quantized"> {
  let mnemonic = "quantized";
  let summary = "a weight's element: a small number, whose block has a scale";
  let description = [{
    `!model.quantized<"q4_k">`: each weight is the F32 number that its block's scales
    make of it, and what multiplies by it multiplies by that number. Formats have the
    names of ggml's: q8_0, q4_0, q4_1, q5_0, q5_1, q2_k, q3_k, q4_k, q5_k, q6_k; or are
    those of quantised checkpoints of Hugging Face: int4_g32, int4_g64, int4_g128,
    int8_g64, fp8_g64, nvfp4, mxfp4, nf4, fp4. Where layers of a stack differ,
    `"q4_k|q6_k"` lists them; `f16`, `bf16` and `f32` stand in a list for layers whose
    weights are not quantised.

    `!model.quantized<"q4_k", inputs = i8>`: linears also round what they multiply by
    it, of each row 32 inputs with a scale, to whole numbers of 8 bits, and multiply
    whole numbers. That is quicker, and another result. Layers whose weights are not
    quantised multiply inputs as they are.

    **Constraints:**
    - every format is one of these, none twice, and one at least is quantised
    - inputs are i8
    - quantised numbers that inputs in i8 are multiplied by are whole: ggml's, int4's and
      int8's
  }];
  let parameters = (ins StringRefParameter<"formats, separated by |">:$formats,
                        OptionalParameter<"::mlir::Type", "what inputs of linears are rounded to">:$inputs);
  let assemblyFormat = "`<` $formats (`,` `inputs` `=` $inputs^)? `>`";
  let builders = [TypeBuilder<(ins "::llvm::StringRef":$formats), [{
    return Base::get($_ctxt, formats, ::mlir::Type());
  }]>];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isMixed() const { return getFormats().contains('|'); }
    /// Whether the numbers of all formats are whole ones of 8 bits.
    bool hasWholeNumbers() const;
  }];
}

def Model_Activation : I32EnumAttr<"Activation", "an element-wise function at the end of a linear", [
    I32EnumAttrCase<"identity", 0>, I32EnumAttrCase<"silu", 1>, I32EnumAttrCase<"gelu", 2>,
    I32EnumAttrCase<"gelu_tanh", 3>, I32EnumAttrCase<"relu", 4>,
    // Of gated products only, whose other factor it changes too.
    I32EnumAttrCase<"clamped_swiglu", 5>]> {
  let cppNamespace = "::baton::model";
  let genSpecializedAttr = 0;
}
def Model_ActivationAttr : EnumAttr<Model_Dialect, Model_Activation, "activation"> {
  let assemblyFormat = "`<` $value `>`";
}

def Model_Norm : I32EnumAttr<"Norm", "a normalisation at the start of a linear", [
    I32EnumAttrCase<"identity", 0>, I32EnumAttrCase<"rms", 1>, I32EnumAttrCase<"layer", 2>]> {
  let cppNamespace = "::baton::model";
  let genSpecializedAttr = 0;
}
def Model_NormAttr : EnumAttr<Model_Dialect, Model_Norm, "norm"> {
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Model_ShardAttr : AttrDef<Model_Dialect, "Shard"> {
  let mnemonic = "shard";
  let summary = "which part of a dimension a rank has";
  let description = [{
    ```mlir
    #model.shard<0 of 96 over ["tp"]>
    #model.shard<0 of 131 over ["tp"] by 1 units [66, 65]>
    ```
    Of so many indices of a dimension every rank of the axes has an equal part; or,
    with units, they come in blocks of `granularity` indices, of which the i-th rank
    has the next `units[i]`. The last block may be shorter.
  }];
  let parameters = (ins "int64_t":$dimension, "int64_t":$extent, "::mlir::ArrayAttr":$axes,
                        "int64_t":$granularity, ArrayRefParameter<"int64_t">:$units);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Indices of the largest part, which memory for it has.
    int64_t getPart(int64_t ranks) const;
  }];
}

//===----------------------------------------------------------------------===//
// Op classes
//===----------------------------------------------------------------------===//

class Model_Op<string mnemonic, list<Trait> traits = []> : Op<Model_Dialect, mnemonic, traits>;

/// An op with an adjoint, whose cost it may state.
defvar Model_Adjoint = DeclareOpInterfaceMethods<Model_Differentiable>;
defvar Model_ParameterAdjoint = DeclareOpInterfaceMethods<Model_Differentiable, ["differentiateParameters"]>;
defvar Model_ParameterProductAdjoint = DeclareOpInterfaceMethods<Model_Differentiable, ["differentiateParameters", "getProductFlops"]>;
defvar Model_ProductAdjoint = DeclareOpInterfaceMethods<Model_Differentiable, ["getProductFlops"]>;

/// An op whose text form is its operands, attributes and a functional type.
class Model_PlainOp<string mnemonic, list<Trait> traits = [Pure]> : Model_Op<mnemonic, traits> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

class Model_Unary<string mnemonic, string text, list<Trait> traits = []>
    : Model_PlainOp<mnemonic, [Pure, Model_Adjoint] # traits> {
  let summary = text;
  let description = [{
    **Constraints:**
    - operand and result have the same type
    - elements are floating-point
  }];
  let arguments = (ins Model_TensorType:$x);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return verifySameTypeUnary(*this, getX(), getResult());
    }
  }];
}

/// The body of an element-wise op has the op's name.
class Model_ElementwiseUnary<string mnemonic, string text>
    : Model_Unary<mnemonic, text, [Model_Elementwise]>;

class Model_ElementwiseBinary<string mnemonic, string text>
    : Model_PlainOp<mnemonic, [Pure, Commutative, Model_Adjoint, Model_Elementwise]> {
  let summary = text;
  let description = [{
    **Constraints:**
    - both operands and the result have the same type
    - elements are floating-point
  }];
  let arguments = (ins Model_TensorType:$lhs, Model_TensorType:$rhs);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return verifySameTypeBinary(*this, getLhs(), getRhs(), getResult());
    }
  }];
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Model_ProgramOp : Model_Op<"program", [IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "what one step computes: token ids in, logits out";
  let description = [{
    ```mlir
    model.program @llama max_seq 512 {
    ^bb0(%tokens: !model.tensor<rows x i32>):
      ...
      model.return %logits : !model.tensor<outputs x 131 x f32>
    }
    ```
    `family` names the importer that wrote it: what config.json calls the
    `model_type` of its checkpoints, where programs that train compare it.

    With `training`, a step computes losses: its rows are the tokens of several
    sequences, none longer than `max_seq`, one behind the other.
    ```mlir
    model.program @llama max_seq 512 training {
    ^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>,
         %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
      ...
      model.return %loss : !model.tensor<rows x f32>
    }
    ```
    `positions` says where in its sequence each row stands, `targets` which token
    follows, and `weights` what its loss counts.

    With `batch`, a step decodes: its rows are of that many sequences at most, each
    none longer than `max_seq`, in any mix.
    ```mlir
    model.program @llama max_seq 512 batch 4 {
    ^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>,
         %sequences: !model.tensor<rows x i32>, %slots: !model.tensor<rows x i32>,
         %pages: !model.tensor<32 x i32>, %sampling: !model.tensor<outputs x 28 x i32>,
         %changes: !model.tensor<18432 x i32>):
      ...
      %masks = model.token_mask %sampling : ...
      %draws = model.sample %logits, %sampling, %changes, %masks : ...
      model.return %logits, %draws : !model.tensor<outputs x 131 x f32>, !model.tensor<outputs x 298 x i32>
    }
    ```
    With `inputs bf16`, linears and gated linears whose weights are bf16 round what
    they multiply by these to bf16; sums are f32. With `inputs bf16 amx` their order is
    that of AMX's TDPBF16PS, without it that of AVX512-BF16's VDPBF16PS. In training
    frozen linears do so, and so do the gradients of their inputs.
    ```mlir
    model.program @llama max_seq 512 inputs bf16 {
    ```

    `sequences` says of which sequence a row is, and `positions` where in it;
    `pages` has a line for each sequence: the pages in which its keys and values lie,
    64 positions each. `slots` are the places in them to which rows go. `sampling` and
    `changes` say what is drawn from logits.

    **Constraints:**
    - `max_seq` is at least 1 and at most 2^24
    - the body takes one argument, `!model.tensor<rows x i32>`; in training three of them and `!model.tensor<rows x f32>`, and perhaps `!model.tensor<rows x 4 x f32>`, the preferences, or `!model.tensor<rows x N x i32>` and `!model.tensor<rows x (N + 5) x f32>`, a teacher, N at least 1; of a batch four of them, the pages, and `outputs x 28 x i32` and a vector of i32 for `model.sample`
    - a batch is at least 1, at most 65536, and does not train
    - `inputs` is bf16, and `amx` stands behind it only; a program that trains has `amx`, too, or none
    - a state name is appended to by one op only, `model.kv_append` or of a batch `model.paged_append`, and by none in training
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$max_seq, OptionalAttr<StrAttr>:$family,
                       UnitAttr:$training, OptionalAttr<I64Attr>:$batch,
                       OptionalAttr<TypeAttr>:$inputs, UnitAttr:$amx);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `max_seq` $max_seq (`family` $family^)? (`training` $training^)? (`batch` $batch^)? (`inputs` $inputs^)? (`amx` $amx^)? attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// Pages that a longest sequence of a batch has.
    int64_t countPages() { return (int64_t(getMaxSeq()) + kPagePositions - 1) / kPagePositions; }
    /// Changes of logits that a sequence of a batch may have: of each of its
    /// tokens, and of those with a bias.
    int64_t countChanges() { return int64_t(getMaxSeq()) + kMostBiases; }
    /// Whether rows have positions of their own, instead of those behind the
    /// step's past.
    bool hasPositions() { return getTraining() || getBatch(); }
    /// Makes what depends on those behind the step's past read these instead.
    void readPositions(::mlir::Value positions);
    /// All ops of a kind; they may be erased meanwhile.
    template <typename OpT> ::llvm::SmallVector<OpT> all() {
      ::llvm::SmallVector<OpT> ops;
      this->getOperation()->walk([&](OpT op) { ops.push_back(op); });
      return ops;
    }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Model_ReturnOp : Model_Op<"return", [Pure, Terminator, HasParent<"ProgramOp">]> {
  let summary = "ends a program with its logits, or its losses";
  let description = [{
    **Constraints:**
    - the first operand is `!model.tensor<outputs x V x f32>`, in training `!model.tensor<rows x f32>`, or `!model.tensor<rows x 4 x f32>`, as `model.router_loss` makes it, or `!model.tensor<rows x 7 x f32>`, as `model.preference_loss` does, or `!model.tensor<rows x 3 x f32>`, as `model.cross_entropy` does with a teacher
    - a batch has a second one, made by `model.sample`, and may have a third, `!model.tensor<rows x K x f32>`: hidden states that the runtime reads; others have none
  }];
  let arguments = (ins Variadic<Model_TensorType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let hasVerifier = 1;
}

def Model_StackOp : Model_Op<"stack", [SingleBlock]> {
  let summary = "repeats a pattern of blocks, each feeding the next";
  let description = [{
    The pattern is compiled once however often it is repeated. Iteration `i` has
    layer number `first_layer + i * layers_per_iteration`, which replaces
    `{layer}` in parameter names; `{layer+1}` names the next one, for patterns
    that hold several layers. With `reverse` the last layers come first:
    iteration i has the number that iteration `repeat - 1 - i` has without.

    **Constraints:**
    - `repeat` is 1 to 2^20, `first_layer` at least 0, `layers_per_iteration` at least 1
    - operands, block arguments, yielded values and results agree in number and type
    - carried tensors have `rows`, or a part of them, as their first dimension
  }];
  let arguments = (ins Variadic<Model_TensorType>:$inits, I64Attr:$repeat,
                       DefaultValuedAttr<I64Attr, "0">:$first_layer,
                       DefaultValuedAttr<I64Attr, "1">:$layers_per_iteration,
                       UnitAttr:$reverse);
  let results = (outs Variadic<Model_TensorType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $inits `repeat` $repeat (`reverse` $reverse^)? attr-dict `:` functional-type($inits, results) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    YieldOp getYield();
  }];
}

def Model_YieldOp : Model_Op<"yield", [Pure, Terminator, HasParent<"StackOp">]> {
  let summary = "hands values to the next iteration of a stack";
  let arguments = (ins Variadic<Model_TensorType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def Model_ParameterOp : Model_PlainOp<"parameter"> {
  let summary = "a tensor of the checkpoint";
  let description = [{
    ```mlir
    %w = model.parameter ["model.layers.{layer}.mlp.up_proj.weight"] : !model.tensor<100 x 60 x bf16>
    ```
    `sources` are alternative names, tried in order. With `transposed` the
    checkpoint stores the two dimensions swapped (GPT-2's Conv1D).

    With `blocks = [size, stride, offset]` the checkpoint stores a taller tensor,
    of which this one is every `stride`-th block: row `i` is stored row
    `i / size * stride + offset + i % size`. So parts of a fused projection are
    parameters of their own, laid out as the program wants them. A fourth number
    `pairs` says that of every so many of these rows the two halves are stored in
    turn: row `i` of them is stored as row `i % (pairs / 2) * 2 + i / (pairs / 2)`
    (rotary pairs that lie side by side).

    With `heads = [stride, offset]` the checkpoint stores a matrix, of which each
    index h of dimension 0 is a part: element [h, n, k] is stored in row
    `h * stride + offset + n`, column k; or, transposed, in row `h * stride + offset
    + k`, column n.

    Of names with `{expert}` index e of dimension 0 is the tensor of expert e; that is
    a vector or a matrix, and what is said of the dimensions of others is said of its.

    `plus` is added to every element (some models store norm weights less one).

    With `shards` a rank has a part of the tensor: its type is that of the largest
    part, and what others have less is zero. Each shard cuts a dimension of what
    those before it have left. `blocks` are of the whole tensor.

    A tensor that is `frozen` does not train: it has no gradient.

    In a stack whose layers are stored in different formats, `model.layer_formats` says of
    each layer which of its type's it has, so that it takes the room of that one.

    **Constraints:**
    - there is at least one name, none empty
    - the type is static, with floating-point elements
    - `transposed` needs two dimensions, besides that of experts or heads
    - `{layer}` occurs only inside a stack
    - `{expert}` is in all names or in none, and needs one or two dimensions more; of tensors that are transposed or in blocks shards have whole experts
    - `blocks` has three numbers: a size that divides dimension 0, a stride, and an offset that leaves room for a block; and may have an even fourth one, which divides the size
    - `heads` needs three dimensions, and neither blocks nor experts: a stride, and an offset that leaves room for a head; shards have whole heads, equally many each
    - `plus` is finite, and not zero only for one dimension
    - a shard is of a dimension, over axes that no other one is over, at least one
    - units are not negative, for blocks of at least 1 index, as many as the extent has
    - the last shard of a dimension leaves what the type has of it: a divisor of the extent, or the most units
    - one before it in the same dimension leaves the extent of the next one
    - `model.layer_formats` are those of a stack's layers, of a type with several: for each layer one of these
  }];
  let arguments = (ins StrArrayAttr:$sources, UnitAttr:$transposed,
                       OptionalAttr<DenseI64ArrayAttr>:$blocks,
                       OptionalAttr<DenseI64ArrayAttr>:$heads,
                       DefaultValuedAttr<F32Attr, "0.0f">:$plus,
                       OptionalAttr<TypedArrayAttrBase<Model_ShardAttr, "an array of shards">>:$shards,
                       UnitAttr:$frozen);
  let results = (outs Model_TensorType:$result);
  let assemblyFormat = "$sources (`transposed` $transposed^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::ArrayAttr":$sources,
                                 CArg<"bool", "false">:$transposed)>];
  let extraClassDeclaration = [{
    /// The shape of all ranks' parts together.
    ::llvm::SmallVector<int64_t> getWholeShape();
    /// The shape that the checkpoint stores.
    ::llvm::SmallVector<int64_t> getStoredShape();
    /// Whether each expert has a tensor of its own.
    bool isOfExperts();
    /// Whether dimension 0 is that of experts or heads.
    bool isOfSeveral() { return getHeads() || isOfExperts(); }
    /// Axes over which ranks have different parts.
    ::llvm::SmallVector<::mlir::Attribute> getShardAxes();
  }];
}

//===----------------------------------------------------------------------===//
// Rows in, rows out
//===----------------------------------------------------------------------===//

def Model_EmbeddingOp : Model_PlainOp<"embedding", [Pure, Model_ParameterAdjoint]> {
  let summary = "looks up a row of a table for every token";
  let description = [{
    `result[r] = table[tokens[r]] * multiplier`

    **Constraints:**
    - tokens are `rows x i32`; the table is static [vocabulary, width]
    - the result is `rows x width x f32`
    - the multiplier is finite and not zero
  }];
  let arguments = (ins Model_TensorType:$tokens, Model_TensorType:$table,
                       DefaultValuedAttr<F32Attr, "1.0f">:$multiplier);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_PositionEmbeddingOp : Model_PlainOp<"position_embedding"> {
  let summary = "looks up the row of a table at every token's absolute position";
  let description = [{
    **Constraints:**
    - the table is static [positions, width]; positions is at least the program's `max_seq`
    - the result is `rows x width x f32`
  }];
  let arguments = (ins Model_TensorType:$table);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_LinearOp : Model_Op<"linear", [Pure, AttrSizedOperandSegments, Model_ParameterProductAdjoint]> {
  let summary = "activation(norm(x) · weightᵀ + bias) + residual";
  let description = [{
    The plain form has `x` and `weight` only. The norm-rewrites pass moves a
    normalisation of the input, an activation and a residual sum into it.

    **Constraints:**
    - x is [R, K], R a symbol; the weight is static [N, K]; the result is [R, N] in f32
    - bias is [N]
    - `norm = rms` has a norm weight [K]; `norm = layer` may also have a norm bias [K]; without a norm there is neither
    - the residual has the result's type
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$weight,
                       Optional<Model_TensorType>:$bias,
                       Optional<Model_TensorType>:$norm_weight,
                       Optional<Model_TensorType>:$norm_bias,
                       Optional<Model_TensorType>:$residual,
                       DefaultValuedAttr<Model_NormAttr, "::baton::model::Norm::identity">:$norm,
                       DefaultValuedAttr<F32Attr, "0.0f">:$epsilon,
                       DefaultValuedAttr<Model_ActivationAttr, "::baton::model::Activation::identity">:$activation);
  let results = (outs Model_TensorType:$result);
  let assemblyFormat = [{
    $x `,` $weight (`bias` $bias^)? (`norm_weight` $norm_weight^)? (`norm_bias` $norm_bias^)?
    (`residual` $residual^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Model_HeadLinearOp : Model_PlainOp<"head_linear", [Pure, Model_ParameterProductAdjoint]> {
  let summary = "x · weightᵀ, each head by its own weight";
  let description = [{
    `result[r, h] = weight[h] · x[r, h]`: what attention to compressed states has
    before and behind it, where each head has a part of one matrix (DeepSeek-V2,
    2024).

    **Constraints:**
    - x is `rows x H x K x f32`, the result `rows x H x N x f32`
    - the weight is static `H x N x K`, N a multiple of 16
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$weight);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_GatedLinearOp : Model_Op<"gated_linear", [Pure, AttrSizedOperandSegments]> {
  let summary = "activation(norm(x) · gateᵀ + gate_bias) * (norm(x) · upᵀ + up_bias)";
  let description = [{
    The two products of a gated feed-forward layer as one op: both read the
    input once and the wide intermediates are never stored. linear-grouping
    makes it.

    **Constraints:**
    - x is [R, K], R a symbol; both weights are static [N, K] with equal types; the result is [R, N] in f32
    - both biases [N] are there, or neither
    - the norm's operands are as for `model.linear`
    - the activation is not `identity`
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$gate, Model_TensorType:$up,
                       Optional<Model_TensorType>:$gate_bias, Optional<Model_TensorType>:$up_bias,
                       Optional<Model_TensorType>:$norm_weight, Optional<Model_TensorType>:$norm_bias,
                       DefaultValuedAttr<Model_NormAttr, "::baton::model::Norm::identity">:$norm,
                       DefaultValuedAttr<F32Attr, "0.0f">:$epsilon,
                       Model_ActivationAttr:$activation);
  let results = (outs Model_TensorType:$result);
  let assemblyFormat = [{
    $x `,` $gate `,` $up (`gate_bias` $gate_bias^)? (`up_bias` $up_bias^)?
    (`norm_weight` $norm_weight^)? (`norm_bias` $norm_bias^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Model_RmsNormOp : Model_PlainOp<"rms_norm", [Pure, Model_ParameterAdjoint]> {
  let summary = "x / sqrt(mean(x²) + epsilon) * weight, over the last dimension";
  let description = [{
    **Constraints:**
    - x is [R, K] or, every head by itself, [R, H, K], R a symbol; the result has its type; weight is [K]
    - epsilon is not negative
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$weight, F32Attr:$epsilon);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_NormBeginOp : Model_PlainOp<"norm_begin", [Pure, Model_ParameterAdjoint]> {
  let summary = "x * weight, and the sum of x² over the last dimension: an rms norm but for its division";
  let description = [{
    What comes between the two halves of a norm has to be linear in x and the same
    for every row, as products are. Then the division can wait for the product, and
    where several ranks have parts of a row, for the sum over ranks that follows it:
    one sum has both (`defer-norms`).

    **Constraints:**
    - x is [R, K] in f32, R a symbol; scaled has its type; weight is [K]
    - squares are [R, 1] in f32
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$weight);
  let results = (outs Model_TensorType:$scaled, Model_TensorType:$squares);
  let hasVerifier = 1;
}

def Model_NormEndOp : Model_PlainOp<"norm_end", [Pure, Model_Adjoint]> {
  let summary = "x / sqrt(squares / width + epsilon): an rms norm's division";
  let description = [{
    `width` is the number of elements that `model.norm_begin` has summed.

    **Constraints:**
    - x is [R, N] in f32, R a symbol; the result has its type
    - squares are [R, 1] in f32
    - width is at least 1
    - epsilon is not negative
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$squares, I64Attr:$width,
                       F32Attr:$epsilon);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_LayerNormOp : Model_PlainOp<"layer_norm", [Pure, Model_ParameterAdjoint]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * weight + bias, over the last dimension";
  let description = [{
    **Constraints:**
    - x is [R, K], R a symbol, and the result has its type; weight and bias are [K]
    - epsilon is not negative
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$weight,
                       Optional<Model_TensorType>:$bias, F32Attr:$epsilon);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_RopeTableOp : Model_PlainOp<"rope_table"> {
  let summary = "cosines and sines of every row's rotary angles";
  let description = [{
    `result[r] = [cos(p·f_i)·scale ..., sin(p·f_i)·scale ...]`, p the row's
    absolute position, or what `positions` says. Made once per step and read by
    every layer.

    **Constraints:**
    - there is at least one frequency, all finite
    - positions are `rows x i32`
    - the result is `rows x 2·n x f32` for n frequencies
  }];
  let arguments = (ins Optional<Model_TensorType>:$positions, DenseF32ArrayAttr:$frequencies,
                       DefaultValuedAttr<F32Attr, "1.0f">:$scale);
  let results = (outs Model_TensorType:$result);
  let assemblyFormat = "($positions^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Model_RopeOp : Model_PlainOp<"rope", [Pure, Model_Adjoint]> {
  let summary = "rotates pairs (i, i + n) of every head by the row's angles";
  let description = [{
    **Constraints:**
    - x is `rows x heads x head_dim` and the result has its type
    - the table is `rows x 2·n x f32` with 2·n at most head_dim; dimensions past 2·n pass through
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$table);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_JoinHeadsOp : Model_PlainOp<"join_heads", [Pure, Model_Adjoint]> {
  let summary = "elements of each head, behind those of another value";
  let description = [{
    `result[r, h] = [front[r, h], back[r, h]]`

    **Constraints:**
    - front is `rows x H x A`, back `rows x H x B`, the result `rows x H x (A + B)`, all f32
  }];
  let arguments = (ins Model_TensorType:$front, Model_TensorType:$back);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_KvAppendOp : Model_PlainOp<"kv_append", []> {
  let summary = "appends this step's rows to a state and reads all of it";
  let description = [{
    Each iteration of a stack has a state of its own.

    **Constraints:**
    - x is `rows x heads x dim x f32`; the result is `kv x heads x dim x f32`
    - the state's name is not empty
  }];
  let arguments = (ins Model_TensorType:$x, StrAttr:$state);
  let results = (outs Model_TensorType:$result);
  let assemblyFormat = "$x `to` $state attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Model_LastRowsOp : Model_PlainOp<"last_rows"> {
  let summary = "the rows that get logits";
  let description = [{
    **Constraints:**
    - x is `rows x K` and the result `outputs x K`
  }];
  let arguments = (ins Model_TensorType:$x);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Model_AttentionOp : Model_Op<"attention", [Pure, AttrSizedOperandSegments]> {
  let summary = "causal attention of query rows over key and value states";
  let description = [{
    `softmax(cap(q · kᵀ · scale)) · v` with `cap(s) = softcap · tanh(s / softcap)`
    when softcap is not 0. Query head h reads key/value head h / (H / G). With
    `gate`, the result is gated as by `model.gate`; `sinks` are those of
    `model.softmax`, one for each query head. attention-fusion makes it from its
    primitive form. Where v is a slice of k, one state is both: its rows are then
    stored row by row.

    **Constraints:**
    - q is `rows x H x D`, k is `kv x G x D`, v is `kv x G x E`; the result is `rows x H x E`; all f32
    - G divides H
    - the gate is `rows x H` or `rows x H x E`
    - sinks are `H x f32`
    - scale is finite; softcap is not negative; window is 0 (none) or at least 1
  }];
  let arguments = (ins Model_TensorType:$q, Model_TensorType:$k, Model_TensorType:$v,
                       Optional<Model_TensorType>:$gate, Optional<Model_TensorType>:$sinks,
                       F32Attr:$scale, DefaultValuedAttr<F32Attr, "0.0f">:$softcap,
                       DefaultValuedAttr<I64Attr, "0">:$window);
  let results = (outs Model_TensorType:$result);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`,` $gate^)? (`sinks` $sinks^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Model_GateOp : Model_PlainOp<"gate", [Pure, Model_Adjoint]> {
  let summary = "x * sigmoid(gate), with a gate for every element or for every head";
  let description = [{
    Attention whose result a function of its input may switch off (Qiu et al.,
    "Gated Attention for Large Language Models", 2025).

    **Constraints:**
    - x is `rows x H x E x f32` and the result has its type
    - the gate is `rows x H` or `rows x H x E`, f32
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$gate);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_CustomOp : Model_Op<"custom", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, AlwaysSpeculatable, Model_ParameterAdjoint]> {
  let summary = "values that a body of the user's computes";
  let description = [{
    `body` names an `event.body` of the module, which states the grid of tasks,
    what of the operands and of the results a task touches, and the code. The
    operands come first in its list, then the results.

    With `states` there is a name for each result. One that is not empty is a
    state, as of `model.kv_append`: the body writes the positions from `past`
    on, and the result is all of the state. Others are empty.

    Its adjoints are bodies that the body names: `adjoint_inputs` takes the
    operands and the gradients of the results, in this order, and makes the
    gradients of the operands that have one. Those are floating-point numbers,
    no parameters and no table of rotary positions. `adjoint_weights` takes the
    same and makes the gradients of the parameters among the operands, of the
    parameters' shapes.

    **Constraints:**
    - there is at least one operand, and one result
    - a result has at most one dimension of rows or outputs
    - there are as many states as results, and a state is `kv x heads x dim x f32`
  }];
  let arguments = (ins FlatSymbolRefAttr:$body, Variadic<Model_TensorType>:$inputs,
                       OptionalAttr<StrArrayAttr>:$states);
  let results = (outs Variadic<Model_TensorType>:$results);
  let assemblyFormat = "$body `(` $inputs `)` (`states` $states^)? attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The state that a result is; empty if it is none.
    ::llvm::StringRef getState(unsigned result);
    /// Whether an operand has a gradient of its own.
    static bool hasGradient(::mlir::Value operand);
  }];
}

def Model_MatmulOp : Model_PlainOp<"matmul", [Pure, Model_ProductAdjoint]> {
  let summary = "one matrix product per leading index";
  let description = [{
    `result[b] = lhs[b] · rhs[b]`

    **Constraints:**
    - lhs is [B, M, K], rhs [B, K, N], the result [B, M, N], all f32
    - M is a symbol
  }];
  let arguments = (ins Model_TensorType:$lhs, Model_TensorType:$rhs);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_MaskOp : Model_PlainOp<"mask", [Pure, Model_Adjoint]> {
  let summary = "hides what a row may not see: minus infinity above the causal diagonal";
  let description = [{
    Row r sees positions 0 ..= past + r; with a window of w only the last w of them.

    In training row r sees the rows `r - positions[r]` to r, as in
    `model.sequence_attention`, and the lowest finite number stands for minus
    infinity: there whatever is not finite is a fault.

    **Constraints:**
    - x is `H x rows x kv` and the result has its type
    - there are positions in training programs, and only there; they are `rows x i32`
    - window is 0 (none) or at least 1
  }];
  let arguments = (ins Model_TensorType:$x, Optional<Model_TensorType>:$positions,
                       DefaultValuedAttr<I64Attr, "0">:$window);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_SoftmaxOp : Model_Op<"softmax", [Pure, Model_Adjoint]> {
  let summary = "exp(x - max) / sum, over the last dimension";
  let description = [{
    With `sinks` each row of x, of which dimension 0 is heads, has its head's sink as
    one more element, which is left out of the result: a row need not attend to
    anything (gpt-oss, 2025).

    **Constraints:**
    - operand and result have the same type
    - elements are floating-point
    - sinks are `H x f32` for x of H heads, which is not trained then
  }];
  let arguments = (ins Model_TensorType:$x, Optional<Model_TensorType>:$sinks);
  let results = (outs Model_TensorType:$result);
  let assemblyFormat = [{
    $x (`sinks` $sinks^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

def Model_AddOp : Model_ElementwiseBinary<"add", "element-wise sum">;
def Model_MulOp : Model_ElementwiseBinary<"mul", "element-wise product">;
def Model_TanhOp : Model_ElementwiseUnary<"tanh", "element-wise hyperbolic tangent">;

def Model_ActivateOp : Model_PlainOp<"activate", [
    Pure, Model_Adjoint, DeclareOpInterfaceMethods<Model_Elementwise, ["getBody"]>]> {
  let summary = "an element-wise activation function";
  let description = [{
    **Constraints:**
    - operand and result have the same type, with floating-point elements
  }];
  let arguments = (ins Model_TensorType:$x, Model_ActivationAttr:$activation);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Model_ScaleOp : Model_PlainOp<"scale", [
    Pure, Model_Adjoint, DeclareOpInterfaceMethods<Model_Elementwise, ["getBodyNumbers"]>]> {
  let summary = "multiplies by a constant";
  let description = [{
    **Constraints:**
    - operand and result have the same type, with floating-point elements
    - the factor is finite
  }];
  let arguments = (ins Model_TensorType:$x, F32Attr:$factor);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Views: no data moves
//===----------------------------------------------------------------------===//

def Model_ReshapeOp : Model_PlainOp<"reshape", [Pure, Model_Adjoint]> {
  let summary = "splits or joins dimensions after the first";
  let description = [{
    **Constraints:**
    - the first dimension stays; the products of the others, all numbers, agree
    - element types agree
  }];
  let arguments = (ins Model_TensorType:$x);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Model_TransposeOp : Model_PlainOp<"transpose", [Pure, Model_Adjoint]> {
  let summary = "reorders dimensions: result dimension i is x dimension permutation[i]";
  let description = [{
    **Constraints:**
    - `permutation` is a permutation of x's dimensions, and the result's shape follows from it
    - element types agree
  }];
  let arguments = (ins Model_TensorType:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Model_SliceOp : Model_PlainOp<"slice", [Pure, Model_Adjoint]> {
  let summary = "a range of one numbered dimension";
  let description = [{
    **Constraints:**
    - `axis` names a dimension that is a number; `offset` is not negative
    - the result has x's type but for that dimension, and offset plus its size stays inside
  }];
  let arguments = (ins Model_TensorType:$x, I64Attr:$axis, I64Attr:$offset);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Model_ConcatOp : Model_PlainOp<"concat"> {
  let summary = "parameters one after another along dimension 0, as one parameter";
  let description = [{
    Grouped linears read it; the loader packs the parts side by side.

    **Constraints:**
    - there are at least two parts, each a `model.parameter`
    - parts and result agree in everything but dimension 0, which adds up
  }];
  let arguments = (ins Variadic<Model_TensorType>:$parts);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_BroadcastOp : Model_PlainOp<"broadcast", [Pure, Model_Adjoint]> {
  let summary = "repeats every index of one dimension next to itself";
  let description = [{
    `result[..., i, ...] = x[..., i / times, ...]`: how grouped queries share
    their key/value head.

    **Constraints:**
    - `axis` names a dimension that is a number; `times` is at least 1
    - the result has x's type but for that dimension, which is `times` as large
  }];
  let arguments = (ins Model_TensorType:$x, I64Attr:$axis, I64Attr:$times);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}

include "HyperOps.td"
include "TrainingOps.td"
include "BatchOps.td"
include "ExpertOps.td"
include "ExpertGradientOps.td"
include "RouterOps.td"

#endif // BATON_DIALECTS_MODEL_OPS
