//===- example_encoder.cpp - examples to tokens and targets ---------------===//

#include "runtime/documents/example_encoder.h"

#include "runtime/documents/token_spans.h"
#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <algorithm>

namespace baton {

LossOn parse_loss_on(const std::string &text) {
  if (text == "completions")
    return LossOn::Completions;
  if (text == "all")
    return LossOn::All;
  throw Error("--loss-on: expected completions or all, not " +
              quote_name(text));
}

ExampleEncoder::ExampleEncoder(const Options &wanted) : options(wanted) {
  if (options.bytes)
    return;
  const std::vector<int32_t> whole = options.tokenizer->encode("a"),
                             plain = encode_text("a");
  if (!whole.empty() && !plain.empty() && whole.front() != plain.front())
    begin_of_text = whole.front();
}

std::vector<int32_t> ExampleEncoder::encode_text(std::string_view text) const {
  if (!options.bytes)
    return options.tokenizer->encode(text, /*add_special_tokens=*/false);
  std::vector<int32_t> tokens;
  for (unsigned char byte : text)
    tokens.push_back(byte);
  return tokens;
}

/// `ends_with_turns`: of each span, white space behind its last special token
/// is no target.
EncodedDocument
ExampleEncoder::document(std::string_view text,
                         const std::vector<jinja::TextSpan> &spans,
                         bool ends_with_turns) const {
  EncodedDocument result;
  result.tokens = encode_text(text);
  result.is_target.assign(result.tokens.size(), false);
  auto is_space = [&](int32_t token) {
    return std::ranges::all_of(
        options.tokenizer->token_bytes(token), [](char letter) {
          return letter == ' ' || letter == '\n' || letter == '\r';
        });
  };
  for (const jinja::TextSpan &span :
       token_spans(*options.tokenizer, text, result.tokens, spans,
                   [&](std::string_view part) { return encode_text(part); })) {
    size_t end = span.end;
    if (ends_with_turns) {
      while (end > span.first &&
             !options.tokenizer->is_special(result.tokens[end - 1]) &&
             is_space(result.tokens[end - 1]))
        --end;
      if (end == span.first ||
          !options.tokenizer->is_special(result.tokens[end - 1]))
        end = span.end;
    }
    std::fill(result.is_target.begin() + static_cast<ptrdiff_t>(span.first),
              result.is_target.begin() + static_cast<ptrdiff_t>(end), true);
  }
  if (begin_of_text &&
      (result.tokens.empty() || result.tokens.front() != *begin_of_text)) {
    result.tokens.insert(result.tokens.begin(), *begin_of_text);
    result.is_target.insert(result.is_target.begin(), false);
  }
  return result;
}

std::vector<EncodedDocument>
ExampleEncoder::encode(const Example &example) const {
  if (example.is_conversation())
    return encode_conversation(example);
  const std::string text = example.prompt + example.completion;
  const size_t first =
      options.loss_on == LossOn::All ? 0 : example.prompt.size();
  EncodedDocument result =
      document(text, {{first, text.size()}}, /*ends_with_turns=*/false);
  if (options.end_of_text &&
      (result.tokens.empty() || result.tokens.back() != *options.end_of_text)) {
    result.tokens.push_back(*options.end_of_text);
    result.is_target.push_back(true);
  }
  return {std::move(result)};
}

std::string ExampleEncoder::rendered(const Example &own, size_t messages,
                                     bool asks) const {
  ConversationInput input;
  input.messages = nlohmann::ordered_json::array();
  for (size_t i = 0; i < messages; ++i)
    input.messages.push_back(own.messages[i]);
  input.tools = own.tools;
  input.arguments = own.arguments;
  input.add_generation_prompt = asks;
  return options.conversation->prompt(input);
}

std::vector<EncodedDocument>
ExampleEncoder::encode_conversation(const Example &own) const {
  if (!options.conversation)
    throw Error("messages: the checkpoint has no chat template "
                "(chat_template.jinja, or \"chat_template\" of "
                "tokenizer_config.json) to write them with");
  if (options.loss_on == LossOn::All) {
    const std::string text = rendered(own, own.messages.size(), false);
    return {document(text, {{0, text.size()}}, /*ends_with_turns=*/false)};
  }
  return options.conversation->marks_answers() ? encode_marked(own)
                                               : encode_turns(own);
}

std::vector<EncodedDocument>
ExampleEncoder::encode_marked(const Example &own) const {
  ConversationInput input;
  input.messages = own.messages;
  input.tools = own.tools;
  input.arguments = own.arguments;
  input.add_generation_prompt = false;
  std::vector<jinja::TextSpan> marked;
  const std::string text = options.conversation->prompt(input, &marked);
  // A mark is of the assistant's next message, unless some have none.
  std::vector<bool> wanted;
  for (size_t i = 0; i < own.answers.size(); ++i)
    if (own.messages[i]["role"] == "assistant")
      wanted.push_back(own.answers[i]);
  if (std::ranges::count(wanted, false)) {
    if (wanted.size() != marked.size())
      throw Error("messages: the chat template marks " +
                  std::to_string(marked.size()) + " answers of " +
                  std::to_string(wanted.size()) +
                  "; which of them are no targets cannot be said");
    std::vector<jinja::TextSpan> chosen;
    for (size_t i = 0; i < marked.size(); ++i)
      if (wanted[i])
        chosen.push_back(marked[i]);
    marked = std::move(chosen);
  }
  return {document(text, marked, /*ends_with_turns=*/false)};
}

/// Where in a text, of the messages up to an answer, the answer is.
jinja::TextSpan ExampleEncoder::answer_span(const Example &own, size_t answer,
                                            const std::string &text) const {
  if (answer == 0)
    return {0, text.size()};
  auto common = [&](const std::string &other) {
    return static_cast<size_t>(
        std::mismatch(text.begin(), text.end(), other.begin(), other.end())
            .first -
        text.begin());
  };
  const std::string asked = rendered(own, answer, /*asks=*/true);
  size_t first = common(asked);
  if (first < asked.size()) {
    // What the model is asked with begins the answer, too, as reasoning does.
    const std::string before = rendered(own, answer, /*asks=*/false);
    if (common(before) < before.size())
      throw Error("messages[" + std::to_string(answer) +
                  "]: the chat template writes the messages before this "
                  "answer otherwise once it is there; put {% generation %} "
                  "around answers in the template, or train with "
                  "--loss-on=all");
    // At the beginning of a character.
    while (first > before.size() &&
           (static_cast<unsigned char>(text[first]) & 0xc0) == 0x80)
      --first;
  }
  return {first, text.size()};
}

std::vector<EncodedDocument>
ExampleEncoder::encode_turns(const Example &own) const {
  const std::string all = rendered(own, own.messages.size(), false);
  std::vector<std::string> texts;
  std::vector<jinja::TextSpan> spans;
  bool is_stable = true;
  for (size_t i = 0; i < own.answers.size(); ++i) {
    if (!own.answers[i])
      continue;
    texts.push_back(i + 1 == own.answers.size() ? all
                                                : rendered(own, i + 1, false));
    is_stable = is_stable && all.starts_with(texts.back());
    spans.push_back(answer_span(own, i, texts.back()));
  }
  if (is_stable)
    return {document(all, spans, /*ends_with_turns=*/true)};
  std::vector<EncodedDocument> result;
  for (size_t i = 0; i < texts.size(); ++i)
    result.push_back(document(texts[i], {spans[i]}, /*ends_with_turns=*/true));
  return result;
}

} // namespace baton
