//===- byte_pair_encoding.cpp - words to tokens by learned merges --------===//

#include "runtime/tokenizer/byte_pair_encoding.h"

#include "runtime/error.h"
#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/utf8.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <tuple>
#include <unordered_set>

namespace baton {

namespace {

/// "<0x0A>", the spelling of a byte that characters fall back on.
std::string fallback_spelling(uint8_t byte) {
  char text[8];
  std::snprintf(text, sizeof(text), "<0x%02X>", byte);
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
  read_unknown(description);
  read_merges(description.at("merges"));
  find_special_tokens(description.boolean("byte_fallback", false),
                      description.boolean("ignore_merges", false));
}

BytePairEncoding::BytePairEncoding(const BytePairModel &model, Symbols symbols)
    : symbols(symbols), unknown(model.unknown.value_or(-1)),
      fuse_unknown(model.fuse_unknown) {
  ids.reserve(model.tokens.size());
  scored.resize(model.scores.size());
  for (size_t id = 0; id < model.tokens.size(); ++id) {
    const auto [entry, added] = ids.insert_or_assign(
        std::string(model.tokens[id]), static_cast<int32_t>(id));
    if (!scored.empty())
      scored[id].text = entry->first;
  }
  merges.reserve(model.merges.size());
  for (size_t rank = 0; rank < model.merges.size(); ++rank) {
    const std::string_view merge = model.merges[rank];
    const auto fail = [&](const std::string &what) {
      throw Error(model.file + ": the merge " + quote_name(merge) + " " + what);
    };
    // A side may begin with a space.
    const size_t space = merge.find(' ', 1);
    if (space == merge.npos)
      fail("is not two tokens with a space between them");
    add_merge(rank, merge.substr(0, space), merge.substr(space + 1), fail);
  }
  rank_scores(model);
  find_special_tokens(model.byte_fallback, model.ignore_merges);
}

/// Characters of well-formed UTF-8.
static uint32_t count_characters(std::string_view text) {
  return static_cast<uint32_t>(
      std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<uint8_t>(byte) & 0xC0) != 0x80;
      }));
}

void BytePairEncoding::rank_scores(const BytePairModel &model) {
  std::vector<float> order = model.scores;
  std::sort(order.begin(), order.end(), std::greater<>());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  for (size_t id = 0; id < scored.size(); ++id) {
    Scored &token = scored[id];
    const auto rank = std::lower_bound(order.begin(), order.end(),
                                       model.scores[id], std::greater<>()) -
                      order.begin();
    token.characters = count_characters(token.text);
    token.rank = static_cast<uint32_t>(rank);
    longest_token = std::max(longest_token, token.text.size());
  }
}

std::optional<BytePairEncoding::Merge>
BytePairEncoding::find_merge(int32_t left, int32_t right,
                             std::string &text) const {
  if (scored.empty()) {
    const auto found = merges.find(pair(left, right));
    return found == merges.end() ? std::nullopt : std::optional(found->second);
  }
  const Scored &first = scored[static_cast<size_t>(left)];
  const Scored &second = scored[static_cast<size_t>(right)];
  if (first.text.size() + second.text.size() > longest_token)
    return std::nullopt;
  text.assign(first.text).append(second.text);
  const auto found = ids.find(text);
  if (found == ids.end())
    return std::nullopt;
  // Best scores, then longest left sides, then longest right ones.
  const auto shortness = [](uint32_t characters) {
    return uint64_t(0xFFFF - std::min<uint32_t>(characters, 0xFFFF));
  };
  const uint64_t rank = scored[static_cast<size_t>(found->second)].rank;
  return Merge{rank << 32 | shortness(first.characters) << 16 |
                   shortness(second.characters),
               found->second};
}

void BytePairEncoding::find_special_tokens(bool byte_fallback,
                                           bool ignore_merges) {
  for (int value = 0; value < 256; ++value) {
    const auto byte = static_cast<uint8_t>(value);
    byte_tokens[byte] = find(spell_byte(byte)).value_or(-1);
    fallback_tokens[byte] =
        byte_fallback ? find(fallback_spelling(byte)).value_or(-1) : -1;
  }
  if (!ignore_merges)
    return;
  for (const auto &[text, id] : ids)
    if (symbols == Symbols::Characters)
      whole_words.emplace(text, id);
    else if (auto bytes = read_spelled_bytes(text))
      whole_words.emplace(std::move(*bytes), id);
}

void BytePairEncoding::add_merge(
    uint64_t rank, std::string_view left, std::string_view right,
    const std::function<void(const std::string &what)> &fail) {
  const auto id = [&](const std::string &text) {
    const auto found = find(text);
    if (!found)
      fail("refers to '" + text + "', which is not in the vocabulary");
    return *found;
  };
  const std::string first(left), second(right);
  // Of a merge that is repeated, the last place counts.
  merges.insert_or_assign(pair(id(first), id(second)),
                          Merge{rank, id(first + second)});
}

void BytePairEncoding::read_unknown(const JsonView &description) {
  fuse_unknown = description.boolean("fuse_unk", false);
  const auto name = description.find("unk_token");
  if (!name)
    return;
  // One that there is not stops only the texts that need it, as it does in the
  // reference.
  if (const auto id = find(name->string()))
    unknown = *id;
  else
    no_unknown = name->complaint("names '" + name->string() +
                                 "', which is not in the vocabulary, and a "
                                 "character of the text has no token");
}

std::optional<int32_t> BytePairEncoding::find(std::string_view text) const {
  const auto found = ids.find(std::string(text));
  if (found == ids.end())
    return std::nullopt;
  return found->second;
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
  uint64_t rank = 0;
  std::optional<bool> spelled_as_strings;
  for (const JsonView &merge : description.elements()) {
    if (merge.is_string() != spelled_as_strings.value_or(merge.is_string()))
      merge.fail("is not spelled as those before it");
    spelled_as_strings = merge.is_string();
    // The first line of the files that merges were kept in.
    if (merge.is_string() && merge.string().starts_with("#version"))
      continue;
    const auto [left, right] = sides(merge);
    add_merge(rank++, left, right,
              [&](const std::string &what) { merge.fail(what); });
  }
}

/// Collects the tokens that a word starts as.
class BytePairEncoding::FirstSymbols {
public:
  FirstSymbols(const BytePairEncoding &encoding, size_t most)
      : encoding(encoding) {
    result.reserve(most);
  }

  void add(int32_t token) {
    flush();
    result.push_back(token);
  }

  /// A character that no token spells.
  void add_without_token(std::string_view character) {
    if (falls_back(character)) {
      // The reference adds these before an unknown token that still waits.
      for (const char byte : character)
        result.push_back(encoding.fallback_tokens[static_cast<uint8_t>(byte)]);
      return;
    }
    if (!encoding.no_unknown.empty())
      throw Error(encoding.no_unknown);
    if (encoding.unknown < 0)
      return;
    if (!encoding.fuse_unknown)
      flush();
    unknown_waits = true;
  }

  std::vector<int32_t> take() {
    flush();
    return std::move(result);
  }

private:
  bool falls_back(std::string_view character) const {
    return std::all_of(character.begin(), character.end(), [&](char byte) {
      return encoding.fallback_tokens[static_cast<uint8_t>(byte)] >= 0;
    });
  }

  void flush() {
    if (unknown_waits)
      result.push_back(encoding.unknown);
    unknown_waits = false;
  }

  const BytePairEncoding &encoding;
  std::vector<int32_t> result;
  /// Until the next character with a token: a run may become one.
  bool unknown_waits = false;
};

std::vector<int32_t>
BytePairEncoding::first_symbols(std::string_view word) const {
  FirstSymbols result(*this, word.size());
  if (symbols == Symbols::Bytes) {
    for (const char c : word) {
      const auto byte = static_cast<uint8_t>(c);
      if (byte_tokens[byte] >= 0)
        result.add(byte_tokens[byte]);
      else
        result.add_without_token(spell_byte(byte));
    }
    return result.take();
  }
  while (!word.empty()) {
    const std::string_view character =
        word.substr(0, first_sequence(word).bytes);
    word.remove_prefix(character.size());
    if (const auto token = find(character))
      result.add(*token);
    else
      result.add_without_token(character);
  }
  return result.take();
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
    uint64_t rank;
    uint32_t place;
    int32_t left, right, result;
    bool operator<(const Candidate &other) const {
      return std::tie(rank, result, place) >
             std::tie(other.rank, other.result, other.place);
    }
  };
  std::vector<Candidate> heap;
  std::string text;
  const auto consider = [&](uint32_t place) {
    const int32_t left = symbols[place].token;
    const int32_t right = symbols[symbols[place].next].token;
    const std::optional<Merge> merge = find_merge(left, right, text);
    if (!merge)
      return;
    heap.push_back({merge->rank, place, left, right, merge->result});
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
