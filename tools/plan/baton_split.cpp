//===- baton_split.cpp - how batonc is told to split a training step ------===//

#include "tools/plan/baton_split.h"

#include "runtime/error.h"
#include "tools/plan/divisors.h"

#include <iterator>

using namespace baton;
using namespace baton::plan;

std::string plan::text_of(const Flags &flags) {
  std::string text;
  for (const auto &[flag, value] : flags) {
    if (!text.empty())
      text += ' ';
    text += flag;
    if (!value.empty())
      text += '=' + value;
  }
  return text;
}

Flags BatonSplit::compile_flags() const {
  Flags flags = {{"--mode", "train"}, {"--max-seq", std::to_string(length)}};
  std::string axes;
  auto axis = [&](const char *name, int64_t size) {
    if (size > 1)
      axes += (axes.empty() ? "" : ",") + std::string(name) + "=" +
              std::to_string(size);
  };
  axis("pp", pipeline);
  axis("dp", data);
  axis("tp", tensor);
  if (!axes.empty())
    flags.emplace_back("--mesh", axes);
  if (pipeline > 1) {
    flags.emplace_back("--pipeline", schedule_text());
    flags.emplace_back("--microbatches", std::to_string(microbatches));
  }
  if (zero > 0)
    flags.emplace_back("--zero", std::to_string(zero));
  if (sequence_parallel)
    flags.emplace_back("--sequence-parallel", "");
  if (recompute != Recompute::none)
    flags.emplace_back("--recompute", name(recompute));
  return flags;
}

Flags BatonSplit::train_flags() const {
  Flags flags = {{"--batch", std::to_string(data * sequences)},
                 {"--seq", std::to_string(length)}};
  if (pipeline == 1 && microbatches > 1)
    flags.emplace_back("--accumulate", std::to_string(microbatches));
  return flags;
}

std::string BatonSplit::schedule_text() const {
  return chunks > 1 ? schedule + ":" + std::to_string(chunks) : schedule;
}

std::string BatonSplit::mesh() const {
  return "tp=" + std::to_string(tensor) + " pp=" + std::to_string(pipeline) +
         " dp=" + std::to_string(data);
}

namespace {
/// A pipeline's schedule and the parts of its stages.
struct Order {
  const char *schedule;
  int64_t chunks;
};
} // namespace

static std::vector<Order> orders(const Decoder &decoder, int64_t pipeline) {
  if (pipeline == 1)
    return {{"1f1b", 1}};
  std::vector<Order> orders = {
      {"1f1b", 1}, {"gpipe", 1}, {"zb-h1", 1}, {"zb-h2", 1}};
  for (int64_t chunks = 2; chunks <= most_chunks; chunks *= 2)
    if (decoder.layers >= pipeline * chunks)
      orders.push_back({"interleaved", chunks});
  return orders;
}

/// All that is left to choose once degrees and microbatches are.
static void add_variants(const BatonSpace &space, BatonSplit split,
                         std::vector<BatonSplit> &splits) {
  for (const Order &order : orders(space.decoder, split.pipeline)) {
    // Each group of as many microbatches as there are stages is whole.
    if (order.chunks > 1 && split.microbatches % split.pipeline != 0)
      continue;
    split.schedule = order.schedule;
    split.chunks = order.chunks;
    for (Recompute recompute :
         {Recompute::none, Recompute::selective, Recompute::full})
      for (int64_t zero = 0; zero <= (split.data > 1 ? 3 : 0); ++zero)
        for (bool sequence_parallel : {false, true}) {
          if (sequence_parallel && split.tensor == 1)
            continue;
          split.recompute = recompute;
          split.zero = zero;
          split.sequence_parallel = sequence_parallel;
          splits.push_back(split);
        }
  }
}

std::vector<BatonSplit> plan::all_splits(const BatonSpace &space) {
  std::vector<BatonSplit> splits;
  std::string why;
  for (int64_t tensor : divisors(space.devices))
    for (int64_t pipeline : divisors(space.devices / tensor)) {
      BatonSplit split;
      split.tensor = tensor;
      split.pipeline = pipeline;
      split.data = space.devices / tensor / pipeline;
      split.length = space.length;
      auto refuse = [&](const std::string &reason) {
        why = split.mesh() + ": " + reason;
      };
      if (space.devices_per_node % tensor != 0) {
        refuse("nodes have " + std::to_string(space.devices_per_node) +
               " devices");
        continue;
      }
      if (space.decoder.kv_heads % tensor != 0) {
        refuse(std::to_string(space.decoder.kv_heads) +
               " key/value heads do not divide by the tensor degree");
        continue;
      }
      if (space.decoder.layers < pipeline) {
        refuse("there are " + std::to_string(space.decoder.layers) +
               " layers only");
        continue;
      }
      if (space.global_batch % split.data != 0) {
        refuse(std::to_string(space.global_batch) +
               " sequences do not divide by the data degree");
        continue;
      }
      bool any = false;
      for (int64_t sequences : divisors(space.global_batch / split.data)) {
        if (sequences * space.length > space.most_rows)
          break;
        any = true;
        split.sequences = sequences;
        split.microbatches = space.global_batch / split.data / sequences;
        add_variants(space, split, splits);
      }
      if (!any)
        refuse("a sequence of " + std::to_string(space.length) +
               " tokens has more rows than the " +
               std::to_string(space.most_rows) + " of a step");
    }
  if (splits.empty())
    throw Error(std::to_string(space.devices) +
                " devices: no split has whole parts; of the last one tried, " +
                why);
  return splits;
}
