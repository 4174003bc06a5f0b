//===- value.cpp - what templates compute with ----------------------------===//

#include "runtime/jinja/value.h"

#include "runtime/jinja/unicode.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace baton::jinja {

namespace {

/// Up to here a dictionary is searched from its beginning.
constexpr size_t few_entries = 8;
/// Of a tuple that is a key, with all that is in it.
constexpr size_t most_key_items = 1000;

size_t hash_bytes(std::string_view bytes) {
  return std::hash<std::string_view>()(bytes);
}

size_t hash_integer(Integer value) {
  return std::hash<uint64_t>()(static_cast<uint64_t>(value) ^
                               static_cast<uint64_t>(value >> 64));
}

/// Equal numbers have equal hashes, whatever their type.
size_t hash_float(double value) {
  if (value == std::trunc(value) && std::fabs(value) < 1e38)
    return hash_integer(static_cast<Integer>(value));
  return std::hash<double>()(value);
}

size_t hash_counted(const Value &value, size_t &items) {
  if (++items > most_key_items)
    throw Failure("a key has more than " + std::to_string(most_key_items) +
                  " items");
  switch (value.kind()) {
  case Value::Kind::Missing:
  case Value::Kind::Undefined:
    return 1;
  case Value::Kind::None:
    return 2;
  case Value::Kind::Boolean:
  case Value::Kind::Integer:
    return hash_integer(value.integer());
  case Value::Kind::Float:
    return hash_float(value.number());
  case Value::Kind::Text:
    return hash_bytes(value.bytes());
  case Value::Kind::Object:
    break;
  }
  if (value.is(Object::Kind::Tuple)) {
    size_t hash = 3;
    for (const Value &item : value.as<List>().items)
      hash = hash * 1000003 + hash_counted(item, items);
    return hash;
  }
  if (value.is(Object::Kind::List) || value.is(Object::Kind::Dictionary) ||
      value.is(Object::Kind::View))
    throw Failure("unhashable type: '" + std::string(type_name(value)) + "'");
  return std::hash<const void *>()(value.object());
}

bool integer_equals_float(Integer integer, double number) {
  // What is not a whole number of this size equals none.
  return number == std::trunc(number) && std::fabs(number) < 1.5e38 &&
         static_cast<Integer>(number) == integer;
}

/// Iterates by position, over what keeps its items.
template <typename Get> class Positions : public Iterator {
public:
  Positions(const char *type, Value owner, size_t count, Get get)
      : Iterator(type), owner(std::move(owner)), count(count),
        get(std::move(get)) {
    holds(this->owner);
  }
  bool next(Value &item) override {
    if (at >= count)
      return false;
    item = get(at++);
    return true;
  }

private:
  Value owner;
  size_t count, at = 0;
  Get get;
};

template <typename Get>
std::shared_ptr<Iterator> by_position(const char *type, const Value &owner,
                                      size_t count, Get get) {
  return std::make_shared<Positions<Get>>(type, owner, count, std::move(get));
}

class Characters : public Iterator {
public:
  explicit Characters(Value text)
      : Iterator("str_iterator"), text(std::move(text)) {}
  bool next(Value &item) override {
    const std::string &bytes = text.bytes();
    if (at >= bytes.size())
      return false;
    const size_t begin = at;
    next_character(bytes, at);
    item = Value(std::string_view(bytes).substr(begin, at - begin));
    return true;
  }

private:
  Value text;
  size_t at = 0;
};

} // namespace

void Object::holds(const Value &value) {
  depth = std::max(depth, value.depth() + 1);
  if (depth > deepest_nesting)
    throw Failure("values are nested more than " +
                  std::to_string(deepest_nesting) + " deep");
}

Value::Value(std::string bytes, bool safe) {
  const size_t characters = count_characters(bytes);
  content =
      std::make_shared<const Text>(Text{std::move(bytes), characters, safe});
}

Value Value::none() {
  Value result;
  result.content = NoneType();
  return result;
}

Value Value::undefined(std::string message) {
  Value result;
  result.content = std::make_shared<const Absence>(Absence{std::move(message)});
  return result;
}

bool Value::is(Object::Kind wanted) const {
  const Object *found = object();
  return found && found->kind == wanted;
}

double Value::number() const {
  return is_float() ? std::get<double>(content)
                    : static_cast<double>(integer());
}

uint32_t Value::depth() const {
  const Object *found = object();
  return found && found->kind != Object::Kind::Namespace ? found->depth : 0;
}

List::List(std::vector<Value> contents, Kind kind)
    : Object(kind), items(std::move(contents)) {
  for (const Value &item : items)
    holds(item);
}

Value make_list(std::vector<Value> items) {
  return Value(std::make_shared<List>(std::move(items)));
}

Value make_tuple(std::vector<Value> items) {
  return Value(std::make_shared<List>(std::move(items), Object::Kind::Tuple));
}

Group::Group(Value grouper, Value items)
    : List({std::move(grouper), std::move(items)}, Kind::Tuple) {}

size_t Dictionary::position(const Value &key, size_t hash) const {
  if (index.empty()) {
    for (size_t at = 0; at < contents.size(); ++at)
      if (equal_keys(contents[at].first, key))
        return at;
    return contents.size();
  }
  const auto [begin, end] = index.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry)
    if (equal_keys(contents[entry->second].first, key))
      return entry->second;
  return contents.size();
}

const Value *Dictionary::find(const Value &key) const {
  const size_t at = position(key, hash_of(key));
  return at < contents.size() ? &contents[at].second : nullptr;
}

const Value *Dictionary::find(std::string_view key) const {
  const auto matches = [&](const Value &found) {
    return found.is_text() && found.bytes() == key;
  };
  if (index.empty()) {
    for (const auto &[found, value] : contents)
      if (matches(found))
        return &value;
    return nullptr;
  }
  const auto [begin, end] = index.equal_range(hash_bytes(key));
  for (auto entry = begin; entry != end; ++entry)
    if (matches(contents[entry->second].first))
      return &contents[entry->second].second;
  return nullptr;
}

void Dictionary::set(Value key, Value value) {
  const size_t hash = hash_of(key);
  const size_t at = position(key, hash);
  holds(key);
  holds(value);
  if (at < contents.size()) {
    contents[at].second = std::move(value);
    return;
  }
  contents.emplace_back(std::move(key), std::move(value));
  if (!index.empty())
    index.emplace(hash, at);
  else if (contents.size() > few_entries)
    for (size_t entry = 0; entry < contents.size(); ++entry)
      index.emplace(hash_of(contents[entry].first), entry);
}

View::View(Part part, const Value &dictionary)
    : Object(Kind::View), part(part), dictionary(dictionary) {
  holds(dictionary);
}

Value View::at(size_t index) const {
  const auto &[key, value] = of().entries()[index];
  switch (part) {
  case Keys:
    return key;
  case Values:
    return value;
  case Items:
    break;
  }
  return make_tuple({key, value});
}

Range::Range(Integer start, Integer stop, Integer step)
    : Object(Kind::Range), start(start), stop(stop), step(step), count(0) {
  if (step > 0 && start < stop)
    count = static_cast<size_t>((stop - start - 1) / step + 1);
  else if (step < 0 && start > stop)
    count = static_cast<size_t>((start - stop - 1) / -step + 1);
}

Value Arguments::take(std::string_view keyword) {
  const auto found =
      std::find_if(keywords.begin(), keywords.end(),
                   [&](const auto &entry) { return entry.first == keyword; });
  if (found == keywords.end())
    return Value();
  Value value = std::move(found->second);
  keywords.erase(found);
  return value;
}

Value Callable::call(Rendering &, Arguments) {
  throw Failure("'" + std::string(type) + "' object is not callable");
}

Value Callable::attribute(Rendering &, std::string_view) { return Value(); }

std::string Callable::shown() { return "<" + std::string(type) + ">"; }

std::string_view type_name(const Value &value) {
  switch (value.kind()) {
  case Value::Kind::Missing:
    return "MissingType";
  case Value::Kind::Undefined:
    return "Undefined";
  case Value::Kind::None:
    return "NoneType";
  case Value::Kind::Boolean:
    return "bool";
  case Value::Kind::Integer:
    return "int";
  case Value::Kind::Float:
    return "float";
  case Value::Kind::Text:
    return value.text().safe ? "Markup" : "str";
  case Value::Kind::Object:
    break;
  }
  switch (value.object()->kind) {
  case Object::Kind::List:
    return "list";
  case Object::Kind::Tuple:
    return "tuple";
  case Object::Kind::Dictionary:
    return "dict";
  case Object::Kind::View: {
    static constexpr const char *names[] = {"dict_keys", "dict_values",
                                            "dict_items"};
    return names[value.as<View>().part];
  }
  case Object::Kind::Range:
    return "range";
  case Object::Kind::Iterator:
    return value.as<Iterator>().type;
  case Object::Kind::Namespace:
    return "Namespace";
  case Object::Kind::Callable:
    break;
  }
  return value.as<Callable>().type;
}

size_t hash_of(const Value &value) {
  size_t items = 0;
  return hash_counted(value, items);
}

bool equal_keys(const Value &left, const Value &right) {
  if (left.is_text() || right.is_text())
    return left.is_text() && right.is_text() && left.bytes() == right.bytes();
  if (left.is_number() && right.is_number()) {
    if (left.is_float() && right.is_float())
      return left.number() == right.number();
    if (left.is_float())
      return integer_equals_float(right.integer(), left.number());
    if (right.is_float())
      return integer_equals_float(left.integer(), right.number());
    return left.integer() == right.integer();
  }
  if (left.kind() != right.kind())
    return false;
  if (left.kind() != Value::Kind::Object)
    return left.is_none() || left.is_undefined();
  if (left.object() == right.object())
    return true;
  if (!left.is(Object::Kind::Tuple) || !right.is(Object::Kind::Tuple))
    return false;
  const auto &first = left.as<List>().items, &second = right.as<List>().items;
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    equal_keys);
}

std::optional<size_t> length_of(const Value &value) {
  if (value.is_text())
    return value.text().characters;
  if (value.is_undefined())
    return 0;
  if (!value.object())
    return std::nullopt;
  switch (value.object()->kind) {
  case Object::Kind::List:
  case Object::Kind::Tuple:
    return value.as<List>().items.size();
  case Object::Kind::Dictionary:
    return value.as<Dictionary>().entries().size();
  case Object::Kind::View:
    return value.as<View>().of().entries().size();
  case Object::Kind::Range:
    return value.as<Range>().count;
  case Object::Kind::Callable:
    return value.as<Callable>().length();
  case Object::Kind::Iterator:
  case Object::Kind::Namespace:
    break;
  }
  return std::nullopt;
}

bool truth_of(const Value &value) {
  switch (value.kind()) {
  case Value::Kind::Missing:
  case Value::Kind::Undefined:
  case Value::Kind::None:
    return false;
  case Value::Kind::Boolean:
  case Value::Kind::Integer:
    return value.integer() != 0;
  case Value::Kind::Float:
    return value.number() != 0;
  case Value::Kind::Text:
    return !value.bytes().empty();
  case Value::Kind::Object:
    break;
  }
  return length_of(value).value_or(1) != 0;
}

void demand_defined(const Value &value) {
  if (value.is_undefined())
    throw Failure(value.absence().message);
}

std::shared_ptr<Iterator> iterate(const Value &value) {
  if (value.is_text())
    return std::make_shared<Characters>(value);
  if (value.is_undefined())
    return by_position("generator", value, 0, [](size_t) { return Value(); });
  if (const Object *object = value.object())
    switch (object->kind) {
    case Object::Kind::List:
    case Object::Kind::Tuple: {
      const auto &items = value.as<List>().items;
      return by_position(object->kind == Object::Kind::List ? "list_iterator"
                                                            : "tuple_iterator",
                         value, items.size(),
                         [&items](size_t at) { return items[at]; });
    }
    case Object::Kind::Dictionary: {
      const auto &entries = value.as<Dictionary>().entries();
      return by_position("dict_keyiterator", value, entries.size(),
                         [&entries](size_t at) { return entries[at].first; });
    }
    case Object::Kind::View: {
      const View &view = value.as<View>();
      return by_position("dict_iterator", value, view.of().entries().size(),
                         [&view](size_t at) { return view.at(at); });
    }
    case Object::Kind::Range: {
      const Range &range = value.as<Range>();
      return by_position("range_iterator", value, range.count,
                         [&range](size_t at) { return range.at(at); });
    }
    case Object::Kind::Iterator:
      return std::static_pointer_cast<Iterator>(value.shared_object());
    case Object::Kind::Namespace:
    case Object::Kind::Callable:
      break;
    }
  throw Failure("'" + std::string(type_name(value)) +
                "' object is not iterable");
}

bool can_iterate(const Value &value) {
  if (value.is_text() || value.is_undefined())
    return true;
  const Object *object = value.object();
  return object && object->kind != Object::Kind::Namespace &&
         object->kind != Object::Kind::Callable;
}

} // namespace baton::jinja
