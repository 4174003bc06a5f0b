//===- adapter.cpp - low-rank pairs beside a model ------------------------===//

#include "runtime/weights/adapter.h"

#include "runtime/error.h"
#include "runtime/weights/json_file.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace baton {

std::optional<Adapter> Adapter::parse(const nlohmann::json &description) {
  auto training = description.find("training");
  if (training == description.end() || !training->is_object() ||
      !training->contains("adapter"))
    return std::nullopt;
  const nlohmann::json &json = training->at("adapter");
  Adapter adapter;
  adapter.rank = json.at("rank");
  adapter.alpha = json.at("alpha");
  adapter.stabilized = json.at("rank_stabilized");
  adapter.decomposed = json.at("weight_decomposed");
  adapter.targets = json.at("targets").get<std::vector<std::string>>();
  return adapter;
}

Adapter Adapter::read(const std::filesystem::path &folder) {
  const std::filesystem::path path = folder / adapter_config_name;
  const nlohmann::json json = read_json(path);
  auto fail = [&](const std::string &what) {
    throw Error(path.string() + ": " + what);
  };
  if (!json.is_object())
    fail("is no JSON object");
  auto expect = [&](const char *key, bool holds, const char *what) {
    if (!holds)
      fail(std::string(key) + " is missing, or no " + what);
  };
  auto at = [&](const char *key) { return json.value(key, nlohmann::json()); };
  if (at("peft_type") != "LORA")
    fail("peft_type has to be \"LORA\"");
  // Modules with a factor of their own.
  for (const char *key : {"rank_pattern", "alpha_pattern"})
    if (const nlohmann::json pattern = at(key);
        !pattern.is_null() && pattern != nlohmann::json::object())
      fail(std::string(key) + " is not built yet");
  const nlohmann::json rank = at("r"), alpha = at("lora_alpha"),
                       targets = at("target_modules"),
                       base = at("base_model_name_or_path");
  expect("r", rank.is_number_unsigned() && rank != 0, "rank");
  expect("lora_alpha", alpha.is_number(), "number");
  expect("target_modules",
         targets.is_array() &&
             std::all_of(targets.begin(), targets.end(),
                         [](const auto &name) { return name.is_string(); }),
         "list of names");
  Adapter adapter;
  adapter.rank = rank;
  adapter.alpha = alpha;
  adapter.stabilized = at("use_rslora") == true;
  adapter.decomposed = at("use_dora") == true;
  adapter.targets = targets.get<std::vector<std::string>>();
  if (base.is_string())
    adapter.base = base;
  return adapter;
}

double Adapter::factor() const {
  return alpha / (stabilized ? std::sqrt(double(rank)) : double(rank));
}

std::string Adapter::config() const {
  const nlohmann::ordered_json json = {
      {"peft_type", "LORA"},
      {"task_type", "CAUSAL_LM"},
      {"base_model_name_or_path", base},
      {"r", rank},
      {"lora_alpha", alpha},
      {"use_rslora", stabilized},
      {"use_dora", decomposed},
      {"target_modules", targets},
      {"lora_dropout", 0.0},
      {"bias", "none"},
      {"init_lora_weights", true},
      {"inference_mode", true},
  };
  return json.dump(2) + "\n";
}

void Adapter::expect(const Adapter &other,
                     const std::filesystem::path &folder) const {
  auto fail = [&](const std::string &what, const std::string &is,
                  const std::string &expected) {
    throw Error((folder / adapter_config_name).string() + ": " + what + " is " +
                is + ", but the program was compiled for " + expected);
  };
  auto text = [](auto value) { return nlohmann::json(value).dump(); };
  auto names = [](const std::vector<std::string> &list) {
    std::string joined;
    for (const std::string &name : std::set(list.begin(), list.end()))
      joined += (joined.empty() ? "" : ", ") + name;
    return joined;
  };
  if (other.rank != rank)
    fail("r", std::to_string(other.rank), std::to_string(rank));
  if (other.factor() != factor())
    fail("the factor that lora_alpha and use_rslora make", text(other.factor()),
         text(factor()));
  if (other.decomposed != decomposed)
    fail("use_dora", text(other.decomposed), text(decomposed));
  if (names(other.targets) != names(targets))
    fail("target_modules", names(other.targets), names(targets));
}

bool is_of_adapter(std::string_view name) {
  return name.starts_with(adapter_prefix);
}

} // namespace baton
