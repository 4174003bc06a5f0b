//===- token_vocabulary.cpp - the bytes of all tokens as a trie ----------===//

#include "runtime/grammar/token_vocabulary.h"

#include "runtime/tokenizer/tokenizer.h"

#include <algorithm>
#include <array>
#include <limits>

namespace baton {

namespace {

/// Longer tokens, which are in no vocabulary that models use, are left out.
constexpr size_t longest_token = std::numeric_limits<uint16_t>::max() - 1;

/// What well-formed UTF-8 expects next (Unicode Standard, table 3-7).
enum Expected : uint8_t {
  Lead,
  OneLater,
  TwoLater,
  ThreeLater,
  BehindE0,
  BehindED,
  BehindF0,
  BehindF4,
  IllFormed
};

/// Characters that strings of JSON escape count as ill-formed.
Expected expected_behind(Expected expected, uint8_t byte) {
  const auto later = [&](uint8_t first, uint8_t last, Expected next) {
    return first <= byte && byte <= last ? next : IllFormed;
  };
  switch (expected) {
  case Lead:
    if (byte < 0x80)
      return byte < 0x20 || byte == '"' || byte == '\\' ? IllFormed : Lead;
    if (byte < 0xC2 || byte > 0xF4)
      return IllFormed;
    if (byte < 0xE0)
      return OneLater;
    if (byte < 0xF0)
      return byte == 0xE0 ? BehindE0 : byte == 0xED ? BehindED : TwoLater;
    return byte == 0xF0 ? BehindF0 : byte == 0xF4 ? BehindF4 : ThreeLater;
  case OneLater:
    return later(0x80, 0xBF, Lead);
  case TwoLater:
    return later(0x80, 0xBF, OneLater);
  case ThreeLater:
    return later(0x80, 0xBF, TwoLater);
  case BehindE0:
    return later(0xA0, 0xBF, OneLater);
  case BehindED:
    return later(0x80, 0x9F, OneLater);
  case BehindF0:
    return later(0x90, 0xBF, TwoLater);
  case BehindF4:
    return later(0x80, 0x8F, TwoLater);
  case IllFormed:
    break;
  }
  return IllFormed;
}

} // namespace

TokenVocabulary::TokenVocabulary(
    size_t count, const std::function<std::string_view(int32_t)> &bytes,
    const std::function<bool(int32_t)> &is_special)
    : tokens(count) {
  for (size_t at = 0; at < count; ++at) {
    const auto token = static_cast<int32_t>(at);
    const std::string_view spelling = bytes(token);
    tokens[at] = {text.size(), spelling.size(), is_special(token)};
    text.insert(text.end(), spelling.begin(), spelling.end());
    if (spelling.empty() || spelling.size() > longest_token)
      continue;
    (tokens[at].special ? specials : sorted).push_back(token);
    if (!tokens[at].special)
      for (const char byte : spelling)
        present.set(static_cast<uint8_t>(byte));
  }
  build_trie();
  count_plain_characters();
}

std::shared_ptr<const TokenVocabulary>
TokenVocabulary::of(const Tokenizer &tokenizer, size_t vocabulary) {
  return std::make_shared<const TokenVocabulary>(
      vocabulary, [&](int32_t token) { return tokenizer.token_bytes(token); },
      [&](int32_t token) { return tokenizer.is_special(token); });
}

std::string_view TokenVocabulary::spelling_of(int32_t token) const {
  if (token < 0 || static_cast<size_t>(token) >= tokens.size())
    return {};
  const Token &found = tokens[static_cast<size_t>(token)];
  return {text.data() + found.begin, found.length};
}

std::string_view TokenVocabulary::text_of(int32_t token) const {
  const std::string_view spelling = spelling_of(token);
  return spelling.empty() || tokens[static_cast<size_t>(token)].special
             ? std::string_view()
             : spelling;
}

std::optional<int32_t> TokenVocabulary::find(std::string_view spelling) const {
  const auto special =
      std::find_if(specials.begin(), specials.end(), [&](int32_t token) {
        return spelling_of(token) == spelling;
      });
  if (special != specials.end())
    return *special;
  const auto found =
      std::lower_bound(sorted.begin(), sorted.end(), spelling,
                       [&](int32_t token, std::string_view text) {
                         return spelling_of(token) < text;
                       });
  if (found == sorted.end() || spelling_of(*found) != spelling)
    return std::nullopt;
  return *found;
}

void TokenVocabulary::build_trie() {
  std::sort(sorted.begin(), sorted.end(), [&](int32_t left, int32_t right) {
    const int order = spelling_of(left).compare(spelling_of(right));
    return order != 0 ? order < 0 : left < right;
  });
  std::vector<uint32_t> path{0};
  trie.push_back({0, not_plain, 0, 0, 0});
  const auto close = [&](size_t depth) {
    for (; path.size() > depth + 1; path.pop_back())
      trie[path.back()].end = static_cast<uint32_t>(trie.size());
  };
  std::string_view before;
  for (size_t at = 0; at < sorted.size(); ++at) {
    const std::string_view spelling = spelling_of(sorted[at]);
    const size_t common =
        static_cast<size_t>(std::mismatch(before.begin(), before.end(),
                                          spelling.begin(), spelling.end())
                                .first -
                            before.begin());
    close(common);
    for (size_t depth = common; depth < spelling.size(); ++depth) {
      path.push_back(static_cast<uint32_t>(trie.size()));
      trie.push_back({static_cast<uint8_t>(spelling[depth]), not_plain,
                      static_cast<uint16_t>(depth + 1), 0,
                      static_cast<uint32_t>(at)});
    }
    before = spelling;
  }
  close(0);
  trie[0].end = static_cast<uint32_t>(trie.size());
  trie.push_back(
      {0, not_plain, 0, trie[0].end, static_cast<uint32_t>(sorted.size())});
}

void TokenVocabulary::count_plain_characters() {
  // The most characters below a node, by what is expected there.
  std::vector<std::array<uint8_t, IllFormed>> most(trie.size() - 1);
  for (size_t at = trie.size() - 1; at-- > 0;) {
    most[at].fill(0);
    for (size_t child = at + 1; child < trie[at].end; child = trie[child].end)
      for (uint8_t expected = Lead; expected < IllFormed; ++expected) {
        uint8_t &characters = most[at][expected];
        const Expected next =
            expected_behind(static_cast<Expected>(expected), trie[child].byte);
        const unsigned below =
            next == IllFormed
                ? unsigned(not_plain)
                : most[child][next] + (expected == Lead ? 1u : 0u);
        characters = static_cast<uint8_t>(std::max<unsigned>(
            characters, std::min<unsigned>(below, not_plain)));
      }
    trie[at].plain_characters = most[at][Lead];
  }
}

} // namespace baton
