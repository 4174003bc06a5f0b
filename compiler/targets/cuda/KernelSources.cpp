//===- KernelSources.cpp - the kernels of an executable, as CUDA C++ ------===//

#include "compiler/targets/cuda/KernelSources.h"

#include "codegen/cpu/Bodies.h"
#include "codegen/cpu/TaskLibrary.h"
#include "compiler/CublasLtChoice.h"

#include "llvm/IR/LLVMContext.h"

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

std::unique_ptr<llvm::Module> compiler::makeData(const cpu::Target &target,
                                                 llvm::LLVMContext &context) {
  auto module = std::make_unique<llvm::Module>("baton_program", context);
  module->setTargetTriple(target.triple);
  return module;
}

bool compiler::startsKernelsEarly(const CompileOptions &options,
                                  const TargetDescription &description) {
  return options.launchesGraph && description.instructions >= 90;
}

Expected<std::vector<cuda::Source>> compiler::emitKernelSources(
    llvm::ArrayRef<plan::ProgramLayout> layouts, const CompileOptions &options,
    llvm::ArrayRef<TargetDescription> descriptions, const cpu::Target &target,
    const Installation &installation) {
  if (plan::computesInF64(layouts.front().program))
    return createStringError("--target=" + options.target +
                             ": the program computes in f64, which is for "
                             "--target=cpu");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = makeData(target, context);
  auto library = cpu::TaskLibrary::load(installation.cpuLibrary(), *module);
  if (!library)
    return library.takeError();
  // What the CPU would refuse of them, and how they are called.
  auto bodies = cpu::lowerBodies(
      layouts.front().program->getParentOfType<mlir::ModuleOp>(),
      /*checked=*/false, context);
  if (!bodies)
    return bodies.takeError();
  if (*bodies)
    if (Error error = library->add(std::move(*bodies)))
      return std::move(error);
  // A plan by hand may have more programs than the target describes.
  auto descriptionOf = [&](size_t i) -> const TargetDescription & {
    return descriptions[std::min(i, descriptions.size() - 1)];
  };
  std::vector<std::vector<ProductChoice>> products;
  for (auto [i, layout] : llvm::enumerate(layouts))
    products.push_back(
        chooseProducts(layout.program, options, descriptionOf(i)));
  if (Error error = checkCublasLt(products, options))
    return std::move(error);
  std::vector<cuda::Source> sources;
  for (auto [i, layout] : llvm::enumerate(layouts)) {
    const TargetDescription &description = descriptionOf(i);
    cuda::SourceOptions sourceOptions;
    sourceOptions.kernel = "baton_kernel_" + std::to_string(i);
    sourceOptions.threads = description.threads;
    sourceOptions.sharedLimit = description.sharedBytes;
    sourceOptions.asGraph = options.launchesGraph;
    sourceOptions.isProgrammatic = startsKernelsEarly(options, description);
    sourceOptions.overlapsExchanges = options.ncclMultiprocessors != 0;
    sourceOptions.ncclMultiprocessors = options.ncclMultiprocessors;
    sourceOptions.ownBits = !options.batchInvariant;
    // Of many sequences a row must not depend on whether it is alone in its
    // step: the ring's sums are others than those of several rows.
    event::ProgramOp program = layout.program;
    if (sourceOptions.ownBits && !program->hasAttr("event.batch"))
      sourceOptions.ringStages = description.ringStages;
    sourceOptions.matrixRows = description.linearRows;
    // Gate and up projections of a panel are two.
    sourceOptions.matrixColumns =
        std::max<int64_t>(description.linearColumns, 32);
    sourceOptions.architecture = description.instructions;
    for (const ProductChoice &choice : products[i])
      if (choice.leastRows)
        sourceOptions.cublasLtRows[choice.phase] = choice.leastRows;
    for (const plan::ProgramLayout &other : layouts) {
      event::ProgramOp smaller = other.program;
      if (smaller.getMaxRows() < program.getMaxRows())
        sourceOptions.firstRows = std::max<int64_t>(sourceOptions.firstRows,
                                                    smaller.getMaxRows() + 1);
    }
    auto source = cuda::emitSource(
        layout, sourceOptions,
        [&](llvm::StringRef name) -> llvm::FunctionType * {
          llvm::Function *function = library->declare(*module, name);
          return function ? function->getFunctionType() : nullptr;
        });
    if (!source)
      return source.takeError();
    sources.push_back(std::move(*source));
  }
  return sources;
}
