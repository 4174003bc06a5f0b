//===- text_format.h - Python's two kinds of format strings ---------------===//

#ifndef BATON_RUNTIME_JINJA_TEXT_FORMAT_H
#define BATON_RUNTIME_JINJA_TEXT_FORMAT_H

#include "runtime/jinja/rendering.h"

namespace baton::jinja {

/// format % values:
/// https://docs.python.org/3/library/stdtypes.html#printf-style-string-formatting
Value printf_format(Rendering &rendering, const Value &format,
                    const Value &values);

/// format.format(...):
/// https://docs.python.org/3/library/string.html#format-string-syntax
Value brace_format(Rendering &rendering, const Value &format,
                   const Arguments &arguments);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_TEXT_FORMAT_H
