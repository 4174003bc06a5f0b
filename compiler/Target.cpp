//===- Target.cpp - what programs are compiled for ------------------------===//

#include "compiler/Target.h"

#include "compiler/targets/Targets.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

Error Code::addObject(llvm::Module &module, const cpu::Target &host,
                      int optimization) {
  llvm::raw_svector_ostream stream(objects.emplace_back());
  return cpu::emitObject(module, host, optimization, stream);
}

bool compiler::Target::answersTo(llvm::StringRef name) const {
  std::string own = this->name();
  llvm::StringRef stem = own;
  return stem.consume_back("...") ? name.starts_with(stem) : name == stem;
}

std::string
compiler::Target::descriptionFile(const CompileOptions &options,
                                  const Installation &installation) const {
  return options.targetFile.empty() ? installation.target(description())
                                    : options.targetFile;
}

Expected<std::vector<TargetDescription>>
compiler::Target::describe(const CompileOptions &options,
                           const Installation &installation) const {
  std::optional<std::string> named = architecture(options.target);
  auto descriptions = TargetDescription::read(
      descriptionFile(options, installation),
      named ? std::optional<llvm::StringRef>(*named) : std::nullopt,
      installation.target(description()), options.training);
  if (descriptions && !choosesByRows())
    descriptions->resize(1);
  return descriptions;
}

std::vector<std::string>
compiler::Target::archives(const CompileOptions &options,
                           const Installation &installation) const {
  return installation.archives(options.sanitize);
}

static std::vector<std::unique_ptr<compiler::Target>> &registry() {
  static std::vector<std::unique_ptr<compiler::Target>> targets =
      builtInTargets();
  return targets;
}

llvm::ArrayRef<std::unique_ptr<compiler::Target>> compiler::allTargets() {
  return registry();
}

void compiler::registerTarget(std::unique_ptr<Target> target) {
  registry().push_back(std::move(target));
}

Expected<const compiler::Target &> compiler::findTarget(llvm::StringRef name) {
  std::vector<std::string> examples;
  for (const std::unique_ptr<Target> &target : allTargets()) {
    if (target->answersTo(name))
      return *target;
    examples.push_back(target->examples());
  }
  return createStringError("--target=" + name + " is unknown; there is " +
                           llvm::join(examples, ", "));
}

Expected<std::vector<TargetDescription>>
compiler::readTarget(const CompileOptions &options,
                     const Installation &installation) {
  auto target = findTarget(options.target);
  if (!target)
    return target.takeError();
  return target->describe(options, installation);
}
