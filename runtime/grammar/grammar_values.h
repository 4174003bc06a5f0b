//===- grammar_values.h - whether a grammar has a text -------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_GRAMMAR_VALUES_H
#define BATON_RUNTIME_GRAMMAR_GRAMMAR_VALUES_H

#include "runtime/grammar/grammar_node.h"

namespace baton {

/// Whether at least one text keeps to a grammar whose node is Rules. Rules in
/// it are taken to have one.
bool has_finite_text(const GrammarNode &grammar);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_GRAMMAR_VALUES_H
