//===- optimizer_numbers.cpp - what an optimizer reads of the run --------===//

#include "runtime/train/optimizer_numbers.h"

#include "runtime/error.h"

#include <charconv>
#include <cmath>
#include <sstream>

namespace baton {

namespace {

/// step, learning_rate, clip.
constexpr size_t own_numbers = 3;

const nlohmann::json &entries_of(const nlohmann::json &description) {
  if (auto training = description.find("training");
      training != description.end() && training->is_object())
    for (const nlohmann::json &tensor : training->at("tensors"))
      if (tensor.contains("numbers"))
        return tensor.at("numbers");
  throw Error("the compiled program names no numbers of an optimizer; compile "
              "one with batonc --mode=train");
}

} // namespace

OptimizerNumbers::OptimizerNumbers(const nlohmann::json &description) {
  const nlohmann::json &entries = entries_of(description);
  for (size_t i = own_numbers; i < entries.size(); ++i)
    numbers.push_back({entries[i].at("name"), entries[i].at("default")});
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
  for (Number &number : numbers)
    if (number.name == name || number.name.ends_with("." + name)) {
      number.value = value;
      found = true;
    }
  if (!found)
    throw Error("--set " + assignment +
                ": no rule of the program has the "
                "number " +
                name + "; there is " + text());
}

void OptimizerNumbers::write(float *place, uint64_t step, double learning_rate,
                             double clip) const {
  place[0] = static_cast<float>(step);
  place[1] = static_cast<float>(learning_rate);
  place[2] = static_cast<float>(clip);
  for (size_t i = 0; i < numbers.size(); ++i)
    place[own_numbers + i] = static_cast<float>(numbers[i].value);
}

std::string OptimizerNumbers::text() const {
  std::ostringstream stream;
  for (const Number &number : numbers)
    stream << (&number == &numbers.front() ? "" : ", ") << number.name << " = "
           << static_cast<float>(number.value);
  return stream.str();
}

nlohmann::json OptimizerNumbers::json() const {
  auto object = nlohmann::json::object();
  for (const Number &number : numbers)
    object[number.name] = number.value;
  return object;
}

} // namespace baton
