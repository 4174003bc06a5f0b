//===- constraint.cpp - a grammar for a vocabulary -----------------------===//

#include "runtime/grammar/constraint.h"

#include "runtime/error.h"
#include "runtime/grammar/automaton_compiler.h"
#include "runtime/grammar/mask_cache.h"
#include "runtime/grammar/parse_stacks.h"

#include <algorithm>
#include <string>

namespace baton {

namespace {

/// What matchers of a constraint share.
struct CompiledConstraint {
  CompiledConstraint(const Grammar &grammar,
                     std::shared_ptr<const TokenVocabulary> given,
                     std::vector<int32_t> stops, size_t cache_bytes)
      : vocabulary(std::move(given)), stop_tokens(std::move(stops)),
        automaton(compile_grammar(grammar.node(), alphabet(*vocabulary))),
        masks(automaton, *vocabulary, cache_bytes) {}

  static AutomatonAlphabet alphabet(const TokenVocabulary &vocabulary) {
    const auto token_id = [&vocabulary](const std::string &spelling) {
      const auto token = vocabulary.find(spelling);
      if (!token)
        throw Error("the grammar has the token '" + spelling +
                    "', which is not in the vocabulary");
      return *token;
    };
    return {vocabulary.bytes(), token_id,
            static_cast<int32_t>(vocabulary.size())};
  }

  std::shared_ptr<const TokenVocabulary> vocabulary;
  std::vector<int32_t> stop_tokens;
  PushdownAutomaton automaton;
  /// What it holds is no part of the constraint's meaning.
  mutable MaskCache masks;
};

class GrammarMatcher final : public TokenMatcher {
public:
  explicit GrammarMatcher(std::shared_ptr<const CompiledConstraint> compiled)
      : constraint(std::move(compiled)), stacks(constraint->automaton),
        scratch(constraint->automaton),
        set(stacks.restart(constraint->automaton.start, /*closed=*/true)) {}

  void allowed(std::span<uint32_t> mask) override {
    std::fill(mask.begin(), mask.end(), 0);
    const bool may_end = ended || stacks.may_end(set);
    bool any = may_end;
    if (!ended) {
      const auto found = constraint->masks.mask_of(stacks, set, scratch);
      for (const auto &state : found->states)
        state->tokens.write(mask);
      found->more.write(mask);
      any |= !found->empty;
      for (const ParseStacks::Item &item : stacks.items_of(set))
        for (const auto &edge : constraint->automaton.tokens_of(item.state)) {
          set_bit(mask, edge.token, true);
          any = true;
        }
    }
    if (!any)
      throw Error("the text cannot go on: no token of the vocabulary "
                  "continues it as the grammar demands");
    for (const int32_t token : constraint->stop_tokens)
      if (may_end || !named_by_grammar(token))
        set_bit(mask, token, may_end);
  }

  bool accept(int32_t token) override {
    if (ended)
      return false;
    const ParseStacks::Mark mark = stacks.mark();
    const ParseStacks::Set next = read(token);
    if (next.count != 0) {
      set = stacks.keep_only(next);
      return true;
    }
    stacks.cut(mark);
    if (is_stop(token) && stacks.may_end(set))
      return ended = true;
    return false;
  }

  bool is_finished() const override { return ended || !stacks.goes_on(set); }

private:
  bool is_stop(int32_t token) const {
    const auto &stops = constraint->stop_tokens;
    return std::find(stops.begin(), stops.end(), token) != stops.end();
  }

  bool named_by_grammar(int32_t token) const {
    for (const ParseStacks::Item &item : stacks.items_of(set))
      for (const auto &edge : constraint->automaton.tokens_of(item.state))
        if (edge.token == token)
          return true;
    return false;
  }

  /// The set behind a token, empty where it is not allowed.
  ParseStacks::Set read(int32_t token) {
    ParseStacks::Set next = set;
    const std::string_view text = is_stop(token)
                                      ? std::string_view()
                                      : constraint->vocabulary->text_of(token);
    for (size_t at = 0; at < text.size() && next.count != 0; ++at)
      next = stacks.step(next, static_cast<uint8_t>(text[at]));
    if (text.empty())
      next.count = 0;
    const ParseStacks::Set special = stacks.step_token(set, token);
    if (special.count == 0)
      return next;
    if (next.count == 0)
      return special;
    return {next.first, next.count + special.count};
  }

  static void set_bit(std::span<uint32_t> mask, int32_t token, bool value) {
    const size_t word = static_cast<size_t>(token) / 32;
    if (token < 0 || word >= mask.size())
      return;
    const uint32_t bit = 1u << (token % 32);
    mask[word] = value ? mask[word] | bit : mask[word] & ~bit;
  }

  std::shared_ptr<const CompiledConstraint> constraint;
  ParseStacks stacks, scratch;
  ParseStacks::Set set;
  bool ended = false;
};

class GrammarConstraint final : public TokenConstraint {
public:
  explicit GrammarConstraint(std::shared_ptr<const CompiledConstraint> compiled)
      : compiled(std::move(compiled)) {}

  std::unique_ptr<TokenMatcher> start() const override {
    return std::make_unique<GrammarMatcher>(compiled);
  }

private:
  std::shared_ptr<const CompiledConstraint> compiled;
};

} // namespace

std::shared_ptr<const TokenConstraint>
compile_constraint(const Grammar &grammar,
                   std::shared_ptr<const TokenVocabulary> vocabulary,
                   std::vector<int32_t> stop_tokens, size_t cache_bytes) {
  return std::make_shared<const GrammarConstraint>(
      std::make_shared<const CompiledConstraint>(
          grammar, std::move(vocabulary), std::move(stop_tokens), cache_bytes));
}

} // namespace baton
