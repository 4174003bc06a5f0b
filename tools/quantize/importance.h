//===- importance.h - how much errors of weights count --------------------===//

#ifndef BATON_TOOLS_QUANTIZE_IMPORTANCE_H
#define BATON_TOOLS_QUANTIZE_IMPORTANCE_H

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace baton {

/// Of each input of a linear, by the name of its weights in a Hugging Face
/// checkpoint.
class Importance {
public:
  /// All count alike.
  Importance() = default;
  /// The mean squares of inputs that a program's `calibrate` wrote. Throws
  /// Error that names the file, and a tensor that is no list of them.
  explicit Importance(const std::filesystem::path &file);

  /// Numbers with the mean 1, at least a thousandth: an input that is never
  /// there on a text may be on another one. Throws Error where the linear has
  /// other inputs.
  std::vector<float> of(const std::string &tensor, uint64_t inputs) const;
  /// Throws Error where it has numbers, and none of these tensors'.
  void expect_one_of(const std::vector<std::string> &tensors) const;

  /// Differs where the numbers do.
  std::string digest() const;

private:
  std::string path;
  std::map<std::string, std::vector<float>> squares;
};

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_IMPORTANCE_H
