//===- JinjaTest.h - renders small templates ------------------------------===//

#ifndef BATON_TEST_RUNTIME_JINJA_JINJATEST_H
#define BATON_TEST_RUNTIME_JINJA_JINJATEST_H

#include "runtime/jinja/template.h"

#include <gtest/gtest.h>

#include <string>

namespace baton::jinja {

/// The 1st of March, 2025, 12:34:56: a Saturday.
inline std::tm march() {
  std::tm time{};
  time.tm_year = 125;
  time.tm_mon = 2;
  time.tm_mday = 1;
  time.tm_hour = 12;
  time.tm_min = 34;
  time.tm_sec = 56;
  time.tm_wday = 6;
  time.tm_yday = 59;
  return time;
}

/// What a template makes of a context in JSON.
inline std::string render(const std::string &text,
                          const std::string &context = "{}",
                          RenderOptions options = {}) {
  options.now = march();
  return Template::parse(text, "t").render(
      nlohmann::ordered_json::parse(context), options);
}

/// An expression's value, printed.
inline std::string value(const std::string &expression,
                         const std::string &context = "{}") {
  return render("{{ " + expression + " }}", context);
}

/// The error, with its place.
inline std::string failure(const std::string &text,
                           const std::string &context = "{}",
                           const RenderOptions &options = {}) {
  try {
    return "no error, but " + render(text, context, options);
  } catch (const TemplateError &error) {
    return error.what();
  }
}

} // namespace baton::jinja

#endif // BATON_TEST_RUNTIME_JINJA_JINJATEST_H
