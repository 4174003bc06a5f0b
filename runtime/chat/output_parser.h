//===- output_parser.h - a model's text to content, reasoning and calls ---===//
//
// A model writes its reasoning and its calls of tools into the same text as its
// answer, with marks of its own (tool_format.h). The parser takes the text in
// pieces and says at once what is certain: what may be the beginning of a mark
// is held back until more text decides. How a text is cut into pieces changes
// only how its deltas are, never what they are when joined.
//
// What looks like a call and turns out not to be one is content, to the byte.
// White space next to a mark belongs to the mark.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CHAT_OUTPUT_PARSER_H
#define BATON_RUNTIME_CHAT_OUTPUT_PARSER_H

#include "runtime/chat/tool_declaration.h"
#include "runtime/chat/tool_format.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

struct ChatDelta {
  enum Kind {
    /// `text` continues the answer.
    Content,
    /// `text` continues the reasoning.
    Reasoning,
    /// Call number `call`, from 0, has the name `text` and the identifier `id`.
    CallBegin,
    /// `text` continues the arguments, a JSON object, of the call.
    CallArguments,
    /// Nothing of the call follows.
    CallEnd
  } kind = Content;
  std::string text;
  size_t call = 0;
  std::string id;
  /// CallEnd: the arguments are whole. They are not where the output ends
  /// within a call, or goes on with what cannot stand in one.
  bool complete = true;

  bool operator==(const ChatDelta &) const = default;
};

struct OutputParserOptions {
  /// What the prompt leaves the output to begin in: find_output_start().
  OutputStart start = OutputStart::Content;
  /// Those that the model may call; where there are none, what looks like a
  /// call is content.
  std::vector<ToolDeclaration> tools;
  /// The identifier of call number `call`, where the model gives none itself.
  std::function<std::string(size_t call)> make_id;
};

/// Parses one output. Used by one thread at a time.
class OutputParser {
public:
  OutputParser(ToolFormat format, OutputParserOptions options);
  ~OutputParser();
  OutputParser(OutputParser &&) noexcept;
  OutputParser &operator=(OutputParser &&) noexcept;

  /// Takes the next piece of the output: whole characters, if deltas have to
  /// be.
  std::vector<ChatDelta> push(std::string_view text);
  /// The output has ended. The parser takes no more.
  std::vector<ChatDelta> finish();

private:
  class Machine;
  std::unique_ptr<Machine> machine;
};

/// Letters and digits of `random` numbers, `length` of them: an identifier of
/// the kind that chat templates accept (ToolFormat::id_length).
std::string random_call_id(const std::function<unsigned()> &random,
                           size_t length);

} // namespace baton

#endif // BATON_RUNTIME_CHAT_OUTPUT_PARSER_H
