//===- Body.td - how a task body of the libraries is declared -------------===//
//
// A body computes one tile of one operator. Its record is the only place that
// says what its operands are, in which order they come, what the body touches
// behind each pointer and what it computes. tools/body-tblgen makes of the
// records: the C declarations of both task libraries, accessors of calls by
// name, the table that plans are checked against, the operations that explain
// counts, and docs/reference/bodies.md.
//
// An operator also has a tiling rule and a sharding rule, in files of its name
// in passes/tiling/rules and passes/sharding/rules. One that has none says why in
// its file here: "No tiling rule: ...".
//
// Formulas (`shape`, `elements`, `flops`, ...) are C++ expressions of operands'
// names, numbers, + - * / and the functions of codegen/bodies/Formulas.h;
// `overhead()` is what the form of the body's matrix has for each output besides
// weights.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_BODIES_BODY
#define BATON_CODEGEN_BODIES_BODY

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// What an operand is to a body. `cType` is its type in C; `Element` stands for
/// the element of the body's variant.
class Operand<string theRole, string theType> {
  string role = theRole;
  string cType = theType;
  bit nullable = false;
  /// Behind a pointer: whether elements are those of the body's variant.
  bit stored = false;
  /// Behind a pointer: how many elements along each dimension, outermost first;
  /// `rest()` is all that there are. Empty: what its form says.
  list<string> shape = [];
  /// The distance between two elements along each dimension, in elements. By
  /// default that of the outermost of two is the operand NAME_stride, and
  /// others are dense.
  list<string> strides = [];
  /// The first index along the outermost dimension that is touched; `shape`
  /// counts from the pointer on nevertheless.
  string from = "0";
  /// Elements that a body reads of a weight, if they are not all of `shape`.
  string elements = "";
  /// Each row picks its own of a table: what two tasks read is not the same,
  /// although they are given the same pointer.
  bit gathered = false;
}

// Activations, states, gradients: numbers of the library's Real. ---------------

/// The body writes every element.
class Writes<list<string> theShape = [], list<string> theStrides = []>
    : Operand<"Output", "Real *"> {
  let shape = theShape;
  let strides = theStrides;
}
/// The body writes some elements, by what its other operands hold.
class MayWrite<list<string> theShape, list<string> theStrides = []>
    : Operand<"PartialOutput", "Real *"> {
  let shape = theShape;
  let strides = theStrides;
}
/// The body reads what is there and writes every element.
class Updates<list<string> theShape = [], list<string> theStrides = []>
    : Operand<"Updated", "Real *"> {
  let shape = theShape;
  let strides = theStrides;
}
/// A gradient: the same if the body's Accumulate flag says so, else only
/// written.
class Accumulates<list<string> theShape = [], list<string> theStrides = []>
    : Operand<"Accumulated", "Real *"> {
  let shape = theShape;
  let strides = theStrides;
}
class Reads<list<string> theShape = [], list<string> theStrides = []>
    : Operand<"Input", "const Real *"> {
  let shape = theShape;
  let strides = theStrides;
}
/// What others may not have written all of: the body does not read the rest, or
/// what it makes of that is behind the end of what anyone uses.
class MayRead<list<string> theShape, list<string> theStrides = []>
    : Operand<"PartialInput", "const Real *"> {
  let shape = theShape;
  let strides = theStrides;
}
/// Values of the positions [theFirst, theEnd); with a stride of 0 they lie in
/// panels of 16 positions.
class ReadsState<string theEnd, string width, string theFirst = "0">
    : Operand<"State", "const Real *"> {
  let shape = [theEnd, width];
  let from = theFirst;
}
/// Keys; in panels, these are read whole.
class ReadsKeys<string theEnd, string width, string theFirst = "0">
    : Operand<"Keys", "const Real *"> {
  let shape = [theEnd, width];
  let from = theFirst;
}
/// A row of numbers that all rows of a step share, trained or packed.
class ReadsWeight<list<string> theShape, string theElements = "">
    : Operand<"Weight", "const Real *"> {
  let shape = theShape;
  let elements = theElements;
}
/// A matrix in one of the body's weight forms.
class ReadsMatrix<list<string> theShape, string theElements>
    : Operand<"Matrix", "const Element *"> {
  let shape = theShape;
  let elements = theElements;
}
/// Rows of a table in one of the body's weight forms, picked by others' values.
class ReadsTable<list<string> theShape, string theElements>
    : ReadsMatrix<theShape, theElements> {
  let gathered = true;
}

// Numbers of the step that the runtime provides. --------------------------------

/// Tokens, targets or positions: i32.
class ReadsIntegers<list<string> theShape, list<string> theStrides = []>
    : Operand<"Integers", "const int32_t *"> {
  let shape = theShape;
  let strides = theStrides;
}
/// i32; the body writes every element.
class WritesIntegers<list<string> theShape> : Operand<"IntegerOutput", "int32_t *"> {
  let shape = theShape;
}
/// i32; as MayWrite and MayRead.
class MayWriteIntegers<list<string> theShape>
    : Operand<"PartialIntegerOutput", "int32_t *"> {
  let shape = theShape;
}
class MayReadIntegers<list<string> theShape>
    : Operand<"PartialIntegers", "const int32_t *"> {
  let shape = theShape;
}
/// Null, or a number: gradients are added to what is there unless it is 0.
def Accumulate : Operand<"Flag", "const int32_t *"> { let nullable = true; }
/// Which part of a tensor the rank has.
class Place<string count = "1"> : Operand<"Integers", "const int32_t *"> {
  let shape = [count];
}

/// Memory of the worker, whatever was there.
def Scratch : Operand<"Scratch", "Real *">;

// Numbers in the call. ----------------------------------------------------------

/// Elements between two rows, or columns.
def Stride : Operand<"Stride", "int64_t">;
/// How many: rows of a tile, of which there may be none, or a size.
def Count : Operand<"Count", "int64_t">;
/// An index, from 0 on.
def Position : Operand<"Count", "int64_t">;
def Number : Operand<"Number", "Real">;
/// One of an enumeration's values.
class Choice<string theEnumeration> : Operand<"Choice", "int32_t"> {
  string enumeration = theEnumeration;
}
/// 0 or 1.
def Switch : Choice<"">;

class Copy<Operand operand, string theType = operand.cType> : Operand<operand.role, theType> {
  let nullable = operand.nullable;
  let stored = operand.stored;
  let shape = operand.shape;
  let strides = operand.strides;
  let from = operand.from;
  let elements = operand.elements;
  let gathered = operand.gathered;
}
class Nullable<Operand operand> : Copy<operand> { let nullable = true; }
/// As elements of the body's variant.
class StoredOutput<Operand operand> : Copy<operand, "Element *"> { let stored = true; }
class StoredInput<Operand operand> : Copy<operand, "const Element *"> { let stored = true; }
/// Rows from `first` on.
class From<string first, Operand operand> : Copy<operand> { let from = first; }

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// A function of its own for a way in which elements are stored or rounded.
class Variant<string theSuffix, string theElement, string theFormat> {
  string suffix = theSuffix;
  /// The type in C of an `Element`.
  string element = theElement;
  /// "f32", "bf16", "f16"; of states also "int8" and "fp8", of weights formats
  /// of blocks.
  string format = theFormat;
}
def Plain : Variant<"", "Real", "f32">;

// Weights as they are stored; conversion to Real is exact.
def F32 : Variant<"_f32", "Real", "f32">;
def BF16 : Variant<"_bf16", "uint16_t", "bf16">;
def F16 : Variant<"_f16", "uint16_t", "f16">;
defvar WeightVariants = [F32, BF16, F16];

// Weights in blocks that have scales (runtime/weight_blocks.h).
class Blocks<string theFormat> : Variant<"_" # theFormat, "int8_t", theFormat>;
// Of whole numbers of 8 bits.
defvar IntegerBlockVariants = [
  Blocks<"q8_0">, Blocks<"q4_0">, Blocks<"q4_1">, Blocks<"q5_0">, Blocks<"q5_1">,
  Blocks<"q2_k">, Blocks<"q3_k">, Blocks<"q4_k">, Blocks<"q5_k">, Blocks<"q6_k">,
  Blocks<"int4_g32">, Blocks<"int4_g64">, Blocks<"int4_g128">, Blocks<"int8_g64">];
defvar BlockVariants = !listconcat(IntegerBlockVariants, [
  Blocks<"fp8_g64">, Blocks<"nvfp4">, Blocks<"mxfp4">, Blocks<"nf4">, Blocks<"fp4">]);
// Each panel in one of them, which it says.
def Mixed : Blocks<"mixed">;

// States as they are stored. Rows of bytes have their scale behind them, an F32.
def Int8 : Variant<"_int8", "int8_t", "int8">;
def Float8 : Variant<"_fp8", "int8_t", "fp8">;
defvar StateVariants = [Plain, BF16, Int8, Float8];

// Sides of products that are rounded first; what is stored are Reals.
def RoundedBF16 : Variant<"_bf16", "Real", "bf16">;
def RoundedF16 : Variant<"_f16", "Real", "f16">;
defvar Roundings = [Plain, RoundedBF16, RoundedF16];

/// A body beside the portable one, with bits of its own or shared memory.
class Tuning<string theTarget, string theName, list<Variant> theVariants> {
  string target = theTarget;
  string name = theName;
  list<Variant> variants = theVariants;
}

/// Lists a body's operands: (takes ROLE:$name, ...).
def takes;

class Body<string theName, dag theOperands> {
  /// What calls in plans name it, without its variant's suffix; in C it is
  /// baton_task_NAME.
  string name = theName;
  dag operands = theOperands;
  /// What it computes, in Markdown.
  string description = ?;
  list<Variant> variants = [Plain];
  /// Which task libraries have it. Plans for a target whose library has not do
  /// not call it.
  list<string> libraries = ["cpu", "cuda"];
  /// Inputs that the first operand may be: with the same pointer and stride.
  list<string> inPlace = [];
  /// Additions, multiplications and comparisons; a fused multiply-add is two,
  /// and a transcendental function one. Every body states it, also that there
  /// are none; `?` where operands do not say.
  string flops = "0";
  /// The first row of a state that is read.
  string firstStateRow = "0";
  /// Whether `flops` are those of a product of matrices.
  bit isProduct = false;
  list<Tuning> tuned = [];
}

#endif // BATON_CODEGEN_BODIES_BODY
