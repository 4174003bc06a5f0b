//===- ProgramTypes.cpp - runtime/program.h as LLVM types -----------------===//

#include "codegen/cpu/ProgramTypes.h"

using namespace llvm;

baton::cpu::ProgramTypes::ProgramTypes(LLVMContext &llvmContext) {
  Type *pointer = PointerType::get(llvmContext, 0);
  Type *i32 = Type::getInt32Ty(llvmContext);
  Type *i64 = Type::getInt64Ty(llvmContext);
  Type *byte = Type::getInt8Ty(llvmContext);
  Type *nothing = Type::getVoidTy(llvmContext);

  step = StructType::create("BatonStep", i32, i32, i32, i32);
  worker = StructType::create("BatonWorker", pointer, pointer);
  exchanged = StructType::create("BatonExchange", pointer, pointer, i64, i64,
                                 i64, pointer, pointer, pointer, i64);
  tensor = StructType::create("BatonMessage", pointer, i64, i64, i64);
  context = StructType::create(
      "BatonContext", pointer, pointer, pointer, pointer, pointer,
      ArrayType::get(step, 2), pointer, pointer, pointer, pointer, pointer,
      pointer, pointer, pointer, ArrayType::get(byte, 56), i32,
      ArrayType::get(byte, 60));

  advance = FunctionType::get(
      nothing, {pointer, pointer, pointer, pointer, i64, i64}, false);
  observe = FunctionType::get(nothing, {pointer, i32, i32, pointer}, false);
  trace = FunctionType::get(
      nothing, {pointer, pointer, pointer, i32, i32, i64, i64, i64}, false);
  exchange =
      FunctionType::get(nothing, {pointer, i32, i32, pointer, i32}, false);
  beginTask =
      FunctionType::get(nothing, {pointer, pointer, i32, i32, i64}, false);
  declareAccess = FunctionType::get(
      nothing, {pointer, i32, i32, i32, pointer, i64, i64, i64}, false);
  declarePages = FunctionType::get(nothing,
                                   {pointer, pointer, i32, i32, i32, pointer,
                                    i64, i64, i64, i64, i64, i64, i64},
                                   false);
  message = FunctionType::get(nothing, {pointer, i32, pointer, i32}, false);
  tier = FunctionType::get(nothing, {pointer, i32, i32}, false);
  program = FunctionType::get(nothing, {pointer, i32, i32}, false);
}
