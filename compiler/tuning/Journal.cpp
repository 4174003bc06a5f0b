//===- Journal.cpp - what a search has found so far, in a file ------------===//

#include "compiler/tuning/Journal.h"

#include "compiler/Outputs.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <nlohmann/json.hpp>

using namespace baton;
using namespace baton::tuning;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using Json = nlohmann::ordered_json;

static constexpr int kFormat = 1;

static Json jsonOf(const Race &race) {
  Json entries = Json::array();
  for (const Entry &entry : race.entries) {
    Json json = {{"candidate", entry.candidate},
                 {"kind", static_cast<int>(entry.judgement.kind)},
                 {"why", entry.judgement.why},
                 {"predicted_us", entry.judgement.predicted}};
    if (entry.speedup)
      json["speedup"] = {entry.speedup->median, entry.speedup->low,
                         entry.speedup->high, entry.speedup->rounds};
    entries.push_back(std::move(json));
  }
  return {{"decision", race.decision},
          {"best", race.best},
          {"winner", race.winner},
          {"entries", std::move(entries)}};
}

/// Throws what the library throws where something is not as it was written.
static Race raceOf(const Json &json) {
  Race race;
  race.decision = json.at("decision").get<unsigned>();
  race.best = json.at("best").get<Chosen>();
  race.winner = json.at("winner").get<Chosen>();
  for (const Json &each : json.at("entries")) {
    Entry entry;
    entry.candidate = each.at("candidate").get<Chosen>();
    entry.judgement.kind =
        static_cast<Judgement::Kind>(each.at("kind").get<int>());
    entry.judgement.why = each.at("why").get<std::string>();
    entry.judgement.predicted = each.at("predicted_us").get<double>();
    if (each.contains("speedup")) {
      const Json &speedup = each["speedup"];
      // JSON has no infinity: an interval without an end is null there.
      auto number = [](const Json &json) {
        return json.is_number() ? json.get<double>()
                                : std::numeric_limits<double>::infinity();
      };
      entry.speedup =
          Estimate{number(speedup.at(0)), number(speedup.at(1)),
                   number(speedup.at(2)), speedup.at(3).get<size_t>()};
    }
    race.entries.push_back(std::move(entry));
  }
  return race;
}

Expected<Journal> Journal::open(std::string path, std::string key) {
  Journal journal(std::move(path), std::move(key));
  if (!llvm::sys::fs::exists(journal.path))
    return journal;
  auto buffer = llvm::MemoryBuffer::getFile(journal.path, /*IsText=*/true);
  Json json = Json::parse(buffer ? (*buffer)->getBuffer() : "", nullptr,
                          /*allow_exceptions=*/false);
  const std::string what =
      journal.path + ", in which a search is kept that was not finished, ";
  if (!json.is_object() || json.value("format", 0) != kFormat)
    return createStringError(what + "cannot be read; remove it to begin again");
  if (json.value("key", "") != journal.key)
    return createStringError(what +
                             "is of another model, schedule, machine, or "
                             "workload; remove it, or name another -o");
  try {
    for (const Json &race : json.at("races"))
      journal.kept.push_back(raceOf(race));
  } catch (const Json::exception &) {
    return createStringError(what + "cannot be read; remove it to begin again");
  }
  return journal;
}

Error Journal::add(const Race &race) {
  kept.push_back(race);
  Json races = Json::array();
  for (const Race &each : kept)
    races.push_back(jsonOf(each));
  Json json = {{"format", kFormat}, {"key", key}, {"races", std::move(races)}};
  return compiler::writeOutput(path, json.dump(1) + "\n");
}

void Journal::remove() const { (void)llvm::sys::fs::remove(path); }
