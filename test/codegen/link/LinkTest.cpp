//===- LinkTest.cpp - executables, with and without sanitizers ------------===//

#include "codegen/link/Link.h"
#include "test/codegen/cpu/Fixture.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace baton::cpu::test;
using baton::link::linkExecutable;
using baton::link::LinkOptions;

/// Tiles of one worker are read by the other: twice[m] = 2 * token[7 - m],
/// where `waits` orders the two phases.
static std::string handOverPlan(const std::string &waits) {
  return R"mlir(
event.program @p max_rows 8 max_seq 8 max_outputs 1 proof {} {
  event.storage @s0 bytes 64
  event.storage @s1 bytes 64
  event.storage @s2 bytes 4
  event.buffer @tokens input : i32 extents affine_map<()[r, p, o] -> (p + r)> capacity [8] strides [1]
  event.buffer @once transient : i64 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @s0
  event.buffer @twice transient : i64 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @s1
  event.buffer @logits transient : f32 extents affine_map<()[r, p, o] -> (o, 1)> capacity [1, 1] strides [1, 1] in @s2
  event.tensor @produced shape affine_map<()[r, p, o] -> (r)> capacity [8] count affine_map<()[r, p, o] -> (1)>
  event.tensor @consumed shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (r)>
  event.segment "only" repeat 1 {
    event.phase "produce" grid affine_map<()[r, p, o] -> (r)> capacity [8] accesses []
      notifies <@produced, (m)[r, p, o] -> (m)> {
      event.call "test_token" [#event.address<@once, (m)[r, p, o] -> (m)>, #event.address<@tokens, (m)[r, p, o] -> (m)>]
    }
    event.phase "consume" grid affine_map<()[r, p, o] -> (r)> capacity [8] accesses [] )mlir" +
         waits + R"mlir(
      notifies <@consumed, (m)[r, p, o] -> ()> {
      event.call "test_scale" [#event.address<@twice, (m)[r, p, o] -> (m)>, #event.address<@once, (m)[r, p, o] -> (r - 1 - m)>, 2 : i64]
    }
    event.phase "sum" grid affine_map<()[r, p, o] -> ()> capacity [] accesses []
      waits [#event.wait<@consumed, ()[r, p, o] -> () to ()[r, p, o] -> ()>] {
      event.call "test_sum" [#event.address<@logits, ()[r, p, o] -> (0, 0)>, #event.address<@twice, ()[r, p, o] -> (0)>, #event.count<()[r, p, o] -> (r)>]
      event.advance @logits
    }
  }
}
)mlir";
}

static const std::string kOrdered =
    "waits [#event.wait<@produced, (m)[r, p, o] -> (r - 1 - m) to "
    "(m)[r, p, o] -> (r - m)>]";

namespace {

class LinkTest : public testing::Test {
protected:
  LinkTest() {
    EXPECT_FALSE(
        llvm::sys::fs::createUniqueDirectory("baton-link-test", folder));
  }
  ~LinkTest() override { llvm::sys::fs::remove_directories(folder); }

  std::string path(llvm::StringRef name) { return (folder + "/" + name).str(); }

  static LinkOptions options(const std::string &sanitize = "") {
    LinkOptions result;
    result.sanitize = sanitize;
    result.archives = {std::string(BATON_TEST_RUNTIMES "/") +
                       (sanitize.empty() ? "none" : sanitize) +
                       "/libtest_runtime.a"};
    return result;
  }

  static std::string object(const std::string &plan,
                            const std::string &sanitize = "") {
    baton::cpu::TargetOptions target = testOptions();
    target.sanitize = sanitize;
    return llvm::cantFail(emitText(plan, target));
  }

  /// Compiles `plan` and links it to path("program").
  void build(const std::string &plan, const std::string &sanitize = "") {
    llvm::Error error = linkExecutable(llvm::StringRef(object(plan, sanitize)),
                                       path("program"), options(sanitize));
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }

  /// Runs path("program") with an empty PATH; its output is in `output`.
  int run(llvm::StringRef storageBytes) {
    std::string program = path("program"), log = path("log");
    llvm::StringRef arguments[] = {program, storageBytes};
    llvm::StringRef environment[] = {"PATH="};
    std::optional<llvm::StringRef> redirects[] = {"", log, log};
    int status = llvm::sys::ExecuteAndWait(
        program, arguments, llvm::ArrayRef(environment), redirects);
    output = read("log");
    return status;
  }

  std::string read(llvm::StringRef name) {
    auto buffer = llvm::MemoryBuffer::getFile(path(name));
    return buffer ? (*buffer)->getBuffer().str() : "";
  }

  /// The error of linking, which must be one line and leave nothing behind.
  std::string refusal(llvm::StringRef objectBytes, llvm::StringRef file,
                      const LinkOptions &linkOptions) {
    std::string before = read("program");
    llvm::Error error = linkExecutable(objectBytes, file, linkOptions);
    EXPECT_TRUE(bool(error));
    std::string message = llvm::toString(std::move(error));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(read("program"), before);
    std::error_code failure;
    for (llvm::sys::fs::directory_iterator entry(folder, failure), end;
         entry != end; entry.increment(failure))
      EXPECT_EQ(llvm::sys::path::filename(entry->path()), "program");
    return message;
  }

  llvm::SmallString<128> folder;
  std::string output;
};

} // namespace

TEST_F(LinkTest, TheExecutableRunsAlone) {
  build(handOverPlan(kOrdered));
  EXPECT_EQ(run("64"), 0);
  EXPECT_EQ(output, "72\n");
}

TEST_F(LinkTest, SameInputSameBytes) {
  std::string bytes = object(handOverPlan(kOrdered));
  ASSERT_FALSE(
      bool(linkExecutable(llvm::StringRef(bytes), path("program"), options())));
  ASSERT_FALSE(
      bool(linkExecutable(llvm::StringRef(bytes), path("another"), options())));
  EXPECT_TRUE(read("program") == read("another"));
}

TEST_F(LinkTest, ThreadSanitizerAcceptsWhatEventsOrder) {
  build(handOverPlan(kOrdered), "thread");
  EXPECT_EQ(run("64"), 0) << output;
  EXPECT_EQ(output, "72\n");
}

TEST_F(LinkTest, ThreadSanitizerNamesThePhaseThatDoesNotWait) {
  build(handOverPlan(""), "thread");
  EXPECT_EQ(run("64"), 66) << output;
  EXPECT_NE(output.find("data race"), std::string::npos) << output;
  EXPECT_NE(output.find("baton_phase_consume"), std::string::npos) << output;
}

TEST_F(LinkTest, AddressSanitizerAcceptsAccessesInStorage) {
  build(handOverPlan(kOrdered), "address");
  EXPECT_EQ(run("64"), 0) << output;
  EXPECT_EQ(output, "72\n");
}

TEST_F(LinkTest, AddressSanitizerNamesThePhaseBeyondItsStorage) {
  build(handOverPlan(kOrdered), "address");
  EXPECT_EQ(run("56"), 1) << output;
  EXPECT_NE(output.find("heap-buffer-overflow"), std::string::npos) << output;
  EXPECT_NE(output.find("baton_phase_"), std::string::npos) << output;
}

TEST_F(LinkTest, NamesWhatCannotBeWritten) {
  std::string bytes = object(handOverPlan(kOrdered));
  std::string missing = path("missing/program");
  EXPECT_EQ(refusal(bytes, missing, options()),
            "cannot write '" + missing + "' in folder '" + path("missing") +
                "': No such file or directory");
  EXPECT_EQ(refusal(bytes, folder, options()),
            "output '" + folder.str().str() + "' is a folder");
}

TEST_F(LinkTest, NamesWhatIsNotInstalled) {
  std::string bytes = object(handOverPlan(kOrdered));
  LinkOptions wanted = options();
  wanted.archives.push_back("/nonesuch.a");
  EXPECT_EQ(refusal(bytes, path("program"), wanted),
            "runtime library '/nonesuch.a' is missing; Baton is not fully "
            "installed");
  wanted = options();
  wanted.driver = "/nonesuch/clang++";
  EXPECT_EQ(refusal(bytes, path("program"), wanted),
            "the chosen linker driver names '/nonesuch/clang++', which is no "
            "program");
}

TEST_F(LinkTest, TheEnvironmentChoosesTheDriver) {
  std::string bytes = object(handOverPlan(kOrdered));
  setenv("BATON_CLANGXX", "nonesuch-clang++", /*overwrite=*/1);
  std::string message = refusal(bytes, path("program"), options());
  unsetenv("BATON_CLANGXX");
  EXPECT_EQ(message,
            "BATON_CLANGXX names 'nonesuch-clang++', which is no program");
}

TEST_F(LinkTest, AFailedLinkLeavesTheOldExecutable) {
  build(handOverPlan(kOrdered));
  LinkOptions incomplete = options();
  incomplete.archives.clear();
  std::string message =
      refusal(object(handOverPlan(kOrdered)), path("program"), incomplete);
  EXPECT_NE(message.find("linking '" + path("program") + "' failed: "),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("undefined symbol: "), std::string::npos) << message;
}
