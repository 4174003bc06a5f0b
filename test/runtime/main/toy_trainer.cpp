//===- toy_trainer.cpp - a hand-written program that trains, for tests ----===//
//
// Implements runtime/program.h the way code that is compiled with --mode=train
// and, for BATON_TOY_RANKS above 1, --mesh=dp=N does, for a model small enough
// to be computed by hand. Of a weight p[64], a row with the token t, the target
// y and the weight w has the
//
//   loss       w / 2 (p[t % 64] - y / 97)^2
//   gradient   w (p[t % 64] - y / 97)   of p[t % 64]
//
// and an update is m = m / 2 + gradient, p -= learning rate * m.
//
//===----------------------------------------------------------------------===//

#include "runtime/execute/host_execution.h"
#include "runtime/main/batch_commands.h"
#include "runtime/main/training_commands.h"
#include "runtime/program.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include <x86intrin.h>

#define TEXT(X) #X
#define NUMBER(X) TEXT(X)
#define RANKS NUMBER(BATON_TOY_RANKS)

extern "C" void baton_yield(void);

namespace {

constexpr uint32_t ranks = BATON_TOY_RANKS, width = 64, part = width / ranks;
constexpr uint32_t line = 16; // floats that ranks tell each other of a loss

enum Storage {
  Tokens,
  Positions,
  Targets,
  TargetWeights,
  Accumulate,
  Numbers,
  Weight,
  Gradient,
  Moment,
  Summary,
  Parts,
  Sum,
  Loss,
  Losses
};

/// One worker's view.
struct Step {
  BatonContext *context;
  const BatonStep &step;

  float *floats(Storage storage) const {
    return static_cast<float *>(context->storages[storage]);
  }
  const int32_t *integers(Storage storage) const {
    return static_cast<const int32_t *>(context->storages[storage]);
  }

  void done(uint32_t phase, uint64_t begin) const {
    if (context->trace)
      context->trace(context, context->workers, &step, phase, 0, 0, begin,
                     begin);
    if (context->observe)
      context->observe(context, phase, 0, &step);
  }

  /// Phase 0: what the rows of this rank add.
  void rows() const {
    uint64_t begin = __rdtsc();
    float *gradient = floats(Gradient);
    if (!*integers(Accumulate))
      std::fill_n(gradient, width, 0.0f);
    float loss = 0;
    for (uint32_t row = 0; row < step.rows; ++row) {
      uint32_t place = static_cast<uint32_t>(integers(Tokens)[row]) % width;
      float error = floats(Weight)[place] -
                    static_cast<float>(integers(Targets)[row]) / 97;
      float weight = floats(TargetWeights)[row];
      gradient[place] += weight * error;
      loss += weight * error * error / 2;
    }
    floats(Loss)[0] = loss;
    done(0, begin);
  }

  void exchange(uint32_t collective, Storage send, Storage receive,
                uint64_t bytes, uint64_t part_bytes) const {
    if (ranks == 1) {
      std::copy_n(floats(send), bytes / sizeof(float), floats(receive));
      return;
    }
    BatonExchange tensor = {floats(send), floats(receive), bytes, part_bytes,
                            part_bytes};
    context->exchange(context, collective, 0, &tensor, 1);
  }

  /// Phase 1: the sum over ranks, in their order.
  void reduce() const {
    uint64_t begin = __rdtsc();
    constexpr uint64_t part_bytes = part * sizeof(float);
    exchange(0, Gradient, Parts, width * sizeof(float), part_bytes);
    float *parts = floats(Parts);
    for (uint32_t rank = 1; rank < ranks; ++rank)
      for (uint32_t i = 0; i < part; ++i)
        parts[i] += parts[rank * part + i];
    exchange(1, Parts, Gradient, width * sizeof(float), part_bytes);
    done(1, begin);
  }

  /// Phase 2.
  void update() const {
    uint64_t begin = __rdtsc();
    for (uint32_t i = 0; i < width; ++i) {
      float &moment = floats(Moment)[i];
      moment = moment / 2 + floats(Gradient)[i];
      floats(Weight)[i] -= floats(Numbers)[1] * moment;
    }
    done(2, begin);
  }

  /// Phase 3: loss and norm.
  void end(BatonStep *next) const {
    uint64_t begin = __rdtsc();
    exchange(2, Loss, Losses, ranks * line * sizeof(float),
             line * sizeof(float));
    float loss = 0, squares = 0;
    for (uint32_t rank = 0; rank < ranks; ++rank)
      loss += floats(Losses)[rank * line];
    for (uint32_t i = 0; i < width; ++i)
      squares += floats(Gradient)[i] * floats(Gradient)[i];
    floats(Summary)[0] = loss;
    floats(Summary)[1] = step.outputs ? std::sqrt(squares) : 0;
    done(3, begin);
    context->advance(context, &step, next, floats(Summary), 16, 2);
  }
};

} // namespace

extern "C" void baton_program(BatonContext *context, uint32_t worker,
                              uint32_t workers) {
  for (uint32_t t = 0;; ++t) {
    const BatonStep step = context->steps[t & 1];
    if (step.rows == 0)
      return;
    if (worker == 0) {
      Step own = {context, context->steps[t & 1]};
      own.rows();
      if (step.outputs) {
        own.reduce();
        own.update();
      }
      own.end(&context->steps[(t + 1) & 1]);
    }
    std::atomic_ref<uint32_t> border(context->border);
    border.fetch_add(1, std::memory_order_acq_rel);
    while (static_cast<int32_t>(border.load(std::memory_order_acquire) -
                                (t + 1) * workers) < 0)
      baton_yield();
  }
}

#if BATON_TOY_RANKS > 1
#define MESH                                                                   \
  R"("mesh": {"axes": [{"name": "dp", "size": )" RANKS                         \
  R"(}], "batch": ["dp"]},
 "collectives": [
  {"name": "scatter", "kind": "all_to_all", "axes": ["dp"],
   "operation": "all_reduce", "payload": "4 * 64", "tensors": ["gradient"]},
  {"name": "gather", "kind": "all_gather", "axes": ["dp"],
   "operation": "all_reduce", "payload": "4 * 64", "tensors": ["gradient"]},
  {"name": "losses", "kind": "all_gather", "axes": ["dp"],
   "operation": "loss", "payload": "4 * 16 * )" RANKS                          \
  R"(", "tensors": ["loss"]}],)"
#else
#define MESH ""
#endif

#define STORAGE(NAME, KIND)                                                    \
  R"({"name": ")" NAME R"(", "bytes": 1024, "kind": ")" KIND R"("})"
#define INPUT(NAME, ELEMENT, COUNT, INDEX)                                     \
  R"({"name": ")" NAME R"(", "role": "input", "element": ")" ELEMENT           \
  R"(", "shape": [)" COUNT R"(], "layers": 1, "storage": )" INDEX "}"
#define OF_WEIGHT(NAME, ROLE, INDEX)                                           \
  R"({"name": ")" NAME R"(", "role": ")" ROLE                                  \
  R"(", "element": "f32", "shape": [64], "layers": 1, "storage": )" INDEX      \
  R"(, "parts": [{"sources": ["line.weight"], "shape": [64]}]})"
#define PHASE(NAME, BUFFER, INDEX)                                             \
  R"({"name": ")" NAME R"(", "segment": "step", "repeat": 1, "writes": [
    {"buffer": ")" BUFFER R"(", "element": "f32", "storage": )" INDEX          \
  R"(, "offset": 0, "strides": [1], "capacity": [64], "layers": 1,
     "layer_stride": 0, "extents": [64]}]})"

// clang-format off
#define TOY_METADATA                                                           \
  R"({"format": 1,
 "model": {"name": "toy-trainer", "family": "line", "layers": 1,
           "vocabulary": 97, "dtype": "f32"},
 "target": {"triple": "any", "cpu": "any", "sanitize": ""},
 "max_rows": 64, "max_seq": 64, "max_outputs": 1, "scratch_bytes": 0,
 "parameters": [],)" MESH R"("storages": [)"                                   \
  STORAGE("tokens", "persistent") ","                                          \
  STORAGE("positions", "persistent") ","                                       \
  STORAGE("targets", "persistent") ","                                         \
  STORAGE("target_weights", "persistent") ","                                  \
  STORAGE("accumulate", "persistent") ","                                      \
  STORAGE("numbers", "persistent") ","                                         \
  STORAGE("weight", "persistent") ","                                          \
  STORAGE("gradient", "persistent") ","                                        \
  STORAGE("moment", "persistent") ","                                          \
  STORAGE("summary", "transient") ","                                          \
  STORAGE("parts", "transient") ","                                            \
  STORAGE("sum", "transient") ","                                              \
  STORAGE("loss", "transient") ","                                             \
  STORAGE("losses", "transient")                                               \
  R"(], "events": {"words": 1, "tensors": []}, "phases": [)"                   \
  PHASE("rows", "gradient", "7") ","                                           \
  PHASE("reduce", "sum", "7") ","                                              \
  PHASE("update", "weight", "6") ","                                           \
  PHASE("end", "moment", "8")                                                  \
  R"(], "training": {"longest_sequence": 32, "compute": "f32",
  "vocabulary": 97, "tensors": [)"                                             \
  INPUT("tokens", "i32", "64", "0") ","                                        \
  INPUT("positions", "i32", "64", "1") ","                                     \
  INPUT("targets", "i32", "64", "2") ","                                       \
  INPUT("target_weights", "f32", "64", "3") ","                                \
  INPUT("accumulate", "i32", "1", "4") ","                                     \
  R"({"name": "numbers", "role": "input", "element": "f32", "shape": [4],
      "layers": 1, "storage": 5, "numbers": [{"name": "step"},
      {"name": "learning_rate"}, {"name": "clip"}, {"name": "loss_scale"}]},)" \
  OF_WEIGHT("line.weight.weights", "parameter", "6") ","                       \
  OF_WEIGHT("line.weight.gradient", "gradient", "7") ","                       \
  OF_WEIGHT("line.weight.moment", "optimizer", "8")                            \
  R"(]}, "proof": {"status": "by hand", "assumptions": []}})"
// clang-format on

extern "C" {
extern const baton::BatchCommands *const baton_batch_commands = nullptr;
extern const baton::TrainingCommands *const baton_training_commands =
    &baton_all_training_commands;
extern const baton::ExecutionFactory baton_execution_factory =
    baton_make_host_execution;
extern const char baton_metadata[] = TOY_METADATA;
extern const uint64_t baton_metadata_size = sizeof(baton_metadata) - 1;
}
