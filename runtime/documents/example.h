//===- example.h - a line of a .jsonl file of training data ---------------===//
//
// An object of one of these forms; other keys are ignored.
//
//   {"text": "..."}
//   {"prompt": "...", "completion": "..."}
//   {"messages": [{"role": "user", "content": "..."}, ...]}
//   {"prompt": [MESSAGE, ...], "completion": [MESSAGE, ...]}
//
// A line of a pair of answers, of which one is preferred, has "chosen" and
// "rejected", and the "prompt" of both:
//
//   {"prompt": "...", "chosen": "...", "rejected": "..."}
//   {"prompt": [MESSAGE, ...], "chosen": [MESSAGE, ...],
//    "rejected": [MESSAGE, ...]}
//
// or, without a prompt, both are whole texts or conversations that begin alike:
// what they have in common is the prompt. So it is where a prompt is a text,
// and answers are messages.
//
// Messages are those of /v1/chat/completions (runtime/chat/conversation.h), and
// beside them may stand "tools", also as a text of JSON, and
// "chat_template_kwargs", an object. An assistant's message may have a
// "weight": with 0 it is no target.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_DOCUMENTS_EXAMPLE_H
#define BATON_RUNTIME_DOCUMENTS_EXAMPLE_H

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace baton {

struct Example {
  /// Without messages: a text is a completion without a prompt.
  std::string prompt, completion;
  nlohmann::ordered_json messages = nullptr, tools = nullptr;
  nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
  /// Of each message, whether it is an answer to train with.
  std::vector<bool> answers;

  bool is_conversation() const { return messages.is_array(); }
};

/// Throws Error, which names the key at fault, for a line that is none.
Example parse_example(std::string_view line);

/// Two answers to one prompt: the one that is preferred, and the other one.
struct Preference {
  Example chosen, rejected;
};

/// Throws Error, which names the key at fault, for a line that is none.
Preference parse_preference(std::string_view line);

} // namespace baton

#endif // BATON_RUNTIME_DOCUMENTS_EXAMPLE_H
