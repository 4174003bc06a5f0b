//===- byte_pair_encoding.cpp - words to tokens by learned merges --------===//

#include "runtime/tokenizer/byte_pair_encoding.h"

#include "runtime/error.h"
#include "runtime/tokenizer/byte_alphabet.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <unordered_set>

namespace baton {

namespace {

std::string hexadecimal(uint8_t byte) {
  char text[8];
  std::snprintf(text, sizeof(text), "0x%02X", byte);
  return text;
}

/// The two sides of a merge: ["a", "b"], or "a b" in files of older versions.
std::pair<std::string, std::string> sides(const JsonView &merge) {
  if (merge.is_string()) {
    const std::string &text = merge.string();
    const size_t space = text.find(' ');
    if (space == std::string::npos ||
        text.find(' ', space + 1) != std::string::npos)
      merge.fail("is not two tokens with a space between them");
    return {text.substr(0, space), text.substr(space + 1)};
  }
  const std::vector<JsonView> elements = merge.elements();
  if (elements.size() != 2)
    merge.fail("is not two tokens");
  return {elements[0].string(), elements[1].string()};
}

} // namespace

BytePairEncoding::BytePairEncoding(const JsonView &description) {
  // Files of older versions do not name the type.
  if (const auto type = description.find("type"))
    if (type->string() != "BPE")
      type->refuse("'" + type->string() + "'");
  if (const auto dropout = description.find("dropout"))
    if (!dropout->is_zero())
      dropout->refuse("dropout");
  for (const char *key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const auto affix = description.find(key))
      if (!affix->string().empty())
        affix->refuse("'" + affix->string() + "'");
  if (description.boolean("byte_fallback", false))
    description.at("byte_fallback").refuse("true");
  // "unk_token" may say anything: every byte has a token, nothing is unknown.

  read_vocabulary(description.at("vocab"));
  read_merges(description.at("merges"));
  if (description.boolean("ignore_merges", false))
    for (const auto &[text, id] : ids)
      if (auto bytes = read_spelled_bytes(text))
        whole_words.emplace(std::move(*bytes), id);
}

void BytePairEncoding::read_vocabulary(const JsonView &vocabulary) {
  std::unordered_set<int32_t> taken;
  ids.reserve(vocabulary.object().size());
  taken.reserve(vocabulary.object().size());
  vocabulary.for_each_member(
      [&](const std::string &text, const JsonView &value) {
        const int32_t id = value.id();
        if (!taken.insert(id).second)
          vocabulary.fail("gives the id " + std::to_string(id) +
                          " to two tokens, one of them '" + text + "'");
        ids.emplace(text, id);
      });
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = ids.find(spell_byte(byte));
    byte_tokens[byte] = found == ids.end() ? -1 : found->second;
    const bool occurs = byte != 0xC0 && byte != 0xC1 && byte < 0xF5;
    if (occurs && byte_tokens[byte] < 0)
      vocabulary.fail("has no token for the byte " + hexadecimal(byte) +
                      "; it is not a byte-level vocabulary");
  }
}

void BytePairEncoding::read_merges(const JsonView &description) {
  const size_t count = description.array().size();
  if (count > std::numeric_limits<int32_t>::max())
    description.fail("has too many elements");
  merges.reserve(count);
  int32_t rank = 0;
  for (const JsonView &merge : description.elements()) {
    const auto [left, right] = sides(merge);
    const auto id = [&](const std::string &text) {
      const auto found = ids.find(text);
      if (found == ids.end())
        merge.fail("refers to '" + text + "', which is not in the vocabulary");
      return found->second;
    };
    const uint64_t key = pair(id(left), id(right));
    if (!merges.emplace(key, Merge{rank++, id(left + right)}).second)
      merge.fail("repeats the merge of '" + left + "' and '" + right + "'");
  }
}

void BytePairEncoding::encode(std::string_view word,
                              std::vector<int32_t> &tokens) const {
  if (!whole_words.empty()) {
    const auto whole = whole_words.find(std::string(word));
    if (whole != whole_words.end()) {
      tokens.push_back(whole->second);
      return;
    }
  }

  // A doubly linked list over the bytes' places; a merge keeps the left place.
  constexpr uint32_t none = std::numeric_limits<uint32_t>::max();
  if (word.size() >= none)
    throw Error("a word of 4 GiB or more cannot be encoded");
  struct Symbol {
    int32_t token;
    uint32_t previous;
    uint32_t next;
  };
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  for (uint32_t at = 0; at < word.size(); ++at) {
    const uint8_t byte = static_cast<uint8_t>(word[at]);
    if (byte_tokens[byte] < 0)
      throw Error("the tokenizer has no token for the byte " +
                  hexadecimal(byte));
    symbols.push_back({byte_tokens[byte], at == 0 ? none : at - 1,
                       at + 1 == word.size() ? none : at + 1});
  }

  // Earlier merges first, and of equal ones the leftmost.
  struct Candidate {
    int32_t rank;
    uint32_t place;
    int32_t left, right, result;
    bool operator<(const Candidate &other) const {
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };
  std::vector<Candidate> heap;
  const auto consider = [&](uint32_t place) {
    const int32_t left = symbols[place].token;
    const int32_t right = symbols[symbols[place].next].token;
    const auto found = merges.find(pair(left, right));
    if (found == merges.end())
      return;
    heap.push_back(
        {found->second.rank, place, left, right, found->second.result});
    std::push_heap(heap.begin(), heap.end());
  };
  for (uint32_t place = 0; place + 1 < symbols.size(); ++place)
    consider(place);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate best = heap.back();
    heap.pop_back();
    Symbol &symbol = symbols[best.place];
    // A merge next to a candidate leaves it behind; it is recognised here, and
    // a place merged away holds no token.
    if (symbol.token != best.left || symbol.next == none ||
        symbols[symbol.next].token != best.right)
      continue;
    Symbol &absorbed = symbols[symbol.next];
    symbol.token = best.result;
    symbol.next = absorbed.next;
    absorbed.token = -1;
    if (symbol.next != none) {
      symbols[symbol.next].previous = best.place;
      consider(best.place);
    }
    if (symbol.previous != none)
      consider(symbol.previous);
  }
  for (uint32_t place = symbols.empty() ? none : 0; place != none;
       place = symbols[place].next)
    tokens.push_back(symbols[place].token);
}

} // namespace baton
