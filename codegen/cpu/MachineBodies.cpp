//===- MachineBodies.cpp - functions that depend on the machine -----------===//

#include "codegen/cpu/MachineBodies.h"

#include "codegen/cpu/Target.h"
#include "codegen/cpu/library/amx.h"
#include "codegen/cpu/library/dots.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using baton::cpu::dot_bytes;
using baton::cpu::dot_lanes;

namespace {

/// What one body is written by.
class Writer {
public:
  Writer(Function &function, bool hasDots)
      : hasDots(hasDots), function(function),
        builder((function.deleteBody(),
                 BasicBlock::Create(function.getContext(), "", &function))),
        words(FixedVectorType::get(builder.getInt32Ty(), dot_lanes)),
        halves(FixedVectorType::get(builder.getInt16Ty(), 2 * dot_lanes)),
        bytes(FixedVectorType::get(builder.getInt8Ty(), dot_bytes)) {}

  Value *argument(unsigned index) { return function.getArg(index); }
  Value *sums() { return load(argument(0), words); }
  /// Eight words of the weights, from `first` on, as bytes.
  Value *weights(int first) {
    return load(builder.CreateConstInBoundsGEP1_32(builder.getInt32Ty(),
                                                   argument(1), first),
                bytes);
  }
  /// An argument's four bytes, for each output.
  Value *inputs(unsigned index) {
    return builder.CreateBitCast(
        builder.CreateVectorSplat(dot_lanes, argument(index)), bytes);
  }
  /// Sums of two products each, which 16 bits hold.
  Value *pairs(Value *unsignedBytes, Value *signedBytes) {
    return builder.CreateIntrinsic(Intrinsic::x86_avx2_pmadd_ub_sw, {},
                                   {unsignedBytes, signedBytes});
  }
  Value *add(Value *a, Value *b) { return builder.CreateAdd(a, b); }
  /// `sums` and the sums of two neighbouring halves of words each.
  Value *addPairs(Value *sums, Value *pairs) {
    return add(sums,
               builder.CreateIntrinsic(Intrinsic::x86_avx2_pmadd_wd, {},
                                       {pairs, ConstantInt::get(halves, 1)}));
  }
  Value *addFours(Value *sums, Value *unsignedBytes, Value *signedBytes) {
    return builder.CreateIntrinsic(Intrinsic::x86_avx512_vpdpbusd_256, {},
                                   {sums,
                                    builder.CreateBitCast(unsignedBytes, words),
                                    builder.CreateBitCast(signedBytes, words)});
  }
  Value *absolute(Value *value) {
    return builder.CreateBinaryIntrinsic(Intrinsic::abs, value,
                                         builder.getFalse());
  }
  /// The first times the sign of the second.
  Value *withSignOf(Value *value, Value *sign) {
    return builder.CreateIntrinsic(Intrinsic::x86_avx2_psign_b, {},
                                   {value, sign});
  }
  void finish(Value *sums) {
    builder.CreateAlignedStore(sums, argument(0), Align(4));
    builder.CreateRetVoid();
  }

  const bool hasDots;

private:
  Value *load(Value *place, Type *type) {
    return builder.CreateAlignedLoad(type, place, Align(4));
  }

  Function &function;
  IRBuilder<> builder;
  FixedVectorType *words, *halves, *bytes;
};

/// What begins a function's own body, in place of what it had.
IRBuilder<> rewrite(Function &function) {
  function.deleteBody();
  return IRBuilder<>(BasicBlock::Create(function.getContext(), "", &function));
}

/// Vectors of 64 bytes in a function. CPUs that prefer shorter ones have none
/// unless it says so.
FixedVectorType *wideVector(Function &function, Type *element) {
  function.addFnAttr("min-legal-vector-width", "512");
  return FixedVectorType::get(element, 512 / element->getScalarSizeInBits());
}

/// baton_dots_wide() by one instruction.
void writeWide(Function &function) {
  IRBuilder<> builder = rewrite(function);
  Type *words = wideVector(function, builder.getInt32Ty());
  auto load = [&](unsigned argument) -> Value * {
    return builder.CreateAlignedLoad(words, function.getArg(argument),
                                     Align(4));
  };
  Value *sums = builder.CreateIntrinsic(Intrinsic::x86_avx512_vpdpbusd_512, {},
                                        {load(0), load(1), load(2)});
  builder.CreateAlignedStore(sums, function.getArg(0), Align(4));
  builder.CreateRetVoid();
}

/// baton_look_up_bytes() by one instruction.
void writeLookups(Function &function) {
  IRBuilder<> builder = rewrite(function);
  Type *byte = builder.getInt8Ty();
  Value *table = builder.CreateAlignedLoad(
      FixedVectorType::get(byte, dot_bytes / 2), function.getArg(1), Align(1));
  // The instruction has a table for each half.
  SmallVector<int> twice(dot_bytes);
  for (int i = 0; i < dot_bytes; ++i)
    twice[i] = i % (dot_bytes / 2);
  Value *places = builder.CreateAlignedLoad(
      FixedVectorType::get(byte, dot_bytes), function.getArg(0), Align(1));
  Value *found = builder.CreateIntrinsic(
      Intrinsic::x86_avx2_pshuf_b, {},
      {builder.CreateShuffleVector(table, twice), places});
  builder.CreateAlignedStore(found, function.getArg(0), Align(1));
  builder.CreateRetVoid();
}

/// baton_dots_pairs() by one instruction. Weights of two depths become pairs,
/// once for all rows that the caller multiplies by them.
void writePairs(Function &function) {
  IRBuilder<> builder = rewrite(function);
  Type *floats = wideVector(function, builder.getFloatTy());
  Type *numbers = wideVector(function, builder.getBFloatTy());
  constexpr int lanes = baton::cpu::wide_dot_lanes;
  SmallVector<int> order;
  for (int lane = 0; lane < lanes; ++lane)
    order.append({lane, lanes + lane});
  Value *weights = builder.CreateAlignedLoad(
      wideVector(function, builder.getInt16Ty()), function.getArg(1), Align(2));
  weights = builder.CreateBitCast(builder.CreateShuffleVector(weights, order),
                                  numbers);
  Value *inputs = builder.CreateBitCast(
      builder.CreateVectorSplat(lanes, function.getArg(2)), numbers);
  Value *sums = builder.CreateAlignedLoad(floats, function.getArg(0), Align(4));
  sums = builder.CreateIntrinsic(Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                                 {sums, weights, inputs});
  builder.CreateAlignedStore(sums, function.getArg(0), Align(4));
  builder.CreateRetVoid();
}

/// Fused multiply-adds of pairs, which baton_begin_pairs() or
/// baton_begin_chains() has told to take denormal numbers for zeros.
class FusedPairs {
public:
  explicit FusedPairs(Function &function)
      : builder(rewrite(function)), function(function),
        floats(FixedVectorType::get(builder.getFloatTy(), lanes)) {}

  Value *load(unsigned argument) {
    return builder.CreateAlignedLoad(floats, function.getArg(argument),
                                     Align(4));
  }
  /// `sums` and the product of the weights of depth 0 or 1, which an argument
  /// points to, with the lower or the upper half of `inputs`.
  Value *add(Value *sums, unsigned weights, int depth, Value *inputs) {
    auto *words = FixedVectorType::get(builder.getInt32Ty(), lanes);
    auto *halves = FixedVectorType::get(builder.getInt16Ty(), lanes);
    Value *half = depth ? builder.CreateAnd(inputs, 0xffff0000)
                        : builder.CreateShl(inputs, 16);
    Value *input = builder.CreateVectorSplat(
        lanes, builder.CreateBitCast(half, builder.getFloatTy()));
    Value *place = builder.CreateConstInBoundsGEP1_32(
        builder.getInt16Ty(), function.getArg(weights), depth * lanes);
    Value *loaded = builder.CreateAlignedLoad(halves, place, Align(2));
    Value *weight = builder.CreateBitCast(
        builder.CreateShl(builder.CreateZExt(loaded, words), 16), floats);
    return builder.CreateIntrinsic(Intrinsic::fma, {floats},
                                   {input, weight, sums});
  }
  void store(Value *sums, unsigned argument) {
    builder.CreateAlignedStore(sums, function.getArg(argument), Align(4));
  }

  IRBuilder<> builder;

private:
  static constexpr int lanes = baton::cpu::wide_dot_lanes;
  Function &function;
  FixedVectorType *floats;
};

/// baton_dots_pairs() by two of them.
void writeFusedPairs(Function &function) {
  FusedPairs pairs(function);
  Value *x = function.getArg(2);
  pairs.store(pairs.add(pairs.add(pairs.load(0), 1, 1, x), 1, 0, x), 0);
  pairs.builder.CreateRetVoid();
}

/// baton_chain_pairs().
void writeChains(Function &function) {
  FusedPairs pairs(function);
  Value *x = function.getArg(3);
  Value *even = pairs.add(pairs.load(0), 2, 0, x);
  Value *odd = pairs.add(pairs.load(1), 2, 1, x);
  pairs.store(even, 0);
  pairs.store(odd, 1);
  pairs.builder.CreateRetVoid();
}

/// baton_join_chains().
void writeJoin(Function &function) {
  FusedPairs pairs(function);
  Value *joined = pairs.builder.CreateFAdd(pairs.load(1), pairs.load(2));
  pairs.store(pairs.builder.CreateFAdd(pairs.load(0), joined), 0);
  pairs.builder.CreateRetVoid();
}

//===----------------------------------------------------------------------===//
// AMX
//===----------------------------------------------------------------------===//

/// Writes a function of amx.h, whose tiles are: 0 to 3 sums, 4 and 5 rows, 6
/// and 7 weights.
class AmxWriter {
public:
  explicit AmxWriter(Function &function)
      : builder(rewrite(function)), function(function) {}
  AmxWriter(const AmxWriter &) = delete;
  AmxWriter &operator=(const AmxWriter &) = delete;
  ~AmxWriter() { builder.CreateRetVoid(); }

  Value *argument(unsigned index) { return function.getArg(index); }
  void call(Intrinsic::ID id, ArrayRef<Value *> arguments) {
    builder.CreateIntrinsic(id, {}, arguments);
  }
  Value *tile(int index) { return builder.getInt8(index); }
  /// Tile `index` of 1 KiB from `place` on.
  Value *at(Value *place, int index) {
    return builder.CreateConstInBoundsGEP1_32(builder.getInt8Ty(), place,
                                              index * int(sizeof(float)) *
                                                  baton::cpu::amx_sums);
  }
  Value *line() { return builder.getInt64(64); }
  void load(int to, Value *from, Value *stride) {
    call(Intrinsic::x86_tileloadd64, {tile(to), from, stride});
  }
  void multiply(int sums, int rows, int weights) {
    call(Intrinsic::x86_tdpbf16ps, {tile(sums), tile(rows), tile(weights)});
  }

private:
  IRBuilder<> builder;
  Function &function;
};

void writeAmxBegin(AmxWriter &writer) {
  writer.call(Intrinsic::x86_ldtilecfg, {writer.argument(0)});
}
void writeAmxEnd(AmxWriter &writer) {
  writer.call(Intrinsic::x86_tilerelease, {});
}
void writeAmxZero(AmxWriter &writer) {
  for (int tile = 0; tile < 4; ++tile)
    writer.call(Intrinsic::x86_tilezero, {writer.tile(tile)});
}
void writeAmxLoad(AmxWriter &writer) {
  for (int tile = 0; tile < 4; ++tile)
    writer.load(tile, writer.at(writer.argument(0), tile), writer.line());
}
void writeAmxStore(AmxWriter &writer) {
  for (int tile = 0; tile < 4; ++tile)
    writer.call(Intrinsic::x86_tilestored64,
                {writer.tile(tile), writer.at(writer.argument(0), tile),
                 writer.line()});
}
/// The first tile of rows by two of weights.
void multiplyFirst(AmxWriter &writer, Value *stride, Value *weights) {
  writer.load(6, writer.at(weights, 0), writer.line());
  writer.load(4, writer.argument(0), stride);
  writer.load(7, writer.at(weights, 1), writer.line());
  writer.multiply(0, 4, 6);
  writer.multiply(1, 4, 7);
}
void writeAmxMultiply(AmxWriter &writer) {
  Value *stride = writer.argument(2);
  multiplyFirst(writer, stride, writer.argument(3));
  writer.load(5, writer.argument(1), stride);
  writer.multiply(2, 5, 6);
  writer.multiply(3, 5, 7);
}
void writeAmxMultiplyFirst(AmxWriter &writer) {
  multiplyFirst(writer, writer.argument(1), writer.argument(2));
}

/// What begins arithmetic in which denormal operands and results are zeros, and
/// what has them be what they were.
void writeBorders(Function &begin, Function &end) {
  constexpr uint32_t flushToZero = 0x8000, denormalsAreZero = 0x40;
  IRBuilder<> builder = rewrite(begin);
  Value *place = builder.CreateAlloca(builder.getInt32Ty());
  builder.CreateIntrinsic(Intrinsic::x86_sse_stmxcsr, {}, {place});
  Value *before = builder.CreateLoad(builder.getInt32Ty(), place);
  builder.CreateStore(builder.CreateOr(before, flushToZero | denormalsAreZero),
                      place);
  builder.CreateIntrinsic(Intrinsic::x86_sse_ldmxcsr, {}, {place});
  builder.CreateRet(before);

  IRBuilder<> last = rewrite(end);
  place = last.CreateAlloca(last.getInt32Ty());
  last.CreateStore(end.getArg(0), place);
  last.CreateIntrinsic(Intrinsic::x86_sse_ldmxcsr, {}, {place});
  last.CreateRetVoid();
}

} // namespace

static void writeUnsigned(Writer writer) {
  Value *sums = writer.sums();
  Value *first = writer.weights(0), *second = writer.weights(dot_lanes);
  Value *x = writer.inputs(2), *y = writer.inputs(3);
  if (writer.hasDots)
    sums = writer.addFours(writer.addFours(sums, first, x), second, y);
  else
    // 4 products of at most 63 * 127.
    sums = writer.addPairs(
        sums, writer.add(writer.pairs(first, x), writer.pairs(second, y)));
  writer.finish(sums);
}

/// The product of an absolute value and what takes its sign.
static void writeSigned(Writer writer) {
  Value *sums = writer.sums(), *weights = writer.weights(0);
  Value *sizes = writer.absolute(weights);
  Value *x = writer.withSignOf(writer.inputs(2), weights);
  writer.finish(writer.hasDots ? writer.addFours(sums, sizes, x)
                               : writer.addPairs(sums, writer.pairs(sizes, x)));
}

/// Has the module's function of that name inlined; null if there is none.
static Function *inlined(Module &module, StringRef name) {
  Function *function = module.getFunction(name);
  if (!function || function->isDeclaration())
    return nullptr;
  function->removeFnAttr(Attribute::NoInline);
  function->addFnAttr(Attribute::AlwaysInline);
  return function;
}

/// Has the function of that name say so.
static void answer(Module &module, StringRef name, bool value) {
  Function *function = inlined(module, name);
  if (!function)
    return;
  function->deleteBody();
  IRBuilder<> builder(BasicBlock::Create(module.getContext(), "", function));
  builder.CreateRet(ConstantInt::get(function->getReturnType(), value));
}

void baton::cpu::chooseMachineBodies(Module &module,
                                     const TargetMachine &machine) {
  const MCSubtargetInfo &cpu = *machine.getMCSubtargetInfo();
  const bool isX86 = machine.getTargetTriple().getArch() == Triple::x86_64;
  const bool hasPairs = isX86 && cpu.checkFeatures("+avx2");
  const bool hasDots = hasPairs && (cpu.checkFeatures("+avxvnni") ||
                                    cpu.checkFeatures("+avx512vnni,+avx512vl"));
  for (auto [name, write] : {std::pair("baton_dots_unsigned", &writeUnsigned),
                             std::pair("baton_dots_signed", &writeSigned)})
    if (Function *function = inlined(module, name); function && hasPairs)
      write(Writer(*function, hasDots));

  const bool hasWideDots = isX86 && cpu.checkFeatures("+avx512vnni,+avx512bw");
  if (Function *function = inlined(module, "baton_dots_wide");
      function && hasWideDots)
    writeWide(*function);
  answer(module, "baton_has_wide_dots", hasWideDots);

  // AVX-512 permutes whole tables of sixteen F32 numbers.
  const bool hasManyRegisters = isX86 && cpu.checkFeatures("+avx512vl");
  const bool hasLookups = hasPairs && !hasManyRegisters;
  if (Function *function = inlined(module, "baton_look_up_bytes");
      function && hasLookups)
    writeLookups(*function);
  answer(module, "baton_has_byte_lookups", hasLookups);

  const bool hasPairDots = isX86 && cpu.checkFeatures("+avx512bf16,+avx512bw");
  const bool isFused = isX86 && cpu.checkFeatures("+fma");
  if (Function *function = inlined(module, "baton_dots_pairs")) {
    if (hasPairDots)
      writePairs(*function);
    else if (isFused)
      writeFusedPairs(*function);
  }
  for (auto [name, write] : {std::pair("baton_chain_pairs", &writeChains),
                             std::pair("baton_join_chains", &writeJoin)})
    if (Function *function = inlined(module, name); function && isFused)
      write(*function);
  for (auto [first, last, needed] :
       {std::tuple("baton_begin_pairs", "baton_end_pairs", !hasPairDots),
        std::tuple("baton_begin_chains", "baton_end_chains", true)}) {
    Function *begin = inlined(module, first), *end = inlined(module, last);
    if (begin && end && isFused && needed)
      writeBorders(*begin, *end);
  }
  answer(module, "baton_has_pair_dots", hasPairDots);

  const bool hasAmx = isX86 && cpu.checkFeatures(baton::cpu::amxFeatures);
  for (auto [name, write] :
       {std::pair("baton_amx_begin", &writeAmxBegin),
        std::pair("baton_amx_end", &writeAmxEnd),
        std::pair("baton_amx_zero_sums", &writeAmxZero),
        std::pair("baton_amx_load_sums", &writeAmxLoad),
        std::pair("baton_amx_store_sums", &writeAmxStore),
        std::pair("baton_amx_multiply", &writeAmxMultiply),
        std::pair("baton_amx_multiply_first", &writeAmxMultiplyFirst)})
    if (hasAmx)
      if (Function *function = inlined(module, name)) {
        AmxWriter writer(*function);
        write(writer);
      }
  answer(module, "baton_has_amx", hasAmx);
  answer(module, "baton_has_many_registers", hasManyRegisters);
}
