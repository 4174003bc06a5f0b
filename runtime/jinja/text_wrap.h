//===- text_wrap.h - text in lines of a width -----------------------------===//

#ifndef BATON_RUNTIME_JINJA_TEXT_WRAP_H
#define BATON_RUNTIME_JINJA_TEXT_WRAP_H

#include "runtime/jinja/rendering.h"

#include <string>
#include <string_view>
#include <vector>

namespace baton::jinja {

/// The lines of one paragraph, by Python's textwrap.wrap, which leaves white
/// space inside of lines as it is. The width is in characters.
std::vector<std::string> wrap_text(Rendering &rendering, std::string_view text,
                                   Integer width, bool break_long_words,
                                   bool break_on_hyphens);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_TEXT_WRAP_H
