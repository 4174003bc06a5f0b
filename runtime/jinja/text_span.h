//===- text_span.h - a part of a text -------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_TEXT_SPAN_H
#define BATON_RUNTIME_JINJA_TEXT_SPAN_H

#include <cstddef>

namespace baton::jinja {

/// Bytes of a text: first ... end - 1.
struct TextSpan {
  size_t first, end;
  bool operator==(const TextSpan &) const = default;
};

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_TEXT_SPAN_H
