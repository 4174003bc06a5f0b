//===- text_wrap.cpp - text in lines of a width ---------------------------===//

#include "runtime/jinja/text_wrap.h"

#include "runtime/jinja/unicode.h"

#include <algorithm>

namespace baton::jinja {

namespace {

bool is_blank(char32_t character) {
  return character == ' ' || (character >= 0x09 && character <= 0x0D);
}

bool is_letter(char32_t character) {
  return is_word(character) && !is_decimal(character);
}

/// What may stand before a dash.
bool is_word_part(char32_t character) {
  return is_word(character) ||
         std::u32string_view(U"!\"'&.,?").find(character) !=
             std::u32string_view::npos;
}

/// Cuts text where a line may end.
class Chunks {
public:
  Chunks(std::u32string_view text, bool at_hyphens)
      : text(text), at_hyphens(at_hyphens) {}

  std::vector<std::u32string> run() {
    std::vector<std::u32string> chunks;
    for (size_t at = 0; at < text.size();) {
      const size_t end = chunk_end(at);
      chunks.emplace_back(text.substr(at, end - at));
      at = end;
    }
    return chunks;
  }

private:
  bool holds_at(size_t at, bool (*wanted)(char32_t)) const {
    return at < text.size() && wanted(text[at]);
  }
  bool holds_before(size_t at, size_t back, bool (*wanted)(char32_t)) const {
    return at >= back && wanted(text[at - back]);
  }
  bool is_hyphen(size_t at) const {
    return at < text.size() && text[at] == '-';
  }

  /// Two or more hyphens with a word behind them: where those end, or `at`.
  size_t dash_end(size_t at) const {
    size_t end = at;
    while (is_hyphen(end))
      ++end;
    return end >= at + 2 && holds_at(end, is_word) ? end : at;
  }

  /// Whether the hyphen here separates parts of one word.
  bool hyphenates(size_t at) const {
    const bool behind_letters =
        holds_before(at, 1, is_letter) && holds_before(at, 2, is_letter);
    const bool behind_initial = holds_before(at, 1, is_word_part) && at >= 3 &&
                                text[at - 2] == '-' &&
                                holds_before(at, 3, is_letter);
    const size_t second = is_hyphen(at + 2) ? at + 3 : at + 2;
    return (behind_letters || behind_initial) && holds_at(at + 1, is_letter) &&
           (holds_at(second, is_letter) || holds_at(at + 2, is_letter));
  }

  size_t chunk_end(size_t begin) const {
    size_t end = begin;
    while (holds_at(end, is_blank))
      ++end;
    if (end > begin)
      return end;
    if (at_hyphens && holds_before(begin, 1, is_word_part) &&
        dash_end(begin) > begin)
      return dash_end(begin);
    for (end = begin + 1; end < text.size(); ++end) {
      if (is_blank(text[end]))
        break;
      if (!at_hyphens)
        continue;
      if (is_hyphen(end) && hyphenates(end))
        return end + 1;
      if (holds_before(end, 1, is_word_part) && dash_end(end) > end)
        break;
    }
    return end;
  }

  const std::u32string_view text;
  const bool at_hyphens;
};

bool is_all_blank(const std::u32string &chunk) {
  return std::all_of(chunk.begin(), chunk.end(), is_space);
}

/// How much of a word that is too long fits in what is left of a line.
size_t part_that_fits(const std::u32string &chunk, size_t space,
                      bool break_on_hyphens) {
  if (!break_on_hyphens || chunk.size() <= space || space == 0)
    return space;
  const size_t hyphen = chunk.rfind(U'-', space - 1);
  if (hyphen == std::u32string::npos || hyphen == 0)
    return space;
  const auto end = chunk.begin() + static_cast<ptrdiff_t>(hyphen);
  return std::any_of(chunk.begin(), end,
                     [](char32_t character) { return character != '-'; })
             ? hyphen + 1
             : space;
}

} // namespace

std::vector<std::string> wrap_text(Rendering &rendering, std::string_view text,
                                   Integer width, bool break_long_words,
                                   bool break_on_hyphens) {
  if (width <= 0)
    throw Failure("invalid width (must be > 0)");
  rendering.make(text.size(), 16);
  rendering.step(text.size());
  const auto limit = static_cast<size_t>(
      std::min<Integer>(width, static_cast<Integer>(1) << 40));
  std::vector<std::u32string> chunks =
      Chunks(characters_of(text), break_on_hyphens).run();
  std::reverse(chunks.begin(), chunks.end());
  std::vector<std::string> lines;
  while (!chunks.empty()) {
    std::vector<std::u32string> line;
    size_t length = 0;
    if (!lines.empty() && is_all_blank(chunks.back()))
      chunks.pop_back();
    while (!chunks.empty() && length + chunks.back().size() <= limit) {
      length += chunks.back().size();
      line.push_back(std::move(chunks.back()));
      chunks.pop_back();
    }
    if (!chunks.empty() && chunks.back().size() > limit) {
      if (break_long_words) {
        const size_t part =
            part_that_fits(chunks.back(), limit - length, break_on_hyphens);
        line.push_back(chunks.back().substr(0, part));
        chunks.back().erase(0, part);
        rendering.step(chunks.back().size() / 16 + 1);
      } else if (line.empty()) {
        line.push_back(std::move(chunks.back()));
        chunks.pop_back();
      }
    }
    if (!line.empty() && is_all_blank(line.back()))
      line.pop_back();
    if (line.empty())
      continue;
    std::string &result = lines.emplace_back();
    for (const std::u32string &chunk : line)
      for (const char32_t character : chunk)
        append_character(result, character);
  }
  return lines;
}

} // namespace baton::jinja
