//===- Target.cpp - CPU names, their features, and LLVM's target machine --===//

#include "codegen/cpu/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace llvm;

/// Registers the host's code generator with LLVM, once for the process.
static void initializeHostTarget() {
  static const bool initialized = [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
}

static Expected<const llvm::Target *> lookUpTarget(const std::string &triple) {
  initializeHostTarget();
  std::string message;
  if (const llvm::Target *target =
          TargetRegistry::lookupTarget(triple, message))
    return target;
  return createStringError("no code generator for '" + triple + "'");
}

/// Whether the kernel lets programs have AMX's tiles; where nobody can tell,
/// what the CPU says counts.
static bool hostAllowsTiles() {
#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
  // Documentation/arch/x86/xstate.rst of Linux: which states may be asked for.
  constexpr long supported = 0x1021;
  constexpr unsigned tileData = 18;
  uint64_t states = 0;
  return syscall(SYS_arch_prctl, supported, &states) == 0 &&
         (states >> tileData & 1);
#else
  return true;
#endif
}

/// The host's features, `+` or `-` before each. Sorted, because a StringMap's
/// order is not part of the input.
static std::string hostFeatures() {
  SmallVector<std::string> features;
  for (const auto &feature : sys::getHostCPUFeatures()) {
    const bool has =
        feature.getValue() &&
        (!feature.getKey().starts_with("amx") || hostAllowsTiles());
    features.push_back((has ? "+" : "-") + feature.getKey().str());
  }
  sort(features, [](StringRef left, StringRef right) {
    return left.drop_front() < right.drop_front();
  });
  return join(features, ",");
}

Expected<baton::cpu::Target>
baton::cpu::resolveTarget(const TargetOptions &options) {
  Target result{sys::getDefaultTargetTriple(), options.cpu, ""};
  if (options.cpu == "native") {
    result.cpu = sys::getHostCPUName().str();
    result.features = hostFeatures();
    return result;
  }
  Expected<const llvm::Target *> target = lookUpTarget(result.triple);
  if (!target)
    return target.takeError();
  // Created for no CPU in particular: creating it for an unknown one prints.
  std::unique_ptr<MCSubtargetInfo> subtarget(
      (*target)->createMCSubtargetInfo(result.triple, "", ""));
  if (!subtarget || !subtarget->isCPUStringValid(options.cpu))
    return createStringError("unknown target CPU '" + options.cpu +
                             "'; 'clang-19 --print-supported-cpus' lists the "
                             "names, 'native' is this machine's");
  return result;
}

Expected<bool> baton::cpu::hasAmx(const Target &target) {
  Expected<const llvm::Target *> backend = lookUpTarget(target.triple);
  if (!backend)
    return backend.takeError();
  std::unique_ptr<MCSubtargetInfo> subtarget((*backend)->createMCSubtargetInfo(
      target.triple, target.cpu, target.features));
  return subtarget && Triple(target.triple).getArch() == Triple::x86_64 &&
         subtarget->checkFeatures(baton::cpu::amxFeatures);
}

Expected<std::unique_ptr<TargetMachine>>
baton::cpu::createTargetMachine(const Target &target, int optimization) {
  Expected<const llvm::Target *> backend = lookUpTarget(target.triple);
  if (!backend)
    return backend.takeError();
  llvm::TargetOptions options;
  // The task library's numeric contract: nothing is fused but what says so.
  options.AllowFPOpFusion = FPOpFusion::Strict;
  options.FunctionSections = true;
  options.DataSections = true;
  // The lowest level is for programs that are compiled more often than they are
  // run long.
  CodeGenOptLevel level =
      CodeGenOpt::getLevel(optimization == 1 ? 0 : optimization)
          .value_or(CodeGenOptLevel::Default);
  std::unique_ptr<TargetMachine> machine((*backend)->createTargetMachine(
      target.triple, target.cpu, target.features, options, Reloc::PIC_,
      std::nullopt, level));
  if (!machine)
    return createStringError("no target machine for '" + target.triple + "'");
  return machine;
}
