//===- importance.cpp - how much errors of weights count ------------------===//

#include "tools/quantize/importance.h"

#include "runtime/error.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/message.h"
#include "runtime/weights/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace baton {

Importance::Importance(const std::filesystem::path &file)
    : path(file.string()) {
  const auto opened = SafetensorsFile::open(file);
  for (const auto &[name, tensor] : opened->tensors()) {
    if (tensor.type != DataType::F32 || tensor.shape.size() != 1 ||
        tensor.bytes == 0)
      throw Error(path + ": tensor " + quote_name(name) +
                  " is no list of F32; expected what a program's calibrate "
                  "writes");
    std::vector<float> values(tensor.bytes / sizeof(float));
    std::memcpy(values.data(), tensor.data, tensor.bytes);
    if (std::any_of(values.begin(), values.end(), [](float value) {
          return !std::isfinite(value) || value < 0;
        }))
      throw Error(path + ": tensor " + quote_name(name) +
                  " has a number that is no mean square");
    squares[name] = std::move(values);
  }
  if (squares.empty())
    throw Error(path + ": has no tensors; expected what a program's calibrate "
                       "writes");
}

std::vector<float> Importance::of(const std::string &tensor,
                                  uint64_t inputs) const {
  const auto found = squares.find(tensor);
  if (found == squares.end())
    return std::vector<float>(inputs, 1);
  std::vector<float> values = found->second;
  if (values.size() != inputs)
    throw Error(path + ": tensor " + quote_name(tensor) + " is of " +
                std::to_string(values.size()) +
                " inputs, and the model's has " + std::to_string(inputs) +
                ": it is of another model");
  constexpr float least = 1e-3f;
  double sum = 0;
  for (float value : values)
    sum += double(value);
  const double mean = sum / double(inputs);
  for (float &value : values)
    value = mean > 0 ? std::max(static_cast<float>(double(value) / mean), least)
                     : 1;
  return values;
}

void Importance::expect_one_of(const std::vector<std::string> &tensors) const {
  if (!squares.empty() && std::none_of(tensors.begin(), tensors.end(),
                                       [&](const std::string &name) {
                                         return squares.count(name);
                                       }))
    throw Error(path + ": has none of the model's tensors, but " +
                quote_name(squares.begin()->first) +
                ": it is of another model");
}

std::string Importance::digest() const {
  uint64_t hash = 0;
  for (const auto &[name, values] : squares) {
    hash = hash_bytes(name.data(), name.size(), hash);
    hash = hash_bytes(values.data(), values.size() * sizeof(float), hash);
  }
  return hash_text(hash);
}

} // namespace baton
