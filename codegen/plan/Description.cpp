//===- Description.cpp - a program's data as globals ----------------------===//

#include "codegen/plan/Description.h"

#include "llvm/ADT/STLExtras.h"
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

/// Only its address is taken: the type does not matter.
static Function *declare(Module &module, StringRef function) {
  auto *type = FunctionType::get(Type::getVoidTy(module.getContext()),
                                 /*isVarArg=*/false);
  return Function::Create(type, GlobalValue::ExternalLinkage, function, module);
}

static void defineTable(Module &module, StringRef name,
                        ArrayRef<Constant *> addresses) {
  auto *type = ArrayType::get(PointerType::get(module.getContext(), 0),
                              addresses.size());
  define(module, name, ConstantArray::get(type, addresses));
}

void baton::plan::emitDescription(Module &module, StringRef metadata,
                                  StringRef factory, bool holdsManySequences,
                                  bool trains) {
  LLVMContext &context = module.getContext();
  define(module, "baton_metadata", bytes(module, metadata));
  define(module, "baton_metadata_size",
         ConstantInt::get(Type::getInt64Ty(context), metadata.size()));
  define(module, "baton_execution_factory", declare(module, factory));
  auto defineCommands = [&](StringRef name, StringRef all, bool has) {
    Constant *none = ConstantPointerNull::get(PointerType::get(context, 0));
    define(module, name, has ? declare(module, all) : none);
  };
  defineCommands("baton_batch_commands", "baton_all_batch_commands",
                 holdsManySequences);
  defineCommands("baton_training_commands", "baton_all_training_commands",
                 trains);
}

void baton::plan::emitCubins(Module &module, ArrayRef<StringRef> cubins) {
  SmallVector<Constant *> addresses;
  for (auto [i, cubin] : enumerate(cubins)) {
    GlobalVariable *file =
        define(module, ("baton_cubin_" + Twine(i)).str(), bytes(module, cubin));
    // The driver reads it as an ELF file in memory.
    file->setAlignment(Align(64));
    addresses.push_back(file);
  }
  defineTable(module, "baton_cubins", addresses);
}

void baton::plan::emitKernelTable(Module &module,
                                  ArrayRef<std::string> kernels) {
  SmallVector<Constant *> addresses;
  for (const std::string &kernel : kernels)
    addresses.push_back(declare(module, kernel));
  defineTable(module, "baton_kernels", addresses);
}

void baton::plan::emitHostPrograms(Module &module,
                                   ArrayRef<std::string> names) {
  SmallVector<Constant *> addresses;
  for (const std::string &name : names) {
    if (name.empty())
      addresses.push_back(
          ConstantPointerNull::get(PointerType::get(module.getContext(), 0)));
    else
      addresses.push_back(declare(module, name));
  }
  defineTable(module, "baton_host_programs", addresses);
}

void baton::plan::emitProgramTable(Module &module,
                                   ArrayRef<std::string> programs) {
  SmallVector<Constant *> addresses;
  for (const std::string &program : programs)
    addresses.push_back(module.getFunction(program));
  defineTable(module, "baton_programs", addresses);
}
