//===- optimizer_numbers.cpp - what an optimizer reads of the run --------===//

#include "runtime/train/optimizer_numbers.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <charconv>
#include <cmath>
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
  return result;
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
