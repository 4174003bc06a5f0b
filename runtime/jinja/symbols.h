//===- symbols.h - the variables of one scope -----------------------------===//

#ifndef BATON_RUNTIME_JINJA_SYMBOLS_H
#define BATON_RUNTIME_JINJA_SYMBOLS_H

#include "runtime/jinja/syntax.h"

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace baton::jinja {

/// The variables of one function, of all scopes in it.
class FunctionSlots {
public:
  explicit FunctionSlots(FunctionSlots *enclosing = nullptr)
      : enclosing(enclosing) {}

  /// Scopes side by side share the variables of one name.
  uint32_t slot_of(uint32_t level, const std::string &name) {
    return slots
        .emplace(std::pair(level, name), static_cast<uint32_t>(slots.size()))
        .first->second;
  }
  uint32_t count() const { return static_cast<uint32_t>(slots.size()); }

  FunctionSlots *const enclosing;

private:
  std::map<std::pair<uint32_t, std::string>, uint32_t> slots;
};

class Symbols {
public:
  /// Those of a branch, which add to those before it.
  struct Over {
    Symbols &before;
  };

  explicit Symbols(FunctionSlots &slots, Symbols *parent = nullptr)
      : slots(&slots), parent(parent), before(nullptr),
        level(parent ? parent->level + 1 : 0) {}
  explicit Symbols(Over over)
      : slots(over.before.slots), parent(over.before.parent),
        before(&over.before), level(over.before.level) {}

  FunctionSlots &function() const { return *slots; }

  uint32_t declare_parameter(const std::string &name);
  void store(const std::string &name);
  void load(const std::string &name);

  /// Takes in branches of which one is taken. There are `count`; those that are
  /// not given add nothing.
  void merge(std::initializer_list<const Symbols *> branches, size_t count);

  /// As seen from this scope's function. A name that nobody has entered yet is
  /// one of the context.
  Reference reference(const std::string &name);

  /// By slot; nothing for parameters, which whoever calls fills.
  const std::map<uint32_t, std::optional<Load>> &all_loads() const {
    return loads;
  }

private:
  struct Found {
    FunctionSlots *function;
    uint32_t slot;
  };
  /// In this scope, or in those around it, too.
  std::optional<Found> find_here(const std::string &name) const;
  std::optional<Found> find(const std::string &name) const;
  bool stores(const std::string &name) const;
  uint32_t define(const std::string &name, std::optional<Load> load);
  Reference seen(const Found &found) const;
  /// A copy of the variable outside, or else `otherwise`.
  Load load_of(const std::string &name, Load::Kind otherwise) const;

  FunctionSlots *slots;
  Symbols *parent, *before;
  uint32_t level;
  std::map<std::string, uint32_t> references;
  std::map<uint32_t, std::optional<Load>> loads;
  std::set<std::string> stored;
};

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_SYMBOLS_H
