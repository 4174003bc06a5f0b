//===- Config.cpp - strict reading of config.json -------------------------===//

#include "models/Config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace baton;
using namespace baton::models;
using nlohmann::json;

static constexpr uintmax_t kMostBytes = 16 << 20;
static constexpr int kDeepest = 64;

/// A value as it stands in the file, cut when long.
static std::string spell(const json &value) {
  constexpr size_t most = 48;
  if (value.is_array() && !value.empty())
    return "a list";
  if (value.is_object() && !value.empty())
    return "an object";
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true,
                                json::error_handler_t::replace);
  return text.size() > most ? text.substr(0, most) + "..." : text;
}

/// A bound as a reader would write it: 1048576, 1e-06, 0.
static std::string spell(double value) {
  char buffer[32];
  auto [end, status] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end);
}

static std::string spellRange(const std::string &least,
                              const std::string &most) {
  return least + " to " + most;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Config Config::read(const std::string &folder) {
  namespace fs = std::filesystem;
  std::error_code code;
  fs::file_status status = fs::status(folder, code);
  if (!fs::exists(status))
    throw ConfigError(folder + ": no such folder");
  if (!fs::is_directory(status))
    throw ConfigError(folder + ": not a folder");

  std::string file = (fs::path(folder) / "config.json").string();
  status = fs::status(file, code);
  if (!fs::exists(status))
    throw ConfigError(file + ": no such file; a model folder holds one");
  // A pipe would block, a folder would read as empty.
  if (!fs::is_regular_file(status))
    throw ConfigError(file + ": not a regular file");
  uintmax_t size = fs::file_size(file, code);
  if (!code && size > kMostBytes)
    throw ConfigError(file + ": is larger than 16 MiB, so it is no config");
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw ConfigError(file + ": cannot be read: " + std::strerror(errno));

  json values;
  try {
    values = json::parse(
        stream, [&](int depth, json::parse_event_t, json &) -> bool {
          if (depth > kDeepest)
            throw ConfigError(file + ": nests deeper than " +
                              std::to_string(kDeepest) + " levels");
          return true;
        });
  } catch (const json::parse_error &failure) {
    throw ConfigError(file + ": is not valid JSON, at byte " +
                      std::to_string(failure.byte));
  } catch (const json::exception &) {
    // A number that no double holds, such as 1e999.
    throw ConfigError(file + ": holds a number that is out of range");
  }
  if (!values.is_object())
    throw ConfigError(file + ": is " + spell(values) +
                      ", expected a JSON object");
  return Config(file, "", std::move(values));
}

Config Config::of(std::string file, json values,
                  std::map<std::string, std::string> spelled) {
  return Config(std::move(file), "", std::move(values), std::move(spelled));
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

const json *Config::find(const char *name) const {
  auto found = values.find(name);
  return found == values.end() || found->is_null() ? nullptr : &*found;
}

bool Config::has(const char *name) const { return find(name) != nullptr; }

bool Config::isNull(const char *name) const {
  auto found = values.find(name);
  return found != values.end() && found->is_null();
}

bool Config::listsText(const char *name, const char *text) const {
  const json *value = find(name);
  return !value || (value->is_array() && std::find(value->begin(), value->end(),
                                                   text) != value->end());
}

void Config::fail(const std::string &what) const {
  throw ConfigError(file + ": " + what);
}

void Config::fail(const char *name, const std::string &expected) const {
  auto found = values.find(name);
  auto other = spelled.find(path + name);
  fail("'" + (other == spelled.end() ? path + name : other->second) + "' is " +
       (found == values.end() ? "missing" : spell(*found)) + ", expected " +
       expected);
}

std::optional<int64_t> Config::optionalInteger(const char *name, int64_t least,
                                               int64_t most) const {
  const json *value = find(name);
  if (!value)
    return std::nullopt;
  std::string range = spellRange(std::to_string(least), std::to_string(most));
  if (!value->is_number_integer())
    fail(name, "an integer from " + range);
  // An unsigned value past 2^63 would turn negative in get<int64_t>.
  bool isTooLarge = value->is_number_unsigned() &&
                    value->get<uint64_t>() > static_cast<uint64_t>(most);
  if (isTooLarge || value->get<int64_t>() < least ||
      value->get<int64_t>() > most)
    fail(name, range);
  return value->get<int64_t>();
}

int64_t Config::integer(const char *name, int64_t least, int64_t most) const {
  if (std::optional<int64_t> value = optionalInteger(name, least, most))
    return *value;
  fail(name, "an integer from " +
                 spellRange(std::to_string(least), std::to_string(most)));
}

double Config::number(const char *name, double least, double most) const {
  const json *value = find(name);
  std::string range = spellRange(spell(least), spell(most));
  if (!value || !value->is_number())
    fail(name, "a number from " + range);
  double result = value->get<double>();
  if (!(result >= least && result <= most))
    fail(name, range);
  return result;
}

double Config::number(const char *name, double least, double most,
                      double absent) const {
  return has(name) ? number(name, least, most) : absent;
}

bool Config::boolean(const char *name, bool absent) const {
  const json *value = find(name);
  if (!value)
    return absent;
  if (!value->is_boolean())
    fail(name, "true or false");
  return value->get<bool>();
}

std::string Config::text(const char *name) const {
  const json *value = find(name);
  if (!value || !value->is_string())
    fail(name, "a text");
  return value->get<std::string>();
}

std::string Config::text(const char *name, const char *absent) const {
  return has(name) ? text(name) : absent;
}

std::optional<Config> Config::object(const char *name) const {
  const json *value = find(name);
  if (!value)
    return std::nullopt;
  if (!value->is_object())
    fail(name, "an object or null");
  return Config(file, path + name + ".", *value, spelled);
}

void Config::allowOnly(std::initializer_list<const char *> names) const {
  std::string known;
  for (const char *name : names)
    known += (known.empty() ? "" : ", ") + std::string(name);
  for (const auto &[name, value] : values.items())
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("'" + path + name + "' is not known, expected " + known);
}

std::vector<double> Config::numbers(const char *name, double least,
                                    double most) const {
  const json *value = find(name);
  std::string expected =
      "a list of numbers from " + spellRange(spell(least), spell(most));
  if (!value || !value->is_array())
    fail(name, expected);
  std::vector<double> result;
  for (const json &entry : *value) {
    if (!entry.is_number() || !(entry.get<double>() >= least) ||
        !(entry.get<double>() <= most))
      fail(name, expected);
    result.push_back(entry.get<double>());
  }
  return result;
}

std::optional<std::vector<int64_t>>
Config::optionalIntegers(const char *name, int64_t least, int64_t most) const {
  const json *value = find(name);
  if (!value)
    return std::nullopt;
  std::vector<int64_t> result;
  bool isList = value->is_array();
  for (const json &entry : *value) {
    isList =
        isList && entry.is_number_integer() && entry >= least && entry <= most;
    if (!isList)
      break;
    result.push_back(entry.get<int64_t>());
  }
  if (!isList)
    fail(name, "a list of integers from " + std::to_string(least) + " to " +
                   std::to_string(most));
  return result;
}

std::optional<std::vector<std::string>>
Config::optionalTexts(const char *name) const {
  const json *value = find(name);
  if (!value)
    return std::nullopt;
  std::vector<std::string> result;
  bool isList = value->is_array();
  for (const json &entry : *value) {
    if (!isList || !entry.is_string()) {
      isList = false;
      break;
    }
    result.push_back(entry.get<std::string>());
  }
  if (!isList)
    fail(name, "a list of texts");
  return result;
}

//===----------------------------------------------------------------------===//
// Shared fields and totals
//===----------------------------------------------------------------------===//

model::Activation models::activationField(const Config &config,
                                          const char *name,
                                          const char *absent) {
  std::string value = config.text(name, absent);
  if (value == "silu" || value == "swish")
    return model::Activation::silu;
  if (value == "gelu")
    return model::Activation::gelu;
  if (value == "gelu_new" || value == "gelu_pytorch_tanh")
    return model::Activation::gelu_tanh;
  if (value == "relu")
    return model::Activation::relu;
  config.fail(name, "silu, swish, gelu, gelu_new, gelu_pytorch_tanh or relu");
}

void ElementCount::add(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product))
      product = kMost + 1;
  if (__builtin_add_overflow(total, product, &total))
    total = kMost + 1;
}
