//===- value.h - what templates compute with ------------------------------===//
//
// Python's objects, as far as templates see them. Texts, lists, tuples and
// dictionaries never change once they are made, since the sandbox that these
// semantics come from forbids it; what changes is a Namespace, and what is
// consumed an Iterator. Values are shared, not copied. They belong to one
// rendering and one thread.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_VALUE_H
#define BATON_RUNTIME_JINJA_VALUE_H

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace baton::jinja {

/// Every integer of JSON texts; where Python's would grow, an error.
__extension__ typedef __int128 Integer;

/// Ends a rendering, or parsing. Whoever knows where it happened writes that
/// into `at`, the first one wins; Template makes an Error of it.
struct Failure : std::exception {
  explicit Failure(std::string what) : message(std::move(what)) {}
  const char *what() const noexcept override { return message.c_str(); }

  std::string message;
  /// A byte of the template's text.
  std::optional<size_t> at;
  /// Whether the template itself said so, by raise_exception().
  bool raised = false;
};

struct Text {
  std::string bytes;
  size_t characters;
  /// Markup: what is concatenated with it is escaped for HTML.
  bool safe;

  bool ascii() const { return characters == bytes.size(); }
};

/// What to say of an undefined value that is used.
struct Absence {
  std::string message;
};

/// How deep values may be nested: that recursion over them ends.
inline constexpr uint32_t deepest_nesting = 400;

class Object {
public:
  enum class Kind : uint8_t {
    List,
    Tuple,
    Dictionary,
    View,
    Range,
    Iterator,
    Namespace,
    Callable,
  };

  explicit Object(Kind kind) : kind(kind) {}
  virtual ~Object() = default;
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;

  const Kind kind;
  /// Of what it holds the depth, and one. Namespaces count as flat: a rendering
  /// owns them.
  uint32_t depth = 1;

protected:
  /// Throws Failure where that would nest too deep.
  void holds(const class Value &value);
};

class Value {
public:
  enum class Kind : uint8_t {
    /// No value at all: an argument that is not given.
    Missing,
    Undefined,
    None,
    Boolean,
    Integer,
    Float,
    Text,
    Object,
  };
  struct NoneType {};

  Value() = default;
  explicit Value(bool value) : content(value) {}
  explicit Value(Integer value) : content(value) {}
  explicit Value(double value) : content(value) {}
  explicit Value(std::string bytes, bool safe = false);
  explicit Value(std::string_view bytes, bool safe = false)
      : Value(std::string(bytes), safe) {}
  explicit Value(const char *bytes) : Value(std::string(bytes)) {}
  explicit Value(std::shared_ptr<Object> object) : content(std::move(object)) {}
  static Value none();
  static Value undefined(std::string message);
  static Value of_size(size_t size) {
    return Value(static_cast<Integer>(size));
  }

  Kind kind() const { return static_cast<Kind>(content.index()); }
  bool missing() const { return kind() == Kind::Missing; }
  bool is_undefined() const { return kind() == Kind::Undefined; }
  bool is_none() const { return kind() == Kind::None; }
  bool is_boolean() const { return kind() == Kind::Boolean; }
  bool is_text() const { return kind() == Kind::Text; }
  bool is_float() const { return kind() == Kind::Float; }
  /// A boolean is an integer, too.
  bool is_integer() const {
    return kind() == Kind::Integer || kind() == Kind::Boolean;
  }
  bool is_number() const { return is_integer() || is_float(); }
  bool is(Object::Kind wanted) const;

  bool boolean() const { return std::get<bool>(content); }
  Integer integer() const {
    return is_boolean() ? boolean() : std::get<Integer>(content);
  }
  /// Of any number.
  double number() const;
  const Text &text() const {
    return *std::get<std::shared_ptr<const Text>>(content);
  }
  const std::string &bytes() const { return text().bytes; }
  const Absence &absence() const {
    return *std::get<std::shared_ptr<const Absence>>(content);
  }
  /// Null where it is none.
  Object *object() const {
    const auto *found = std::get_if<std::shared_ptr<Object>>(&content);
    return found ? found->get() : nullptr;
  }
  const std::shared_ptr<Object> &shared_object() const {
    return std::get<std::shared_ptr<Object>>(content);
  }
  /// The object as what `kind` says it is.
  template <typename Type> Type &as() const {
    return static_cast<Type &>(*object());
  }
  uint32_t depth() const;

private:
  std::variant<std::monostate, std::shared_ptr<const Absence>, NoneType, bool,
               Integer, double, std::shared_ptr<const Text>,
               std::shared_ptr<Object>>
      content;
};

class List : public Object {
public:
  explicit List(std::vector<Value> items, Kind kind = Kind::List);

  const std::vector<Value> items;
};
Value make_list(std::vector<Value> items);
Value make_tuple(std::vector<Value> items);

/// What |groupby makes: a tuple of two with names.
class Group : public List {
public:
  Group(Value grouper, Value items);
};

/// In the order of insertion.
class Dictionary : public Object {
public:
  Dictionary() : Object(Kind::Dictionary) {}

  /// Throws Failure where the key can be none (lists).
  const Value *find(const Value &key) const;
  const Value *find(std::string_view key) const;
  void set(Value key, Value value);

  const std::vector<std::pair<Value, Value>> &entries() const {
    return contents;
  }

private:
  size_t position(const Value &key, size_t hash) const;

  std::vector<std::pair<Value, Value>> contents;
  /// By hash; empty while there are few entries.
  std::unordered_multimap<size_t, size_t> index;
};

/// keys(), values() or items() of a dictionary.
class View : public Object {
public:
  enum Part : uint8_t { Keys, Values, Items };
  View(Part part, const Value &dictionary);

  const Dictionary &of() const { return dictionary.as<Dictionary>(); }
  Value at(size_t index) const;

  const Part part;

private:
  Value dictionary;
};

class Range : public Object {
public:
  Range(Integer start, Integer stop, Integer step);

  Value at(size_t index) const {
    return Value(start + static_cast<Integer>(index) * step);
  }

  const Integer start, stop, step;
  size_t count;
};

/// Gives each item once.
class Iterator : public Object {
public:
  explicit Iterator(const char *type) : Object(Kind::Iterator), type(type) {}

  /// False at the end, and from then on.
  virtual bool next(Value &item) = 0;

  /// Python's name of it.
  const char *const type;
};

/// The one thing that templates can change.
class Namespace : public Object {
public:
  Namespace() : Object(Kind::Namespace) {}

  std::shared_ptr<Dictionary> attributes = std::make_shared<Dictionary>();
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;

  /// Takes the argument out; Missing where it is not there.
  Value take(std::string_view keyword);
};

class Rendering;

/// Functions, methods, macros; and objects that have attributes.
class Callable : public Object {
public:
  explicit Callable(const char *type) : Object(Kind::Callable), type(type) {}

  /// By default, Failure says that it cannot be called.
  virtual Value call(Rendering &rendering, Arguments arguments);
  /// Missing where there is no such attribute.
  virtual Value attribute(Rendering &rendering, std::string_view name);
  /// What printing it shows.
  virtual std::string shown();
  virtual bool callable() const { return true; }
  virtual std::optional<size_t> length() { return std::nullopt; }

  const char *const type;
};

/// Python's name of a value's type.
std::string_view type_name(const Value &value);
/// Throws Failure for what cannot be a key of a dictionary.
size_t hash_of(const Value &value);
/// Equality of what can be keys: 1, 1.0 and True are equal.
bool equal_keys(const Value &left, const Value &right);

/// len(); nothing where there is none.
std::optional<size_t> length_of(const Value &value);
bool truth_of(const Value &value);

/// Throws Failure in the words of the undefined value, where it is one.
void demand_defined(const Value &value);

/// Throws Failure where nothing can be iterated over.
std::shared_ptr<Iterator> iterate(const Value &value);
bool can_iterate(const Value &value);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_VALUE_H
