//===- byte_pair_encoding.cpp - words to tokens by learned merges --------===//

#include "runtime/tokenizer/byte_pair_encoding.h"

#include "runtime/error.h"
#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/utf8.h"

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

BytePairEncoding::BytePairEncoding(const JsonView &description, Symbols symbols)
    : symbols(symbols) {
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

  read_vocabulary(description.at("vocab"));
  byte_fallback = symbols == Symbols::Characters &&
                  description.boolean("byte_fallback", false);
  find_byte_tokens(description);
  read_merges(description.at("merges"));
  if (!description.boolean("ignore_merges", false))
    return;
  for (const auto &[text, id] : ids)
    if (symbols == Symbols::Characters)
      whole_words.emplace(text, id);
    else if (auto bytes = read_spelled_bytes(text))
      whole_words.emplace(std::move(*bytes), id);
}

/// With a token for every byte that UTF-8 has, nothing is unknown.
void BytePairEncoding::find_byte_tokens(const JsonView &description) {
  const JsonView vocabulary = description.at("vocab");
  byte_tokens.fill(-1);
  if (symbols == Symbols::Bytes || byte_fallback)
    for (int byte = 0; byte < 256; ++byte) {
      const auto found = ids.find(
          byte_fallback ? "<" + hexadecimal(static_cast<uint8_t>(byte)) + ">"
                        : spell_byte(static_cast<uint8_t>(byte)));
      byte_tokens[byte] = found == ids.end() ? -1 : found->second;
      const bool occurs = byte != 0xC0 && byte != 0xC1 && byte < 0xF5;
      if (occurs && byte_tokens[byte] < 0)
        vocabulary.fail("has no token for the byte " + hexadecimal(byte) +
                        (byte_fallback
                             ? ", to fall back on"
                             : "; it is not a byte-level vocabulary"));
    }
  if (symbols == Symbols::Bytes || byte_fallback)
    return;
  const auto name = description.find("unk_token");
  if (!name)
    description.fail("has neither byte_fallback nor an unk_token");
  const auto found = ids.find(name->string());
  if (found == ids.end())
    name->fail("is not in the vocabulary");
  unknown = found->second;
  fuse_unknown = description.boolean("fuse_unk", false);
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

std::vector<int32_t>
BytePairEncoding::first_symbols(std::string_view word) const {
  std::vector<int32_t> result;
  result.reserve(word.size());
  const auto add_bytes = [&](std::string_view bytes) {
    for (const char c : bytes) {
      const auto byte = static_cast<uint8_t>(c);
      if (byte_tokens[byte] < 0)
        throw Error("the tokenizer has no token for the byte " +
                    hexadecimal(byte));
      result.push_back(byte_tokens[byte]);
    }
  };
  if (symbols == Symbols::Bytes) {
    add_bytes(word);
    return result;
  }
  bool is_unknown = false;
  while (!word.empty()) {
    const std::string_view character =
        word.substr(0, first_sequence(word).bytes);
    word.remove_prefix(character.size());
    const auto found = ids.find(std::string(character));
    const bool was_unknown = is_unknown;
    is_unknown = found == ids.end() && !byte_fallback;
    if (found != ids.end())
      result.push_back(found->second);
    else if (byte_fallback)
      add_bytes(character);
    else if (!was_unknown || !fuse_unknown)
      result.push_back(unknown);
  }
  return result;
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

  // A doubly linked list over the places; a merge keeps the left place.
  constexpr uint32_t none = std::numeric_limits<uint32_t>::max();
  if (word.size() >= none)
    throw Error("a word of 4 GiB or more cannot be encoded");
  struct Symbol {
    int32_t token;
    uint32_t previous;
    uint32_t next;
  };
  const std::vector<int32_t> first = first_symbols(word);
  std::vector<Symbol> symbols;
  symbols.reserve(first.size());
  for (uint32_t at = 0; at < first.size(); ++at)
    symbols.push_back({first[at], at == 0 ? none : at - 1,
                       at + 1 == first.size() ? none : at + 1});

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
