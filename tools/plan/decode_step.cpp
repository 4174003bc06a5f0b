//===- decode_step.cpp - how long a step of a decoder takes ---------------===//

#include "tools/plan/decode_step.h"

#include "runtime/error.h"
#include "tools/plan/measured_ops.h"

using namespace baton;
using namespace baton::plan;

std::vector<StepPart> plan::decode_step(const Decoder &decoder,
                                        const Device &device,
                                        const DecodeStep &step) {
  std::vector<StepPart> parts;
  auto add = [&](const char *name, double times, const char *op,
                 const std::string &type, const std::vector<double> &sizes) {
    const std::optional<OpTime> time = measured_time(device, op, type, sizes);
    if (!time)
      throw Error(device.name + " has no table of " + op + " " + type +
                  "; batonc calibrate measures one, and --dtype says of which "
                  "types of weights");
    parts.push_back({name, times, time->seconds, time->inside});
  };
  const double layers = double(decoder.layers);
  const double rows = double(step.rows);
  const double hidden = double(decoder.hidden);
  const double queries = double(decoder.heads * decoder.head_size);
  const double keys = double(decoder.kv_heads * decoder.head_size);
  const double mlp = double(decoder.mlp);

  add("embedding", 1, "embedding", "f32", {rows, hidden});
  add("qkv", layers, "linear", step.type, {rows, queries + 2 * keys, hidden});
  if (!decoder.learned_positions) {
    add("query rope", layers, "rope", "f32", {rows, queries});
    add("key rope", layers, "rope", "f32", {rows, keys});
  }
  add("keys and values", 2 * layers, "append", "f32", {rows, keys});
  add("attention", layers * (step.batched ? rows : 1), "attention", "f32",
      {step.batched ? 1 : rows, double(step.positions),
       double(decoder.kv_heads), double(decoder.heads) / decoder.kv_heads,
       double(decoder.head_size)});
  add("output", layers, "linear", step.type, {rows, hidden, queries});
  if (decoder.gated)
    add("gate and up", layers, "gated_linear", step.type, {rows, mlp, hidden});
  else
    add("up", layers, "linear", step.type, {rows, mlp, hidden});
  add("down", layers, "linear", step.type, {rows, hidden, mlp});
  add("head", 1, "linear", step.type,
      {double(step.outputs), double(decoder.vocabulary), hidden});
  add("between steps", 1, "step", "one_sequence", {rows});
  return parts;
}

double plan::seconds(const std::vector<StepPart> &parts) {
  double sum = 0;
  for (const StepPart &part : parts)
    sum += part.times * part.seconds;
  return sum;
}
