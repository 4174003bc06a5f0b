//===- EmitTest.cpp - emitted programs, run and compared by hand ----------===//

#include "test/codegen/cpu/Fixture.h"

#include <gtest/gtest.h>

#include <set>

using namespace baton::cpu;
using namespace baton::cpu::test;

namespace {

/// Rows run towards each other, so that with several workers nearly every wait
/// is for another worker's task:
///
///     a[m] = tokens[past + m]
///     three times:  b[m] = a[rows - 1 - m] + w[iteration]     (and into a
///     state)
///                   a[m] = 2 * b[rows - 1 - m]
///     logits[o][v] = sum of copies[rows - outputs + o][0 .. v],
///                   copies[m][n] = a[m]
///
/// Every conflict is ordered by an event: reads of a[rows - 1 - m] by the
/// forward tile m and its overwriting by the backward tile rows - 1 - m meet in
/// the same word.
constexpr const char *kRing = R"mlir(
event.program @ring max_rows 8 max_seq 64 max_outputs 4 proof {status = "proved"} {
  event.parameter @w : i64 layers 3
  event.storage @sa bytes 64
  event.storage @sb bytes 64
  event.storage @history bytes 1536
  event.storage @slogits bytes 64
  event.storage @scopies bytes 192
  event.buffer @tokens input : i32 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [64] strides [1]
  event.buffer @a transient : i64 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [8] strides [1] in @sa
  event.buffer @b transient : i64 extents affine_map<()[rows, past, outputs] -> (rows)> capacity [8] strides [1] in @sb
  event.buffer @seen state : i64 extents affine_map<()[rows, past, outputs] -> (past + rows)> capacity [64] strides [1] in @history {layers = 3, layer_stride = 64}
  event.buffer @copies transient : i64 extents affine_map<()[rows, past, outputs] -> (rows, 3)> capacity [8, 3] strides [3, 1] in @scopies
  event.buffer @logits transient : f32 extents affine_map<()[rows, past, outputs] -> (outputs, 3)> capacity [4, 3] strides [4, 1] in @slogits
  event.tensor @loaded shape affine_map<()[rows, past, outputs] -> (rows)> capacity [8] count affine_map<()[rows, past, outputs] -> (1)>
  event.tensor @forth shape affine_map<()[rows, past, outputs] -> (rows)> capacity [8] count affine_map<()[rows, past, outputs] -> (1)>
  event.tensor @back shape affine_map<()[rows, past, outputs] -> (rows)> capacity [8] count affine_map<()[rows, past, outputs] -> (1)>
  event.tensor @copied shape affine_map<()[rows, past, outputs] -> (rows)> capacity [8] count affine_map<()[rows, past, outputs] -> (3)>
  event.tensor @done shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (outputs * 3)>
  event.segment "start" repeat 1 {
    event.phase "load" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [8] accesses []
      notifies <@loaded, (m)[rows, past, outputs] -> (m)> {
      event.call "test_token" [#event.address<@a, (m)[rows, past, outputs] -> (m)>, #event.address<@tokens, (m)[rows, past, outputs] -> (past + m)>]
    }
  }
  event.segment "block" repeat 3 {
    event.phase "forward" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [8] accesses []
      waits [#event.wait<@loaded, (m)[rows, past, outputs] -> (rows - 1 - m) to (m)[rows, past, outputs] -> (rows - m)>,
             #event.wait<@back distance 1, (m)[rows, past, outputs] -> (rows - 1 - m) to (m)[rows, past, outputs] -> (rows - m)>]
      notifies <@forth, (m)[rows, past, outputs] -> (m)> {
      event.call "test_add" [#event.address<@b, (m)[rows, past, outputs] -> (m)>, #event.address<@a, (m)[rows, past, outputs] -> (rows - 1 - m)>, #event.weight<@w, (m)[rows, past, outputs] -> (1)>]
      event.call "test_scale" [#event.address<@seen, (m)[rows, past, outputs] -> (past + m)>, #event.address<@b, (m)[rows, past, outputs] -> (m)>, 1 : i64]
    }
    event.phase "backward" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [8] accesses []
      waits [#event.wait<@forth, (m)[rows, past, outputs] -> (rows - 1 - m) to (m)[rows, past, outputs] -> (rows - m)>]
      notifies <@back, (m)[rows, past, outputs] -> (m)> attributes {distribution = #event<distribution cyclic>} {
      event.call "test_scale" [#event.address<@a, (m)[rows, past, outputs] -> (m)>, #event.address<@b, (m)[rows, past, outputs] -> (rows - 1 - m)>, 2 : i64]
    }
  }
  event.segment "finish" repeat 1 {
    event.phase "copy" grid affine_map<()[rows, past, outputs] -> (rows, 3)> capacity [8, 3] accesses []
      waits [#event.wait<@back, (m, n)[rows, past, outputs] -> (m) to (m, n)[rows, past, outputs] -> (m + 1)>]
      notifies <@copied, (m, n)[rows, past, outputs] -> (m)> attributes {distribution = #event<distribution cyclic>} {
      event.call "test_scale" [#event.address<@copies, (m, n)[rows, past, outputs] -> (m, n)>, #event.address<@a, (m, n)[rows, past, outputs] -> (m)>, 1 : i64]
    }
    event.phase "head" grid affine_map<()[rows, past, outputs] -> (outputs, 3)> capacity [4, 3] accesses []
      waits [#event.wait<@copied, (o, v)[rows, past, outputs] -> (rows - outputs + o) to (o, v)[rows, past, outputs] -> (rows - outputs + o + 1)>]
      notifies <@done, (o, v)[rows, past, outputs] -> ()> {
      event.call "test_sum" [#event.address<@logits, (o, v)[rows, past, outputs] -> (o, v)>, #event.address<@copies, (o, v)[rows, past, outputs] -> (rows - outputs + o, 0)>, #event.count<(o, v)[rows, past, outputs] -> (v + 1, 3)>]
    }
    event.phase "advance" grid affine_map<()[rows, past, outputs] -> ()> capacity [] accesses []
      waits [#event.wait<@back, ()[rows, past, outputs] -> (0) to ()[rows, past, outputs] -> (rows)>,
             #event.wait<@done, ()[rows, past, outputs] -> () to ()[rows, past, outputs] -> ()>] {
      event.advance @logits
    }
  }
}
)mlir";

/// Steps of changing shapes: prefill, decode, no outputs, all outputs.
const std::vector<BatonStep> kSteps = {
    {5, 0, 2, 0},  {1, 5, 1, 0},  {8, 6, 4, 0},  {3, 14, 0, 0}, {1, 17, 1, 0},
    {2, 18, 2, 0}, {8, 20, 1, 0}, {7, 28, 3, 0}, {1, 35, 0, 0}, {4, 36, 4, 0}};

const int64_t kWeights[3][2] = {{-1, 1}, {-1, 10}, {-1, 100}};

class Ring : public testing::TestWithParam<std::tuple<uint32_t, uint32_t>> {};

} // namespace

/// The same plan, but all phases with calls have tickets, some in each of
/// several iterations.
static std::string ringOfTickets() {
  std::string text = kRing;
  const std::string cyclic = "distribution cyclic",
                    ticket = "distribution ticket";
  for (size_t at = 0; (at = text.find(cyclic, at)) != std::string::npos;)
    text.replace(at, cyclic.size(), ticket);
  for (const char *notified :
       {"@loaded, (m)", "@forth, (m)", "@done, (o, v)"}) {
    size_t at = text.find("{", text.find(std::string("notifies <") + notified));
    text.insert(at, "attributes {distribution = #event<distribution ticket>} ");
  }
  return text;
}

/// Runs all steps with a ring's plan.
static void expectOrderedSteps(Runner &runner, uint32_t workers,
                               uint32_t origin) {
  runner.observe = nullptr;
  runner.parameters = {kWeights[0], kWeights[1], kWeights[2]};
  runner.tokens.clear();
  for (int32_t position = 0; position < 64; ++position)
    runner.tokens.push_back(position * position % 37);
  std::fill_n(runner.storage<int64_t>(2), 3 * 64, -1);

  size_t at = 0;
  runner.advance = [&](const BatonStep &current, BatonStep &next,
                       const float *logits, int64_t stride,
                       int64_t vocabulary) {
    EXPECT_EQ(current.rows, kSteps[at].rows);
    EXPECT_EQ(current.past, kSteps[at].past);
    EXPECT_EQ(stride, 4);
    EXPECT_EQ(vocabulary, 3);
    EXPECT_EQ(logits, runner.storage<float>(3));
    for (uint32_t row = 0; row < current.rows; ++row) {
      int64_t value = runner.tokens[current.past + row];
      for (int layer = 0; layer < 3; ++layer) {
        value += kWeights[layer][1];
        // The forward tile m reads a from the other end.
        EXPECT_EQ(runner.storage<int64_t>(
                      2)[layer * 64 + current.past + current.rows - 1 - row],
                  value);
        value *= 2;
      }
      int64_t output = int64_t(row) - current.rows + current.outputs;
      for (int64_t v = 0; output >= 0 && v < 3; ++v)
        EXPECT_EQ(logits[output * stride + v], float(value * (v + 1)));
    }
    next = ++at < kSteps.size() ? kSteps[at] : BatonStep{};
  };
  runner.run(kSteps[0], workers, origin);
  EXPECT_EQ(at, kSteps.size());
  // Nothing beyond the last position was touched.
  for (int layer = 0; layer < 3; ++layer)
    for (int position = 40; position < 64; ++position)
      EXPECT_EQ(runner.storage<int64_t>(2)[layer * 64 + position], -1);
}

TEST_P(Ring, EventsOrderEveryStep) {
  auto [workers, origin] = GetParam();
  static Runner runner(kRing);
  expectOrderedSteps(runner, workers, origin);
}

TEST_P(Ring, TicketsKeepTheOrder) {
  auto [workers, origin] = GetParam();
  static Runner runner(ringOfTickets());
  expectOrderedSteps(runner, workers, origin);
}

// 0xFFFFFFF0 wraps within the first steps, 0x7FFFFFF8 changes sign.
INSTANTIATE_TEST_SUITE_P(WorkersAndOrigins, Ring,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(0u, 0xFFFFFFF0u,
                                                          0x7FFFFFF8u)));

TEST(Emit, ObservesEveryPhaseAndIterationInOrder) {
  Runner runner(kRing);
  runner.parameters = {kWeights[0], kWeights[1], kWeights[2]};
  runner.tokens.assign(64, 1);
  std::vector<std::array<uint32_t, 3>> seen;
  runner.observe = [&](uint32_t phase, uint32_t iteration,
                       const BatonStep &step) {
    seen.push_back({phase, iteration, step.rows});
  };
  bool second = false;
  runner.advance = [&](const BatonStep &, BatonStep &next, const float *,
                       int64_t, int64_t) {
    next = second ? BatonStep{} : BatonStep{2, 3, 1, 0};
    second = true;
  };
  runner.run({3, 0, 1, 0}, 1);
  std::vector<std::array<uint32_t, 3>> expected;
  for (uint32_t rows : {3, 2})
    for (std::array<uint32_t, 2> task : {std::array<uint32_t, 2>{0, 0},
                                         {1, 0},
                                         {2, 0},
                                         {1, 1},
                                         {2, 1},
                                         {1, 2},
                                         {2, 2},
                                         {3, 0},
                                         {4, 0},
                                         {5, 0}})
      expected.push_back({task[0], task[1], rows});
  EXPECT_EQ(seen, expected);
}

TEST(Emit, CarriesItsMetadata) {
  Runner runner(kRing);
  EXPECT_NE(runner.metadata.find(R"("vocabulary":3)"), std::string::npos);
  EXPECT_EQ(runner.metadata.back(), '}');
}

//===----------------------------------------------------------------------===//
// Distribution of tiles
//===----------------------------------------------------------------------===//

/// Who runs which tile of a grid of `extent` by 3; an invariant call counts
/// itself.
static std::string visitPlan(llvm::StringRef distribution,
                             const std::string &extent = "r") {
  return R"mlir(
event.program @visit max_rows 8 max_seq 8 max_outputs 1 proof {} attributes {scratch_bytes = 16 : i64} {
  event.storage @v bytes 192
  event.storage @n bytes 192
  event.storage @l bytes 4
  event.buffer @visitor transient : i64 extents affine_map<()[r, p, o] -> (r, 3)> capacity [8, 3] strides [3, 1] in @v
  event.buffer @visits transient : i64 extents affine_map<()[r, p, o] -> (r, 3)> capacity [8, 3] strides [3, 1] in @n
  event.buffer @logits transient : f32 extents affine_map<()[r, p, o] -> (o, 1)> capacity [1, 1] strides [1, 1] in @l
  event.tensor @all shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (()mlir" +
         extent + R"mlir() * 3)>
  event.segment "only" repeat 1 {
    event.phase "visit" grid affine_map<()[r, p, o] -> ()mlir" +
         extent + R"mlir(, 3)> capacity [8, 3] accesses []
      notifies <@all, (m, n)[r, p, o] -> ()> attributes {distribution = #event<distribution )mlir" +
         distribution.str() + R"mlir(>} {
      event.call "test_count_calls" [#event.scratch<8>] invariant
      event.call "test_visit" [#event.address<@visitor, (m, n)[r, p, o] -> (m, n)>, #event.address<@visits, (m, n)[r, p, o] -> (m, n)>, #event.scratch<0>]
    }
    event.phase "stop" grid affine_map<()[r, p, o] -> ()> capacity [] accesses []
      waits [#event.wait<@all, ()[r, p, o] -> () to ()[r, p, o] -> ()>] {
      event.advance @logits
    }
  }
}
)mlir";
}

namespace {

struct Visits {
  std::vector<int64_t> visitors;
  std::vector<int64_t> invariantCalls;
};

} // namespace

static Visits visit(Runner &runner, uint32_t rows, uint32_t workers,
                    uint32_t tileRows = 1) {
  std::fill_n(runner.storage<int64_t>(1), 24, 0);
  runner.advance = [](const BatonStep &, BatonStep &next, const float *,
                      int64_t, int64_t) { next = {}; };
  runner.run({rows, 0, 0, 0}, workers);
  rows = (rows + tileRows - 1) / tileRows;
  for (uint32_t tile = 0; tile < 24; ++tile)
    EXPECT_EQ(runner.storage<int64_t>(1)[tile], tile < rows * 3) << tile;
  Visits visits;
  visits.visitors.assign(runner.storage<int64_t>(0),
                         runner.storage<int64_t>(0) + rows * 3);
  for (uint32_t worker = 0; worker < workers; ++worker)
    visits.invariantCalls.push_back(runner.scratch(worker)[1]);
  return visits;
}

TEST(Distribution, BlockedGivesRunsOfTiles) {
  Runner runner(visitPlan("blocked"));
  EXPECT_EQ(visit(runner, 2, 1).visitors, std::vector<int64_t>(6, 0));
  EXPECT_EQ(visit(runner, 2, 3).visitors,
            (std::vector<int64_t>{0, 0, 1, 1, 2, 2}));
  // [0, 1), [1, 3), [3, 4), [4, 6)
  EXPECT_EQ(visit(runner, 2, 4).visitors,
            (std::vector<int64_t>{0, 1, 1, 2, 3, 3}));
  // Fewer tiles than workers.
  EXPECT_EQ(visit(runner, 1, 4).visitors, (std::vector<int64_t>{1, 2, 3}));
}

TEST(Distribution, BlockedSharesRowsOut) {
  Runner runner(visitPlan("blocked", "r ceildiv 3"));
  // Six tiles of three rows: as if tiles were rows.
  EXPECT_EQ(visit(runner, 6, 3, 3).visitors,
            (std::vector<int64_t>{0, 0, 1, 1, 2, 2}));
  // Three tiles of three rows, three of two: half of the 15 rows end in the
  // third tile. Without a look at the rows, it would be the first worker's.
  EXPECT_EQ(visit(runner, 5, 2, 3).visitors,
            (std::vector<int64_t>{0, 0, 1, 1, 1, 1}));
  // Shares of five rows end nearest to the second and the fourth tile's end.
  EXPECT_EQ(visit(runner, 5, 3, 3).visitors,
            (std::vector<int64_t>{0, 0, 1, 1, 2, 2}));
  // Six tiles of three rows, three of one.
  EXPECT_EQ(visit(runner, 7, 2, 3).visitors,
            (std::vector<int64_t>{0, 0, 0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(visit(runner, 1, 4, 3).visitors, (std::vector<int64_t>{1, 2, 3}));
  for (uint32_t rows = 1; rows <= 8; ++rows)
    for (uint32_t workers = 1; workers <= 9; ++workers)
      visit(runner, rows, workers, 3);
}

TEST(Distribution, CyclicDealsTilesOut) {
  Runner runner(visitPlan("cyclic"));
  EXPECT_EQ(visit(runner, 2, 1).visitors, std::vector<int64_t>(6, 0));
  EXPECT_EQ(visit(runner, 2, 4).visitors,
            (std::vector<int64_t>{0, 1, 2, 3, 0, 1}));
  EXPECT_EQ(visit(runner, 1, 4).visitors, (std::vector<int64_t>{0, 1, 2}));
}

TEST(Distribution, TicketsAreTakenOnceEach) {
  Runner runner(visitPlan("ticket"));
  EXPECT_EQ(visit(runner, 2, 1).visitors, std::vector<int64_t>(6, 0));
  // visit() counts how often each tile is visited. A worker's tiles ascend, so
  // that its invariant calls are as many as its first coordinates.
  for (uint32_t rows = 1; rows <= 8; ++rows)
    for (uint32_t workers = 1; workers <= 9; ++workers) {
      Visits visits = visit(runner, rows, workers);
      for (uint32_t worker = 0; worker < workers; ++worker) {
        std::set<int64_t> coordinates;
        for (uint32_t tile = 0; tile < rows * 3; ++tile)
          if (visits.visitors[tile] == worker)
            coordinates.insert(tile / 3);
        EXPECT_EQ(visits.invariantCalls[worker], int64_t(coordinates.size()));
      }
    }
}

TEST(Distribution, InvariantCallsRunOncePerFirstCoordinate) {
  Runner blocked(visitPlan("blocked"));
  EXPECT_EQ(visit(blocked, 4, 1).invariantCalls, std::vector<int64_t>{4});
  // Tiles 0-1, 2-3 and 4-5 of rows of three.
  EXPECT_EQ(visit(blocked, 2, 3).invariantCalls,
            (std::vector<int64_t>{1, 2, 1}));
  EXPECT_EQ(visit(blocked, 1, 4).invariantCalls,
            (std::vector<int64_t>{0, 1, 1, 1}));
  Runner cyclic(visitPlan("cyclic"));
  // Tiles 0, 2, 4 and 1, 3, 5: first coordinates 0, 0, 1 and 0, 1, 1.
  EXPECT_EQ(visit(cyclic, 2, 2).invariantCalls, (std::vector<int64_t>{2, 2}));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static constexpr const char *kOperands = R"mlir(
event.program @operands max_rows 8 max_seq 8 max_outputs 1 proof {} attributes {scratch_bytes = 16 : i64} {
  event.storage @s bytes 1024
  event.buffer @x transient : f64 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @s
  event.buffer @shifted transient : i16 extents affine_map<()[r, p, o] -> (r, 8)> capacity [2, 8] strides [10, 1] in @s {offset = 6}
  event.buffer @logits transient : f32 extents affine_map<()[r, p, o] -> (o, 1)> capacity [1, 1] strides [1, 1] in @s
  event.segment "only" repeat 1 {
    event.phase "every kind/of operand" grid affine_map<()[r, p, o] -> ()> capacity [] accesses [] {
      event.call "test_operands" [#event.address<@x, ()[r, p, o] -> (0, 0)>,
        #event.count<()[r, p, o] -> (48, r * 5 - 3, r + 100)>, -7 : i32, 4294967296 : i64, 0.375 : f32,
        #event.null, #event.scratch<1>, #event.address<@shifted, ()[r, p, o] -> (r - 3, 2)>]
      event.advance @logits
    }
  }
}
)mlir";

TEST(Operands, EveryKindArrives) {
  Runner runner(kOperands);
  std::vector<double> values;
  runner.advance = [&](const BatonStep &, BatonStep &next, const float *,
                       int64_t, int64_t) {
    values.assign(runner.storage<double>(0), runner.storage<double>(0) + 7);
    next = {};
  };
  runner.run({4, 0, 0, 0}, 1);
  // Byte 1 of the worker's number is 0; the address is (6 + 1 * 10 + 2) * 2.
  EXPECT_EQ(values,
            (std::vector<double>{17, -7, 4294967296.0, 0.375, 1, 0, 36}));
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

TEST(Module, IsReproducible) {
  auto first = emitText(kRing, testOptions());
  // Other addresses, other hash orders.
  std::vector<std::unique_ptr<char[]>> noise;
  for (int i = 1; i < 100; ++i)
    noise.push_back(std::make_unique<char[]>(i * 24));
  auto second = emitText(kRing, testOptions());
  ASSERT_TRUE(bool(first) && bool(second));
  EXPECT_TRUE(*first == *second);
}

static size_t occurrences(llvm::StringRef text, llvm::StringRef what) {
  return text.count(what);
}

/// The text of the function `name` in a module's text; empty if there is none.
static llvm::StringRef functionOf(llvm::StringRef module,
                                  llvm::StringRef name) {
  size_t at = module.find(("@" + name + "(").str());
  while (at != llvm::StringRef::npos) {
    size_t line = module.rfind('\n', at) + 1;
    if (module.substr(line).starts_with("define"))
      return module.slice(line, module.find("\n}", at));
    at = module.find(("@" + name + "(").str(), at + 1);
  }
  return {};
}

TEST(Module, PhasesAreFunctionsAndBodiesAreInlined) {
  std::string text = llvm::cantFail(emitAssembly(kRing, testOptions()));
  for (const char *phase :
       {"load", "forward", "backward", "copy", "head", "advance"})
    EXPECT_FALSE(functionOf(text, std::string("baton_phase_") + phase).empty())
        << phase;
  // But for the one that two phases call with the same constants: its
  // definition and two calls.
  EXPECT_EQ(occurrences(text, "@baton_task_"), 3u);
  EXPECT_EQ(occurrences(text, ".called("), 3u);
  // Of the library, waiting for long and prefetching stay functions.
  EXPECT_EQ(occurrences(text, "define internal"), 9u);
  EXPECT_FALSE(functionOf(text, "baton_wait_slow").empty());
  EXPECT_FALSE(functionOf(text, "baton_prefetch").empty());
}

TEST(Module, StacksStayRolled) {
  std::string text = llvm::cantFail(emitAssembly(kRing, testOptions()));
  llvm::StringRef program = functionOf(text, "baton_program");
  for (const char *phase : {"load", "forward", "backward", "advance"})
    EXPECT_EQ(occurrences(program, std::string("@baton_phase_") + phase + "("),
              1u)
        << phase;
}

TEST(Module, OnlyPhasesThatWaitAndReadWeightsPrefetch) {
  std::string text = llvm::cantFail(emitAssembly(kRing, testOptions()));
  llvm::StringRef call = "@baton_prefetch(";
  EXPECT_EQ(occurrences(functionOf(text, "baton_phase_forward"), call), 1u);
  // That call and the definition.
  EXPECT_EQ(occurrences(text, call), 2u);
}

TEST(Module, ThreadSanitizerKeepsAtomics) {
  TargetOptions options = testOptions();
  options.sanitize = "thread";
  std::string text = llvm::cantFail(emitAssembly(kRing, options));
  llvm::StringRef forward = functionOf(text, "baton_phase_forward");
  // 2 is acquire, 3 is release in LLVM's interface to the sanitizer.
  EXPECT_TRUE(forward.contains("@__tsan_atomic32_load"));
  EXPECT_TRUE(forward.contains("@__tsan_atomic32_fetch_add"));
  EXPECT_TRUE(forward.contains("@__tsan_write8"));
  EXPECT_TRUE(forward.contains(", i32 2)"));
  EXPECT_TRUE(forward.contains(", i32 1, i32 3)"));
  EXPECT_FALSE(forward.contains("atomicrmw"));
}

TEST(Module, AddressSanitizerChecksAccesses) {
  TargetOptions options = testOptions();
  options.sanitize = "address";
  std::string text = llvm::cantFail(emitAssembly(kRing, options));
  EXPECT_GT(occurrences(text, "@__asan_report_store8"), 0u);
}
