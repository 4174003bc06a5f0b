//===- deployment.cpp - a decoder that answers, on several devices --------===//

#include "tools/plan/deployment.h"

#include "runtime/error.h"
#include "tools/plan/collectives.h"
#include "tools/plan/kernels.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>

using namespace baton;
using namespace baton::plan;

ServedDecoder plan::read_served_decoder(const std::filesystem::path &path) {
  const std::filesystem::path file =
      std::filesystem::is_directory(path) ? path / "config.json" : path;
  std::ifstream stream(file);
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  ServedDecoder served;
  const std::string type = json.is_object() && json.contains("model_type") &&
                                   json["model_type"].is_string()
                               ? json["model_type"].get<std::string>()
                               : "";
  if (type != "mixtral" && type != "qwen2_moe" && type != "qwen3_moe" &&
      type != "olmoe") {
    served.decoder = read_decoder(path);
    return served;
  }
  auto number = [&](std::initializer_list<const char *> keys,
                    int64_t otherwise) {
    for (const char *key : keys)
      if (json.contains(key) && !json[key].is_null()) {
        if (!json[key].is_number_integer() || json[key].get<int64_t>() < 1 ||
            json[key].get<int64_t>() > int64_t(1) << 32)
          throw Error(file.string() + ": " + key +
                      " is no whole number above 0");
        return json[key].get<int64_t>();
      }
    if (otherwise < 0)
      throw Error(file.string() + ": " + *keys.begin() + " is missing");
    return otherwise;
  };
  for (const char *key : {"mlp_only_layers"})
    if (json.contains(key) && json[key].is_array() && !json[key].empty())
      throw Error(file.string() + ": " + key +
                  ": mixtures some of whose layers are dense are not planned");
  if (number({"decoder_sparse_step"}, 1) != 1)
    throw Error(file.string() + ": decoder_sparse_step: mixtures some of whose "
                                "layers are dense are not planned");
  Decoder &decoder = served.decoder;
  decoder.hidden = number({"hidden_size"}, -1);
  decoder.layers = number({"num_hidden_layers"}, -1);
  decoder.heads = number({"num_attention_heads"}, -1);
  decoder.kv_heads = number({"num_key_value_heads"}, decoder.heads);
  decoder.head_size = number({"head_dim"}, decoder.hidden / decoder.heads);
  decoder.mlp = number({"moe_intermediate_size", "intermediate_size"}, -1);
  decoder.vocabulary = number({"vocab_size"}, -1);
  decoder.gated = true;
  decoder.tied = json.value("tie_word_embeddings", false);
  served.experts = number({"num_local_experts", "num_experts"}, -1);
  served.experts_per_token = number({"num_experts_per_tok"}, -1);
  served.shared_width = number({"shared_expert_intermediate_size"}, 0);
  if (served.experts_per_token > served.experts)
    throw Error(file.string() + ": num_experts_per_tok is above the number of "
                                "experts");
  if (decoder.head_size < 1 || decoder.heads % decoder.kv_heads != 0)
    throw Error(file.string() +
                ": num_attention_heads is no multiple of num_key_value_heads, "
                "or above hidden_size");
  return served;
}

std::string plan::check_split(const ServedDecoder &served,
                              const ReplicaSplit &split, const Device &device) {
  const Decoder &decoder = served.decoder;
  auto divides = [](int64_t part, int64_t whole, const std::string &what) {
    return whole % part == 0
               ? std::string()
               : what + " (" + std::to_string(whole) + ") is no multiple of " +
                     std::to_string(part);
  };
  if (split.expert > 1 && served.experts == 0)
    return "the model has no experts to divide among " +
           std::to_string(split.expert);
  for (std::string why :
       {divides(split.tensor, decoder.heads, "the number of heads"),
        divides(split.tensor, decoder.mlp, "the MLP's width"),
        divides(split.pipeline, decoder.layers, "the number of layers"),
        served.experts
            ? divides(split.expert, served.experts, "the number of experts")
            : std::string(),
        // Ranks that meet twice a layer share a node.
        divides(split.tensor * split.expert, device.devices_per_node,
                "the devices of a node")})
    if (!why.empty())
      return why;
  if (decoder.kv_heads % split.tensor != 0 &&
      split.tensor % decoder.kv_heads != 0)
    return divides(split.tensor, decoder.kv_heads,
                   "the number of key and value heads");
  return "";
}

static double kv_heads_of_rank(const Decoder &decoder, int64_t tensor) {
  return double(std::max(decoder.kv_heads, tensor)) / double(tensor);
}

double plan::weight_bytes(const ServedDecoder &served,
                          const ReplicaSplit &split) {
  const Decoder &decoder = served.decoder;
  const auto hidden = double(decoder.hidden);
  const auto tensor = double(split.tensor);
  const double matrices = decoder.gated ? 3 : 2;
  const double attention = hidden * double(decoder.head_size) *
                           (2 * double(decoder.heads) / tensor +
                            2 * kv_heads_of_rank(decoder, split.tensor));
  double mlp = matrices * hidden * double(decoder.mlp) / tensor;
  if (served.experts)
    mlp = mlp * double(served.experts) / double(split.expert) +
          matrices * hidden * double(served.shared_width) / tensor +
          hidden * double(served.experts);
  const double embedding = hidden * double(decoder.vocabulary);
  // A pipeline's ends have one each.
  const double ends = decoder.tied || split.pipeline > 1 ? 1 : 2;
  return served.weight_bytes * ((attention + mlp + 2 * hidden) *
                                    double(decoder.layers / split.pipeline) +
                                ends * embedding);
}

double plan::position_bytes(const ServedDecoder &served,
                            const ReplicaSplit &split) {
  return served.kv_bytes * 2 * kv_heads_of_rank(served.decoder, split.tensor) *
         double(served.decoder.head_size) *
         double(served.decoder.layers / split.pipeline);
}

double plan::buffer_bytes(const ServedDecoder &served,
                          const ReplicaSplit &split, int64_t rows,
                          int64_t outputs) {
  const Decoder &decoder = served.decoder;
  const auto tensor = double(split.tensor);
  const double mlp = (decoder.gated ? 3 : 2) * double(decoder.mlp) / tensor *
                     double(std::max<int64_t>(served.experts_per_token, 1));
  const double attention =
      double(decoder.head_size) * (2 * double(decoder.heads) / tensor +
                                   2 * kv_heads_of_rank(decoder, split.tensor));
  // In F32; logits, and two more of the vocabulary for sampling.
  return 4 * (double(rows) * (3 * double(decoder.hidden) + attention + mlp) +
              3 * double(outputs) * double(decoder.vocabulary));
}

ModelledStepTimes::ModelledStepTimes(const ServedDecoder &served,
                                     const Device &device,
                                     const ReplicaSplit &split)
    : served(served), device(device), split(split) {}

/// As much of the step as is in one stage at a time.
StepShape ModelledStepTimes::part(const StepShape &shape) const {
  const double parts =
      std::clamp(shape.outputs + shape.rows, 1.0, double(split.pipeline));
  return {shape.outputs / parts, shape.rows / parts,
          shape.output_contexts / parts, shape.row_contexts / parts};
}

/// Attention's reading and multiplying hangs on positions, too.
double ModelledStepTimes::layer_seconds(const StepShape &shape) const {
  const double rows = shape.outputs + shape.rows;
  const auto [known, is_new] = known_rows.try_emplace(rows);
  if (is_new)
    known->second = rows_seconds(rows);
  double time = known->second;
  const Decoder &decoder = served.decoder;
  const auto head = double(decoder.head_size);
  const double queries = double(decoder.heads) / double(split.tensor) * head;
  if (shape.outputs > 0) {
    const double seen = shape.output_contexts + shape.outputs;
    const double bytes = seen * 2 * kv_heads_of_rank(decoder, split.tensor) *
                         head * served.kv_bytes;
    const double flops = 4 * seen * queries;
    time += std::max(bytes / (device.bandwidth * device.stream_fraction),
                     flops / (device.matmul_rate * device.attention_fraction)) +
            device.kernel_time;
  }
  if (shape.rows > 0)
    time += plan::seconds({"", Kernel::Kind::attention, 0, 0, 0, 1,
                           4 * (shape.row_contexts + shape.rows) * queries, 0},
                          device);
  return time;
}

double ModelledStepTimes::rows_seconds(double rows) const {
  const Decoder &decoder = served.decoder;
  const auto hidden = double(decoder.hidden);
  const auto head = double(decoder.head_size);
  const auto tensor = double(split.tensor);
  const double queries = double(decoder.heads) / tensor * head;
  // Products of weights that take fewer bytes than two read less.
  const double narrow = 2 - served.weight_bytes;
  double time = 0;
  auto stream = [&](double bytes) {
    time +=
        plan::seconds({"", Kernel::Kind::stream, 0, 0, 0, 1, 0, bytes}, device);
  };
  auto product = [&](double m, double n, double k, double count = 1) {
    const Kernel kernel = {"", Kernel::Kind::matmul, m, n, k, count, 0, 0};
    const double all = plan::seconds(kernel, device);
    const double saved =
        narrow * count * n * k / (device.bandwidth * device.stream_fraction);
    // Or it is the multiplications that take it.
    const double arithmetic =
        operations(kernel) / (device.matmul_rate * device.matmul_fraction) +
        device.kernel_time;
    time += std::max(all - saved, std::min(arithmetic, all));
  };
  stream(4 * rows * hidden);
  product(rows, queries + 2 * kv_heads_of_rank(decoder, split.tensor) * head,
          hidden);
  product(rows, hidden, queries);
  const Group tensors = {split.tensor, 1, 0, 1};
  time += all_reduce_seconds(2 * rows * hidden, tensors, device);
  stream(4 * rows * hidden);
  const double up = decoder.gated ? 2 : 1;
  auto mlp = [&](double of_rows, double width, double count) {
    product(of_rows, up * width, hidden, count);
    stream(2 * of_rows * count * (up + 1) * width);
    product(of_rows, hidden, width, count);
  };
  if (served.experts == 0) {
    mlp(rows, double(decoder.mlp) / tensor, 1);
  } else {
    const auto experts = double(served.experts);
    const auto chosen = double(served.experts_per_token);
    const double active = experts * (1 - std::pow(1 - chosen / experts, rows));
    const double of_expert = rows * chosen / std::max(active, 1.0) *
                             (split.expert > 1 ? served.imbalance : 1);
    product(rows, experts, hidden);
    mlp(of_expert, double(decoder.mlp) / tensor,
        std::max(active / double(split.expert), 1.0));
    if (served.shared_width)
      mlp(rows, double(served.shared_width) / tensor, 1);
  }
  const Group all = {split.tensor * split.expert, 1, 0, 1};
  return time + all_reduce_seconds(2 * rows * hidden, all, device);
}

double ModelledStepTimes::head_seconds(double outputs) const {
  const auto words = double(served.decoder.vocabulary);
  return plan::seconds({"", Kernel::Kind::matmul, outputs, words,
                        double(served.decoder.hidden), 1, 0, 0},
                       device) +
         plan::seconds(
             {"", Kernel::Kind::stream, 0, 0, 0, 1, 0, 8 * outputs * words},
             device);
}

/// Of the last one, which has the head.
double ModelledStepTimes::stage_seconds(const StepShape &shape) const {
  double time =
      layer_seconds(shape) * double(served.decoder.layers / split.pipeline);
  if (shape.outputs > 0) {
    const auto [known, is_new] = known_heads.try_emplace(shape.outputs);
    if (is_new)
      known->second = head_seconds(shape.outputs);
    time += known->second;
  }
  if (split.pipeline > 1)
    time += send_seconds(
        2 * (shape.outputs + shape.rows) * double(served.decoder.hidden), 0,
        split.tensor * split.expert, split.tensor * split.expert, device);
  return time;
}

double ModelledStepTimes::seconds(const StepShape &shape) const {
  return double(split.pipeline) * stage_seconds(part(shape));
}

double ModelledStepTimes::fill(const StepShape &shape) const {
  const double parts =
      std::clamp(shape.outputs + shape.rows, 1.0, double(split.pipeline));
  return (parts - 1) * stage_seconds(part(shape));
}
