//===- printing.h - values as text ----------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_PRINTING_H
#define BATON_RUNTIME_JINJA_PRINTING_H

#include "runtime/jinja/rendering.h"

#include <string>
#include <string_view>

namespace baton::jinja {

/// str().
std::string text_of(Rendering &rendering, const Value &value);
/// repr().
std::string shown(Rendering &rendering, const Value &value);
std::string shown(std::string_view text);
/// The value itself where it is a text, else its str().
Value soft_text(Rendering &rendering, const Value &value);
/// With &, <, >, " and ' as entities.
std::string escape_html(Rendering &rendering, std::string_view text);
/// The text as Markup, which escapes it where it is none.
Value to_markup(Rendering &rendering, const Value &value);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_PRINTING_H
