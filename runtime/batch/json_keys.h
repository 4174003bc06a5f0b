//===- json_keys.h - the keys of a line of JSON ---------------------------===//

#ifndef BATON_RUNTIME_BATCH_JSON_KEYS_H
#define BATON_RUNTIME_BATCH_JSON_KEYS_H

#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace baton {

/// The keys of an object, read one by one; null is as if it was not there.
class JsonKeys {
public:
  /// Throws Error for a key that has none of the names.
  JsonKeys(const nlohmann::ordered_json &object, std::vector<std::string> names)
      : object(object) {
    for (const auto &entry : object.items())
      if (std::find(names.begin(), names.end(), entry.key()) == names.end())
        throw Error("there is no key " + quote_name(entry.key()) +
                    nearest_text(entry.key(), names));
  }

  /// For clients that send keys of other servers: throws Error for a key that
  /// is nearly one of the names, which would be misspelt. Other unknown ones
  /// are appended to `ignored`.
  JsonKeys(const nlohmann::ordered_json &object, std::vector<std::string> names,
           std::vector<std::string> &ignored)
      : object(object) {
    for (const auto &entry : object.items()) {
      if (std::find(names.begin(), names.end(), entry.key()) != names.end())
        continue;
      const std::string nearest = nearest_text(entry.key(), names);
      if (!nearest.empty())
        throw Error("there is no key " + quote_name(entry.key()) + nearest);
      ignored.push_back(entry.key());
    }
  }

  const nlohmann::ordered_json *find(const char *key) const {
    auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
  bool has(const char *key) const { return find(key); }

  uint64_t whole(const char *key, uint64_t usual) const {
    const nlohmann::ordered_json *value = find(key);
    if (!value)
      return usual;
    if (!value->is_number_unsigned())
      throw Error(std::string(key) +
                  ": expected a whole number that is not negative");
    return value->get<uint64_t>();
  }
  uint32_t small(const char *key, uint32_t usual) const {
    return static_cast<uint32_t>(std::min<uint64_t>(
        whole(key, usual), std::numeric_limits<uint32_t>::max()));
  }
  double number(const char *key, double usual) const {
    const nlohmann::ordered_json *value = find(key);
    if (!value)
      return usual;
    if (!value->is_number())
      throw Error(std::string(key) + ": expected a number");
    return value->get<double>();
  }
  bool flag(const char *key, bool usual) const {
    const nlohmann::ordered_json *value = find(key);
    if (!value)
      return usual;
    if (!value->is_boolean())
      throw Error(std::string(key) + ": expected true or false");
    return value->get<bool>();
  }
  std::string text(const char *key) const {
    const nlohmann::ordered_json *value = find(key);
    if (!value)
      return "";
    if (!value->is_string())
      throw Error(std::string(key) + ": expected a text");
    return value->get<std::string>();
  }
  /// One that asks for nothing that there is not.
  void expect(const char *key, const nlohmann::ordered_json &usual) const {
    const nlohmann::ordered_json *value = find(key);
    if (value && *value != usual)
      throw Error(std::string(key) + ": only " + usual.dump() +
                  " is supported");
  }

private:
  const nlohmann::ordered_json &object;
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_JSON_KEYS_H
