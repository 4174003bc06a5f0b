//===- template.h - chat templates ----------------------------------------===//
//
// Renders Jinja templates as Hugging Face Transformers renders chat templates:
// as jinja2.sandbox.ImmutableSandboxedEnvironment does with trim_blocks,
// lstrip_blocks, {% break %}, {% continue %} and {% generation %}, its filter
// tojson, raise_exception() and strftime_now(), to the byte.
//
// Refused by name: {% include %}, {% import %}, {% from %}, {% extends %},
// {% block %}, {% autoescape %}, the filters random and urlize, lipsum().
// Integers have 128 bits; what becomes larger is an error.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_TEMPLATE_H
#define BATON_RUNTIME_JINJA_TEMPLATE_H

#include "runtime/error.h"
#include "runtime/jinja/text_span.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton::jinja {

/// "NAME:LINE:COLUMN: what", in one line. Lines and columns, in characters,
/// count from one.
struct TemplateError : Error {
  TemplateError(const std::string &name, size_t line, size_t column,
                const std::string &what, bool raised);

  /// Without the place.
  std::string what_failed;
  size_t line, column;
  /// Whether the template itself called raise_exception(): then it is the
  /// conversation that is at fault.
  bool raised;
};

struct RenderOptions {
  /// The local time that strftime_now() shows; the clock's where there is none.
  std::optional<std::tm> now;
  /// Of evaluated expressions, statements and items.
  uint64_t most_steps = 50'000'000;
  /// Of all texts and lists that are made on the way.
  uint64_t most_bytes = uint64_t(2) << 30;
  /// Of expressions and statements within one another, through calls of macros.
  uint32_t most_depth = 1000;
};

/// A parsed template. Copies share it, and threads may render at once.
class Template {
public:
  /// Throws TemplateError. The name is for errors.
  static Template parse(std::string_view text, std::string name);

  /// The context is an object. Throws TemplateError, also where a limit is
  /// passed. `generated` gets what each {% generation %} block has rendered, in
  /// order; then such a block has to stand where its place in the text is
  /// known: in no macro, and in no block that is set, called or filtered.
  std::string render(const nlohmann::ordered_json &context,
                     const RenderOptions &options = {},
                     std::vector<TextSpan> *generated = nullptr) const;

private:
  struct Parsed;
  explicit Template(std::shared_ptr<const Parsed> parsed)
      : parsed(std::move(parsed)) {}

  std::shared_ptr<const Parsed> parsed;
};

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_TEMPLATE_H
