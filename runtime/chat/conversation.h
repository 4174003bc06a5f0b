//===- conversation.h - messages to the prompt of an answer ---------------===//
//
// A checkpoint's chat template writes messages as the model was trained to read
// them. Templates differ in what they take: some want texts where others want
// lists of parts, some refuse system messages, some say nothing of tools. What
// a template can do is tried out once, and messages are put the way it takes
// them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CHAT_CONVERSATION_H
#define BATON_RUNTIME_CHAT_CONVERSATION_H

#include "runtime/chat/tool_format.h"
#include "runtime/jinja/template.h"
#include "runtime/tokenizer/chat_template.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace baton {

struct ConversationInput {
  /// As /v1/chat/completions has them.
  nlohmann::ordered_json messages;
  /// A list, or null.
  nlohmann::ordered_json tools = nullptr;
  /// An object: more variables of the template.
  nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
  /// The last message, an assistant's, is the beginning of the answer.
  bool continues = false;
  /// Otherwise the text ends behind the last message.
  bool add_generation_prompt = true;
};

/// Immutable; threads may use one at once.
class Conversation {
public:
  /// Throws Error, naming the line and column, for a template that cannot be
  /// read; `name` stands for it.
  Conversation(ChatTemplate source, const std::string &name);

  /// The text whose continuation is the answer. Throws Error that names the
  /// message at fault, or with the words of the template.
  /// `generated`, of a text that does not continue a message: what its answers
  /// are, where the template marks them.
  std::string prompt(const ConversationInput &input,
                     std::vector<jinja::TextSpan> *generated = nullptr) const;

  /// Whether the template has {% generation %} around answers.
  bool marks_answers() const;

  const ToolFormat &tool_format() const { return format; }
  const std::string &template_text() const { return source.text; }
  const std::string &begin_token() const { return source.begin_token; }

private:
  using Json = nlohmann::ordered_json;

  std::string render(const Json &messages, const Json &tools,
                     const Json &arguments, bool add_generation_prompt,
                     std::vector<jinja::TextSpan> *generated = nullptr) const;
  std::string try_out(const Json &messages, const Json &tools = nullptr) const;
  Json adapt(const ConversationInput &input) const;
  void adapt_tools(Json &messages, const Json &tools) const;

  ChatTemplate source;
  jinja::Template text;
  ToolFormat format;
  bool takes_system = true, takes_parts = false, takes_objects = true,
       takes_thinking = false;
};

} // namespace baton

#endif // BATON_RUNTIME_CHAT_CONVERSATION_H
