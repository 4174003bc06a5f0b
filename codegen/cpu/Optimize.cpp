//===- Optimize.cpp - from emitted to optimised IR ------------------------===//

#include "codegen/cpu/Optimize.h"
#include "codegen/cpu/MachineBodies.h"
#include "codegen/cpu/Touches.h"
#include "codegen/cpu/WideAccesses.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"
#include "llvm/Transforms/Instrumentation/ThreadSanitizer.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace llvm;

/// The attributes that the target and the sanitizer ask for. The same on all
/// functions: inlining needs callers and callees to agree. They are there
/// before any optimisation, because a sanitizer's attribute also forbids
/// transformations that would invent accesses.
static void setAttributes(Module &module, const TargetMachine &machine,
                          StringRef sanitize) {
  for (Function &function : module) {
    if (function.isIntrinsic())
      continue;
    for (StringRef name : {"target-cpu", "tune-cpu", "target-features"})
      function.removeFnAttr(name);
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    if (!machine.getTargetFeatureString().empty())
      function.addFnAttr("target-features", machine.getTargetFeatureString());
    if (function.isDeclaration() || sanitize.empty())
      continue;
    function.addFnAttr(sanitize == "thread" ? Attribute::SanitizeThread
                                            : Attribute::SanitizeAddress);
    // Stacks in a sanitizer's reports follow frame pointers.
    function.removeFnAttr("frame-pointer");
    function.addFnAttr("frame-pointer", "all");
    function.setUWTableKind(UWTableKind::Default);
  }
}

/// Prefetching before a wait is off the hot path: inlined and unrolled, its
/// addresses would occupy registers throughout the phase.
static void keepPrefetchOutOfLine(Module &module) {
  if (Function *prefetch = module.getFunction("baton_prefetch")) {
    prefetch->removeFnAttr(Attribute::AlwaysInline);
    prefetch->addFnAttr(Attribute::NoInline);
  }
}

/// What makes code quickly, at level 1. The library's bodies come cleaned up,
/// so that inlining what has to be, and registers for variables, do most of
/// what LLVM's own level 1 does in several times the time.
static ModulePassManager buildQuickPipeline() {
  ModulePassManager passes;
  passes.addPass(AlwaysInlinerPass());
  passes.addPass(GlobalDCEPass());
  FunctionPassManager cleanUp;
  cleanUp.addPass(SROAPass(SROAOptions::ModifyCFG));
  cleanUp.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  cleanUp.addPass(SimplifyCFGPass());
  passes.addPass(createModuleToFunctionPassAdaptor(std::move(cleanUp)));
  return passes;
}

static ModulePassManager buildPipeline(PassBuilder &builder, int optimization) {
  switch (optimization) {
  case 0:
    return builder.buildO0DefaultPipeline(OptimizationLevel::O0);
  case 1:
    return buildQuickPipeline();
  case 2:
    return builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2);
  default:
    return builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3);
  }
}

static void addSanitizer(ModulePassManager &passes, StringRef sanitize) {
  if (sanitize == "thread") {
    passes.addPass(ModuleThreadSanitizerPass());
    passes.addPass(
        createModuleToFunctionPassAdaptor(baton::cpu::WideAccessPass()));
    passes.addPass(createModuleToFunctionPassAdaptor(ThreadSanitizerPass()));
  } else if (sanitize == "address") {
    passes.addPass(createModuleToFunctionPassAdaptor(baton::cpu::TouchPass()));
    passes.addPass(AddressSanitizerPass(AddressSanitizerOptions()));
  }
}

Error baton::cpu::optimize(Module &module, TargetMachine &machine,
                           const TargetOptions &options) {
  StringRef sanitize = options.sanitize;
  if (!sanitize.empty() && sanitize != "thread" && sanitize != "address")
    return createStringError("unknown sanitizer '" + sanitize +
                             "', expected 'thread' or 'address'");
  setAttributes(module, machine, sanitize);
  keepPrefetchOutOfLine(module);
  chooseMachineBodies(module, machine);
  internalizeModule(module, [](const GlobalValue &value) {
    return value.getName() == "baton_program" ||
           value.getName() == "baton_execution_factory" ||
           value.getName() == "baton_batch_commands" ||
           value.getName() == "baton_training_commands" ||
           value.getName() == "baton_programs" ||
           value.getName() == "baton_metadata" ||
           value.getName() == "baton_metadata_size";
  });

  PipelineTuningOptions tuning;
  tuning.SLPVectorization = true; // the other vectoriser is on by itself
  PassBuilder passBuilder(&machine, tuning);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  passBuilder.registerModuleAnalyses(modules);
  passBuilder.registerCGSCCAnalyses(components);
  passBuilder.registerFunctionAnalyses(functions);
  passBuilder.registerLoopAnalyses(loops);
  passBuilder.crossRegisterProxies(loops, functions, components, modules);

  ModulePassManager passes = buildPipeline(passBuilder, options.optimization);
  // After inlining, so that a report names the phase, and only what remains of
  // the accesses is checked.
  addSanitizer(passes, sanitize);
  passes.run(module, modules);
  return Error::success();
}
