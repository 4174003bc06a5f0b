//===- constraints.h - what answers are constrained to --------------------===//

#ifndef BATON_RUNTIME_SERVE_CONSTRAINTS_H
#define BATON_RUNTIME_SERVE_CONSTRAINTS_H

#include "runtime/batch/json_keys.h"
#include "runtime/batch/token_constraint.h"
#include "runtime/grammar/grammar.h"
#include "runtime/grammar/token_vocabulary.h"
#include "runtime/tokenizer/tokenizer.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace baton {

/// Compiles constraints of a model's tokens, and keeps those used last: the
/// schema of a client is in all of its requests. Threads may use one at once.
class ConstraintCache {
public:
  ConstraintCache(std::optional<Tokenizer> tokenizer, size_t vocabulary,
                  std::vector<int32_t> stop_tokens);

  /// That of the key, made by `make` where there is none. Texts end with the
  /// model's stop tokens, or with those.
  std::shared_ptr<const TokenConstraint>
  find(const std::string &key, const std::function<Grammar()> &make,
       const std::vector<int32_t> &more_stop_tokens = {});

private:
  struct Entry {
    std::string key;
    std::shared_ptr<const TokenConstraint> constraint;
  };
  static constexpr size_t most_entries = 64;

  const std::optional<Tokenizer> tokenizer;
  const size_t vocabulary;
  const std::vector<int32_t> stop_tokens;
  std::mutex mutex;
  std::shared_ptr<const TokenVocabulary> tokens;
  /// The one used last comes first.
  std::list<Entry> entries;
  std::unordered_map<std::string, std::list<Entry>::iterator> places;
};

/// A grammar and its name among all: the text that it was made of.
struct NamedGrammar {
  std::string key;
  std::function<Grammar()> make;
};

/// The keys that find_output_grammar() reads.
const std::vector<std::string> &constraint_keys();

/// What "response_format" and its likes ask for: a JSON object, a schema, a
/// regular expression, one of several texts, or a grammar (GBNF); nothing where
/// no key asks for any. Throws Error that begins with the key.
std::optional<NamedGrammar> find_output_grammar(const JsonKeys &keys);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_CONSTRAINTS_H
