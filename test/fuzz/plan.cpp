//===- plan.cpp - fuzz: IR, its verifiers, the passes, the proof ----------===//

#include "Accepted.h"
#include "MutateIR.h"

#include "dialects/Event/Event.h"
#include "dialects/Model/Model.h"
#include "passes/fusion/Passes.h"
#include "passes/plan/Passes.h"
#include "passes/proof/Passes.h"
#include "passes/tiling/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/ErrorHandling.h"

#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace baton;

static jmp_buf refusal;

/// Numbers past 64 bits end the compiler with one line and status 1; here, the
/// input.
static void refuse(void *, const char *, bool) { longjmp(refusal, 1); }

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  std::string text(reinterpret_cast<const char *>(data), size);
  if (seed % 4 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  text = fuzz::mutateIR(text, seed);
  if (text.size() > maxSize)
    return size;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

/// A model is planned and proved, or refused; a plan is proved or rejected.
/// What the passes make of a verified model has to verify.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool installed = [] {
    llvm::install_fatal_error_handler(refuse);
    return true;
  }();
  (void)installed;
  // The parser reads the terminating zero. (Static: longjmp runs no
  // destructor.)
  static std::string text;
  text.assign(reinterpret_cast<const char *>(data), size);
  auto *context = new mlir::MLIRContext(mlir::MLIRContext::Threading::DISABLED);
  if (setjmp(refusal))
    return fuzz::outcome(text, ".mlir", {});
  int outcome;
  {
    context->loadDialect<model::ModelDialect, event::EventDialect>();
    mlir::ScopedDiagnosticHandler quiet(
        context, [](mlir::Diagnostic &) { return mlir::success(); });
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context);
    if (module) {
      mlir::PassManager manager(context);
      if (!module->getOps<model::ProgramOp>().empty()) {
        manager.addPass(fusion::createAttentionFusion());
        manager.addPass(fusion::createLinearGrouping());
        manager.addPass(fusion::createNormRewrites());
        if (failed(manager.run(*module)))
          std::abort(); // these passes refuse nothing
        manager.clear();
        manager.addPass(tasks::createTileTasks());
        manager.addPass(tasks::createDeriveEvents());
        manager.addPass(tasks::createPlanMemory());
        manager.addPass(tasks::createScheduleStatic());
      }
      manager.addPass(tasks::createEventVerify());
      if (failed(manager.run(*module)))
        module = {};
    }
    outcome = fuzz::outcome(text, ".mlir", module ? *module : nullptr);
  }
  delete context;
  return outcome;
}
