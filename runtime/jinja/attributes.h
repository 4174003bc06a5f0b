//===- attributes.h - value.name and value[key] ---------------------------===//
//
// As jinja2.sandbox.ImmutableSandboxedEnvironment looks them up: names of
// methods and attributes before keys behind a dot, after them in brackets. What
// would change a list or a dictionary is an undefined value that says so when
// it is used.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_ATTRIBUTES_H
#define BATON_RUNTIME_JINJA_ATTRIBUTES_H

#include "runtime/jinja/rendering.h"

#include <string_view>

namespace baton::jinja {

/// Undefined where there is neither an attribute nor an item.
Value get_attribute(Rendering &rendering, const Value &value,
                    std::string_view name);
Value get_item(Rendering &rendering, const Value &value, const Value &key);
/// Without items: |attr(name).
Value get_attribute_only(Rendering &rendering, const Value &value,
                         std::string_view name);

/// value(...).
Value call(Rendering &rendering, const Value &value, Arguments arguments);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_ATTRIBUTES_H
