//===- schema_object.h - names and values of a schema's objects ----------===//

#ifndef BATON_RUNTIME_GRAMMAR_SCHEMA_OBJECT_H
#define BATON_RUNTIME_GRAMMAR_SCHEMA_OBJECT_H

#include "runtime/grammar/schema_conjunction.h"
#include "runtime/grammar/schema_shape.h"
#include "runtime/grammar/text_automaton.h"

#include <optional>
#include <string>
#include <vector>

namespace baton {

/// What properties an object of a shape may have.
struct SchemaObject {
  struct Property {
    std::string name;
    bool required;
    SchemaPlaces schemas;
  };
  /// Properties that are not listed, by what their names are.
  struct Others {
    /// Nothing, if they may be any.
    std::optional<TextAutomaton> names;
    SchemaPlaces schemas;
  };
  std::vector<Property> properties;
  std::vector<Others> others;
};

/// Throws Error at keywords that are malformed.
SchemaObject object_of(const SchemaShape &shape,
                       const SchemaDocument &document);

/// Strings that keep to schemas, or nothing if all do. `place` is what an Error
/// names where that cannot be told.
std::optional<TextAutomaton> strings_of(const SchemaPlaces &schemas,
                                        const SchemaDocument &document,
                                        bool strict, const SchemaPlace &place,
                                        const char *keyword);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_SCHEMA_OBJECT_H
