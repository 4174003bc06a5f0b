//===- BatchOps.td - the model dialect: steps of several sequences --------===//
//
// Included by ModelOps.td. Programs have these ops after batch-form.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_DIALECTS_MODEL_BATCHOPS
#define BATON_DIALECTS_MODEL_BATCHOPS

def Model_Stored : I32EnumAttr<"Stored", "how a state keeps its numbers", [
    I32EnumAttrCase<"f32", 0>, I32EnumAttrCase<"bf16", 1>, I32EnumAttrCase<"int8", 2>,
    I32EnumAttrCase<"fp8", 3>]> {
  let cppNamespace = "::baton::model";
  let genSpecializedAttr = 0;
}
def Model_StoredAttr : EnumAttr<Model_Dialect, Model_Stored, "stored"> {
  let assemblyFormat = "`<` $value `>`";
}

def Model_PagedAppendOp : Model_PlainOp<"paged_append", []> {
  let summary = "writes this step's rows into pages of a state";
  let description = [{
    Row r goes to slot `slots[r]`: position `slots[r] mod 64` of page `slots[r] / 64`.
    The result stands for the state, of which it has this step's rows. Each
    iteration of a stack has a state of its own; the pages of all have the same
    numbers.

    The result is what the state keeps of x, as f32. `stored` says how: as it is; as
    bf16, rounded to nearest; or as bytes, each row of a head with a scale of its own,
    the largest magnitude over 127 (`int8`) or over 448 (`fp8`, E4M3), with numbers
    times the scale.

    **Constraints:**
    - x is `rows x heads x dim x f32`, and the result has its type
    - slots are `rows x i32`
    - the state's name is not empty
    - the program is a batch
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$slots, StrAttr:$state,
                       DefaultValuedAttr<Model_StoredAttr, "::baton::model::Stored::f32">:$stored);
  let results = (outs Model_TensorType:$result);
  let assemblyFormat = "$x `at` $slots `to` $state attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Model_PagedAttentionOp : Model_Op<"paged_attention", [Pure, AttrSizedOperandSegments]> {
  let summary = "causal attention of query rows of several sequences over pages";
  let description = [{
    As `model.attention`. Row r is at position `positions[r]` of a sequence whose
    keys and values of the positions 64 b to 64 b + 63 lie in page
    `pages[sequences[r] * B + b]`, where B is as many pages as a longest sequence
    has. It sees the positions up to its own, of them the last `window` if that is
    not 0. Those of rows of this step have been written.

    **Constraints:**
    - q is `rows x H x D`, k is `rows x G x D`, v is `rows x G x E`; the result is `rows x H x E`; all f32
    - k and v are made by `model.paged_append`, and stored alike; or v is a slice of k, its first E elements
    - G divides H
    - the gate is `rows x H` or `rows x H x E`, sinks are `H x f32`
    - positions and sequences are `rows x i32`, pages a vector of i32
    - scale is finite; softcap is not negative; window is 0 (none) or at least 1
  }];
  let arguments = (ins Model_TensorType:$q, Model_TensorType:$k, Model_TensorType:$v,
                       Model_TensorType:$positions, Model_TensorType:$sequences,
                       Model_TensorType:$pages,
                       Optional<Model_TensorType>:$gate, Optional<Model_TensorType>:$sinks,
                       F32Attr:$scale, DefaultValuedAttr<F32Attr, "0.0f">:$softcap,
                       DefaultValuedAttr<I64Attr, "0">:$window);
  let results = (outs Model_TensorType:$result);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $positions `,` $sequences `,` $pages (`gate` $gate^)? (`sinks` $sinks^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Whether v is the first part of k: one state has both.
    bool hasOneState();
  }];
  let hasVerifier = 1;
}

def Model_AdapterDownOp : Model_PlainOp<"adapter_down", [Pure]> {
  let summary = "rows times the first matrix of their adapter's pair beside a linear";
  let description = [{
    Of a row whose adapter has `counts[r]` ranks from `places[r]` on, of all that the
    program has room for, `result[r, j]` is the product of x[r] and row j of the
    adapter's A, for j below `counts[r]`; the other elements are 0. A row without an
    adapter has 0 ranks. Room is for `ranks` ranks of all adapters together; the
    runtime puts them there between two steps.

    **Constraints:**
    - x is `rows x K x f32`, the result `rows x R x f32`, R a multiple of 16
    - A is a parameter, `R x K` in f32 or bf16: R ranks are the most of an adapter
    - places and counts are `rows x i32`
    - `ranks` is a multiple of 16, at least R
    - the program is a batch
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$a,
                       Model_TensorType:$places, Model_TensorType:$counts, I64Attr:$ranks);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_AdapterUpOp : Model_PlainOp<"adapter_up", [Pure]> {
  let summary = "adds the second product of adapters' pairs to what a linear makes";
  let description = [{
    `result[r, offset + n] = base[r, offset + n] +` the product of the first `counts[r]`
    elements of low[r] and row n of the B of the row's adapter, which has its factor
    in it; other elements are those of base. See `model.adapter_down`.

    **Constraints:**
    - base and result are `rows x N x f32`, base made by `model.linear` or `model.adapter_up` for this op alone
    - low is made by `model.adapter_down`, with the same places, counts and ranks
    - B is a parameter, `M x R` in f32 or bf16; `offset` is a multiple of 16, and offset + M at most N
    - the program is a batch
  }];
  let arguments = (ins Model_TensorType:$base, Model_TensorType:$low, Model_TensorType:$b,
                       Model_TensorType:$places, Model_TensorType:$counts,
                       I64Attr:$ranks, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_TokenMaskOp : Model_PlainOp<"token_mask"> {
  let summary = "says which tokens constraints allow";
  let description = [{
    Row r of the result is the mask of row r of logits, a bit for each token: bit t mod
    32 of word t / 32 is 1 where token t may be drawn. Rows whose words of `sampling`
    say that they have no mask have none. Masks are the host's: it makes them while the
    step runs, as `sampling` says of each row how.

    **Constraints:**
    - sampling is `outputs x 28 x i32`
    - the result is `outputs x W x i32`
    - the program is a batch
  }];
  let arguments = (ins Model_TensorType:$sampling);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_SampleOp : Model_PlainOp<"sample"> {
  let summary = "draws a token from each row of logits";
  let description = [{
    Row r of `sampling` says what is wanted of row r of the logits, as the words of a
    `BatonSampling` (runtime/step_sampling.h): bias and penalties, temperature, top-k,
    top-p, min-p, seed and position, log-probabilities, those of a token that is
    given, or those of some that are listed. `changes` has a line of `BatonChange`s, three words each, for each
    sequence: the tokens whose logits bias and penalties change, or that are listed. Row r of the masks has
    a bit for each token: where `sampling` says that the row has a mask, tokens whose
    bit is 0 are drawn as if their logits were infinitely negative. Row r of the result
    is a `BatonDraw`: the token, -1 where a logit is not finite, and log-probabilities.
    Of a row that wants listed tokens only no other logit is read; where all rows with
    logits do, a linear that makes them may leave out the others (`tile-tasks`).
    A row's draw depends on nothing but its logits, its row of `sampling`, the line of
    changes that this names, and its mask.

    **Constraints:**
    - logits are `outputs x V x f32`
    - sampling is `outputs x 28 x i32`, changes a vector of i32
    - masks are made by `model.token_mask`, `outputs x W x i32` with W a 32nd of V, rounded up
    - the result is `outputs x 298 x i32`
    - the program is a batch
  }];
  let arguments = (ins Model_TensorType:$logits, Model_TensorType:$sampling,
                       Model_TensorType:$changes, Model_TensorType:$masks);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

#endif // BATON_DIALECTS_MODEL_BATCHOPS
