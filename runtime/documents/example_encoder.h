//===- example_encoder.h - examples to tokens and targets -----------------===//
//
// Which tokens of an example are targets:
//
//   a text                    all
//   a prompt, a completion    those of the completion, and the token that ends
//                             a text, which is put behind it. A token that has
//                             a part in both is a target.
//   messages                  the assistant's: where the chat template has
//                             {% generation %}, what it marks; else what stands
//                             between the text of the messages before an
//                             answer, as the model is asked with it, and the
//                             text that the answer ends. White space behind the
//                             token that ends an answer is no target.
//
// A chat template that, without marks, writes an answer otherwise once more
// messages follow (reasoning that is left out later), makes of a conversation
// one document for each answer: the text that the model is asked with, and the
// answer.
//
// Tokens are those that a server makes of a prompt: the template's text is
// encoded as it is, behind the token that the tokenizer begins texts with,
// unless it is there.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_DOCUMENTS_EXAMPLE_ENCODER_H
#define BATON_RUNTIME_DOCUMENTS_EXAMPLE_ENCODER_H

#include "runtime/chat/conversation.h"
#include "runtime/documents/example.h"
#include "runtime/tokenizer/tokenizer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

enum class LossOn { Completions, All };

/// Throws Error that names --loss-on.
LossOn parse_loss_on(const std::string &text);

struct EncodedDocument {
  std::vector<int32_t> tokens;
  /// Of each token.
  std::vector<bool> is_target;
};

/// Immutable; threads may use one at once.
class ExampleEncoder {
public:
  struct Options {
    const Tokenizer *tokenizer = nullptr;
    /// Each byte is a token.
    bool bytes = false;
    /// Null: there is no chat template.
    const Conversation *conversation = nullptr;
    std::optional<int32_t> end_of_text = {};
    LossOn loss_on = LossOn::Completions;
  };
  explicit ExampleEncoder(const Options &options);

  /// One document, or several. Throws Error for messages that the chat template
  /// refuses, or that there is no template for.
  std::vector<EncodedDocument> encode(const Example &example) const;

private:
  std::vector<int32_t> encode_text(std::string_view text) const;
  EncodedDocument document(std::string_view text,
                           const std::vector<jinja::TextSpan> &spans,
                           bool ends_with_turns) const;
  std::vector<EncodedDocument> encode_conversation(const Example &own) const;
  std::vector<EncodedDocument> encode_marked(const Example &own) const;
  std::vector<EncodedDocument> encode_turns(const Example &own) const;
  std::string rendered(const Example &own, size_t messages, bool asks) const;
  jinja::TextSpan answer_span(const Example &own, size_t answer,
                              const std::string &text) const;

  Options options;
  std::optional<int32_t> begin_of_text;
};

} // namespace baton

#endif // BATON_RUNTIME_DOCUMENTS_EXAMPLE_ENCODER_H
