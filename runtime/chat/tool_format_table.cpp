//===- tool_format_table.cpp - the formats there are, and their signs -----===//
//
// White space in the marks is as the models' own templates write it, since
// constrained output is written with it. The parser does not depend on it.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/tool_format_table.h"

#include <iterator>

namespace baton {
namespace {

/// Output that consists of messages, which have headers.
std::vector<KnownFormat> message_formats() {
  return {
      {{.name = "muse",
        .shape = CallShape::Parameters,
        .reasoning_open = "",
        .reasoning_close = "<|eom|>",
        .section_open = "<atem:function_calls>\n",
        .section_close = "</atem:function_calls>",
        .section_per_call = true,
        .call_openings = {"<atem:invoke name=\"$NAME\">\n"},
        .call_close = "</atem:invoke>\n",
        .parameter_open = "<atem:parameter name=\"$KEY\">",
        .parameter_close = "</atem:parameter>\n",
        .header = MessageHeader::Recipient,
        .header_open = "<|start|>assistant",
        .header_close = "<|message|>",
        .dropped = {"<|eom|>", "<|eot|>"}},
       {{"<atem:function_calls>"}}},
      {{.name = "harmony",
        .shape = CallShape::JsonArguments,
        .reasoning_open = "",
        .reasoning_close = "<|end|>",
        .call_close = "<|call|>",
        .header = MessageHeader::Harmony,
        .header_open = "<|start|>assistant",
        .header_close = "<|message|>",
        .dropped = {"<|end|>", "<|return|>", "<|call|>"},
        .stop_tokens = {"<|call|>", "<|return|>"}},
       {{"<|channel|>", "<|message|>"}}},
      {{.name = "functionary-3.2",
        .shape = CallShape::JsonArguments,
        .header = MessageHeader::Line,
        .header_open = ">>>",
        .header_close = "\n",
        .stop_tokens = {"<|eom_id|>"}},
       {{">>>all"}}},
      {{.name = "kimi-k3",
        .shape = CallShape::Parameters,
        .reasoning_open = "<|open|>think<|sep|>",
        .reasoning_close = "<|close|>think<|sep|>",
        .section_open = "<|open|>tools<|sep|>",
        .section_close = "<|close|>tools<|sep|>",
        .call_openings =
            {"<|open|>call tool=\"$NAME\" index=\"$INDEX\"<|sep|>"},
        .call_close = "<|close|>call<|sep|>",
        .parameter_open = "<|open|>argument key=\"$KEY\" type=\"$TYPE\"<|sep|>",
        .parameter_close = "<|close|>argument<|sep|>",
        .content_open = "<|open|>response<|sep|>",
        .content_close = "<|close|>response<|sep|>",
        .dropped = {"<|close|>message<|sep|>", "<|end_of_msg|>"},
        .stop_tokens = {"<|end_of_msg|>"}},
       {{"<|open|>", "<|close|>", "<|sep|>"}}},
      {{.name = "solar",
        .shape = CallShape::JsonArguments,
        .reasoning_open = "<|think|>",
        .reasoning_close = "<|end|><|begin|>assistant",
        .section_open = "<|tool_calls|>",
        .section_close = "<|calls|>",
        .call_openings = {"<|tool_call:begin|>$ID<|tool_call:name|>$NAME"
                          "<|tool_call:args|>"},
        .call_close = "<|tool_call:end|>",
        .content_open = "<|content|>",
        .dropped = {"<|begin|>assistant", "<|end|>"},
        .stop_tokens = {"<|calls|>"},
        .id_length = 10},
       {{"<|tool_call:begin|>"}}},
  };
}

/// The opening names the function, and its arguments are JSON.
std::vector<KnownFormat> named_formats() {
  return {
      {{.name = "kimi-k2",
        .shape = CallShape::JsonArguments,
        .section_open = "<|tool_calls_section_begin|>",
        .section_close = "<|tool_calls_section_end|>",
        .call_openings = {"<|tool_call_begin|>$ID"
                          "<|tool_call_argument_begin|>"},
        .call_close = "<|tool_call_end|>"},
       {{"<|tool_calls_section_begin|>"}}},
      {{.name = "deepseek-r1",
        .shape = CallShape::JsonArguments,
        .section_open = "<｜tool▁calls▁begin｜>",
        .section_close = "<｜tool▁calls▁end｜>",
        .call_openings = {"<｜tool▁call▁begin｜>function<｜tool▁sep｜>$NAME\n"
                          "```json\n"},
        .call_close = "\n```<｜tool▁call▁end｜>",
        .call_separator = "\n"},
       {{"<｜tool▁calls▁begin｜>", "```json"}}},
      {{.name = "deepseek-v3.1",
        .shape = CallShape::JsonArguments,
        .section_open = "<｜tool▁calls▁begin｜>",
        .section_close = "<｜tool▁calls▁end｜>",
        .call_openings = {"<｜tool▁call▁begin｜>$NAME<｜tool▁sep｜>"},
        .call_close = "<｜tool▁call▁end｜>"},
       {{"<｜tool▁calls▁begin｜>"}}},
      {{.name = "mistral-id",
        .shape = CallShape::JsonArguments,
        .reasoning_open = "[THINK]",
        .reasoning_close = "[/THINK]",
        .call_openings = {"[TOOL_CALLS]$NAME[CALL_ID]$ID[ARGS]",
                          "[TOOL_CALLS]$NAME[ARGS]"},
        .id_length = 9},
       {{"[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"}}},
      {{.name = "mistral-name",
        .shape = CallShape::JsonArguments,
        .reasoning_open = "[THINK]",
        .reasoning_close = "[/THINK]",
        .call_openings = {"[TOOL_CALLS]$NAME[ARGS]",
                          "[TOOL_CALLS]$NAME[CALL_ID]$ID[ARGS]"},
        .id_length = 9},
       {{"[TOOL_CALLS]", "[ARGS]"}}},
  };
}

/// Each parameter has a tag of its own.
std::vector<KnownFormat> parameter_formats() {
  const auto dsml = [](std::string name, const std::string &section) {
    return ToolFormat{
        .name = std::move(name),
        .shape = CallShape::Parameters,
        .section_open = "<｜DSML｜" + section + ">\n",
        .section_close = "</｜DSML｜" + section + ">",
        .call_openings = {"<｜DSML｜invoke name=\"$NAME\">\n"},
        .call_close = "</｜DSML｜invoke>\n",
        .parameter_open = "<｜DSML｜parameter name=\"$KEY\" string=\"$TYPE\">",
        .parameter_close = "</｜DSML｜parameter>\n",
    };
  };
  return {
      {dsml("deepseek-v3.2", "function_calls"),
       {{"｜DSML｜", "function_calls>"}}},
      {dsml("deepseek-v4", "tool_calls"), {{"｜DSML｜"}}},
      {{.name = "minimax-m3",
        .shape = CallShape::Parameters,
        .reasoning_open = "<mm:think>",
        .reasoning_close = "</mm:think>",
        .section_open = "]<]minimax[>[<tool_call>\n",
        .section_close = "]<]minimax[>[</tool_call>",
        .call_openings = {"]<]minimax[>[<invoke name=\"$NAME\">"},
        .call_close = "]<]minimax[>[</invoke>\n",
        .parameter_open = "]<]minimax[>[<$KEY>",
        .parameter_close = "]<]minimax[>[</$KEY>"},
       {{"]<]minimax[>["}}},
      {{.name = "minimax-m2",
        .shape = CallShape::Parameters,
        .section_open = "<minimax:tool_call>\n",
        .section_close = "</minimax:tool_call>",
        .call_openings = {"<invoke name=\"$NAME\">\n"},
        .call_close = "</invoke>\n",
        .parameter_open = "<parameter name=\"$KEY\">",
        .parameter_close = "</parameter>\n"},
       {{"<minimax:tool_call>"}}},
      {{.name = "seed-oss",
        .shape = CallShape::Parameters,
        .reasoning_open = "<seed:think>",
        .reasoning_close = "</seed:think>",
        .section_open = "<seed:tool_call>\n",
        .section_close = "\n</seed:tool_call>",
        .section_per_call = true,
        .call_openings = {"<function=$NAME>\n"},
        .call_close = "</function>",
        .call_separator = "\n",
        .parameter_open = "<parameter=$KEY>",
        .parameter_close = "</parameter>\n"},
       {{"<seed:tool_call>"}}},
      {{.name = "hunyuan",
        .shape = CallShape::Parameters,
        .reasoning_open = "<think:opensource>",
        .reasoning_close = "</think:opensource>",
        .section_open = "<tool_calls:opensource>\n",
        .section_close = "\n</tool_calls:opensource>",
        .call_openings = {"<tool_call:opensource>$NAME<tool_sep:opensource>\n"},
        .call_close = "</tool_call:opensource>",
        .call_separator = "\n",
        .parameter_open = "<arg_key:opensource>$KEY</arg_key:opensource>\n"
                          "<arg_value:opensource>",
        .parameter_close = "</arg_value:opensource>\n"},
       {{":opensource", "tool_sep"}}},
      {{.name = "glm-4.5",
        .shape = CallShape::Parameters,
        .call_openings = {"<tool_call>$NAME\n"},
        .call_close = "</tool_call>",
        .call_separator = "\n",
        .parameter_open = "<arg_key>$KEY</arg_key>\n<arg_value>",
        .parameter_close = "</arg_value>\n"},
       {{"</arg_key>\\n<arg_value>"}, {"</arg_key>\n<arg_value>"}}},
      {{.name = "glm-4.7",
        .shape = CallShape::Parameters,
        .call_openings = {"<tool_call>$NAME"},
        .call_close = "</tool_call>",
        .parameter_open = "<arg_key>$KEY</arg_key><arg_value>",
        .parameter_close = "</arg_value>"},
       {{"<arg_key>"}}},
      {{.name = "minicpm5",
        .shape = CallShape::Parameters,
        .call_openings = {"<function name=\"$NAME\">"},
        .call_close = "</function>",
        .call_separator = "\n",
        .parameter_open = "<param name=\"$KEY\">",
        .parameter_close = "</param>",
        .value_in_cdata = true},
       {{"<param name="}}},
      {{.name = "qwen3-coder",
        .shape = CallShape::Parameters,
        .section_open = "<tool_call>\n",
        .section_close = "\n</tool_call>",
        .section_per_call = true,
        .call_openings = {"<function=$NAME>\n"},
        .call_close = "</function>",
        .call_separator = "\n",
        .parameter_open = "<parameter=$KEY>\n",
        .parameter_close = "\n</parameter>\n",
        .value_on_lines = true},
       {{"<function=", "<parameter="}}},
  };
}

/// Functions as a programming language calls them.
std::vector<KnownFormat> language_formats() {
  return {
      {{.name = "gemma-4",
        .shape = CallShape::Braces,
        .reasoning_open = "<|channel>thought\n",
        .reasoning_close = "<channel|>",
        .call_openings = {"<|tool_call>call:"},
        .call_close = "<tool_call|>",
        .stop_tokens = {"<|tool_response>"}},
       {{"<|tool_call>call:"}}},
      {{.name = "lfm2",
        .shape = CallShape::Python,
        .section_open = "<|tool_call_start|>[",
        .section_close = "]<|tool_call_end|>",
        .call_separator = ", "},
       {{"<|tool_call_start|>"},
        {"<|tool_list_start|>"},
        {"List of tools: ["}}},
  };
}

/// The name is in the JSON.
std::vector<KnownFormat> object_formats() {
  // Of a list of objects between two marks.
  const auto list = [](std::string name, const std::string &open,
                       const std::string &close) {
    return ToolFormat{.name = std::move(name),
                      .section_open = open + "[",
                      .section_close = "]" + close,
                      .call_separator = ", "};
  };
  std::vector<KnownFormat> formats = {
      {{.name = "command-r7b",
        .reasoning_open = "<|START_THINKING|>",
        .reasoning_close = "<|END_THINKING|>",
        .section_open = "<|START_ACTION|>[\n    ",
        .section_close = "\n]<|END_ACTION|>",
        .call_separator = ",\n    ",
        .name_key = "tool_name",
        .arguments_key = "parameters",
        .id_key = "tool_call_id",
        .content_open = "<|START_RESPONSE|>",
        .content_close = "<|END_RESPONSE|>"},
       {{"<|START_ACTION|>"}}},
      {{.name = "command-r",
        .section_open = "Action:\n```json\n[\n",
        .section_close = "\n]```",
        .call_separator = ",\n",
        .name_key = "tool_name",
        .arguments_key = "parameters"},
       {{"Action:", "```json", "tool_name"}}},
      {list("mistral", "[TOOL_CALLS]", ""), {{"[TOOL_CALLS]"}}},
      {list("apertus", "<|tools_prefix|>", "<|tools_suffix|>"),
       {{"<|tools_prefix|>"}}},
      {list("nemotron-v2", "<TOOLCALL>", "</TOOLCALL>"), {{"<TOOLCALL>"}}},
      {list("apriel", "<tool_calls>", "</tool_calls>"),
       {{"<tool_calls>", "[BEGIN FINAL RESPONSE]"}}},
      {{.name = "minimax-m1",
        .section_open = "<tool_calls>\n",
        .section_close = "\n</tool_calls>",
        .call_separator = "\n"},
       {{"<tool_calls>"}}},
      {list("firefunction", "functools", ""), {{"functools["}}},
      {list("phi-4-mini", "functools", ""), {{"<|tool|>"}}},
      {list("granite-3", "<|tool_call|>", ""), {{"<|tool_call|>"}}},
      {{.name = "gigachat-3.1", .call_openings = {"<|function_call|>"}},
       {{"<|function_call|>"}}},
      {{.name = "gigachat-3",
        .call_openings = {"<|message_sep|>\n\nfunction call<|role_sep|>\n"}},
       {{"function call", "<|role_sep|>"}}},
  };
  KnownFormat command_a = formats.front();
  command_a.format.name = "command-a";
  command_a.format.content_open = "<|START_TEXT|>";
  command_a.format.content_close = "<|END_TEXT|>";
  command_a.signs = {{"<|START_ACTION|>", "<|START_TEXT|>"}};
  formats.insert(formats.begin(), std::move(command_a));
  for (auto &[format, signs] : formats) {
    if (format.name == "mistral") {
      format.id_length = 9;
    } else if (format.name == "apertus") {
      format.shape = CallShape::JsonPair;
      format.reasoning_open = "<|inner_prefix|>";
      format.reasoning_close = "<|inner_suffix|>";
    } else if (format.name == "apriel") {
      format.reasoning_open = "Here are my reasoning steps:\n";
      format.reasoning_close = "\n[BEGIN FINAL RESPONSE]\n";
      format.content_close = "[END FINAL RESPONSE]";
    } else if (format.name == "phi-4-mini") {
      format.call_openings = {"", "<|tool_call|>["};
      format.dropped = {"<|/tool_call|>"};
    }
  }
  return formats;
}

/// Signs that are part of other formats' signs.
std::vector<KnownFormat> common_formats() {
  const ToolFormat hermes = {.name = "hermes",
                             .call_openings = {"<tool_call>\n"},
                             .call_close = "\n</tool_call>",
                             .call_separator = "\n"};
  ToolFormat generic = hermes;
  generic.name = "generic";
  generic.generic = true;
  return {
      {{.name = "functionary-3.1",
        .shape = CallShape::JsonArguments,
        .call_openings = {"<function=$NAME>"},
        .call_close = "</function>",
        .stop_tokens = {"<|eom_id|>"}},
       {{"<function="}}},
      {hermes, {{"<tool_call>"}}},
      {{.name = "llama-3",
        .call_openings = {"", "<|python_tag|>"},
        .call_separator = "; ",
        .bare = true,
        .arguments_key = "parameters",
        .stop_tokens = {"<|eom_id|>"}},
       {{"<|python_tag|>"}, {"{\"name\": ", "\"parameters\": "}}},
      {generic, {}},
  };
}

} // namespace

std::vector<KnownFormat> known_formats() {
  std::vector<KnownFormat> all;
  for (const auto group : {message_formats, named_formats, parameter_formats,
                           language_formats, object_formats, common_formats}) {
    std::vector<KnownFormat> formats = group();
    all.insert(all.end(), std::make_move_iterator(formats.begin()),
               std::make_move_iterator(formats.end()));
  }
  return all;
}

} // namespace baton
