//===- adapter.cpp - low-rank pairs beside a model ------------------------===//

#include "runtime/weights/adapter.h"

#include "runtime/error.h"
#include "runtime/weights/json_file.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <utility>

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

/// What Python's expressions have and these do not, if there is some: an end or
/// a beginning of all, a group with a name, a flag, or one that looks back.
static bool is_only_pythons(const std::string &pattern) {
  static const std::regex own("\\\\[AZ]|\\(\\?(?![:=!])");
  return std::regex_search(pattern, own);
}

/// The patterns of a key, in the order of the file, as which PEFT tries them.
static std::vector<ModulePattern>
read_patterns(const std::filesystem::path &path, const char *key) {
  std::ifstream stream(path, std::ios::binary);
  const auto json = nlohmann::ordered_json::parse(stream);
  std::vector<ModulePattern> patterns;
  const auto found = json.find(key);
  if (found == json.end() || found->is_null())
    return patterns;
  auto fail = [&](const std::string &what) {
    throw Error(path.string() + ": " + key + what);
  };
  if (!found->is_object())
    fail(" is no object");
  for (const auto &[name, value] : found->items()) {
    if (!value.is_number())
      fail(": " + quote_name(name) + " has no number");
    // Names of modules are shorter by far, and expressions are read by
    // recursion.
    constexpr size_t longest = 512;
    if (name.size() > longest || is_only_pythons(name))
      fail(": " + quote_name(name.substr(0, longest)) +
           (name.size() > longest
                ? " is too long"
                : " has parts of Python's expressions that Baton does not "
                  "read: \\A, \\Z, or (? without one of : = !"));
    try {
      // Without going back, which takes exponential time of some expressions,
      // and recursion for each character.
      patterns.push_back({std::regex("(?:.*\\.)?(?:" + name + ")",
                                     std::regex::ECMAScript |
                                         std::regex_constants::__polynomial),
                          value.get<double>()});
    } catch (const std::regex_error &) {
      fail(": " + quote_name(name) + " is no regular expression");
    }
  }
  return patterns;
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
  adapter.rank_patterns = read_patterns(path, "rank_pattern");
  adapter.alpha_patterns = read_patterns(path, "alpha_pattern");
  for (const ModulePattern &pattern : adapter.rank_patterns)
    expect("a number of rank_pattern",
           pattern.value >= 1 && pattern.value <= 1e9 &&
               pattern.value == std::floor(pattern.value),
           "rank");
  return adapter;
}

double Adapter::factor() const {
  return alpha / (stabilized ? std::sqrt(double(rank)) : double(rank));
}

static double find_in(const std::vector<ModulePattern> &patterns,
                      std::string_view module, double usual) {
  if (module.starts_with(adapter_prefix))
    module.remove_prefix(adapter_prefix.size());
  for (const ModulePattern &pattern : patterns)
    if (std::regex_match(module.begin(), module.end(), pattern.expression))
      return pattern.value;
  return usual;
}

uint64_t Adapter::rank_of(std::string_view module) const {
  return static_cast<uint64_t>(find_in(rank_patterns, module, double(rank)));
}

double Adapter::factor_of(std::string_view module) const {
  Adapter own;
  own.rank = rank_of(module);
  own.alpha = find_in(alpha_patterns, module, alpha);
  own.stabilized = stabilized;
  return own.factor();
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
  for (auto [key, patterns] :
       {std::pair("rank_pattern", &other.rank_patterns),
        std::pair("alpha_pattern", &other.alpha_patterns)})
    if (!patterns->empty())
      fail(key, "there", "one rank and one alpha of all pairs");
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
