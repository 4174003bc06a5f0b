//===- pipeline.cpp - what a stage of a pipeline runs ---------------------===//

#include "runtime/execute/pipeline.h"

#include "runtime/error.h"
#include "runtime/step_sequence.h"
#include "runtime/weights/memory.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace baton {

namespace {

[[noreturn]] void damaged(const std::string &what) {
  throw Error("this program's description is damaged: " + what);
}

StorageUse parse_use(const nlohmann::json &json) {
  StorageUse use;
  use.storage = json.at("storage");
  use.bytes = json.at("bytes");
  std::string scope = json.at("scope");
  use.scope = scope == "rank"    ? StorageUse::Scope::Rank
              : scope == "stage" ? StorageUse::Scope::Stage
                                 : StorageUse::Scope::Transient;
  use.slot = json.at("slot");
  return use;
}

} // namespace

std::optional<Pipeline> Pipeline::parse(const nlohmann::json &description) {
  auto found = description.find("pipeline");
  if (found == description.end() || found->is_null())
    return std::nullopt;
  try {
    Pipeline result;
    result.schedule = found->at("schedule");
    result.axis = found->at("axis");
    result.microbatches = found->at("microbatches");
    result.chunks = found->at("chunks");
    result.fused = found->at("fused");
    result.in_flight = found->at("in_flight").get<std::vector<uint32_t>>();
    result.tables = found->at("tables").get<std::vector<std::string>>();
    result.places = static_cast<uint32_t>(result.tables.size());
    result.bubble = found->value("bubble", 0.0);
    for (const nlohmann::json &stage : found->at("stages"))
      result.stages.push_back(
          {stage.at("positions").get<std::vector<uint32_t>>(),
           stage.at("offsets").get<std::vector<uint64_t>>()});
    for (const nlohmann::json &program : description.at("programs")) {
      result.programs.emplace_back(program.at("stage").is_null()
                                       ? -1
                                       : program.at("stage").get<int64_t>(),
                                   program.at("part"));
      std::vector<StorageUse> &uses = result.uses.emplace_back();
      for (const nlohmann::json &use : program.at("storages"))
        uses.push_back(parse_use(use));
    }
    if (result.places == 0 || result.in_flight.size() != result.places)
      damaged("its pipeline has no sensible number of stages");
    return result;
  } catch (const nlohmann::json::exception &failure) {
    damaged(failure.what());
  }
}

Pipeline::Part Pipeline::part(uint32_t place, uint32_t chunk) const {
  const uint32_t position = chunk * places + place;
  for (uint32_t stage = 0; stage < stages.size(); ++stage)
    for (size_t i = 0; i < stages[stage].positions.size(); ++i)
      if (stages[stage].positions[i] == position)
        return {stage, stages[stage].offsets.at(i)};
  damaged("no stage has position " + std::to_string(position));
}

uint32_t Pipeline::program(uint32_t stage, const std::string &part) const {
  for (uint32_t i = 0; i < programs.size(); ++i)
    if (programs[i].second == part &&
        (programs[i].first < 0 || programs[i].first == int64_t(stage)))
      return i;
  damaged("stage " + std::to_string(stage) + " has no program for " + part);
}

std::vector<StageCall> Pipeline::calls(uint32_t place) const {
  const Sequence sequence = sequence_of(
      {tables[place], microbatches, chunks, in_flight[place], fused});
  if (!sequence.problem.empty())
    damaged(sequence.problem);
  std::vector<StageCall> result;
  for (const SequenceEntry &entry : sequence.entries) {
    using Kind = StageCall::Kind;
    const Kind kind = entry.part == "forward"  ? Kind::Forward
                      : entry.microbatch       ? Kind::Backward
                      : entry.part == "update" ? Kind::Update
                                               : Kind::End;
    // All ranks run the same agreement.
    const uint32_t stage =
        entry.part == "agreement" ? 0 : part(place, entry.chunk).stage;
    result.push_back({kind, program(stage, std::string(entry.part)),
                      entry.chunk, entry.microbatch, entry.slot});
  }
  return result;
}

StageLayout::StageLayout(const Pipeline &pipeline, uint32_t place)
    : slots(pipeline.in_flight[place]) {
  using Scope = StorageUse::Scope;
  // Bytes by storage and chunk.
  using Sizes = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;
  Sizes rank_sizes, stage_sizes, flight_sizes;
  transient.resize(pipeline.uses.size());
  for (const StageCall &call : pipeline.calls(place)) {
    uint64_t end = 0;
    std::vector<uint64_t> begins;
    for (const StorageUse &use : pipeline.uses[call.program]) {
      begins.push_back(end);
      if (use.scope == Scope::Transient) {
        end += round_up(use.bytes, page_bytes);
        continue;
      }
      uint64_t count = use.slot == "microbatch" ? pipeline.microbatches
                       : use.slot == "chunk"    ? pipeline.chunks
                                                : 1;
      const bool is_rank = use.scope == Scope::Rank;
      Sizes &sizes = is_rank                ? rank_sizes
                     : use.slot == "flight" ? flight_sizes
                                            : stage_sizes;
      uint64_t &bytes = sizes[{use.storage, is_rank ? 0 : call.chunk}];
      bytes = std::max(bytes, use.bytes * count);
    }
    transient[call.program] = std::move(begins);
    transient_bytes = std::max(transient_bytes, end);
  }
  auto lay = [](const Sizes &sizes, std::vector<Region> &regions) {
    uint64_t end = 0;
    for (auto [key, bytes] : sizes) {
      regions.push_back({key.first, key.second, end, bytes});
      end += round_up(bytes, page_bytes);
    }
    return end;
  };
  shared_bytes = lay(rank_sizes, shared);
  stage_bytes = lay(stage_sizes, stage);
  // Any chunk's microbatch may have any slot.
  for (uint32_t chunk = 0; chunk < pipeline.chunks; ++chunk) {
    Sizes own;
    for (auto [key, bytes] : flight_sizes)
      if (key.second == chunk)
        own[key] = bytes;
    flight_bytes = std::max(flight_bytes, lay(own, flight));
  }
}

const StageLayout::Region &StageLayout::find(const std::vector<Region> &regions,
                                             uint32_t storage, uint32_t chunk) {
  for (const Region &region : regions)
    if (region.storage == storage && region.chunk == chunk)
      return region;
  throw std::logic_error("a program has no memory for a storage");
}

} // namespace baton
