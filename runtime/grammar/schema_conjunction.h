//===- schema_conjunction.h - schemas that a value has to keep to --------===//

#ifndef BATON_RUNTIME_GRAMMAR_SCHEMA_CONJUNCTION_H
#define BATON_RUNTIME_GRAMMAR_SCHEMA_CONJUNCTION_H

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton {

using SchemaJson = nlohmann::ordered_json;

/// A schema, and where it is: "#/properties/name".
struct SchemaPlace {
  const SchemaJson *schema;
  std::string pointer;

  [[noreturn]] void fail(const std::string &what) const;
  [[noreturn]] void fail_at(const std::string &keyword,
                            const std::string &what) const;
  /// The value of a keyword, or nothing. The schema is an object.
  const SchemaJson *find(const char *keyword) const;
  /// The schema that a keyword's value is, or is in it by a name or a number.
  SchemaPlace at(const std::string &key) const;
  SchemaPlace at(const std::string &key, const SchemaJson &value) const;
  /// The value of a keyword that counts something.
  std::optional<uint32_t> count(const char *keyword) const;
  bool is_false() const { return schema->is_boolean() && !schema->get<bool>(); }
};

using SchemaPlaces = std::vector<SchemaPlace>;

/// All of `bases`, without their applicators, and one alternative of each of
/// the `groups`.
struct SchemaConjunction {
  struct Group {
    SchemaPlaces alternatives;
    /// What leads to the group without a value between, where a reference back
    /// would never end.
    std::vector<const SchemaJson *> path;
    std::string pointer;
  };
  SchemaPlaces bases;
  std::vector<Group> groups;
  /// The pointer of a schema that no value keeps to, if there is one.
  std::string impossible;
  /// Of the bases, how many are of the schema that began it.
  size_t own = 0;
};

/// Resolves references and applicators of a document.
class SchemaDocument {
public:
  explicit SchemaDocument(const SchemaJson &root) : root(root) {}

  SchemaPlace whole() const { return {&root, "#"}; }
  /// Adds a schema, with all that it refers to. Throws Error at keywords that
  /// are not supported.
  void expand(SchemaConjunction &conjunction, const SchemaPlace &place,
              std::vector<const SchemaJson *> path) const;
  SchemaConjunction expand(const SchemaPlaces &places) const;
  /// The conjunction with an alternative of its first group chosen.
  SchemaConjunction choose(const SchemaConjunction &conjunction,
                           const SchemaPlace &alternative) const;
  /// The schema itself, or what it refers to where it says nothing else.
  SchemaPlace without_references(SchemaPlace place) const;

private:
  SchemaPlace resolve(const SchemaPlace &place) const;

  const SchemaJson &root;
};

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_SCHEMA_CONJUNCTION_H
