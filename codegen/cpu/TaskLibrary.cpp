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

Function *baton::cpu::TaskLibrary::find(StringRef name) const {
  for (const auto *part : {&bodies, &wide, &bitcode})
    if (Function *found = *part ? (*part)->getFunction(name) : nullptr;
        found && !found->isDeclaration())
      return found;
  return nullptr;
}

Error baton::cpu::TaskLibrary::add(std::unique_ptr<Module> more) {
  for (const Function &function : *more)
    if (!function.isDeclaration() && find(function.getName()))
      return createStringError("the task library has a " + function.getName() +
                               "; give the body another name");
  more->setTargetTriple(bitcode->getTargetTriple());
  more->setDataLayout(bitcode->getDataLayout());
  if (!bodies)
    bodies = std::move(more);
  else if (Linker::linkModules(*bodies, std::move(more)))
    return createStringError("the bodies do not link");
  return Error::success();
}

Error baton::cpu::TaskLibrary::addInF64(StringRef path, Module &module) {
  Expected<TaskLibrary> other = load(path, module);
  if (!other)
    return other.takeError();
  wide = std::move(other->bitcode);
  for (Function &function : *wide) {
    StringRef name = function.getName();
    if (name.consume_front("baton_task_"))
      function.setName("baton_task_" + baton::bodies::inDouble(name));
  }
  return Error::success();
}

Function *baton::cpu::TaskLibrary::declare(Module &module,
                                           StringRef name) const {
  Function *definition = find(name);
  if (!definition)
    return nullptr;
  if (Function *known = module.getFunction(name))
    return known;
  return Function::Create(definition->getFunctionType(),
                          GlobalValue::ExternalLinkage, name, module);
}

Error baton::cpu::TaskLibrary::linkInto(Module &module) && {
  for (auto *part : {&bodies, &wide, &bitcode})
    if (*part &&
        Linker::linkModules(module, std::move(*part), Linker::LinkOnlyNeeded))
      return createStringError("the task library does not link");
  return Error::success();
}
