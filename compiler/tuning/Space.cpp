//===- Space.cpp - what may be decided otherwise about a model ------------===//

#include "compiler/tuning/Space.h"

#include "codegen/bodies/TaskCalls.h"
#include "compiler/schedule/Schedule.h"
#include "compiler/schedule/ScheduleOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace baton;
using namespace baton::tuning;
using llvm::StringRef;

namespace {
/// What a task does most.
enum class Kind { linear, gated, attention, other };
} // namespace

static Kind kindOf(event::PhaseOp phase) {
  Kind kind = Kind::other;
  for (auto call : phase.getBody().getOps<event::CallOp>()) {
    StringRef callee = call.getCallee();
    if (callee.contains("gated_linear"))
      kind = Kind::gated;
    else if (auto body = bodies::lookUp(callee);
             body && (body->kind == bodies::Kind::linear ||
                      body->kind == bodies::Kind::integer_linear ||
                      body->kind == bodies::Kind::partly_integer_linear ||
                      body->kind == bodies::Kind::rounded_linear ||
                      body->kind == bodies::Kind::amx_linear))
      kind = Kind::linear;
    else if (callee.starts_with("attention"))
      kind = Kind::attention;
  }
  return kind;
}

static std::string sizesText(llvm::ArrayRef<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "[" : ", ") + std::to_string(size);
  return text + "]";
}

/// "[48, 64] or [24, 64] or ...": sizes that occur twice, or that tile does not
/// take, are left out.
static std::string
alternatives(llvm::ArrayRef<llvm::SmallVector<int64_t, 2>> all) {
  std::vector<std::string> texts;
  for (const auto &sizes : all)
    if (sizes[0] >= 1 && sizes[0] <= 4096 &&
        (sizes.size() == 1 || sizes[1] >= 16))
      if (std::string text = sizesText(sizes); !llvm::is_contained(texts, text))
        texts.push_back(text);
  return llvm::join(texts, " or ");
}

static std::string linearTiles(int64_t rows, int64_t columns) {
  auto narrower = std::max<int64_t>(16, columns / 2 / 16 * 16);
  return alternatives({{rows, columns},
                       {rows, narrower},
                       {rows, 2 * columns},
                       {rows, 4 * columns},
                       {rows / 2, columns},
                       {2 * rows, columns},
                       {rows / 2, 2 * columns},
                       {2 * rows, narrower}});
}

static std::string attentionTiles(int64_t rows, int64_t split) {
  if (!split)
    return alternatives({{rows}, {rows / 2}, {2 * rows}, {4 * rows}});
  return alternatives({{rows, split},
                       {rows, std::max<int64_t>(64, split / 2 / 64 * 64)},
                       {rows, 2 * split},
                       {rows, 4 * split}});
}

/// A statement of a text, if it is there, becomes another one.
static void restate(std::string &text, const std::string &old,
                    const std::string &now) {
  if (size_t at = text.find(old); at != std::string::npos)
    text.replace(at, old.size(), now);
}

/// Edits what a sequence of a schedule says, if the schedule has it.
static void editSequence(std::string &schedule, const std::string &name,
                         llvm::function_ref<void(std::string &)> edit) {
  size_t begin = schedule.find("@" + name + "(");
  if (begin == std::string::npos)
    return;
  begin = schedule.find('\n', begin) + 1;
  size_t end = schedule.find("    transform.yield", begin);
  std::string text = schedule.substr(begin, end - begin);
  edit(text);
  schedule.replace(begin, end - begin, text);
}

/// A pattern of all names, or nothing where match takes no so large one.
static std::string patternOf(const llvm::SetVector<StringRef> &names) {
  constexpr size_t most = 60;
  if (names.empty() || names.size() > most)
    return "";
  std::vector<std::string> escaped;
  for (StringRef name : names) {
    std::string text;
    for (char c : name) {
      if (StringRef("*?[]{},\\").contains(c))
        text += "\\\\";
      text += c;
    }
    escaped.push_back(text);
  }
  return escaped.size() == 1 ? escaped.front()
                             : "{" + llvm::join(escaped, ",") + "}";
}

static bool waitsFor(event::PhaseOp phase, event::PhaseOp other) {
  auto notified = other.getNotify();
  return notified &&
         llvm::any_of(phase.getWaitAttrs(), [&](event::WaitAttr wait) {
           return wait.getEvent() == notified->getEvent();
         });
}

/// Runs of neighbours with one grid that do not wait for one another.
static std::vector<std::vector<event::PhaseOp>>
mergeableRuns(event::ProgramOp program) {
  std::vector<std::vector<event::PhaseOp>> runs;
  for (auto segment : program.getBody().getOps<event::SegmentOp>()) {
    std::vector<event::PhaseOp> run;
    auto end = [&] {
      if (run.size() > 1)
        runs.push_back(run);
      run.clear();
    };
    for (auto phase : segment.getBody().getOps<event::PhaseOp>()) {
      if (!run.empty() && (phase.getGrid() != run.back().getGrid() ||
                           llvm::any_of(run, [&](event::PhaseOp other) {
                             return waitsFor(phase, other);
                           })))
        end();
      run.push_back(phase);
    }
    end();
  }
  return runs;
}

/// The names by which phases are found, whatever is fused in them.
static llvm::SetVector<StringRef>
namesOf(event::ProgramOp program, llvm::function_ref<bool(event::PhaseOp)> is) {
  llvm::SetVector<StringRef> names;
  for (const schedule::Matchable &found : schedule::matchables(program))
    if (is(llvm::cast<event::PhaseOp>(found.op)))
      names.insert(found.names.begin(), found.names.end());
  return names;
}

/// Statements of @plan.
static std::string mergesOf(event::ProgramOp program) {
  std::string text;
  for (const auto &[i, run] : llvm::enumerate(mergeableRuns(program))) {
    llvm::SetVector<StringRef> names;
    for (event::PhaseOp phase : run)
      names.insert(phase.getName());
    const std::string handle = "%neighbours" + std::to_string(i);
    text += "    " + handle + " = transform.baton.match named \"" +
            patternOf(names) + "\" in %plan\n    transform.baton.merge " +
            handle + " or not\n";
  }
  return text;
}

static std::string mapsOf(event::ProgramOp program) {
  struct {
    const char *handle;
    bool linears, attention;
  } groups[] = {{"%linears", true, false},
                {"%attentions", false, true},
                {"%others", false, false}};
  std::string text;
  for (const auto &group : groups) {
    bool linears = group.linears, attention = group.attention;
    auto names = namesOf(program, [&](event::PhaseOp phase) {
      Kind kind = kindOf(phase);
      bool isLinear = kind == Kind::linear || kind == Kind::gated;
      return linears     ? isLinear
             : attention ? kind == Kind::attention
                         : !isLinear && kind != Kind::attention;
    });
    std::string pattern = patternOf(names);
    if (pattern.empty())
      continue;
    text += std::string("    ") + group.handle +
            " = transform.baton.match named \"" + pattern +
            "\" in %plan optional\n    transform.baton.distribute " +
            group.handle + " \"by_work\" or \"blocked\" or \"cyclic\"\n";
  }
  return text;
}

/// Alternatives of @model.
static void openModel(std::string &text,
                      const compiler::TargetDescription &target,
                      event::ProgramOp program) {
  bool has[4] = {};
  program.walk([&](event::PhaseOp phase) {
    has[static_cast<size_t>(kindOf(phase))] = true;
  });
  for (const char *statement :
       {"fuse %products", "group %linears", "recompute %norms", "fuse %sums"})
    restate(text, std::string("transform.baton.") + statement,
            std::string("transform.baton.") + statement + " or not");
  auto open = [&](const char *handle, const std::string &alternatives) {
    const std::string tile = std::string("transform.baton.tile ") + handle;
    size_t at = text.find(tile + " [");
    if (at == std::string::npos)
      return;
    size_t begin = at + tile.size() + 1, end = text.find(']', begin) + 1;
    text.replace(begin, end - begin, alternatives);
  };
  int64_t rows = target.linearRows, columns = target.linearColumns;
  open("%plain", alternatives({{target.plainRows},
                               {target.plainRows / 2},
                               {2 * target.plainRows}}));
  if (has[static_cast<size_t>(Kind::attention)])
    open("%attentions",
         attentionTiles(target.attentionRows, target.attentionSplit));
  if (has[static_cast<size_t>(Kind::linear)])
    open("%wide", linearTiles(rows, columns));
  if (has[static_cast<size_t>(Kind::gated)])
    open("%gated", linearTiles(rows, bodies::gatedColumns(columns)));
}

/// Alternatives of @plan.
static void openPlan(std::string &text, event::ProgramOp program) {
  text.insert(0, mergesOf(program));
  const std::string map =
      "    transform.baton.distribute %phases \"by_work\"\n";
  restate(text, map, map + mapsOf(program));
  restate(text, "\"per_tile\"", "\"per_tile\" or \"per_phase\"");
  restate(text, "prefetch %phases 4096",
          "prefetch %phases 4096 or 0 or 16384 or 65536");
}

std::string
tuning::openSchedule(const std::string &given,
                     llvm::ArrayRef<compiler::TargetDescription> targets,
                     llvm::ArrayRef<event::ProgramOp> programs) {
  std::string text = given;
  for (auto [i, target, program] : llvm::enumerate(targets, programs)) {
    const std::string prefix = schedule::sequencePrefix(i).str();
    editSequence(text, prefix + "model", [&](std::string &sequence) {
      openModel(sequence, target, program);
    });
    editSequence(text, prefix + "plan",
                 [&](std::string &sequence) { openPlan(sequence, program); });
  }
  return text;
}
