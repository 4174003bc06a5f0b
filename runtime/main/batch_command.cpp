//===- batch_command.cpp - continues or scores many texts at once --------===//

#include "runtime/main/commands.h"

#include "runtime/batch/batch_driver.h"
#include "runtime/batch/batch_file.h"
#include "runtime/decode/output_queue.h"
#include "runtime/error.h"
#include "runtime/execute/execution.h"
#include "runtime/main/adapters.h"
#include "runtime/main/batch_start.h"
#include "runtime/main/decode_ranks.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/memory_check.h"
#include "runtime/main/output.h"
#include "runtime/main/progress.h"
#include "runtime/main/run_trace.h"
#include "runtime/main/serving_setup.h"
#include "runtime/main/table.h"
#include "runtime/main/weights.h"
#include "runtime/serve/batch_lines.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace baton {

namespace {

using namespace std::chrono_literals;
using BatchClock = std::chrono::steady_clock;

using ResultQueue = OutputQueue<BatchResult>;

/// Takes requests from one file to another.
class BatchRun {
public:
  BatchRun(RequestFile &requests, ResultFile &results,
           const BatchFormat &format, BatchDriver &driver, ResultQueue &queue)
      : requests(requests), results(results), format(format), driver(driver),
        queue(queue), start(BatchClock::now()) {}

  /// Returns when all have results, or a signal came.
  void run(Execution &execution, bool quiet) {
    Progress progress(format.scores ? "scoring texts" : "continuing texts",
                      quiet);
    Interruptible interruptible(execution.stop);
    feed();
    while (driver.has_work() && !is_interrupted()) {
      queue.open();
      execution.start(driver);
      try {
        ResultQueue::State state;
        do {
          state = queue.take(finished, 100ms);
          for (BatchResult &result : finished)
            write(std::move(result));
          feed();
          progress.update(results.size(), requests.size(), progress_text());
        } while (state == ResultQueue::State::Open);
      } catch (...) {
        execution.stop = true;
        execution.wait();
        throw;
      }
      execution.wait();
      // What came before the last step's end.
      feed();
    }
  }

  double seconds() const {
    return std::max(
        std::chrono::duration<double>(BatchClock::now() - start).count(), 1e-9);
  }
  uint64_t failed() const { return errors; }
  bool scores() const { return format.scores; }
  /// What the run is for.
  uint64_t tokens() const {
    const BatchCounts counts = driver.counts();
    return scores() ? counts.scored_tokens : counts.generated_tokens;
  }

private:
  /// Hands over what there is room for.
  void feed() {
    for (; !is_interrupted() && next < requests.size(); ++next) {
      if (results.has(next))
        continue;
      std::string error;
      if (pending.empty()) {
        pending = requests.read(next, format, error);
        handed_over = 0;
      }
      if (pending.empty()) {
        results.append(next, error);
        ++errors;
      }
      for (; handed_over < pending.size(); ++handed_over)
        if (!driver.submit(std::move(pending[handed_over])))
          return;
      pending.clear();
    }
  }

  void write(BatchResult &&result) {
    const size_t index = result.request.tag;
    if (auto line = requests.result(std::move(result), format)) {
      results.append(index, line->line);
      errors += line->failed;
    }
  }

  std::string progress_text() const {
    return std::to_string(results.size()) + " of " +
           std::to_string(requests.size()) + " requests, " +
           fixed_text(double(tokens()) / seconds(), 0) + " tokens/s";
  }

  RequestFile &requests;
  ResultFile &results;
  const BatchFormat &format;
  BatchDriver &driver;
  ResultQueue &queue;
  const BatchClock::time_point start;
  size_t next = 0;
  /// Of the next line, and how many of them the driver has.
  std::vector<BatchRequest> pending;
  size_t handed_over = 0;
  std::vector<BatchResult> finished;
  uint64_t errors = 0;
};

nlohmann::ordered_json summary_json(const BatchRun &run,
                                    const BatchCounts &counts, size_t requests,
                                    size_t before, const BatchCapacities &shape,
                                    unsigned workers) {
  return {{"requests", requests},
          {"finished_before", before},
          {"errors", run.failed()},
          {"prompt_tokens", counts.prompt_tokens},
          {"cached_tokens", counts.cached_tokens},
          {"generated_tokens", counts.generated_tokens},
          {"scored_tokens", counts.scored_tokens},
          {"logit_panels", counts.logit_panels},
          {"left_out_panels", counts.left_out_panels},
          {"guessed_tokens", counts.guessed_tokens},
          {"right_guesses", counts.right_guesses},
          {"seconds", run.seconds()},
          {"tokens_per_s", double(run.tokens()) / run.seconds()},
          {"steps", counts.steps},
          {"rows", counts.rows},
          {"preemptions", counts.preemptions},
          {"recomputed_tokens", counts.recomputed},
          {"adapter_loads", counts.adapter_loads},
          {"pages", shape.pages},
          {"workers", workers}};
}

std::string summary_text(const BatchRun &run, const BatchCounts &counts,
                         size_t requests, size_t before, unsigned workers) {
  auto many = [](uint64_t count, const char *what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  std::string text = many(requests, "request");
  if (before)
    text += ", " + std::to_string(before) + " of them finished before";
  if (run.failed())
    text += ", " + many(run.failed(), "error");
  text += ": " + many(run.tokens(), run.scores() ? "scored token" : "token") +
          " at " + fixed_text(double(run.tokens()) / run.seconds(), 1) +
          " tokens/s, after " + std::to_string(counts.prompt_tokens) +
          " of prompts and " + std::to_string(counts.cached_tokens) +
          " that were there; ";
  if (counts.preemptions)
    text += many(counts.preemptions, "preemption") + ", ";
  return text + "with " + many(workers, "worker") + "\n";
}

void run_batch(const Metadata &metadata, const BatchCommandOptions &options,
               const DecodeRanks &ranks) {
  const uint32_t chunk = chosen_prefill_chunk(options.run, metadata);
  const std::shared_ptr<ServedModel> model =
      read_served_model(metadata, options.run);
  model->format.adapters = read_adapters(metadata, options.adapters);
  BatchFormat format = model->format;
  format.api = make_api_lines(model);
  format.scores = options.scores;
  format.max_new_tokens = options.max_new_tokens;
  RequestFile requests(options.requests);

  const std::filesystem::path folder =
      std::filesystem::path(options.out).parent_path();
  BatchStart start(metadata, options.run, options.offload, options.kv_memory,
                   folder.empty() ? "." : folder);
  const OffloadSetup &offload = start.offload();
  if (options.dry_run) {
    if (!offload.is_wanted())
      throw Error("--dry-run is for --memory, which is not given");
    print(options.json ? offload.planned_json().dump() + "\n"
                       : offload.planned_text());
    return;
  }
  ResultFile results(options.out, requests);
  const size_t before = results.size();
  Execution &execution = start.load(ranks);
  model->format.shape = format.shape = start.shape();
  RunTrace trace(metadata, options.run, execution);
  MemoryCheck memory(metadata, options.run, execution);
  ResultQueue queue;
  BatchDriver driver(
      format.shape, execution.inputs(),
      {.prefill_chunk = chunk,
       .prefix_cache = !options.no_prefix_cache,
       .prompt_lookup = options.prompt_lookup,
       .write_storage = storage_writer(execution),
       .tokenizer = format.tokenizer},
      {.on_result =
           [&](BatchResult &&result) { queue.push(std::move(result)); },
       .on_finish = [&] { queue.close(); }});
  BatchRun run(requests, results, format, driver, queue);
  run.run(execution, options.run.quiet);
  if (results.size() != requests.size())
    throw Error("interrupted; " + options.out + " has " +
                std::to_string(results.size()) + " of " +
                std::to_string(requests.size()) +
                " results, and the same command goes on from there");
  results.publish();
  trace.publish();
  memory.publish();
  const BatchCounts counts = driver.counts();
  if (options.json) {
    nlohmann::ordered_json summary =
        summary_json(run, counts, requests.size(), before, format.shape,
                     execution.workers());
    if (offload.is_wanted())
      summary["memory"] = offload.json(execution);
    print(summary.dump() + "\n");
  }
  if (!options.run.quiet && offload.is_wanted())
    std::fputs(offload.text(execution).c_str(), stderr);
  if (!options.run.quiet)
    std::fputs(
        summary_text(run, counts, requests.size(), before, execution.workers())
            .c_str(),
        stderr);
}

} // namespace

void batch_command(const Metadata &metadata,
                   const BatchCommandOptions &options) {
  on_decode_ranks(
      metadata, options.run, options,
      [&](const DecodeRanks &ranks) { run_batch(metadata, options, ranks); });
}

} // namespace baton
