//===- automaton_compiler.h - grammars to pushdown automata --------------===//

#ifndef BATON_RUNTIME_GRAMMAR_AUTOMATON_COMPILER_H
#define BATON_RUNTIME_GRAMMAR_AUTOMATON_COMPILER_H

#include "runtime/grammar/grammar_node.h"
#include "runtime/grammar/pushdown_automaton.h"

#include <bitset>
#include <cstdint>
#include <functional>
#include <string>

namespace baton {

/// What a vocabulary has.
struct AutomatonAlphabet {
  /// Bytes that occur in tokens.
  std::bitset<256> bytes;
  /// The number of a special token, by its spelling; throws Error.
  std::function<int32_t(const std::string &spelling)> token_id;
  /// Numbers of tokens are below.
  int32_t tokens;
};

/// Throws Error where the grammar is too large, no text keeps to it, or none
/// that the alphabet can spell.
PushdownAutomaton compile_grammar(const GrammarPart &grammar,
                                  const AutomatonAlphabet &alphabet);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_AUTOMATON_COMPILER_H
