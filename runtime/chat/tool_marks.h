//===- tool_marks.h - what a format of calls of tools is made of ----------===//
//
// Openings of calls and parameters are patterns: text in which $NAME stands for
// the name of a function, $ID for an identifier of the call, $INDEX for its
// number, $KEY for the name of a parameter and $TYPE for what a tag says of the
// type of its value.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CHAT_TOOL_MARKS_H
#define BATON_RUNTIME_CHAT_TOOL_MARKS_H

#include <cstddef>
#include <string>
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

} // namespace baton

#endif // BATON_RUNTIME_CHAT_TOOL_MARKS_H
