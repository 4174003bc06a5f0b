//===- template.cpp - chat templates --------------------------------------===//

#include "runtime/jinja/template.h"

#include "runtime/jinja/interpreter.h"
#include "runtime/jinja/json_values.h"
#include "runtime/jinja/lexer.h"
#include "runtime/jinja/parser.h"
#include "runtime/jinja/resolver.h"
#include "runtime/jinja/unicode.h"

#include <algorithm>

namespace baton::jinja {

struct Template::Parsed {
  std::string name, text;
  Program program;
};

namespace {

/// An error is one line, whatever the template put in it.
std::string in_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char character) { return character == '\n' || character == '\r'; },
      ' ');
  return text;
}

TemplateError located(const std::string &name, std::string_view text,
                      const Failure &failure) {
  const std::string_view before =
      text.substr(0, std::min(failure.at.value_or(0), text.size()));
  const size_t newline = before.rfind('\n');
  const std::string_view line =
      newline == std::string_view::npos ? before : before.substr(newline + 1);
  return {
      name,
      1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n')),
      1 + count_characters(line), failure.message, failure.raised};
}

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm result{};
  localtime_r(&now, &result);
  return result;
}

} // namespace

TemplateError::TemplateError(const std::string &name, size_t line,
                             size_t column, const std::string &what,
                             bool raised)
    : Error(in_one_line(name + ":" + std::to_string(line) + ":" +
                        std::to_string(column) + ": " + what)),
      what_failed(what), line(line), column(column), raised(raised) {}

Template Template::parse(std::string_view text, std::string name) {
  auto parsed = std::make_shared<Parsed>();
  parsed->name = std::move(name);
  if (!is_well_formed(text))
    throw TemplateError(parsed->name, 1, 1, "the template is not UTF-8", false);
  parsed->text = normalize_template(text);
  try {
    parsed->program = resolve(Parser(tokenize(parsed->text)).parse());
  } catch (const Failure &failure) {
    throw located(parsed->name, parsed->text, failure);
  }
  return Template(std::move(parsed));
}

std::string Template::render(const nlohmann::ordered_json &context,
                             const RenderOptions &options,
                             std::vector<TextSpan> *generated) const {
  try {
    Rendering rendering(
        {options.most_steps, options.most_bytes, options.most_depth},
        options.now ? *options.now : local_time());
    const Value values = value_of_json(rendering, context);
    if (!values.is(Object::Kind::Dictionary))
      throw Failure("the context is no JSON object");
    return Interpreter(rendering, values.as<Dictionary>(), generated)
        .run(parsed->program);
  } catch (const Failure &failure) {
    throw located(parsed->name, parsed->text, failure);
  }
}

} // namespace baton::jinja
