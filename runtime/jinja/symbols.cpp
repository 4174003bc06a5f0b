//===- symbols.cpp - the variables of one scope ---------------------------===//

#include "runtime/jinja/symbols.h"

namespace baton::jinja {

uint32_t Symbols::declare_parameter(const std::string &name) {
  stored.insert(name);
  return define(name, std::nullopt);
}

void Symbols::store(const std::string &name) {
  stored.insert(name);
  if (!find_here(name))
    define(name, load_of(name, Load::Clear));
}

void Symbols::load(const std::string &name) {
  if (!find(name))
    define(name, Load{Load::Resolve, 0, name, {}});
}

void Symbols::merge(std::initializer_list<const Symbols *> branches,
                    size_t count) {
  std::map<std::string, size_t> stored_by;
  for (const Symbols *branch : branches)
    for (const std::string &name : branch->stored)
      if (!stores(name))
        ++stored_by[name];
  for (const Symbols *branch : branches) {
    for (const auto &[name, slot] : branch->references)
      references[name] = slot;
    for (const auto &[slot, load] : branch->loads)
      loads[slot] = load;
    stored.insert(branch->stored.begin(), branch->stored.end());
  }
  for (const auto &[name, times] : stored_by)
    if (times < count) {
      // Where no branch that stores it is taken, the name means what it would
      // mean without them.
      const uint32_t slot = find(name)->slot;
      loads[slot] = load_of(name, Load::Resolve);
      loads[slot]->slot = slot;
    }
}

Reference Symbols::reference(const std::string &name) {
  auto found = find(name);
  if (!found) {
    load(name);
    found = find(name);
  }
  return seen(*found);
}

std::optional<Symbols::Found>
Symbols::find_here(const std::string &name) const {
  for (const Symbols *symbols = this; symbols; symbols = symbols->before)
    if (const auto found = symbols->references.find(name);
        found != symbols->references.end())
      return Found{slots, found->second};
  return std::nullopt;
}

std::optional<Symbols::Found> Symbols::find(const std::string &name) const {
  for (const Symbols *symbols = this; symbols; symbols = symbols->parent)
    if (const auto found = symbols->find_here(name))
      return found;
  return std::nullopt;
}

bool Symbols::stores(const std::string &name) const {
  for (const Symbols *symbols = this; symbols; symbols = symbols->before)
    if (symbols->stored.contains(name))
      return true;
  return false;
}

uint32_t Symbols::define(const std::string &name, std::optional<Load> load) {
  const uint32_t slot = slots->slot_of(level, name);
  if (load)
    load->slot = slot;
  references[name] = slot;
  loads[slot] = std::move(load);
  return slot;
}

Reference Symbols::seen(const Found &found) const {
  Reference reference{0, found.slot};
  for (const FunctionSlots *function = slots; function != found.function;
       function = function->enclosing)
    ++reference.outward;
  return reference;
}

Load Symbols::load_of(const std::string &name, Load::Kind otherwise) const {
  const auto outside = parent ? parent->find(name) : std::nullopt;
  if (outside)
    return Load{Load::Copy, 0, name, seen(*outside)};
  return Load{otherwise, 0, name, {}};
}

} // namespace baton::jinja
