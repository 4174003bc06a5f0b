//===- container_methods.cpp - methods of lists and dictionaries ----------===//

#include "runtime/jinja/methods.h"

#include "runtime/jinja/operations.h"
#include "runtime/jinja/printing.h"

#include <algorithm>
#include <cmath>

namespace baton::jinja {

namespace {

Value count_items(Rendering &rendering, const Value &self, const Bound &given) {
  Integer count = 0;
  for (const Value &item : items_of(rendering, self))
    count += equal(rendering, item, given[0]);
  return Value(count);
}

Value index_of_item(Rendering &rendering, const Value &self,
                    const Bound &given) {
  const std::vector<Value> items = items_of(rendering, self);
  const auto length = static_cast<Integer>(items.size());
  const auto clamp = [&](size_t parameter, Integer otherwise) {
    if (given.values.size() <= parameter)
      return otherwise;
    const Integer bound = given.integer_or(parameter, otherwise);
    return std::clamp<Integer>(bound < 0 ? bound + length : bound, 0, length);
  };
  for (Integer at = clamp(1, 0); at < clamp(2, length); ++at)
    if (equal(rendering, items[static_cast<size_t>(at)], given[0]))
      return Value(at);
  throw Failure(shown(rendering, given[0]) + " is not in " +
                std::string(type_name(self)));
}

Value copied(Rendering &, const Value &self, const Bound &) { return self; }

Value get_or_default(Rendering &, const Value &self, const Bound &given) {
  const Value *found = self.as<Dictionary>().find(given[0]);
  return found ? *found : given.given(1) ? given[1] : Value::none();
}

template <View::Part part>
Value view_of(Rendering &, const Value &self, const Bound &) {
  return Value(std::make_shared<View>(part, self));
}

Value dictionary_of_keys(Rendering &rendering, const Value &,
                         const Bound &given) {
  auto result = std::make_shared<Dictionary>();
  for (const Value &key : items_of(rendering, given[0])) {
    rendering.make(2 * sizeof(Value));
    result->set(key, given.given(1) ? given[1] : Value::none());
  }
  return Value(std::move(result));
}

Value bit_length(Rendering &, const Value &self, const Bound &) {
  Integer value = self.integer(), bits = 0;
  for (; value != 0; value /= 2)
    ++bits;
  return Value(bits);
}

Value is_whole(Rendering &, const Value &self, const Bound &) {
  return Value(std::isfinite(self.number()) &&
               self.number() == std::trunc(self.number()));
}

Value conjugate(Rendering &, const Value &self, const Bound &) {
  return self.is_boolean() ? Value(self.integer()) : self;
}

constexpr Method methods_of_lists[] = {
    {"copy", "", copied},
    {"count", "value /", count_items},
    {"index", "value start= stop= /", index_of_item},
};
constexpr Method methods_of_tuples[] = {
    {"count", "value /", count_items},
    {"index", "value start= stop= /", index_of_item},
};
constexpr Method methods_of_dictionaries[] = {
    {"copy", "", copied},
    {"fromkeys", "iterable value= /", dictionary_of_keys},
    {"get", "key default= /", get_or_default},
    {"items", "", view_of<View::Items>},
    {"keys", "", view_of<View::Keys>},
    {"values", "", view_of<View::Values>},
};
constexpr Method methods_of_ranges[] = {
    {"count", "value /", count_items},
    {"index", "value /", index_of_item},
};
constexpr Method methods_of_integers[] = {
    {"bit_length", "", bit_length},
    {"conjugate", "", conjugate},
};
constexpr Method methods_of_floats[] = {
    {"conjugate", "", conjugate},
    {"is_integer", "", is_whole},
};

class BoundMethod : public Callable {
public:
  BoundMethod(const Value &self, const Method &method)
      : Callable("builtin_function_or_method"), self(self), method(method) {
    holds(self);
  }

  Value call(Rendering &rendering, Arguments arguments) override {
    return method.call(
        rendering, self,
        bind_arguments(method.name, method.signature, std::move(arguments)));
  }

  std::string shown() override {
    return "<built-in method " + std::string(method.name) + " of " +
           std::string(type_name(self)) + " object>";
  }

private:
  const Value self;
  const Method &method;
};

std::span<const Method> methods_of(const Value &value) {
  if (value.is_text())
    return text_methods();
  if (value.is_number())
    return number_methods(value.is_float());
  if (value.object())
    return container_methods(value.object()->kind);
  return {};
}

} // namespace

std::span<const Method> container_methods(Object::Kind kind) {
  switch (kind) {
  case Object::Kind::List:
    return methods_of_lists;
  case Object::Kind::Tuple:
    return methods_of_tuples;
  case Object::Kind::Dictionary:
    return methods_of_dictionaries;
  case Object::Kind::Range:
    return methods_of_ranges;
  case Object::Kind::View:
  case Object::Kind::Iterator:
  case Object::Kind::Namespace:
  case Object::Kind::Callable:
    break;
  }
  return {};
}

std::span<const Method> number_methods(bool is_float) {
  if (is_float)
    return methods_of_floats;
  return methods_of_integers;
}

bool is_mutating(const Value &self, std::string_view name) {
  static constexpr std::string_view of_lists[] = {"append",  "clear", "extend",
                                                  "insert",  "pop",   "remove",
                                                  "reverse", "sort"};
  static constexpr std::string_view of_dictionaries[] = {
      "clear", "pop", "popitem", "setdefault", "update"};
  const auto has = [&](const auto &names) {
    return std::find(std::begin(names), std::end(names), name) !=
           std::end(names);
  };
  return (self.is(Object::Kind::List) && has(of_lists)) ||
         (self.is(Object::Kind::Dictionary) && has(of_dictionaries));
}

const Method *find_method(const Value &self, std::string_view name) {
  const std::span<const Method> methods = methods_of(self);
  const auto found =
      std::find_if(methods.begin(), methods.end(),
                   [&](const Method &method) { return method.name == name; });
  return found == methods.end() ? nullptr : &*found;
}

Value bind_method(const Value &self, const Method &method) {
  return Value(std::make_shared<BoundMethod>(self, method));
}

} // namespace baton::jinja
