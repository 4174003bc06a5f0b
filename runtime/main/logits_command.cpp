//===- logits_command.cpp - writes the logits at every position ----------===//

#include "runtime/main/commands.h"

#include "runtime/decode/scoring.h"
#include "runtime/error.h"
#include "runtime/execute/execution.h"
#include "runtime/execute/npy.h"
#include "runtime/execute/value_dump.h"
#include "runtime/main/decode_ranks.h"
#include "runtime/main/memory_check.h"
#include "runtime/main/run_trace.h"
#include "runtime/main/weights.h"

#include <algorithm>

namespace baton {

static void write_logits(const Metadata &metadata, const LogitsOptions &options,
                         const DecodeRanks &ranks) {
  std::vector<int32_t> tokens = parse_token_list("--tokens", options.tokens);
  check_tokens("--tokens", tokens, metadata);
  uint32_t chunk = std::min(chosen_prefill_chunk(options.run, metadata),
                            metadata.max_outputs);
  // The values of a phase are complete after it only when one worker runs all.
  unsigned workers = options.dump ? 1 : program_workers(options.run, metadata);
  if (options.dump && options.run.workers > 1)
    throw Error("--dump runs one worker; leave out --workers");
  weights_folder(options.run);
  if (options.dump &&
      std::filesystem::path(options.out).lexically_normal() ==
          std::filesystem::path(*options.dump).lexically_normal())
    throw Error("--out and --dump are both " + options.out);

  // Before the weights are loaded, which may take long.
  NpyWriter output(options.out, NpyType::F32, {metadata.vocabulary});
  std::optional<ValueDump> dump;
  if (options.dump)
    dump.emplace(metadata, *options.dump);

  RankParameters parameters = ranks.load_weights(options.run);
  Scoring scoring(tokens, chunk, output, dump ? &*dump : nullptr);
  std::unique_ptr<Execution> execution =
      ranks.make_execution(parameters, options.run, workers);
  RunTrace trace(metadata, options.run, *execution);
  MemoryCheck memory(metadata, options.run, *execution);
  execution->run(scoring, /*observed=*/dump.has_value());
  if (dump)
    dump->publish();
  trace.publish();
  memory.publish();
  output.publish();
}

void logits_command(const Metadata &metadata, const LogitsOptions &options) {
  on_decode_ranks(metadata, options.run, options,
                  [&](const DecodeRanks &ranks) {
                    write_logits(metadata, options, ranks);
                  });
}

} // namespace baton
