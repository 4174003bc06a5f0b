//===- check_body.cpp - batonc check-body ---------------------------------===//

#include "tools/batonc/check_body.h"

#include "codegen/link/Cache.h"
#include "compiler/Diagnostics.h"
#include "compiler/Dialects.h"
#include "compiler/Installation.h"
#include "compiler/SourceFile.h"
#include "compiler/bodies/Checks.h"
#include "tools/batonc/errors.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <nlohmann/json.hpp>

#include <cstdio>

using namespace baton;
using namespace baton::checks;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

namespace {
struct CheckFlags {
  std::string file, target = "cpu";
  std::vector<std::string> bodies, sizes, parameters;
  unsigned shapes = 16;
  uint64_t seed = 1;
  bool json = false;
};

/// Prints verdicts as they come, or in the end as JSON.
class Report {
public:
  explicit Report(bool json) : json(json) {}

  void add(const std::string &body, const char *check,
           llvm::ArrayRef<Verdict> verdicts);
  /// Whether nothing is at fault.
  bool finish() const;

private:
  bool json, hasFault = false;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
};
} // namespace

static const char *wordOf(Verdict::Kind kind) {
  switch (kind) {
  case Verdict::ok:
    return "ok";
  case Verdict::fault:
    return "fault";
  case Verdict::skipped:
    return "skipped";
  }
  return "";
}

void Report::add(const std::string &body, const char *check,
                 llvm::ArrayRef<Verdict> verdicts) {
  for (const Verdict &verdict : verdicts) {
    hasFault |= verdict.kind == Verdict::fault;
    if (json) {
      all.push_back({{"body", body},
                     {"check", check},
                     {"verdict", wordOf(verdict.kind)},
                     {"text", verdict.text}});
      continue;
    }
    std::printf("@%s  %s  %s: %s\n", body.c_str(), check, wordOf(verdict.kind),
                verdict.text.c_str());
    std::fflush(stdout);
  }
}

bool Report::finish() const {
  if (json)
    std::printf("%s\n", all.dump(2).c_str());
  return !hasFault;
}

/// The bodies of a module that were asked for, in the module's order.
static Expected<std::vector<event::BodyOp>> choose(mlir::ModuleOp module,
                                                   const CheckFlags &flags) {
  std::vector<event::BodyOp> all, chosen;
  module.walk([&](event::BodyOp body) { all.push_back(body); });
  if (all.empty())
    return createStringError(flags.file +
                             ": has no event.body; a schedule or a model that "
                             "brings task bodies of its own has some");
  std::vector<std::string> wanted;
  for (llvm::StringRef name : flags.bodies)
    wanted.push_back(name.ltrim('@').str());
  for (const std::string &name : wanted) {
    if (llvm::any_of(
            all, [&](event::BodyOp body) { return body.getSymName() == name; }))
      continue;
    auto *nearest =
        std::min_element(all.data(), all.data() + all.size(),
                         [&](event::BodyOp a, event::BodyOp b) {
                           return a.getSymName().edit_distance(name) <
                                  b.getSymName().edit_distance(name);
                         });
    return createStringError("--body=" + name + ": " + flags.file +
                             " has no event.body of that name; the nearest is "
                             "@" +
                             nearest->getSymName());
  }
  for (event::BodyOp body : all)
    if (wanted.empty() || llvm::is_contained(wanted, body.getSymName()))
      chosen.push_back(body);
  return chosen;
}

/// Checks the adjoints that a body names.
static Error checkAdjoints(const Body &body, event::BodyOp op,
                           const Options &options, Report &report) {
  auto inputs = op.getAdjointInputsAttr(), weights = op.getAdjointWeightsAttr();
  for (auto [name, check] : {std::pair(inputs, "adjoint_inputs"),
                             std::pair(weights, "adjoint_weights")}) {
    if (!name)
      continue;
    auto found =
        mlir::SymbolTable::lookupNearestSymbolFrom<event::BodyOp>(op, name);
    if (!found) {
      report.add(body.name, check,
                 {{Verdict::fault,
                   "there is no event.body @" + name.getValue().str()}});
      continue;
    }
    auto verdict = checkAdjoint(body, Body(found), name == weights,
                                !inputs || !weights, options);
    if (!verdict)
      return verdict.takeError();
    report.add(body.name, check, *verdict);
  }
  return Error::success();
}

static bool hasArgument(event::BodyOp body, llvm::StringRef name) {
  return llvm::any_of(Body(body).arguments, [&](const Argument &argument) {
    return argument.name == name;
  });
}

/// Fails for a name that no body has an argument of.
static Error expectArgument(llvm::ArrayRef<event::BodyOp> bodies,
                            const std::string &name, const char *flag) {
  if (llvm::any_of(bodies,
                   [&](event::BodyOp body) { return hasArgument(body, name); }))
    return Error::success();
  return createStringError(flag + ("=" + name) +
                           ": no body has an argument of that name");
}

static Expected<bool> check(const CheckFlags &flags,
                            const Installation &installation) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  // Code runs in a copy of the process, which has the thread that asks alone.
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Diagnostics diagnostics(&context);
  auto module = parseSourceFile(flags.file, context, diagnostics);
  if (!module)
    return module.takeError();
  auto bodies = choose(**module, flags);
  if (!bodies)
    return bodies.takeError();
  Options options;
  options.shapes = flags.shapes;
  options.seed = flags.seed;
  options.libraries = {installation.cpuLibrary(),
                       installation.cpuLibraryInF64()};
  std::vector<GivenSize> sizes;
  for (const std::string &text : flags.sizes) {
    auto size = parseGivenSize(text);
    if (!size)
      return size.takeError();
    if (Error error = expectArgument(*bodies, size->argument, "--size"))
      return std::move(error);
    sizes.push_back(*size);
  }
  for (llvm::StringRef name : flags.parameters)
    options.parameters.push_back(name.ltrim('@').str());
  for (const std::string &name : options.parameters)
    if (Error error = expectArgument(*bodies, name, "--parameters"))
      return std::move(error);
  Report report(flags.json);
  for (event::BodyOp op : *bodies) {
    Body body(op);
    options.sizes.clear();
    for (const GivenSize &size : sizes)
      if (hasArgument(op, size.argument))
        options.sizes.push_back(size);
    auto of = [&](Error error) {
      return createStringError(flags.file + ": @" + body.name + ": " +
                               llvm::toString(std::move(error)));
    };
    auto integers = llvm::find_if(body.arguments, [](const Argument &argument) {
      return argument.type.getElementType().isInteger();
    });
    if (integers != body.arguments.end()) {
      report.add(body.name, "regions",
                 Verdict{Verdict::skipped,
                         "@" + integers->name +
                             " holds integers; data are random, and random "
                             "places mean nothing"});
      continue;
    }
    auto regions = checkRegions(body, options);
    if (!regions)
      return of(regions.takeError());
    report.add(body.name, "regions", *regions);
    if (Error error = checkAdjoints(body, op, options, report))
      return of(std::move(error));
    if (flags.target == "cpu")
      continue;
    auto bits = checkCuda(body, options,
                          {installation.headers(), installation.emulation(),
                           link::Cache::userFolder()});
    if (!bits)
      return of(bits.takeError());
    report.add(body.name, "cuda", *bits);
  }
  return report.finish();
}

int tools::checkBodyCommand(int argc, char **argv, const char *tool) {
  CLI::App app{
      "batonc check-body runs the task bodies (event.body) of a schedule or a "
      "model on random\ndata of random shapes, and says where the code does "
      "not do what the body states:\n\n"
      "  regions  a task writes what it states to write, all of it and nothing "
      "else; its results\n           depend on what it states to read alone; "
      "no "
      "two tasks write one element\n"
      "  adjoint_inputs, adjoint_weights\n           the gradients that they "
      "make are those of central differences, in F64\n"
      "  cuda     with --target=cuda:emulated: the body as CUDA C++ makes the "
      "CPU's bits",
      "batonc check-body"};
  app.footer(
      "Extents that boxes do not state are found in the code; --size says them "
      "where it does\nnot show. The exit status is 1 if there is a fault.\n\n"
      "Examples:\n"
      "  batonc check-body mine.mlir\n"
      "  batonc check-body mine.mlir --body rms --shapes 100 --seed 7\n"
      "  batonc check-body mine.mlir --size x.1=64,128   columns of @x: 64 or "
      "128\n"
      "  batonc check-body mine.mlir --target=cuda:emulated\n"
      "  batonc check-body mine.mlir --json              for scripts\n");
  CheckFlags flags;
  app.add_option("FILE", flags.file, "a schedule or a model, with bodies")
      ->required()
      ->type_name("FILE.mlir");
  app.add_option("--body", flags.bodies,
                 "check this one (may be repeated; default: all)")
      ->allow_extra_args(false)
      ->type_name("NAME");
  app.add_option("--shapes", flags.shapes, "how many shapes (default 16)")
      ->check(CLI::Range(1u, 100000u))
      ->type_name("N");
  app.add_option("--seed", flags.seed,
                 "what numbers are drawn from (default 1)")
      ->type_name("S");
  app.add_option(
         "--size", flags.sizes,
         "sizes of a dimension of an argument, and of what has its size "
         "(may be repeated)")
      ->allow_extra_args(false)
      ->type_name("ARGUMENT.DIMENSION=SIZE,...");
  app.add_option("--parameters", flags.parameters,
                 "arguments that adjoint_weights makes gradients of; without "
                 "it, results named @dw are @w's")
      ->delimiter(',')
      ->type_name("NAME,...");
  app.add_option("--target", flags.target,
                 "cpu, or cuda:emulated, which compares with that")
      ->check(CLI::IsMember({"cpu", "cuda:emulated"}));
  app.add_flag("--json", flags.json, "print JSON");
  if (auto status = parse(app, argc, argv, "batonc check-body"))
    return *status;
  reportFatalErrors(flags.file);
  auto passed = check(flags, Installation::ofTool(tool));
  if (!passed)
    return fail(llvm::toString(passed.takeError()));
  return *passed ? 0 : 1;
}
