//===- Adapter.cpp - what --adapter says ----------------------------------===//

#include "compiler/Adapter.h"

#include "compiler/SourceFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <nlohmann/json.hpp>

#include <cmath>

using namespace baton;
using namespace baton::compiler;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static constexpr int64_t kMostRank = 1024;

static Error check(const LowRankAdapter &adapter, const std::string &where) {
  if (adapter.rank < 1 || adapter.rank > kMostRank)
    return createStringError(where + "rank " + std::to_string(adapter.rank) +
                             " is out of range, expected 1 to " +
                             std::to_string(kMostRank));
  if (!std::isfinite(adapter.alpha) || adapter.alpha <= 0)
    return createStringError(where + "alpha has to be a number above 0");
  if (adapter.targets.empty())
    return createStringError(where + "names no targets");
  return Error::success();
}

/// What follows "lora".
static Expected<LowRankAdapter> parseSettings(StringRef settings,
                                              const std::string &where) {
  LowRankAdapter adapter;
  bool hasAlpha = false, inTargets = false;
  llvm::SmallVector<StringRef> items;
  settings.split(items, ',', -1, /*KeepEmpty=*/false);
  for (StringRef item : items) {
    auto [key, value] = item.split('=');
    if (item == "rslora") {
      adapter.stabilized = true;
    } else if (item == "dora") {
      adapter.decomposed = true;
    } else if (key == "r" && item.contains('=')) {
      if (value.getAsInteger(10, adapter.rank))
        return createStringError(where + "r=" + value + " is no whole number");
    } else if (key == "alpha" && item.contains('=')) {
      hasAlpha = true;
      if (value.getAsDouble(adapter.alpha))
        return createStringError(where + "alpha=" + value + " is no number");
    } else if (key == "targets" && item.contains('=')) {
      adapter.targets.clear();
      inTargets = true;
      if (!value.empty())
        adapter.targets.push_back(value.str());
    } else if (inTargets && !item.contains('=')) {
      adapter.targets.push_back(item.str());
    } else {
      return createStringError(
          where + "'" + item +
          "' is unknown; there is r=N, alpha=N, targets=NAME,NAME,..., rslora, "
          "dora");
    }
  }
  // The usual proportion of the two.
  if (!hasAlpha)
    adapter.alpha = 2.0 * double(adapter.rank);
  return adapter;
}

/// A PEFT folder's. What changes numbers and is not built is refused.
static Expected<LowRankAdapter> parseConfig(StringRef folder) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "adapter_config.json");
  const std::string where = "--adapter: " + std::string(path) + ": ";
  auto text = readSourceFile(path.str().str());
  if (!text)
    return text.takeError();
  auto json = nlohmann::json::parse((*text)->getBuffer().str(), nullptr,
                                    /*allow_exceptions=*/false);
  if (!json.is_object())
    return createStringError(where + "is no JSON object");
  auto refuse = [&](const char *key) {
    return createStringError(where + key + " " + json[key].dump() +
                             " is not built yet");
  };
  if (json.value("peft_type", nlohmann::json()) != "LORA")
    return createStringError(where + "peft_type has to be \"LORA\"");
  for (const char *key :
       {"use_qalora", "rank_pattern", "alpha_pattern", "layers_to_transform",
        "modules_to_save", "target_parameters", "exclude_modules", "lora_bias",
        "trainable_token_indices"})
    if (auto found = json.find(key);
        found != json.end() && !found->is_null() && *found != false &&
        !(found->is_structured() && found->empty()))
      return refuse(key);
  if (json.value("bias", nlohmann::json("none")) != "none")
    return refuse("bias");
  LowRankAdapter adapter;
  for (auto [key, isThere] :
       {std::pair{"r", json.contains("r") && json["r"].is_number_integer()},
        {"lora_alpha",
         json.contains("lora_alpha") && json["lora_alpha"].is_number()},
        {"target_modules", json.contains("target_modules") &&
                               (json["target_modules"].is_array() ||
                                json["target_modules"].is_string())}})
    if (!isThere)
      return createStringError(where + key + " is missing, or no such value");
  adapter.rank = json["r"];
  adapter.alpha = json["lora_alpha"];
  adapter.stabilized = json.value("use_rslora", nlohmann::json()) == true;
  adapter.decomposed = json.value("use_dora", nlohmann::json()) == true;
  adapter.targets.clear();
  if (json["target_modules"].is_string()) {
    if (json["target_modules"] != "all-linear")
      return createStringError(
          where + "target_modules is a regular expression; have a list of "
                  "names instead");
    adapter.targets.push_back("all-linear");
  } else {
    for (const auto &name : json["target_modules"]) {
      if (!name.is_string())
        return createStringError(where + "target_modules is no list of names");
      adapter.targets.push_back(name);
    }
  }
  if (Error error = check(adapter, where))
    return std::move(error);
  return adapter;
}

Expected<LowRankAdapter> compiler::parseAdapter(StringRef text) {
  if (llvm::sys::fs::is_directory(text))
    return parseConfig(text);
  const std::string where = "--adapter=" + text.str() + ": ";
  auto [kind, settings] = text.split(':');
  if (kind != "lora")
    return createStringError(
        where + "expected lora, lora:r=16,alpha=32,targets=q_proj,v_proj, or a "
                "folder with adapter_config.json");
  auto adapter = parseSettings(settings, where);
  if (!adapter)
    return adapter.takeError();
  if (Error error = check(*adapter, where))
    return std::move(error);
  return adapter;
}
