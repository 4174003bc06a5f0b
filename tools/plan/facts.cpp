//===- facts.cpp - numbers of a JSON file, each named and checked ---------===//

#include "tools/plan/facts.h"

#include "runtime/error.h"

#include <cmath>
#include <fstream>

using namespace baton;
using namespace baton::plan;

Facts::Facts(const std::filesystem::path &path) : file(path) {
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file))
    throw Error(file.string() + ": cannot be read");
  try {
    json = nlohmann::ordered_json::parse(stream);
  } catch (const nlohmann::ordered_json::exception &error) {
    throw Error(file.string() + ": " + error.what());
  }
  if (!json.is_object())
    throw Error(file.string() + ": is no JSON object");
}

void Facts::refuse(const std::string &key, const std::string &what) {
  throw Error(file.string() + ": " + key + " " + what);
}

const nlohmann::ordered_json &Facts::find(const std::string &key) {
  read.insert(key);
  auto found = json.find(key);
  if (found == json.end())
    refuse(key, "is missing");
  return *found;
}

std::string Facts::text(const std::string &key) {
  const nlohmann::ordered_json &value = find(key);
  if (!value.is_string())
    refuse(key, "is no text");
  return value.get<std::string>();
}

bool Facts::flag(const std::string &key) {
  const nlohmann::ordered_json &value = find(key);
  if (!value.is_boolean())
    refuse(key, "is neither true nor false");
  return value.get<bool>();
}

double Facts::not_negative(const std::string &key) {
  const nlohmann::ordered_json &value = find(key);
  if (!value.is_number() || !(value.get<double>() >= 0) ||
      !std::isfinite(value.get<double>()))
    refuse(key, "is no number of 0 or more");
  return value.get<double>();
}

double Facts::positive(const std::string &key) {
  const double value = not_negative(key);
  if (value == 0)
    refuse(key, "is 0");
  return value;
}

double Facts::fraction(const std::string &key) {
  const double value = positive(key);
  if (value > 1)
    refuse(key, "is above 1");
  return value;
}

int64_t Facts::count(const std::string &key) {
  const nlohmann::ordered_json &value = find(key);
  if (!value.is_number_integer() || value.get<int64_t>() < 1 ||
      value.get<int64_t>() > 1000000000)
    refuse(key, "is no whole number from 1 to 1000000000");
  return value.get<int64_t>();
}

const nlohmann::ordered_json *Facts::optional(const std::string &key) {
  read.insert(key);
  auto found = json.find(key);
  return found == json.end() ? nullptr : &*found;
}

void Facts::finish() {
  for (const auto &[key, value] : json.items())
    if (!read.count(key))
      refuse(key, "is not known here");
}
