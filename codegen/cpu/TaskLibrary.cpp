//===- TaskLibrary.cpp - the bitcode that programs are linked with --------===//

#include "codegen/cpu/TaskLibrary.h"

#include "codegen/bodies/TaskCalls.h"

#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

Expected<baton::cpu::TaskLibrary>
baton::cpu::TaskLibrary::load(StringRef path, Module &module) {
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> bitcode =
      getLazyIRFileModule(path, diagnostic, module.getContext());
  if (!bitcode)
    return createStringError("task library '" + path +
                             "': " + diagnostic.getMessage());
  Triple found(bitcode->getTargetTriple()), wanted(module.getTargetTriple());
  if (found.getArch() != wanted.getArch() || found.getOS() != wanted.getOS())
    return createStringError("task library '" + path + "' is for " +
                             found.str() + ", the program for " + wanted.str());
  // Vendors differ in spelling only; the linker would warn.
  bitcode->setTargetTriple(module.getTargetTriple());
  bitcode->setDataLayout(module.getDataLayout());
  return TaskLibrary(std::move(bitcode));
}

Error baton::cpu::TaskLibrary::add(std::unique_ptr<Module> more) {
  for (const Function &function : *more)
    if (!function.isDeclaration())
      if (Function *known = bitcode->getFunction(function.getName());
          known && !known->isDeclaration())
        return createStringError("the task library has a " +
                                 function.getName() +
                                 "; give the body another name");
  more->setTargetTriple(bitcode->getTargetTriple());
  more->setDataLayout(bitcode->getDataLayout());
  if (Linker::linkModules(*bitcode, std::move(more)))
    return createStringError("the task library and the bodies do not link");
  return Error::success();
}

Error baton::cpu::TaskLibrary::addInF64(StringRef path, Module &module) {
  Expected<TaskLibrary> wide = load(path, module);
  if (!wide)
    return wide.takeError();
  for (Function &function : *wide->bitcode) {
    StringRef name = function.getName();
    if (name.consume_front("baton_task_"))
      function.setName("baton_task_" + bodies::inDouble(name));
  }
  if (Linker::linkModules(*bitcode, std::move(wide->bitcode)))
    return createStringError("the task libraries do not link");
  return Error::success();
}

Function *baton::cpu::TaskLibrary::declare(Module &module,
                                           StringRef name) const {
  Function *definition = bitcode->getFunction(name);
  if (!definition || definition->isDeclaration())
    return nullptr;
  if (Function *known = module.getFunction(name))
    return known;
  return Function::Create(definition->getFunctionType(),
                          GlobalValue::ExternalLinkage, name, module);
}

Error baton::cpu::TaskLibrary::linkInto(Module &module) && {
  if (Linker::linkModules(module, std::move(bitcode), Linker::LinkOnlyNeeded))
    return createStringError("the task library does not link");
  return Error::success();
}
