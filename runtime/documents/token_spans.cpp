//===- token_spans.cpp - which tokens are parts of a text's spans ---------===//

#include "runtime/documents/token_spans.h"

#include <algorithm>
#include <optional>
#include <string>

namespace baton {

namespace {

/// Where each token is in a text. Nothing where tokens do not spell it.
std::optional<std::vector<jinja::TextSpan>>
places_of(const Tokenizer &tokenizer, std::string_view text,
          std::span<const int32_t> tokens) {
  auto is_space = [](char letter) {
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
  };
  std::vector<jinja::TextSpan> places;
  size_t at = 0;
  for (int32_t token : tokens) {
    std::string_view bytes = tokenizer.token_bytes(token);
    auto fits = [&] { return text.substr(at).starts_with(bytes); };
    // SentencePiece begins words with a space that the text may not have.
    if (!fits() && bytes.starts_with(' ')) {
      bytes.remove_prefix(1);
      if (!fits())
        bytes = tokenizer.token_bytes(token);
    }
    // Added tokens may swallow what is beside them.
    while (!fits() && at < text.size() && is_space(text[at]))
      ++at;
    if (!fits())
      return std::nullopt;
    places.push_back({at, at + bytes.size()});
    at += bytes.size();
  }
  if (!std::all_of(text.begin() + static_cast<ptrdiff_t>(at), text.end(),
                   is_space))
    return std::nullopt;
  return places;
}

} // namespace

std::vector<jinja::TextSpan> token_spans(
    const Tokenizer &tokenizer, std::string_view text,
    std::span<const int32_t> tokens, std::span<const jinja::TextSpan> spans,
    const std::function<std::vector<int32_t>(std::string_view)> &encode) {
  const auto places = places_of(tokenizer, text, tokens);
  // The number of tokens that are wholly before a place.
  auto before = [&](size_t place) -> size_t {
    if (places)
      return static_cast<size_t>(
          std::ranges::upper_bound(*places, place, {}, &jinja::TextSpan::end) -
          places->begin());
    const std::vector<int32_t> own = encode(text.substr(0, place));
    return static_cast<size_t>(
        std::mismatch(own.begin(), own.end(), tokens.begin(), tokens.end())
            .first -
        own.begin());
  };
  std::vector<jinja::TextSpan> result;
  for (const jinja::TextSpan &span : spans) {
    if (span.first == span.end) {
      result.push_back({0, 0});
      continue;
    }
    const size_t first = before(span.first);
    size_t end = before(span.end);
    // One that goes on behind the end has a part in it; one that stands for
    // nothing, where the next text begins, has none.
    if (places)
      end = static_cast<size_t>(
          std::ranges::lower_bound(*places, span.end, {},
                                   &jinja::TextSpan::first) -
          places->begin());
    if (!places && span.end == text.size())
      end = tokens.size();
    result.push_back({first, std::max(first, end)});
  }
  return result;
}

} // namespace baton
