//===- JudgeTest.cpp - plans with one fault each, and without ------------===//

#include "tools/check-plan/judge.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace baton::check;
using nlohmann::json;

namespace {

/// An array, which braces around one value alone would not be.
json list(json::initializer_list_t items) { return json::array(items); }
struct List {
  List(json::initializer_list_t items) : items(json::array(items)) {}
  List(json items) : items(std::move(items)) {}
  json items;
};

json transient(const std::string &name, int64_t columns = 8) {
  return {{"name", name},
          {"kind", "transient"},
          {"element_bytes", 4},
          {"extents", {"rows", columns}},
          {"capacity", {64, columns}}};
}

json persistent(const std::string &name, json carry) {
  return {{"name", name},         {"kind", "persistent"},  {"element_bytes", 4},
          {"extents", list({8})}, {"capacity", list({8})}, {"carry", carry}};
}

json access(bool write, const std::string &buffer, List low, List high) {
  return {{"write", write},
          {"buffer", buffer},
          {"low", low.items},
          {"high", high.items}};
}
/// A tile of four rows.
json rows(bool write, const std::string &buffer, int64_t columns = 8) {
  return access(write, buffer, {"d0 * 4", 0}, {"d0 * 4 + 4", columns});
}
json whole(bool write, const std::string &buffer) {
  return access(write, buffer, {0}, {8});
}

json wait(const std::string &event, List low, List high, int distance = 0) {
  return {{"event", event},
          {"distance", distance},
          {"low", low.items},
          {"high", high.items}};
}

/// Over tiles of four rows, which notifies an event of its name.
json phase(const std::string &name, List accesses, List waits = json::array()) {
  return {{"name", name},
          {"grid", list({"rows ceildiv 4"})},
          {"row_tiles", {{"rows", "rows"}, {"size", 4}}},
          {"accesses", accesses.items},
          {"waits", waits.items},
          {"notify", {{"event", name}, {"index", list({"d0"})}}}};
}
/// Of one task.
json single(const std::string &name, List accesses, List waits = json::array(),
            json body = json::object()) {
  return {{"name", name},
          {"grid", list({1})},
          {"accesses", accesses.items},
          {"waits", waits.items},
          {"notify", {{"event", name}, {"index", json::array()}}},
          {"body", std::move(body)}};
}

json event(const std::string &name) {
  return {{"name", name}, {"shape", list({"rows ceildiv 4"})}, {"count", 1}};
}
json single_event(const std::string &name) {
  return {{"name", name},
          {"shape", json::array()},
          {"count", 1},
          {"scope", "system"}};
}

json segment(List phases, int64_t repeat = 1) {
  return {{"name", "segment"}, {"repeat", repeat}, {"phases", phases.items}};
}

json program(List buffers, List events, List segments) {
  return {{"name", "main"},
          {"max_rows", 64},
          {"max_seq", 64},
          {"max_outputs", 4},
          {"storages", json::object()},
          {"buffers", buffers.items},
          {"events", events.items},
          {"segments", segments.items}};
}
json plan(json program) {
  return {{"format", 1}, {"programs", list({std::move(program)})}};
}

/// x is written, y made of it, and z of y, tile by tile.
json chain() {
  return plan(program({transient("x"), transient("y"), transient("z")},
                      {event("a"), event("b"), event("c")},
                      {segment({phase("a", {rows(true, "x")}),
                                phase("b", {rows(false, "x"), rows(true, "y")},
                                      {wait("a", {"d0"}, {"d0 + 1"})}),
                                phase("c", {rows(false, "y"), rows(true, "z")},
                                      {wait("b", {"d0"}, {"d0 + 1"})})})}));
}
json &phase_of(json &plan, size_t phase, size_t segment = 0) {
  return plan["programs"][0]["segments"][segment]["phases"][phase];
}
json &buffer_of(json &plan, size_t buffer) {
  return plan["programs"][0]["buffers"][buffer];
}
/// Gives buffers one storage, in which they begin at one place.
void share(json &plan, std::initializer_list<size_t> buffers) {
  plan["programs"][0]["storages"]["memory"] = 64 * 8 * 4;
  for (size_t buffer : buffers)
    buffer_of(plan, buffer)["storage"] = "memory";
}

const std::vector<uint32_t> usual = {1, 2, 3, 8, 0};

/// Kind and message of the first fault; nothing where there is none.
std::string judged(const json &source, const Symbols &symbols = {18, 5, 1},
                   const std::vector<uint32_t> &workers = usual) {
  const Verdict verdict = judge(parse_plan(source), {symbols, workers});
  if (verdict.accepted())
    return "";
  return verdict.findings[0].kind + ": " + verdict.findings[0].message;
}

std::string error_of(const json &source) {
  try {
    parse_plan(source);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

#define EXPECT_ACCEPTED(...) EXPECT_EQ(judged(__VA_ARGS__), "")
/// A fault of a kind, whose message has a text.
#define EXPECT_FAULT(text, ...)                                                \
  EXPECT_NE(judged(__VA_ARGS__).find(text), std::string::npos)                 \
      << judged(__VA_ARGS__)

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

TEST(JudgeTest, AcceptsAChain) {
  EXPECT_ACCEPTED(chain());
  EXPECT_ACCEPTED(chain(), {1, 0, 0});
  EXPECT_ACCEPTED(chain(), {64, 0, 1});
}

// Whoever takes a task: events order it, or nothing does.
TEST(JudgeTest, LetsWorkersTakeTasks) {
  json taken = chain();
  for (size_t i : {0, 1, 2})
    phase_of(taken, i)["distribution"] = "ticket";
  EXPECT_ACCEPTED(taken);
  EXPECT_ACCEPTED(taken, {64, 0, 1});
  phase_of(taken, 1)["waits"] = json::array();
  EXPECT_FAULT("reads @x", taken, {18, 5, 1}, {2});
}

TEST(JudgeTest, CountsNotifications) {
  json wrong = chain();
  wrong["programs"][0]["events"][1]["count"] = 2;
  EXPECT_FAULT("count: 18 rows, past 5, outputs 1: word @b[0] gets 1 "
               "notifications of phase 'b' in iteration 0, its event counts 2",
               wrong);
  // One word for two tiles.
  json two = chain();
  two["programs"][0]["events"][1]["shape"] = list({"rows ceildiv 8"});
  two["programs"][0]["events"][1]["count"] = 2;
  phase_of(two, 1)["notify"]["index"] = list({"d0 floordiv 2"});
  phase_of(two, 2)["waits"][0] =
      wait("b", {"d0 floordiv 2"}, {"d0 floordiv 2 + 1"});
  EXPECT_ACCEPTED(two, {16, 0, 1});
  EXPECT_FAULT("count", two, {17, 0, 1});
}

TEST(JudgeTest, SeesWordsOutsideOfTheirShape) {
  json wrong = chain();
  wrong["programs"][0]["events"][1]["shape"] = list({"rows floordiv 4"});
  EXPECT_ACCEPTED(wrong, {16, 0, 1});
  EXPECT_FAULT("phase 'b' [4] notifies @b[4], outside of its shape [4]", wrong);
}

TEST(JudgeTest, SeesADeadlock) {
  // Phase b waits for c, which waits for b.
  json wrong = chain();
  phase_of(wrong, 1)["waits"].push_back(wait("c", {"d0"}, {"d0 + 1"}));
  EXPECT_FAULT(
      "deadlock: 18 rows, past 5, outputs 1, 1 worker: @main phase 'b' "
      "[0] (worker 0) waits for ever for word @c[0], which has 0 "
      "notifications",
      wrong);
  phase_of(wrong, 1)["waits"][1]["distance"] = 1;
  EXPECT_ACCEPTED(wrong);
}

TEST(JudgeTest, SeesADeadlockOfSomeWorkersOnly) {
  // Each tile of b waits for the next tile of a list that one worker runs in
  // order: with a worker for each task nobody is in another's way.
  json plan = chain();
  phase_of(plan, 2)["waits"].push_back(wait("c", {"d0 + 1"}, {"d0 + 2"}));
  EXPECT_FAULT("deadlock", plan, {18, 0, 1}, {1});
  EXPECT_ACCEPTED(plan, {18, 0, 1}, {0});
}

TEST(JudgeTest, SeesNotificationsOfTheNextIteration) {
  // c waits for all tiles of b; a worker that does not run it may be a tile
  // ahead, and another one of an iteration behind.
  auto stack = [](bool ordered) {
    json waits = json::array();
    if (ordered)
      waits.push_back(wait("b", {0}, {1}, 1));
    json b = phase("b", json::array(), waits);
    b["notify"]["index"] = list({0});
    json c = single("c", json::array(), {wait("b", {0}, {1})});
    json all = {
        {"name", "b"}, {"shape", list({1})}, {"count", "rows ceildiv 4"}};
    return plan(
        program(json::array(), {all, single_event("c")}, {segment({b, c}, 2)}));
  };
  EXPECT_FAULT("may notify @b[0] before all of the iteration before have",
               stack(false), {18, 0, 1}, {2});
  EXPECT_ACCEPTED(stack(true));
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

TEST(JudgeTest, SeesARace) {
  json wrong = chain();
  phase_of(wrong, 1)["waits"] = json::array();
  EXPECT_ACCEPTED(wrong, {18, 0, 1}, {1});
  EXPECT_FAULT(
      "race: 18 rows, past 0, outputs 1, a worker for each task: @main "
      "phase 'b' [0] reads @x[0, 0], and @main phase 'a' [0] writes "
      "@x[0, 0]: nothing orders them",
      wrong, {18, 0, 1}, {0});
  // Tile 0 is waited for, whoever is right.
  wrong = chain();
  phase_of(wrong, 1)["waits"][0] = wait("a", {0}, {1});
  EXPECT_FAULT("race", wrong, {18, 0, 1}, {0});
  EXPECT_ACCEPTED(wrong, {4, 0, 1}, {0});
}

TEST(JudgeTest, SeesARaceOfOneElement) {
  // The last column is another tile's.
  json plan = chain();
  phase_of(plan, 0)["accesses"][0] =
      access(true, "x", {"d0 * 4", 0}, {"d0 * 4 + 5", 8});
  EXPECT_FAULT("race", plan, {18, 0, 1}, {0});
  EXPECT_ACCEPTED(plan, {4, 0, 1}, {0});
}

TEST(JudgeTest, SeesARaceInMemoryThatIsUsedAgain) {
  // z lies where x was: b of a tile has to be over.
  json plan = chain();
  share(plan, {0, 2});
  EXPECT_ACCEPTED(plan);
  phase_of(plan, 2)["waits"] = json::array();
  phase_of(plan, 2)["accesses"].erase(0);
  EXPECT_FAULT("phase 'c' [0] writes @z[0, 0], and @main phase 'b' [0] reads "
               "@x[0, 0]: nothing orders them",
               plan, {18, 0, 1}, {0});
}

TEST(JudgeTest, ComparesBytesNotIndices) {
  // Rows of z are half as long, and begin in other rows of x.
  json plan = chain();
  share(plan, {0, 2});
  buffer_of(plan, 2) = transient("z", 4);
  buffer_of(plan, 2)["storage"] = "memory";
  phase_of(plan, 2)["accesses"][1] = rows(true, "z", 4);
  EXPECT_FAULT("race", plan, {18, 0, 1}, {0});
  // With equal strides only equal rows meet.
  buffer_of(plan, 2)["strides"] = {8, 1};
  EXPECT_ACCEPTED(plan);
}

TEST(JudgeTest, SeesATaskThatWritesOverWhatItReads) {
  json plan = chain();
  share(plan, {0, 1});
  EXPECT_FAULT(
      "phase 'b' [0] (worker 0) writes @y[0, 0], and reads @x[0, 0] in "
      "the same bytes",
      plan);
  // Its own buffer it may change in place.
  plan = chain();
  phase_of(plan, 1)["accesses"].push_back(rows(true, "x"));
  EXPECT_ACCEPTED(plan);
}

TEST(JudgeTest, SeesTasksThatTurnAround) {
  // A list on one worker orders them, against the plan's meaning.
  json plan = chain();
  for (size_t i : {0, 1, 2})
    phase_of(plan, i)["waits"] = json::array();
  auto task = [](const char *name) {
    return json{{"phase", name}, {"iteration", 0}, {"coordinates", {0}}};
  };
  json &schedules = plan["programs"][0]["schedules"];
  schedules = list({{{"rows", 4},
                     {"past", 0},
                     {"outputs", 1},
                     {"workers", list({{task("a"), task("b"), task("c")}})}}});
  EXPECT_ACCEPTED(plan, {4, 0, 1});
  std::swap(schedules[0]["workers"][0][0], schedules[0]["workers"][0][1]);
  EXPECT_FAULT("order", plan, {4, 0, 1});
  schedules[0]["workers"][0].erase(2);
  EXPECT_FAULT("no worker of the schedule runs phase 'c' [0]", plan, {4, 0, 1});
}

// A step that only adds to gradients has no schedule here.
TEST(JudgeTest, RunsOfAScheduleTheStepThatItNames) {
  json plan = chain();
  for (size_t i : {0, 1, 2})
    phase_of(plan, i)["waits"] = json::array();
  plan["training"] = true;
  EXPECT_FAULT("race", plan, {4, 0, 1});
  auto task = [](const char *name) {
    return json{{"phase", name}, {"iteration", 0}, {"coordinates", {0}}};
  };
  plan["programs"][0]["schedules"] =
      list({{{"rows", 4},
             {"past", 0},
             {"outputs", 1},
             {"workers", list({{task("a"), task("b"), task("c")}})}}});
  EXPECT_ACCEPTED(plan, {4, 0, 1});
  // Nor have ranks rows of their own, which the schedule does not name.
  plan["programs"][0]["mesh"] = {
      {"names", list({"dp"})}, {"sizes", list({2})}, {"batch", list({"dp"})}};
  EXPECT_ACCEPTED(plan, {4, 0, 1});
}

TEST(JudgeTest, SeesAScheduleThatBlocks) {
  json plan = chain();
  auto task = [](const char *name) {
    return json{{"phase", name}, {"iteration", 0}, {"coordinates", {0}}};
  };
  plan["programs"][0]["schedules"] =
      list({{{"rows", 4},
             {"past", 0},
             {"outputs", 1},
             {"workers", {{task("c"), task("b")}, list({task("a")})}}}});
  EXPECT_FAULT("deadlock", plan, {4, 0, 1});
}

TEST(JudgeTest, SeesTilesThatNobodyRuns) {
  json plan = chain();
  phase_of(plan, 1)["row_tiles"] = {{"rows", "rows - 4"}, {"size", 4}};
  EXPECT_FAULT("no worker of 1 runs phase 'b' [4]", plan);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

TEST(JudgeTest, SeesWhatNobodyWrote) {
  json plan = chain();
  phase_of(plan, 0)["accesses"][0] = rows(true, "x", 7);
  EXPECT_FAULT(
      "value: 18 rows, past 5, outputs 1, 1 worker: @main phase 'b' [0] "
      "(worker 0) reads @x[0, 7], which nobody has written in this step",
      plan);
  phase_of(plan, 1)["accesses"][0] = rows(false, "x", 7);
  EXPECT_ACCEPTED(plan);
}

TEST(JudgeTest, SeesWhatAnotherBufferOverwrote) {
  json plan = chain();
  share(plan, {0, 1});
  phase_of(plan, 1)["accesses"].erase(0);
  EXPECT_ACCEPTED(plan);
  phase_of(plan, 2)["accesses"].push_back(rows(false, "x"));
  EXPECT_FAULT("phase 'c' [0] (worker 0) reads @x[0, 0], which @main phase 'b' "
               "[0] (worker 0) has overwritten: it writes @y[0, 0]",
               plan);
}

TEST(JudgeTest, TakesWritesThatNeedNotHappen) {
  json plan = chain();
  phase_of(plan, 0)["accesses"][0]["may"] = true;
  EXPECT_FAULT("reads @x[0, 0], which nobody has written", plan);
  // Beside one that does it is one more to be ordered.
  phase_of(plan, 0)["accesses"].push_back(rows(true, "x"));
  EXPECT_ACCEPTED(plan);
  phase_of(plan, 1)["waits"] = json::array();
  EXPECT_FAULT("race", plan, {18, 0, 1}, {0});
}

/// One task writes where each of three segments of the rows begins; others
/// write and read the rows of a segment.
json segments() {
  json bounds = transient("bounds");
  bounds["extents"] = list({4});
  bounds["capacity"] = list({4});
  auto by_segment = [](const std::string &name, List accesses, List waits) {
    json phase = ::phase(name, std::move(accesses), std::move(waits));
    phase["accesses"].push_back(access(false, "bounds", {0}, {4}));
    phase["grid"] = list({3});
    phase.erase("row_tiles");
    phase["entries"] = list({{{"table", "bounds"}, {"place", "d0"}},
                             {{"table", "bounds"}, {"place", "d0 + 1"}}});
    return phase;
  };
  auto of_segment = [](bool write, const std::string &buffer) {
    return access(write, buffer, {"d1", 0}, {"d2", 8});
  };
  json events = list({single_event("route"), event("up"), event("down")});
  for (size_t i : {1, 2})
    events[i]["shape"] = list({3});
  json whole = program(
      {bounds, transient("x"), transient("y")}, events,
      {segment(
          {single("route", {access(true, "bounds", {0}, {4})}),
           by_segment("up", {of_segment(true, "x")}, {wait("route", {}, {})}),
           by_segment("down", {of_segment(false, "x"), of_segment(true, "y")},
                      {wait("up", {"d0"}, {"d0 + 1"})})})});
  whole["tables"] = list({{{"buffer", "bounds"},
                           {"low", 0},
                           {"high", "rows + 1"},
                           {"property", "partition"}}});
  return plan(whole);
}

TEST(JudgeTest, KnowsTables) {
  EXPECT_ACCEPTED(segments());
  EXPECT_ACCEPTED(segments(), {1, 0, 0});
}

TEST(JudgeTest, DrawsTablesAsTheirPropertyAllows) {
  json overlapping = segments();
  overlapping["programs"][0]["tables"][0]["property"] = "any";
  // Each step has tables of its own.
  size_t faults = 0;
  for (int64_t rows = 1; rows <= 64; ++rows)
    faults += judged(overlapping, {rows, 0, 0}) != "";
  EXPECT_GT(faults, 4u);
  json unwaited = segments();
  unwaited["programs"][0]["segments"][0]["phases"][1]["waits"] = json::array();
  EXPECT_FAULT("reads @bounds[", unwaited);
  json outside = segments();
  outside["programs"][0]["segments"][0]["phases"][2]["entries"][1]["place"] =
      "d0 + 2";
  EXPECT_FAULT("has an entry @bounds[4], which is not there", outside);
  json unstated = segments();
  json &accesses =
      unstated["programs"][0]["segments"][0]["phases"][2]["accesses"];
  accesses.back()["high"] = list({3});
  EXPECT_FAULT("has an entry @bounds[3], of which it states no read", unstated);
  // A box that takes entries could lie anywhere.
  accesses.back()["low"] = list({"d1"});
  EXPECT_FAULT("has an entry @bounds[0], of which it states no read", unstated);
}

TEST(JudgeTest, CarriesValues) {
  auto with = [](json carry) {
    return plan(
        program({persistent("p", carry), transient("x")}, {event("a")},
                {segment({phase("a", {whole(false, "p"), rows(true, "x")})})}));
  };
  EXPECT_FAULT("reads @p[0], which nobody has written in this step",
               with(nullptr));
  EXPECT_ACCEPTED(with("kept"));
  EXPECT_ACCEPTED(with("renewed"), {18, 0, 0});
  EXPECT_FAULT("@p[0] is not renewed by a step that has outputs",
               with("renewed"), {18, 0, 1});
  EXPECT_ACCEPTED(with("shared"), {18, 0, 1});
  EXPECT_NE(error_of(with("for ever")), "");
}

TEST(JudgeTest, KeepsValuesThatNobodyMayWrite) {
  auto with = [](json carry) {
    return plan(program({persistent("p", carry)}, {single_event("a")},
                        {segment({single("a", {whole(true, "p")})})}));
  };
  EXPECT_ACCEPTED(with(nullptr));
  EXPECT_ACCEPTED(with("shared"));
  EXPECT_FAULT("writes @p[0], whose values are kept from step to step",
               with("kept"));
}

TEST(JudgeTest, RenewsEveryElement) {
  auto with = [](int64_t end) {
    return plan(
        program({persistent("p", "renewed")}, {single_event("a")},
                {segment({single("a", {whole(false, "p"),
                                       access(true, "p", {0}, {end})})})}));
  };
  EXPECT_ACCEPTED(with(8));
  EXPECT_FAULT("@p[7] is not renewed", with(7));
}

TEST(JudgeTest, TakesWhatTheRuntimeWritesAtTheBorder) {
  auto with = [](int64_t end) {
    return plan(program(
        {persistent("p", nullptr), persistent("logits", nullptr)},
        {single_event("a"), single_event("last")},
        {segment(
            {single("a", {whole(false, "p"), whole(true, "logits")}),
             single("last",
                    {whole(false, "logits"), access(true, "p", {0}, {end})},
                    {wait("a", json::array(), json::array())},
                    {{"advance", "logits"}})})}));
  };
  EXPECT_ACCEPTED(with(8));
  EXPECT_FAULT("reads @p[7], which nobody has written", with(7));
  json unstated = with(8);
  phase_of(unstated, 1)["accesses"][0] = access(false, "logits", {0}, {7});
  EXPECT_FAULT("hands over @logits[7], which no access of it states", unstated);
}

TEST(JudgeTest, AddsToWhatAStepBegins) {
  // The first task of a step adds to nothing; without a flag, or of another
  // buffer, it would.
  json read = whole(false, "p");
  read["if"] = "flag";
  json sum = plan(program(
      {persistent("p", nullptr), persistent("flag", "kept")},
      {single_event("a")}, {segment({single("a", {read, whole(true, "p")})})}));
  EXPECT_ACCEPTED(sum);
  json &first = phase_of(sum, 0)["accesses"][0];
  first["if"] = nullptr;
  EXPECT_FAULT("reads @p[0], which nobody has written", sum);
  first["if"] = "flag";
  buffer_of(sum, 0) = {{"name", "p"},
                       {"kind", "transient"},
                       {"element_bytes", 4},
                       {"extents", list({8})},
                       {"capacity", list({8})}};
  EXPECT_FAULT("reads @p[0], which nobody has written", sum);
}

TEST(JudgeTest, KeepsRowsOfStates) {
  auto with = [](const char *begin, const char *end) {
    json state = {{"name", "k"},         {"kind", "state"},
                  {"element_bytes", 4},  {"extents", {"past + rows", 8}},
                  {"capacity", {64, 8}}, {"strides", {8, 4}},
                  {"interleave", 4},     {"storage", "k_memory"}};
    json result = plan(program(
        {state}, {single_event("a"), single_event("b")},
        {segment({single("a", {access(true, "k", {begin, 0}, {end, 8})}),
                  single("b", {access(false, "k", {0, 0}, {"past + rows", 8})},
                         {wait("a", json::array(), json::array())})})}));
    result["programs"][0]["storages"]["k_memory"] = {{"bytes", 64 * 8 * 4},
                                                     {"scope", "rank"}};
    return result;
  };
  EXPECT_ACCEPTED(with("past", "past + rows"));
  EXPECT_FAULT("reads @k[22, 0], which nobody has written",
               with("past", "past + rows - 1"));
  json last = with("past", "past + rows - 1");
  phase_of(last, 1)["accesses"] = json::array();
  EXPECT_FAULT("@k[22, 0], a row that a state gains, is not written", last);
}

TEST(JudgeTest, SeesElementsInTheSameBytes) {
  json plan = chain();
  buffer_of(plan, 0)["strides"] = {7, 1};
  EXPECT_FAULT("two elements of @x share bytes", plan);
  EXPECT_ACCEPTED(plan, {1, 0, 1});
  // With a stride of two between columns, runs of four rows meet.
  buffer_of(plan, 0)["strides"] = {8, 2};
  buffer_of(plan, 0)["interleave"] = 4;
  EXPECT_FAULT("two elements of @x share bytes", plan);
  buffer_of(plan, 0)["strides"] = {8, 4};
  EXPECT_ACCEPTED(plan);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Each layer writes a copy of x, and another segment reads them.
json layers(int64_t copies, bool reverse) {
  json x = transient("x");
  x["layers"] = copies;
  x["layer_stride"] = 64 * 8;
  json back = segment(
      {phase("b", {rows(false, "x")}, {wait("a", {"d0"}, {"d0 + 1"})})}, 3);
  back["reverse"] = reverse;
  return plan(program({x}, {event("a"), event("b")},
                      {segment({phase("a", {rows(true, "x")},
                                      {wait("a", {"d0"}, {"d0 + 1"}, 1)})},
                               3),
                       back}));
}

TEST(JudgeTest, HasACopyForEachLayer) {
  EXPECT_ACCEPTED(layers(3, false));
  EXPECT_ACCEPTED(layers(3, true));
  EXPECT_FAULT("touches copy 2 of @x, which has 2", layers(2, false));
  json close = layers(3, false);
  buffer_of(close, 0)["layer_stride"] = 63 * 8;
  EXPECT_ACCEPTED(close, {63, 0, 1});
  EXPECT_FAULT("two elements of @x share bytes", close, {64, 0, 1});
}

TEST(JudgeTest, SeesAnotherLayersValueInARing) {
  // A ring of two has the last two of three layers; who goes back finds them,
  // and not the first.
  auto ring = [](int64_t copies) {
    json result = layers(copies, true);
    json &x = buffer_of(result, 0);
    x["ring"] = true;
    x["kind"] = "persistent";
    return result;
  };
  EXPECT_ACCEPTED(ring(3));
  EXPECT_FAULT(
      "phase 'b' [0] in iteration 2 (worker 0) reads @x[0, 0] of copy 0",
      ring(2), {18, 0, 1}, {1});
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST(JudgeTest, SeesBytesOutsideOfAStorage) {
  json plan = chain();
  share(plan, {0});
  EXPECT_ACCEPTED(plan, {64, 0, 1});
  buffer_of(plan, 0)["offset"] = 8;
  EXPECT_ACCEPTED(plan, {60, 0, 1});
  EXPECT_FAULT("bounds: 64 rows, past 0, outputs 1: @x[60, 0] to [64, 8] ends "
               "2080 bytes into its storage @memory, which has 2048",
               plan, {64, 0, 1});
}

TEST(JudgeTest, SeesExtentsBeyondACapacity) {
  json plan = chain();
  buffer_of(plan, 0)["extents"] = {"past + rows", 8};
  EXPECT_ACCEPTED(plan);
  buffer_of(plan, 0)["extents"] = {"past * 4 + rows * 3", 8};
  EXPECT_FAULT("buffer @x has [74, 8], more than its capacity [64, 8]", plan);
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// Two ranks add up ten numbers, each five or fewer of them.
json all_reduce(int64_t part, int64_t read) {
  json sent = persistent("g", "kept"), received = transient("r", part);
  sent["extents"] = sent["capacity"] = list({10});
  received["extents"] = received["capacity"] = {2, part};
  json transfer = {
      {"send", "g"}, {"receive", "r"}, {"elements", 10}, {"part", part}};
  json exchange = {{"kind", "all_to_all"},
                   {"axes", list({"dp"})},
                   {"transfers", list({transfer})}};
  json result = plan(program(
      {sent, received, persistent("s", nullptr)},
      {single_event("send"), single_event("sum")},
      {segment(
          {single("send",
                  {access(false, "g", {0}, {10}),
                   access(true, "r", {0, 0}, {2, part})},
                  json::array(), {{"exchange", exchange}}),
           single("sum",
                  {access(false, "r", {0, 0}, {2, read}), whole(true, "s")},
                  {wait("send", json::array(), json::array())})})}));
  result["programs"][0]["mesh"] = {
      {"names", list({"dp"})}, {"sizes", list({2})}, {"batch", list({"dp"})}};
  return result;
}

TEST(JudgeTest, DeliversWhatAnExchangeHas) {
  EXPECT_ACCEPTED(all_reduce(5, 5));
  EXPECT_ACCEPTED(all_reduce(8, 2));
  // The second rank gets two elements of each, and six of padding.
  EXPECT_FAULT("rank 1 @main phase 'sum' [0] (worker 0) reads @r[0, 2], which "
               "nobody has written in this step",
               all_reduce(8, 8));
}

TEST(JudgeTest, ComparesAnExchangeWithItsStatement) {
  json plan = all_reduce(5, 5);
  phase_of(plan, 0)["accesses"][0] = access(false, "g", {0}, {9});
  EXPECT_FAULT("sends @g[9], which no access of it states", plan);
  plan = all_reduce(5, 5);
  phase_of(plan, 0)["accesses"][1] = access(true, "r", {0, 0}, {1, 5});
  EXPECT_FAULT("receives @r[1, 0], which no access of it states", plan);
  plan = all_reduce(5, 5);
  phase_of(plan, 0)["body"]["exchange"]["transfers"][0]["part"] = 4;
  EXPECT_FAULT("of which 2 ranks have not all", plan);
  plan = all_reduce(5, 5);
  buffer_of(plan, 1)["strides"] = {6, 1};
  EXPECT_FAULT("exchanges @r, whose elements do not lie behind one another",
               plan);
}

/// Two ranks run programs of their own.
json two_places(json first, json second) {
  first["name"] = "first";
  second["name"] = "second";
  for (json *program : {&first, &second})
    (*program)["mesh"] = {{"names", list({"pp"})},
                          {"sizes", list({2})},
                          {"batch", json::array()}};
  return {{"format", 1},
          {"programs", {first, second}},
          {"step",
           {{"axis", "pp"},
            {"places", {list({{{"program", 0}}}), list({{{"program", 1}}})}}}}};
}

json exchanging(int64_t elements) {
  json buffer = persistent("g", "kept"), received = persistent("r", nullptr);
  json transfer = {
      {"send", "g"}, {"receive", "r"}, {"elements", elements}, {"part", 4}};
  json exchange = {{"kind", "all_gather"},
                   {"axes", list({"pp"})},
                   {"transfers", list({transfer})}};
  return program({buffer, received}, {single_event("send")},
                 {segment({single("send", {whole(false, "g"), whole(true, "r")},
                                  json::array(), {{"exchange", exchange}})})});
}

TEST(JudgeTest, ComparesExchangesOfRanks) {
  EXPECT_ACCEPTED(two_places(exchanging(8), exchanging(8)));
  EXPECT_FAULT("rank 0 @first phase 'send' [0] (worker 0) meets rank 1 @second "
               "phase 'send' [0] (worker 0), which exchanges something else",
               two_places(exchanging(8), exchanging(7)), {18, 0, 1}, {1});
}

TEST(JudgeTest, KnowsWhatOtherRanksSee) {
  json program = exchanging(8);
  program["events"][0]["scope"] = "device";
  EXPECT_FAULT("scope: 18 rows, past 5, outputs 1: phase 'send' exchanges and "
               "notifies @send, whose scope is device",
               two_places(program, program));
}

TEST(JudgeTest, SeesARankThatDoesNotCome) {
  json other = program(json::array(), {single_event("a")},
                       {segment({single("a", json::array())})});
  EXPECT_FAULT("waits for ever for ranks that do not come",
               two_places(exchanging(8), other));
}

TEST(JudgeTest, SeesExchangesWithoutOrder) {
  // One worker of each rank runs both, unless they are dealt out otherwise.
  json program = exchanging(8);
  json &phases = program["segments"][0]["phases"];
  json second = phases[0];
  second["name"] = "again";
  second["notify"]["event"] = "again";
  second["waits"] = list({wait("send", json::array(), json::array())});
  phases.push_back(second);
  program["events"].push_back(single_event("again"));
  EXPECT_ACCEPTED(two_places(program, program));
  phases[1]["waits"] = json::array();
  phases[1]["accesses"] = {whole(false, "g"), whole(true, "q")};
  phases[1]["body"]["exchange"]["transfers"][0]["receive"] = "q";
  program["buffers"].push_back(persistent("q", nullptr));
  EXPECT_ACCEPTED(two_places(program, program));
  phases[1]["distribution"] = "cyclic";
  EXPECT_FAULT("exchange", two_places(program, program), {18, 0, 1}, {2});
}

/// Sends or receives x, over a channel.
json messaging(bool sends, int64_t columns = 8) {
  json message = {{"message",
                   {{"direction", sends ? "send" : "receive"},
                    {"peer", sends ? "next" : "previous"},
                    {"axis", "pp"},
                    {"channel", "activations"},
                    {"tensors", list({"x"})}}}};
  json all = access(!sends, "x", {0, 0}, {"rows", columns});
  json made = single("a", {access(true, "x", {0, 0}, {"rows", columns})});
  json moved = single("move", {all},
                      sends ? list({wait("a", json::array(), json::array())})
                            : json::array(),
                      message);
  return program({transient("x", columns)},
                 {single_event("a"), single_event("move")},
                 {segment(sends ? list({made, moved}) : list({moved}))});
}

TEST(JudgeTest, ComparesMessages) {
  EXPECT_ACCEPTED(two_places(messaging(true), messaging(false)));
  EXPECT_FAULT("receives tensors of other number or shape",
               two_places(messaging(true), messaging(false, 7)));
  json crossed = two_places(messaging(true), messaging(false));
  crossed["step"]["places"][1][0]["microbatch"] = 1;
  EXPECT_FAULT("receives for microbatch 1 what", crossed);
  json other = program(json::array(), {single_event("a")},
                       {segment({single("a", json::array())})});
  EXPECT_FAULT("message: ", two_places(messaging(true), other));
  EXPECT_FAULT("waits for ever for a message that nobody sends",
               two_places(other, messaging(false)));
}

//===----------------------------------------------------------------------===//
// Several programs
//===----------------------------------------------------------------------===//

/// One program writes p, and another one reads it; slots of the calls.
json handing_on(const json &storage, json first, json second) {
  json p = persistent("p", nullptr);
  p["storage"] = "memory";
  json writes = program({p}, {single_event("a")},
                        {segment({single("a", {whole(true, "p")})})});
  json reads = program({p}, {single_event("a")},
                       {segment({single("a", {whole(false, "p")})})});
  json result = two_places(writes, reads);
  for (json &program : result["programs"])
    program["storages"]["memory"] = storage;
  first["program"] = 0;
  second["program"] = 1;
  result["step"]["places"] = {{first, second}, {first, second}};
  return result;
}

TEST(JudgeTest, HandsValuesOn) {
  auto storage = [](const char *scope, const char *slot) {
    return json{{"bytes", 32}, {"scope", scope}, {"slot", slot}};
  };
  auto call = [](int64_t chunk, int64_t microbatch, int64_t slot) {
    return json{{"chunk", chunk}, {"microbatch", microbatch}, {"slot", slot}};
  };
  EXPECT_ACCEPTED(
      handing_on(storage("rank", ""), call(0, 0, 0), call(1, 1, 1)));
  EXPECT_FAULT(
      "reads @p[0], which nobody has written in this step",
      handing_on(storage("transient", ""), call(0, 0, 0), call(0, 0, 0)));
  EXPECT_ACCEPTED(
      handing_on(storage("stage", ""), call(1, 0, 0), call(1, 1, 1)));
  EXPECT_FAULT("reads @p[0]",
               handing_on(storage("stage", ""), call(0, 0, 0), call(1, 0, 0)));
  EXPECT_ACCEPTED(
      handing_on(storage("stage", "flight"), call(0, 1, 1), call(0, 1, 1)));
  EXPECT_FAULT("reads @p[0]", handing_on(storage("stage", "flight"),
                                         call(0, 1, 1), call(0, 1, 0)));
  // Another microbatch has taken the slot.
  EXPECT_FAULT("reads @p[0]", handing_on(storage("stage", "flight"),
                                         call(0, 1, 1), call(0, 2, 1)));
  EXPECT_FAULT("reads @p[0]", handing_on(storage("rank", "microbatch"),
                                         call(0, 0, 0), call(0, 1, 0)));
}

// The first program ends while two workers have not looked at it. In the second
// one the first worker's task lets the third one's begin, and that one's the
// second one's.
TEST(JudgeTest, GivesAWorkerOneTurnAtATime) {
  json first = program({persistent("p", nullptr)}, {single_event("a")},
                       {segment({single("a", {whole(true, "p")})})});
  first["segments"][0]["phases"][0]["distribution"] = "cyclic";
  json second = first;
  second["events"] =
      list({single_event("a"),
            single_event("b"),
            {{"name", "c"}, {"shape", json::array()}, {"count", 3}}});
  json c = single("c", {whole(false, "p")},
                  {wait("b", json::array(), json::array())});
  c["grid"] = list({3});
  second["segments"][0]["phases"].push_back(
      single("b", {}, {wait("a", json::array(), json::array())}));
  second["segments"][0]["phases"].push_back(c);
  json plan = two_places(first, second);
  json call = {{"program", 0}, {"chunk", 0}, {"microbatch", 0}, {"slot", 0}};
  json next = call;
  next["program"] = 1;
  plan["step"]["places"] = {{call, next}, {call, next}};
  EXPECT_ACCEPTED(plan, {18, 5, 1}, {3});
}

TEST(JudgeTest, TakesTwoStepsOfTraining) {
  // Only a step with outputs notifies.
  json plan = chain();
  plan["training"] = true;
  phase_of(plan, 2)["grid"] = list({"outputs"});
  phase_of(plan, 2)["row_tiles"] = {{"rows", "outputs"}, {"size", 1}};
  plan["programs"][0]["events"][2]["shape"] = list({"outputs"});
  EXPECT_ACCEPTED(plan);
  phase_of(plan, 1)["waits"].push_back(wait("c", {"d0"}, {"d0 + 1"}));
  EXPECT_FAULT("deadlock", plan);
}

//===----------------------------------------------------------------------===//
// What is no plan
//===----------------------------------------------------------------------===//

TEST(JudgeTest, SaysWhatIsNoPlan) {
  EXPECT_EQ(error_of(chain()), "");
  json plan = chain();
  plan["format"] = 2;
  EXPECT_EQ(error_of(plan), "the plan is of another format than 1");
  plan = chain();
  phase_of(plan, 1)["waits"][0]["event"] = "d";
  EXPECT_EQ(error_of(plan),
            "program @main 's phase 'b' names 'd', which is not there");
  plan = chain();
  phase_of(plan, 1)["grid"] = list({"rows over 4"});
  EXPECT_EQ(error_of(plan), "'rows over 4' is no expression of d0, d1, ..., "
                            "rows, past, outputs");
  plan = chain();
  phase_of(plan, 1)["waits"][0]["low"] = list({"d1"});
  EXPECT_EQ(error_of(plan),
            "program @main 's phase 'b' names a coordinate that "
            "is not there");
  plan = chain();
  phase_of(plan, 1).erase("accesses");
  EXPECT_EQ(error_of(plan).rfind("this is no plan: ", 0), 0u) << error_of(plan);
  EXPECT_THROW(judged(chain(), {65, 0, 1}), Error);
}

TEST(ExpressionTest, ComputesAsMlirDoes) {
  auto value = [](const char *text) {
    return Expression(text).evaluate({10, 20, 2}, {{-7, 3}, 2});
  };
  EXPECT_EQ(value("d0 floordiv 2"), -4);
  EXPECT_EQ(value("d0 ceildiv 2"), -3);
  EXPECT_EQ(value("d0 mod 4"), 1);
  EXPECT_EQ(value("(-past) floordiv 16"), -2);
  EXPECT_EQ(value("rows - outputs - 1"), 7);
  EXPECT_EQ(value("d1 * -2 + rows * 3"), 24);
  EXPECT_EQ(value("-(rows ceildiv 4) + (past + rows) * 2"), 57);
  for (const char *wrong : {"", "1 +", "(rows", "rows rows", "s0", "d9", "2x"})
    EXPECT_THROW(Expression{wrong}, Error) << wrong;
  EXPECT_THROW(value("rows floordiv (outputs - 2)"), Error);
  EXPECT_THROW(value("9223372036854775807 + rows"), Error);
}

TEST(InstanceTest, AreOfThePlan) {
  for (const Instance &instance :
       choose_instances(parse_plan(chain()), {}, {}, {}, {}))
    EXPECT_LE(instance.symbols.rows, 64);
  std::vector<Instance> one =
      choose_instances(parse_plan(chain()), 3, 0, 2, {4});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].symbols, (Symbols{3, 0, 2}));
  EXPECT_EQ(choose_instances(parse_plan(chain()), 3, 0, 2, {})[0].workers,
            usual);
  EXPECT_TRUE(choose_instances(parse_plan(chain()), 65, 0, 1, {}).empty());
}

} // namespace
