//===- item_keys.h - what filters sort, group and select by ---------------===//

#ifndef BATON_RUNTIME_JINJA_ITEM_KEYS_H
#define BATON_RUNTIME_JINJA_ITEM_KEYS_H

#include "runtime/jinja/rendering.h"

#include <vector>

namespace baton::jinja {

/// The item itself, or an attribute of it: a number, or names and numbers with
/// points between them.
class ItemKey {
public:
  /// Missing or None is the item itself. `otherwise` takes the place of what is
  /// undefined, unless it is Missing or None.
  ItemKey(const Value &attribute, const Value &otherwise);

  Value of(Rendering &rendering, const Value &item) const;

private:
  std::vector<Value> path;
  Value otherwise;
};

/// One for each attribute between commas.
std::vector<ItemKey> item_keys(const Value &attributes);

/// A text in lower case where that is wanted.
Value without_case(Rendering &rendering, const Value &value, bool wanted);

/// The positions of the keys in their order.
std::vector<size_t> order_of(Rendering &rendering,
                             const std::vector<Value> &keys, bool descending);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_ITEM_KEYS_H
