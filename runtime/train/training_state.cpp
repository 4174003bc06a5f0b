//===- training_state.cpp - where a run stands, in numbers ---------------===//

#include "runtime/train/training_state.h"

#include "runtime/error.h"

#include <utility>

namespace baton {

namespace {

constexpr uint64_t state_version = 1;

uint64_t number(const nlohmann::json &object, const char *key,
                const std::string &file) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned())
    throw Error(file + ": \"" + key + "\" is not a number that counts");
  return found->get<uint64_t>();
}

} // namespace

std::string state_text(const TrainingState &state) {
  if (!state.extra.is_object())
    throw Error("state.json: \"extra\" is not an object");
  nlohmann::ordered_json object;
  object["version"] = state_version;
  object["step"] = state.step;
  object["seed"] = state.seed;
  object["sequence"] = state.sequence;
  object["extra"] = state.extra;
  // Text from elsewhere need not be UTF-8.
  return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

TrainingState parse_state(std::string_view text, const std::string &file) {
  nlohmann::json object = parse_object(text, file);
  uint64_t version = number(object, "version", file);
  if (version != state_version)
    throw Error(file + ": is of version " + std::to_string(version) +
                ", this program reads version " +
                std::to_string(state_version));
  TrainingState state;
  state.step = number(object, "step", file);
  state.seed = number(object, "seed", file);
  state.sequence = number(object, "sequence", file);
  auto extra = object.find("extra");
  if (extra == object.end() || !extra->is_object())
    throw Error(file + ": \"extra\" is not an object");
  state.extra = std::move(*extra);
  return state;
}

nlohmann::json parse_object(std::string_view text, const std::string &file) {
  constexpr int deepest = 64;
  nlohmann::json document;
  try {
    document = nlohmann::json::parse(
        text, [&](int depth, nlohmann::json::parse_event_t, nlohmann::json &) {
          if (depth > deepest)
            throw Error(file + ": nests deeper than " +
                        std::to_string(deepest) + " levels");
          return true;
        });
  } catch (const nlohmann::json::parse_error &error) {
    throw Error(file + ": is not valid JSON (at its byte " +
                std::to_string(error.byte) + ")");
  } catch (const nlohmann::json::exception &) {
    throw Error(file + ": holds a number that is too large");
  }
  if (!document.is_object())
    throw Error(file + ": is not a JSON object");
  return document;
}

} // namespace baton
