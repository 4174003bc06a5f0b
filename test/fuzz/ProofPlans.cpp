//===- ProofPlans.cpp - small plans, and what may become of them ----------===//

#include "test/fuzz/ProofPlans.h"
#include "compiler/targets/Targets.h"
#include "test/passes/proof/PlanMutants.h"

#include "llvm/ADT/STLExtras.h"

using namespace baton;
using namespace baton::fuzz;
using check::Symbols;
using test::StepMutation;

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static constexpr int64_t kMaxRows = 6;

llvm::ArrayRef<Subject> fuzz::subjects() {
  static const std::vector<Subject> all = {
      {.name = "decode", .model = "llama", .share = 14},
      {.name = "learned positions", .model = "learned", .share = 10},
      {.name = "sliding window", .model = "window", .share = 12},
      {.name = "hyper-connections", .model = "streams", .share = 6},
      {.name = "split attention",
       .model = "llama",
       .sizes = "split.json",
       .maxSeq = 70,
       .share = 12},
      {.name = "tensor parallel",
       .model = "llama",
       .mesh = {{"tp", 2}},
       .share = 12},
      {.name = "decode on stages",
       .model = "llama",
       .mesh = {{"pp", 2}},
       .share = 8},
      {.name = "rows by tables", .model = "inputs/routed.mlir", .share = 10},
      {.name = "training", .model = "narrow", .training = true, .share = 3},
      {.name = "recomputed layers",
       .model = "narrow",
       .training = true,
       .recomputes = true,
       .share = 1},
      {.name = "ZeRO 1",
       .model = "learned",
       .mesh = {{"dp", 2}},
       .training = true,
       .zero = 1,
       .share = 2},
      {.name = "ZeRO 3",
       .model = "learned",
       .mesh = {{"dp", 2}},
       .training = true,
       .zero = 3,
       .share = 2},
      {.name = "stages",
       .model = "narrow",
       .mesh = {{"pp", 2}},
       .training = true,
       .share = 6},
      {.name = "stages of groups",
       .model = "narrow",
       .mesh = {{"dp", 2}, {"pp", 2}},
       .training = true,
       .share = 3},
      {.name = "hyper-connections, training",
       .model = "streams",
       .training = true,
       .share = 1},
      {.name = "matrices",
       .model = "learned",
       .training = true,
       .optimizer = "muon",
       .share = 1},
  };
  return all;
}

compiler::Plan fuzz::planOf(const Subject &subject) {
  const std::string folder = BATON_PROOF_MODELS "/";
  compiler::CompileOptions options;
  options.model = folder + subject.model;
  // Of a plan all is decided.
  if (!llvm::StringRef(subject.model).ends_with(".mlir")) {
    options.targetFile = folder + subject.sizes;
    options.maxSeq = subject.maxSeq;
  }
  options.stage = compiler::Stage::event;
  options.training = subject.training;
  options.mesh = subject.mesh;
  options.zero = subject.zero;
  if (subject.recomputes)
    options.recompute = training::RecomputeMode::full;
  compiler::Installation installation = {BATON_INSTALLATION};
  if (subject.training) {
    options.optimizer = subject.optimizer;
    options.microbatches = 2;
    options.pipeline = "1f1b";
    llvm::cantFail(compiler::findOptimizer(options, installation));
  }
  auto targets = llvm::cantFail(compiler::readTarget(options, installation));
  auto plan = llvm::cantFail(compiler::Plan::build(options, targets));
  plan.module().getContext()->disableMultithreading();
  return plan;
}

std::vector<Symbols> fuzz::someSteps(const Subject &subject) {
  if (subject.training)
    return {{1, 0, 1}, {3, 0, 1}, {5, 0, 1}};
  std::vector<Symbols> steps = {{1, 0, 1}, {3, 0, 0}, {3, 2, 2},
                                {5, 2, 1}, {1, 2, 0}, {6, 4, 2}};
  // Rows on both sides of a part's end, and behind it.
  if (subject.maxSeq > 64)
    steps.insert(steps.end(), {{3, 62, 1}, {1, 64, 1}});
  return steps;
}

std::vector<Symbols> fuzz::allSteps(const Subject &subject) {
  if (subject.training) {
    std::vector<Symbols> steps;
    for (int64_t rows = 1; rows <= kMaxRows; ++rows)
      steps.push_back({rows, 0, 1});
    return steps;
  }
  std::vector<Symbols> steps;
  for (int64_t rows = 1; rows <= kMaxRows; ++rows)
    for (int64_t past = 0; past + rows <= subject.maxSeq; ++past)
      // All that differ are near the ends of parts.
      if (past % 64 <= 4 || past % 64 >= 64 - kMaxRows)
        for (int64_t outputs = 0; outputs <= std::min<int64_t>(rows, 2);
             ++outputs)
          steps.push_back({rows, past, outputs});
  return steps;
}

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

/// Those of PlanMutants, without its pairs.
static constexpr unsigned kOfPrograms = unsigned(test::MutationClass::two);
static constexpr unsigned kTwo = kOfPrograms + test::kStepMutationClasses;
static constexpr size_t kSchedules = 60;

llvm::ArrayRef<std::string> fuzz::kinds() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (unsigned i = 0; i < kOfPrograms; ++i)
      names.push_back(test::nameOf(test::MutationClass(i)));
    for (unsigned i = 0; i < test::kStepMutationClasses; ++i)
      names.push_back(test::nameOf(test::StepMutationClass(i)));
    names.push_back(test::nameOf(test::MutationClass::two));
    return names;
  }();
  return all;
}

/// A mutation of each program of the module.
static std::vector<StepMutation> ofEachProgram(mlir::ModuleOp plan,
                                               test::MutationClass kind,
                                               unsigned seed, test::Step step) {
  std::vector<StepMutation> all;
  for (auto [number, program] : llvm::enumerate(test::programsOf(plan))) {
    // The proof takes no explicit schedule of tasks with entries.
    auto tables = event::ProgramOp(program).getBody().getOps<event::TableOp>();
    if (kind == test::MutationClass::schedule && !tables.empty())
      continue;
    size_t most = kind == test::MutationClass::schedule ? kSchedules : SIZE_MAX;
    for (test::Mutation &one :
         test::mutationsOf(program, kind, seed, most, step))
      all.push_back({"@" + event::ProgramOp(program).getSymName().str() + " " +
                         one.description,
                     {unsigned(number)},
                     [number = number,
                      apply = std::move(one.apply)](mlir::ModuleOp copy) {
                       apply(test::programsOf(copy)[number]);
                     }});
  }
  return all;
}

MutantPool::MutantPool(const Subject &subject, mlir::ModuleOp plan,
                       unsigned seed)
    : random(seed) {
  const Symbols step = someSteps(subject)[1];
  for (unsigned i = 0; i < kOfPrograms; ++i)
    pools.push_back(ofEachProgram(plan, test::MutationClass(i), seed + i,
                                  {step.rows, step.past, step.outputs}));
  for (unsigned i = 0; i < test::kStepMutationClasses; ++i)
    pools.push_back(test::mutationsOf(plan, test::StepMutationClass(i)));
  // The standard's shuffle differs from library to library.
  for (std::vector<StepMutation> &pool : pools)
    for (size_t i = pool.size(); i > 1; --i)
      std::swap(pool[i - 1], pool[random() % i]);
  next.resize(pools.size());
}

std::optional<StepMutation> MutantPool::draw(unsigned kind) {
  if (kind == kTwo)
    return drawTwo();
  if (next[kind] == pools[kind].size())
    return std::nullopt;
  return pools[kind][next[kind]++];
}

const StepMutation *MutantPool::some(unsigned beginKind, unsigned endKind) {
  const auto &pool =
      pools[beginKind + random() % uint32_t(endKind - beginKind)];
  return pool.empty() ? nullptr : &pool[random() % pool.size()];
}

/// The first leaves all parts of programs in their places, and as many of them,
/// so that the second finds its own. Explicit schedules know what tasks there
/// are.
std::optional<StepMutation> MutantPool::drawTwo() {
  using test::MutationClass;
  static constexpr MutationClass firsts[] = {
      MutationClass::lowerCount,     MutationClass::raiseCount,
      MutationClass::shareBytes,     MutationClass::widenRead,
      MutationClass::shiftWait,      MutationClass::moveAccess,
      MutationClass::changeDistance,
  };
  const unsigned schedule = unsigned(MutationClass::schedule);
  for (;;) {
    const unsigned first = unsigned(firsts[random() % std::size(firsts)]);
    const StepMutation *one = some(first, first + 1);
    const StepMutation *other =
        random() % 2 ? some(0, schedule) : some(kOfPrograms, kTwo);
    if (!one || !other || one == other)
      continue;
    StepMutation both = *one;
    both.description += "; " + other->description;
    both.programs.insert(other->programs.begin(), other->programs.end());
    both.apply = [one = one->apply, other = other->apply](mlir::ModuleOp copy) {
      one(copy);
      other(copy);
    };
    return both;
  }
}
