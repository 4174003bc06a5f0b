//===- schema_shape.h - what schemas say about one value -----------------===//

#ifndef BATON_RUNTIME_GRAMMAR_SCHEMA_SHAPE_H
#define BATON_RUNTIME_GRAMMAR_SCHEMA_SHAPE_H

#include "runtime/grammar/number_language.h"
#include "runtime/grammar/schema_conjunction.h"
#include "runtime/grammar/text_automaton.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton {

/// The keywords of a conjunction's bases, taken together.
class SchemaShape {
public:
  enum Type : uint8_t {
    Null = 1,
    Boolean = 2,
    /// Numbers that are whole, and others.
    Integer = 4,
    Fraction = 8,
    String = 16,
    Array = 32,
    Object = 64,
    AllTypes = 127
  };

  SchemaShape(const SchemaConjunction &conjunction, bool strict);

  bool allows(Type type) const { return (types & type) != 0; }
  /// The members of enum and const, if there are any, that the other keywords
  /// of scalars allow.
  const std::optional<std::vector<const SchemaJson *>> &values() const {
    return listed;
  }
  bool allows_scalar(const SchemaJson &value) const;

  const NumberRange &numbers() const { return range; }
  bool numbers_are_limited() const { return range_given; }

  uint32_t least_length() const { return lengths.least; }
  uint32_t most_length() const { return lengths.most; }
  /// Patterns and formats that strings match.
  const std::vector<std::string> &patterns() const { return string_patterns; }
  /// Strings that are allowed; nothing, if all are. Enums do not count.
  std::optional<TextAutomaton> strings() const;

  const SchemaPlaces &bases() const { return places; }
  bool strict_types() const { return strict; }
  /// unevaluatedProperties: false.
  bool closed() const { return closes; }

  /// Counts that an upper bound above stands for no bound: no text is so long.
  static constexpr uint32_t countless = 1u << 20;

  struct Counts {
    uint32_t least = 0, most = unbounded;
    void narrow(const SchemaPlace &place, const char *least_keyword,
                const char *most_keyword);
  };
  Counts items, properties;

private:
  void read(const SchemaPlace &place);
  void read_type(const SchemaPlace &place);
  void read_values(const SchemaPlace &place);
  void read_numbers(const SchemaPlace &place);
  void read_strings(const SchemaPlace &place);
  void imply_type(const SchemaPlace &place);

  SchemaPlaces places;
  bool strict;
  uint8_t types = AllTypes;
  /// What keywords without a type imply.
  uint8_t implied = 0;
  bool type_given = false;
  std::optional<std::vector<const SchemaJson *>> listed;
  NumberRange range;
  bool range_given = false;
  Counts lengths;
  std::vector<std::string> string_patterns;
  bool closes = false;
};

/// The type of a value; whole numbers are integers, also 1.0.
SchemaShape::Type type_of(const SchemaJson &value);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_SCHEMA_SHAPE_H
