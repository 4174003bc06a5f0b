//===- tool_format.h - how a model writes calls of tools and reasoning ----===//
//
// Each family of models was trained to write calls of tools in a way of its
// own. A ToolFormat is that way as data: what finds calls in an output
// (output_parser.h) and what constrains an output to calls (tool_grammar.h)
// are driven by the same description, so they cannot disagree. Which format a
// model has is told by its chat template, which writes past calls in it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CHAT_TOOL_FORMAT_H
#define BATON_RUNTIME_CHAT_TOOL_FORMAT_H

#include "runtime/chat/tool_marks.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// The format that a chat template (Jinja) uses. A template that shows no known
/// format has the generic one.
ToolFormat find_tool_format(std::string_view template_text);

/// That of a name, such as "hermes". Throws Error that lists the names.
ToolFormat tool_format_named(std::string_view name);

/// All formats, in no order that matters.
std::vector<std::string> tool_format_names();

/// Whether a special token of this spelling is a part of some mark of the
/// format. Such tokens have to be decoded to text before the text is parsed;
/// all other special tokens have to be left out of it.
bool is_marker_token(const ToolFormat &format, std::string_view spelling);

/// What a prompt leaves an answer to begin in.
enum class OutputStart { Content, Reasoning, Header };

/// That of the prompt which a template has made, with its generation prompt.
OutputStart find_output_start(const ToolFormat &format,
                              std::string_view prompt);

/// For a generic format: what tells the model of the tools and how to call
/// them; to be added to the system message.
std::string tool_instructions(const nlohmann::ordered_json &tools);
/// For a generic format: a call in the text of an assistant's message, and a
/// result in the text of a user's. `arguments` is a JSON text.
std::string tool_call_text(std::string_view name, std::string_view arguments);
std::string tool_result_text(std::string_view name, std::string_view result);

} // namespace baton

#endif // BATON_RUNTIME_CHAT_TOOL_FORMAT_H
