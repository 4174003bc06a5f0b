//===- schema_shape.cpp - what schemas say about one value ---------------===//

#include "runtime/grammar/schema_shape.h"

#include "runtime/error.h"
#include "runtime/grammar/regular_expression.h"
#include "runtime/grammar/string_formats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace baton {

namespace {

/// Of multipleOf: states for each remainder.
constexpr double largest_multiple = 1000;

/// Arrays and objects in a member of enum; each takes frames of the stack.
constexpr int deepest_value = 100;

bool is_deeper(const SchemaJson &value, int depth) {
  return value.is_structured() &&
         (depth == 0 ||
          std::any_of(value.begin(), value.end(), [&](const SchemaJson &part) {
            return is_deeper(part, depth - 1);
          }));
}

uint8_t type_named(const SchemaPlace &place, const SchemaJson &name) {
  static const std::map<std::string, int> types = {
      {"null", SchemaShape::Null},
      {"boolean", SchemaShape::Boolean},
      {"integer", SchemaShape::Integer},
      {"number", SchemaShape::Integer | SchemaShape::Fraction},
      {"string", SchemaShape::String},
      {"array", SchemaShape::Array},
      {"object", SchemaShape::Object}};
  const auto found =
      name.is_string() ? types.find(name.get<std::string>()) : types.end();
  if (found == types.end())
    place.fail_at("type", "is not a type of JSON, or a list of them");
  return static_cast<uint8_t>(found->second);
}

NumberBound bound_of(const SchemaPlace &place, const char *keyword,
                     bool exclusive) {
  const SchemaJson &value = *place.find(keyword);
  if (value.is_boolean())
    place.fail_at(keyword,
                  "is a boolean, as in draft 4: give the bound itself");
  const auto decimal =
      value.is_number() ? Decimal::parse(value.dump()) : std::nullopt;
  if (!decimal)
    place.fail_at(keyword, "is not a number");
  if (decimal->whole.size() + decimal->fraction.size() > 60)
    place.fail_at(keyword, "has more than 60 digits, which is not supported");
  return {*decimal, exclusive};
}

/// The bytes of a pattern, or an Error at the keyword.
template <typename Function>
auto at_keyword(const SchemaPlace &place, const char *keyword,
                const Function &function) {
  try {
    return function();
  } catch (const Error &error) {
    place.fail_at(keyword, error.what());
  }
}

} // namespace

SchemaShape::Type type_of(const SchemaJson &value) {
  if (value.is_null())
    return SchemaShape::Null;
  if (value.is_boolean())
    return SchemaShape::Boolean;
  if (value.is_string())
    return SchemaShape::String;
  if (value.is_array())
    return SchemaShape::Array;
  if (value.is_object())
    return SchemaShape::Object;
  if (value.is_number_integer())
    return SchemaShape::Integer;
  const double number = value.get<double>();
  return number == std::floor(number) ? SchemaShape::Integer
                                      : SchemaShape::Fraction;
}

void SchemaShape::Counts::narrow(const SchemaPlace &place,
                                 const char *least_keyword,
                                 const char *most_keyword) {
  if (const auto count = place.count(least_keyword))
    least = std::max(least, *count);
  if (const auto count = place.count(most_keyword); count && *count < countless)
    most = std::min(most, *count);
}

SchemaShape::SchemaShape(const SchemaConjunction &conjunction, bool strict)
    : places(conjunction.bases), strict(strict) {
  for (size_t at = 0; at < places.size(); ++at) {
    read(places[at]);
    if (const SchemaJson *value = places[at].find("unevaluatedProperties")) {
      if (value->is_boolean() && value->get<bool>())
        continue;
      if (!value->is_boolean() || at >= conjunction.own)
        places[at].fail_at("unevaluatedProperties",
                           "is not supported but for false, in a schema that "
                           "no other one refers to or contains");
      closes = true;
    }
  }
  if (strict && !type_given && implied != 0)
    types &= implied;
  if (listed)
    std::erase_if(*listed, [&](const SchemaJson *value) {
      return !allows_scalar(*value);
    });
}

void SchemaShape::read(const SchemaPlace &place) {
  read_type(place);
  read_values(place);
  read_numbers(place);
  read_strings(place);
  items.narrow(place, "minItems", "maxItems");
  properties.narrow(place, "minProperties", "maxProperties");
  imply_type(place);
  if (const SchemaJson *unique = place.find("uniqueItems"))
    if (!unique->is_boolean() || unique->get<bool>())
      place.fail_at("uniqueItems", "is not supported");
}

void SchemaShape::read_type(const SchemaPlace &place) {
  const SchemaJson *type = place.find("type");
  if (!type)
    return;
  type_given = true;
  uint8_t own = 0;
  if (type->is_array())
    for (const SchemaJson &name : *type)
      own |= type_named(place, name);
  else
    own = type_named(place, *type);
  types &= own;
}

void SchemaShape::read_values(const SchemaPlace &place) {
  const auto keep = [&](std::vector<const SchemaJson *> own) {
    for (const SchemaJson *value : own)
      if (is_deeper(*value, deepest_value))
        place.fail("has a value that is more than " +
                   std::to_string(deepest_value) + " deep");
    type_given = true;
    if (!listed) {
      listed = std::move(own);
      return;
    }
    std::erase_if(*listed, [&](const SchemaJson *value) {
      return std::none_of(own.begin(), own.end(), [&](const SchemaJson *other) {
        return *value == *other;
      });
    });
  };
  if (const SchemaJson *values = place.find("enum")) {
    if (!values->is_array() || values->empty())
      place.fail_at("enum", "is not a list of values");
    std::vector<const SchemaJson *> own;
    for (const SchemaJson &value : *values)
      own.push_back(&value);
    keep(std::move(own));
  }
  if (const SchemaJson *value = place.find("const"))
    keep({value});
}

void SchemaShape::read_numbers(const SchemaPlace &place) {
  for (const auto &[keyword, exclusive] :
       {std::pair("minimum", false), std::pair("exclusiveMinimum", true)})
    if (place.find(keyword)) {
      range.raise_least(bound_of(place, keyword, exclusive));
      range_given = true;
    }
  for (const auto &[keyword, exclusive] :
       {std::pair("maximum", false), std::pair("exclusiveMaximum", true)})
    if (place.find(keyword)) {
      range.lower_most(bound_of(place, keyword, exclusive));
      range_given = true;
    }
  const SchemaJson *multiple = place.find("multipleOf");
  if (!multiple)
    return;
  range_given = true;
  const double value = multiple->is_number() ? multiple->get<double>() : 0;
  if (!(value > 0))
    place.fail_at("multipleOf", "is not a number above 0");
  if (value == std::floor(value)) {
    const uint64_t common =
        value > largest_multiple
            ? uint64_t(largest_multiple) + 1
            : std::lcm<uint64_t>(range.multiple, static_cast<uint64_t>(value));
    if (common > largest_multiple)
      place.fail_at("multipleOf", "above 1000 is not supported");
    range.integer = true;
    range.multiple = static_cast<uint32_t>(common);
    return;
  }
  const auto decimal = Decimal::parse(multiple->dump());
  if (!decimal || decimal->whole != "0" || decimal->fraction.size() > 18 ||
      decimal->fraction.find_first_not_of('0') + 1 !=
          decimal->fraction.size() ||
      !decimal->fraction.ends_with('1'))
    place.fail_at("multipleOf",
                  "is not supported but for whole numbers and 0.1, 0.01, ...");
  range.fraction_digits = std::min(
      range.fraction_digits, static_cast<uint32_t>(decimal->fraction.size()));
}

void SchemaShape::read_strings(const SchemaPlace &place) {
  lengths.narrow(place, "minLength", "maxLength");
  const auto text = [&](const char *keyword) -> const std::string * {
    const SchemaJson *value = place.find(keyword);
    if (value && !value->is_string())
      place.fail_at(keyword, "is not a text");
    return value ? value->get_ptr<const std::string *>() : nullptr;
  };
  const auto add = [&](const std::string &pattern) {
    if (std::find(string_patterns.begin(), string_patterns.end(), pattern) ==
        string_patterns.end())
      string_patterns.push_back(pattern);
  };
  if (const std::string *pattern = text("pattern")) {
    at_keyword(place, "pattern", [&] { return RegularExpression(*pattern); });
    add(*pattern);
  }
  if (const std::string *format = text("format"))
    if (const auto pattern = pattern_of_format(*format))
      add(*pattern);
}

void SchemaShape::imply_type(const SchemaPlace &place) {
  static constexpr std::pair<const char *, int> keywords[] = {
      {"properties", Object},
      {"required", Object},
      {"patternProperties", Object},
      {"additionalProperties", Object},
      {"propertyNames", Object},
      {"minProperties", Object},
      {"maxProperties", Object},
      {"unevaluatedProperties", Object},
      {"items", Array},
      {"prefixItems", Array},
      {"minItems", Array},
      {"maxItems", Array},
      {"minLength", String},
      {"maxLength", String},
      {"pattern", String},
      {"minimum", Integer | Fraction},
      {"maximum", Integer | Fraction},
      {"exclusiveMinimum", Integer | Fraction},
      {"exclusiveMaximum", Integer | Fraction},
      {"multipleOf", Integer | Fraction}};
  for (const auto &[keyword, type] : keywords)
    if (place.find(keyword))
      implied |= static_cast<uint8_t>(type);
}

std::optional<TextAutomaton> SchemaShape::strings() const {
  std::optional<TextAutomaton> result;
  const auto narrow = [&](const TextAutomaton &other) {
    result = result ? result->intersected(other) : other;
  };
  for (const std::string &pattern : string_patterns)
    narrow(RegularExpression(pattern).occurrences());
  if (lengths.least > 0 || lengths.most != unbounded)
    narrow(TextAutomaton::of_length(lengths.least, lengths.most));
  return result;
}

bool SchemaShape::allows_scalar(const SchemaJson &value) const {
  const Type type = type_of(value);
  if (!allows(type))
    return false;
  if (type == String) {
    const auto language = strings();
    return !language || language->accepts(characters_of(
                            value.get_ref<const std::string &>(), "a value"));
  }
  if (type != Integer && type != Fraction)
    return true;
  const auto number = Decimal::parse(value.dump());
  if (!number)
    return false;
  if (range.least) {
    const int order = number->compare(range.least->value);
    if (order < 0 || (order == 0 && range.least->exclusive))
      return false;
  }
  if (range.most) {
    const int order = number->compare(range.most->value);
    if (order > 0 || (order == 0 && range.most->exclusive))
      return false;
  }
  if (range.integer && !number->fraction.empty())
    return false;
  uint64_t remainder = 0;
  for (const char digit : number->whole)
    remainder =
        (remainder * 10 + static_cast<uint64_t>(digit - '0')) % range.multiple;
  return remainder == 0 && number->fraction.size() <= range.fraction_digits;
}

} // namespace baton
