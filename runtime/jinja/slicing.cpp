//===- slicing.cpp - parts of texts and lists -----------------------------===//

#include "runtime/jinja/slicing.h"

#include "runtime/jinja/numbers.h"
#include "runtime/jinja/unicode.h"

#include <algorithm>

namespace baton::jinja {

namespace {

Integer slice_bound(const Value &bound) {
  if (!bound.is_integer())
    throw Failure("slice indices must be integers or None or have an __index__ "
                  "method");
  return bound.integer();
}

struct SliceBounds {
  Integer start, stop, step;
  size_t count;
};

SliceBounds slice_bounds(size_t size, const Value &start, const Value &stop,
                         const Value &step) {
  const auto given = [](const Value &value) {
    return !value.missing() && !value.is_none();
  };
  const Integer by = given(step) ? slice_bound(step) : 1;
  if (by == 0)
    throw Failure("slice step cannot be zero");
  const auto length = static_cast<Integer>(size);
  const Integer low = by > 0 ? 0 : -1, high = by > 0 ? length : length - 1;
  const auto clamp = [&](const Value &bound, Integer otherwise) {
    if (!given(bound))
      return otherwise;
    const Integer value = slice_bound(bound);
    return std::clamp(value < 0 && value >= -length - 1 ? value + length
                      : value < 0                       ? low
                                                        : value,
                      low, high);
  };
  const Integer from = clamp(start, by > 0 ? low : high);
  const Integer to = clamp(stop, by > 0 ? high : low);
  // No step is longer than the sequence.
  const Integer stride = std::clamp(by, -length - 1, length + 1);
  return {from, to, by, Range(from, to, stride == 0 ? by : stride).count};
}

std::string slice_text(const Text &text, const SliceBounds &bounds) {
  const auto start = static_cast<size_t>(bounds.start);
  if (bounds.count == 0)
    return "";
  if (bounds.step == 1) {
    const size_t begin = text.ascii() ? start : offset_of(text.bytes, start);
    const std::string_view rest = std::string_view(text.bytes).substr(begin);
    return std::string(rest.substr(
        0, text.ascii() ? bounds.count : offset_of(rest, bounds.count)));
  }
  const std::u32string characters = characters_of(text.bytes);
  std::string result;
  for (size_t at = 0; at < bounds.count; ++at)
    append_character(
        result, characters[static_cast<size_t>(
                    bounds.start + static_cast<Integer>(at) * bounds.step)]);
  return result;
}

} // namespace

Value slice(Rendering &rendering, const Value &container, const Value &start,
            const Value &stop, const Value &step) {
  demand_defined(container);
  if (container.is(Object::Kind::Dictionary))
    throw Failure("unhashable type: 'slice'");
  if (!container.is_text() && !container.is(Object::Kind::List) &&
      !container.is(Object::Kind::Tuple) && !container.is(Object::Kind::Range))
    throw Failure("'" + std::string(type_name(container)) +
                  "' object is not subscriptable");
  const SliceBounds bounds =
      slice_bounds(*length_of(container), start, stop, step);
  if (container.is_text()) {
    std::string result = slice_text(container.text(), bounds);
    rendering.make(result.size() + container.bytes().size() / 16);
    return Value(std::move(result), container.text().safe);
  }
  if (container.is(Object::Kind::Range)) {
    const Range &range = container.as<Range>();
    const Integer from = range.start + bounds.start * range.step;
    const Integer by = multiply(range.step, bounds.step);
    const Integer to = range.start + bounds.stop * range.step;
    return Value(std::make_shared<Range>(from, to, by));
  }
  rendering.make(bounds.count, sizeof(Value));
  const List &list = container.as<List>();
  std::vector<Value> items;
  items.reserve(bounds.count);
  for (size_t at = 0; at < bounds.count; ++at)
    items.push_back(list.items[static_cast<size_t>(
        bounds.start + static_cast<Integer>(at) * bounds.step)]);
  return Value(std::make_shared<List>(std::move(items), list.kind));
}

} // namespace baton::jinja
