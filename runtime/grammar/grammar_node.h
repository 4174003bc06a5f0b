//===- grammar_node.h - what grammars are made of ------------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_GRAMMAR_NODE_H
#define BATON_RUNTIME_GRAMMAR_GRAMMAR_NODE_H

#include "runtime/grammar/spelling.h"
#include "runtime/grammar/text_automaton.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace baton {

struct GrammarNode;
using GrammarPart = std::shared_ptr<const GrammarNode>;

struct GrammarNode {
  struct Bytes {
    std::string bytes;
  };
  /// One of these characters.
  struct Characters {
    CharacterSet set;
    Spelling spelling = Spelling::Raw;
  };
  /// One of these texts.
  struct Text {
    TextAutomaton automaton;
    Spelling spelling = Spelling::Raw;
  };
  /// A special token, by its spelling or, where that is empty, by its number.
  struct Token {
    std::string spelling;
    int32_t id = -1;
  };
  struct Sequence {
    std::vector<GrammarPart> parts;
  };
  struct Choice {
    std::vector<GrammarPart> alternatives;
  };
  struct Repeat {
    GrammarPart part;
    uint32_t least, most;
  };
  /// Ways from state 0 to state `end`; an edge without a part takes nothing.
  struct Network {
    struct Edge {
      uint32_t from, to;
      GrammarPart part;
    };
    uint32_t states, end;
    std::vector<Edge> edges;
  };
  /// A rule of the innermost Rules around.
  struct Reference {
    size_t rule;
  };
  struct Rules {
    std::vector<GrammarPart> bodies;
    size_t root;
    /// Rules that many others use and whose masks are worth sharing: they are
    /// called instead of copied into each user.
    std::vector<bool> shared = {};
  };

  std::variant<Bytes, Characters, Text, Token, Sequence, Choice, Repeat,
               Network, Reference, Rules>
      content;
};

template <typename Content> GrammarPart grammar_part(Content content) {
  return std::make_shared<const GrammarNode>(GrammarNode{std::move(content)});
}

inline GrammarPart bytes_part(std::string bytes) {
  return grammar_part(GrammarNode::Bytes{std::move(bytes)});
}

inline GrammarPart sequence_part(std::vector<GrammarPart> parts) {
  return grammar_part(GrammarNode::Sequence{std::move(parts)});
}

inline GrammarPart choice_part(std::vector<GrammarPart> alternatives) {
  return grammar_part(GrammarNode::Choice{std::move(alternatives)});
}

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_GRAMMAR_NODE_H
