//===- lazy_items.h - generators ------------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_LAZY_ITEMS_H
#define BATON_RUNTIME_JINJA_LAZY_ITEMS_H

#include "runtime/jinja/rendering.h"

#include <functional>

namespace baton::jinja {

/// What `next` gives; `source` says how deep it is nested.
Value lazy(const Value &source, std::function<bool(Value &)> next);

/// Of the items of `source` those for which `take` returns true, as it leaves
/// them; none where the source is false, as in |map.
Value lazy_items(Rendering &rendering, const Value &source,
                 std::function<bool(Value &)> take);
/// The same, but the source is iterated over whatever its truth.
Value lazy_any_items(Rendering &rendering, const Value &source,
                     std::function<bool(Value &)> take);

/// The items of what `make` makes of the source once the first is wanted; none
/// where the source is false.
Value lazy_later(const Value &source, std::function<Value(const Value &)> make);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_LAZY_ITEMS_H
