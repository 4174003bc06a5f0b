//===- loop.cpp - the variable `loop` -------------------------------------===//

#include "runtime/jinja/loop.h"

#include "runtime/jinja/arguments.h"
#include "runtime/jinja/functions.h"
#include "runtime/jinja/operations.h"
#include "runtime/jinja/printing.h"

namespace baton::jinja {

Loop::Loop(const Value &items, size_t depth,
           std::function<Value(const Value &items)> recurse)
    : Callable("LoopContext"), items(items), iterator(iterate(items)),
      depth_before(depth), recurse(std::move(recurse)) {
  holds(items);
}

bool Loop::advance(Value &item) {
  if (!after.missing()) {
    item = std::move(after);
    after = Value();
  } else if (!iterator->next(item))
    return false;
  ++index;
  before = std::move(current);
  current = item;
  return true;
}

const Value &Loop::peek() {
  if (Value item; after.missing() && iterator->next(item))
    after = item;
  return after;
}

std::optional<size_t> Loop::length() {
  if (known_length)
    return known_length;
  if (const auto length = length_of(items))
    return known_length = length;
  std::vector<Value> rest;
  for (Value item; iterator->next(item);)
    rest.push_back(item);
  known_length = rest.size() + index + (after.missing() ? 0 : 1);
  iterator = iterate(make_list(std::move(rest)));
  return known_length;
}

Value Loop::call(Rendering &, Arguments arguments) {
  if (!recurse)
    throw Failure("The loop must have the 'recursive' marker to be called "
                  "recursively.");
  const Bound given = bind_arguments("loop", "iterable", std::move(arguments));
  return recurse(given[0]);
}

Value Loop::cycle(Arguments arguments) {
  if (arguments.positional.empty() || !arguments.keywords.empty())
    throw Failure("no items for cycling given");
  // Before the first item, Python's index is -1.
  const size_t count = arguments.positional.size();
  return arguments.positional[(index + count - 1) % count];
}

bool Loop::changed(Rendering &rendering, Arguments arguments) {
  Value values = make_tuple(std::move(arguments.positional));
  if (!last_changed.missing() && equal(rendering, last_changed, values))
    return false;
  last_changed = std::move(values);
  return true;
}

Value Loop::attribute(Rendering &, std::string_view name) {
  const auto index0 = static_cast<Integer>(index) - 1;
  if (name == "index")
    return Value::of_size(index);
  if (name == "index0")
    return Value(index0);
  if (name == "length")
    return Value::of_size(*length());
  if (name == "revindex")
    return Value(static_cast<Integer>(*length()) - index0);
  if (name == "revindex0")
    return Value(static_cast<Integer>(*length()) - static_cast<Integer>(index));
  if (name == "first")
    return Value(index == 1);
  if (name == "last")
    return Value(peek().missing());
  if (name == "depth")
    return Value::of_size(depth_before + 1);
  if (name == "depth0")
    return Value::of_size(depth_before);
  if (name == "previtem")
    return index == 1 ? Value::undefined("there is no previous item") : before;
  if (name == "nextitem")
    return peek().missing() ? Value::undefined("there is no next item") : after;
  const auto self = shared_from_this();
  if (name == "cycle")
    return make_function("cycle", [self](Rendering &, Arguments arguments) {
      return self->cycle(std::move(arguments));
    });
  if (name == "changed")
    return make_function(
        "changed", [self](Rendering &rendering, Arguments arguments) {
          return Value(self->changed(rendering, std::move(arguments)));
        });
  return Value();
}

std::string Loop::shown() {
  return "<LoopContext " + std::to_string(index) + "/" +
         std::to_string(*length()) + ">";
}

} // namespace baton::jinja
