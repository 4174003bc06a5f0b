//===- attributes.cpp - value.name and value[key] -------------------------===//

#include "runtime/jinja/attributes.h"

#include "runtime/jinja/methods.h"
#include "runtime/jinja/printing.h"
#include "runtime/jinja/slicing.h"

#include <algorithm>
#include <iterator>

namespace baton::jinja {

namespace {

/// What every object of Python has, and no template may see.
bool is_internal(std::string_view name) {
  static constexpr std::string_view names[] = {
      "__class__",  "__delattr__",   "__dir__",          "__doc__",
      "__eq__",     "__format__",    "__ge__",           "__getattribute__",
      "__gt__",     "__hash__",      "__init__",         "__init_subclass__",
      "__le__",     "__lt__",        "__ne__",           "__new__",
      "__reduce__", "__reduce_ex__", "__repr__",         "__setattr__",
      "__sizeof__", "__str__",       "__subclasshook__",
  };
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Value unsafe(const Value &value, std::string_view name) {
  return Value::undefined("access to attribute " + shown(name) + " of '" +
                          std::string(type_name(value)) +
                          "' object is unsafe.");
}

std::string described(const Value &value) {
  return value.is_none() ? "None" : std::string(type_name(value)) + " object";
}

Value without_attribute(const Value &value, std::string_view name) {
  return Value::undefined(shown(described(value)) + " has no attribute " +
                          shown(name));
}

Value of_number(const Value &value, std::string_view name) {
  if (name == "real" || (value.is_integer() && name == "numerator"))
    return value.is_boolean() ? Value(value.integer()) : value;
  if (name == "imag")
    return value.is_float() ? Value(0.0) : Value(Integer(0));
  if (value.is_integer() && name == "denominator")
    return Value(Integer(1));
  return Value();
}

Value of_object(Rendering &rendering, const Value &value,
                std::string_view name) {
  switch (value.object()->kind) {
  case Object::Kind::Tuple:
    if (dynamic_cast<const Group *>(value.object())) {
      if (name == "grouper")
        return value.as<List>().items[0];
      if (name == "list")
        return value.as<List>().items[1];
    }
    break;
  case Object::Kind::Range: {
    const Range &range = value.as<Range>();
    if (name == "start")
      return Value(range.start);
    if (name == "stop")
      return Value(range.stop);
    if (name == "step")
      return Value(range.step);
    break;
  }
  case Object::Kind::Namespace:
    if (const Value *found = value.as<Namespace>().attributes->find(name))
      return *found;
    break;
  case Object::Kind::Callable:
    return value.as<Callable>().attribute(rendering, name);
  case Object::Kind::List:
  case Object::Kind::Dictionary:
  case Object::Kind::View:
  case Object::Kind::Iterator:
    break;
  }
  return Value();
}

/// Missing where Python's getattr() finds nothing.
Value find_attribute(Rendering &rendering, const Value &value,
                     std::string_view name) {
  if (is_internal(name) || is_mutating(value, name))
    return unsafe(value, name);
  if (const Method *method = find_method(value, name))
    return bind_method(value, *method);
  Value found;
  if (value.is_number())
    found = of_number(value, name);
  else if (value.object())
    found = of_object(rendering, value, name);
  return !found.missing() && name.starts_with('_') ? unsafe(value, name)
                                                   : found;
}

/// Missing where Python raises TypeError or LookupError.
Value find_item(const Value &value, const Value &key) {
  if (value.is(Object::Kind::Dictionary)) {
    if (key.is(Object::Kind::List) || key.is(Object::Kind::Dictionary))
      return Value();
    const Value *found = value.as<Dictionary>().find(key);
    return found ? *found : Value();
  }
  if (!key.is_integer() || value.is(Object::Kind::View))
    return Value();
  const auto length = length_of(value);
  if (!length)
    return Value();
  const auto size = static_cast<Integer>(*length);
  const Integer index = key.integer() < 0 && key.integer() >= -size
                            ? key.integer() + size
                            : key.integer();
  if (index < 0 || index >= size)
    return Value();
  if (value.is(Object::Kind::List) || value.is(Object::Kind::Tuple))
    return value.as<List>().items[static_cast<size_t>(index)];
  if (value.is(Object::Kind::Range))
    return value.as<Range>().at(static_cast<size_t>(index));
  return Value();
}

} // namespace

Value get_attribute(Rendering &rendering, const Value &value,
                    std::string_view name) {
  demand_defined(value);
  Value found = find_attribute(rendering, value, name);
  if (found.missing() && value.is(Object::Kind::Dictionary))
    if (const Value *item = value.as<Dictionary>().find(name))
      return *item;
  return found.missing() ? without_attribute(value, name) : found;
}

Value get_attribute_only(Rendering &rendering, const Value &value,
                         std::string_view name) {
  demand_defined(value);
  Value found = find_attribute(rendering, value, name);
  return found.missing() ? without_attribute(value, name) : found;
}

Value get_item(Rendering &rendering, const Value &value, const Value &key) {
  demand_defined(value);
  if (value.is_text() && key.is_integer()) {
    const Text &text = value.text();
    const auto size = static_cast<Integer>(text.characters);
    if (key.integer() >= -size && key.integer() < size) {
      if (!text.ascii())
        rendering.step(text.bytes.size() / 256);
      return slice(rendering, value, key,
                   key.integer() == -1 ? Value() : Value(key.integer() + 1),
                   Value());
    }
  }
  Value found = find_item(value, key);
  if (!found.missing())
    return found;
  if (key.is_text()) {
    found = find_attribute(rendering, value, key.bytes());
    return found.missing() ? without_attribute(value, key.bytes()) : found;
  }
  return Value::undefined(described(value) + " has no element " +
                          shown(rendering, key));
}

Value call(Rendering &rendering, const Value &value, Arguments arguments) {
  demand_defined(value);
  if (!value.is(Object::Kind::Callable))
    throw Failure("'" + std::string(type_name(value)) +
                  "' object is not callable");
  return value.as<Callable>().call(rendering, std::move(arguments));
}

} // namespace baton::jinja
