//===- schema_object.cpp - names and values of a schema's objects --------===//

#include "runtime/grammar/schema_object.h"

#include "runtime/error.h"
#include "runtime/grammar/regular_expression.h"

#include <algorithm>
#include <unordered_map>

namespace baton {

namespace {

/// Patterns of names in one object: each set of them has a language of its own.
constexpr size_t most_patterns = 4;

/// Of one of the schemas.
struct Base {
  SchemaPlace place;
  const SchemaJson *properties = nullptr;
  /// By their numbers.
  std::vector<size_t> patterns;
  std::optional<SchemaPlace> additional;
};

struct Pattern {
  TextAutomaton names;
  SchemaPlace schema;
};

class ObjectReader {
public:
  ObjectReader(const SchemaShape &shape, const SchemaDocument &document)
      : shape(shape), document(document) {}

  SchemaObject read() {
    for (const SchemaPlace &place : shape.bases())
      read_base(place);
    for (const Base &base : bases)
      read_required(base.place);
    for (auto &property : result.properties) {
      property.schemas = schemas_of(property.name);
      if (names && !names->accepts(characters_of(property.name, "a name")))
        property.schemas = {{&never, "#"}};
    }
    add_others();
    return std::move(result);
  }

private:
  const SchemaJson *object_at(const SchemaPlace &place, const char *keyword) {
    const SchemaJson *value = place.find(keyword);
    if (value && !value->is_object())
      place.fail_at(keyword, "is not an object");
    return value;
  }

  SchemaObject::Property &property(const std::string &name) {
    const auto [entry, added] =
        numbers.try_emplace(name, result.properties.size());
    if (added)
      result.properties.push_back({name, false, {}});
    return result.properties[entry->second];
  }

  void read_base(const SchemaPlace &place) {
    Base base;
    base.place = place;
    base.properties = object_at(place, "properties");
    if (base.properties)
      for (const auto &[name, schema] : base.properties->items())
        property(name);
    if (const SchemaJson *own = object_at(place, "patternProperties"))
      for (const auto &[pattern, schema] : own->items()) {
        if (patterns.size() == most_patterns)
          place.fail_at("patternProperties",
                        "more than " + std::to_string(most_patterns) +
                            " patterns for an object are not supported");
        const SchemaPlace where = place.at("patternProperties");
        base.patterns.push_back(patterns.size());
        try {
          patterns.push_back({RegularExpression(pattern).occurrences(),
                              where.at(pattern, schema)});
        } catch (const Error &error) {
          where.fail_at(pattern, error.what());
        }
      }
    if (place.find("additionalProperties"))
      base.additional = place.at("additionalProperties");
    if (place.find("propertyNames")) {
      const auto own = strings_of({place.at("propertyNames")}, document,
                                  shape.strict_types(), place, "propertyNames");
      if (own)
        names = names ? names->intersected(*own) : *own;
    }
    opened |= base.additional || !base.patterns.empty();
    lists |= base.properties != nullptr;
    bases.push_back(std::move(base));
  }

  void read_required(const SchemaPlace &place) {
    const SchemaJson *required = place.find("required");
    if (!required)
      return;
    // Draft 3 and sloppy writers have booleans here.
    if (!required->is_array())
      place.fail_at("required", "is not a list of names");
    for (const SchemaJson &name : *required) {
      if (!name.is_string())
        place.fail_at("required", "is not a list of names");
      property(name.get<std::string>()).required = true;
    }
  }

  SchemaPlaces schemas_of(const std::string &name) const {
    SchemaPlaces schemas;
    const std::vector<uint32_t> characters = characters_of(name, "a name");
    for (const Base &base : bases) {
      bool evaluated = false;
      if (base.properties) {
        const auto found = base.properties->find(name);
        if (found != base.properties->end()) {
          schemas.push_back(base.place.at("properties").at(name, *found));
          evaluated = true;
        }
      }
      for (const size_t pattern : base.patterns)
        if (patterns[pattern].names.accepts(characters)) {
          schemas.push_back(patterns[pattern].schema);
          evaluated = true;
        }
      if (!evaluated && base.additional)
        schemas.push_back(*base.additional);
    }
    return schemas;
  }

  /// A class of names for each set of patterns that they match.
  void add_others() {
    const bool closed =
        !opened && ((shape.strict_types() && lists) || shape.closed());
    if (closed)
      return;
    std::vector<std::string> listed;
    for (const auto &each : result.properties)
      listed.push_back(each.name);
    for (size_t set = 0; set < size_t(1) << patterns.size(); ++set) {
      SchemaObject::Others others;
      bool evaluated = false;
      for (const Base &base : bases) {
        bool own = false;
        for (const size_t pattern : base.patterns)
          if (set >> pattern & 1) {
            others.schemas.push_back(patterns[pattern].schema);
            own = true;
          }
        if (!own && base.additional)
          others.schemas.push_back(*base.additional);
        evaluated |= own || base.additional;
      }
      if (shape.closed() && !evaluated)
        continue;
      if (shape.strict_types() && set == 0 && !evaluated && opened)
        continue;
      if (std::any_of(others.schemas.begin(), others.schemas.end(),
                      [](const SchemaPlace &each) { return each.is_false(); }))
        continue;
      others.names = names_of(set, listed);
      if (!others.names || !others.names->empty())
        result.others.push_back(std::move(others));
    }
  }

  std::optional<TextAutomaton>
  names_of(size_t set, const std::vector<std::string> &listed) const {
    if (patterns.empty() && listed.empty())
      return names;
    TextAutomaton language = names ? *names : TextAutomaton::of_length(0);
    for (size_t pattern = 0; pattern < patterns.size(); ++pattern)
      language = set >> pattern & 1
                     ? language.intersected(patterns[pattern].names)
                     : language.less(patterns[pattern].names);
    return listed.empty() ? language
                          : language.less(TextAutomaton::of_texts(listed));
  }

  inline static const SchemaJson never = false;

  const SchemaShape &shape;
  const SchemaDocument &document;
  SchemaObject result;
  std::unordered_map<std::string, size_t> numbers;
  std::vector<Base> bases;
  std::vector<Pattern> patterns;
  std::optional<TextAutomaton> names;
  bool opened = false, lists = false;
};

} // namespace

SchemaObject object_of(const SchemaShape &shape,
                       const SchemaDocument &document) {
  return ObjectReader(shape, document).read();
}

std::optional<TextAutomaton> strings_of(const SchemaPlaces &schemas,
                                        const SchemaDocument &document,
                                        bool strict, const SchemaPlace &place,
                                        const char *keyword) {
  const SchemaConjunction conjunction = document.expand(schemas);
  if (!conjunction.groups.empty())
    place.fail_at(keyword, "anyOf and oneOf are not supported here");
  if (!conjunction.impossible.empty())
    return TextAutomaton();
  const SchemaShape shape(conjunction, strict);
  if (!shape.allows(SchemaShape::String))
    return TextAutomaton();
  if (!shape.values())
    return shape.strings();
  std::vector<std::string> texts;
  for (const SchemaJson *value : *shape.values())
    if (value->is_string())
      texts.push_back(value->get<std::string>());
  return TextAutomaton::of_texts(texts);
}

} // namespace baton
