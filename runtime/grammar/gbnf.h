//===- gbnf.h - llama.cpp's notation of grammars -------------------------===//
//
//   root ::= "[" (item ("," item)*)? "]"   # from root to the end of the line
//   item ::= [a-z0-9]{1,8} | "\x41" | . | <|tool|>
//
// Literals, classes [a-z] and [^a-z], `.` for any character, groups, |, the
// counts ? * + {m} {m,} {m,n}, rules, special tokens <name> and <[number]>,
// comments. A line's end ends a rule, but not in parentheses or behind ::= or
// |. Escapes are \n \r \t \\ \" \[ \] \- \^ \xHH \uHHHH \UHHHHHHHH, each a
// character. Unlike llama.cpp's, rules may be left-recursive and counts of any
// size; "all but this token", !<name>, is refused.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_GBNF_H
#define BATON_RUNTIME_GRAMMAR_GBNF_H

#include "runtime/grammar/grammar_node.h"

#include <string_view>

namespace baton {

/// Throws Error that begins with "grammar:LINE:COLUMN: ", columns in bytes.
GrammarPart read_gbnf(std::string_view text);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_GBNF_H
