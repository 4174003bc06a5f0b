//===- text_automaton.cpp - regular languages of characters --------------===//

#include "runtime/grammar/text_automaton.h"

#include "runtime/error.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace baton {

namespace {

using State = TextAutomaton::State;
using Transition = TextAutomaton::Transition;

/// Of states that may be in at once, for each that is made of them; above, a
/// pattern counts as too large, as it takes as long.
constexpr size_t visits_per_state = 1000;

constexpr uint32_t no_state = std::numeric_limits<uint32_t>::max();

void check_count(size_t states, size_t most = TextAutomaton::most_states) {
  if (states > most)
    throw Error("a pattern, with the lengths and names beside it, needs more "
                "than " +
                std::to_string(most) +
                " states: make it simpler, or its counts smaller");
}

/// Appends, or widens the last one of the same target.
void append_transition(std::vector<Transition> &transitions,
                       Transition transition) {
  if (!transitions.empty() && transitions.back().target == transition.target &&
      transitions.back().range.last + 1 == transition.range.first)
    transitions.back().range.last = transition.range.last;
  else
    transitions.push_back(transition);
}

/// States in `states` that reach an accepting one.
std::vector<bool> find_useful(const std::vector<State> &states) {
  std::vector<std::vector<uint32_t>> sources(states.size());
  std::vector<uint32_t> queue;
  std::vector<bool> useful(states.size());
  for (uint32_t from = 0; from < states.size(); ++from) {
    for (const Transition &transition : states[from].transitions)
      sources[transition.target].push_back(from);
    if (states[from].accepting) {
      useful[from] = true;
      queue.push_back(from);
    }
  }
  while (!queue.empty()) {
    const uint32_t state = queue.back();
    queue.pop_back();
    for (const uint32_t source : sources[state])
      if (!useful[source]) {
        useful[source] = true;
        queue.push_back(source);
      }
  }
  return useful;
}

/// Pairs of states of two automata; `right` is no_state once the second one has
/// no state.
TextAutomaton
product(const TextAutomaton &left, const TextAutomaton &right, bool keeps_lost,
        const std::function<bool(bool left, bool right)> &accepting) {
  if (left.empty() || (right.empty() && !keeps_lost))
    return {};
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  const auto number = [&](uint32_t one, uint32_t other) {
    const auto [entry, added] =
        numbers.try_emplace({one, other}, static_cast<uint32_t>(pairs.size()));
    if (added) {
      pairs.emplace_back(one, other);
      check_count(pairs.size());
    }
    return entry->second;
  };
  number(0, right.empty() ? no_state : 0);
  std::vector<State> states;
  static const std::vector<Transition> none;
  for (size_t at = 0; at < pairs.size(); ++at) {
    const auto [one, other] = pairs[at];
    State state;
    state.accepting =
        accepting(left.states()[one].accepting,
                  other != no_state && right.states()[other].accepting);
    const auto &others =
        other == no_state ? none : right.states()[other].transitions;
    size_t next = 0;
    for (const Transition &transition : left.states()[one].transitions) {
      uint32_t first = transition.range.first;
      const uint32_t last = transition.range.last;
      while (first <= last) {
        while (next < others.size() && others[next].range.last < first)
          ++next;
        uint32_t until = last, target = no_state;
        if (next < others.size() && others[next].range.first <= first) {
          until = std::min(last, others[next].range.last);
          target = others[next].target;
        } else if (next < others.size()) {
          until = std::min(last, others[next].range.first - 1);
        }
        if (target != no_state || keeps_lost)
          append_transition(
              state.transitions,
              {{first, until}, number(transition.target, target)});
        first = until + 1;
      }
    }
    states.push_back(std::move(state));
  }
  return TextAutomaton(std::move(states));
}

/// The states that a marker's prefixes are (Knuth, Morris, Pratt); the last
/// one, of the whole marker, goes no_state.
std::vector<State> prefixes_of(std::string_view marker) {
  const std::vector<uint32_t> characters = characters_of(marker, "a marker");
  if (characters.empty())
    throw Error("a marker is empty: give the text that ends the part");
  const auto count = static_cast<uint32_t>(characters.size());
  std::vector<State> states(count + 1);
  // Where the marker without its first character leads: what a state does with
  // characters that do not go on.
  uint32_t shorter = 0;
  std::vector<std::map<uint32_t, uint32_t>> next(count);
  for (uint32_t at = 0; at < count; ++at) {
    if (at > 0)
      next[at] = next[shorter];
    const auto found = next[shorter].find(characters[at]);
    const uint32_t following =
        at == 0 || found == next[shorter].end() ? 0 : found->second;
    next[at][characters[at]] = at + 1;
    shorter = following;
  }
  for (uint32_t at = 0; at < count; ++at) {
    uint32_t from = 0;
    for (const auto &[character, target] : next[at]) {
      if (character > from)
        append_transition(states[at].transitions, {{from, character - 1}, 0});
      append_transition(states[at].transitions,
                        {{character, character}, target});
      from = character + 1;
    }
    if (from <= last_character)
      append_transition(states[at].transitions, {{from, last_character}, 0});
  }
  return states;
}

} // namespace

TextAutomaton::TextAutomaton(std::vector<State> states) {
  if (states.empty())
    return;
  const std::vector<bool> useful = find_useful(states);
  if (!useful[0])
    return;
  std::vector<uint32_t> numbers(states.size(), no_state), order{0};
  numbers[0] = 0;
  for (size_t at = 0; at < order.size(); ++at) {
    State state = std::move(states[order[at]]);
    std::erase_if(state.transitions, [&](const Transition &transition) {
      return !useful[transition.target];
    });
    for (Transition &transition : state.transitions) {
      uint32_t &number = numbers[transition.target];
      if (number == no_state) {
        number = static_cast<uint32_t>(order.size());
        order.push_back(transition.target);
      }
      transition.target = number;
    }
    states_.push_back(std::move(state));
  }
}

TextAutomaton TextAutomaton::of_length(uint32_t least, uint32_t most) {
  if (least > most)
    return {};
  const uint32_t counted = most == unbounded ? least : most;
  check_count(counted);
  std::vector<State> states(counted + 1);
  for (uint32_t at = 0; at <= counted; ++at) {
    states[at].accepting = at >= least;
    if (at < counted || most == unbounded)
      states[at].transitions = {
          {{0, last_character}, at < counted ? at + 1 : at}};
  }
  return TextAutomaton(std::move(states));
}

TextAutomaton TextAutomaton::of_texts(std::span<const std::string> texts) {
  TextAutomatonBuilder builder;
  const uint32_t start = builder.add_state(), end = builder.add_state();
  for (const std::string &text : texts) {
    uint32_t from = start;
    for (const uint32_t character : characters_of(text, "a text")) {
      const uint32_t to = builder.add_state();
      builder.add_edge(from, to, CharacterSet::of(character));
      from = to;
    }
    builder.add_step(from, end);
  }
  return builder.build(start, end);
}

TextAutomaton TextAutomaton::until(std::string_view marker) {
  std::vector<State> states = prefixes_of(marker);
  states.back().accepting = true;
  return TextAutomaton(std::move(states));
}

TextAutomaton TextAutomaton::without(std::string_view marker) {
  std::vector<State> states = prefixes_of(marker);
  for (State &state : states)
    state.accepting = &state != &states.back();
  return TextAutomaton(std::move(states));
}

TextAutomaton TextAutomaton::intersected(const TextAutomaton &other) const {
  return product(*this, other, /*keeps_lost=*/false,
                 [](bool left, bool right) { return left && right; });
}

TextAutomaton TextAutomaton::less(const TextAutomaton &other) const {
  return product(*this, other, /*keeps_lost=*/true,
                 [](bool left, bool right) { return left && !right; });
}

bool TextAutomaton::accepts(std::span<const uint32_t> characters) const {
  if (empty())
    return false;
  uint32_t state = 0;
  for (const uint32_t character : characters) {
    const auto &transitions = states_[state].transitions;
    const auto found =
        std::find_if(transitions.begin(), transitions.end(),
                     [&](const Transition &transition) {
                       return transition.range.first <= character &&
                              character <= transition.range.last;
                     });
    if (found == transitions.end())
      return false;
    state = found->target;
  }
  return states_[state].accepting;
}

uint32_t TextAutomatonBuilder::add_state() {
  // Before they are made deterministic there may be more: one per repetition.
  if (states.size() > 20 * TextAutomaton::most_states)
    check_count(states.size());
  states.emplace_back();
  return static_cast<uint32_t>(states.size() - 1);
}

void TextAutomatonBuilder::add_edge(uint32_t from, uint32_t to,
                                    const CharacterSet &characters) {
  for (const CharacterRange range : characters.ranges())
    states[from].edges.push_back({range, to});
}

void TextAutomatonBuilder::add_step(uint32_t from, uint32_t to, Pass pass) {
  states[from].steps.push_back({to, pass});
}

/// Makes an automaton deterministic. An item is a state's number times two, and
/// one where the end of the text has been asserted.
class TextSubsets {
public:
  TextSubsets(const TextAutomatonBuilder &builder, uint32_t end, size_t most)
      : states(builder.states), end(end), most(most),
        mark(2 * builder.states.size()) {}

  TextAutomaton run(uint32_t start) {
    number({start * 2}, /*at_start=*/true);
    std::vector<State> result;
    for (size_t at = 0; at < sets.size(); ++at)
      result.push_back(make_state(*sets[at]));
    return TextAutomaton(std::move(result));
  }

private:
  using Set = std::vector<uint32_t>;
  using Edge = TextAutomatonBuilder::Edge;

  struct Hash {
    size_t operator()(const Set &set) const {
      uint64_t hash = set.size();
      for (const uint32_t item : set)
        hash = (hash ^ item) * 0x9E3779B97F4A7C15u;
      return hash ^ hash >> 32;
    }
  };

  /// The items that are reached without a character, as far as they matter:
  /// those with edges, and the end.
  Set closure(Set queue, bool at_start) {
    ++generation;
    Set result;
    for (const uint32_t item : queue)
      mark[item] = generation;
    while (!queue.empty()) {
      const uint32_t item = queue.back();
      queue.pop_back();
      check_count(++visits / visits_per_state, most);
      const auto &state = states[item / 2];
      if (item / 2 == end || (!state.edges.empty() && item % 2 == 0))
        result.push_back(item);
      for (const auto &step : state.steps) {
        if (step.pass == TextAutomatonBuilder::Pass::AtStart && !at_start)
          continue;
        const bool ended =
            step.pass == TextAutomatonBuilder::Pass::AtEnd || item % 2 == 1;
        const uint32_t next = step.to * 2 + (ended ? 1 : 0);
        if (mark[next] == generation)
          continue;
        mark[next] = generation;
        queue.push_back(next);
      }
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  uint32_t number(Set items, bool at_start) {
    const auto [entry, added] =
        numbers.try_emplace(closure(std::move(items), at_start),
                            static_cast<uint32_t>(sets.size()));
    if (added) {
      sets.push_back(&entry->first);
      check_count(sets.size(), most);
    }
    return entry->second;
  }

  State make_state(const Set &set) {
    State state;
    std::vector<Edge> edges;
    std::vector<uint32_t> bounds;
    for (const uint32_t item : set) {
      state.accepting |= item / 2 == end;
      if (item % 2)
        continue;
      for (const Edge &edge : states[item / 2].edges) {
        edges.push_back(edge);
        bounds.push_back(edge.range.first);
        bounds.push_back(edge.range.last + 1);
      }
    }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    std::sort(edges.begin(), edges.end(), [](const Edge &one, const Edge &two) {
      return one.range.first < two.range.first;
    });
    size_t begun = 0;
    std::vector<Edge> open;
    for (size_t bound = 0; bound + 1 < bounds.size(); ++bound) {
      const CharacterRange range{bounds[bound], bounds[bound + 1] - 1};
      std::erase_if(open, [&](const Edge &edge) {
        return edge.range.last < range.first;
      });
      for (; begun < edges.size() && edges[begun].range.first == range.first;
           ++begun)
        open.push_back(edges[begun]);
      if (open.empty())
        continue;
      Set targets;
      for (const Edge &edge : open)
        targets.push_back(edge.to * 2);
      std::sort(targets.begin(), targets.end());
      targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
      append_transition(state.transitions, {range, number(std::move(targets),
                                                          /*at_start=*/false)});
    }
    return state;
  }

  const std::vector<TextAutomatonBuilder::State> &states;
  const uint32_t end;
  const size_t most;
  std::vector<uint32_t> mark;
  uint32_t generation = 0;
  std::unordered_map<Set, uint32_t, Hash> numbers;
  std::vector<const Set *> sets;
  size_t visits = 0;
};

TextAutomaton TextAutomatonBuilder::build(uint32_t start, uint32_t end,
                                          size_t most_states) const {
  return TextSubsets(*this, end, most_states).run(start);
}

} // namespace baton
