//===- functions.h - what templates can call by name ----------------------===//

#ifndef BATON_RUNTIME_JINJA_FUNCTIONS_H
#define BATON_RUNTIME_JINJA_FUNCTIONS_H

#include "runtime/jinja/rendering.h"

#include <functional>
#include <string_view>

namespace baton::jinja {

/// range, dict, namespace, cycler, joiner; raise_exception and strftime_now of
/// Transformers. Missing where there is no such name.
Value find_global(std::string_view name);

/// A Callable.
Value make_function(const char *name,
                    std::function<Value(Rendering &, Arguments)> body);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_FUNCTIONS_H
