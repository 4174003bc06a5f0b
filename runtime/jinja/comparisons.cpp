//===- comparisons.cpp - Python's comparisons -----------------------------===//

#include "runtime/jinja/numbers.h"
#include "runtime/jinja/operations.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace baton::jinja {

namespace {

bool equal_lists(Rendering &rendering, const List &left, const List &right) {
  if (left.items.size() != right.items.size())
    return false;
  for (size_t at = 0; at < left.items.size(); ++at)
    if (!equal(rendering, left.items[at], right.items[at]))
      return false;
  return true;
}

bool equal_dictionaries(Rendering &rendering, const Dictionary &left,
                        const Dictionary &right) {
  if (left.entries().size() != right.entries().size())
    return false;
  for (const auto &[key, value] : left.entries()) {
    const Value *other = right.find(key);
    if (!other || !equal(rendering, value, *other))
      return false;
  }
  return true;
}

/// Keys and items are sets, values are not.
bool equal_views(Rendering &rendering, const View &left, const View &right) {
  if (left.part != right.part || left.part == View::Values ||
      left.of().entries().size() != right.of().entries().size())
    return false;
  if (left.part == View::Items)
    return equal_dictionaries(rendering, left.of(), right.of());
  for (const auto &[key, value] : left.of().entries()) {
    rendering.step();
    if (!right.of().find(key))
      return false;
  }
  return true;
}

bool equal_ranges(const Range &left, const Range &right) {
  return left.count == right.count &&
         (left.count == 0 || (left.start == right.start &&
                              (left.count == 1 || left.step == right.step)));
}

template <typename Type>
bool holds_comparison(Comparison what, const Type &left, const Type &right) {
  switch (what) {
  case Comparison::Less:
    return left < right;
  case Comparison::LessOrEqual:
    return left <= right;
  case Comparison::Greater:
    return left > right;
  default:
    return left >= right;
  }
}

bool compare_numbers(Comparison what, const Value &left, const Value &right) {
  if (left.is_integer() && right.is_integer())
    return holds_comparison(what, left.integer(), right.integer());
  if (left.is_float() && right.is_float())
    return holds_comparison(what, left.number(), right.number());
  if (std::isnan(left.number()) || std::isnan(right.number()))
    return false;
  if (left.is_float())
    return holds_comparison(what, 0, compare(right.integer(), left.number()));
  return holds_comparison(what, compare(left.integer(), right.number()), 0);
}

const char *comparison_name(Comparison what) {
  switch (what) {
  case Comparison::Less:
    return "<";
  case Comparison::LessOrEqual:
    return "<=";
  case Comparison::Greater:
    return ">";
  default:
    return ">=";
  }
}

bool order(Rendering &rendering, Comparison what, const Value &left,
           const Value &right) {
  rendering.step();
  if (left.is_number() && right.is_number())
    return compare_numbers(what, left, right);
  if (left.is_text() && right.is_text()) {
    rendering.step(left.bytes().size() / 256);
    // Bytes of UTF-8 are in the order of the characters.
    return holds_comparison(what, left.bytes().compare(right.bytes()), 0);
  }
  const auto both = [&](Object::Kind kind) {
    return left.is(kind) && right.is(kind);
  };
  if (both(Object::Kind::List) || both(Object::Kind::Tuple)) {
    const auto &first = left.as<List>().items, &second = right.as<List>().items;
    for (size_t at = 0; at < first.size() && at < second.size(); ++at)
      if (!equal(rendering, first[at], second[at]))
        return order(rendering, what, first[at], second[at]);
    return holds_comparison(what, first.size(), second.size());
  }
  demand_defined(left);
  demand_defined(right);
  throw Failure(std::string("'") + comparison_name(what) +
                "' not supported between instances of '" +
                std::string(type_name(left)) + "' and '" +
                std::string(type_name(right)) + "'");
}

bool range_contains(const Range &range, const Value &item) {
  if (!item.is_number() || range.count == 0)
    return false;
  if (item.is_float() && item.number() != std::trunc(item.number()))
    return false;
  if (!std::isfinite(item.number()))
    return false;
  const Integer value =
      item.is_float() ? truncate_to_integer(item.number()) : item.integer();
  const Integer last =
      range.start + static_cast<Integer>(range.count - 1) * range.step;
  return value >= std::min(range.start, last) &&
         value <= std::max(range.start, last) &&
         (value - range.start) % range.step == 0;
}

} // namespace

bool equal(Rendering &rendering, const Value &left, const Value &right) {
  rendering.step();
  if (left.is_text() && right.is_text())
    rendering.step(std::min(left.bytes().size(), right.bytes().size()) / 256);
  const Object *first = left.object(), *second = right.object();
  if (!first || !second || first == second)
    return equal_keys(left, right);
  if (first->kind != second->kind)
    return false;
  switch (first->kind) {
  case Object::Kind::List:
  case Object::Kind::Tuple:
    return equal_lists(rendering, left.as<List>(), right.as<List>());
  case Object::Kind::Dictionary:
    return equal_dictionaries(rendering, left.as<Dictionary>(),
                              right.as<Dictionary>());
  case Object::Kind::Range:
    return equal_ranges(left.as<Range>(), right.as<Range>());
  case Object::Kind::View:
    return equal_views(rendering, left.as<View>(), right.as<View>());
  case Object::Kind::Iterator:
  case Object::Kind::Namespace:
  case Object::Kind::Callable:
    break;
  }
  return false;
}

bool compare(Rendering &rendering, Comparison what, const Value &left,
             const Value &right) {
  switch (what) {
  case Comparison::Equal:
    return equal(rendering, left, right);
  case Comparison::NotEqual:
    return !equal(rendering, left, right);
  case Comparison::In:
    return contains(rendering, right, left);
  case Comparison::NotIn:
    return !contains(rendering, right, left);
  case Comparison::Less:
  case Comparison::LessOrEqual:
  case Comparison::Greater:
  case Comparison::GreaterOrEqual:
    break;
  }
  return order(rendering, what, left, right);
}

bool contains(Rendering &rendering, const Value &container, const Value &item) {
  if (container.is_text()) {
    if (!item.is_text())
      throw Failure("'in <string>' requires string as left operand, not " +
                    std::string(type_name(item)));
    rendering.step(container.bytes().size() / 256);
    return find_text(container.bytes(), item.bytes()) != std::string::npos;
  }
  if (container.is(Object::Kind::Dictionary))
    return container.as<Dictionary>().find(item) != nullptr;
  if (container.is(Object::Kind::View) &&
      container.as<View>().part == View::Keys)
    return container.as<View>().of().find(item) != nullptr;
  if (container.is(Object::Kind::Range) && item.is_number())
    return range_contains(container.as<Range>(), item);
  if (!can_iterate(container))
    throw Failure("argument of type '" + std::string(type_name(container)) +
                  "' is not iterable");
  const std::shared_ptr<Iterator> iterator = iterate(container);
  for (Value found; iterator->next(found);)
    if (equal(rendering, found, item))
      return true;
  return false;
}

size_t find_text(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size())
    return std::string_view::npos;
  // Linear in the worst case, which std::string's is not.
  const void *found =
      memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found ? static_cast<size_t>(static_cast<const char *>(found) -
                                     text.data())
               : std::string_view::npos;
}

} // namespace baton::jinja
