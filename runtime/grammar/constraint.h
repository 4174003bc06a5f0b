//===- constraint.h - a grammar for a vocabulary -------------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_CONSTRAINT_H
#define BATON_RUNTIME_GRAMMAR_CONSTRAINT_H

#include "runtime/batch/token_constraint.h"
#include "runtime/grammar/grammar.h"
#include "runtime/grammar/token_vocabulary.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace baton {

/// Of the masks that a constraint keeps, bytes.
inline constexpr size_t constraint_cache_bytes = size_t(64) << 20;

/// What a grammar allows of a vocabulary. Stop tokens are allowed exactly where
/// the grammar may end, and end the text; other special tokens only where the
/// grammar names them. A text can always be completed, unless the vocabulary
/// has bytes in longer tokens only, so that none continues it: then allowed()
/// throws Error, as both methods do where a text can be read in too many ways.
/// Throws Error for a grammar that is too large or that no text keeps to, and
/// for tokens of it that the vocabulary lacks.
std::shared_ptr<const TokenConstraint>
compile_constraint(const Grammar &grammar,
                   std::shared_ptr<const TokenVocabulary> vocabulary,
                   std::vector<int32_t> stop_tokens,
                   size_t cache_bytes = constraint_cache_bytes);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_CONSTRAINT_H
