//===- Description.cpp - a program's data as globals ----------------------===//

#include "codegen/plan/Description.h"

#include "llvm/IR/Constants.h"

using namespace llvm;

static GlobalVariable *define(Module &module, StringRef name, Constant *value) {
  return new GlobalVariable(module, value->getType(), /*isConstant=*/true,
                            GlobalValue::ExternalLinkage, value, name);
}

static Constant *bytes(Module &module, StringRef text) {
  return ConstantDataArray::getString(module.getContext(), text,
                                      /*AddNull=*/false);
}

void baton::plan::emitDescription(Module &module, StringRef metadata,
                                  StringRef factory) {
  LLVMContext &context = module.getContext();
  define(module, "baton_metadata", bytes(module, metadata));
  define(module, "baton_metadata_size",
         ConstantInt::get(Type::getInt64Ty(context), metadata.size()));
  // Only its address is taken: the type does not matter.
  auto *type = FunctionType::get(Type::getVoidTy(context), /*isVarArg=*/false);
  define(module, "baton_execution_factory",
         Function::Create(type, GlobalValue::ExternalLinkage, factory, module));
}

void baton::plan::emitCubin(Module &module, StringRef cubin) {
  // The driver reads it as an ELF file in memory.
  define(module, "baton_cubin", bytes(module, cubin))->setAlignment(Align(64));
}
