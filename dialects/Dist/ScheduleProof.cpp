//===- ScheduleProof.cpp - tables that cannot go wrong --------------------===//

#include "dialects/Dist/ScheduleProof.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace baton::pipeline;

namespace {

class Proof {
public:
  Proof(const Schedule &schedule, int buffers)
      : schedule(schedule), buffers(buffers) {}

  std::string findFault();

private:
  std::string checkTable(int stage);
  std::string checkWaiting();
  void buildChannels();

  /// Where a step stands in its stage's table; -1 if it does not.
  int &placeOf(int stage, const Step &step) {
    int phase = int(step.phase);
    return places[stage]
                 [(step.chunk * schedule.microbatches + step.microbatch) * 3 +
                  phase];
  }
  /// A step's begin, when it has received, is one event, its end another one.
  int begin(int stage, int place) { return 2 * (firsts[stage] + place); }
  int end(int stage, int place) { return begin(stage, place) + 1; }
  void order(int before, int after) {
    later[before].push_back(after);
    ++waiting[after];
  }

  const Schedule &schedule;
  int buffers;
  std::vector<std::vector<int>> places;
  std::vector<int> firsts;
  std::vector<std::vector<int>> later;
  std::vector<int> waiting;
};

} // namespace

static std::string inStage(int stage) {
  return "stage " + std::to_string(stage) + ": ";
}

std::string Proof::checkTable(int stage) {
  const Table &table = schedule.tables[stage];
  size_t count = size_t(schedule.chunks) * schedule.microbatches * 3;
  if (table.size() < count / 2)
    return inStage(stage) + "there are " + std::to_string(table.size()) +
           " steps, expected " + std::to_string(count);
  places[stage].assign(count, -1);
  int inFlight = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    const Step &step = table[i];
    if (step.microbatch < 0 || step.microbatch >= schedule.microbatches)
      return inStage(stage) + toText(step) +
             " is of no microbatch, there are " +
             std::to_string(schedule.microbatches);
    if (step.chunk < 0 || step.chunk >= schedule.chunks)
      return inStage(stage) + toText(step) + " is of no chunk, there are " +
             std::to_string(schedule.chunks);
    int &place = placeOf(stage, step);
    if (place >= 0)
      return inStage(stage) + toText(step) + " occurs twice";
    place = int(i);
    if (step.phase != Phase::forward) {
      Step before = step;
      before.phase = Phase(int(step.phase) - 1);
      if (placeOf(stage, before) < 0)
        return inStage(stage) + toText(step) + " comes before " +
               toText(before);
    }
    inFlight += step.phase == Phase::forward;
    inFlight -= step.phase == Phase::weight;
    if (inFlight > schedule.inFlight[stage])
      return inStage(stage) + "with " + toText(step) + " there are " +
             std::to_string(inFlight) + " in flight, more than " +
             std::to_string(schedule.inFlight[stage]);
  }
  for (int chunk = 0; chunk < schedule.chunks; ++chunk)
    for (int microbatch = 0; microbatch < schedule.microbatches; ++microbatch)
      for (Phase phase : {Phase::forward, Phase::input, Phase::weight})
        if (Step step{phase, microbatch, chunk}; placeOf(stage, step) < 0)
          return inStage(stage) + toText(step) + " is missing";
  return "";
}

/// The order of each channel's messages, and, with buffers, who waits to send.
void Proof::buildChannels() {
  struct Message {
    int sent, received;
  };
  std::map<std::tuple<int, int, bool>, std::vector<Message>> channels;
  for (int stage = 0; stage < schedule.stages; ++stage)
    for (int i = 0; i < int(schedule.tables[stage].size()); ++i)
      for (const Dependence &read :
           dependencesOf(schedule, stage, schedule.tables[stage][i])) {
        int place = placeOf(read.stage, read.step);
        if (read.stage == stage) {
          order(end(stage, place), begin(stage, i));
          continue;
        }
        bool isGradient = read.step.phase != Phase::forward;
        channels[{read.stage, stage, isGradient}].push_back(
            {end(read.stage, place), begin(stage, i)});
      }
  for (auto &[between, messages] : channels) {
    std::sort(
        messages.begin(), messages.end(),
        [](const Message &a, const Message &b) { return a.sent < b.sent; });
    for (size_t i = 0; i < messages.size(); ++i) {
      order(messages[i].sent, messages[i].received);
      if (i)
        order(messages[i - 1].received, messages[i].received);
      if (buffers && i >= size_t(buffers))
        order(messages[i - buffers].received, messages[i].sent);
    }
  }
}

std::string Proof::checkWaiting() {
  buildChannels();
  std::vector<int> ready;
  for (int event = 0; event < int(waiting.size()); ++event)
    if (!waiting[event])
      ready.push_back(event);
  while (!ready.empty()) {
    int event = ready.back();
    ready.pop_back();
    for (int after : later[event])
      if (--waiting[after] == 0)
        ready.push_back(after);
  }
  std::string fault;
  for (int stage = 0; stage < schedule.stages; ++stage)
    for (int i = 0; i < int(schedule.tables[stage].size()); ++i) {
      bool begins = !waiting[begin(stage, i)], ends = !waiting[end(stage, i)];
      if (begins && ends)
        continue;
      fault += (fault.empty() ? "stages wait for one another: " : ", ") +
               ("stage " + std::to_string(stage)) +
               (begins ? " to send after " : " before ") +
               toText(schedule.tables[stage][i]);
      break;
    }
  return fault;
}

std::string Proof::findFault() {
  int count = 0;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    places.emplace_back();
    firsts.push_back(count);
    count += int(schedule.tables[stage].size());
    if (std::string fault = checkTable(stage); !fault.empty())
      return fault;
  }
  later.resize(2 * count);
  waiting.resize(2 * count);
  for (int stage = 0; stage < schedule.stages; ++stage)
    for (int i = 0; i < int(schedule.tables[stage].size()); ++i) {
      order(begin(stage, i), end(stage, i));
      if (i)
        order(end(stage, i - 1), begin(stage, i));
    }
  return checkWaiting();
}

std::string baton::pipeline::findFault(const Schedule &schedule, int buffers) {
  if (schedule.stages < 1 || schedule.chunks < 1 || schedule.microbatches < 1)
    return "there is no stage, chunk or microbatch";
  if (int(schedule.tables.size()) != schedule.stages ||
      int(schedule.inFlight.size()) != schedule.stages)
    return "there are " + std::to_string(schedule.stages) + " stages, " +
           std::to_string(schedule.tables.size()) + " tables and " +
           std::to_string(schedule.inFlight.size()) + " bounds";
  return Proof(schedule, buffers).findFault();
}
