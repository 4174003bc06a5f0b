//===- json_schema.h - JSON Schema as a grammar --------------------------===//
//
// Draft 2020-12 as servers of models take it. What is written keeps to the
// schema; not all that keeps to the schema can be written:
//
// - Properties come in the schema's order (then those that are only required),
//   optional ones may be left out, and what else is allowed comes last.
// - Numbers have the digits that json_text.h says, and no exponent where they
//   have bounds; integers are of digits only; whitespace is as
//   JsonSchemaOptions say; the members of enum and the names of properties have
//   their shortest spelling.
// - With JsonSchemaOptions::strict objects and arrays are closed unless the
//   schema opens them.
//
// Keywords: type, enum, const, properties, required, additionalProperties,
// patternProperties (at most 4 for an object), propertyNames, minProperties and
// maxProperties, items (and items with additionalItems of older drafts),
// prefixItems, minItems, maxItems, minLength, maxLength, pattern, format
// (string_formats.h; others are ignored), minimum, maximum, exclusiveMinimum,
// exclusiveMaximum, multipleOf (whole numbers, and powers of ten down), anyOf,
// oneOf, allOf, $ref within the schema ("#" and JSON pointers) with $defs or
// anything else, also recursive; keywords beside each other are all kept to.
// unevaluatedProperties: false closes the object of the schema that it is in.
// Annotations and keywords that no draft knows are ignored, assertions not
// named here refused. Where names are not listed, minProperties counts a name
// twice that is written twice.
//
// oneOf is read as anyOf, as vLLM's default engine does: alternatives that
// overlap are not kept apart.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_JSON_SCHEMA_H
#define BATON_RUNTIME_GRAMMAR_JSON_SCHEMA_H

#include "runtime/grammar/grammar_node.h"
#include "runtime/grammar/json_whitespace.h"

#include <nlohmann/json_fwd.hpp>

namespace baton {

struct JsonSchemaOptions {
  JsonWhitespace whitespace = JsonWhitespace::Single;
  /// Objects that list properties, and arrays that list items, have no others
  /// unless the schema says so; a schema without a type, but with keywords of
  /// one type, describes values of this type only. Otherwise both are as the
  /// standard says.
  bool strict = true;
};

/// Throws Error that begins with "schema: " and the JSON pointer of the keyword
/// that is malformed, not supported, or contradicts others so that no value is
/// left.
GrammarPart read_json_schema(const nlohmann::ordered_json &schema,
                             const JsonSchemaOptions &options);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_JSON_SCHEMA_H
