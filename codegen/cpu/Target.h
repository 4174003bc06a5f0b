//===- Target.h - the machine that code is generated for ------------------===//

#ifndef BATON_CODEGEN_CPU_TARGET_H
#define BATON_CODEGEN_CPU_TARGET_H

#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace baton::cpu {

/// What the user chooses.
struct TargetOptions {
  /// A name that LLVM knows, or "native" for the machine that compiles.
  std::string cpu = "native";
  /// "", "thread" or "address".
  std::string sanitize;
  /// 0 to 3, as in -O0 to -O3.
  int optimization = 3;
  /// Path of the task library's bitcode.
  std::string library;
  /// The same in F64, which few programs need.
  std::string libraryInF64;
};

/// What it means on this machine.
struct Target {
  std::string triple;
  std::string cpu;
  /// Comma-separated and sorted, as in LLVM's `target-features` attribute.
  std::string features;
};

/// Fails for a CPU that LLVM does not know.
llvm::Expected<Target> resolveTarget(const TargetOptions &options);

/// What bodies that multiply by AMX need of a CPU, as LLVM checks it.
inline constexpr const char *amxFeatures = "+amx-bf16,+avx512bw";

/// Whether `target` has AMX's products of BF16 tiles.
llvm::Expected<bool> hasAmx(const Target &target);

/// LLVM's code generator for `target`; `optimization` is 0 to 3,
/// of which 1 chooses what compiles fastest, as 0 does.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const Target &target, int optimization);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_TARGET_H
