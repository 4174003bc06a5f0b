//===- decoding_forecast.cpp - what a program that decodes will take ------===//

#include "runtime/main/decoding_forecast.h"

#include "runtime/comm/mesh.h"
#include "runtime/error.h"
#include "runtime/execute/batch_inputs.h"
#include "runtime/execute/machine_speed.h"
#include "runtime/execute/touched_memory.h"
#include "runtime/main/machine_forecast.h"
#include "runtime/main/memory_needs.h"
#include "runtime/main/output.h"
#include "runtime/main/table.h"

#include <algorithm>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// What, and bytes.
using Memory = std::vector<std::pair<std::string, uint64_t>>;

/// Of the storages that keep values or of those that do not, what a step
/// touches.
uint64_t touched(const Metadata &metadata, const BatonStep &step,
                 bool of_states) {
  const std::vector<uint64_t> bytes =
      touched_bytes(metadata, metadata.programs.front(), step, 0);
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    if (metadata.storages[i].state == of_states &&
        !metadata.storages[i].persistent)
      sum += bytes[i];
  return sum;
}

/// Of one rank, with `sequences` texts of so many positions, of which steps
/// have `rows` at most. A device has all that is reserved.
Memory memory_of(const Metadata &metadata, const MemoryNeeds &needs,
                 uint64_t sequences, uint64_t positions, uint32_t rows,
                 unsigned workers) {
  const bool on_device = !metadata.device.is_null();
  Memory memory;
  auto add = [&](const char *what, uint64_t bytes) {
    if (bytes)
      memory.emplace_back(what, bytes);
  };
  add("weights", on_device ? needs.weights - needs.tables
                           : round_up(needs.weight_region,
                                      page_of_region(needs.weight_region)));
  add("tables", needs.tables);
  uint64_t kv = needs.kv;
  if (metadata.batch)
    kv = sequences * pages_of(positions) * metadata.batch->page_bytes;
  else if (!on_device)
    kv = touched(metadata, {1, static_cast<uint32_t>(positions - 1), 1, 0},
                 /*of_states=*/true);
  add("keys and values", kv);
  add("activations", on_device ? needs.activations
                               : touched(metadata, {rows, 0, 1, 0},
                                         /*of_states=*/false));
  add(metadata.batch ? "inputs" : "for exchanges", needs.persistent);
  if (!on_device)
    add("scratch", needs.scratch * workers);
  return memory;
}

uint64_t sum(const Memory &memory) {
  uint64_t bytes = 0;
  for (const auto &[what, own] : memory)
    bytes += own;
  return bytes;
}

/// Of one token of each sequence behind so many positions: the bytes and the
/// operations of all ranks.
struct TokenCosts {
  double flops, bytes;
};

TokenCosts token_costs(const Costs &costs, double ranks, double sequences,
                       double positions) {
  TokenCosts token{costs.flops_per_token * sequences,
                   costs.weight_bytes(sequences) +
                       sequences * positions * costs.kv_bytes_per_position};
  for (auto [window, flops] : costs.attention)
    token.flops += sequences * flops *
                   (window ? std::min(double(window), positions) : positions);
  // A rank's costs are of what it has.
  token.flops *= ranks;
  token.bytes *= ranks;
  return token;
}

} // namespace

void forecast_decoding(const Metadata &metadata, const BenchOptions &options) {
  const Mesh mesh = Mesh::parse(metadata.json);
  if (metadata.json.contains("stages"))
    throw Error("--dry-run: info says what each stage of this program needs");
  const uint64_t positions = options.prefill + options.decode;
  std::vector<uint64_t> batches = options.batch;
  if (batches.empty())
    batches = {1};
  const uint64_t most = *std::max_element(batches.begin(), batches.end());
  if (most > (metadata.batch ? metadata.batch->max_sequences : 1))
    throw Error(
        "--batch " + std::to_string(most) + ": the program decodes at most " +
        std::to_string(metadata.batch ? metadata.batch->max_sequences : 1) +
        " sequences at once; batonc --max-batch says how many");
  const uint32_t ranks = mesh.ranks();
  const MachineForecast machine =
      measure_machine(metadata, chosen_workers(options.run),
                      metadata.costs.has_value(), limits_of(metadata).products);
  const Memory memory = memory_of(
      metadata, memory_needs(metadata, 0), most,
      std::max<uint64_t>(1, positions),
      std::clamp<uint32_t>(static_cast<uint32_t>(options.prefill), 1,
                           chosen_prefill_chunk(options.run, metadata)),
      std::max(1u, machine.workers / ranks));
  const uint64_t all = sum(memory) * ranks + machine.process;

  Json json = {{"ranks", ranks},
               {"mesh", mesh.text()},
               {"phases", metadata.phases.size()},
               {"prefill", options.prefill},
               {"decode", options.decode}};
  for (const auto &[what, bytes] : memory)
    json["memory"][what] = bytes;
  json["bytes"] = all;
  json["process_bytes"] = machine.process;
  json["machine"] = machine_json(machine);
  std::string text = "plan\n  " + count_text(ranks, "rank") + ", " +
                     count_text(metadata.phases.size(), "phase") + "\nmemory\n";
  Table table({1});
  for (const auto &[what, bytes] : memory)
    table.add({what, bytes_text(double(bytes))});
  if (ranks > 1)
    table.add({"of a rank", bytes_text(double(sum(memory)))});
  if (machine.process)
    table.add({"the program itself", bytes_text(double(machine.process))});
  table.add({ranks > 1 ? "of all ranks" : "in all", bytes_text(double(all))});
  text += table.text(2) + memory_verdict(machine, all);
  if (machine.flops > 0) {
    const double prompt =
        double(ranks) * metadata.costs->prompt_flops(options.prefill);
    const double seconds = prompt / machine.flops;
    json["prompt"] = {{"flops", prompt}, {"seconds_at_least", seconds}};
    text += "time\n  a prompt of " + count_text(options.prefill, "token") +
            " takes at least " + seconds_text(seconds) + ": " +
            scaled_text(prompt, "FLOP") + "\n";
    const double middle = double(options.prefill) + double(options.decode) / 2;
    for (uint64_t sequences : batches) {
      const TokenCosts token =
          token_costs(*metadata.costs, ranks, double(sequences), middle);
      const double least =
          std::max(token.flops / machine.flops, token.bytes / machine.bytes);
      json["decoding"].push_back(
          {{"sequences", sequences},
           {"flops", token.flops},
           {"bytes", token.bytes},
           {"seconds_at_least", least},
           {"tokens_per_s_at_most", double(sequences) / least}});
      text += "  a token of " + count_text(sequences, "sequence") +
              " takes at least " + seconds_text(least) + ", " +
              fixed_text(double(sequences) / least, 1) +
              " tokens/s at most: " + scaled_text(token.bytes, "B") + ", " +
              scaled_text(token.flops, "FLOP") + "\n";
    }
    text += "  " + speed_text(machine) + "\n";
  }
  print(options.json ? json.dump() + "\n" : text);
}

} // namespace baton
