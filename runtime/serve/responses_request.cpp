//===- responses_request.cpp - /v1/responses as a chat completion ---------===//

#include "runtime/error.h"
#include "runtime/serve/chat_request.h"
#include "runtime/serve/dialect_request.h"
#include "runtime/weights/message.h"

#include <string>
#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// What a client has to send again.
void refuse_stored(const Json &body) {
  for (const char *key : {"previous_response_id", "conversation"})
    if (find_value(body, key))
      throw Error(std::string(key) + ": nothing is stored here; give the whole "
                                     "conversation as \"input\"");
  if (find_value(body, "prompt"))
    throw Error("prompt: nothing is stored here; give its text as "
                "\"instructions\" or \"input\"");
  if (const Json *background = find_value(body, "background");
      background && *background != false)
    throw Error("background: nothing is stored here; wait for the response, or "
                "have it streamed");
}

/// The turn of the assistant's that a call belongs to.
Json &assistant_turn(Json &messages) {
  if (messages.empty() || messages.back()["role"] != "assistant")
    messages.push_back({{"role", "assistant"}, {"content", ""}});
  return messages.back();
}

bool has_reasoning_only(const Json &message) {
  return message["role"] == "assistant" && message["content"] == "" &&
         !message.contains("tool_calls");
}

void add_message_item(Json &messages, const Json &item,
                      const std::string &place) {
  const std::string role = read_text(item, "role", place);
  if (role != "user" && role != "assistant" && role != "system" &&
      role != "developer")
    throw Error(place +
                ".role: expected user, assistant, system or developer, not " +
                quote_name(role));
  const Json *const content = find_value(item, "content");
  if (!content)
    throw Error(place + ".content: expected a text or a list of parts");
  std::string text =
      read_texts(*content, place + ".content",
                 {"input_text", "output_text", "text", "refusal"});
  if (role == "assistant" && !messages.empty() &&
      has_reasoning_only(messages.back()))
    messages.back()["content"] = std::move(text);
  else
    messages.push_back({{"role", role}, {"content", std::move(text)}});
}

void add_call_item(Json &messages, const Json &item, const std::string &place) {
  Json call = chat_function(read_text(item, "name", place));
  call["id"] = read_text(item, "call_id", place);
  call["function"]["arguments"] = read_text(item, "arguments", place);
  Json &calls = assistant_turn(messages)["tool_calls"];
  if (calls.is_null())
    calls = Json::array();
  calls.push_back(std::move(call));
}

void add_output_item(Json &messages, const Json &item,
                     const std::string &place) {
  const std::string id = read_text(item, "call_id", place);
  const Json *const output = find_value(item, "output");
  if (!output)
    throw Error(place + ".output: expected a text or a list of parts");
  messages.push_back(
      {{"role", "tool"},
       {"tool_call_id", id},
       {"content", read_texts(*output, place + ".output",
                              {"input_text", "output_text", "text"})}});
}

/// Some clients send back only the summary.
void add_reasoning_item(Json &messages, const Json &item,
                        const std::string &place) {
  std::string text;
  for (const char *key : {"content", "summary"})
    if (const Json *parts = find_value(item, key); parts && text.empty())
      text = read_texts(*parts, place + "." + key,
                        {"reasoning_text", "summary_text", "text"});
  // Only who encrypted it can read it.
  if (text.empty())
    return;
  messages.push_back({{"role", "assistant"},
                      {"content", ""},
                      {"reasoning_content", std::move(text)}});
}

void add_item(Json &messages, const Json &item, const std::string &place) {
  if (!item.is_object())
    throw Error(place + ": expected an object");
  const std::string type = find_value(item, "type") || !find_value(item, "role")
                               ? read_text(item, "type", place)
                               : "message";
  if (type == "message")
    return add_message_item(messages, item, place);
  if (type == "function_call")
    return add_call_item(messages, item, place);
  if (type == "function_call_output")
    return add_output_item(messages, item, place);
  if (type == "reasoning")
    return add_reasoning_item(messages, item, place);
  if (type == "item_reference")
    throw Error(place + ": nothing is stored here; give the item itself");
  throw Error(place +
              ".type: expected message, function_call, function_call_output "
              "or reasoning, not " +
              quote_name(type));
}

/// Many templates take one system message, the first.
void add_instructions(Json &messages, const std::string &instructions) {
  std::string text = instructions;
  while (!messages.empty() && (messages.front()["role"] == "system" ||
                               messages.front()["role"] == "developer")) {
    const auto more = messages.front()["content"].get<std::string>();
    text += (text.empty() || more.empty() ? "" : "\n\n") + more;
    messages.erase(messages.begin());
  }
  if (text.empty())
    return;
  const Json first = {{"role", "system"}, {"content", std::move(text)}};
  messages.insert(messages.begin(), first);
}

Json read_messages(const Json &body) {
  const Json *const input = find_value(body, "input");
  Json messages = Json::array();
  if (input && input->is_string())
    messages.push_back({{"role", "user"}, {"content", *input}});
  else if (!input || !input->is_array() || input->empty())
    throw Error("input: expected a text or a list of items");
  else
    for (size_t i = 0; i < input->size(); ++i)
      add_item(messages, (*input)[i], element_place("input", i));
  if (messages.empty())
    throw Error("input: there is nothing that this model can read");
  add_instructions(messages, find_value(body, "instructions")
                                 ? read_text(body, "instructions", "")
                                 : "");
  return messages;
}

Json function_tool(const Json &tool, const std::string &place) {
  if (!tool.is_object())
    throw Error(place + ": expected an object");
  if (const std::string type = read_text(tool, "type", place);
      type != "function")
    throw Error(place + ".type: there are only functions here, no " +
                quote_name(type));
  Json result = chat_function(read_text(tool, "name", place));
  for (const char *key : {"description", "parameters", "strict"})
    if (const Json *value = find_value(tool, key))
      result["function"][key] = *value;
  if (find_value(tool, "description"))
    read_text(tool, "description", place);
  if (find_value(tool, "parameters"))
    read_object(tool, "parameters", place);
  return result;
}

void read_function_tools(const Json &body, Json &chat) {
  if (const Json *tools = find_value(body, "tools")) {
    if (!tools->is_array())
      throw Error("tools: expected a list");
    chat["tools"] = Json::array();
    for (size_t i = 0; i < tools->size(); ++i)
      chat["tools"].push_back(
          function_tool((*tools)[i], element_place("tools", i)));
  }
  const Json *const choice = find_value(body, "tool_choice");
  if (!choice)
    return;
  if (choice->is_string()) {
    if (*choice != "none" && *choice != "auto" && *choice != "required")
      throw Error("tool_choice: expected none, auto, required or an object, "
                  "not " +
                  quote_name(choice->get<std::string>()));
    chat["tool_choice"] = *choice;
    return;
  }
  const Json &object = read_object(body, "tool_choice", "");
  if (const std::string type = read_text(object, "type", "tool_choice");
      type != "function")
    throw Error("tool_choice.type: expected function, not " + quote_name(type));
  chat["tool_choice"] = chat_function(read_text(object, "name", "tool_choice"));
}

void read_text_format(const Json &body, Json &chat) {
  if (!find_value(body, "text"))
    return;
  const Json &text = read_object(body, "text", "");
  if (!find_value(text, "format"))
    return;
  const Json &format = read_object(text, "format", "text");
  if (read_text(format, "type", "text.format") == "json_schema") {
    read_object(format, "schema", "text.format");
    // Where chat completions have an object of its own.
    Json schema = format;
    schema.erase("type");
    chat["response_format"] = {{"type", "json_schema"},
                               {"json_schema", std::move(schema)}};
  } else {
    chat["response_format"] = format;
  }
}

void read_reasoning(const Json &body, Json &chat) {
  if (!find_value(body, "reasoning"))
    return;
  const Json &reasoning = read_object(body, "reasoning", "");
  if (!find_value(reasoning, "effort"))
    return;
  const std::string effort = read_text(reasoning, "effort", "reasoning");
  if (effort == "none") {
    // Templates have either name.
    for (const char *name : {"enable_thinking", "thinking"})
      set_template_variable(chat, name, false);
  } else {
    chat["reasoning_effort"] = effort;
  }
}

/// They are wanted with a number, or with a name for it.
void read_wanted_logprobs(const Json &body, Json &chat) {
  const Json *const count = find_value(body, "top_logprobs");
  bool wanted = count && *count != 0;
  if (const Json *include = find_value(body, "include")) {
    if (!include->is_array())
      throw Error("include: expected a list of texts");
    for (const Json &name : *include)
      wanted |= name == "message.output_text.logprobs";
  }
  if (!wanted)
    return;
  chat["logprobs"] = true;
  if (count)
    chat["top_logprobs"] = *count;
}

} // namespace

Json chat_of_responses(const Json &body) {
  Json chat = shared_keys(
      body, {"input", "instructions", "previous_response_id", "conversation",
             "prompt", "background", "tools", "tool_choice", "text",
             "max_output_tokens", "reasoning", "include", "top_logprobs",
             "stream_options", "truncation", "prompt_cache_retention"});
  refuse_stored(body);
  chat["messages"] = read_messages(body);
  // An item is whole: the answer is the next one.
  if (!chat.contains("continue_final_message"))
    chat["continue_final_message"] = false;
  read_function_tools(body, chat);
  read_text_format(body, chat);
  read_reasoning(body, chat);
  read_wanted_logprobs(body, chat);
  if (const Json *most = find_value(body, "max_output_tokens")) {
    if (!most->is_number_unsigned() || *most == 0)
      throw Error("max_output_tokens: expected a whole number, at least 1");
    chat["max_tokens"] = *most;
  }
  return chat;
}

} // namespace baton
