//===- TwoJudges.cpp - what the proof and check-plan say of one plan ------===//

#include "test/fuzz/TwoJudges.h"

#include "codegen/plan/PlanJson.h"
#include "passes/proof/PlanVerifier.h"
#include "passes/proof/StepProof.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <nlohmann/json.hpp>

using namespace baton;
using namespace baton::fuzz;

//===----------------------------------------------------------------------===//
// The judges
//===----------------------------------------------------------------------===//

nlohmann::json fuzz::jsonOf(mlir::ModuleOp module) {
  return plan::planJson(test::programsOf(module));
}

std::set<unsigned> fuzz::differencesOf(mlir::ModuleOp one,
                                       mlir::ModuleOp other) {
  std::set<unsigned> numbers;
  for (auto [number, pair] : llvm::enumerate(
           llvm::zip(test::programsOf(one), test::programsOf(other))))
    if (!mlir::OperationEquivalence::isEquivalentTo(
            std::get<0>(pair), std::get<1>(pair),
            mlir::OperationEquivalence::IgnoreLocations))
      numbers.insert(number);
  return numbers;
}

bool fuzz::runsAlike(mlir::ModuleOp one, mlir::ModuleOp other) {
  auto sequence = [](mlir::ModuleOp module) {
    return test::programsOf(module).front()->getAttr("event.pipeline");
  };
  return sequence(one) == sequence(other);
}

check::Plan fuzz::reread(const check::Plan &read, mlir::ModuleOp module,
                         const std::set<unsigned> &programs) {
  if (programs.empty())
    return check::parse_plan(jsonOf(module));
  check::Plan plan = read;
  auto all = test::programsOf(module);
  for (unsigned number : programs) {
    nlohmann::json own = plan::planJson(all[number]);
    own["step"] = nullptr;
    plan.programs[number] = check::parse_plan(own).programs.front();
  }
  return plan;
}

/// The first thing that is said while `holds` finds that something does not
/// hold.
static std::optional<std::string> firstWord(mlir::ModuleOp module,
                                            llvm::function_ref<bool()> holds) {
  std::string first;
  mlir::ScopedDiagnosticHandler handler(module.getContext(),
                                        [&](mlir::Diagnostic &diagnostic) {
                                          if (first.empty())
                                            first = diagnostic.str();
                                          return mlir::success();
                                        });
  if (holds())
    return std::nullopt;
  return first.empty() ? "no reason given" : first;
}

std::optional<std::string>
fuzz::findMalformed(mlir::ModuleOp module, const std::set<unsigned> &programs) {
  return firstWord(module, [&] {
    auto all = test::programsOf(module);
    return llvm::all_of(programs, [&](unsigned number) {
      return succeeded(mlir::verify(all[number]));
    });
  });
}

std::optional<std::string>
fuzz::findUnproved(mlir::ModuleOp module, const std::set<unsigned> &programs) {
  return firstWord(module, [&] {
    auto all = test::programsOf(module);
    return llvm::all_of(programs,
                        [&](unsigned number) {
                          return succeeded(
                              tasks::PlanVerifier(all[number]).verify());
                        }) &&
           succeeded(tasks::verifyStep(module));
  });
}

/// A worker for each task shows most, and one worker what all numbers have in
/// common.
static const std::vector<uint32_t> kWorkers = {0, 1, 2, 3};

std::optional<std::string>
fuzz::findFault(const check::Plan &plan, llvm::ArrayRef<check::Symbols> steps) {
  std::vector<check::Instance> instances;
  for (const check::Symbols &step : steps)
    instances.push_back({step, kWorkers});
  // An explicit schedule is for one step.
  if (llvm::any_of(plan.programs, [](const check::Program &program) {
        return !program.schedules.empty();
      }))
    instances = check::choose_instances(plan, {}, {}, {}, {});
  for (const check::Instance &instance : instances) {
    check::Verdict verdict = check::judge(plan, instance);
    if (!verdict.accepted()) {
      const check::Finding &first = verdict.findings.front();
      return first.kind + ": " + first.message;
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

std::string fuzz::classOf(llvm::StringRef message) {
  std::string text;
  message = message.take_until([](char c) { return c == ';'; });
  for (size_t i = 0; i < message.size(); ++i) {
    char c = message[i];
    if (c == '\'' || c == '(') {
      size_t end = message.find(c == '(' ? ')' : '\'', i + 1);
      if (end != llvm::StringRef::npos) {
        i = end;
        text += c == '(' ? "" : "'...'";
        continue;
      }
    }
    if (c == '@') {
      if (message.substr(i + 1).starts_with("\""))
        i = std::min(message.find('"', i + 2), message.size() - 1);
      while (i + 1 < message.size() &&
             (llvm::isAlnum(message[i + 1]) ||
              llvm::StringRef("_.+").contains(message[i + 1])))
        ++i;
      text += "@...";
      continue;
    }
    if (llvm::isDigit(c)) {
      while (i + 1 < message.size() && llvm::isDigit(message[i + 1]))
        ++i;
      text += 'N';
      continue;
    }
    text += c;
  }
  return text;
}

bool fuzz::isJudged(llvm::StringRef messageClass) {
  static constexpr llvm::StringRef others[] = {
      // Pointers of calls, and what is behind them; what a body may touch
      // beyond
      // a buffer.
      "to which phase '...' states no access",
      "where phase '...' states no such",
      "of which its calls leave elements as they were",
      "is given one address as",
      "with strides that are not those of",
      "from -N in dimension N",
      "further beyond the end than a tile reaches",
      // How many contributions a sum has is the model's to say.
      "is to be written by N phases, but",
  };
  return llvm::none_of(others, [&](llvm::StringRef other) {
    return messageClass.contains(other);
  });
}
