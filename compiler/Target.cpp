//===- Target.cpp - what programs are compiled for ------------------------===//

#include "compiler/Target.h"

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

Expected<bool> compiler::sumsByAmx(const CompileOptions &options) {
  if (options.activations != "bf16")
    return options.activations == "bf16-amx";
  cpu::TargetOptions host;
  host.cpu = options.targetCpu;
  Expected<cpu::Target> chosen = cpu::resolveTarget(host);
  if (!chosen)
    return chosen.takeError();
  return cpu::hasAmx(*chosen);
}

Expected<std::vector<TargetDescription>>
compiler::Target::describe(const CompileOptions &options,
                           const Installation &installation) const {
  std::optional<std::string> named = architecture(options.target);
  auto descriptions = TargetDescription::read(
      descriptionFile(options, installation),
      named ? std::optional<llvm::StringRef>(*named) : std::nullopt,
      installation.target(description()),
      options.training ? TargetDescription::ProgramKind::Training
      : options.batch  ? TargetDescription::ProgramKind::Batch
                       : TargetDescription::ProgramKind::Sequence);
  if (!descriptions)
    return descriptions;
  if (!choosesByRows())
    descriptions->resize(1);
  if (options.batch) {
    // All sequences may have a row, and logits unless told otherwise, in one
    // step; of a text alone as many guesses as FILE serve makes without a flag
    // (usual_prompt_lookup) may have theirs beside it.
    constexpr int64_t leastOutputs = 9;
    const int64_t rows =
        options.rows ? options.rows
                     : std::max(descriptions->front().maxRows, options.batch);
    // Where all steps have few rows, there is one program.
    if (descriptions->back().maxRows >= rows)
      descriptions->erase(descriptions->begin(), descriptions->end() - 1);
    descriptions->front().maxRows = rows;
    if (options.outputs > rows)
      return createStringError("--max-outputs=" + llvm::Twine(options.outputs) +
                               " is more than the " + llvm::Twine(rows) +
                               " rows of a step; give a larger --max-rows");
    for (TargetDescription &description : *descriptions)
      description.maxOutputs =
          std::min(description.maxRows,
                   options.outputs ? options.outputs
                                   : std::max(options.batch, leastOutputs));
  }
  return descriptions;
}

std::vector<std::string>
compiler::Target::archives(const CompileOptions &options,
                           const Installation &installation) const {
  return installation.archives(options.sanitize);
}
