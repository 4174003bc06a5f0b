//===- chat_template.h - how a model writes a conversation ----------------===//

#ifndef BATON_RUNTIME_TOKENIZER_CHAT_TEMPLATE_H
#define BATON_RUNTIME_TOKENIZER_CHAT_TEMPLATE_H

#include <filesystem>
#include <optional>
#include <string>

namespace baton {

/// A template in Jinja, which makes a prompt of messages, and the special
/// tokens that it may name.
struct ChatTemplate {
  std::string text;
  /// Empty where the checkpoint names none.
  std::string begin_token, end_token;
};

/// That of a checkpoint: a GGUF file's tokenizer.chat_template, or in a folder
/// chat_template.jinja, or "chat_template" of tokenizer_config.json, of several
/// the one called "default". Nothing where there is none. Throws Error that
/// names the file.
std::optional<ChatTemplate>
find_chat_template(const std::filesystem::path &checkpoint);

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_CHAT_TEMPLATE_H
