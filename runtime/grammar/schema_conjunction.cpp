//===- schema_conjunction.cpp - schemas that a value has to keep to ------===//

#include "runtime/grammar/schema_conjunction.h"

#include "runtime/error.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

namespace baton {

namespace {

/// Schemas that refer to each other without a value between.
constexpr size_t deepest_path = 100;
/// Schemas that a value has to keep to at once.
constexpr size_t most_bases = 1000;

/// Assertions of some draft that no grammar is made of.
constexpr std::string_view refused[] = {"not",
                                        "if",
                                        "then",
                                        "else",
                                        "contains",
                                        "minContains",
                                        "maxContains",
                                        "dependentRequired",
                                        "dependencies",
                                        "dependentSchemas",
                                        "unevaluatedItems",
                                        "$dynamicRef",
                                        "$recursiveRef"};

/// Keywords that say nothing about values.
constexpr std::string_view annotations[] = {
    "title",    "description", "default",     "examples",   "deprecated",
    "readOnly", "writeOnly",   "$comment",    "$schema",    "$id",
    "$anchor",  "$defs",       "definitions", "$vocabulary"};

/// A name as part of a JSON pointer (RFC 6901).
std::string escape(const std::string &name) {
  std::string escaped;
  for (const char byte : name)
    if (byte == '~')
      escaped += "~0";
    else if (byte == '/')
      escaped += "~1";
    else
      escaped += static_cast<uint8_t>(byte) < 0x20 ? ' ' : byte;
  return escaped;
}

/// A part of a pointer in a fragment, as the name that it stands for.
std::optional<std::string> unescape(std::string_view part) {
  std::string name;
  const auto digit = [](char byte) {
    return byte >= '0' && byte <= '9'   ? byte - '0'
           : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
           : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                        : -1;
  };
  for (size_t at = 0; at < part.size(); ++at) {
    if (part[at] == '%' && at + 2 < part.size() && digit(part[at + 1]) >= 0 &&
        digit(part[at + 2]) >= 0) {
      name += static_cast<char>(digit(part[at + 1]) * 16 + digit(part[at + 2]));
      at += 2;
    } else {
      name += part[at];
    }
  }
  std::string result;
  for (size_t at = 0; at < name.size(); ++at) {
    if (name[at] != '~') {
      result += name[at];
      continue;
    }
    if (at + 1 == name.size() || (name[at + 1] != '0' && name[at + 1] != '1'))
      return std::nullopt;
    result += name[++at] == '0' ? '~' : '/';
  }
  return result;
}

} // namespace

void SchemaPlace::fail(const std::string &what) const {
  throw Error("schema: " + pointer + ": " + what);
}

void SchemaPlace::fail_at(const std::string &keyword,
                          const std::string &what) const {
  throw Error("schema: " + pointer + "/" + escape(keyword) + ": " + what);
}

const SchemaJson *SchemaPlace::find(const char *keyword) const {
  const auto found = schema->find(keyword);
  return found == schema->end() ? nullptr : &*found;
}

SchemaPlace SchemaPlace::at(const std::string &key,
                            const SchemaJson &value) const {
  return {&value, pointer + "/" + escape(key)};
}

SchemaPlace SchemaPlace::at(const std::string &key) const {
  return at(key, schema->at(key));
}

std::optional<uint32_t> SchemaPlace::count(const char *keyword) const {
  const SchemaJson *value = find(keyword);
  if (!value)
    return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : -1;
  if (!(number >= 0) || number != static_cast<double>(static_cast<uint64_t>(
                                      std::min(number, 1e18))))
    if (!(number > 1e18))
      fail_at(keyword, "is not a whole number from 0 on");
  return static_cast<uint32_t>(
      std::min<double>(number, std::numeric_limits<uint32_t>::max() - 1.0));
}

SchemaPlace SchemaDocument::resolve(const SchemaPlace &place) const {
  const SchemaJson &reference = *place.find("$ref");
  if (!reference.is_string())
    place.fail_at("$ref", "is not a text");
  const auto &text = reference.get_ref<const std::string &>();
  if (!text.starts_with("#") || (text.size() > 1 && text[1] != '/'))
    place.fail_at("$ref", "'" + escape(text) +
                              "' is not supported: only '#' and pointers "
                              "'#/...' into the same schema are");
  SchemaPlace target = whole();
  std::string_view rest = std::string_view(text).substr(1);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const size_t end = std::min(rest.find('/'), rest.size());
    const auto name = unescape(rest.substr(0, end));
    rest.remove_prefix(end);
    const SchemaJson *next = nullptr;
    if (name && target.schema->is_object()) {
      const auto found = target.schema->find(*name);
      next = found == target.schema->end() ? nullptr : &*found;
    } else if (name && target.schema->is_array() && !name->empty() &&
               name->size() < 9 &&
               name->find_first_not_of("0123456789") == name->npos) {
      const size_t index = std::stoul(*name);
      next = index < target.schema->size() ? &(*target.schema)[index] : nullptr;
    }
    if (!next)
      place.fail_at("$ref", "'" + escape(text) + "' points to nothing");
    target = target.at(*name, *next);
  }
  return target;
}

SchemaPlace SchemaDocument::without_references(SchemaPlace place) const {
  for (size_t count = 0; place.schema->is_object() && place.find("$ref");
       ++count) {
    for (const auto &[keyword, value] : place.schema->items())
      if (keyword != "$ref" &&
          std::find(std::begin(annotations), std::end(annotations), keyword) ==
              std::end(annotations))
        return place;
    if (count > deepest_path)
      place.fail("refers to itself, with no value between");
    place = resolve(place);
  }
  return place;
}

void SchemaDocument::expand(SchemaConjunction &conjunction,
                            const SchemaPlace &place,
                            std::vector<const SchemaJson *> path) const {
  if (place.schema->is_boolean()) {
    if (place.is_false())
      conjunction.impossible = place.pointer;
    return;
  }
  if (!place.schema->is_object())
    place.fail("is not a schema: an object, true or false");
  if (std::find(path.begin(), path.end(), place.schema) != path.end())
    place.fail("refers to itself, with no value between");
  if (path.size() > deepest_path)
    place.fail("schemas refer to each other more than " +
               std::to_string(deepest_path) + " deep, with no value between");
  for (const SchemaPlace &base : conjunction.bases)
    if (base.schema == place.schema)
      return;
  if (conjunction.bases.size() == most_bases)
    place.fail("a value has to keep to more than " +
               std::to_string(most_bases) + " schemas at once");
  for (const std::string_view keyword : refused)
    if (place.schema->contains(keyword))
      place.fail_at(std::string(keyword), "is not supported");
  conjunction.bases.push_back(place);
  path.push_back(place.schema);
  if (place.find("$ref"))
    expand(conjunction, resolve(place), path);
  const auto alternatives = [&](const char *keyword) -> SchemaPlaces {
    const SchemaJson *list = place.find(keyword);
    if (!list)
      return {};
    if (!list->is_array() || list->empty())
      place.fail_at(keyword, "is not a list of schemas");
    SchemaPlaces places;
    for (size_t at = 0; at < list->size(); ++at)
      places.push_back(place.at(keyword).at(std::to_string(at), (*list)[at]));
    return places;
  };
  for (const SchemaPlace &part : alternatives("allOf"))
    expand(conjunction, part, path);
  for (const char *keyword : {"anyOf", "oneOf"})
    if (SchemaPlaces places = alternatives(keyword); !places.empty())
      conjunction.groups.push_back(
          {std::move(places), path, place.pointer + "/" + keyword});
}

SchemaConjunction SchemaDocument::expand(const SchemaPlaces &places) const {
  SchemaConjunction conjunction;
  for (const SchemaPlace &place : places)
    expand(conjunction, place, {});
  conjunction.own = places.size() == 1 ? 1 : 0;
  return conjunction;
}

SchemaConjunction SchemaDocument::choose(const SchemaConjunction &conjunction,
                                         const SchemaPlace &alternative) const {
  SchemaConjunction chosen = conjunction;
  chosen.groups.erase(chosen.groups.begin());
  expand(chosen, alternative, conjunction.groups.front().path);
  return chosen;
}

} // namespace baton
