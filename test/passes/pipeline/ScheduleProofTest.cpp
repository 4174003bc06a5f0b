//===- ScheduleProofTest.cpp - mutants of schedules, proved and run -------===//
//
// The proof is judged by running tables: stages and channels that hold
// messages, one act at a time, until nothing moves any more.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/ScheduleProof.h"
#include "passes/pipeline/Generators.h"
#include "passes/pipeline/Simulator.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <tuple>

using namespace baton::pipeline;

namespace {

/// Runs a schedule's tables with stages taken at random.
class Execution {
public:
  Execution(const Schedule &schedule, int buffers, std::mt19937 &generator)
      : schedule(schedule), buffers(buffers), generator(generator) {}

  /// Whether every stage comes to its end with all done, and all as it should.
  bool succeeds() {
    std::vector<size_t> places(schedule.stages);
    std::vector<bool> sending(schedule.stages);
    for (int stuck = 0; stuck < 50 * schedule.stages;) {
      int stage = int(generator() % schedule.stages);
      const Table &table = schedule.tables[stage];
      size_t &place = places[stage];
      bool moved = false;
      if (sending[stage]) {
        moved = send(stage, table[place]);
        if (moved) {
          sending[stage] = false;
          ++place;
        }
      } else if (place < table.size()) {
        moved = receive(stage, table[place]);
        if (moved && !compute(stage, table[place]))
          return false;
        sending[stage] = moved;
      }
      stuck = moved ? 0 : stuck + 1;
    }
    for (int stage = 0; stage < schedule.stages; ++stage)
      if (places[stage] < schedule.tables[stage].size())
        return false;
    for (const auto &[between, messages] : channels)
      if (!messages.empty())
        return false;
    return done.size() ==
           size_t(schedule.countPositions()) * schedule.microbatches * 3;
  }

private:
  using Message = std::tuple<int, int>; // microbatch, position that reads it

  std::deque<Message> &channel(int from, int to, bool isGradient) {
    return channels[{from, to, isGradient}];
  }

  bool receive(int stage, const Step &step) {
    int position = schedule.positionOf(stage, step.chunk);
    int other = position + (step.phase == Phase::forward ? -1 : 1);
    if (step.phase == Phase::weight || other < 0 ||
        other >= schedule.countPositions() || schedule.stages == 1)
      return true;
    auto &messages =
        channel(schedule.stageOf(other), stage, step.phase != Phase::forward);
    if (messages.empty() ||
        messages.front() != Message(step.microbatch, position))
      return false;
    messages.pop_front();
    return true;
  }

  bool send(int stage, const Step &step) {
    int position = schedule.positionOf(stage, step.chunk);
    bool isForward = step.phase == Phase::forward;
    int other = position + (isForward ? 1 : -1);
    Phase sends = schedule.fused ? Phase::weight : Phase::input;
    if (other < 0 || other >= schedule.countPositions() ||
        schedule.stages == 1 || (!isForward && step.phase != sends))
      return true;
    auto &messages = channel(stage, schedule.stageOf(other), !isForward);
    if (buffers && messages.size() >= size_t(buffers))
      return false;
    messages.emplace_back(step.microbatch, other);
    return true;
  }

  /// Whether it is there to do, for the first time, and its operands are.
  bool compute(int stage, const Step &step) {
    if (step.microbatch >= schedule.microbatches ||
        step.chunk >= schedule.chunks)
      return false;
    for (const Dependence &read : dependencesOf(schedule, stage, step))
      if (!done.count(key(read.stage, read.step)))
        return false;
    if (!done.insert(key(stage, step)).second)
      return false;
    live[stage] += step.phase == Phase::forward;
    live[stage] -= step.phase == Phase::weight;
    return live[stage] <= schedule.inFlight[stage];
  }

  using Key = std::tuple<int, int, int, int>;
  static Key key(int stage, const Step &step) {
    return {stage, int(step.phase), step.microbatch, step.chunk};
  }

  const Schedule &schedule;
  int buffers;
  std::mt19937 &generator;
  std::map<std::tuple<int, int, bool>, std::deque<Message>> channels;
  std::set<Key> done;
  std::map<int, int> live;
};

std::vector<Schedule> smallSchedules() {
  std::vector<Schedule> schedules;
  for (int stages = 1; stages <= 4; ++stages)
    for (int microbatches = 1; microbatches <= 5; ++microbatches) {
      schedules.push_back(makeGPipe(stages, microbatches));
      schedules.push_back(make1F1B(stages, microbatches));
      schedules.push_back(makeZeroBubbleH1(stages, microbatches));
      schedules.push_back(makeZeroBubbleH2(stages, microbatches));
      if (microbatches % stages == 0)
        for (int chunks : {1, 2, 3})
          schedules.push_back(makeInterleaved(stages, microbatches, chunks));
    }
  return schedules;
}

} // namespace

TEST(ScheduleProof, AcceptsAllGenerated) {
  std::mt19937 generator(1);
  for (const Schedule &schedule : smallSchedules()) {
    SCOPED_TRACE(schedule.name);
    EXPECT_EQ(findFault(schedule), "");
    EXPECT_TRUE(Execution(schedule, 0, generator).succeeds());
  }
}

/// Whatever times are, a proved table ends, and no step begins before what it
/// reads has arrived.
TEST(ScheduleProof, HoldsForAnyTimes) {
  std::mt19937 generator(2);
  std::uniform_real_distribution<double> random(0.1, 3);
  for (const Schedule &schedule : smallSchedules()) {
    PipelineCosts costs;
    costs.transfer = random(generator);
    for (int i = 0; i < schedule.countPositions(); ++i)
      costs.positions.push_back(
          {random(generator), random(generator), random(generator)});
    Timeline timeline = simulate(schedule, costs);
    std::map<std::tuple<int, int, int, int>, double> ends;
    for (int stage = 0; stage < schedule.stages; ++stage) {
      ASSERT_EQ(timeline.stages[stage].size(), schedule.tables[stage].size());
      for (const Timeline::Entry &entry : timeline.stages[stage])
        ends[{stage, int(entry.step.phase), entry.step.microbatch,
              entry.step.chunk}] = entry.end;
    }
    for (int stage = 0; stage < schedule.stages; ++stage)
      for (const Timeline::Entry &entry : timeline.stages[stage])
        for (const Dependence &read :
             dependencesOf(schedule, stage, entry.step))
          ASSERT_GE(entry.start + 1e-9,
                    ends.at({read.stage, int(read.step.phase),
                             read.step.microbatch, read.step.chunk}) +
                        (read.stage == stage ? 0 : costs.transfer));
  }
}

/// What the proof says of a mutant is what running it does.
TEST(ScheduleProof, AgreesWithExecutionOfMutants) {
  std::mt19937 generator(3);
  std::vector<Schedule> schedules = smallSchedules();
  int accepted = 0, incomplete = 0, deadlocked = 0;
  for (int trial = 0; trial < 40000; ++trial) {
    Schedule mutant = schedules[generator() % schedules.size()];
    int buffers = int(generator() % 3);
    for (unsigned i = 0; i < 1 + generator() % 2; ++i) {
      Table &table = mutant.tables[generator() % mutant.stages];
      if (table.empty())
        continue;
      size_t a = generator() % table.size(), b = generator() % table.size();
      switch (generator() % 6) {
      case 0:
        std::swap(table[a], table[b]);
        break;
      case 1: // neighbours, which are more often alike
        std::swap(table[a], table[a ? a - 1 : 0]);
        break;
      case 2:
        table.erase(table.begin() + a);
        break;
      case 3:
        table.insert(table.begin() + b, table[a]);
        break;
      case 4: { // a phase of two microbatches changes places
        auto same = [&](const Step &step) {
          return step.phase == table[a].phase && step.chunk == table[a].chunk;
        };
        if (same(table[b]))
          std::swap(table[a], table[b]);
        break;
      }
      case 5: { // to another place
        Step step = table[a];
        table.erase(table.begin() + a);
        table.insert(table.begin() + b, step);
        break;
      }
      }
    }
    // Memory for more, so that channels may be full, or for less.
    if (generator() % 2 == 0)
      mutant.inFlight.assign(mutant.stages, 100);
    else if (generator() % 4 == 0)
      --mutant.inFlight[generator() % mutant.stages];
    std::string fault = findFault(mutant, buffers);
    bool runs = Execution(mutant, buffers, generator).succeeds();
    ASSERT_EQ(fault.empty(), runs)
        << mutant.name << " " << mutant.stages << " " << mutant.microbatches
        << " buffers " << buffers << ": " << fault;
    accepted += fault.empty();
    deadlocked += fault.find("wait for one another") != std::string::npos;
    incomplete += fault.find("missing") != std::string::npos ||
                  fault.find("twice") != std::string::npos;
  }
  // Every kind occurs.
  EXPECT_GT(accepted, 500);
  EXPECT_GT(incomplete, 500);
  EXPECT_GT(deadlocked, 500);
}

/// Stages that take their tables from different schedules: some of these need
/// more buffers than others, GPipe's first stage beside 1F1B's second one.
TEST(ScheduleProof, AgreesWithExecutionWhereChannelsAreFull) {
  std::mt19937 generator(4);
  int accepted = 0, full = 0;
  for (int microbatches : {2, 4, 6, 8})
    for (int choice = 0; choice < 64; ++choice)
      for (int buffers : {1, 2, 3}) {
        const Schedule all[] = {make1F1B(3, microbatches),
                                makeGPipe(3, microbatches),
                                makeZeroBubbleH1(3, microbatches),
                                makeZeroBubbleH2(3, microbatches)};
        Schedule mixed = all[choice % 4];
        for (int stage = 0; stage < 3; ++stage)
          mixed.tables[stage] = all[choice >> 2 * stage & 3].tables[stage];
        mixed.inFlight.assign(3, microbatches);
        std::string fault = findFault(mixed, buffers);
        ASSERT_EQ(fault.empty(),
                  Execution(mixed, buffers, generator).succeeds())
            << choice << " " << microbatches << " " << buffers << fault;
        accepted += fault.empty();
        full += !fault.empty() && findFault(mixed).empty();
      }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(full, 20);
}

TEST(ScheduleProof, NamesTheFault) {
  Schedule schedule = make1F1B(2, 3);
  auto fault = [&](int stage, const char *text, int buffers = 0) {
    Schedule mutant = schedule;
    Table &table = mutant.tables[stage];
    table.clear();
    std::stringstream stream(text);
    for (std::string word; stream >> word;)
      table.push_back(*parseStep(word));
    return findFault(mutant, buffers);
  };
  EXPECT_EQ(toText(schedule.tables[0]), "F0 F1 B0 W0 F2 B1 W1 B2 W2");
  EXPECT_EQ(fault(0, "F0 F1 B0 W0 F2 B1 W1 B2"), "stage 0: W2 is missing");
  EXPECT_EQ(fault(0, "F0 F1 B0 F1 W0 F2 B1 W1 B2 W2"),
            "stage 0: F1 occurs twice");
  EXPECT_EQ(fault(1, "F0 W0 B0 F1 B1 W1 F2 B2 W2"),
            "stage 1: W0 comes before B0");
  EXPECT_EQ(fault(1, "F0 B0 W0 F3"),
            "stage 1: F3 is of no microbatch, there are 3");
  EXPECT_EQ(fault(1, "F0 B0 W0 F0.1"),
            "stage 1: F0.1 is of no chunk, there are 1");
  EXPECT_EQ(fault(1, "F0 B0 W0"), "stage 1: there are 3 steps, expected 9");
  EXPECT_EQ(fault(0, "F0 F1 F2 B0 W0 B1 W1 B2 W2"),
            "stage 0: with F2 there are 3 in flight, more than 2");
  // Receives in another order than sends.
  EXPECT_EQ(fault(1, "F1 B1 W1 F0 B0 W0 F2 B2 W2"),
            "stages wait for one another: stage 0 before B0, stage 1 before "
            "F1");
  // A gradient is waited for that the other stage makes later.
  EXPECT_EQ(fault(0, "F0 B0 W0 F1 B1 W1 F2 B2 W2"), "");
  schedule = makeGPipe(2, 3);
  // One buffer: the second stage takes the first message when it is asked to.
  EXPECT_EQ(findFault(schedule, 1), "");
  EXPECT_EQ(fault(1, "F0 B0 W0 F1 B1 W1 F2 B2 W2", 1), "");
  schedule = makeInterleaved(2, 2, 2);
  EXPECT_EQ(findFault(schedule, 1), "");
  schedule.tables.pop_back();
  EXPECT_EQ(findFault(schedule), "there are 2 stages, 1 tables and 2 bounds");
}
