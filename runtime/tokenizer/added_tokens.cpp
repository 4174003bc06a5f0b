//===- added_tokens.cpp - tokens that are matched in the text as they are ===//

#include "runtime/tokenizer/added_tokens.h"

#include "runtime/tokenizer/utf8.h"

#include <map>

namespace baton {

namespace {

/// The characters of well-formed UTF-8 at its two ends; empty for empty text.
std::string_view first_character(std::string_view text) {
  return text.empty() ? text : text.substr(0, first_sequence(text).bytes);
}

std::string_view last_character(std::string_view text) {
  size_t at = text.size();
  while (at > 0 && (static_cast<uint8_t>(text[--at]) & 0xC0) == 0x80) {
  }
  return text.substr(at);
}

} // namespace

AddedTokens::AddedTokens(const JsonView &description,
                         const Normalizer &normalizer,
                         const Vocabulary &vocabulary) {
  std::map<int32_t, AddedToken> by_id;
  std::unordered_map<std::string, std::string> spellings;
  for (const JsonView &element : description.elements()) {
    const std::string &content = element.at("content").string();
    element.at("id").id(); // Not used, but there.
    const auto option = [&](const char *key) {
      return element.at(key).boolean();
    };
    AddedToken token{0,
                     content,
                     content,
                     option("single_word"),
                     option("lstrip"),
                     option("rstrip"),
                     option("normalized")};
    const bool is_special = option("special");
    if (content.empty())
      continue;
    token.id = assign_id(content, vocabulary);
    // Once normalized, a content keeps that spelling whatever comes after it.
    if (token.normalized)
      spellings[content] = token.matched = normalizer.apply(content);
    if (const auto kept = spellings.find(content); kept != spellings.end())
      token.spelling = kept->second;
    if (is_special)
      special.insert(content);
    by_id.insert_or_assign(token.id, std::move(token));
  }
  for (auto &[id, token] : by_id) {
    if (!token.matched.empty())
      (token.normalized ? normalized : literal)
          .insert(token.matched, tokens.size());
    tokens.push_back(std::move(token));
  }
}

int32_t AddedTokens::assign_id(const std::string &content,
                               const Vocabulary &vocabulary) {
  if (const auto known = find(content))
    return *known;
  const auto known = vocabulary.find(content);
  const int32_t id = known != vocabulary.end()
                         ? known->second
                         : static_cast<int32_t>(vocabulary.size() + beyond++);
  ids.emplace(content, id);
  return id;
}

std::optional<int32_t> AddedTokens::find(const std::string &content) const {
  const auto found = ids.find(content);
  if (found == ids.end())
    return std::nullopt;
  return found->second;
}

void AddedTokens::Tree::insert(const std::string &content, size_t token) {
  begins[static_cast<uint8_t>(content.front())] = true;
  size_t node = 0;
  for (const char byte : content) {
    const auto [entry, added] = nodes[node].next.emplace(byte, nodes.size());
    node = entry->second;
    if (added)
      nodes.emplace_back();
  }
  nodes[node].token = static_cast<ptrdiff_t>(token);
}

size_t AddedTokens::Tree::longest(std::string_view text, size_t &token) const {
  if (!begins[static_cast<uint8_t>(text.front())])
    return 0;
  size_t node = 0, length = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto next = nodes[node].next.find(text[at]);
    if (next == nodes[node].next.end())
      break;
    node = next->second;
    if (nodes[node].token >= 0) {
      token = static_cast<size_t>(nodes[node].token);
      length = at + 1;
    }
  }
  return length;
}

void AddedTokens::cut(std::string_view text, const Normalizer &normalizer,
                      const Sink &sink) const {
  cut_pass(literal, text, true,
           [&](std::string_view piece, const AddedToken *token, bool at_start) {
             if (token)
               sink(piece, token, at_start);
             else
               cut_pass(normalized, normalizer.apply(piece), at_start, sink);
           });
}

void AddedTokens::cut_pass(const Tree &tree, std::string_view text,
                           bool at_start, const Sink &sink) const {
  size_t done = 0; // Everything before has been given to the sink.
  size_t at = 0;
  while (at < text.size()) {
    size_t index = 0;
    const size_t length = tree.longest(text.substr(at), index);
    if (length == 0) {
      ++at;
      continue;
    }
    size_t start = at, end = at + length;
    at = end;
    const AddedToken &token = tokens[index];
    const std::string_view before = text.substr(0, start);
    if (token.single_word && (word.found_in(last_character(before)) ||
                              word.found_in(first_character(text.substr(end)))))
      continue;
    if (token.right_strip)
      while (end < text.size()) {
        const std::string_view first = first_character(text.substr(end));
        if (!space.found_in(first))
          break;
        end += first.size();
      }
    // White space that an earlier match took may be this one's content: it is
    // then both tokens', and the text goes on behind this one. One that takes
    // white space on its left begins where the earlier one ends, and is dropped
    // when nothing of it is left there.
    if (token.left_strip) {
      if (end <= done)
        continue;
      while (start > done) {
        const std::string_view last = last_character(text.substr(0, start));
        if (!space.found_in(last))
          break;
        start -= last.size();
      }
    }
    if (start > done)
      sink(text.substr(done, start - done), nullptr, at_start && done == 0);
    sink(text.substr(start, end - start), &token, at_start && start == 0);
    done = end;
  }
  if (done < text.size())
    sink(text.substr(done), nullptr, at_start && done == 0);
}

} // namespace baton
