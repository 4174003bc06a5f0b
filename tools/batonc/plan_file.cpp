//===- plan_file.cpp - flags that batonc plan has chosen ------------------===//

#include "tools/batonc/plan_file.h"

#include <nlohmann/json.hpp>

#include <fstream>

using namespace baton;
using Json = nlohmann::ordered_json;

/// A flag's value: "" for one without, nothing where it is none.
static std::optional<std::string> valueOf(const Json &json) {
  if (json.is_string())
    return json.get<std::string>();
  if (json.is_boolean() && json.get<bool>())
    return "";
  return std::nullopt;
}

/// One flag of the plan; an error line, or nothing.
static std::string apply(CLI::App &app, const std::string &flag,
                         const std::string &value) {
  CLI::Option *option =
      flag.starts_with("--") ? app.get_option_no_throw(flag) : nullptr;
  if (!option)
    return "there is no flag " + flag;
  const bool takesValue = option->get_items_expected_max() > 0;
  if (takesValue == value.empty())
    return flag + (takesValue ? " has no value" : " takes no value");
  if (option->count()) {
    const std::string given =
        takesValue ? CLI::detail::join(option->results(), ",") : "";
    return given == value
               ? ""
               : "the plan says " + flag + "=" + value + ", the command line " +
                     flag + "=" + given + "; leave one of them out";
  }
  try {
    option->add_result(takesValue ? value : "true");
    option->run_callback();
  } catch (const CLI::Error &error) {
    return flag + "=" + value + ": " + error.what();
  }
  return "";
}

std::string tools::applyPlan(CLI::App &app, const std::string &file,
                             std::string &train) {
  const std::string begin = "--plan=" + file + ": ";
  std::ifstream stream(file);
  if (!stream)
    return begin + "cannot be read";
  const Json plan = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!plan.is_object() || plan.value("format", Json()) != 1 ||
      !plan.value("compile", Json()).is_object() ||
      !plan.value("train", Json()).is_object())
    return begin + "is no plan; batonc plan train -o FILE writes one";
  for (const auto &[flag, json] : plan["compile"].items()) {
    const std::optional<std::string> value = valueOf(json);
    const std::string error =
        value ? apply(app, flag, *value) : flag + " is neither text nor true";
    if (!error.empty())
      return begin + error;
  }
  for (const auto &[flag, json] : plan["train"].items())
    if (const std::optional<std::string> value = valueOf(json))
      train += " " + flag + (value->empty() ? "" : "=" + *value);
    else
      return begin + flag + " is neither text nor true";
  return "";
}
