//===- toy_batch.cpp - a hand-written program of many sequences ----------===//
//
// Takes the flags of the commands batch and, behind --score, score. Its numbers
// are those of test/runtime/batch/paged_numbers.h. The environment may name a
// time that every step takes, BATON_TOY_STEP_MILLISECONDS.
//
//===----------------------------------------------------------------------===//

#include "../batch/paged_numbers.h"
#include "runtime/execute/host_execution.h"
#include "runtime/main/batch_commands.h"
#include "runtime/main/commands.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/training_commands.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

extern "C" void baton_yield(void);

namespace baton {
namespace {

constexpr uint32_t max_positions = 512;
constexpr uint32_t max_changes = max_positions + 8;
constexpr uint32_t max_sequences = 6;
constexpr int64_t vocabulary = 256;
constexpr uint64_t line_entries = pages_of(max_positions);

struct Cell {
  int32_t token;
  int32_t position;
};

template <typename T> T *storage(BatonContext *context, size_t index) {
  return static_cast<T *>(context->storages[index]);
}

void compute(BatonContext *context, const BatonStep &step) {
  const auto *tokens = storage<int32_t>(context, 0);
  const auto *positions = storage<int32_t>(context, 1);
  const auto *sequences = storage<int32_t>(context, 2);
  const auto *slots = storage<int32_t>(context, 3);
  const auto *pages = storage<int32_t>(context, 4);
  auto *cells = storage<Cell>(context, 5);
  auto *logits = storage<float>(context, 6);
  const auto *sampling = storage<BatonSampling>(context, 7);
  const auto *changes = storage<BatonChange>(context, 8);
  auto *draws = storage<BatonDraw>(context, 9);
  auto *masks = storage<uint32_t>(context, 10);
  for (uint32_t row = 0; row < step.rows; ++row)
    cells[slots[row]] = {tokens[row], positions[row]};
  for (uint32_t output = 0; output < step.outputs; ++output) {
    const uint32_t row = step.rows - step.outputs + output;
    const int32_t *line =
        pages + static_cast<uint64_t>(sequences[row]) * line_entries;
    uint64_t hash = 0;
    bool poisoned = false;
    for (int32_t p = 0; p <= positions[row]; ++p) {
      const Cell &cell = cells[line[p / 64] * 64 + p % 64];
      hash = test::hash_token(hash, cell.token,
                              static_cast<uint64_t>(cell.position));
      poisoned |= cell.token == test::poison;
    }
    const std::span<float> own(logits + output * vocabulary,
                               size_t(vocabulary));
    test::fill_logits(hash, poisoned, own);
    const size_t of = sampling[output].line;
    const BatonSampling &wanted = sampling[output];
    uint32_t *const mask = masks + output * (vocabulary / 32);
    if (wanted.masked)
      wanted.make_mask(wanted.text, mask, vocabulary / 32);
    draws[output] =
        test::draw_from(own, wanted, changes + of * max_changes, mask);
  }
  if (const char *text = std::getenv("BATON_TOY_STEP_MILLISECONDS"))
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(text)));
}

BatchCommandOptions parse_flags(int argc, char **argv) {
  BatchCommandOptions options;
  options.run.no_cache = true;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
    if (flag == "--weights")
      options.run.weights = value();
    else if (flag == "--requests")
      options.requests = value();
    else if (flag == "--out")
      options.out = value();
    else if (flag == "--kv-memory")
      options.kv_memory = value();
    else if (flag == "--workers")
      options.run.workers = std::strtoull(value(), nullptr, 10);
    else if (flag == "--max-new-tokens")
      options.max_new_tokens = std::strtoull(value(), nullptr, 10);
    else if (flag == "--score")
      options.scores = true;
    else if (flag == "--no-prefix-cache")
      options.no_prefix_cache = true;
    else if (flag == "--json")
      options.json = true;
    else if (flag == "--quiet")
      options.run.quiet = true;
  }
  return options;
}

} // namespace
} // namespace baton

extern "C" void baton_program(BatonContext *context, uint32_t worker,
                              uint32_t workers) {
  std::atomic_ref<uint32_t> border(context->border);
  for (uint32_t t = 0;; ++t) {
    const BatonStep step = context->steps[t & 1];
    if (step.rows == 0)
      return;
    if (worker == 0) {
      baton::compute(context, step);
      context->advance(context, &context->steps[t & 1],
                       &context->steps[(t + 1) & 1],
                       static_cast<float *>(context->storages[6]),
                       baton::vocabulary, baton::vocabulary);
    }
    border.fetch_add(1, std::memory_order_acq_rel);
    while (border.load(std::memory_order_acquire) < (t + 1) * workers)
      baton_yield();
  }
}

extern "C" {
extern const baton::BatchCommands *const baton_batch_commands =
    &baton_all_batch_commands;
extern const baton::TrainingCommands *const baton_training_commands = nullptr;
extern const baton::ExecutionFactory baton_execution_factory =
    baton_make_host_execution;
extern const char baton_metadata[] =
    R"({"format": 1,
 "model": {"name": "toy", "family": "hash", "layers": 1, "vocabulary": 256,
           "dtype": "f32"},
 "target": {"triple": "any", "cpu": "any", "sanitize": ""},
 "max_rows": 16, "max_seq": 512, "max_outputs": 4, "scratch_bytes": 0,
 "parameters": [{"name": "bias", "kind": "vector", "dtype": "f32", "n": 256,
                 "parts": [{"sources": ["bias"], "shape": [256]}]}],
 "storages": [{"name": "tokens", "bytes": 64, "kind": "state"},
              {"name": "positions", "bytes": 64, "kind": "state"},
              {"name": "sequences", "bytes": 64, "kind": "state"},
              {"name": "slots", "bytes": 64, "kind": "state"},
              {"name": "pages", "bytes": 192, "kind": "state"},
              {"name": "cells", "bytes": 24576, "kind": "state"},
              {"name": "logits", "bytes": 4096, "kind": "transient"},
              {"name": "sampling", "bytes": 448, "kind": "state"},
              {"name": "changes", "bytes": 37440, "kind": "state"},
              {"name": "draws", "bytes": 672, "kind": "state"},
              {"name": "masks", "bytes": 128, "kind": "state"}],
 "events": {"words": 1, "tensors": []},
 "phases": [],
 "proof": {"status": "by hand", "assumptions": []}})";
extern const uint64_t baton_metadata_size = sizeof(baton_metadata) - 1;
}

int main(int argc, char **argv) {
  using namespace baton;
  handle_signals();
  try {
    Metadata metadata = Metadata::parse({baton_metadata, baton_metadata_size});
    metadata.batch = {.max_sequences = max_sequences,
                      .max_positions = max_positions,
                      .max_changes = max_changes,
                      .tokens = 0,
                      .positions = 1,
                      .sequences = 2,
                      .slots = 3,
                      .pages = 4,
                      .sampling = 7,
                      .changes = 8,
                      .masks = 10,
                      .draws = 9,
                      .page_bytes = 64 * sizeof(Cell)};
    batch_command(metadata, parse_flags(argc, argv));
    return 0;
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "error: %s\n", failure.what());
    return 1;
  }
}
