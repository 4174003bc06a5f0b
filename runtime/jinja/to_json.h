//===- to_json.h - values as JSON, by Python's json.dumps -----------------===//

#ifndef BATON_RUNTIME_JINJA_TO_JSON_H
#define BATON_RUNTIME_JINJA_TO_JSON_H

#include "runtime/jinja/rendering.h"

#include <optional>
#include <string>

namespace baton::jinja {

struct JsonStyle {
  bool ascii = false, sorted = false;
  /// Of one level; nothing for one line.
  std::optional<std::string> indent;
  std::string item_separator = ", ", key_separator = ": ";
};

/// Throws Failure for what JSON has no form of.
std::string to_json(Rendering &rendering, const Value &value,
                    const JsonStyle &style);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_TO_JSON_H
