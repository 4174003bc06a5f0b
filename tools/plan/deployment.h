//===- deployment.h - a decoder that answers, on several devices ----------===//

#ifndef BATON_TOOLS_PLAN_DEPLOYMENT_H
#define BATON_TOOLS_PLAN_DEPLOYMENT_H

#include "tools/plan/decoder.h"
#include "tools/plan/device.h"
#include "tools/plan/step_times.h"

#include <filesystem>
#include <string>
#include <unordered_map>

namespace baton::plan {

/// A decoder, and what its layers have in the place of an MLP if it is a
/// mixture of experts.
struct ServedDecoder {
  Decoder decoder;
  /// 0: none. Each is as wide as the decoder's MLP.
  int64_t experts = 0, experts_per_token = 0;
  /// The width of an expert that every token passes, 0 if there is none.
  int64_t shared_width = 0;
  /// Bytes of a weight, and of a number of keys and values.
  double weight_bytes = 2, kv_bytes = 2;
  /// Rows of the busiest rank's experts beside the mean of all.
  double imbalance = 1;
};

/// Of a config.json, or of the folder that holds it: what read_decoder() reads,
/// Mixtral, Qwen2-MoE, Qwen3-MoE and OLMoE.
ServedDecoder read_served_decoder(const std::filesystem::path &path);

/// How one replica is split, as batonc splits a program that decodes: `expert`
/// ranks have whole experts each, and all of everything else; of `tensor` ranks
/// each has a part of every matrix but embedding and head, which all have.
struct ReplicaSplit {
  int64_t tensor = 1, expert = 1, pipeline = 1;

  int64_t devices() const { return tensor * expert * pipeline; }
  bool operator==(const ReplicaSplit &) const = default;
};

/// Why a decoder cannot be split so; empty where it can.
std::string check_split(const ServedDecoder &served, const ReplicaSplit &split,
                        const Device &device);

/// Bytes of the rank that has most.
double weight_bytes(const ServedDecoder &served, const ReplicaSplit &split);
/// Of keys and values, of each position.
double position_bytes(const ServedDecoder &served, const ReplicaSplit &split);
/// Of what a step of so many rows computes in between, and of logits.
double buffer_bytes(const ServedDecoder &served, const ReplicaSplit &split,
                    int64_t rows, int64_t outputs);

/// Times from a device's facts: kernels (kernels.h) and collectives of one
/// rank. Rows with logits read the keys and values before them; rows without
/// compute with them. Of E experts a step of R rows reads E (1 - (1 - k /
/// E)^R).
///
/// In a pipeline, parts of a step's rows follow one another through the stages:
/// once it is full, a step takes as long as one part takes through all of them.
class ModelledStepTimes : public StepTimes {
public:
  ModelledStepTimes(const ServedDecoder &served, const Device &device,
                    const ReplicaSplit &split);

  double seconds(const StepShape &shape) const override;
  double fill(const StepShape &shape) const override;

private:
  /// Of a layer, all but attention's reading and multiplying; of the head.
  double rows_seconds(double rows) const;
  double head_seconds(double outputs) const;
  double layer_seconds(const StepShape &shape) const;
  double stage_seconds(const StepShape &shape) const;
  StepShape part(const StepShape &shape) const;

  ServedDecoder served;
  Device device;
  ReplicaSplit split;
  /// What rows take, as far as it was asked for.
  mutable std::unordered_map<double, double> known_rows, known_heads;
};

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_DEPLOYMENT_H
