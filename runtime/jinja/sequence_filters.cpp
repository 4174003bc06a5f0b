//===- sequence_filters.cpp - filters of lists and dictionaries -----------===//

#include "runtime/jinja/filters.h"

#include "runtime/jinja/attributes.h"
#include "runtime/jinja/item_keys.h"
#include "runtime/jinja/lazy_items.h"
#include "runtime/jinja/methods.h"
#include "runtime/jinja/operations.h"
#include "runtime/jinja/printing.h"
#include "runtime/jinja/stable_order.h"
#include "runtime/jinja/to_json.h"
#include "runtime/jinja/unicode.h"

#include <algorithm>

namespace baton::jinja {

namespace {

Value filter_attr(Rendering &rendering, const Bound &given) {
  if (!given[1].is_text())
    throw Failure("attribute name must be string, not '" +
                  std::string(type_name(given[1])) + "'");
  return get_attribute_only(rendering, given[0], given[1].bytes());
}

Value filter_length(Rendering &, const Bound &given) {
  const auto length = length_of(given[0]);
  if (!length)
    throw Failure("object of type '" + std::string(type_name(given[0])) +
                  "' has no len()");
  return Value::of_size(*length);
}

Value filter_default(Rendering &, const Bound &given) {
  const bool replaced =
      given[0].is_undefined() || (given.flag(2, false) && !truth_of(given[0]));
  if (!replaced)
    return given[0];
  return given.given(1) ? given[1] : Value("");
}

Value filter_dictsort(Rendering &rendering, const Bound &given) {
  demand_defined(given[0]);
  if (!given[0].is(Object::Kind::Dictionary))
    throw Failure("dictsort() takes a dict, not " +
                  std::string(type_name(given[0])));
  const bool case_sensitive = given.flag(1, false);
  const std::string by = given.given(2) ? text_of(rendering, given[2]) : "key";
  if (by != "key" && by != "value")
    throw Failure("You can only sort by either \"key\" or \"value\"");
  const auto &entries = given[0].as<Dictionary>().entries();
  std::vector<Value> keys;
  for (const auto &[key, value] : entries)
    keys.push_back(
        without_case(rendering, by == "key" ? key : value, !case_sensitive));
  std::vector<Value> items;
  for (const size_t at :
       order_of(rendering, keys, /*descending=*/given.integer_or(3, 0) != 0))
    items.push_back(make_tuple({entries[at].first, entries[at].second}));
  rendering.make(items.size(), 4 * sizeof(Value));
  return make_list(std::move(items));
}

Value filter_first(Rendering &, const Bound &given) {
  Value item;
  if (iterate(given[0])->next(item))
    return item;
  return Value::undefined("No first item, sequence was empty.");
}

/// The items from the end, where Python's reversed() can.
std::optional<std::vector<Value>> backwards(Rendering &rendering,
                                            const Value &value) {
  if (!can_iterate(value) || value.is(Object::Kind::Iterator))
    return std::nullopt;
  std::vector<Value> items = items_of(rendering, value);
  std::reverse(items.begin(), items.end());
  return items;
}

Value filter_last(Rendering &rendering, const Bound &given) {
  const auto items = backwards(rendering, given[0]);
  if (!items)
    throw Failure("'" + std::string(type_name(given[0])) +
                  "' object is not reversible");
  if (items->empty())
    return Value::undefined("No last item, sequence was empty.");
  return items->front();
}

Value filter_reverse(Rendering &rendering, const Bound &given) {
  const Value &value = given[0];
  if (value.is_text()) {
    const std::u32string characters = characters_of(value.bytes());
    rendering.make(value.bytes().size());
    std::string result;
    for (size_t at = characters.size(); at > 0; --at)
      append_character(result, characters[at - 1]);
    return Value(std::move(result), value.text().safe);
  }
  if (auto items = backwards(rendering, value))
    return Value(std::static_pointer_cast<Object>(
        iterate(make_list(std::move(*items)))));
  if (!can_iterate(value))
    throw Failure("argument must be iterable");
  std::vector<Value> items = items_of(rendering, value);
  std::reverse(items.begin(), items.end());
  return make_list(std::move(items));
}

Value filter_groupby(Rendering &rendering, const Bound &given) {
  const ItemKey attribute(given[1], given.given(2) ? given[2] : Value());
  const bool case_sensitive = given.flag(3, false);
  const std::vector<Value> items = items_of(rendering, given[0]);
  std::vector<Value> keys;
  for (const Value &item : items)
    keys.push_back(without_case(rendering, attribute.of(rendering, item),
                                !case_sensitive));
  const std::vector<size_t> order = order_of(rendering, keys, false);
  std::vector<Value> groups;
  for (size_t begin = 0; begin < order.size();) {
    std::vector<Value> group;
    size_t end = begin;
    for (; end < order.size() &&
           equal(rendering, keys[order[begin]], keys[order[end]]);
         ++end)
      group.push_back(items[order[end]]);
    // What equals nothing, not even itself, is a group as well.
    if (end == begin)
      group.push_back(items[order[end++]]);
    const Value grouper =
        case_sensitive ? keys[order[begin]] : attribute.of(rendering, group[0]);
    groups.push_back(Value(std::static_pointer_cast<Object>(
        std::make_shared<Group>(grouper, make_list(std::move(group))))));
    begin = end;
  }
  return make_list(std::move(groups));
}

Value filter_items(Rendering &, const Bound &given) {
  std::shared_ptr<Iterator> iterator;
  return lazy(given[0], [value = given[0], iterator](Value &item) mutable {
    if (value.is_undefined())
      return false;
    if (!value.is(Object::Kind::Dictionary))
      throw Failure("Can only get item pairs from a mapping.");
    if (!iterator)
      iterator = iterate(Value(std::make_shared<View>(View::Items, value)));
    return iterator->next(item);
  });
}

Value filter_join(Rendering &rendering, const Bound &given) {
  const std::string separator =
      given.given(1) ? text_of(rendering, given[1]) : "";
  const ItemKey attribute(
      given.given(2) && !given[2].is_none() ? given[2] : Value(), Value());
  std::vector<std::string> items;
  for (const Value &item : items_of(rendering, given[0]))
    items.push_back(text_of(rendering, attribute.of(rendering, item)));
  return Value(join_texts(rendering, separator, items));
}

Value filter_list(Rendering &rendering, const Bound &given) {
  return make_list(items_of(rendering, given[0]));
}

Value map_by_attribute(Rendering &rendering, const Value &value,
                       Arguments arguments) {
  const Value attribute = arguments.take("attribute");
  const Value otherwise = arguments.take("default");
  if (!arguments.keywords.empty())
    throw Failure("Unexpected keyword argument " +
                  shown(std::string_view(arguments.keywords[0].first)));
  const ItemKey key(attribute, otherwise);
  return lazy_items(rendering, value, [&rendering, key](Value &item) {
    item = key.of(rendering, item);
    return true;
  });
}

Value filter_map(Rendering &rendering, const Bound &given) {
  Arguments arguments = given.rest;
  const bool has_attribute =
      std::any_of(arguments.keywords.begin(), arguments.keywords.end(),
                  [](const auto &entry) { return entry.first == "attribute"; });
  // As generators do, errors wait until somebody asks for an item.
  return lazy_later(given[0], [&rendering, arguments,
                               has_attribute](const Value &value) mutable {
    if (arguments.positional.empty() && has_attribute)
      return map_by_attribute(rendering, value, std::move(arguments));
    if (arguments.positional.empty())
      throw Failure("map requires a filter argument");
    const Value name = arguments.positional.front();
    const Filter *filter = name.is_text() ? find_filter(name.bytes()) : nullptr;
    if (!filter)
      throw Failure("No filter named " + shown(rendering, name) + ".");
    return lazy_items(rendering, value,
                      [&rendering, filter, arguments](Value &item) {
                        Arguments call = arguments;
                        call.positional[0] = item;
                        item = apply(rendering, *filter, std::move(call));
                        return true;
                      });
  });
}

/// |select and its kin: by a test, or by truth, of the items or an attribute.
Value select_items(Rendering &rendering, const Bound &given, bool wanted,
                   bool by_attribute) {
  return lazy_later(
      given[0], [&rendering, wanted, by_attribute,
                 arguments = given.rest](const Value &value) mutable {
        std::optional<ItemKey> key;
        if (by_attribute) {
          if (arguments.positional.empty())
            throw Failure("Missing parameter for attribute name");
          key.emplace(arguments.positional[0], Value());
          arguments.positional.erase(arguments.positional.begin());
        }
        const Test *test = nullptr;
        if (!arguments.positional.empty()) {
          const Value &name = arguments.positional[0];
          test = name.is_text() ? find_test(name.bytes()) : nullptr;
          if (!test)
            throw Failure("No test named " + shown(rendering, name) + ".");
        }
        return lazy_items(
            rendering, value,
            [&rendering, wanted, key, test, arguments](Value &item) {
              const Value tested = key ? key->of(rendering, item) : item;
              if (!test)
                return truth_of(tested) == wanted;
              Arguments call = arguments;
              call.positional[0] = tested;
              return holds(rendering, *test, std::move(call)) == wanted;
            });
      });
}

Value filter_select(Rendering &rendering, const Bound &given) {
  return select_items(rendering, given, true, false);
}
Value filter_reject(Rendering &rendering, const Bound &given) {
  return select_items(rendering, given, false, false);
}
Value filter_selectattr(Rendering &rendering, const Bound &given) {
  return select_items(rendering, given, true, true);
}
Value filter_rejectattr(Rendering &rendering, const Bound &given) {
  return select_items(rendering, given, false, true);
}

/// The first of the items whose key is below, or above, all others'.
Value extreme(Rendering &rendering, const Bound &given, Comparison wanted) {
  const bool case_sensitive = given.flag(1, false);
  const ItemKey attribute(
      given.given(2) && !given[2].is_none() ? given[2] : Value(), Value());
  const auto key_of = [&](const Value &item) {
    return without_case(rendering, attribute.of(rendering, item),
                        !case_sensitive);
  };
  const std::shared_ptr<Iterator> iterator = iterate(given[0]);
  Value best;
  if (!iterator->next(best))
    return Value::undefined("No aggregated item, sequence was empty.");
  Value best_key = key_of(best);
  for (Value item; iterator->next(item);) {
    Value key = key_of(item);
    if (!compare(rendering, wanted, key, best_key))
      continue;
    best = item;
    best_key = std::move(key);
  }
  return best;
}

Value filter_min(Rendering &rendering, const Bound &given) {
  return extreme(rendering, given, Comparison::Less);
}
Value filter_max(Rendering &rendering, const Bound &given) {
  return extreme(rendering, given, Comparison::Greater);
}

Value filter_sort(Rendering &rendering, const Bound &given) {
  const bool descending = given.integer_or(1, 0) != 0;
  const bool case_sensitive = given.flag(2, false);
  const std::vector<ItemKey> attributes = item_keys(given[3]);
  const std::vector<Value> items = items_of(rendering, given[0]);
  std::vector<Value> keys;
  for (const Value &item : items) {
    std::vector<Value> parts;
    for (const ItemKey &attribute : attributes)
      parts.push_back(without_case(rendering, attribute.of(rendering, item),
                                   !case_sensitive));
    rendering.make(parts.size() + 1, sizeof(Value));
    keys.push_back(make_list(std::move(parts)));
  }
  std::vector<Value> sorted;
  for (const size_t at : order_of(rendering, keys, descending))
    sorted.push_back(items[at]);
  return make_list(std::move(sorted));
}

Value filter_unique(Rendering &rendering, const Bound &given) {
  const bool case_sensitive = given.flag(1, false);
  const ItemKey attribute(
      given.given(2) && !given[2].is_none() ? given[2] : Value(), Value());
  const auto seen = std::make_shared<Dictionary>();
  return lazy_any_items(
      rendering, given[0],
      [&rendering, attribute, case_sensitive, seen](Value &item) {
        const Value key = without_case(rendering, attribute.of(rendering, item),
                                       !case_sensitive);
        if (seen->find(key))
          return false;
        rendering.make(2 * sizeof(Value));
        seen->set(key, Value::none());
        return true;
      });
}

Value filter_sum(Rendering &rendering, const Bound &given) {
  const ItemKey attribute(
      given.given(1) && !given[1].is_none() ? given[1] : Value(), Value());
  Value sum = given.given(2) ? given[2] : Value(Integer(0));
  if (sum.is_text())
    throw Failure("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value &item : items_of(rendering, given[0]))
    sum = operate(rendering, BinaryOperator::Add, sum,
                  attribute.of(rendering, item));
  return sum;
}

std::vector<Value> slices_of(Rendering &rendering, const Bound &given) {
  const std::vector<Value> items = items_of(rendering, given[0]);
  const Integer count = given.integer_or(1, 0);
  if (count == 0)
    throw Failure("integer division or modulo by zero");
  const Value fill = given.given(2) ? given[2] : Value::none();
  std::vector<Value> slices;
  const auto size = static_cast<Integer>(items.size());
  const Integer least = count > 0 ? size / count : 0;
  const Integer extra = count > 0 ? size % count : 0;
  for (Integer slice = 0, begin = 0; slice < count; ++slice) {
    const Integer end = begin + least + (slice < extra ? 1 : 0);
    rendering.step();
    rendering.make(static_cast<uint64_t>(end - begin + 2), sizeof(Value));
    std::vector<Value> part(items.begin() + static_cast<ptrdiff_t>(begin),
                            items.begin() + static_cast<ptrdiff_t>(end));
    if (!fill.is_none() && slice >= extra)
      part.push_back(fill);
    slices.push_back(make_list(std::move(part)));
    begin = end;
  }
  return slices;
}

/// Rows of `count` items; where that is no number, one row of all.
Value filter_batch(Rendering &rendering, const Bound &given) {
  const Value count = given[1];
  const Value fill = given.given(2) ? given[2] : Value::none();
  std::shared_ptr<Iterator> iterator;
  return lazy(given[0], [&rendering, source = given[0], iterator,
                         pending = Value(), count, fill](Value &row) mutable {
    if (!iterator)
      iterator = iterate(source);
    std::vector<Value> items;
    if (!pending.missing())
      items.push_back(std::exchange(pending, Value()));
    for (Value item; iterator->next(item);) {
      rendering.step();
      rendering.make(sizeof(Value));
      // Where a row is to have no items, the first one has none.
      if (equal(rendering, Value::of_size(items.size()), count)) {
        pending = item;
        row = make_list(std::move(items));
        return true;
      }
      items.push_back(item);
    }
    if (items.empty())
      return false;
    if (!fill.is_none() && compare(rendering, Comparison::Less,
                                   Value::of_size(items.size()), count)) {
      if (!count.is_integer())
        throw Failure("can't multiply sequence by non-int of type 'float'");
      const auto size =
          static_cast<uint64_t>(std::min<Integer>(count.integer(), INT64_MAX));
      rendering.make(size, sizeof(Value));
      items.resize(size, fill);
    }
    row = make_list(std::move(items));
    return true;
  });
}

Value filter_slice(Rendering &rendering, const Bound &given) {
  return lazy(given[0], [&rendering, given, slices = std::vector<Value>(),
                         next = size_t(0), made = false](Value &part) mutable {
    if (!made)
      slices = slices_of(rendering, given);
    made = true;
    if (next == slices.size())
      return false;
    part = slices[next++];
    return true;
  });
}

Value filter_tojson(Rendering &rendering, const Bound &given) {
  JsonStyle style;
  style.ascii = given.flag(1, false);
  if (given.given(2) && given[2].is_text())
    style.indent = given[2].bytes();
  else if (const auto indent = given.integer(2)) {
    rendering.make(
        static_cast<uint64_t>(std::clamp<Integer>(*indent, 0, INT64_MAX)));
    style.indent =
        std::string(static_cast<size_t>(std::max<Integer>(*indent, 0)), ' ');
  }
  if (style.indent)
    style.item_separator = ",";
  if (given.given(3) && !given[3].is_none()) {
    const std::vector<Value> parts = items_of(rendering, given[3]);
    if (parts.size() != 2 || !parts[0].is_text() || !parts[1].is_text())
      throw Failure("tojson() takes two separators");
    style.item_separator = parts[0].bytes();
    style.key_separator = parts[1].bytes();
  }
  style.sorted = given.flag(4, false);
  return Value(to_json(rendering, given[0], style));
}

Value filter_refused(Rendering &, const Bound &) {
  throw Failure("the filters random and urlize are not supported");
}

constexpr Filter filters_of_sequences[] = {
    {"attr", "obj name", filter_attr},
    {"batch", "value linecount fill_with=", filter_batch},
    {"count", "obj /", filter_length},
    {"d", "value default_value= boolean=", filter_default},
    {"default", "value default_value= boolean=", filter_default},
    {"dictsort", "value case_sensitive= by= reverse=", filter_dictsort},
    {"first", "seq", filter_first},
    {"groupby", "value attribute default= case_sensitive=", filter_groupby},
    {"items", "value", filter_items},
    {"join", "value d= attribute=", filter_join},
    {"last", "seq", filter_last},
    {"length", "obj /", filter_length},
    {"list", "value", filter_list},
    {"map", "value / * **", filter_map},
    {"max", "value case_sensitive= attribute=", filter_max},
    {"min", "value case_sensitive= attribute=", filter_min},
    {"random", "value * **", filter_refused},
    {"reject", "value / * **", filter_reject},
    {"rejectattr", "value / * **", filter_rejectattr},
    {"reverse", "value", filter_reverse},
    {"select", "value / * **", filter_select},
    {"selectattr", "value / * **", filter_selectattr},
    {"slice", "value slices fill_with=", filter_slice},
    {"sort", "value reverse= case_sensitive= attribute=", filter_sort},
    {"sum", "iterable attribute= start=", filter_sum},
    {"tojson", "x ensure_ascii= indent= separators= sort_keys=", filter_tojson},
    {"unique", "value case_sensitive= attribute=", filter_unique},
    {"urlize", "value * **", filter_refused},
};

} // namespace

std::span<const Filter> sequence_filters() { return filters_of_sequences; }

} // namespace baton::jinja
