//===- toy_program.cpp - a hand-written program for tests of the runtime -===//

#include "toy_program.h"

#include "runtime/execute/host_execution.h"
#include "runtime/main/batch_commands.h"
#include "runtime/main/training_commands.h"
#include "runtime/weights/hash.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <thread>
#include <utility>

extern "C" void baton_yield(void);

namespace baton::toy {

namespace {

constexpr int32_t not_a_number_token = 258;

std::vector<BatonStep> steps;

uint32_t next_state(uint32_t state, int32_t token) {
  return static_cast<uint32_t>(
      mix(uint64_t(state) + static_cast<uint64_t>(token) + 1));
}

float logit(uint32_t state, int32_t last_token, int64_t column) {
  if (last_token == not_a_number_token)
    return std::numeric_limits<float>::quiet_NaN();
  int64_t successor = last_token >= 240 && last_token < 250 ? last_token + 1
                      : last_token == 250                   ? end_of_text
                                                            : -1;
  if (column == successor)
    return 100;
  if (column == not_a_number_token)
    return -100;
  uint64_t bits = mix((uint64_t(state) << 20) + static_cast<uint64_t>(column));
  return static_cast<float>(bits >> 40) * 0x1p-21f - 4;
}

/// For tests that act while a program runs: the environment may name a file
/// that has to exist before the fifth position is computed, and a time that
/// every step takes from there on.
void take_a_while(const BatonStep &step) {
  if (step.past < 4)
    return;
  const char *gate = std::getenv("BATON_TOY_GATE");
  while (gate && !std::filesystem::exists(gate))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (const char *text = std::getenv("BATON_TOY_STEP_MILLISECONDS"))
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(text)));
}

uint32_t *word(BatonContext *context, int index) {
  return context->events + index * 16;
}

void wait(uint32_t *event, uint32_t target) {
  std::atomic_ref<uint32_t> counter(*event);
  while (static_cast<int32_t>(counter.load(std::memory_order_acquire) -
                              target) < 0)
    baton_yield();
}

void notify(uint32_t *event) {
  std::atomic_ref<uint32_t>(*event).fetch_add(1, std::memory_order_acq_rel);
}

uint32_t *states(BatonContext *context, uint32_t layer) {
  return static_cast<uint32_t *>(context->storages[0]) + layer * max_seq;
}

void observe(BatonContext *context, uint32_t phase, uint32_t iteration,
             const BatonStep *step) {
  if (context->observe)
    context->observe(context, phase, iteration, step);
}

/// Phase 0, twice: the states of the step's rows; the second layer negates.
void state_phase(BatonContext *context, const BatonStep &step, uint32_t layer) {
  uint32_t *first = states(context, 0);
  for (uint32_t p = step.past; p < step.past + step.rows; ++p)
    if (layer == 0)
      first[p] = next_state(p ? first[p - 1] : 0, context->tokens[p]);
    else
      states(context, layer)[p] = ~first[p];
}

/// Phase 1: columns [begin, end) of the logits.
void logits_phase(BatonContext *context, const BatonStep &step, int64_t begin,
                  int64_t end) {
  auto *logits = static_cast<float *>(context->storages[1]);
  const auto *bias = static_cast<const float *>(context->parameters[0]);
  for (uint32_t output = 0; output < step.outputs; ++output) {
    uint32_t position = step.past + step.rows - step.outputs + output;
    for (int64_t column = begin; column < end; ++column)
      logits[output * logits_stride + column] =
          logit(~states(context, layers - 1)[position],
                context->tokens[position], column) +
          bias[column];
  }
}

} // namespace

uint32_t state_after(const std::vector<int32_t> &tokens) {
  uint32_t state = 0;
  for (int32_t token : tokens)
    state = next_state(state, token);
  return state;
}

std::vector<float> logits_after(const std::vector<int32_t> &tokens) {
  std::vector<float> logits;
  for (int64_t column = 0; column < vocabulary; ++column)
    logits.push_back(logit(state_after(tokens), tokens.back(), column));
  return logits;
}

std::vector<int32_t> greedy(std::vector<int32_t> tokens, size_t count) {
  std::vector<int32_t> result;
  for (size_t i = 0; i < count; ++i) {
    std::vector<float> logits = logits_after(tokens);
    auto largest = std::max_element(logits.begin(), logits.end());
    tokens.push_back(static_cast<int32_t>(largest - logits.begin()));
    result.push_back(tokens.back());
  }
  return result;
}

std::vector<BatonStep> take_steps() { return std::exchange(steps, {}); }

} // namespace baton::toy

using namespace baton::toy;

extern "C" void baton_program(BatonContext *context, uint32_t worker,
                              uint32_t workers) {
  uint32_t *bases = context->workers[worker].bases;
  for (uint32_t t = 0;; ++t) {
    const BatonStep step = context->steps[t & 1];
    if (step.rows == 0)
      return;
    if (worker == 0) {
      steps.push_back(step);
      take_a_while(step);
      for (uint32_t layer = 0; layer < layers; ++layer) {
        state_phase(context, step, layer);
        observe(context, 0, layer, &step);
      }
      notify(word(context, 0));
    }

    wait(word(context, 0), bases[0] + 1);
    logits_phase(context, step, vocabulary * worker / workers,
                 vocabulary * (worker + 1) / workers);
    notify(word(context, 1));

    if (worker == workers - 1) {
      wait(word(context, 1), bases[1] + workers);
      context->advance(context, &context->steps[t & 1],
                       &context->steps[(t + 1) & 1],
                       static_cast<float *>(context->storages[1]),
                       logits_stride, vocabulary);
      observe(context, 1, 0, &step);
    }
    bases[0] += 1;
    bases[1] += workers;
    notify(&context->border);
    wait(&context->border, (t + 1) * workers);
  }
}

#define TOY_METADATA                                                           \
  R"({"format": 1,
 "model": {"name": "toy", "family": "hash", "layers": 2, "vocabulary": 259,
           "dtype": "f32"},
 "target": {"triple": "any", "cpu": "any", "sanitize": ""},
 "max_rows": 8, "max_seq": 64, "max_outputs": 4, "scratch_bytes": 0,
 "parameters": [{"name": "bias", "kind": "vector", "dtype": "f32", "n": 259,
                 "parts": [{"sources": ["bias"], "shape": [259]}]}],
 "storages": [{"name": "states", "bytes": 512, "kind": "state"},
              {"name": "logits", "bytes": 4352, "kind": "transient"}],
 "events": {"words": 2, "tensors": [{"name": "stored", "words": 1},
                                    {"name": "scored", "words": 1}]},
 "phases": [
  {"name": "state", "segment": "layers", "repeat": 2, "writes": [
    {"buffer": "states", "element": "i32", "storage": 0, "offset": 0,
     "strides": [1], "capacity": [64], "layers": 2, "layer_stride": 64,
     "extents": ["past+rows"]}]},
  {"name": "head/logits", "segment": "end", "repeat": 1, "writes": [
    {"buffer": "logits", "element": "f32", "storage": 1, "offset": 0,
     "strides": [272, 1], "capacity": [4, 259], "layers": 1, "layer_stride": 0,
     "extents": ["outputs", 259]}]}],
 "proof": {"status": "by hand", "assumptions": ["tokens are in range"]},
 "costs": {"flops_per_token": 1000, "flops_per_output": 100, "weight_bytes_per_token": 1036,
           "kv_bytes_per_position": 4}})"

extern "C" {
extern const baton::BatchCommands *const baton_batch_commands = nullptr;
extern const baton::TrainingCommands *const baton_training_commands = nullptr;
extern const baton::ExecutionFactory baton_execution_factory =
    baton_make_host_execution;
extern const char baton_metadata[] = TOY_METADATA;
extern const uint64_t baton_metadata_size = sizeof(baton_metadata) - 1;
}

std::string baton::toy::metadata() {
  return {baton_metadata, baton_metadata_size};
}
