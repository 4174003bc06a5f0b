//===- TargetTest.cpp - targets by name, and one more of them -------------===//
//
// The third target is the CPU's with another task library, the real one with
// bodies of the code generator's tests in it, and a description of narrower
// tiles. Nothing but its registration says that it is there.
//
//===----------------------------------------------------------------------===//

#include "codegen/link/Scratch.h"
#include "compiler/Compile.h"
#include "compiler/Dialects.h"
#include "compiler/targets/Targets.h"
#include "compiler/targets/cpu/CpuTarget.h"
#include "tools/batonc/compile_flags.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

using namespace baton;
using namespace baton::compiler;

namespace fs = std::filesystem;

namespace {

class OtherCpu : public CpuTarget {
public:
  std::string name() const override { return "cpu-other"; }
  std::string description() const override { return "cpu-other"; }

protected:
  std::string library(const Installation &) const override {
    return BATON_TEST_LIBRARY;
  }
};

/// The installation, with a description of the third target.
class ThirdTarget : public testing::Test {
protected:
  static void SetUpTestSuite() {
    static const bool registered = [] {
      registerTarget(std::make_unique<OtherCpu>());
      return true;
    }();
    (void)registered;
  }

  void SetUp() override {
    folder =
        fs::path(testing::TempDir()) / ("targets-" + std::to_string(getpid()));
    fs::create_directories(folder / "targets");
    for (const auto &entry : fs::directory_iterator(BATON_INSTALLATION))
      if (entry.path().filename() != "targets")
        fs::create_symlink(entry.path(), folder / entry.path().filename());
    std::ifstream usual(BATON_INSTALLATION "/targets/cpu.json");
    nlohmann::json tiles = nlohmann::json::parse(usual);
    std::ofstream(folder / "targets/cpu.json") << tiles;
    tiles["linear_columns"] = 32;
    std::ofstream(folder / "targets/cpu-other.json") << tiles;
    installation.root = folder;
  }
  void TearDown() override { fs::remove_all(folder); }

  CompileOptions optionsFor(const std::string &target, Stage stage) const {
    CompileOptions options;
    options.model = BATON_GOLDEN "/llama-gqa";
    options.maxSeq = 64;
    options.target = target;
    options.stage = stage;
    options.output = folder / "output";
    options.optimization = 1;
    options.quiet = true;
    return options;
  }

  std::string written(const std::string &name = "output") const {
    std::ifstream file(folder / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string compiled(const CompileOptions &options) const {
    if (llvm::Error error = compile(options, installation))
      return llvm::toString(std::move(error));
    return written();
  }

  fs::path folder;
  Installation installation;
};

/// The error line for flags of batonc; empty for those that it takes.
std::string refusal(const std::string &flags) {
  CLI::App app;
  tools::CompileFlags known;
  known.addTo(app);
  app.parse("model.mlir " + flags);
  CompileOptions options;
  return known.finish(options);
}

std::string unknown(llvm::StringRef name) {
  auto found = findTarget(name);
  return found ? "found " + found->name() : llvm::toString(found.takeError());
}

std::string withoutNearest(const std::string &message) {
  return message.substr(0, message.find("; did you mean "));
}

} // namespace

TEST_F(ThirdTarget, IsFoundByItsNameAsOthersAre) {
  for (auto [name, found] : {std::pair("cpu", "found cpu"),
                             std::pair("cuda:emulated", "found cuda:..."),
                             std::pair("cuda:sm_1000", "found cuda:..."),
                             std::pair("cpu-other", "found cpu-other")})
    EXPECT_EQ(unknown(name), found);
  EXPECT_TRUE(unknown("cpu-others").ends_with("; did you mean cpu-other?"));
  for (std::string name : {"", "cuda", "cpu-", "cpu-others", "CPU"})
    EXPECT_EQ(withoutNearest(unknown(name)),
              "--target=" + name +
                  " is unknown; there is cpu, cuda:sm_80, cuda:sm_90a, "
                  "cuda:emulated, cpu-other");
}

TEST_F(ThirdTarget, IsAmongTheFlags) {
  CLI::App app;
  tools::CompileFlags flags;
  flags.addTo(app);
  EXPECT_NE(app.help().find("cpu-other"), std::string::npos);
  EXPECT_EQ(refusal("--target=cpu-other --mesh=pp=2"), "");
  EXPECT_EQ(refusal("--target=cpu-other --launch=graph"),
            "--launch=graph: --target=cpu-other launches no kernels; "
            "--target=cuda:... does");
  EXPECT_EQ(refusal("--target=cpu-other --cublaslt=always"),
            "--cublaslt=always: --target=cpu-other has no cuBLASLt; "
            "--target=cuda:... does");
  EXPECT_EQ(refusal("--target=cpu-other --mode=train --mesh=dp=2 "
                    "--exchanges=overlapped"),
            "--exchanges=overlapped: --target=cpu-other has no NCCL; "
            "--target=cuda:... does");
  EXPECT_EQ(refusal("--target=cuda:sm_80 --mesh=pp=2"),
            "--mesh=pp=2 with --target=cuda:sm_80 is not built yet; stages of "
            "a pipeline run on --target=cpu or --target=cpu-other");
}

TEST_F(ThirdTarget, RefusesStagesOfOthers) {
  EXPECT_EQ(compiled(optionsFor("cpu-other", Stage::cuda)),
            "--emit=cuda: --target=cpu-other has no kernel in CUDA C++");
  EXPECT_EQ(compiled(optionsFor("cuda:sm_80", Stage::llvm)),
            "--emit=llvm: --target=cuda:sm_80 has a kernel in CUDA C++; use "
            "--emit=cuda");
}

TEST_F(ThirdTarget, HasTilesOfItsOwn) {
  std::string plan = compiled(optionsFor("cpu-other", Stage::event));
  EXPECT_NE(plan.find("event.program"), std::string::npos) << plan;
  EXPECT_NE(plan, compiled(optionsFor("cpu", Stage::event)));
  CompileOptions described = optionsFor("cpu", Stage::event);
  described.targetFile = folder / "targets/cpu-other.json";
  EXPECT_EQ(plan, compiled(described));
}

TEST_F(ThirdTarget, HasALibraryOfItsOwn) {
  mlir::DialectRegistry dialects;
  registerDialects(dialects);
  mlir::MLIRContext context(dialects, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      R"mlir(
event.program @p max_rows 8 max_seq 8 max_outputs 1 proof {} {
  event.storage @s bytes 64
  event.buffer @x transient : i64 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @s
  event.segment "only" repeat 1 {
    event.phase "task" grid affine_map<()[r, p, o] -> (r)> capacity [8] accesses [] {
      event.call "test_scale" [#event.address<@x, (m)[r, p, o] -> (m)>, #event.address<@x, (m)[r, p, o] -> (m)>, 2 : i64]
    }
  }
}
)mlir",
      &context);
  ASSERT_TRUE(module);
  auto programs = llvm::to_vector(module->getOps<event::ProgramOp>());
  auto compiledFor = [&](const std::string &target) {
    return llvm::toString(compilePrograms(
        programs, optionsFor(target, Stage::object), installation));
  };
  EXPECT_EQ(compiledFor("cpu-other"), "");
  EXPECT_EQ(written().substr(0, 4), "\177ELF");
  EXPECT_EQ(compiledFor("cpu"), "phase 'task', call 'test_scale': the task "
                                "library has no baton_task_test_scale");
}

TEST_F(ThirdTarget, ItsProgramsGenerateTheSameTokens) {
  auto tokensOf = [&](const std::string &target) {
    CompileOptions options = optionsFor(target, Stage::executable);
    EXPECT_EQ(llvm::toString(compile(options, installation)), "");
    // A file of its own: one that is there would not be emptied first.
    std::string name = "tokens-" + target;
    std::string output = folder / name, problem;
    std::vector<std::string> arguments = {options.output,
                                          "generate",
                                          "--weights=" + options.model,
                                          "--tokens=37,72,79,129,71",
                                          "--max-new-tokens=8",
                                          "--json",
                                          "--quiet",
                                          "--no-cache"};
    int status = link::execute(
        arguments, {llvm::StringRef(), llvm::StringRef(output), std::nullopt},
        problem);
    EXPECT_EQ(status, 0) << problem;
    return nlohmann::json::parse(written(name))["tokens"];
  };
  nlohmann::json tokens = tokensOf("cpu-other");
  EXPECT_EQ(tokens.size(), 8);
  EXPECT_EQ(tokens, tokensOf("cpu"));
}
