//===- json_schema.cpp - JSON Schema as a grammar ------------------------===//

#include "runtime/grammar/json_schema.h"

#include "runtime/error.h"
#include "runtime/grammar/grammar_values.h"
#include "runtime/grammar/json_text.h"
#include "runtime/grammar/schema_conjunction.h"
#include "runtime/grammar/schema_object.h"
#include "runtime/grammar/schema_shape.h"

#include <algorithm>
#include <map>
#include <optional>

namespace baton {

namespace {

/// Alternatives of one value, with those of the schemas that it combines.
constexpr size_t most_alternatives = 500;
/// Places in an object, by properties and how many are written.
constexpr size_t most_places = 50'000;
constexpr size_t most_rules = 20'000;

GrammarPart optional_row(GrammarPart part, uint32_t least, uint32_t most) {
  return grammar_part(GrammarNode::Repeat{std::move(part), least, most});
}

class SchemaReader {
public:
  SchemaReader(const SchemaJson &root, const JsonSchemaOptions &options)
      : options(options), document(root), text(options.whitespace) {}

  GrammarPart read() {
    value_of({document.whole()});
    for (size_t rule = 0; rule < pending.size(); ++rule)
      bodies[rule] = body_of(pending[rule]);
    const GrammarPart grammar =
        grammar_part(GrammarNode::Rules{std::move(bodies), 0, {}});
    if (pending.empty())
      return text.any_value();
    if (!has_finite_text(*grammar))
      throw Error("schema: " + (contradiction.empty() ? "#" : contradiction) +
                  ": no value keeps to it");
    return grammar;
  }

private:
  /// The values that keep to all of the schemas.
  GrammarPart value_of(const SchemaPlaces &schemas) {
    SchemaPlaces own;
    for (const SchemaPlace &schema : schemas) {
      const SchemaPlace place = document.without_references(schema);
      const bool says_nothing =
          (place.schema->is_boolean() && place.schema->get<bool>()) ||
          (place.schema->is_object() && place.schema->empty());
      if (!says_nothing &&
          std::none_of(own.begin(), own.end(), [&](const SchemaPlace &other) {
            return other.schema == place.schema;
          }))
        own.push_back(place);
    }
    if (own.empty())
      return text.any_value();
    std::vector<const SchemaJson *> key;
    for (const SchemaPlace &place : own)
      key.push_back(place.schema);
    const auto [entry, added] = numbers.try_emplace(key, pending.size());
    if (added) {
      if (pending.size() == most_rules)
        own[0].fail("the schema combines its parts in more than " +
                    std::to_string(most_rules) + " ways");
      pending.push_back(own);
      bodies.emplace_back();
    }
    return grammar_part(GrammarNode::Reference{entry->second});
  }

  GrammarPart body_of(const SchemaPlaces &schemas) {
    const SchemaConjunction conjunction = document.expand(schemas);
    std::vector<GrammarPart> alternatives;
    size_t tried = 0;
    add_alternatives(conjunction, alternatives, tried);
    if (alternatives.empty() && contradiction.empty())
      contradiction = conjunction.impossible.empty() ? schemas[0].pointer
                                                     : conjunction.impossible;
    return choice_part(std::move(alternatives));
  }

  void add_alternatives(const SchemaConjunction &conjunction,
                        std::vector<GrammarPart> &alternatives, size_t &tried) {
    if (!conjunction.impossible.empty())
      return;
    if (conjunction.groups.empty())
      return add_types(conjunction, alternatives);
    const auto &group = conjunction.groups.front();
    for (const SchemaPlace &place : group.alternatives) {
      if (++tried > most_alternatives)
        throw Error("schema: " + group.pointer + ": more than " +
                    std::to_string(most_alternatives) +
                    " alternatives come together here");
      add_alternatives(document.choose(conjunction, place), alternatives,
                       tried);
    }
  }

  void add_types(const SchemaConjunction &conjunction,
                 std::vector<GrammarPart> &alternatives) {
    const SchemaShape shape(conjunction, options.strict);
    const auto add = [&](GrammarPart part) {
      if (part)
        alternatives.push_back(std::move(part));
    };
    if (shape.values()) {
      for (const SchemaJson *value : *shape.values())
        if (keeps_to(*value, conjunction, 0))
          add(text.literal(*value));
      return;
    }
    if (shape.allows(SchemaShape::Null))
      add(bytes_part("null"));
    if (shape.allows(SchemaShape::Boolean))
      add(choice_part({bytes_part("true"), bytes_part("false")}));
    if (shape.allows(SchemaShape::Integer))
      add(number_part(shape));
    if (shape.allows(SchemaShape::String))
      add(string_part(shape));
    if (shape.allows(SchemaShape::Array))
      add(array_part(shape));
    if (shape.allows(SchemaShape::Object))
      add(object_part(shape));
  }

  /// A member of an enum; scalars have been looked at.
  bool keeps_to(const SchemaJson &value, const SchemaConjunction &conjunction,
                int depth) {
    if (!conjunction.impossible.empty())
      return false;
    if (!conjunction.groups.empty()) {
      const auto &places = conjunction.groups.front().alternatives;
      return std::any_of(
          places.begin(), places.end(), [&](const SchemaPlace &place) {
            return keeps_to(value, document.choose(conjunction, place), depth);
          });
    }
    const SchemaShape shape(conjunction, options.strict);
    if (depth > 0 && shape.values() &&
        std::none_of(shape.values()->begin(), shape.values()->end(),
                     [&](const SchemaJson *each) { return *each == value; }))
      return false;
    if (!value.is_structured())
      return shape.allows_scalar(value);
    return shape.allows(type_of(value)) &&
           (value.is_array() ? items_keep_to(value, shape, depth)
                             : properties_keep_to(value, shape, depth));
  }

  bool items_keep_to(const SchemaJson &value, const SchemaShape &shape,
                     int depth) {
    const Items items = items_of(shape);
    if (value.size() < shape.items.least || value.size() > items.most)
      return false;
    for (size_t at = 0; at < value.size(); ++at)
      if (!keeps_to(value[at],
                    document.expand(at < items.first.size() ? items.first[at]
                                                            : items.rest),
                    depth + 1))
        return false;
    return true;
  }

  bool properties_keep_to(const SchemaJson &value, const SchemaShape &shape,
                          int depth) {
    const SchemaObject object = object_of(shape, document);
    if (value.size() < shape.properties.least ||
        value.size() > shape.properties.most)
      return false;
    for (const auto &property : object.properties)
      if (property.required && !value.contains(property.name))
        return false;
    for (const auto &[name, member] : value.items()) {
      const SchemaPlaces *schemas = nullptr;
      for (const auto &property : object.properties)
        if (property.name == name)
          schemas = &property.schemas;
      const auto characters = characters_of(name, "a name");
      for (const auto &others : object.others)
        if (!schemas && (!others.names || others.names->accepts(characters)))
          schemas = &others.schemas;
      if (!schemas || !keeps_to(member, document.expand(*schemas), depth + 1))
        return false;
    }
    return true;
  }

  GrammarPart number_part(const SchemaShape &shape) {
    NumberRange range = shape.numbers();
    range.integer |= !shape.allows(SchemaShape::Fraction);
    if (!shape.numbers_are_limited())
      return range.integer ? text.any_integer() : text.any_number();
    std::string key = std::to_string(range.integer) + " " +
                      std::to_string(range.multiple) + " " +
                      std::to_string(range.fraction_digits);
    for (const auto &bound : {range.least, range.most})
      key += !bound ? " none"
                    : (bound->exclusive ? " <" : " =") +
                          std::string(bound->value.negative ? "-" : "") +
                          bound->value.whole + "." + bound->value.fraction;
    const auto [entry, added] = numbers_known.try_emplace(key);
    if (added) {
      TextAutomaton language = number_language(range);
      if (!language.empty())
        entry->second = grammar_part(GrammarNode::Text{std::move(language)});
    }
    return entry->second;
  }

  GrammarPart string_part(const SchemaShape &shape) {
    std::string key = std::to_string(shape.least_length()) + " " +
                      std::to_string(shape.most_length());
    for (const std::string &pattern : shape.patterns())
      key += '\n' + pattern;
    GrammarPart &part = strings[key];
    if (part)
      return part;
    if (shape.patterns().empty() && shape.least_length() == 0 &&
        shape.most_length() == unbounded)
      return part = text.any_string();
    if (shape.patterns().empty()) {
      if (shape.least_length() > shape.most_length())
        return nullptr;
      return part = shared_rule(
                 quoted_characters(shape.least_length(), shape.most_length()));
    }
    TextAutomaton language;
    try {
      language = *shape.strings();
    } catch (const Error &error) {
      shape.bases()[0].fail(error.what());
    }
    if (language.empty())
      return nullptr;
    return part = shared_rule(quoted_text(std::move(language)));
  }

  struct Items {
    /// Schemas of the first items, and of those behind them.
    std::vector<SchemaPlaces> first;
    SchemaPlaces rest;
    uint32_t most;
  };

  Items items_of(const SchemaShape &shape) const {
    Items items{{}, {}, shape.items.most};
    struct Base {
      SchemaPlaces first;
      std::optional<SchemaPlace> rest;
    };
    std::vector<Base> bases;
    size_t length = 0;
    bool lists = false, opened = false;
    for (const SchemaPlace &place : shape.bases()) {
      Base base;
      // Lists of items are of older drafts.
      const SchemaJson *rest = place.find("items");
      const bool old = rest && rest->is_array();
      const char *first = old ? "items" : "prefixItems";
      if (const SchemaJson *list = place.find(first)) {
        if (!list->is_array())
          place.fail_at(first, "is not a list of schemas");
        for (size_t at = 0; at < list->size(); ++at)
          base.first.push_back(
              place.at(first).at(std::to_string(at), (*list)[at]));
        lists = true;
      }
      const char *behind = old ? "additionalItems" : "items";
      if (place.find(behind)) {
        base.rest = place.at(behind);
        opened = true;
      }
      length = std::max(length, base.first.size());
      bases.push_back(std::move(base));
    }
    items.first.resize(length);
    for (const Base &base : bases) {
      for (size_t at = 0; at < length; ++at)
        if (at < base.first.size())
          items.first[at].push_back(base.first[at]);
        else if (base.rest)
          items.first[at].push_back(*base.rest);
      if (!base.rest)
        continue;
      items.rest.push_back(*base.rest);
      if (base.rest->is_false())
        items.most =
            std::min(items.most, static_cast<uint32_t>(base.first.size()));
    }
    if (lists && !opened && options.strict)
      items.most = std::min(items.most, static_cast<uint32_t>(length));
    return items;
  }

  GrammarPart array_part(const SchemaShape &shape) {
    const Items items = items_of(shape);
    const uint32_t least = shape.items.least, most = items.most;
    if (least > most)
      return nullptr;
    const auto count =
        static_cast<uint32_t>(std::min<size_t>(items.first.size(), most));
    // A state before each of the first items, one behind them, and the end.
    const uint32_t end = count + 1;
    GrammarNode::Network network{count + 2, end, {}};
    for (uint32_t at = 0; at < count; ++at) {
      const GrammarPart item = value_of(items.first[at]);
      network.edges.push_back(
          {at, at + 1, at == 0 ? item : sequence_part({text.comma(), item})});
      if (at >= least)
        network.edges.push_back({at, end, nullptr});
    }
    const uint32_t left = most == unbounded ? unbounded : most - count;
    const uint32_t owed = least > count ? least - count : 0;
    if (owed == 0)
      network.edges.push_back({count, end, nullptr});
    if (left > 0) {
      const GrammarPart item = value_of(items.rest);
      const GrammarPart next = sequence_part({text.comma(), item});
      const uint32_t behind_first = left == unbounded ? unbounded : left - 1;
      network.edges.push_back(
          {count, end,
           count > 0 ? optional_row(next, std::max(owed, 1u), left)
                     : sequence_part(
                           {item, optional_row(next, owed > 0 ? owed - 1 : 0,
                                               behind_first)})});
    }
    return sequence_part(
        {text.open("["), grammar_part(std::move(network)), text.close("]")});
  }

  GrammarPart name_part(const std::optional<TextAutomaton> &names) {
    return names ? quoted_text(*names) : text.any_string();
  }

  GrammarPart object_part(const SchemaShape &shape) {
    const SchemaObject object = object_of(shape, document);
    const uint32_t least = shape.properties.least, most = shape.properties.most;
    if (least > most)
      return nullptr;
    const auto count = static_cast<uint32_t>(object.properties.size());
    // How many properties are written, as far as it matters.
    const uint32_t counted =
        std::max({1u, least, most == unbounded ? 0u : most});
    if (uint64_t(count + 2) * (uint64_t(counted) + 1) > most_places)
      shape.bases()[0].fail(
          "so many properties, with minProperties or maxProperties, are not "
          "supported");
    // Before each property, or the others, with so many written: first what
    // may come, then the property itself.
    const auto before = [&](uint32_t property, uint32_t written) {
      return 2 * (property * (counted + 1) + written);
    };
    const uint32_t end = before(count + 1, 0);
    GrammarNode::Network network{end + 1, end, {}};
    const auto edge = [&](uint32_t from, uint32_t to, GrammarPart part) {
      network.edges.push_back({from, to, std::move(part)});
    };
    std::vector<GrammarPart> parts;
    for (const auto &property : object.properties)
      parts.push_back(
          sequence_part({bytes_part('"' + spell_json(property.name) + '"'),
                         text.colon(), value_of(property.schemas)}));
    std::vector<GrammarPart> others;
    for (const auto &each : object.others)
      others.push_back(sequence_part(
          {name_part(each.names), text.colon(), value_of(each.schemas)}));
    parts.push_back(choice_part(std::move(others)));
    for (uint32_t property = 0; property <= count; ++property)
      for (uint32_t written = 0; written <= counted; ++written) {
        const uint32_t here = before(property, written);
        const uint32_t next = std::min(written + 1, counted);
        if (written < most) {
          // The comma leads to one state, from which the property goes on.
          edge(here, before(property, next) + 1,
               written == 0 ? nullptr : text.comma());
        }
        if (written > 0)
          edge(here + 1, before(std::min(property + 1, count), written),
               parts[property]);
        if (property == count && written >= least)
          edge(here, end, nullptr);
        else if (property < count && !object.properties[property].required)
          edge(here, before(property + 1, written), nullptr);
      }
    return sequence_part(
        {text.open("{"), grammar_part(std::move(network)), text.close("}")});
  }

  JsonSchemaOptions options;
  SchemaDocument document;
  JsonText text;
  std::map<std::vector<const SchemaJson *>, size_t> numbers;
  std::vector<SchemaPlaces> pending;
  std::vector<GrammarPart> bodies;
  /// By what is asked of them; a null part, if there are none.
  std::map<std::string, GrammarPart> strings, numbers_known;
  /// The pointer of the first schema that contradicts itself.
  std::string contradiction;
};

} // namespace

GrammarPart read_json_schema(const nlohmann::ordered_json &schema,
                             const JsonSchemaOptions &options) {
  return SchemaReader(schema, options).read();
}

} // namespace baton
