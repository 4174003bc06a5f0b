//===- TuningTest.cpp - searches among schedules, without running any -----===//

#include "compiler/Diagnostics.h"
#include "compiler/Dialects.h"
#include "compiler/schedule/Schedule.h"
#include "compiler/tuning/Journal.h"
#include "compiler/tuning/Search.h"

#include "mlir/Dialect/Transform/IR/TransformDialect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include <unistd.h>

using namespace baton;
using namespace baton::tuning;
using Kind = Judgement::Kind;

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

TEST(TuningStatistics, AMedianHasAnIntervalFromSixRoundsOn) {
  Estimate five = estimate({5, 1, 4, 2, 3});
  EXPECT_EQ(five.median, 3);
  EXPECT_EQ(five.low, 0);
  EXPECT_TRUE(std::isinf(five.high));
  // 1 - 2 / 2^6 = 97 %: the whole range.
  Estimate six = estimate({6, 1, 4, 2, 3, 5});
  EXPECT_EQ(six.median, 3.5);
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
  // Without one at each end 1 - 2 * 9 / 2^8 = 93 % would be left of eight.
  EXPECT_EQ(estimate({1, 2, 3, 4, 5, 6, 7, 8}).low, 1);
  EXPECT_EQ(estimate({1, 2, 3, 4, 5, 6, 7, 8, 9}).low, 2);
  // 1 - 2 * (1 + 12 + 66) / 2^12 = 96 %.
  Estimate twelve = estimate({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(twelve.low, 3);
  EXPECT_EQ(twelve.high, 10);
  EXPECT_EQ(twelve.rounds, 12u);
  EXPECT_EQ(estimate({7}).median, 7);
}

TEST(TuningStatistics, SpeedupsAreOfOneRound) {
  EXPECT_EQ(speedups({2, 6}, {1, 2}), (std::vector<double>{2, 3}));
}

//===----------------------------------------------------------------------===//
// Searches
//===----------------------------------------------------------------------===//

namespace {

/// Programs whose times are a function of what was chosen.
class Times : public Trials {
public:
  std::function<double(const Chosen &)> seconds;
  std::function<Judgement(const Chosen &)> judged = [](const Chosen &) {
    return Judgement{};
  };
  /// Rounds until the time is over.
  int64_t budget = 1 << 30;

  std::set<Chosen> ready;
  size_t runs = 0, mostReady = 0;

  llvm::Expected<Judgement> judge(const Chosen &candidate,
                                  const Chosen &) override {
    Judgement judgement = judged(candidate);
    if (judgement.kind == Kind::admitted)
      ready.insert(candidate);
    mostReady = std::max(mostReady, ready.size());
    return judgement;
  }
  llvm::Expected<Run> run(const Chosen &candidate) override {
    EXPECT_TRUE(ready.count(candidate));
    ++runs;
    // A drift that all have alike in a round.
    double drift = 1 + 0.01 * static_cast<double>(runs % 3);
    return Run{0.25 * seconds(candidate) * drift,
               0.75 * seconds(candidate) * drift};
  }
  llvm::Expected<Run> runDefault() override { return Run{0.5, 1.5}; }
  void release(const Chosen &candidate) override { ready.erase(candidate); }
  bool expired() override { return --budget < 0; }
};

SearchOptions optionsOf(std::vector<unsigned> alternatives) {
  SearchOptions options;
  options.start = Chosen(alternatives.size(), 0);
  options.alternatives = std::move(alternatives);
  return options;
}

SearchResult found(llvm::Expected<SearchResult> result) {
  if (!result) {
    ADD_FAILURE() << llvm::toString(result.takeError());
    return {};
  }
  return *result;
}

} // namespace

TEST(TuningSearch, FindsTheBestOfDecisionsThatAreIndependent) {
  Times times;
  times.seconds = [](const Chosen &chosen) {
    return 10 - 2.0 * (chosen[0] == 2) - (chosen[1] == 1) + chosen[2];
  };
  SearchResult result = found(search(times, optionsOf({3, 2, 4})));
  EXPECT_EQ(result.best, (Chosen{2, 1, 0}));
  EXPECT_TRUE(result.complete);
  // A second pass, which changes nothing.
  EXPECT_EQ(result.races.size(), 6u);
  EXPECT_EQ(times.ready, std::set<Chosen>{result.best});
  // Of one decision at a time.
  EXPECT_LE(times.mostReady, 4u);
}

TEST(TuningSearch, ASecondPassFindsWhatTheFirstOneChanged) {
  Times times;
  // The first decision is worth it only with the second one.
  times.seconds = [](const Chosen &chosen) {
    return 10 - (chosen[1] ? 1 : 0) + (chosen[0] ? (chosen[1] ? -2 : 2) : 0);
  };
  SearchResult result = found(search(times, optionsOf({2, 2})));
  EXPECT_EQ(result.best, (Chosen{1, 1}));
  EXPECT_EQ(times.ready, std::set<Chosen>{result.best});
}

TEST(TuningSearch, KeepsWhatNothingIsFasterThanForSure) {
  Times times;
  size_t call = 0;
  // A tenth slower or faster, by turns.
  times.seconds = [&](const Chosen &chosen) {
    return chosen[0] ? ++call % 2 ? 0.9 : 1.1 : 1.0;
  };
  SearchResult result = found(search(times, optionsOf({2})));
  EXPECT_EQ(result.best, Chosen{0});
  EXPECT_TRUE(result.complete);
}

TEST(TuningSearch, DoesNotRunWhatIsJudgedToBeWrong) {
  Times times;
  times.seconds = [](const Chosen &chosen) { return 10.0 - chosen[0]; };
  times.judged = [](const Chosen &chosen) {
    const Kind kinds[] = {Kind::admitted, Kind::admitted, Kind::pruned,
                          Kind::same, Kind::refused};
    return Judgement{kinds[chosen[0]], "because", 0};
  };
  SearchResult result = found(search(times, optionsOf({5})));
  EXPECT_EQ(result.best, Chosen{1});
  ASSERT_EQ(result.races.size(), 2u);
  for (const Entry &entry : result.races[0].entries)
    EXPECT_EQ(entry.speedup.has_value(),
              entry.judgement.kind == Kind::admitted);
}

TEST(TuningSearch, AStartThatIsRefusedIsAnError) {
  Times times;
  times.seconds = [](const Chosen &) { return 1.0; };
  times.judged = [](const Chosen &) {
    return Judgement{Kind::refused, "computes other bits", 0};
  };
  auto result = search(times, optionsOf({2}));
  EXPECT_EQ(llvm::toString(result.takeError()), "computes other bits");
}

TEST(TuningSearch, GoesOnWhereItWasInterrupted) {
  auto seconds = [](const Chosen &chosen) {
    return 20.0 - chosen[0] - 2 * chosen[1] - 3 * chosen[2];
  };
  Times whole;
  whole.seconds = seconds;
  SearchResult expected = found(search(whole, optionsOf({3, 3, 3})));
  EXPECT_EQ(expected.best, (Chosen{2, 2, 2}));
  size_t interruptions = 0;
  for (int64_t budget : {0, 5, 12, 20, 30, 45, 60}) {
    std::vector<Race> kept;
    Times first, second;
    first.seconds = second.seconds = seconds;
    first.budget = budget;
    auto keep = [&](const Race &race) {
      kept.push_back(race);
      return llvm::Error::success();
    };
    SearchResult partial = found(search(first, optionsOf({3, 3, 3}), {}, keep));
    EXPECT_LE(first.ready.size(), 1u);
    interruptions += !partial.complete;
    SearchResult rest = found(search(second, optionsOf({3, 3, 3}), kept, keep));
    EXPECT_EQ(rest.best, expected.best);
    EXPECT_TRUE(rest.complete);
    // Nothing is run twice, but for what was under way.
    EXPECT_LE(second.runs, whole.runs);
    EXPECT_EQ(kept.size(), whole.runs ? 6u : 0u);
  }
  EXPECT_GE(interruptions, 4u);
}

TEST(TuningSearch, TheEndIsMeasuredAnew) {
  Times times;
  times.seconds = [](const Chosen &) { return 1.0; };
  times.ready = {Chosen{1}};
  auto confirmation = confirm(times, Chosen{1}, 12);
  ASSERT_TRUE(static_cast<bool>(confirmation));
  EXPECT_EQ(times.runs, 12u);
  EXPECT_NEAR(confirmation->total.median, 2, 0.05);
  EXPECT_NEAR(confirmation->prefill.median, 2, 0.05);
  EXPECT_NEAR(confirmation->decode.median, 2, 0.05);
  EXPECT_EQ(confirmation->noise.median, 1);
  EXPECT_EQ(confirmation->total.rounds, 12u);
}

//===----------------------------------------------------------------------===//
// The journal
//===----------------------------------------------------------------------===//

TEST(TuningJournal, KeepsRacesOfOneSearch) {
  namespace fs = std::filesystem;
  fs::path path = fs::path(testing::TempDir()) /
                  ("journal-" + std::to_string(getpid()) + ".tune");
  Race race{1, {0, 0}, {}, {0, 2}};
  race.entries = {{{0, 1}, {Kind::refused, "computes \"other\" bits", 3}, {}},
                  {{0, 2}, {Kind::admitted, "", 2.5}, estimate({1, 2, 3})},
                  {{0, 3}, {Kind::pruned, "slow", 9}, {}}};
  {
    auto journal = Journal::open(path, "key");
    ASSERT_TRUE(static_cast<bool>(journal));
    EXPECT_TRUE(journal->races().empty());
    EXPECT_FALSE(fs::exists(path));
    EXPECT_EQ(llvm::toString(journal->add(race)), "");
  }
  auto again = Journal::open(path, "key");
  ASSERT_TRUE(static_cast<bool>(again));
  ASSERT_EQ(again->races().size(), 1u);
  const Race &read = again->races().front();
  EXPECT_EQ(read.decision, 1u);
  EXPECT_EQ(read.best, race.best);
  EXPECT_EQ(read.winner, race.winner);
  ASSERT_EQ(read.entries.size(), 3u);
  EXPECT_EQ(read.entries[0].judgement.why, "computes \"other\" bits");
  EXPECT_EQ(read.entries[0].judgement.kind, Kind::refused);
  ASSERT_TRUE(read.entries[1].speedup);
  EXPECT_EQ(read.entries[1].speedup->median, 2);
  EXPECT_TRUE(std::isinf(read.entries[1].speedup->high));
  EXPECT_EQ(read.entries[2].judgement.predicted, 9);

  auto problem = [&](const std::string &key) {
    auto journal = Journal::open(path, key);
    return journal ? "" : llvm::toString(journal.takeError());
  };
  EXPECT_NE(problem("other").find("is of another model, schedule"),
            std::string::npos);
  for (const char *text : {"", "{", "[]", R"({"format":1,"key":"key"})",
                           R"({"format":1,"key":"key","races":[{}]})",
                           R"({"format":2,"key":"key","races":[]})"}) {
    std::ofstream(path) << text;
    EXPECT_NE(problem("key").find("remove it to begin again"),
              std::string::npos)
        << text;
  }
  again->remove();
  EXPECT_FALSE(fs::exists(path));
}

//===----------------------------------------------------------------------===//
// Alternatives
//===----------------------------------------------------------------------===//

namespace {

/// A schedule that leaves decisions open, parsed.
class Open : public testing::Test {
protected:
  Open() : context(registry(), mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<mlir::transform::TransformDialect>();
  }

  llvm::Expected<schedule::Alternatives> parse(const std::string &text) {
    compiler::Diagnostics diagnostics(&context);
    auto module = schedule::parseOpen(&context, text, "open.mlir");
    if (!module)
      return diagnostics.take("cannot be parsed");
    return schedule::Alternatives::of(*module, text, "open.mlir");
  }

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    compiler::registerDialects(registry);
    return registry;
  }

  mlir::MLIRContext context;
};

std::string sequence(const std::string &statements) {
  return "// One or the other.\n"
         "module attributes {transform.with_named_sequence} {\n"
         "  transform.named_sequence @plan(%p: !transform.any_op "
         "{transform.readonly}) {\n" +
         statements + "    transform.yield\n  }\n}\n";
}

} // namespace

TEST_F(Open, EveryChoiceIsTheTextWithOneAlternative) {
  auto text = [](const char *size, const char *map) {
    return sequence(
        std::string("    %x = transform.baton.match named \"this or that\" in "
                    "%p // [8] or [16]\n"
                    "    transform.baton.tile %x ") +
        size +
        " optional // or not\n"
        "    transform.baton.distribute %x // first\n      " +
        map + "\n");
  };
  auto open = parse(text("[48, 64] or [24,  64] or\n  [48, 128]",
                         "\"by_work\" or \"cyclic\""));
  ASSERT_TRUE(static_cast<bool>(open)) << llvm::toString(open.takeError());
  ASSERT_EQ(open->decisions().size(), 2u);
  const schedule::OpenDecision &tile = open->decisions()[0];
  EXPECT_EQ(tile.what, "tile %x");
  EXPECT_EQ(tile.line, 5u);
  EXPECT_EQ(tile.alternatives,
            (std::vector<std::string>{"[48, 64]", "[24,  64]", "[48, 128]"}));
  EXPECT_EQ(open->start(), (schedule::Chosen{0, 0}));
  EXPECT_EQ(open->choose({0, 0}), text("[48, 64]", "\"by_work\""));
  EXPECT_EQ(open->choose({2, 1}), text("[48, 128]", "\"cyclic\""));
}

TEST_F(Open, WhatIsLeftOutLeavesItsOperand) {
  auto open = parse(sequence(
      "    %a = transform.baton.match in %p\n"
      "    %b = transform.baton.fuse %a or not optional\n"
      "    %c = transform.baton.merge %b or not\n"
      "    transform.baton.events %c \"per_tile\" or \"per_phase\"\n"
      "    transform.baton.prefetch %c 4096 or 0 optional\n"
      "    %d, %e = transform.baton.split %c dimension 1 at 1 or 2\n"));
  ASSERT_TRUE(static_cast<bool>(open)) << llvm::toString(open.takeError());
  // The default fuses, and merges nothing.
  EXPECT_EQ(open->start(), (schedule::Chosen{0, 1, 0, 0, 0}));
  EXPECT_EQ(open->decisions()[1].alternatives,
            (std::vector<std::string>{"yes", "not"}));
  EXPECT_EQ(open->choose({0, 0, 0, 0, 1}),
            sequence("    %a = transform.baton.match in %p\n"
                     "    %b = transform.baton.fuse %a optional\n"
                     "    %c = transform.baton.merge %b\n"
                     "    transform.baton.events %c \"per_tile\"\n"
                     "    transform.baton.prefetch %c 4096 optional\n"
                     "    %d, %e = transform.baton.split %c dimension 1 at "
                     "2\n"));
  EXPECT_EQ(open->choose({1, 1, 1, 1, 0}),
            sequence("    %a = transform.baton.match in %p\n"
                     "    // Not: %b = transform.baton.fuse %a\n"
                     "    // Not: %c = transform.baton.merge %b\n"
                     "    transform.baton.events %a \"per_phase\"\n"
                     "    transform.baton.prefetch %a 0 optional\n"
                     "    %d, %e = transform.baton.split %a dimension 1 at "
                     "1\n"));
}

TEST_F(Open, AlternativesAreLegalAndDifferent) {
  auto problem = [&](const std::string &statement) {
    auto open = parse(sequence("    %x = transform.baton.match in %p\n    " +
                               statement + "\n"));
    return open ? "" : llvm::toString(open.takeError());
  };
  for (auto [statement, expected] :
       {std::pair("transform.baton.tile %x [48, 64] or [48, 8]",
                  "has 8 columns"),
        {"transform.baton.tile %x [16] or [32] or [16]",
         "has one alternative twice"},
        {"transform.baton.distribute %x \"cyclic\" or \"sideways\"",
         "'sideways' is no worker map"},
        {"transform.baton.events %x \"per_tile\" or \"per_row\"",
         "'per_row' is no granularity"},
        {"transform.baton.prefetch %x 0 or -1", "asks for -1 bytes"},
        {"transform.baton.tile %x [16] or \"all\"", ""},
        {"transform.baton.tile %x [16] {alternatives = [array<i64: 32>]}",
         "not written with 'or'"}})
    EXPECT_NE(problem(statement).find(expected), std::string::npos)
        << statement << ": " << problem(statement);
  EXPECT_NE(problem("transform.baton.tile %x [16] or \"all\""), "");
}
