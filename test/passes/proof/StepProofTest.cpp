//===- StepProofTest.cpp - programs of a step that do not fit together ----===//
//
// Training plans as the compiler makes them, each without one of its phases, or
// with another fault that no program shows by itself.
//
//===----------------------------------------------------------------------===//

#include "passes/proof/StepProof.h"
#include "compiler/Plan.h"
#include "compiler/targets/Targets.h"
#include "passes/proof/PlanVerifier.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace baton;
using namespace baton::event;

namespace {

struct Case {
  const char *name;
  const char *model;
  std::vector<compiler::MeshAxis> mesh;
  const char *optimizer = "adamw";
  int zero = 0;
};

const Case kCases[] = {
    {"one rank", "llama-mha-tied", {}},
    {"parts of optimizer states", "llama-gqa", {{"dp", 2}}, "adamw", 1},
    {"two stages", "llama-mha-tied", {{"pp", 2}}},
    {"matrices", "gpt2-small", {}, "muon"},
};

compiler::Plan planOf(const Case &test) {
  compiler::CompileOptions options;
  options.model = std::string(BATON_GOLDEN "/") + test.model;
  options.maxSeq = 64;
  options.stage = compiler::Stage::event;
  options.training = true;
  options.optimizer = test.optimizer;
  options.mesh = test.mesh;
  options.zero = test.zero;
  options.microbatches = 2;
  options.pipeline = "1f1b";
  compiler::Installation installation = {BATON_INSTALLATION};
  llvm::cantFail(compiler::findOptimizer(options, installation));
  auto targets = llvm::cantFail(compiler::readTarget(options, installation));
  return llvm::cantFail(compiler::Plan::build(options, targets));
}

/// What is said against the step, or against the values of a program of it.
std::string faultOf(mlir::ModuleOp module, ProgramOp changed = {}) {
  std::string fault;
  mlir::ScopedDiagnosticHandler handler(module.getContext(),
                                        [&](mlir::Diagnostic &diagnostic) {
                                          if (fault.empty())
                                            fault = diagnostic.str();
                                          return mlir::success();
                                        });
  if (failed(tasks::verifyStep(module)))
    return fault.empty() ? "nothing is said" : fault;
  if (changed && failed(tasks::PlanVerifier(changed).verifyContributions()))
    return fault.empty() ? "nothing is said" : fault;
  return "";
}

PhaseOp phaseAt(mlir::ModuleOp module, size_t program, size_t phase) {
  ProgramOp op = *std::next(module.getOps<ProgramOp>().begin(), program);
  return phasesOf(op)[phase];
}

/// Takes a phase out, and every wait for it.
void erase(PhaseOp phase) {
  auto program = phase->getParentOfType<ProgramOp>();
  if (std::optional<NotifyAttr> notify = phase.getNotify()) {
    for (PhaseOp other : phasesOf(program)) {
      llvm::SmallVector<mlir::Attribute> waits;
      for (WaitAttr wait : other.getWaitAttrs())
        if (wait.getEvent() != notify->getEvent())
          waits.push_back(wait);
      other.setWaitsAttr(mlir::ArrayAttr::get(program.getContext(), waits));
    }
    mlir::SymbolTable::lookupSymbolIn(program, notify->getEvent())->erase();
  }
  phase.erase();
}

class StepProof : public testing::TestWithParam<Case> {};

TEST_P(StepProof, EveryPhaseIsNeeded) {
  compiler::Plan plan = planOf(GetParam());
  ASSERT_EQ(faultOf(plan.module()), "");
  size_t programs = plan.programs().size(), accepted = 0;
  for (size_t program = 0; program < programs; ++program) {
    size_t phases =
        phasesOf(*std::next(plan.module().getOps<ProgramOp>().begin(), program))
            .size();
    for (size_t phase = 0; phase < phases; ++phase) {
      mlir::OwningOpRef<mlir::ModuleOp> copy = plan.module().clone();
      PhaseOp victim = phaseAt(*copy, program, phase);
      auto changed = victim->getParentOfType<ProgramOp>();
      std::string name =
          (changed.getSymName() + ", '" + victim.getName() + "'").str();
      erase(victim);
      if (!faultOf(*copy, changed).empty())
        continue;
      ++accepted;
      ADD_FAILURE() << "accepted without a phase: " << name;
    }
  }
  EXPECT_EQ(accepted, 0u);
}

INSTANTIATE_TEST_SUITE_P(Plans, StepProof, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case> &info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

PhaseOp find(mlir::ModuleOp module, llvm::StringRef program,
             llvm::StringRef phase) {
  for (auto op : module.getOps<ProgramOp>())
    for (PhaseOp each : phasesOf(op))
      if (op.getSymName() == program && each.getName() == phase)
        return each;
  return {};
}

// Each stage would wait for the other's message before it sends its own.
TEST(StepOrder, StagesThatReceiveBeforeTheySend) {
  compiler::Plan plan = planOf(kCases[2]);
  mlir::OwningOpRef<mlir::ModuleOp> both = plan.module().clone();
  for (const char *program : {"stage0.norm", "stage1.norm"}) {
    PhaseOp send = find(*both, program, "send.shared"),
            receive = find(*both, program, "receive.shared");
    ASSERT_TRUE(send && receive);
    receive->moveBefore(send);
  }
  EXPECT_EQ(faultOf(*both).find("ranks wait for one another: place 0 in "
                                "'receive.shared' of @stage0.norm waits for a "
                                "message of channel 'shared gradients'"),
            0u)
      << faultOf(*both);
  // One stage may well receive first.
  mlir::OwningOpRef<mlir::ModuleOp> one = plan.module().clone();
  find(*one, "stage1.norm", "receive.shared")
      ->moveBefore(find(*one, "stage1.norm", "send.shared"));
  EXPECT_EQ(faultOf(*one), "");
}

TEST(StepOrder, MessagesThatNobodyReceives) {
  compiler::Plan plan = planOf(kCases[2]);
  mlir::OwningOpRef<mlir::ModuleOp> copy = plan.module().clone();
  erase(find(*copy, "stage0.norm", "receive.shared"));
  EXPECT_NE(faultOf(*copy).find("that nobody receives in the step"),
            std::string::npos)
      << faultOf(*copy);
}

// The runtime writes into buffers that tasks may still read.
TEST(StepValues, InputsThatNobodyIsSaidToWrite) {
  compiler::Plan plan = planOf(kCases[0]);
  auto advance = [](mlir::ModuleOp module) {
    ProgramOp program = *module.getOps<ProgramOp>().begin();
    for (PhaseOp phase : phasesOf(program))
      if (!phase.getBody().getOps<AdvanceOp>().empty())
        return phase;
    return PhaseOp();
  };
  auto change = [&](llvm::StringRef dropped, llvm::StringRef renamed) {
    mlir::OwningOpRef<mlir::ModuleOp> copy = plan.module().clone();
    PhaseOp phase = advance(*copy);
    llvm::SmallVector<mlir::Attribute> accesses;
    for (AccessAttr access : phase.getAccessAttrs()) {
      if (!dropped.empty() && access.getBuffer().getValue() == dropped)
        continue;
      accesses.push_back(access);
    }
    if (!renamed.empty()) {
      auto first = mlir::cast<AccessAttr>(accesses.back());
      accesses.push_back(AccessAttr::get(
          phase.getContext(), true,
          mlir::FlatSymbolRefAttr::get(phase.getContext(), renamed),
          first.getLow(), first.getHigh()));
    }
    phase.setAccessesAttr(mlir::ArrayAttr::get(phase.getContext(), accesses));
    return faultOf(*copy);
  };
  EXPECT_EQ(change("", ""), "");
  for (const char *input : {"tokens", "targets", "accumulate", "numbers"}) {
    std::string fault = change(input, "");
    EXPECT_NE(fault.find("reads @" + std::string(input)), std::string::npos)
        << fault;
    EXPECT_NE(fault.find("the runtime does not provide"), std::string::npos);
  }
  EXPECT_NE(change("", "norm.weight.weights")
                .find("but it writes only tokens, positions"),
            std::string::npos);
}

} // namespace
