//===- optimizer_numbers.h - what an optimizer reads of the run ----------===//
//
// The description of a program that trains names them, in their order in
// memory, with the rule that they belong to:
//
//   {"name": "numbers", "role": "input", "numbers": [{"name": "step"},
//    {"name": "learning_rate"}, {"name": "clip"}, {"name": "loss_scale"},
//    {"name": "adamw.beta1", "default": 0.9}, ...,
//    {"name": "network.input.weight", "shape": [32, 39]}, ...]}
//
// What has a shape are weights of a learned optimizer, tensors of a file; with
// "default", a list of all elements, the file may lack them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_OPTIMIZER_NUMBERS_H
#define BATON_RUNTIME_TRAIN_OPTIMIZER_NUMBERS_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace baton {

class OptimizerNumbers {
public:
  /// Of a program's description. Throws Error when it names none.
  explicit OptimizerNumbers(const nlohmann::json &description);

  /// Sets NAME=VALUE, of all rules that have a number of this name or, as
  /// RULE.NAME, of one. Throws Error for text of another form, a name that no
  /// rule has, and a value that is no finite number.
  void set(const std::string &assignment);

  /// Whether there are weights, and whether some have to come from a file.
  bool has_weights() const { return !tables.empty(); }
  bool needs_weights() const;
  /// Reads the weights of a safetensors file, in F32, F16, BF16 or F64, or of
  /// the model.safetensors of a folder. Throws Error, naming file and tensor,
  /// when one is not there, of another shape, or not finite.
  void read_weights(const std::filesystem::path &path);
  /// "network.input.weight [32, 39], ..."; and a hash of all of them.
  std::string weights_text() const;
  std::string weights_hash() const;

  /// What the trainer says of each step; `step` counts updates, from 1 on.
  struct OfStep {
    uint64_t step;
    double learning_rate, clip;
  };
  /// All of them, as a step reads them, but for the loss scale, which is
  /// written with what it multiplies (step_inputs.h): 1.
  std::vector<double> values(const OfStep &step) const;

  /// Those of rules: "adamw.beta1 = 0.9, ...", or an object.
  std::string text() const;
  nlohmann::json json() const;

private:
  struct Number {
    std::string name;
    /// None of those that the trainer says of each step.
    std::optional<double> value;
  };
  /// Weights, in the order of memory, behind all numbers.
  struct Table {
    std::string name;
    std::vector<uint64_t> shape;
    std::vector<double> values;
    /// Neither defaults nor read.
    bool is_missing;
  };
  std::vector<Number> numbers;
  std::vector<Table> tables;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_OPTIMIZER_NUMBERS_H
