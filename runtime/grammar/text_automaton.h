//===- text_automaton.h - regular languages of characters ----------------===//
//
// Deterministic finite automata over Unicode characters: what strings of a
// schema may be, where intersections and differences of languages are needed.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_TEXT_AUTOMATON_H
#define BATON_RUNTIME_GRAMMAR_TEXT_AUTOMATON_H

#include "runtime/grammar/character_set.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// More repetitions than any text has.
inline constexpr uint32_t unbounded = std::numeric_limits<uint32_t>::max();

/// State 0 begins. Every state can be reached and can still reach an accepting
/// one; the empty language has no states.
class TextAutomaton {
public:
  struct Transition {
    CharacterRange range;
    uint32_t target;
    bool operator==(const Transition &) const = default;
  };
  struct State {
    bool accepting = false;
    /// Sorted, of ranges that do not overlap.
    std::vector<Transition> transitions;
  };

  /// Of more states Error is thrown: they would take minutes and gigabytes.
  static constexpr size_t most_states = 20'000;

  TextAutomaton() = default;
  /// Of any deterministic states; those that no text needs are left out.
  explicit TextAutomaton(std::vector<State> states);

  /// Texts of `least` to `most` characters.
  static TextAutomaton of_length(uint32_t least, uint32_t most = unbounded);
  /// These texts and no others. Throws Error for ill-formed UTF-8.
  static TextAutomaton of_texts(std::span<const std::string> texts);
  /// The shortest texts that end with a marker: the marker occurs in them once,
  /// at the end. Throws Error for an empty or ill-formed marker.
  static TextAutomaton until(std::string_view marker);
  /// Texts in which the marker does not occur.
  static TextAutomaton without(std::string_view marker);

  TextAutomaton intersected(const TextAutomaton &other) const;
  /// What is not in the other.
  TextAutomaton less(const TextAutomaton &other) const;

  bool empty() const { return states_.empty(); }
  const std::vector<State> &states() const { return states_; }
  bool accepts(std::span<const uint32_t> characters) const;

private:
  std::vector<State> states_;
};

/// An automaton that may be in several states at once, to be made
/// deterministic. Assertions are edges that take no character.
class TextAutomatonBuilder {
public:
  enum class Pass : uint8_t { Always, AtStart, AtEnd };

  uint32_t add_state();
  void add_edge(uint32_t from, uint32_t to, const CharacterSet &characters);
  void add_step(uint32_t from, uint32_t to, Pass pass = Pass::Always);

  /// Texts that lead from `start` to `end`. Throws Error where that takes more
  /// states.
  TextAutomaton build(uint32_t start, uint32_t end,
                      size_t most_states = TextAutomaton::most_states) const;

private:
  friend class TextSubsets;

  struct Edge {
    CharacterRange range;
    uint32_t to;
  };
  struct Step {
    uint32_t to;
    Pass pass;
  };
  struct State {
    std::vector<Edge> edges;
    std::vector<Step> steps;
  };

  std::vector<State> states;
};

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_TEXT_AUTOMATON_H
