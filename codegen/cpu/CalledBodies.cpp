//===- CalledBodies.cpp - bodies of tasks with shapes as constants --------===//

#include "codegen/cpu/CalledBodies.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

/// A function that passes on what it is given, with constants between.
static Function *create(Module &module, Function *callee,
                        ArrayRef<Value *> arguments) {
  SmallVector<Type *> parameters;
  for (Value *argument : arguments)
    if (!isa<Constant>(argument))
      parameters.push_back(argument->getType());
  LLVMContext &context = module.getContext();
  Function *function = Function::Create(
      FunctionType::get(Type::getVoidTy(context), parameters, false),
      GlobalValue::InternalLinkage, callee->getName() + ".called", module);
  function->setDoesNotThrow();
  IRBuilder<> builder(BasicBlock::Create(context, "entry", function));
  SmallVector<Value *> all(arguments);
  unsigned next = 0;
  for (Value *&argument : all)
    if (!isa<Constant>(argument))
      argument = function->getArg(next++);
  builder.CreateCall(callee, all);
  builder.CreateRetVoid();
  return function;
}

void baton::cpu::CalledBodies::call(IRBuilderBase &builder, Function *callee,
                                    ArrayRef<Value *> arguments) {
  std::string key = callee->getName().str();
  raw_string_ostream stream(key);
  SmallVector<Value *> given;
  for (Value *argument : arguments) {
    stream << ' ';
    if (isa<Constant>(argument)) {
      argument->printAsOperand(stream);
    } else {
      stream << '%';
      given.push_back(argument);
    }
  }
  Function *&function = functions[stream.str()];
  if (!function)
    function = create(module, callee, arguments);
  builder.CreateCall(function, given);
}

void baton::cpu::CalledBodies::finish() {
  for (const auto &entry : functions)
    entry.second->addFnAttr(entry.second->hasOneUse() ? Attribute::AlwaysInline
                                                      : Attribute::NoInline);
}
