//===- messages_request.cpp - /v1/messages as a chat completion -----------===//

#include "runtime/error.h"
#include "runtime/serve/chat_request.h"
#include "runtime/serve/dialect_request.h"
#include "runtime/weights/message.h"

#include <string>
#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// A line more of a message's text.
void add_line(Json &message, const char *key, const std::string &text) {
  const auto before = message.value(key, std::string());
  message[key] = before.empty() ? text : before + "\n" + text;
}

/// The message that a block belongs to: those of one role in a row are one
/// turn, as templates want roles to alternate.
Json &turn_of(Json &messages, const std::string &role) {
  if (messages.empty() || messages.back()["role"] != role)
    messages.push_back({{"role", role}, {"content", ""}});
  return messages.back();
}

void add_tool_result(Json &messages, const Json &block,
                     const std::string &place) {
  const std::string id = read_text(block, "tool_use_id", place);
  std::string text;
  if (const Json *content = find_value(block, "content"))
    text = read_texts(*content, place + ".content", {"text"});
  // Templates have no other word for it.
  if (const Json *failed = find_value(block, "is_error");
      failed && *failed == true)
    text = text.empty() ? "Error" : "Error: " + text;
  messages.push_back(
      {{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(text)}});
}

void add_tool_use(Json &messages, const Json &block, const std::string &place) {
  Json call = chat_function(read_text(block, "name", place));
  call["id"] = read_text(block, "id", place);
  call["function"]["arguments"] = Json::object();
  if (find_value(block, "input"))
    call["function"]["arguments"] = read_object(block, "input", place);
  Json &calls = turn_of(messages, "assistant")["tool_calls"];
  if (calls.is_null())
    calls = Json::array();
  calls.push_back(std::move(call));
}

void add_block(Json &messages, const Json &block, const std::string &role,
               const std::string &place) {
  if (!block.is_object())
    throw Error(place + ": expected an object");
  const std::string type = read_text(block, "type", place);
  const bool is_users = role == "user";
  if (type == "text")
    return add_line(turn_of(messages, role), "content",
                    read_text(block, "text", place));
  if (type == "tool_result" && is_users)
    return add_tool_result(messages, block, place);
  if (type == "tool_use" && !is_users)
    return add_tool_use(messages, block, place);
  if (type == "thinking" && !is_users)
    return add_line(turn_of(messages, role), "reasoning_content",
                    read_text(block, "thinking", place));
  // Only who made it can read it.
  if (type == "redacted_thinking" && !is_users)
    return;
  if (type == "tool_result" || type == "tool_use" || type == "thinking")
    throw Error(place + ": " + quote_name(type) + " is not for messages of " +
                (is_users ? "users" : "assistants"));
  throw Error(place + ": this model reads text only, no " + quote_name(type));
}

void add_message(Json &messages, const Json &message,
                 const std::string &place) {
  if (!message.is_object())
    throw Error(place + ": expected an object");
  const std::string role = read_text(message, "role", place);
  if (role == "system")
    throw Error(place + ".role: give what the system says as \"system\", "
                        "beside the messages");
  if (role != "user" && role != "assistant")
    throw Error(place + ".role: expected user or assistant, not " +
                quote_name(role));
  const Json *const content = find_value(message, "content");
  const std::string own = place + ".content";
  if (content && content->is_string())
    return add_line(turn_of(messages, role), "content",
                    content->get<std::string>());
  if (!content || !content->is_array())
    throw Error(own + ": expected a text or a list of blocks");
  for (size_t i = 0; i < content->size(); ++i)
    add_block(messages, (*content)[i], role, element_place(own, i));
}

Json tool_of(const Json &tool, const std::string &place) {
  if (!tool.is_object())
    throw Error(place + ": expected an object");
  // The service runs the others itself, or has taught its models them.
  if (const Json *type = find_value(tool, "type"); type && *type != "custom")
    throw Error(place +
                ".type: there are only tools of the client here, with "
                "an input_schema, not " +
                (type->is_string() ? quote_name(type->get<std::string>())
                                   : type->dump()));
  Json result = chat_function(read_text(tool, "name", place));
  Json &function = result["function"];
  if (find_value(tool, "description"))
    function["description"] = read_text(tool, "description", place);
  function["parameters"] = read_object(tool, "input_schema", place);
  if (const Json *strict = find_value(tool, "strict"))
    function["strict"] = *strict;
  return result;
}

void read_tool_use(const Json &body, Json &chat) {
  if (const Json *tools = find_value(body, "tools")) {
    if (!tools->is_array())
      throw Error("tools: expected a list");
    chat["tools"] = Json::array();
    for (size_t i = 0; i < tools->size(); ++i)
      chat["tools"].push_back(tool_of((*tools)[i], element_place("tools", i)));
  }
  if (!find_value(body, "tool_choice"))
    return;
  const Json &choice = read_object(body, "tool_choice", "");
  const std::string type = read_text(choice, "type", "tool_choice");
  if (type == "auto" || type == "none")
    chat["tool_choice"] = type;
  else if (type == "any")
    chat["tool_choice"] = "required";
  else if (type == "tool")
    chat["tool_choice"] =
        chat_function(read_text(choice, "name", "tool_choice"));
  else
    throw Error("tool_choice.type: expected auto, any, tool or none, not " +
                quote_name(type));
  if (const Json *single = find_value(choice, "disable_parallel_tool_use")) {
    if (!single->is_boolean())
      throw Error("tool_choice.disable_parallel_tool_use: expected true or "
                  "false");
    chat["parallel_tool_calls"] = !single->get<bool>();
  }
}

void read_thinking(const Json &body, Json &chat) {
  if (!find_value(body, "thinking"))
    return;
  const Json &thinking = read_object(body, "thinking", "");
  const std::string type = read_text(thinking, "type", "thinking");
  if (type != "enabled" && type != "adaptive" && type != "disabled")
    throw Error("thinking.type: expected enabled, adaptive or disabled, not " +
                quote_name(type));
  // Templates have either name.
  for (const char *name : {"enable_thinking", "thinking"})
    set_template_variable(chat, name, type != "disabled");
  // A key that chat completions do not have: the answer says that it had no
  // effect.
  if (const Json *budget = find_value(thinking, "budget_tokens"))
    chat["thinking.budget_tokens"] = *budget;
}

void read_output_format(const Json &format, const std::string &place,
                        Json &chat) {
  if (!format.is_object())
    throw Error(place + ": expected an object");
  if (const std::string type = read_text(format, "type", place);
      type != "json_schema")
    throw Error(place + ".type: expected json_schema, not " + quote_name(type));
  chat["response_format"] = {
      {"type", "json_schema"},
      {"json_schema", {{"schema", read_object(format, "schema", place)}}}};
}

} // namespace

Json chat_of_messages(const Json &body) {
  Json chat =
      shared_keys(body, {"messages", "system", "stop_sequences", "thinking",
                         "tools", "tool_choice", "output_config",
                         "output_format", "mcp_servers", "speed"});
  Json messages = Json::array();
  const Json *const given = find_value(body, "messages");
  if (!given || !given->is_array() || given->empty())
    throw Error("messages: expected a list with at least one message");
  for (size_t i = 0; i < given->size(); ++i)
    add_message(messages, (*given)[i], element_place("messages", i));
  if (const Json *system = find_value(body, "system"))
    if (std::string text = read_texts(*system, "system", {"text"});
        !text.empty()) {
      const Json first = {{"role", "system"}, {"content", std::move(text)}};
      messages.insert(messages.begin(), first);
    }
  chat["messages"] = std::move(messages);
  if (const Json *stop = find_value(body, "stop_sequences")) {
    if (!stop->is_array())
      throw Error("stop_sequences: expected a list of texts");
    for (size_t i = 0; i < stop->size(); ++i)
      if (!(*stop)[i].is_string())
        throw Error(element_place("stop_sequences", i) + ": expected a text");
    chat["stop"] = *stop;
  }
  if (const Json *servers = find_value(body, "mcp_servers");
      servers && !servers->empty())
    throw Error("mcp_servers: this server calls no others; give their tools "
                "as \"tools\"");
  read_tool_use(body, chat);
  read_thinking(body, chat);
  if (const Json *format = find_value(body, "output_format"))
    read_output_format(*format, "output_format", chat);
  if (find_value(body, "output_config")) {
    const Json &config = read_object(body, "output_config", "");
    if (const Json *format = find_value(config, "format"))
      read_output_format(*format, "output_config.format", chat);
    if (const Json *effort = find_value(config, "effort"))
      chat["reasoning_effort"] = *effort;
  }
  return chat;
}

} // namespace baton
