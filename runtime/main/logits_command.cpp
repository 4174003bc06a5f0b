//===- logits_command.cpp - writes the logits at positions of texts -------===//

#include "runtime/main/commands.h"

#include "runtime/decode/scoring.h"
#include "runtime/error.h"
#include "runtime/execute/execution.h"
#include "runtime/execute/npy.h"
#include "runtime/execute/value_dump.h"
#include "runtime/main/adapters.h"
#include "runtime/main/data_windows.h"
#include "runtime/main/decode_ranks.h"
#include "runtime/main/memory_check.h"
#include "runtime/main/output.h"
#include "runtime/main/run_trace.h"
#include "runtime/main/weights.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace baton {

static void run_scoring(const Metadata &metadata, const LogitsOptions &options,
                        const DecodeRanks &ranks,
                        const RankParameters &parameters,
                        const LoneAdapter &adapter, unsigned workers,
                        Scoring &scoring) {
  std::unique_ptr<Execution> execution =
      ranks.make_execution(parameters, options.run, workers);
  adapter.load(*execution);
  RunTrace trace(metadata, options.run, *execution);
  MemoryCheck memory(metadata, options.run, *execution);
  execution->run(scoring, /*observed=*/options.dump.has_value());
  trace.publish();
  memory.publish();
}

static void write_logits(const Metadata &metadata, const LogitsOptions &options,
                         const DecodeRanks &ranks) {
  std::vector<int32_t> tokens = parse_token_list("--tokens", *options.tokens);
  check_tokens("--tokens", tokens, metadata);
  const uint32_t chunk = std::min(chosen_prefill_chunk(options.run, metadata),
                                  metadata.max_outputs);
  // The values of a phase are complete after it only when one worker runs all.
  unsigned workers = options.dump ? 1 : program_workers(options.run, metadata);
  if (options.dump && options.run.workers > 1)
    throw Error("--dump runs one worker; leave out --workers");
  weights_path(options.run);
  if (options.dump &&
      std::filesystem::path(*options.out).lexically_normal() ==
          std::filesystem::path(*options.dump).lexically_normal())
    throw Error("--out and --dump are both " + *options.out);

  // Before the weights are loaded, which may take long.
  const LoneAdapter adapter(metadata, options.adapter);
  NpyWriter output(*options.out, NpyType::F32, {metadata.vocabulary});
  std::optional<ValueDump> dump;
  if (options.dump)
    dump.emplace(metadata, *options.dump);

  RankParameters parameters = ranks.load_weights(options.run);
  Scoring scoring(
      {tokens}, 0, chunk, chunk,
      [&](const float *rows, uint64_t count) { output.append(rows, count); },
      dump ? &*dump : nullptr);
  run_scoring(metadata, options, ranks, parameters, adapter, workers, scoring);
  if (dump)
    dump->publish();
  output.publish();
}

static std::string_view bytes_of(const void *data, uint64_t bytes) {
  return {static_cast<const char *>(data), bytes};
}

/// What batonc compare reads: a line of JSON, the tokens of all windows (int32
/// [windows, context]), and their rows (float32 [windows, rows, vocabulary]).
static void stream_logits(const Metadata &metadata,
                          const LogitsOptions &options,
                          const DecodeRanks &ranks) {
  const TextWindows windows = read_windows(metadata, options.run, options.text);
  const LoneAdapter adapter(metadata, options.adapter);
  const nlohmann::ordered_json header = {{"format", "baton-logits"},
                                         {"version", 1},
                                         {"vocabulary", metadata.vocabulary},
                                         {"windows", windows.count()},
                                         {"context", windows.context},
                                         {"first", windows.first()},
                                         {"rows", windows.rows()}};
  print(header.dump() + "\n");
  print(
      bytes_of(windows.tokens.data(), windows.tokens.size() * sizeof(int32_t)));

  const RankParameters parameters = ranks.load_weights(options.run);
  Scoring scoring(
      windows.texts(), windows.first(),
      chosen_prefill_chunk(options.run, metadata), metadata.max_outputs,
      [&](const float *rows, uint64_t count) {
        print(bytes_of(rows, count * metadata.vocabulary * sizeof(float)));
      },
      nullptr);
  run_scoring(metadata, options, ranks, parameters, adapter,
              program_workers(options.run, metadata), scoring);
}

void logits_command(const Metadata &metadata, const LogitsOptions &options) {
  if (!options.text.data && !(options.tokens && options.out))
    throw Error(options.tokens ? "--out is missing: where should the logits go?"
                               : "give --tokens and --out, or --data");
  on_decode_ranks(metadata, options.run, options,
                  [&](const DecodeRanks &ranks) {
                    if (options.text.data)
                      stream_logits(metadata, options, ranks);
                    else
                      write_logits(metadata, options, ranks);
                  });
}

} // namespace baton
