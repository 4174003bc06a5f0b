//===- EventOps.td - the event dialect: the plan ------------------------===//

#ifndef BATON_DIALECTS_EVENT_OPS
#define BATON_DIALECTS_EVENT_OPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Dialect
//===----------------------------------------------------------------------===//

def Event_Dialect : Dialect {
  let name = "event";
  let cppNamespace = "::baton::event";
  let summary = "The plan of a persistent kernel: task grids that hand work on through event tensors";
  let description = [{
    A program is a sequence of segments; a segment repeats its phases; a phase is
    a grid of tasks. A task waits on words of event tensors, runs its body's
    calls on one tile, and notifies one word.

    Every map takes a phase's coordinates as dimensions and the step's symbols
    as symbols, always these three: `s0` is `rows`, `s1` is `past`, `s2` is
    `outputs`. In accesses and operands of calls, a phase's entries of tables are
    further dimensions, behind the coordinates. The symbols' ranges are `1 <= rows <= max_rows`, `0 <= past`,
    `rows + past <= max_seq`, `0 <= outputs <= min(rows, max_outputs)`.

    **Order.** A task's rank is (step, segment, iteration, phase, coordinates in
    row-major order). Run in ascending rank by one worker, the plan computes the
    program: this order is its meaning. With several workers each runs its
    share in ascending rank, and events order the rest. All workers meet at the
    border between two steps.

    **Events.** Words only count up. A task of iteration i that waits on the
    event tensor of a phase with count c (notifications of one word in one
    iteration) goes on when, within this step, the word has seen
    - `(i + 1 - distance) * c` notifications, if the phase is of the same segment,
    - `repeat * c`, if it is of an earlier segment.
  }];
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class Event_Attr<string name, string keyword> : AttrDef<Event_Dialect, name> {
  let mnemonic = keyword;
}

def Event_AccessAttr : Event_Attr<"Access", "access"> {
  let summary = "the part of a buffer that a task reads or writes";
  let description = [{
    ```mlir
    #event.access<read @x, (d0)[s0, s1, s2] -> (d0 * 16) to (d0)[s0, s1, s2] -> (d0 * 16 + 16)>
    #event.access<read @k, ... to ... beyond 15>
    #event.access<read @gradient, ... to ... if @accumulate>
    #event.access<may write @partial, ... to ...>
    ```
    The box `[low, high)` in the buffer's index space, cut to the buffer's
    extents. Empty boxes are allowed. A tile may reach beyond the extents by less
    than its own height; what reads more, as whoever reads panels whole, says by
    how many indices (`beyond`). Nothing depends on the values there.

    A write writes all of its box, and a read may read all of it. What `may`
    write need not: nothing can be read from there but by what `may` read, which
    reads only what was written. What reads `if` a buffer's first element is not
    0 reads what earlier programs of the step wrote: the runtime sets the element
    for every microbatch but the first.
  }];
  let parameters = (ins "bool":$write, "::mlir::FlatSymbolRefAttr":$buffer,
                        "::mlir::AffineMap":$low, "::mlir::AffineMap":$high,
                        DefaultValuedParameter<"int64_t", "0">:$beyond,
                        DefaultValuedParameter<"bool", "false">:$may,
                        OptionalParameter<"::mlir::FlatSymbolRefAttr">:$condition);
  let builders = [AttrBuilder<(ins "bool":$write, "::mlir::FlatSymbolRefAttr":$buffer,
                                   "::mlir::AffineMap":$low, "::mlir::AffineMap":$high), [{
    return $_get($_ctxt, write, buffer, low, high, /*beyond=*/0, /*may=*/false,
                 ::mlir::FlatSymbolRefAttr());
  }]>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The same access to another box.
    AccessAttr withBox(::mlir::AffineMap low, ::mlir::AffineMap high) const {
      return get(getContext(), getWrite(), getBuffer(), low, high, getBeyond(),
                 getMay(), getCondition());
    }
  }];
}

def Event_WaitAttr : Event_Attr<"Wait", "wait"> {
  let summary = "the words of an event tensor that a task waits for";
  let description = [{
    The box `[low, high)` of words, cut to the event tensor's shape; an empty
    box waits for nothing. `distance` is 1 when the notifying iteration is the
    one before.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$event, "int64_t":$distance,
                        "::mlir::AffineMap":$low, "::mlir::AffineMap":$high);
  let hasCustomAssemblyFormat = 1;
}

def Event_NotifyAttr : Event_Attr<"Notify", "notify"> {
  let summary = "the word of an event tensor that a task counts up";
  let description = [{
    `index` picks some of the phase's coordinates, in order.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$event, "::mlir::AffineMap":$index);
  let hasCustomAssemblyFormat = 1;
}

def Event_AddressAttr : Event_Attr<"Address", "address"> {
  let summary = "call operand: pointer to an element of a buffer, by index";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$buffer, "::mlir::AffineMap":$index);
  let hasCustomAssemblyFormat = 1;
}

def Event_ConditionAttr : Event_Attr<"Condition", "condition"> {
  let summary = "what says which tasks have work";
  let description = [{
    ```mlir
    #event.condition<@wanted_panels, (d0, d1)[s0, s1, s2] -> (d1 * 4) below (d0, d1)[s0, s1, s2] -> (d1 * 4 + 4, 9) by 16>
    ```
    A task makes its calls if the buffer's element at the first map's place is less
    than the one at the least of the second map's places. Otherwise it only waits and
    notifies. The buffer is a running count of units that are wanted: element i is how
    many there are before unit i. A unit is so many indices (`by`) of the last dimension
    of what the phase writes. So all tasks have work that write an index of a unit that
    is wanted.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$buffer, "::mlir::AffineMap":$low,
                        "::mlir::AffineMap":$high, "int64_t":$unit);
  let hasCustomAssemblyFormat = 1;
}

def Event_StrideAttr : Event_Attr<"Stride", "stride"> {
  let summary = "call operand: an i64, elements that so many steps along each dimension of a buffer move";
  let description = [{
    `#event.stride<@x, [1, 0]>` is the distance between two rows of @x, wherever
    plan-memory has put it.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$buffer, ArrayRefParameter<"int64_t">:$steps);
  let hasCustomAssemblyFormat = 1;
}

def Event_WeightAttr : Event_Attr<"Weight", "weight"> {
  let summary = "call operand: pointer into a parameter, by element offset";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$parameter, "::mlir::AffineMap":$offset);
  let hasCustomAssemblyFormat = 1;
}

def Event_CountAttr : Event_Attr<"Count", "count"> {
  let summary = "call operand: an i64, the least of the map's results";
  let parameters = (ins "::mlir::AffineMap":$map);
  let hasCustomAssemblyFormat = 1;
}

def Event_ScratchAttr : Event_Attr<"Scratch", "scratch"> {
  let summary = "call operand: pointer into the worker's scratch, by byte offset";
  let parameters = (ins "int64_t":$offset);
  let assemblyFormat = "`<` $offset `>`";
}

def Event_NullAttr : Event_Attr<"Null", "null"> {
  let summary = "call operand: the null pointer";
}

//===----------------------------------------------------------------------===//
// Weight forms
//===----------------------------------------------------------------------===//

def Event_WeightForm : AttrInterface<"WeightForm"> {
  let cppNamespace = "::baton::event";
  let description = [{
    How a parameter lies in memory. Tasks take a pointer to an element of one
    layer; the loader makes the bytes from a checkpoint (runtime/weights).
  }];
  let methods = [
    InterfaceMethod<"What the loader calls it.", "::llvm::StringRef", "getKind">,
    InterfaceMethod<"Elements of one layer, padding included; nothing if they are more than memory has.",
                    "::std::optional<int64_t>", "countElements">,
    InterfaceMethod<"Where the weights of output feature `output` begin, a multiple of 16 where features are packed.",
                    "::mlir::AffineExpr", "getOffset", (ins "::mlir::AffineExpr":$output)>,
    InterfaceMethod<"Its sizes, by the names that the loader knows.",
                    "::llvm::SmallVector<::mlir::NamedAttribute>", "getEntries">,
    InterfaceMethod<"Whether it is for products, which read it whole.", "bool", "isPacked", (ins), "",
                    "return false;">,
    InterfaceMethod<"Elements that an output has besides its weights, such as those of a scale.", "int64_t",
                    "countOverhead", (ins), "", "return 0;">
  ];
}

/// `own` are methods of the interface that it has instead of the usual ones.
class Event_Form<string name, string keyword, list<string> own = []>
    : AttrDef<Event_Dialect, name, [DeclareAttrInterfaceMethods<Event_WeightForm, own>]> {
  let mnemonic = keyword;
}

def Event_PanelsAttr : Event_Form<"Panels", "panels", ["isPacked"]> {
  let summary = "weight form: 16 output features side by side, for each input feature";
  let description = [{
    `#event.panels<96 by 64>` has 96 output features of 64 inputs, as
    `[ceil(96 / 16)][64][16]`. `alternating`, panels of two weights of half as many
    outputs take turns.
  }];
  let parameters = (ins "int64_t":$outputs, "int64_t":$inputs, DefaultValuedParameter<"bool", "false">:$alternating);
  let hasCustomAssemblyFormat = 1;
}

def Event_BlocksAttr : Event_Form<"Blocks", "blocks", ["isPacked", "countOverhead"]> {
  let summary = "weight form: quantised weights, 16 output features side by side";
  let description = [{
    `#event.blocks<"q4_k", 96 by 512>` has 96 output features of 512 inputs in panels of
    16, as bytes: blocks of inputs with their scales (runtime/weight_blocks.h). Where
    panels have different formats, as in `"q4_k|q6_k"`, each says which, and offsets count
    all as long as the longest. `f16`, `bf16` and `f32` are panels of such numbers beside others
    of blocks. `alternating`, panels of two weights of half as many outputs take turns.

    **Constraints:**
    - one format at least is of blocks
    - inputs are whole blocks
  }];
  let parameters = (ins StringRefParameter<"formats, separated by |">:$formats, "int64_t":$outputs,
                        "int64_t":$inputs, DefaultValuedParameter<"bool", "false">:$alternating);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// What a body that reads it is called for: its format, or "mixed".
    ::llvm::StringRef getVariant() const;
  }];
}

def Event_VectorAttr : Event_Form<"Vector", "vector"> {
  let summary = "weight form: numbers, zeros up to a multiple of 16";
  let parameters = (ins "int64_t":$size);
  let assemblyFormat = "`<` $size `>`";
}

def Event_TableAttr : Event_Form<"Table", "table"> {
  let summary = "weight form: rows behind one another, as a checkpoint stores them";
  let description = [{
    `#event.table<256 by 64>` has 256 rows of 64 elements. Where the checkpoint's
    bytes will do, they are read in place.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns);
  let assemblyFormat = "`<` $rows `by` $columns `>`";
}

def Event_ConstantAttr : Event_Form<"Constant", "constant"> {
  let summary = "weight form: numbers that the program brings along, zeros up to a multiple of 16";
  let parameters = (ins "::mlir::DenseF32ArrayAttr":$values);
  // By itself an array would print six digits, which are not all that F32 has.
  let hasCustomAssemblyFormat = 1;
}

def Event_ShardAttr : Event_Attr<"Shard", "shard"> {
  let summary = "which part of a dimension ranks have, along axes of the mesh";
  let description = [{
    Of `extent` indices of `dimension`, cut at multiples of `granularity`. Ranks
    have as many, or where `units` says so, that many pieces each.
  }];
  let parameters = (ins "int64_t":$dimension, "int64_t":$extent, "::mlir::ArrayAttr":$axes,
                        OptionalParameter<"::mlir::IntegerAttr">:$granularity,
                        OptionalParameter<"::mlir::ArrayAttr">:$units);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Event_SourceAttr : Event_Attr<"Source", "source"> {
  let summary = "a tensor of a checkpoint that a parameter is made of";
  let description = [{
    `names` are alternatives, in order of preference; `{layer}` stands for the
    layer's number, `{layer+2}` for two more. `shape` is what the checkpoint has,
    `transposed` as inputs by outputs. `blocks` is a size, a stride and an offset,
    where of every `stride` outputs only a block is meant, and maybe `pairs`, in runs of
    which halves are stored in turn; `plus` is added to each
    element. With `shards` ranks have parts. With `inputs`, a first one and a number,
    only these of a rank's are meant. With `experts`, a shard of their
    number, `{expert+2}` stands for the third of the experts that a rank has.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$names, ArrayRefParameter<"int64_t">:$shape,
                        "bool":$transposed, OptionalParameter<"::mlir::DenseI64ArrayAttr">:$blocks,
                        OptionalParameter<"::mlir::FloatAttr">:$plus,
                        OptionalParameter<"::mlir::ArrayAttr">:$shards,
                        OptionalParameter<"::baton::event::ShardAttr">:$experts,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$inputs);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The first of its names.
    ::llvm::StringRef getName() const;
  }];
}

def Event_TransferAttr : Event_Attr<"Transfer", "transfer"> {
  let summary = "a tensor that ranks exchange: what a rank sends of it, and where it receives it"
                ", in elements the whole, and what each rank of the group has of it";
  let description = [{
    ```mlir
    #event.transfer<@gradient to @received, 7860 by 3936>
    #event.transfer<@y to @received, ()[s0, s1, s2] -> (s0 * 60) by ()[s0, s1, s2] -> ((s0 * 60) ceildiv 32 * 16)>
    ```
    Both numbers are quasi-affine in the step's symbols.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$send, "::mlir::FlatSymbolRefAttr":$receive,
                        "::mlir::AffineMap":$elements, "::mlir::AffineMap":$part);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::mlir::AffineExpr getElementCount() const { return getElements().getResult(0); }
    ::mlir::AffineExpr getPartCount() const { return getPart().getResult(0); }
  }];
}

def Event_TaskAttr : Event_Attr<"Task", "task"> {
  let summary = "one task, in an explicit schedule";
  let parameters = (ins "::mlir::StringAttr":$phase, "int64_t":$iteration,
                        ArrayRefParameter<"int64_t">:$coordinates);
  let hasCustomAssemblyFormat = 1;
}

def Event_BufferKind : I32EnumAttr<"BufferKind", "what a buffer's values live through", [
    I32EnumAttrCase<"transient", 0>, I32EnumAttrCase<"state", 1>, I32EnumAttrCase<"input", 2>,
    I32EnumAttrCase<"persistent", 3>]> {
  let cppNamespace = "::baton::event";
  let genSpecializedAttr = 0;
}
def Event_Carry : I32EnumAttr<"Carry", "what becomes of a persistent buffer's values when a step ends", [
    I32EnumAttrCase<"kept", 0>, I32EnumAttrCase<"renewed", 1>]> {
  let cppNamespace = "::baton::event";
  let genSpecializedAttr = 0;
}
def Event_CarryAttr : EnumAttr<Event_Dialect, Event_Carry, "carry">;
def Event_BufferKindAttr : EnumAttr<Event_Dialect, Event_BufferKind, "kind">;

def Event_TableProperty : I32EnumAttr<"TableProperty", "what is known of a table's values, beside their range", [
    I32EnumAttrCase<"any", 0>, I32EnumAttrCase<"distinct", 1>, I32EnumAttrCase<"partition", 2>]> {
  let cppNamespace = "::baton::event";
  let genSpecializedAttr = 0;
}
def Event_TablePropertyAttr : EnumAttr<Event_Dialect, Event_TableProperty, "table_property">;

def Event_Distribution : I32EnumAttr<"Distribution", "which worker runs a tile of a phase", [
    I32EnumAttrCase<"blocked", 0>, I32EnumAttrCase<"cyclic", 1>, I32EnumAttrCase<"ticket", 2>]> {
  let cppNamespace = "::baton::event";
  let genSpecializedAttr = 0;
}
def Event_DistributionAttr : EnumAttr<Event_Dialect, Event_Distribution, "distribution">;

def Event_Scope : I32EnumAttr<"Scope", "among whom what a notification stands for is visible", [
    I32EnumAttrCase<"device", 0>, I32EnumAttrCase<"system", 1>]> {
  let cppNamespace = "::baton::event";
  let genSpecializedAttr = 0;
}
def Event_ScopeAttr : EnumAttr<Event_Dialect, Event_Scope, "scope">;

def Event_ExchangeKind : I32EnumAttr<"ExchangeKind", "which part of a tensor goes from which rank to which", [
    I32EnumAttrCase<"all_to_all", 0>, I32EnumAttrCase<"all_gather", 1>,
    I32EnumAttrCase<"dispatch", 2>, I32EnumAttrCase<"combine", 3>]> {
  let cppNamespace = "::baton::event";
  let genSpecializedAttr = 0;
}
def Event_ExchangeKindAttr : EnumAttr<Event_Dialect, Event_ExchangeKind, "exchange_kind">;

def Event_MessageDirection : I32EnumAttr<"MessageDirection", "what a rank does with a message", [
    I32EnumAttrCase<"send", 0>, I32EnumAttrCase<"receive", 1>]> {
  let cppNamespace = "::baton::event";
  let genSpecializedAttr = 0;
}
def Event_MessageDirectionAttr : EnumAttr<Event_Dialect, Event_MessageDirection, "message_direction">;

def Event_MessagePeer : I32EnumAttr<"MessagePeer", "the rank at the next place of an axis, or the one before", [
    I32EnumAttrCase<"next", 0>, I32EnumAttrCase<"previous", 1>]> {
  let cppNamespace = "::baton::event";
  let genSpecializedAttr = 0;
}
def Event_MessagePeerAttr : EnumAttr<Event_Dialect, Event_MessagePeer, "message_peer">;

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

class Event_Op<string mnemonic, list<Trait> traits = []> : Op<Event_Dialect, mnemonic, traits>;

def Event_ProgramOp : Event_Op<"program", [IsolatedFromAbove, Symbol, SymbolTable, SingleBlock, NoTerminator]> {
  let summary = "one step of a persistent kernel, repeated until a step has no rows";
  let description = [{
    `proof` is what event-verify wrote: status and assumptions.

    **Constraints:**
    - `max_rows`, `max_seq` and `max_outputs` are at least 1; `max_outputs <= max_rows <= max_seq`
    - phase names are unique
    - an event tensor is notified by one phase
    - there is at most one mesh
    - `scratch_bytes`, which every worker has for a task at a time, is not negative
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$max_rows, I64Attr:$max_seq,
                       I64Attr:$max_outputs, DefaultValuedAttr<I64Attr, "0">:$scratch_bytes,
                       OptionalAttr<DictionaryAttr>:$proof);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `max_rows` $max_rows `max_seq` $max_seq `max_outputs` $max_outputs
    (`proof` $proof^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Event_MeshOp : Event_Op<"mesh", [HasParent<"ProgramOp">]> {
  let summary = "the ranks that run the program, one process's worth of it each";
  let description = [{
    ```mlir
    event.mesh ["dp", "tp"] sizes [2, 4] batch ["dp"]
    ```
    Rank numbers ascend in the last axis first. Every rank runs the whole plan on
    memory of its own; over `batch` axes each has other rows. Steps of all ranks
    are as many, with the same `outputs`; `rows` are the same over other axes, and
    each one's own over `batch` ones.

    **Constraints:**
    - there is at least one axis; names are different and sizes at least 1
    - there are at most 2^20 ranks
    - batch names axes
  }];
  let arguments = (ins StrArrayAttr:$names, DenseI64ArrayAttr:$sizes, StrArrayAttr:$batch);
  let assemblyFormat = "$names `sizes` $sizes `batch` $batch attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Ranks that differ in these axes only; 0 if one of them is none.
    int64_t countRanks(::mlir::ArrayAttr axes);
  }];
}

def Event_ParameterOp : Event_Op<"parameter", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "weights that tasks read";
  let description = [{
    ```mlir
    event.parameter @up : bf16 layers 16 as #event.panels<8192 by 2048>
        from [#event.source<["model.layers.{layer}.mlp.up_proj.weight"] : 8192 by 2048>]
    ```
    The loader makes the bytes of its form from `sources`, tensors of the
    checkpoint. With `layers` above 1 each iteration of the segment has bytes of its
    own; the i-th is made of the tensors of layer `first_layer + i * layer_step`.
    Where blocks have several formats, `event.layer_formats` may say which of them each
    layer has: a layer's panels then take the room of the longest of these. The p-th panel of a
    layer is what an offset of p panels, as long as the longest of all, means.

    **Constraints:**
    - `layers` is at least 1
    - elements are numbers of whole bytes
    - a form has sources, unless it is a constant; without a form there are none
    - `event.layer_formats` are of blocks of several formats: for each layer some of these
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$element, I64Attr:$layers,
                       OptionalAttr<Event_WeightForm>:$form,
                       OptionalAttr<TypedArrayAttrBase<Event_SourceAttr, "tensors of a checkpoint">>:$sources,
                       OptionalAttr<I64Attr>:$first_layer, OptionalAttr<I64Attr>:$layer_step);
  let assemblyFormat = [{
    $sym_name `:` $element `layers` $layers (`as` $form^)? (`from` $sources^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Elements of one layer, padding included, as far as its form says.
    ::std::optional<int64_t> countElements();
  }];
}

def Event_StorageOp : Event_Op<"storage", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "memory that buffers live in";
  let description = [{
    **Constraints:**
    - `bytes` is at least 1
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$bytes);
  let assemblyFormat = "$sym_name `bytes` $bytes attr-dict";
  let hasVerifier = 1;
}

def Event_BufferOp : Event_Op<"buffer", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "a tensor that tasks read and write, by index";
  let description = [{
    `extents` is the index space in use during a step, `capacity` what it may
    grow to. Element `i` lies `offset + sum(i * strides)` elements into the
    storage. With `interleave` n, runs of n indices of dimension 0 lie next to
    one another: its part of the sum is `floor(i / n) * n * stride + i mod n`.
    With `interleave_columns` m as well, what a run holds of m indices j of the
    last dimension lies together, row by row: the part of both is
    `floor(i / n) * n * stride + floor(j / m) * m * n + (i mod n) * w + j mod m`
    where w is m, or what is left of the last dimension for the last columns.
    A buffer may have `layers` copies `layer_stride` elements apart, one for each
    iteration; in a segment that is reversed, the last iteration has the first
    copy. Of a `ring` there may be fewer, used in turn: layer l has copy
    `l mod layers`. A `state` keeps its values from step to step; rows before
    `past` hold what earlier steps wrote. An `input` is written by the runtime
    between steps, in memory of the runtime's: the ids of all tokens so far. A
    `transient` is written before it is read in each run of the program. A
    `persistent` buffer outlives it: parameters, their gradients, an optimizer's
    states, and what the programs of a step hand to one another. `carry` says
    what of it outlives the step: `kept` holds what the runtime has put there
    before the first one, and no task writes it; `renewed` holds what the step
    before has left, and each step that has outputs writes all of it. Without it
    values are those of the step: written by a task before they are read, or by
    the runtime, where the phase that advances is stated to write them.
    `description` says which, for the runtime. `writers` is how many phases write
    the buffer, beside the one that advances. What a sum of contributions, or a
    value that phases update in place, has to go through is the model's to say:
    without one of them the plan is as sound, and that of another model.

    A state with `slots` lies in pages: index i of dimension 0 is row i of the step,
    and lies where an index `slots[i]` would: in page `floor(slots[i] / page)`, of
    which the storage has as many as the runtime gives it, `page_stride` elements
    apart, at index `slots[i] mod page`. An address in it is that of index 0 of
    dimension 0 in the first page: bodies find the rest by the tables that they are
    given. What a step reads of a sequence before the step's own rows, bodies find
    there, too; the runtime sees to it that no row of the step is written where
    another sequence reads.

    Two buffers in one storage share bytes. If in both an index moves by the
    same stride in dimension 0 and all else stays within that stride, then only
    elements of equal first index overlap.

    **Constraints:**
    - elements are integers or floating-point numbers of whole bytes
    - `extents`, `capacity` and `strides` have the same number of dimensions, at least one
    - the maps' symbols are rows, past, outputs
    - capacities are at least 1, strides at least 1, offset is not negative
    - the elements at full capacity lie inside the storage, when there is one
    - an input has no layers
    - only a persistent buffer of several layers is a ring
    - only a persistent buffer has a description
    - only a persistent buffer that is no ring is carried
    - an input has one dimension of stride 1, no offset and no storage
    - only a state is interleaved, by a divisor of its first capacity or of a page, and lies alone in its storage
    - only a state lies in pages, alone in its storage, which has the bytes of one; its slots are a table of distinct numbers, of which it has as many as rows
    - pages are of at least one index, and far enough apart for all layers
    - columns are interleaved only with indices, n > 1, and in a last dimension of stride n, not the first
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Event_BufferKindAttr:$kind, TypeAttr:$element,
                       AffineMapAttr:$extents, DenseI64ArrayAttr:$capacity,
                       DenseI64ArrayAttr:$strides,
                       OptionalAttr<FlatSymbolRefAttr>:$storage,
                       DefaultValuedAttr<I64Attr, "0">:$offset,
                       DefaultValuedAttr<I64Attr, "1">:$layers,
                       DefaultValuedAttr<I64Attr, "0">:$layer_stride,
                       UnitAttr:$ring,
                       DefaultValuedAttr<I64Attr, "1">:$interleave,
                       DefaultValuedAttr<I64Attr, "1">:$interleave_columns,
                       OptionalAttr<FlatSymbolRefAttr>:$slots,
                       DefaultValuedAttr<I64Attr, "0">:$page,
                       DefaultValuedAttr<I64Attr, "0">:$page_stride,
                       OptionalAttr<Event_CarryAttr>:$carry,
                       OptionalAttr<I64Attr>:$writers,
                       OptionalAttr<DictionaryAttr>:$description);
  let assemblyFormat = [{
    $sym_name `` $kind `:` $element `extents` $extents `capacity` $capacity `strides` $strides
    (`in` $storage^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Whether it is a state in pages.
    bool isPaged() { return getSlots().has_value(); }
    /// Indices of dimension 0 that there is room for, of a state in pages in one.
    int64_t countPlaces() { return isPaged() ? int64_t(getPage()) : getCapacity().front(); }
    /// How far the last element at full capacity lies behind the first one of
    /// its layer, in elements, of a state in pages within a page; nothing if that
    /// exceeds 64 bits.
    std::optional<int64_t> getSpan();
    /// Phases that write it now, beside the one that advances.
    int64_t countWriters();
    /// Which of several copies is a layer's.
    int64_t getCopy(int64_t layer) {
      return getRing() ? layer % int64_t(getLayers()) : layer;
    }
  }];
  let hasVerifier = 1;
}

def Event_TableOp : Event_Op<"table", [HasParent<"ProgramOp">]> {
  let summary = "what is known of integers that tasks index by";
  let description = [{
    ```mlir
    event.table @bounds holds ()[rows, past, outputs] -> (0) to ()[rows, past, outputs] -> (rows + 1) partition
    ```
    The buffer's values, all that a step uses, lie in `[low, high)`. Phases name
    elements of it as entries. Of values v(0), ..., v(n - 1)
    - `any` says nothing more;
    - `distinct`: no two are equal;
    - `partition`: v(0) is low and v(n - 1) is high - 1, and none is less than the one
      before it. The segments [v(i), v(i + 1)) are all of [low, high - 1).

    The proof takes this for granted, and the runtime checks every instance before
    a task uses it. Costs take the segments of a partition to be alike, of `segments`
    in all where there are that many: the last one has what is left.

    **Constraints:**
    - the buffer has one dimension, of i32, stride 1, and no interleaving
    - a buffer is one table
    - low and high are one number each, of rows, past, outputs
    - segments are a partition's, at least 1
  }];
  let arguments = (ins FlatSymbolRefAttr:$buffer, AffineMapAttr:$low, AffineMapAttr:$high,
                       Event_TablePropertyAttr:$property, OptionalAttr<I64Attr>:$segments);
  let assemblyFormat = [{
    $buffer `holds` custom<BareMap>($low) `to` custom<BareMap>($high) $property attr-dict
  }];
  let hasVerifier = 1;
}

def Event_TensorOp : Event_Op<"tensor", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "a tensor of counters";
  let description = [{
    `count` is how many notifications every word gets in one iteration of the
    phase that notifies it. `capacity` bounds the shape for all symbols. `scope`
    says among whom what was written before a notification is visible behind a
    wait: the workers of one plan (`device`, which is not printed), or also who
    reads and writes their memory from outside (`system`), as an exchange's phase
    needs it, of what it waits for and of what it notifies.

    **Constraints:**
    - `shape` has as many results as `capacity` has entries, all at least 1
    - there are fewer than 2^28 words
    - `count` has one result
    - the maps' symbols are rows, past, outputs
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, AffineMapAttr:$shape,
                       DenseI64ArrayAttr:$capacity, AffineMapAttr:$count,
                       DefaultValuedAttr<Event_ScopeAttr, "::baton::event::Scope::device">:$scope);
  let assemblyFormat = [{
    $sym_name `shape` $shape `capacity` $capacity `count` $count (`scope` `` $scope^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Event_SegmentOp : Event_Op<"segment", [HasParent<"ProgramOp">, SingleBlock, NoTerminator]> {
  let summary = "phases, repeated";
  let description = [{
    With `reverse`, iteration i works on layer `repeat - 1 - i` of parameters and
    buffers that have layers.

    **Constraints:**
    - `repeat` is at least 1
    - holds phases only
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$repeat, UnitAttr:$reverse);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name `repeat` $repeat (`reverse` $reverse^)? attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// Which copy of layered buffers an iteration works on.
    int64_t getLayer(int64_t iteration) {
      return getReverse() ? int64_t(getRepeat()) - 1 - iteration : iteration;
    }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Event_PhaseOp : Event_Op<"phase", [HasParent<"SegmentOp">, SingleBlock, NoTerminator]> {
  let summary = "a grid of tasks";
  let description = [{
    **Constraints:**
    - `grid` has the symbols rows, past, outputs and no dimensions; `capacity` bounds it
    - accesses name buffers, and their maps have the grid's coordinates, then its entries, and the buffer's dimensions
    - an input is not written
    - only reads have a condition, a persistent buffer of integers that the phase reads; `beyond` is not negative
    - waits name event tensors of their rank, notified in this segment or an earlier one
    - distance is 0 or 1, and 1 only within the segment
    - a phase of the same segment that comes later, or this one, is waited for at distance 1
    - the notification's map picks coordinates in order and has the event tensor's rank
    - `separate` names coordinates of the grid
    - `prefetch` is not negative and at most 1 MiB
    - only phases whose tasks call bodies and do nothing else have tickets
    - only an exchange in a segment that repeats is `ahead`, and all that it accesses is persistent
    - a phase with a condition only makes calls, may write what it writes, has no entries, and is not ahead
    - a condition names a table that no task writes, of which the phase states a read; its unit is at least 1
    - entries are elements of tables, of which the phase states a read

    `entries` are elements of tables that a task reads when its waits are over, by
    its coordinates. Maps of accesses and of calls have them as dimensions behind
    the coordinates; grids, waits and notifications do not. A task with entries
    all of whose written boxes are empty, before they are cut, makes no call; an
    exchange it makes all the same, as other ranks wait for it.

    A phase runs `when` its condition holds, task by task (`#event.condition`). The
    runtime has written the table before the step, so that a task knows before its
    waits whether it has work. What tasks leave out nobody reads: who `may read` it
    is told the same by the runtime.

    What is `ahead` is one iteration ahead: its task works on what the next
    iteration has of parameters and buffers with layers. In the last iteration,
    which has no next one, it only notifies.

    `separate` are the coordinates whose tasks derive-events may let others wait
    for apart: all without it, and none makes every wait one for the whole
    phase. `distribution` gives a worker every tile of one residue (`cyclic`),
    a run of consecutive ones (`blocked`), or those that it takes from a counter
    of the phase while it runs, in ascending order (`ticket`). Where the first extent is some rows
    divided by a tile's, a run is that of an equal share of the rows, so that a
    shorter last tile counts for less. `prefetch` is how many bytes of each weight a task asks for while it
    waits, 4096 without it.
  }];
  let arguments = (ins StrAttr:$name, AffineMapAttr:$grid, DenseI64ArrayAttr:$capacity,
                       ArrayAttr:$accesses, DefaultValuedAttr<ArrayAttr, "{}">:$waits,
                       OptionalAttr<Event_NotifyAttr>:$notify,
                       DefaultValuedAttr<Event_DistributionAttr, "::baton::event::Distribution::blocked">:$distribution,
                       OptionalAttr<DenseI64ArrayAttr>:$separate,
                       OptionalAttr<I64Attr>:$prefetch, UnitAttr:$ahead,
                       OptionalAttr<Event_ConditionAttr>:$condition,
                       DefaultValuedAttr<ArrayAttr, "{}">:$entries);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `grid` $grid `capacity` $capacity (`entries` $entries^)? (`when` $condition^)? `accesses` $accesses (`waits` $waits^)?
    (`notifies` $notify^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getRank() { return getGrid().getNumResults(); }
    auto getEntryAttrs() { return getEntries().getAsRange<AddressAttr>(); }
    bool hasEntries() { return !getEntries().empty(); }
    /// Whether a map takes one of them.
    bool usesEntries(::mlir::AffineMap map);
    /// Whether a task writes a table; where the step is handed over, the runtime
    /// does, and states it.
    bool writesTable(TableOp table);
    /// Those that it writes, in the program's order.
    ::llvm::SmallVector<TableOp, 2> getWrittenTables();
    /// Dimensions of the maps of accesses and calls: coordinates and entries.
    int64_t getMapRank() { return getRank() + getEntries().size(); }
    /// The first extent as so many rows in tiles of `size`; one of another form
    /// is that many tiles of one row.
    struct RowTiles { ::mlir::AffineExpr rows; int64_t size; };
    RowTiles getRowTiles();
    auto getAccessAttrs() { return getAccesses().getAsRange<AccessAttr>(); }
    /// Whether tasks do nothing but call bodies: neither ranks nor the host wait
    /// for the worker that has them, so that workers may take them.
    bool callsOnly();
    static constexpr int64_t kUsualPrefetch = 4096;
    int64_t getPrefetchBytes() { return getPrefetch().value_or(kUsualPrefetch); }
    auto getWaitAttrs() { return getWaits().getAsRange<WaitAttr>(); }
  }];
}

def Event_CallOp : Event_Op<"call", [HasParent<"PhaseOp">]> {
  let summary = "runs a body of the task library on the task's tile";
  let description = [{
    Calls `baton_task_<callee>` with the operands in order. Operands are
    `#event.address`, `#event.stride`, `#event.weight`, `#event.count`,
    `#event.scratch`, `#event.null`, and i32, i64, f32, f64 constants.

    `invariant` marks a call that writes scratch only and depends on no
    coordinate but the first: a worker repeats it only when the first
    coordinate changes.

    **Constraints:**
    - every operand is of one of these kinds, its maps have the phase's coordinates and entries
    - address maps and strides have the buffer's rank, weight offsets one result, counts at least one
    - addresses in an interleaved buffer begin a run and interleaved columns, strides count whole ones
    - an invariant call's maps use no coordinate but the first
  }];
  let arguments = (ins StrAttr:$callee, ArrayAttr:$operands_, UnitAttr:$invariant);
  let assemblyFormat = "$callee $operands_ (`invariant` $invariant^)? attr-dict";
  let hasVerifier = 1;
}

def Event_BodyOp : Event_Op<"body", [Symbol, AutomaticAllocationScope, IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "a task body of the user's, beside those of the task library";
  let description = [{
    Stands in a module beside its programs. `grid` is the grid of tasks;
    accesses to one name state what becomes of one argument, numbered as names
    first come: the part of a value, cut to the value's extents, as a memref
    whose sizes and strides are known when the task runs. A body that an op of a
    model names reads the op's operands and writes its result, all of it, which
    is the last argument.

    ```mlir
    event.body @relu_squared grid ()[rows, past, outputs] -> (rows ceildiv 16)
        accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t * 16, 0) to
                                         (t)[rows, past, outputs] -> (t * 16 + 16, 256)>,
                  #event.access<write @y, (t)[rows, past, outputs] -> (t * 16, 0) to
                                          (t)[rows, past, outputs] -> (t * 16 + 16, 256)>] {
    ^bb0(%x: memref<?x?xf32, strided<[?, ?]>>, %y: memref<?x?xf32, strided<[?, ?]>>):
      linalg.generic {...} ins(%x : ...) outs(%y : ...) {...}
    }
    ```
    A call of it passes for each argument what a memref holds: the pointer
    twice, 0, the sizes, the strides. A body with temporaries, or one that calls
    what takes scratch, gets scratch of the worker's as one memref more, of
    bytes. A temporary is a `memref.alloca` at the top of the region: a tile that
    all threads of the task share, whose sizes are made of sizes of arguments.

    `adjoint_inputs` and `adjoint_weights` name bodies of the module that take
    gradients of what this one makes to what it reads (`model.custom` says in
    which order).

    **Constraints:**
    - `grid` has the symbols rows, past, outputs and no dimensions, at least one result
    - there are at least two accesses, one of which writes, and as many arguments as names of them
    - an argument is a memref of its access's rank, with dynamic sizes and strides (the last stride may be 1), of 64-, 32- or 16-bit floating-point numbers, or of i32
    - the access's maps have the grid's coordinates
    - the region holds ops of arith, math, memref, scf, vector, linalg, affine and index, and `event.library_call`, no atomics and no scalable vectors, allocates nothing but on the stack, and writes to no argument that no access writes
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, AffineMapAttr:$grid, ArrayAttr:$accesses,
                       OptionalAttr<FlatSymbolRefAttr>:$adjoint_inputs,
                       OptionalAttr<FlatSymbolRefAttr>:$adjoint_weights);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `grid` custom<BareMap>($grid) `accesses` $accesses attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    auto getAccessAttrs() { return getAccesses().getAsRange<AccessAttr>(); }
    /// Arguments as accesses state them: the first access, and whether any
    /// writes.
    struct Argument {
      ::baton::event::AccessAttr access;
      bool written;
    };
    ::llvm::SmallVector<Argument> getStatedArguments();
    /// Whether a call passes scratch, behind the arguments.
    bool usesScratch();
  }];
}

def Event_LibraryCallOp : Event_Op<"library_call", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "calls a function of the task library on tiles of a task body's";
  let description = [{
    ```mlir
    event.library_call "rms_norm"
        ins(%x, %weight : memref<?x?xf32, strided<[?, 1]>>, memref<?xf32, strided<[1]>>)
        outs(%y : memref<?x?xf32, strided<[?, 1]>>) {epsilon = 1.0e-5 : f32}
    ```
    The code is the task library's own, of either target, and so are the bits. It
    reads all of its inputs and writes all of its output; threads of a block run
    it together.

    | name | reads | writes | attributes |
    |---|---|---|---|
    | `rms_norm` | x `[rows, width]`, weight `[width]` | `[rows, width]`: x / sqrt(mean(x²) + epsilon) · weight, by rows | `epsilon` |
    | `layer_norm` | x `[rows, width]`, weight `[width]`, and bias `[width]` or nothing | `[rows, width]`: (x - mean) / sqrt(variance + epsilon) · weight + bias, by rows | `epsilon` |
    | `softmax` | x `[rows, width]` | `[rows, width]`: e^(x - maximum) / sum, by rows | none |
    | `linear` | x `[rows, depth]`, weight `[columns, depth]` of f32, bf16 or f16, and bias `[columns]` or nothing | `[rows, columns]`: x · weightᵀ + bias | none |
    | `attention` | queries `[rows, heads, width]`, keys `[positions, groups, width]`, values `[positions, groups, value_width]` | `[rows, heads, value_width]` | `scale`, `softcap` (0 is none), `window` (0 is none) |

    Attention is causal: the last row sees all positions, each row before it one
    less; with a window only the last ones of these. Query head h reads
    key/value head h / (heads / groups). Blocks of 64 positions are computed each
    on its own, and merged in order by running maxima and sums.

    Sizes of one name are one size, which the output's say first. Programs compiled with a sanitizer check
    that. Norms and softmax may write their x.

    **Constraints:**
    - it stands in an `event.body`, at its top or in scf.for, scf.if, affine.for or affine.if without results
    - the name is one of the table's, with as many inputs and one output
    - operands are memrefs of the ranks in the table, of f32 (f64 in a program that computes in f64), whose last stride is 1 in their types; sizes of one name that types state are equal
    - the attributes are the table's; numbers are finite, `epsilon` and `softcap` not negative, `window` an i64 that is not negative
    - the output shares no memory with an input, but that norms and softmax may have it as their x
    - a `memref.alloca` among the operands stands at the top of the body
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyType>:$inputs, Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $callee `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` ($outputs^ `:` type($outputs))? `)` attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// A number that the call gives, or what it is by default.
    double getNumber(::llvm::StringRef name);
  }];
}

def Event_ExchangeOp : Event_Op<"exchange", [HasParent<"PhaseOp">]> {
  let summary = "ranks send one another parts of tensors, all in one task";
  let description = [{
    ```mlir
    event.exchange all_to_all over ["dp"] for "all_reduce"
      [#event.transfer<@gradient to @received, 7860 by 3936>]
    ```
    The group are the ranks that differ in `axes` only, n of them. Of the whole
    tensor the rank at place g has the elements from g * part on: `part` of them,
    or what is left. Each sends from the first element of `send` on and receives
    from the first one of `receive` on.
    - `all_to_all`: a rank sends the whole tensor, and receives n parts, the one of
      its own place from every rank, a row of `receive` apart.
    - `all_gather`: a rank sends its part, and receives the whole tensor.

    Ranks at the end may have less than a part; behind its end they receive
    nothing, so that the phase `may write` there.

    Of the other two kinds a row's length is `part`, and which rows go where, only the
    step knows: three buffers say it, `by` [bounds, counts, received]. The E experts are
    those of the n ranks, E / n each, the first ones the first rank's.
    ```mlir
    event.exchange dispatch over ["ep"] for "dispatch_rows"
      [#event.transfer<@x to @y, ()[s0, s1, s2] -> (s0 * 128) by 64>]
      by [@bounds, @counts, @received]
    ```
    - `dispatch`: a rank sends all rows of `send`, those of expert e are
      `bounds[e]` to `bounds[e + 1]`. Of its own expert e it receives the rows
      `received[e]` to `received[e + 1]`: `counts[j][e]` from the rank at place j,
      rank by rank.
    - `combine`: the same backwards, from `send`, which is by `received`, to `receive`,
      by `bounds`.

    Nobody adds anything up on the way: a sum over ranks is an `all_to_all`,
    tasks that add n parts in ascending order of ranks, and an `all_gather`.
    `purpose` names what the exchange belongs to, for people.

    The runtime does it, when all ranks of the group have come to it. That a step's
    exchanges come before the task that advances it is up to who builds the plan:
    event-verify does not look at it.

    **Constraints:**
    - the program has a mesh, and `axes` are different ones of it, of at least two ranks together
    - it stands alone in its phase
    - the phase's grid depends on `outputs` alone, and has one task at most
    - there is a tensor, and send and receive are buffers of one element type, not inputs
    - no buffer is received into twice, or sent and received into
    - elements and part are one number each, without dimensions
    - a dispatch or combine is `by` three buffers, others by none; bounds are a partition of `E + 1` numbers from 0 on, E a multiple of n, received one of `E / n + 2`, counts n rows of i32, as long as the next multiple of 16 from E / n on
    - of these two, send and receive have two extents, of which the second one is part, a number; elements are those of the tensor that bounds are of; bounds and received are of as many rows as the tensors have
    - of the others, part is a multiple of 64 bytes, and n parts are the whole tensor or more, in every step
    - of an all_to_all, send has as many elements as the whole tensor, and receive n rows of a part
    - of an all_gather, send has rows of a part, and receive as many elements as the whole tensor
  }];
  let arguments = (ins Event_ExchangeKindAttr:$kind, StrArrayAttr:$axes, StrAttr:$purpose,
                       ArrayAttr:$tensors, OptionalAttr<ArrayAttr>:$tables);
  let assemblyFormat = "$kind `over` $axes `for` $purpose $tensors (`by` $tables^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    auto getTransfers() { return getTensors().getAsRange<TransferAttr>(); }
    /// Whether rows go to experts or come from them.
    bool movesRows() {
      return getKind() == ExchangeKind::dispatch || getKind() == ExchangeKind::combine;
    }
    /// Of these kinds: what says which rows go where.
    enum Table : unsigned { bounds, counts, received };
    ::mlir::FlatSymbolRefAttr getTable(Table table) {
      return ::mlir::cast<::mlir::FlatSymbolRefAttr>((*getTables())[table]);
    }
    /// Of a transfer of these kinds: the tensor of a rank's own rows, and that of
    /// those that its experts have.
    ::mlir::FlatSymbolRefAttr getOwnRows(TransferAttr transfer) {
      return getKind() == ExchangeKind::dispatch ? transfer.getSend() : transfer.getReceive();
    }
    ::mlir::FlatSymbolRefAttr getExpertRows(TransferAttr transfer) {
      return getKind() == ExchangeKind::dispatch ? transfer.getReceive() : transfer.getSend();
    }
    /// Ranks of a group.
    int64_t countRanks();
  }];
}

def Event_MessageOp : Event_Op<"message", [HasParent<"PhaseOp">]> {
  let summary = "a rank sends tensors to a neighbour, or receives what that one sends";
  let description = [{
    ```mlir
    event.message send [@x] to next over "pp" for "activations"
    event.message receive [@x] to previous over "pp" for "activations"
    ```
    Ranks of an axis are a ring: behind the last place comes the first one. A
    message is all of its tensors, of each the rows that the step has. `channel`
    names one of the ways from a rank to a neighbour. A channel keeps the order
    of its messages, and holds any number of them: who sends goes on at once,
    when the tensors may be written again; who receives waits for a message.

    That what is received is what was sent, in number and shape, and that nobody
    waits for ever, event-verify proves of all programs of a step together.

    **Constraints:**
    - the program has a mesh, and `axis` is one of it, of at least two ranks
    - it stands alone in its phase, which has one task
    - there is a tensor, and each is named once
    - a tensor is a buffer of one or two dimensions, no input, of one copy, whose last extent is constant if there are two
  }];
  let arguments = (ins Event_MessageDirectionAttr:$direction, ArrayAttr:$tensors,
                       Event_MessagePeerAttr:$peer, StrAttr:$axis, StrAttr:$channel);
  let assemblyFormat = [{
    $direction $tensors `to` $peer `over` $axis `for` $channel attr-dict
  }];
  let extraClassDeclaration = [{
    bool sends() { return getDirection() == MessageDirection::send; }
    auto getBuffers() { return getTensors().getAsRange<::mlir::FlatSymbolRefAttr>(); }
    /// How many places on the axis's ring the receiver is behind the sender.
    /// Between two ranks, the next one and the one before are the same.
    int64_t getHop();
  }];
  let hasVerifier = 1;
}

def Event_AdvanceOp : Event_Op<"advance", [HasParent<"PhaseOp">]> {
  let summary = "hands the step's logits to the runtime, which samples and sets the next step";
  let description = [{
    **Constraints:**
    - the buffer has two dimensions
  }];
  let arguments = (ins FlatSymbolRefAttr:$logits);
  let assemblyFormat = "$logits attr-dict";
  let hasVerifier = 1;
}

def Event_ScheduleOp : Event_Op<"schedule", [HasParent<"ProgramOp">]> {
  let summary = "an explicit list of tasks for every worker, for one step's symbols";
  let description = [{
    Without one, every worker runs its share of each phase in ascending rank,
    whatever the number of workers.

    **Constraints:**
    - the program has no exchange or message, whose order ranks must share
    - the symbols lie in the program's ranges
    - every task of the step stands in one list, once
  }];
  let arguments = (ins I64Attr:$rows, I64Attr:$past, I64Attr:$outputs, ArrayAttr:$workers);
  let assemblyFormat = "`rows` $rows `past` $past `outputs` $outputs `workers` $workers attr-dict";
  let hasVerifier = 1;
}

#endif // BATON_DIALECTS_EVENT_OPS
