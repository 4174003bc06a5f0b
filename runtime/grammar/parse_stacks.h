//===- parse_stacks.h - where a text may be in a grammar -----------------===//
//
// All the stacks of a pushdown automaton that a text may have led to, as a
// graph with shared tails (Tomita's graph-structured stack): a node stands for
// the calls of a rule at one place of the text, and knows all states to return
// to. Stacks that are equal are one, so that ambiguity costs no more than the
// square of the text, and left recursion is a loop in the graph. A rule called
// as the last thing that its caller does takes the caller's node, so that
// lists written with recursion on the right take no depth.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_PARSE_STACKS_H
#define BATON_RUNTIME_GRAMMAR_PARSE_STACKS_H

#include "runtime/grammar/pushdown_automaton.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace baton {

class ParseStacks {
public:
  struct Item {
    uint32_t state;
    /// Where to return to. Node 0 returns nowhere.
    uint32_t node;
  };
  /// Items in a row; valid until they are cut off.
  struct Set {
    size_t first = 0, count = 0;
  };
  /// What is there, to cut off what comes later.
  struct Mark {
    size_t items, nodes, returns;
  };

  explicit ParseStacks(const PushdownAutomaton &automaton);

  /// Forgets all, and begins with one item above node 0: with what it calls and
  /// returns to, or as it is.
  Set restart(uint32_t state, bool closed);

  /// The set behind a byte; empty where the text cannot go on so. Throws Error
  /// where a grammar is so ambiguous that too many stacks are left.
  Set step(Set from, uint8_t byte);
  /// The set behind a special token.
  Set step_token(Set from, int32_t token);
  /// Where a node returns to.
  Set returns_of(uint32_t node);

  /// Whether a text that led to the set can end there.
  bool may_end(Set set) const;
  /// Whether it can go on.
  bool goes_on(Set set) const;

  std::span<const Item> items_of(Set set) const {
    return {items.data() + set.first, set.count};
  }
  /// Equal for sets that the same texts can follow.
  uint64_t hash_of(Set set) const;

  Mark mark() const { return {items.size(), nodes.size(), returns.size()}; }
  void cut(const Mark &mark);
  /// Keeps the set, which moves to the front, and what it needs.
  Set keep_only(Set set);

private:
  struct Node {
    uint32_t first_return;
    /// Of all that it returns to.
    uint64_t hash;
  };
  struct Return {
    uint32_t state, node, next;
  };
  /// Of a place in the text: the node of each rule that is called there.
  struct Called {
    uint64_t place = 0;
    uint32_t node = 0;
  };
  struct Slot {
    uint64_t place = 0;
    uint32_t item = 0;
  };

  void add(Item item);
  void close();
  void call(const PushdownAutomaton::Call &call, Item item);
  Set finish();
  void begin();
  void insert_slot(size_t item);
  bool in_slots(Item item) const;
  void collect_garbage(Set set);
  uint64_t kernel_hash() const;

  const PushdownAutomaton &automaton;
  std::vector<Item> items;
  std::vector<Node> nodes;
  std::vector<Return> returns;
  /// Of the set in the making: its first item, and a number of its own.
  size_t first = 0;
  uint64_t place = 0;
  uint64_t hash = 0;
  std::vector<Called> called;
  /// A hash table of items, once there are many.
  std::vector<Slot> slots;
  size_t nodes_to_collect = 4096;
};

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_PARSE_STACKS_H
