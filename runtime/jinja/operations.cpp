//===- operations.cpp - Python's operators over values --------------------===//

#include "runtime/jinja/operations.h"

#include "runtime/jinja/numbers.h"
#include "runtime/jinja/text_format.h"
#include "runtime/jinja/unicode.h"

#include <cmath>
#include <cstring>
#include <functional>

namespace baton::jinja {

namespace {

constexpr const char *operator_names[] = {"+",  "-", "*",          "/",
                                          "//", "%", "** or pow()"};

[[noreturn]] void fail_operands(BinaryOperator what, const Value &left,
                                const Value &right) {
  throw Failure(std::string("unsupported operand type(s) for ") +
                operator_names[static_cast<size_t>(what)] + ": '" +
                std::string(type_name(left)) + "' and '" +
                std::string(type_name(right)) + "'");
}

Value add_texts(Rendering &rendering, const Value &left, const Value &right) {
  const bool safe = left.text().safe || right.text().safe;
  std::string result = safe && !left.text().safe
                           ? escape_html(rendering, left.bytes())
                           : left.bytes();
  result += safe && !right.text().safe ? escape_html(rendering, right.bytes())
                                       : right.bytes();
  rendering.make(result.size());
  return Value(std::move(result), safe);
}

Value add_lists(Rendering &rendering, const List &left, const List &right) {
  rendering.make(left.items.size() + right.items.size(), sizeof(Value));
  std::vector<Value> items = left.items;
  items.insert(items.end(), right.items.begin(), right.items.end());
  return Value(std::make_shared<List>(std::move(items), left.kind));
}

/// text * count and the like.
Value repeat(Rendering &rendering, const Value &what, Integer times) {
  const auto count = static_cast<uint64_t>(
      std::clamp<Integer>(times, 0, std::numeric_limits<int64_t>::max()));
  if (what.is_text()) {
    const std::string &bytes = what.bytes();
    rendering.make(count, bytes.size());
    std::string result;
    for (uint64_t time = 0; time < count && !bytes.empty(); ++time)
      result += bytes;
    return Value(std::move(result), what.text().safe);
  }
  const List &list = what.as<List>();
  rendering.make(count, list.items.size() * sizeof(Value));
  std::vector<Value> items;
  for (uint64_t time = 0; time < count && !list.items.empty(); ++time)
    items.insert(items.end(), list.items.begin(), list.items.end());
  return Value(std::make_shared<List>(std::move(items), list.kind));
}

bool is_sequence(const Value &value) {
  return value.is_text() || value.is(Object::Kind::List) ||
         value.is(Object::Kind::Tuple);
}

double float_power(double base, double exponent) {
  if (base == 0 && exponent < 0)
    throw Failure("0.0 cannot be raised to a negative power");
  if (base < 0 && std::isfinite(base) && std::isfinite(exponent) &&
      exponent != std::trunc(exponent))
    throw Failure("complex numbers are not supported");
  const double result = std::pow(base, exponent);
  if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent))
    throw Failure("Numerical result out of range");
  return result;
}

Value operate_integers(BinaryOperator what, Integer left, Integer right) {
  switch (what) {
  case BinaryOperator::Add:
    return Value(add(left, right));
  case BinaryOperator::Subtract:
    return Value(subtract(left, right));
  case BinaryOperator::Multiply:
    return Value(multiply(left, right));
  case BinaryOperator::Divide:
    if (right == 0)
      throw Failure("division by zero");
    return Value(static_cast<double>(left) / static_cast<double>(right));
  case BinaryOperator::FloorDivide:
    return Value(floor_divide(left, right));
  case BinaryOperator::Modulo:
    return Value(modulo(left, right));
  case BinaryOperator::Power:
    break;
  }
  if (right >= 0)
    return Value(power(left, right));
  return Value(
      float_power(static_cast<double>(left), static_cast<double>(right)));
}

Value operate_floats(BinaryOperator what, double left, double right) {
  switch (what) {
  case BinaryOperator::Add:
    return Value(left + right);
  case BinaryOperator::Subtract:
    return Value(left - right);
  case BinaryOperator::Multiply:
    return Value(left * right);
  case BinaryOperator::Divide:
    if (right == 0)
      throw Failure("float division by zero");
    return Value(left / right);
  case BinaryOperator::FloorDivide:
    return Value(floor_divide(left, right));
  case BinaryOperator::Modulo:
    return Value(modulo(left, right));
  case BinaryOperator::Power:
    break;
  }
  return Value(float_power(left, right));
}

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

/// Writes repr() of values within one another.
class Printer {
public:
  explicit Printer(Rendering &rendering) : rendering(rendering) {}

  void print(const Value &value) {
    rendering.step();
    const size_t begin = result.size();
    switch (value.kind()) {
    case Value::Kind::Missing:
      result += "missing";
      break;
    case Value::Kind::Undefined:
      result += "Undefined";
      break;
    case Value::Kind::None:
      result += "None";
      break;
    case Value::Kind::Boolean:
      result += value.boolean() ? "True" : "False";
      break;
    case Value::Kind::Integer:
      result += integer_text(value.integer());
      break;
    case Value::Kind::Float:
      result += float_text(value.number());
      break;
    case Value::Kind::Text:
      result += value.text().safe ? "Markup(" + shown(value.bytes()) + ")"
                                  : shown(value.bytes());
      break;
    case Value::Kind::Object:
      print_object(value);
      return;
    }
    rendering.make(result.size() - begin);
  }

  std::string result;

private:
  void print_object(const Value &value) {
    switch (value.object()->kind) {
    case Object::Kind::List:
      print_items("[", value.as<List>().items, "]");
      break;
    case Object::Kind::Tuple:
      print_items("(", value.as<List>().items,
                  value.as<List>().items.size() == 1 ? ",)" : ")");
      break;
    case Object::Kind::Dictionary:
      print_dictionary(value.as<Dictionary>());
      break;
    case Object::Kind::View:
      print_view(value.as<View>());
      break;
    case Object::Kind::Range:
      print_range(value.as<Range>());
      break;
    case Object::Kind::Namespace:
      print_namespace(value.as<Namespace>());
      break;
    case Object::Kind::Callable:
      result += value.as<Callable>().shown();
      break;
    case Object::Kind::Iterator:
      result += "<" + std::string(type_name(value)) + " object>";
      break;
    }
  }

  void print_items(const char *open, const std::vector<Value> &items,
                   const char *close) {
    result += open;
    for (size_t at = 0; at < items.size(); ++at) {
      if (at)
        result += ", ";
      print(items[at]);
    }
    result += close;
  }

  void print_dictionary(const Dictionary &dictionary) {
    result += "{";
    bool first = true;
    for (const auto &[key, value] : dictionary.entries()) {
      if (!first)
        result += ", ";
      first = false;
      print(key);
      result += ": ";
      print(value);
    }
    result += "}";
  }

  void print_view(const View &view) {
    static constexpr const char *names[] = {"dict_keys([", "dict_values([",
                                            "dict_items(["};
    result += names[view.part];
    for (size_t at = 0; at < view.of().entries().size(); ++at) {
      if (at)
        result += ", ";
      print(view.at(at));
    }
    result += "])";
  }

  void print_range(const Range &range) {
    result +=
        "range(" + integer_text(range.start) + ", " + integer_text(range.stop);
    if (range.step != 1)
      result += ", " + integer_text(range.step);
    result += ")";
  }

  void print_namespace(const Namespace &space) {
    const Rendering::Level level(rendering);
    result += "<Namespace ";
    if (std::find(open_namespaces.begin(), open_namespaces.end(), &space) !=
        open_namespaces.end()) {
      result += "{...}>";
      return;
    }
    open_namespaces.push_back(&space);
    print_dictionary(*space.attributes);
    open_namespaces.pop_back();
    result += ">";
  }

  Rendering &rendering;
  std::vector<const Namespace *> open_namespaces;
};

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

void demand_defined(const Value &value) {
  if (value.is_undefined())
    throw Failure(value.absence().message);
}

Value operate(Rendering &rendering, BinaryOperator what, const Value &left,
              const Value &right) {
  if (what == BinaryOperator::Modulo && left.is_text())
    return printf_format(rendering, left, right);
  demand_defined(left);
  demand_defined(right);
  if (left.is_integer() && right.is_integer())
    return operate_integers(what, left.integer(), right.integer());
  if (left.is_number() && right.is_number())
    return operate_floats(what, left.number(), right.number());
  if (what == BinaryOperator::Add) {
    if (left.is_text() && right.is_text())
      return add_texts(rendering, left, right);
    if ((left.is(Object::Kind::List) && right.is(Object::Kind::List)) ||
        (left.is(Object::Kind::Tuple) && right.is(Object::Kind::Tuple)))
      return add_lists(rendering, left.as<List>(), right.as<List>());
    if (is_sequence(left))
      throw Failure("can only concatenate " + std::string(type_name(left)) +
                    " (not \"" + std::string(type_name(right)) + "\") to " +
                    std::string(type_name(left)));
  }
  if (what == BinaryOperator::Multiply) {
    if (is_sequence(left) && right.is_integer())
      return repeat(rendering, left, right.integer());
    if (left.is_integer() && is_sequence(right))
      return repeat(rendering, right, left.integer());
  }
  fail_operands(what, left, right);
}

Value negative(const Value &value) {
  demand_defined(value);
  if (value.is_integer())
    return Value(negate(value.integer()));
  if (value.is_float())
    return Value(-value.number());
  throw Failure("bad operand type for unary -: '" +
                std::string(type_name(value)) + "'");
}

Value positive(const Value &value) {
  demand_defined(value);
  if (value.is_integer())
    return Value(value.integer());
  if (value.is_float())
    return value;
  throw Failure("bad operand type for unary +: '" +
                std::string(type_name(value)) + "'");
}

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

std::string shown(std::string_view text) {
  const char quote = text.find('\'') != std::string_view::npos &&
                             text.find('"') == std::string_view::npos
                         ? '"'
                         : '\'';
  static constexpr const char *hexadecimal = "0123456789abcdef";
  std::string result(1, quote);
  const auto append_escape = [&](char letter, char32_t character, int digits) {
    result += '\\';
    result += letter;
    for (int digit = digits - 1; digit >= 0; --digit)
      result += hexadecimal[character >> (4 * digit) & 15];
  };
  for (size_t at = 0; at < text.size();) {
    const char32_t character = next_character(text, at);
    if (character == static_cast<char32_t>(quote) || character == '\\') {
      result += '\\';
      result += static_cast<char>(character);
    } else if (character == '\n')
      result += "\\n";
    else if (character == '\r')
      result += "\\r";
    else if (character == '\t')
      result += "\\t";
    else if (is_printable(character))
      append_character(result, character);
    else if (character < 0x100)
      append_escape('x', character, 2);
    else if (character < 0x10000)
      append_escape('u', character, 4);
    else
      append_escape('U', character, 8);
  }
  return result + quote;
}

std::string shown(Rendering &rendering, const Value &value) {
  Printer printer(rendering);
  printer.print(value);
  return std::move(printer.result);
}

std::string text_of(Rendering &rendering, const Value &value) {
  if (value.is_undefined())
    return "";
  if (!value.is_text())
    return shown(rendering, value);
  rendering.make(value.bytes().size());
  return value.bytes();
}

Value soft_text(Rendering &rendering, const Value &value) {
  return value.is_text() ? value : Value(text_of(rendering, value));
}

std::string escape_html(Rendering &rendering, std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char character : text)
    switch (character) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&#34;";
      break;
    case '\'':
      result += "&#39;";
      break;
    default:
      result += character;
    }
  rendering.make(result.size());
  return result;
}

Value to_markup(Rendering &rendering, const Value &value) {
  if (value.is_text() && value.text().safe)
    return value;
  return Value(escape_html(rendering, text_of(rendering, value)), true);
}

Value slice(Rendering &rendering, const Value &container, const Value &start,
            const Value &stop, const Value &step) {
  demand_defined(container);
  if (container.is(Object::Kind::Dictionary))
    throw Failure("unhashable type: 'slice'");
  if (!is_sequence(container) && !container.is(Object::Kind::Range))
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
