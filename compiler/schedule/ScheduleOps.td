//===- ScheduleOps.td - decisions about a plan, as transform ops ----------===//

#ifndef BATON_COMPILER_SCHEDULE_OPS
#define BATON_COMPILER_SCHEDULE_OPS

include "mlir/Dialect/Transform/IR/TransformDialect.td"
include "mlir/Dialect/Transform/IR/TransformTypes.td"
include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpBase.td"

class Schedule_Op<string mnemonic> : Op<Transform_Dialect, "baton." # mnemonic, [
    DeclareOpInterfaceMethods<TransformOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]>;

// Alternatives of a decision ("or"): batonc tune tries them, and puts one in
// their place; no other command takes a schedule that has some.

def Schedule_MatchOp : Schedule_Op<"match"> {
  let summary = "the ops of a program, or the phases of a plan";
  let description = [{
    In the order of the program, those of the given kinds (all that become
    tasks, without kinds) whose name fits the pattern: `*` is any text, `?` any
    character, `{a,b}` either. Names are those that `--emit=event` and traces
    show ("layers.mlp.down_proj"); an op that does several ops' work has all of
    their names.

    ```mlir
    %norms = transform.baton.match ["model.rms_norm"] in %program
    %mlp = transform.baton.match named "layers.mlp.*" in %program
    %phases = transform.baton.match in %plan
    ```

    **Constraints:**
    - kinds are names of ops in the model dialect, or `event.phase`
    - something matches, or `optional` is said
  }];
  let arguments = (ins Transform_AnyOpType:$program, OptionalAttr<StrArrayAttr>:$kinds,
                       OptionalAttr<StrAttr>:$named, UnitAttr:$optional);
  let results = (outs Transform_AnyOpType:$ops);
  let assemblyFormat = [{
    ($kinds^)? (`named` $named^)? `in` $program (`optional` $optional^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Schedule_FuseOp : Schedule_Op<"fuse"> {
  let summary = "make one task of ops and those that make what they read";
  let description = [{
    | op | what happens |
    |---|---|
    | `model.softmax` | from the product that makes the scores to the one with the values, all is one `model.attention` |
    | `model.gate` | is applied by the attention that makes its input |
    | `model.mul` | of an activated linear and a linear becomes one `model.gated_linear` |
    | `model.activate`, `model.add` | are applied by the linear that makes their input |
    | `model.hyper_pre` | with what makes its weights, and the `model.hyper_post` before, becomes `model.hyper_enter` or `model.hyper_turn` |

    The result are the ops that now do the work. An op that cannot be fused is
    an error; with `optional` it stays as it is, and `explain` says why.
    `or not` lets `batonc tune` try to leave all of them as they are.
  }];
  let arguments = (ins Transform_AnyOpType:$ops, UnitAttr:$orNot, UnitAttr:$optional);
  let results = (outs Transform_AnyOpType:$fused);
  let assemblyFormat = "$ops (`or` `not` $orNot^)? (`optional` $optional^)? attr-dict";
}

def Schedule_GroupOp : Schedule_Op<"group"> {
  let summary = "make one linear of those that read the same rows";
  let description = [{
    Of the given `model.linear` ops, those of one block and one input, equally
    stored, become one, whose tiles run over the columns of all. The result are
    the linears made. A linear that is left alone is an error, unless `optional`
    is said. `or not` lets `batonc tune` try without.
  }];
  let arguments = (ins Transform_AnyOpType:$linears, UnitAttr:$orNot, UnitAttr:$optional);
  let results = (outs Transform_AnyOpType:$groups);
  let assemblyFormat = "$linears (`or` `not` $orNot^)? (`optional` $optional^)? attr-dict";
}

def Schedule_RecomputeOp : Schedule_Op<"recompute"> {
  let summary = "let each reader compute a norm, or what a body makes, again, instead of waiting for it";
  let description = [{
    Moves `model.rms_norm` and `model.layer_norm` into the linears that read
    them: a phase and an event less. The result are those linears (one of each
    norm's). A norm that anything else reads stays, which is an error unless
    `optional` is said. `or not` lets `batonc tune` try without.

    The same of a `model.custom`, which is the result itself: each task of the
    linears calls its body for its own rows, which may be more than a tile of
    the body's has. So its tasks have whole rows, of all operands the same, and
    no memory of a fixed size.
  }];
  let arguments = (ins Transform_AnyOpType:$norms, UnitAttr:$orNot, UnitAttr:$optional);
  let results = (outs Transform_AnyOpType:$readers);
  let assemblyFormat = "$norms (`or` `not` $orNot^)? (`optional` $optional^)? attr-dict";
}

def Schedule_ReplaceOp : Schedule_Op<"replace"> {
  let summary = "let ops be computed by a body of the user's";
  let description = [{
    The given ops, of one block, become one `model.custom` of `body`, an
    `event.body` beside the schedule's sequences. Its operands are the values
    that the ops read and do not make, in the order in which they are first
    read; its results are the values that others read, in the order in which
    the ops make them. Ops of different blocks
    are replaced block by block. The result are the ops made. `or not` lets
    `batonc tune` try the body beside the ops, whose bits it has to have.

    ```mlir
    transform.baton.replace %norms with @squares through !model.tensor<rows x 4 x f32> then @normalise
    ```

    `through` and `then` split the work of a row over several tasks, and hence
    workers: the first body makes parts, one value of that type, and the second
    one merges them. It reads what the first reads, then the parts, and makes
    what the ops made.

    **Constraints:**
    - a body has as many arguments as it reads and makes values
    - nothing between the ops needs a value of theirs and makes one for them
  }];
  let arguments = (ins Transform_AnyOpType:$ops, FlatSymbolRefAttr:$body,
                       OptionalAttr<TypeAttr>:$parts,
                       OptionalAttr<FlatSymbolRefAttr>:$merge, UnitAttr:$orNot);
  let results = (outs Transform_AnyOpType:$custom);
  let assemblyFormat = [{
    $ops `with` $body (`through` $parts^ `then` $merge)? (`or` `not` $orNot^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Schedule_TileOp : Schedule_Op<"tile"> {
  let summary = "set the size of tiles";
  let description = [{
    `[rows]`, or `[rows, columns]` for linears. Of an attention, rows are of
    queries; a task has one key/value head's. `[rows, positions]` spreads the
    positions over tasks, too, in programs whose steps have no more rows than a
    tile; what their tasks compute, others merge. In the copy of `@model` that
    steps of few rows follow, `manyRows` says that the target's sizes stand in
    the place of these. `batonc tune` chooses among several sizes:

    ```mlir
    transform.baton.tile %wide [48, 64] or [24, 64] or [48, 128] optional
    ```

    **Constraints:**
    - every op becomes tasks of rows, and positions are spread if they are given,
      or `optional` is said
    - no later op of the sequence makes something else of the op
    - rows are 1 to 4096, columns a multiple of 16 up to 65536, positions a
      multiple of 64 up to 65536, or 0 for all in one task
    - columns are given for `model.linear` and `model.gated_linear`, and only for
      them; positions may be given for `model.attention`
  }];
  let arguments = (ins Transform_AnyOpType:$ops, DenseI64ArrayAttr:$sizes,
                       OptionalAttr<ArrayAttr>:$alternatives, UnitAttr:$optional,
                       UnitAttr:$manyRows);
  let assemblyFormat = [{
    $ops custom<Alternatives>($sizes, $alternatives) (`optional` $optional^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Schedule_SplitOp : Schedule_Op<"split"> {
  let summary = "cut phases in two along a coordinate of their grids";
  let description = [{
    The tasks before tile `at` become a phase of their own in front of the
    others. Who waits for what follows, so that readers of the first part need
    not wait for the second. The results are the parts. `batonc tune` chooses
    among several cuts: `at 1 or 2`.
  }];
  let arguments = (ins Transform_AnyOpType:$phases, I64Attr:$dimension, I64Attr:$at,
                       OptionalAttr<ArrayAttr>:$alternatives);
  let results = (outs Transform_AnyOpType:$front, Transform_AnyOpType:$back);
  let assemblyFormat = [{
    $phases `dimension` $dimension `at` custom<Alternatives>($at, $alternatives) attr-dict
  }];
  let hasVerifier = 1;
}

def Schedule_MergeOp : Schedule_Op<"merge"> {
  let summary = "make one phase of neighbours with the same grid";
  let description = [{
    A task does the work of all their tasks at its coordinates, in order. The
    phases follow one another in one segment; several runs of neighbours are
    merged one by one. If a task then needed what another one of the same phase
    makes, event-verify rejects the plan. `or not` lets `batonc tune` try
    without.
  }];
  let arguments = (ins Transform_AnyOpType:$phases, UnitAttr:$orNot);
  let results = (outs Transform_AnyOpType:$merged);
  let assemblyFormat = "$phases (`or` `not` $orNot^)? attr-dict";
}

def Schedule_DistributeOp : Schedule_Op<"distribute"> {
  let summary = "choose which worker runs which tile of phases";
  let description = [{
    `blocked` gives each worker a run of neighbouring tiles with an equal share
    of the rows, `cyclic` deals them
    out in turn, `ticket` has workers take them while they run, one after the
    other, which only phases may have whose tasks call bodies and do nothing
    else. `by_work` is cyclic where tiles differ in work and blocked
    elsewhere. With `few_tasks`, phases of at most so many tasks that follow one
    another, none of which touches what the one before writes, are `blocked` and
    `cyclic` by turns. So the last worker has the only task of one phase and the
    first that of the next, and they run side by side. `batonc tune` chooses
    among several: `"by_work" or "cyclic"`.

    **Constraints:**
    - `map` is one of the four
    - only `by_work` has `few_tasks`
  }];
  let arguments = (ins Transform_AnyOpType:$phases, StrAttr:$map,
                       OptionalAttr<ArrayAttr>:$alternatives,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$few_tasks);
  let assemblyFormat = [{
    $phases custom<Alternatives>($map, $alternatives) (`few_tasks` $few_tasks^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Schedule_EventsOp : Schedule_Op<"events"> {
  let summary = "choose how finely others may wait for phases";
  let description = [{
    `per_tile` lets derive-events tell apart as many coordinates as readers
    can use, `per_phase` none: every reader waits for the whole phase.
    `coordinates [0]` names those that may be told apart. `batonc tune` chooses
    among granularities: `"per_tile" or "per_phase"`.

    **Constraints:**
    - `granularity` is one of the two, or coordinates are given
  }];
  let arguments = (ins Transform_AnyOpType:$phases, OptionalAttr<StrAttr>:$granularity,
                       OptionalAttr<ArrayAttr>:$alternatives,
                       OptionalAttr<DenseI64ArrayAttr>:$coordinates);
  let assemblyFormat = [{
    $phases custom<OptionalAlternatives>($granularity, $alternatives)
    (`coordinates` $coordinates^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Schedule_PrefetchOp : Schedule_Op<"prefetch"> {
  let summary = "choose how many bytes of its weights a waiting task asks for";
  let description = [{
    From the start of each weight that a task reads. 0 asks for nothing.
    `batonc tune` chooses among several: `4096 or 16384`.

    **Constraints:**
    - every phase reads a weight, or `optional` is said
    - `bytes` is 0 to 1048576
  }];
  let arguments = (ins Transform_AnyOpType:$phases, I64Attr:$bytes,
                       OptionalAttr<ArrayAttr>:$alternatives, UnitAttr:$optional);
  let assemblyFormat = [{
    $phases custom<Alternatives>($bytes, $alternatives) (`optional` $optional^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // BATON_COMPILER_SCHEDULE_OPS
