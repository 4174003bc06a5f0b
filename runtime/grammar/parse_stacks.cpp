//===- parse_stacks.cpp - where a text may be in a grammar ---------------===//

#include "runtime/grammar/parse_stacks.h"

#include "runtime/error.h"

#include <algorithm>

namespace baton {

namespace {

constexpr uint32_t none = ~0u;
/// Sets that are searched one by one.
constexpr size_t small_set = 16;
/// Stacks of a set: a text of so many nested parts that may all end at once.
constexpr size_t most_items = 8192;
constexpr size_t slot_count = 4 * most_items;

/// A mixing function of 64 bits (Stafford's variant 13 of MurmurHash3's).
uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

uint64_t mix(uint64_t first, uint64_t second) {
  return mix(mix(first + 0x9E3779B97F4A7C15u) ^ second);
}

} // namespace

ParseStacks::ParseStacks(const PushdownAutomaton &automaton)
    : automaton(automaton), called(automaton.rules.size()) {}

ParseStacks::Set ParseStacks::restart(uint32_t state, bool closed) {
  items.clear();
  returns.clear();
  nodes.assign(1, {none, mix(1)});
  begin();
  items.push_back({state, 0});
  if (!closed)
    return {0, 1};
  close();
  return finish();
}

void ParseStacks::begin() {
  first = items.size();
  ++place;
}

bool ParseStacks::in_slots(Item item) const {
  for (size_t at = mix(item.state, item.node) % slot_count;
       slots[at].place == place; at = (at + 1) % slot_count) {
    const Item &other = items[slots[at].item];
    if (other.state == item.state && other.node == item.node)
      return true;
  }
  return false;
}

void ParseStacks::insert_slot(size_t item) {
  size_t at = mix(items[item].state, items[item].node) % slot_count;
  while (slots[at].place == place)
    at = (at + 1) % slot_count;
  slots[at] = {place, static_cast<uint32_t>(item)};
}

void ParseStacks::add(Item item) {
  const size_t count = items.size() - first;
  if (count <= small_set) {
    for (size_t at = first; at < items.size(); ++at)
      if (items[at].state == item.state && items[at].node == item.node)
        return;
  } else if (in_slots(item)) {
    return;
  }
  if (count == most_items)
    throw Error("the grammar is too ambiguous: a text can be read in more than "
                "8192 ways at one place");
  items.push_back(item);
  if (count + 1 <= small_set)
    return;
  slots.resize(slot_count);
  if (count == small_set)
    for (size_t at = first; at + 1 < items.size(); ++at)
      insert_slot(at);
  insert_slot(items.size() - 1);
}

uint64_t ParseStacks::kernel_hash() const {
  // Sums do not depend on the order.
  uint64_t sum = 0;
  for (size_t at = first; at < items.size(); ++at)
    sum += mix(nodes[items[at].node].hash, items[at].state);
  return mix(sum, items.size() - first);
}

void ParseStacks::call(const PushdownAutomaton::Call &call, Item item) {
  const PushdownAutomaton::Rule &rule = automaton.rules[call.rule];
  if (call.is_last)
    return add({rule.start, item.node});
  Called &there = called[call.rule];
  const bool is_new = there.place != place;
  if (is_new) {
    // What is called at one place is determined by the items there that a
    // letter led to, so that their hash and the rule's number will do.
    there = {place, static_cast<uint32_t>(nodes.size())};
    nodes.push_back({none, mix(hash, call.rule)});
  }
  Node &node = nodes[there.node];
  const uint32_t next = node.first_return;
  node.first_return = static_cast<uint32_t>(returns.size());
  returns.push_back({call.target, item.node, next});
  if (is_new)
    add({rule.start, there.node});
  // An empty text of the rule has returned before others of its callers are
  // known.
  if (rule.nullable)
    add({call.target, item.node});
}

void ParseStacks::close() {
  hash = kernel_hash();
  for (size_t at = first; at < items.size(); ++at) {
    const Item item = items[at];
    if (automaton.states[item.state].accepting)
      for (uint32_t way = nodes[item.node].first_return; way != none;
           way = returns[way].next)
        add({returns[way].state, returns[way].node});
    for (const PushdownAutomaton::Call &each : automaton.calls_of(item.state))
      call(each, item);
  }
}

ParseStacks::Set ParseStacks::finish() {
  const auto end = std::remove_if(
      items.begin() + static_cast<std::ptrdiff_t>(first), items.end(),
      [&](const Item &item) {
        const PushdownAutomaton::State &state = automaton.states[item.state];
        return state.bytes.count == 0 && state.tokens.count == 0 &&
               !(state.accepting && item.node == 0);
      });
  items.erase(end, items.end());
  return {first, items.size() - first};
}

ParseStacks::Set ParseStacks::step(Set from, uint8_t byte) {
  begin();
  if (from.count == 1) {
    const Item item = items[from.first];
    if (automaton.states[item.state].deterministic) {
      const uint32_t next = automaton.next(item.state, byte);
      if (next == PushdownAutomaton::nowhere)
        return {first, 0};
      items.push_back({next, item.node});
      const PushdownAutomaton::State &state = automaton.states[next];
      if (!state.accepting && state.calls.count == 0)
        return {first, 1};
      close();
      return finish();
    }
  }
  for (size_t at = from.first; at < from.first + from.count; ++at) {
    const Item item = items[at];
    if (automaton.states[item.state].deterministic) {
      const uint32_t next = automaton.next(item.state, byte);
      if (next != PushdownAutomaton::nowhere)
        add({next, item.node});
      continue;
    }
    for (const auto &edge : automaton.bytes_of(item.state))
      if (edge.first <= byte && byte <= edge.last)
        add({edge.target, item.node});
  }
  if (items.size() == first)
    return {first, 0};
  close();
  return finish();
}

ParseStacks::Set ParseStacks::step_token(Set from, int32_t token) {
  begin();
  for (size_t at = from.first; at < from.first + from.count; ++at) {
    const Item item = items[at];
    for (const auto &edge : automaton.tokens_of(item.state))
      if (edge.token == token)
        add({edge.target, item.node});
  }
  if (items.size() == first)
    return {first, 0};
  close();
  return finish();
}

ParseStacks::Set ParseStacks::returns_of(uint32_t node) {
  begin();
  for (uint32_t way = nodes[node].first_return; way != none;
       way = returns[way].next)
    add({returns[way].state, returns[way].node});
  close();
  return finish();
}

bool ParseStacks::may_end(Set set) const {
  const auto all = items_of(set);
  return std::any_of(all.begin(), all.end(), [&](const Item &item) {
    return item.node == 0 && automaton.states[item.state].accepting;
  });
}

bool ParseStacks::goes_on(Set set) const {
  const auto all = items_of(set);
  return std::any_of(all.begin(), all.end(), [&](const Item &item) {
    const PushdownAutomaton::State &state = automaton.states[item.state];
    return state.bytes.count + state.tokens.count > 0;
  });
}

uint64_t ParseStacks::hash_of(Set set) const {
  uint64_t sum = 0;
  for (const Item &item : items_of(set))
    sum += mix(nodes[item.node].hash, item.state);
  return mix(sum, set.count);
}

void ParseStacks::cut(const Mark &mark) {
  items.resize(mark.items);
  nodes.resize(mark.nodes);
  returns.resize(mark.returns);
}

ParseStacks::Set ParseStacks::keep_only(Set set) {
  items.erase(items.begin() +
                  static_cast<std::ptrdiff_t>(set.first + set.count),
              items.end());
  items.erase(items.begin(),
              items.begin() + static_cast<std::ptrdiff_t>(set.first));
  set.first = 0;
  if (nodes.size() > nodes_to_collect) {
    collect_garbage(set);
    nodes_to_collect = std::max<size_t>(4096, 2 * nodes.size());
  }
  return set;
}

void ParseStacks::collect_garbage(Set set) {
  std::vector<uint32_t> numbers(nodes.size(), none), queue;
  const auto reach = [&](uint32_t node) {
    if (numbers[node] == none) {
      numbers[node] = 0;
      queue.push_back(node);
    }
  };
  reach(0);
  for (const Item &item : items_of(set))
    reach(item.node);
  while (!queue.empty()) {
    const uint32_t node = queue.back();
    queue.pop_back();
    for (uint32_t way = nodes[node].first_return; way != none;
         way = returns[way].next)
      reach(returns[way].node);
  }
  uint32_t count = 0;
  for (uint32_t &number : numbers)
    if (number != none)
      number = count++;
  std::vector<Node> kept_nodes;
  std::vector<Return> kept_returns;
  for (size_t at = 0; at < nodes.size(); ++at) {
    if (numbers[at] == none)
      continue;
    kept_nodes.push_back({none, nodes[at].hash});
    for (uint32_t way = nodes[at].first_return; way != none;
         way = returns[way].next) {
      const auto number = static_cast<uint32_t>(kept_returns.size());
      kept_returns.push_back({returns[way].state, numbers[returns[way].node],
                              kept_nodes.back().first_return});
      kept_nodes.back().first_return = number;
    }
  }
  nodes = std::move(kept_nodes);
  returns = std::move(kept_returns);
  for (Item &item : items)
    item.node = numbers[item.node];
}

} // namespace baton
