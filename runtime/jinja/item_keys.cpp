//===- item_keys.cpp - what filters sort, group and select by -------------===//

#include "runtime/jinja/item_keys.h"

#include "runtime/jinja/attributes.h"
#include "runtime/jinja/numbers.h"
#include "runtime/jinja/operations.h"
#include "runtime/jinja/printing.h"
#include "runtime/jinja/stable_order.h"
#include "runtime/jinja/unicode.h"

#include <algorithm>

namespace baton::jinja {

namespace {

Value path_part(std::string_view part) {
  const std::u32string characters = characters_of(part);
  if (!characters.empty() &&
      std::all_of(characters.begin(), characters.end(), is_digit)) {
    if (const auto index = parse_integer(part))
      return Value(*index);
    throw Failure("invalid literal for int() with base 10: " + shown(part));
  }
  return Value(part);
}

} // namespace

ItemKey::ItemKey(const Value &attribute, const Value &otherwise)
    : otherwise(otherwise.is_none() ? Value() : otherwise) {
  if (attribute.missing() || attribute.is_none())
    return;
  if (!attribute.is_text()) {
    path.push_back(attribute);
    return;
  }
  std::string_view rest = attribute.bytes();
  for (;;) {
    const size_t end = rest.find('.');
    path.push_back(path_part(rest.substr(0, end)));
    if (end == std::string_view::npos)
      return;
    rest.remove_prefix(end + 1);
  }
}

Value ItemKey::of(Rendering &rendering, const Value &item) const {
  Value value = item;
  for (const Value &part : path) {
    rendering.step();
    value = get_item(rendering, value, part);
    if (value.is_undefined() && !otherwise.missing())
      value = otherwise;
  }
  return value;
}

std::vector<ItemKey> item_keys(const Value &attributes) {
  if (!attributes.is_text())
    return {ItemKey(attributes, Value())};
  std::vector<ItemKey> keys;
  std::string_view rest = attributes.bytes();
  for (;;) {
    const size_t end = rest.find(',');
    keys.emplace_back(Value(rest.substr(0, end)), Value());
    if (end == std::string_view::npos)
      return keys;
    rest.remove_prefix(end + 1);
  }
}

Value without_case(Rendering &rendering, const Value &value, bool wanted) {
  if (!wanted || !value.is_text())
    return value;
  rendering.make(value.bytes().size());
  return Value(lower(value.bytes()));
}

std::vector<size_t> order_of(Rendering &rendering,
                             const std::vector<Value> &keys, bool descending) {
  rendering.make(keys.size(), 2 * sizeof(size_t));
  return stable_order(keys.size(), [&](size_t left, size_t right) {
    return descending
               ? compare(rendering, Comparison::Less, keys[right], keys[left])
               : compare(rendering, Comparison::Less, keys[left], keys[right]);
  });
}

} // namespace baton::jinja
