//===- text_stream.cpp - tokens to text that may end with a string --------===//

#include "runtime/serve/text_stream.h"

#include <algorithm>
#include <utility>

namespace baton {

TextStream::TextStream(const std::optional<Tokenizer> &tokenizer,
                       std::vector<std::string> stop_strings,
                       std::vector<int32_t> kept_tokens)
    : tokenizer(tokenizer), stop_strings(std::move(stop_strings)),
      kept_tokens(std::move(kept_tokens)) {
  if (tokenizer)
    decoder.emplace(*tokenizer, /*skip_special_tokens=*/true);
}

std::string TextStream::push(int32_t token) {
  if (!decoder || stopped)
    return {};
  if (std::ranges::find(kept_tokens, token) != kept_tokens.end())
    return pass(decoder->finish() + std::string(tokenizer->token_bytes(token)),
                false);
  return pass(decoder->push(token), false);
}

std::string TextStream::finish() {
  return decoder && !stopped ? pass(decoder->finish(), true) : std::string();
}

std::string TextStream::pass(std::string &&text, bool is_last) {
  if (stop_strings.empty())
    return std::move(text);
  held += text;
  size_t end = std::string::npos;
  for (size_t i = 0; i < stop_strings.size(); ++i)
    if (const size_t found = held.find(stop_strings[i]); found < end) {
      end = found;
      stopped = i;
    }
  if (stopped || is_last)
    return std::exchange(held, {}).substr(0, end);
  // The longest end that a string begins with stays.
  size_t kept = 0;
  for (const std::string &stop : stop_strings)
    for (size_t size = std::min(held.size(), stop.size() - 1); size > kept;
         --size)
      if (held.ends_with(std::string_view(stop).substr(0, size)))
        kept = size;
  std::string passed = held.substr(0, held.size() - kept);
  held.erase(0, passed.size());
  return passed;
}

} // namespace baton
