//===- tool_format.h - how a model writes calls of tools and reasoning ----===//
//
// Each family of models was trained to write calls of tools in a way of its
// own. A ToolFormat is that way as data: what finds calls in an output
// (output_parser.h) and what constrains an output to calls (tool_grammar.h)
// are driven by the same description, so they cannot disagree. Which format a
// model has is told by its chat template, which writes past calls in it.
//
// Openings of calls and parameters are patterns: text in which $NAME stands for
// the name of a function, $ID for an identifier of the call, $INDEX for its
// number, $KEY for the name of a parameter and $TYPE for what a tag says of the
// type of its value.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CHAT_TOOL_FORMAT_H
#define BATON_RUNTIME_CHAT_TOOL_FORMAT_H

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// What stands between the opening and the end of a call.
enum class CallShape {
  /// {"name": …, "arguments": {…}}
  JsonObject,
  /// {"name of the function": {…arguments}}
  JsonPair,
  /// The opening names the function; its arguments as JSON follow.
  JsonArguments,
  /// The opening names the function; each parameter has a tag.
  Parameters,
  /// name(key='value', other=3), as Python writes it.
  Python,
  /// call:name{key:<|"|>value<|"|>,other:3}, as Gemma 4 writes it.
  Braces,
};

/// Models whose output is a row of messages, each with a header.
enum class MessageHeader {
  None,
  /// <|channel|>analysis<|message|>, to=functions.name (gpt-oss).
  Harmony,
  /// to=self, to=name or to=user, then <|message|> (Muse).
  Recipient,
  /// The name of a function or "all", and a line break (Functionary 3.2).
  Line,
};

struct ToolFormat {
  std::string name;
  CallShape shape = CallShape::JsonObject;

  /// Around the model's reasoning. Only an answer's beginning can open it.
  std::string reasoning_open = "<think>", reasoning_close = "</think>";

  /// Around all calls of an answer, or around each; may be empty.
  std::string section_open = {}, section_close = {};
  bool section_per_call = false;
  /// Patterns; constrained output is written with the first. May be empty
  /// where sections open.
  std::vector<std::string> call_openings = {};
  std::string call_close = {};
  /// Between two calls.
  std::string call_separator = {};
  /// Calls may stand at the beginning of an answer without any opening.
  bool bare = false;
  /// CallShape::JsonObject: the keys as constrained output writes them. An
  /// empty id_key leaves identifiers out. (All keys that models use are read.)
  std::string name_key = "name", arguments_key = "arguments", id_key = {};

  /// CallShape::Parameters. The pattern names $KEY; so may the close.
  std::string parameter_open = {}, parameter_close = {};
  /// A value has lines of its own: the line breaks around it are not of it.
  bool value_on_lines = false;
  /// A value may stand between <![CDATA[ and ]]>.
  bool value_in_cdata = false;

  MessageHeader header = MessageHeader::None;
  /// Before a header, and between it and its message.
  std::string header_open = {}, header_close = {};

  /// Around an answer that is neither reasoning nor calls; models may leave
  /// them out.
  std::string content_open = {}, content_close = {};
  /// Other marks with no meaning for a client, left out of the content.
  std::vector<std::string> dropped = {};
  /// Special tokens, by spelling, after which the model waits for the results
  /// of its calls: they end a turn though checkpoints need not list them.
  std::vector<std::string> stop_tokens = {};
  /// How many letters and digits an identifier of a call must have for the
  /// chat template to accept it; 0 where it takes any.
  size_t id_length = 0;
  /// The model's template says nothing of tools: tool_instructions() has to be
  /// added to the system message, and calls and results in the conversation be
  /// written as tool_call_text() and tool_result_text() write them.
  bool generic = false;
};

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
