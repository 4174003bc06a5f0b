//===- text_windows.cpp - a long text as windows of equal length ----------===//

#include "runtime/main/text_windows.h"

#include "runtime/error.h"

#include <algorithm>

namespace baton {

/// The text's own tokens, behind those that the tokenizer puts before a text,
/// and how many these are. Tokens that end a text are left out.
static std::pair<std::vector<int32_t>, size_t>
encode_from_start(const TextTokens &tokens, const std::string &text) {
  if (tokens.bytes)
    return {tokens.encode(text), 0};
  const std::vector<int32_t> all = tokens.tokenizer.encode(text);
  const std::vector<int32_t> own = tokens.tokenizer.encode(text, false);
  const auto begin =
      std::search(all.begin(), all.end(), own.begin(), own.end());
  if (begin == all.end() && !own.empty())
    return {own, 0};
  return {{all.begin(), begin + static_cast<ptrdiff_t>(own.size())},
          static_cast<size_t>(begin - all.begin())};
}

std::vector<std::vector<int32_t>> TextWindows::texts() const {
  std::vector<std::vector<int32_t>> result;
  for (uint64_t index = 0; index < count(); ++index)
    result.emplace_back(window(index).begin(), window(index).end() - 1);
  return result;
}

TextWindows cut_windows(const TextTokens &tokens, const std::string &text,
                        const std::string &flag, uint64_t context,
                        std::optional<uint64_t> most) {
  if (text.empty())
    throw Error(flag + ": the text is empty");
  auto [all, before] = encode_from_start(tokens, text);
  uint64_t count = all.size() / context;
  if (count == 0)
    throw Error(flag + ": the text has " + std::to_string(all.size()) +
                " tokens, fewer than the " + std::to_string(context) +
                " of a window; give a longer text, or a smaller --context");
  count = std::min(count, most.value_or(count));
  const std::vector<int32_t> beginning(
      all.begin(), all.begin() + static_cast<ptrdiff_t>(before));
  all.resize(count * context);
  for (uint64_t window = 0; window < count; ++window)
    std::copy_n(beginning.begin(), std::min<uint64_t>(before, context),
                all.begin() + static_cast<ptrdiff_t>(window * context));
  return {context, std::move(all)};
}

} // namespace baton
