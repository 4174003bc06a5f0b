//===- methods.h - methods of texts, lists and dictionaries ---------------===//

#ifndef BATON_RUNTIME_JINJA_METHODS_H
#define BATON_RUNTIME_JINJA_METHODS_H

#include "runtime/jinja/arguments.h"
#include "runtime/jinja/rendering.h"

#include <span>
#include <string_view>

namespace baton::jinja {

struct Method {
  std::string_view name, signature;
  Value (*call)(Rendering &rendering, const Value &self, const Bound &given);
};

std::span<const Method> text_methods();
std::span<const Method> container_methods(Object::Kind kind);
std::span<const Method> number_methods(bool is_float);

/// Whether the method would change a list or a dictionary.
bool is_mutating(const Value &self, std::string_view name);

/// Null where the value has no such method.
const Method *find_method(const Value &self, std::string_view name);
/// A Callable.
Value bind_method(const Value &self, const Method &method);

/// text.replace(), at most `count` times where that is not negative.
std::string replace_text(Rendering &rendering, std::string_view text,
                         std::string_view from, std::string_view to,
                         Integer count);
/// text.split(), at white space where there is no separator.
std::vector<std::string_view>
split_text(Rendering &rendering, std::string_view text,
           std::optional<std::string_view> separator, Integer most,
           bool from_right);
/// separator.join(items), of texts.
std::string join_texts(Rendering &rendering, std::string_view separator,
                       const std::vector<std::string> &items);
/// In the middle of a width, as text.center().
std::string center_text(Rendering &rendering, const Text &text, Integer width,
                        std::string_view fill);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_METHODS_H
