//===- render.cpp - Baton's Jinja, for tests in other languages -----------===//
//
// Reads lines of JSON, {"template": "...", "context": {...}, "now": seconds
// since 1970 in UTC}, and answers each with a line: {"text": "..."}, or
// {"error": "...", "raised": "..."}, where the latter is what the template
// itself raised.
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/template.h"

#include <ctime>
#include <iostream>

using namespace baton;
using nlohmann::ordered_json;

namespace {

ordered_json answer(const ordered_json &question) {
  try {
    const auto parsed = jinja::Template::parse(
        question.at("template").get<std::string>(), "template");
    const std::time_t seconds = question.value("now", std::time_t(0));
    jinja::RenderOptions options;
    gmtime_r(&seconds, &options.now.emplace());
    return {{"text", parsed.render(question.at("context"), options)}};
  } catch (const jinja::TemplateError &error) {
    ordered_json result{{"error", error.what()}};
    if (error.raised)
      result["raised"] = error.what_failed;
    return result;
  }
}

} // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line))
    std::cout << answer(ordered_json::parse(line)) << std::endl;
}
