//===- Fixture.h - plans from text to results -----------------------------===//

#ifndef BATON_TEST_CODEGEN_CPU_FIXTURE_H
#define BATON_TEST_CODEGEN_CPU_FIXTURE_H

#include "codegen/cpu/Emit.h"
#include "dialects/Event/Event.h"
#include "runtime/program.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

#include <functional>
#include <string>
#include <vector>

namespace baton::cpu::test {

/// A program in its own MLIR context.
class Plan {
public:
  /// Aborts with MLIR's diagnostics when `text` does not verify.
  explicit Plan(llvm::StringRef text);
  event::ProgramOp program();

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Options that name the test library.
TargetOptions testOptions();

/// The object of a plan's text, or the error as text.
llvm::Expected<std::string> emitText(llvm::StringRef text,
                                     const TargetOptions &options);
/// The module of a plan's text as LLVM assembly.
llvm::Expected<std::string> emitAssembly(llvm::StringRef text,
                                         const TargetOptions &options);

/// What the runtime would provide, with memory for small plans.
class Runner {
public:
  using Advance = std::function<void(const BatonStep &, BatonStep &,
                                     const float *, int64_t, int64_t)>;
  using Observe = std::function<void(uint32_t, uint32_t, const BatonStep &)>;

  /// Aborts when the plan does not compile.
  explicit Runner(llvm::StringRef text);

  /// Runs the program from `first` on. Event words and bases begin at
  /// `origin`. Returns when a step has no rows.
  void run(BatonStep first, uint32_t workers, uint32_t origin = 0);

  /// The bytes of storage `index`.
  template <typename T> T *storage(size_t index) {
    return reinterpret_cast<T *>(storages[index].data());
  }
  /// Scratch of a worker after a run. Its first value was the worker's number.
  int64_t *scratch(size_t worker) { return scratches[worker].data(); }

  std::vector<int32_t> tokens;
  /// In the order of BatonContext::parameters.
  std::vector<const void *> parameters;
  Advance advance;
  Observe observe;
  /// What baton_metadata holds.
  std::string metadata;

private:
  Plan plan;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  decltype(&baton_program) entry;
  size_t words;
  std::vector<std::vector<int64_t>> storages;
  std::vector<std::vector<int64_t>> scratches;
};

} // namespace baton::cpu::test

#endif // BATON_TEST_CODEGEN_CPU_FIXTURE_H
