//===- emit-unproved.cpp - an executable of a plan that nothing proved ----===//
//
//     emit-unproved PLAN.mlir EXECUTABLE TARGET SANITIZER INSTALLATION
//                   [graph|judged]
//
// Compiles an edited plan whose `proof` attribute is a lie, with a sanitizer in
// it or, if SANITIZER is empty, without: batonc, which proves every plan
// itself, would refuse. The tests plant races, overflows and waits without end
// this way and demand that they are reported. INSTALLATION is the folder
// lib/baton that batonc would use; "graph" stands for
// --launch=graph. Programs do not judge their plans, as those of batonc with a
// sanitizer do, unless they are "judged": what is planted is to be run.
//
//===----------------------------------------------------------------------===//

#include "compiler/Compile.h"
#include "compiler/Dialects.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace baton;

int main(int argc, char **argv) {
  if (argc != 6 && argc != 7) {
    llvm::errs()
        << "usage: emit-unproved PLAN.mlir EXECUTABLE TARGET SANITIZER "
           "INSTALLATION [graph|judged]\n";
    return 1;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::DialectRegistry registry;
  compiler::registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<event::EventDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  auto programs = llvm::to_vector(module->getOps<event::ProgramOp>());
  compiler::CompileOptions options;
  options.output = argv[2];
  options.target = argv[3];
  options.sanitize = argv[4];
  options.optimization = 1;
  options.quiet = true;
  options.launchesGraph = argc == 7 && llvm::StringRef(argv[6]) == "graph";
  options.judgesSteps = argc == 7 && llvm::StringRef(argv[6]) == "judged";
  if (llvm::Error error =
          compiler::compilePrograms(programs, options, {argv[5]})) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
