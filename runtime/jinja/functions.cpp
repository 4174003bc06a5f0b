//===- functions.cpp - what templates can call by name --------------------===//

#include "runtime/jinja/functions.h"

#include "runtime/jinja/arguments.h"
#include "runtime/jinja/clock.h"
#include "runtime/jinja/printing.h"

#include <memory>

namespace baton::jinja {

namespace {

/// Of the sandbox.
constexpr size_t longest_range = 100'000;

class FunctionObject : public Callable {
public:
  FunctionObject(const char *name,
                 std::function<Value(Rendering &, Arguments)> body)
      : Callable("function"), name(name), body(std::move(body)) {}

  Value call(Rendering &rendering, Arguments arguments) override {
    return body(rendering, std::move(arguments));
  }
  std::string shown() override { return "<function " + name + ">"; }

private:
  const std::string name;
  const std::function<Value(Rendering &, Arguments)> body;
};

Integer range_bound(const Value &value) {
  demand_defined(value);
  if (!value.is_integer())
    throw Failure("'" + std::string(type_name(value)) +
                  "' object cannot be interpreted as an integer");
  return value.integer();
}

Value make_range(Rendering &, Arguments arguments) {
  const Bound given =
      bind_arguments("range", "start stop= step= /", std::move(arguments));
  const Integer first = range_bound(given[0]);
  const Integer start = given.given(1) ? first : 0;
  const Integer stop = given.given(1) ? range_bound(given[1]) : first;
  const Integer step = given.given(2) ? range_bound(given[2]) : 1;
  if (step == 0)
    throw Failure("range() arg 3 must not be zero");
  constexpr Integer far = static_cast<Integer>(1) << 100;
  if (start > far || start < -far || stop > far || stop < -far || step > far ||
      step < -far)
    throw Failure("the number is too large for range()");
  const Integer distance = step > 0 ? stop - start : start - stop;
  if (distance > 0 && (distance - 1) / (step > 0 ? step : -step) >=
                          static_cast<Integer>(longest_range))
    throw Failure("Range too big. The sandbox blocks ranges larger than "
                  "MAX_RANGE (" +
                  std::to_string(longest_range) + ").");
  return Value(std::make_shared<Range>(start, stop, step));
}

void fill(Rendering &rendering, Dictionary &result, Arguments arguments) {
  if (arguments.positional.size() > 1)
    throw Failure("dict expected at most 1 argument, got " +
                  std::to_string(arguments.positional.size()));
  for (const Value &from : arguments.positional) {
    demand_defined(from);
    if (from.is(Object::Kind::Dictionary)) {
      for (const auto &[key, value] : from.as<Dictionary>().entries()) {
        rendering.make(2 * sizeof(Value));
        result.set(key, value);
      }
      continue;
    }
    for (const Value &entry : items_of(rendering, from)) {
      const std::vector<Value> pair = items_of(rendering, entry);
      if (pair.size() != 2)
        throw Failure("dictionary update sequence element has length " +
                      std::to_string(pair.size()) + "; 2 is required");
      result.set(pair[0], pair[1]);
    }
  }
  for (auto &[name, value] : arguments.keywords)
    result.set(Value(name), std::move(value));
}

Value make_dictionary(Rendering &rendering, Arguments arguments) {
  auto result = std::make_shared<Dictionary>();
  fill(rendering, *result, std::move(arguments));
  return Value(std::move(result));
}

Value make_space(Rendering &rendering, Arguments arguments) {
  const std::shared_ptr<Namespace> space = rendering.make_namespace();
  // namespace(undefined) is an error, but nothing to iterate over is none.
  fill(rendering, *space->attributes, std::move(arguments));
  return Value(std::static_pointer_cast<Object>(space));
}

class Cycler : public Callable, public std::enable_shared_from_this<Cycler> {
public:
  explicit Cycler(std::vector<Value> contents)
      : Callable("Cycler"), items(std::move(contents)) {
    for (const Value &item : items)
      holds(item);
  }

  bool callable() const override { return false; }

  Value attribute(Rendering &, std::string_view name) override {
    const auto self = shared_from_this();
    if (name == "current")
      return items[position];
    if (name == "pos")
      return Value::of_size(position);
    if (name == "items")
      return make_tuple(items);
    if (name == "next")
      return make_function("next", [self](Rendering &, Arguments arguments) {
        bind_arguments("next", "", std::move(arguments));
        const Value item = self->items[self->position];
        self->position = (self->position + 1) % self->items.size();
        return item;
      });
    if (name == "reset")
      return make_function("reset", [self](Rendering &, Arguments arguments) {
        bind_arguments("reset", "", std::move(arguments));
        self->position = 0;
        return Value::none();
      });
    return Value();
  }

private:
  const std::vector<Value> items;
  size_t position = 0;
};

Value make_cycler(Rendering &, Arguments arguments) {
  if (arguments.positional.empty() || !arguments.keywords.empty())
    throw Failure("at least one item has to be provided");
  return Value(std::make_shared<Cycler>(std::move(arguments.positional)));
}

class Joiner : public Callable {
public:
  explicit Joiner(Value separator)
      : Callable("Joiner"), separator(std::move(separator)) {
    holds(this->separator);
  }

  Value call(Rendering &, Arguments arguments) override {
    bind_arguments("joiner", "", std::move(arguments));
    if (used)
      return separator;
    used = true;
    return Value("");
  }

  Value attribute(Rendering &, std::string_view name) override {
    return name == "sep" ? separator : name == "used" ? Value(used) : Value();
  }

private:
  const Value separator;
  bool used = false;
};

Value make_joiner(Rendering &, Arguments arguments) {
  const Bound given = bind_arguments("joiner", "sep=", std::move(arguments));
  return Value(
      std::make_shared<Joiner>(given.given(0) ? given[0] : Value(", ")));
}

Value raise(Rendering &rendering, Arguments arguments) {
  const Bound given =
      bind_arguments("raise_exception", "message", std::move(arguments));
  Failure failure(text_of(rendering, given[0]));
  failure.raised = true;
  throw failure;
}

Value format_now(Rendering &rendering, Arguments arguments) {
  const Bound given =
      bind_arguments("strftime_now", "format", std::move(arguments));
  if (!given[0].is_text())
    throw Failure("strftime() argument 1 must be str, not " +
                  std::string(type_name(given[0])));
  return Value(format_time(rendering, given[0].bytes(), rendering.now));
}

Value refuse(Rendering &, Arguments) {
  throw Failure("lipsum() is not supported");
}

struct Global {
  const char *name;
  Value (*call)(Rendering &, Arguments);
};
constexpr Global globals[] = {
    {"cycler", make_cycler},   {"dict", make_dictionary},
    {"joiner", make_joiner},   {"lipsum", refuse},
    {"namespace", make_space}, {"raise_exception", raise},
    {"range", make_range},     {"strftime_now", format_now},
};

} // namespace

Value make_function(const char *name,
                    std::function<Value(Rendering &, Arguments)> body) {
  return Value(std::make_shared<FunctionObject>(name, std::move(body)));
}

Value find_global(std::string_view name) {
  for (const Global &global : globals)
    if (global.name == name)
      return make_function(global.name, global.call);
  return Value();
}

} // namespace baton::jinja
