//===- tool_grammar.h - what an answer may be, as a grammar ---------------===//
//
// Keeps a model to calls that its tools accept, written as its format writes
// them, so that output_parser.h finds them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CHAT_TOOL_GRAMMAR_H
#define BATON_RUNTIME_CHAT_TOOL_GRAMMAR_H

#include "runtime/chat/tool_declaration.h"
#include "runtime/chat/tool_format.h"
#include "runtime/grammar/grammar.h"

#include <functional>
#include <string_view>
#include <vector>

namespace baton {

struct AnswerGrammarOptions {
  /// What the prompt leaves the answer to begin in.
  OutputStart start = OutputStart::Content;
  /// The answer may begin with reasoning, which is free text. Where the prompt
  /// has opened it, it always does.
  bool reasoning = true;
  /// More than one call.
  bool parallel_calls = true;
  /// Whether the vocabulary has a special token of this spelling: marks are
  /// then written with it, and not in the text's own tokens.
  std::function<bool(std::string_view spelling)> is_special_token;
};

/// tool_choice "auto": text that may have calls in it, of which the arguments
/// keep to the schemas of the tools. Throws Error that names the tool whose
/// schema is at fault.
Grammar optional_calls_grammar(const ToolFormat &format,
                               const std::vector<ToolDeclaration> &tools,
                               const AnswerGrammarOptions &options);

/// tool_choice "required", or a named function, where it is the only one of
/// `tools`: nothing but calls, one at least. Throws Error as above.
Grammar required_calls_grammar(const ToolFormat &format,
                               const std::vector<ToolDeclaration> &tools,
                               const AnswerGrammarOptions &options);

/// response_format: an answer that keeps to `answer`, with its reasoning and
/// the format's marks around it.
Grammar answer_grammar(const ToolFormat &format, const Grammar &answer,
                       const AnswerGrammarOptions &options);

} // namespace baton

#endif // BATON_RUNTIME_CHAT_TOOL_GRAMMAR_H
