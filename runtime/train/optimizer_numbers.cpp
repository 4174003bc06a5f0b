//===- optimizer_numbers.cpp - what an optimizer reads of the run --------===//

#include "runtime/train/optimizer_numbers.h"

#include "runtime/error.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/message.h"
#include "runtime/weights/safetensors.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>
#include <sstream>

namespace baton {

namespace {

const nlohmann::json &entries_of(const nlohmann::json &description) {
  if (auto training = description.find("training");
      training != description.end() && training->is_object())
    for (const nlohmann::json &tensor : training->at("tensors"))
      if (tensor.contains("numbers"))
        return tensor.at("numbers");
  throw Error("the compiled program names no numbers of an optimizer; compile "
              "one with batonc --mode=train");
}

/// A number of each step, by its name.
std::optional<double> given(const std::string &name,
                            const OptimizerNumbers::OfStep &step) {
  if (name == "step")
    return double(step.step);
  if (name == "learning_rate")
    return step.learning_rate;
  if (name == "clip")
    return step.clip;
  if (name == "loss_scale")
    return 1;
  return std::nullopt;
}

} // namespace

OptimizerNumbers::OptimizerNumbers(const nlohmann::json &description) {
  for (const nlohmann::json &entry : entries_of(description)) {
    if (entry.contains("shape")) {
      Table table{
          entry.at("name"), entry.at("shape"), {}, !entry.contains("default")};
      if (table.is_missing)
        table.values.resize(std::accumulate(table.shape.begin(),
                                            table.shape.end(), uint64_t(1),
                                            std::multiplies<>()));
      else
        table.values = entry.at("default").get<std::vector<double>>();
      tables.push_back(std::move(table));
      continue;
    }
    if (!tables.empty())
      throw Error("the compiled program's description is damaged: the "
                  "optimizer's numbers stand behind its weights");
    Number number{entry.at("name"), std::nullopt};
    if (entry.contains("default"))
      number.value = entry.at("default").get<double>();
    else if (!given(number.name, {}))
      throw Error("the compiled program wants the number " + number.name +
                  " of each step, which this trainer does not know");
    numbers.push_back(number);
  }
}

void OptimizerNumbers::set(const std::string &assignment) {
  size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    throw Error("--set " + assignment + ": expected NAME=VALUE");
  std::string name = assignment.substr(0, equals);
  const char *first = assignment.data() + equals + 1;
  const char *last = assignment.data() + assignment.size();
  double value = 0;
  auto [end, failure] = std::from_chars(first, last, value);
  if (failure != std::errc() || end != last ||
      !std::isfinite(static_cast<float>(value)))
    throw Error("--set " + assignment + ": \"" + assignment.substr(equals + 1) +
                "\" is no finite number");
  bool found = false;
  std::vector<std::string> names;
  for (Number &number : numbers) {
    if (!number.value)
      continue;
    names.push_back(number.name);
    names.push_back(number.name.substr(number.name.find('.') + 1));
    if (number.name == name || number.name.ends_with("." + name)) {
      number.value = value;
      found = true;
    }
  }
  if (!found)
    throw Error("--set " + assignment +
                ": no rule of the program has the "
                "number " +
                name + "; there is " + text() + nearest_text(name, names));
}

std::vector<double> OptimizerNumbers::values(const OfStep &step) const {
  std::vector<double> result;
  for (const Number &number : numbers)
    result.push_back(number.value ? *number.value : *given(number.name, step));
  for (const Table &table : tables)
    result.insert(result.end(), table.values.begin(), table.values.end());
  return result;
}

bool OptimizerNumbers::needs_weights() const {
  return std::ranges::any_of(tables, &Table::is_missing);
}

void OptimizerNumbers::read_weights(const std::filesystem::path &path) {
  const auto file = SafetensorsFile::open(
      std::filesystem::is_directory(path) ? path / "model.safetensors" : path);
  const std::string where = file->path().string() + ": ";
  for (Table &table : tables) {
    auto found = file->tensors().find(table.name);
    if (found == file->tensors().end()) {
      if (!table.is_missing)
        continue;
      throw Error(where + "there is no tensor " + quote_name(table.name) +
                  ", which the optimizer's weights have; it reads " +
                  weights_text());
    }
    const Tensor &tensor = found->second;
    if (tensor.shape != table.shape)
      throw Error(where + "tensor " + quote_name(table.name) + " is " +
                  shape_text(tensor.shape) + ", expected " +
                  shape_text(table.shape));
    Conversion convert = tensor.type == DataType::F64
                             ? nullptr
                             : conversion(tensor.type, DataType::F64);
    if (tensor.type == DataType::F64)
      std::copy_n(tensor.data, tensor.bytes,
                  reinterpret_cast<std::byte *>(table.values.data()));
    else if (convert)
      convert(tensor.data, table.values.data(), table.values.size());
    else
      throw Error(where + "tensor " + quote_name(table.name) +
                  " is none of F32, F16, BF16 and F64");
    if (!std::ranges::all_of(table.values, [](double value) {
          return std::isfinite(static_cast<float>(value));
        }))
      throw Error(where + "tensor " + quote_name(table.name) +
                  " has a number that is not finite");
    table.is_missing = false;
  }
}

std::string OptimizerNumbers::weights_text() const {
  std::string text;
  for (const Table &table : tables)
    text +=
        (text.empty() ? "" : ", ") + table.name + " " + shape_text(table.shape);
  return text;
}

std::string OptimizerNumbers::weights_hash() const {
  uint64_t hash = 0;
  for (const Table &table : tables)
    hash = hash_bytes(table.values.data(), table.values.size() * sizeof(double),
                      hash);
  return hash_text(hash);
}

std::string OptimizerNumbers::text() const {
  std::ostringstream stream;
  const char *between = "";
  for (const Number &number : numbers)
    if (number.value) {
      stream << between << number.name << " = "
             << static_cast<float>(*number.value);
      between = ", ";
    }
  return stream.str();
}

nlohmann::json OptimizerNumbers::json() const {
  auto object = nlohmann::json::object();
  for (const Number &number : numbers)
    if (number.value)
      object[number.name] = *number.value;
  return object;
}

} // namespace baton
