//===- conversation.cpp - messages to the prompt of an answer -------------===//

#include "runtime/chat/conversation.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// No text has it by chance.
constexpr std::string_view probe = "Zq7probe3xK";

Json message(std::string_view role, Json content) {
  return {{"role", role}, {"content", std::move(content)}};
}

Json part_of(Json text) {
  return {{"type", "text"}, {"text", std::move(text)}};
}

std::string place_of(size_t index) {
  return "messages[" + std::to_string(index) + "]";
}

/// The text of a part of a message. Throws Error for what is none.
std::string part_text(const Json &part, const std::string &place) {
  if (part.is_string())
    return part.get<std::string>();
  if (!part.is_object() || !part.contains("type") || !part["type"].is_string())
    throw Error(place + ": expected an object with a type");
  const auto type = part["type"].get<std::string>();
  for (const char *key : {"text", "input_text", "output_text", "refusal"})
    if (type == key) {
      const char *const own = type == "refusal" ? "refusal" : "text";
      if (!part.contains(own) || !part[own].is_string())
        throw Error(place + "." + own + ": expected a text");
      return part[own].get<std::string>();
    }
  throw Error(place + ": this model reads text only, no " + quote_name(type));
}

/// Of a message, as one text.
std::string content_text(const Json &content, const std::string &place) {
  if (content.is_null())
    return "";
  if (content.is_string())
    return content.get<std::string>();
  if (!content.is_array())
    throw Error(place + ": expected a text or a list of parts");
  std::string text;
  for (size_t i = 0; i < content.size(); ++i)
    text += (i ? "\n" : "") +
            part_text(content[i], place + "[" + std::to_string(i) + "]");
  return text;
}

/// Whose arguments are objects. Throws Error for calls that are none.
Json read_calls(const Json &calls, const std::string &place) {
  if (!calls.is_array())
    throw Error(place + ": expected a list");
  Json result = Json::array();
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string own = place + "[" + std::to_string(i) + "]";
    if (!calls[i].is_object() || !calls[i].contains("function") ||
        !calls[i]["function"].is_object())
      throw Error(own + ": expected an object with a function");
    Json call = calls[i];
    if (!call.contains("type"))
      call["type"] = "function";
    // A new key would have moved it.
    Json &function = call["function"];
    if (!function.contains("name") || !function["name"].is_string())
      throw Error(own + ".function.name: expected a text");
    if (!function.contains("arguments") || function["arguments"].is_null())
      function["arguments"] = Json::object();
    if (function["arguments"].is_string()) {
      const auto &text = function["arguments"].get_ref<const std::string &>();
      // What is no JSON stays the text that it is.
      bool is_deep = false;
      Json parsed = Json::parse(
          text.empty() ? std::string_view("{}") : text,
          [&](int depth, Json::parse_event_t, Json &) {
            return !(is_deep |= depth > 100);
          },
          false);
      if (!is_deep && parsed.is_object())
        function["arguments"] = std::move(parsed);
    }
    result.push_back(std::move(call));
  }
  return result;
}

/// The name of the function that a result is of, by the calls before it.
std::optional<std::string> find_call(const Json &messages, const Json &id) {
  for (auto earlier = messages.rbegin(); earlier != messages.rend(); ++earlier)
    if (auto calls = earlier->find("tool_calls"); calls != earlier->end())
      for (const Json &call : *calls)
        if (call.contains("id") && call["id"] == id)
          return call["function"]["name"].get<std::string>();
  return std::nullopt;
}

/// Checks a message, and puts it the way that most templates expect.
Json read_message(const Json &own, const Json &before,
                  const std::string &place) {
  if (!own.is_object())
    throw Error(place + ": expected an object");
  if (!own.contains("role") || !own["role"].is_string())
    throw Error(place + ".role: expected a text");
  Json result = own;
  if (own["role"] == "developer")
    result["role"] = "system";
  static constexpr std::array roles = {"system", "developer", "user",
                                       "assistant", "tool"};
  if (std::ranges::find(roles, own["role"].get<std::string>()) == roles.end())
    throw Error(place +
                ".role: expected system, developer, user, assistant or "
                "tool, not " +
                quote_name(own["role"].get<std::string>()));
  result["content"] =
      content_text(own.value("content", Json()), place + ".content");
  if (own.contains("tool_calls")) {
    if (own["tool_calls"].is_null() || own["tool_calls"].empty())
      result.erase("tool_calls");
    else
      result["tool_calls"] =
          read_calls(own["tool_calls"], place + ".tool_calls");
  }
  if (const Json name = own.value("name", Json()); name.is_null())
    result.erase("name");
  else if (!name.is_string())
    throw Error(place + ".name: expected a text");
  if (own["role"] == "tool" && !result.contains("name"))
    if (auto name = find_call(before, own.value("tool_call_id", Json())))
      result["name"] = *name;
  if (!own.contains("reasoning_content") && own.contains("reasoning"))
    result["reasoning_content"] = Json(own["reasoning"]);
  return result;
}

void append(Json &message, const std::string &text) {
  const auto before = message["content"].get<std::string>();
  message["content"] = before + (before.empty() ? "" : "\n\n") + text;
}

/// Where a template refuses system messages, a user's begins with them.
Json without_system(const Json &messages) {
  Json result = Json::array();
  std::string system;
  for (const Json &own : messages) {
    if (own["role"] == "system") {
      system +=
          (system.empty() ? "" : "\n\n") + own["content"].get<std::string>();
      continue;
    }
    result.push_back(own);
    if (!system.empty() && own["role"] == "user") {
      const auto content = own["content"].get<std::string>();
      result.back()["content"] = std::exchange(system, {}) + "\n\n" + content;
    }
  }
  if (!system.empty())
    result.push_back(message("user", system));
  return result;
}

} // namespace

Conversation::Conversation(ChatTemplate wanted, const std::string &name)
    : source(std::move(wanted)),
      text(jinja::Template::parse(source.text, name)),
      format(find_tool_format(source.text)) {
  auto has = [](const std::string &rendered, std::string_view what) {
    return rendered.find(what) != std::string::npos;
  };
  const Json user = message("user", "Hello");
  takes_parts = !has(try_out(Json::array({message("user", probe)})), probe) &&
                has(try_out(Json::array(
                        {message("user", Json::array({part_of(probe)}))})),
                    probe);
  takes_system =
      has(try_out(Json::array({message("system", probe), user})), probe);
  Json calling = message("assistant", "");
  calling["tool_calls"] = Json::array(
      {{{"id", "call00001"},
        {"type", "function"},
        {"function", {{"name", "look"}, {"arguments", {{"place", probe}}}}}}});
  const std::string python = "{'place'";
  const std::string with_object = try_out(Json::array({user, calling}));
  calling["tool_calls"][0]["function"]["arguments"] =
      Json{{"place", probe}}.dump();
  takes_objects = has(with_object, probe) && !has(with_object, python);
  if (!takes_objects && !has(try_out(Json::array({user, calling})), probe))
    takes_objects = true;
  const Json tools = Json::array(
      {{{"type", "function"},
        {"function",
         {{"name", probe},
          {"description", "Looks."},
          {"parameters",
           {{"type", "object"}, {"properties", Json::object()}}}}}}});
  if (!format.generic && !has(try_out(Json::array({user}), tools), probe))
    format = tool_format_named("generic");
  takes_thinking =
      has(source.text, "thinking") && !has(source.text, "reasoning_content");
}

/// Empty where the template refuses.
std::string Conversation::try_out(const Json &messages,
                                  const Json &tools) const {
  Json all = messages;
  if (takes_parts)
    for (Json &own : all)
      if (own["content"].is_string())
        own["content"] = Json::array({part_of(own["content"])});
  try {
    return render(all, tools, Json::object(), true);
  } catch (const Error &) {
    return "";
  }
}

std::string
Conversation::render(const Json &messages, const Json &tools,
                     const Json &arguments, bool add_generation_prompt,
                     std::vector<jinja::TextSpan> *generated) const {
  Json variables = arguments;
  variables["messages"] = messages;
  // As Transformers has it, tools that are not there are none.
  variables["tools"] = tools.empty() ? Json() : tools;
  if (!variables.contains("documents"))
    variables["documents"] = nullptr;
  variables["add_generation_prompt"] = add_generation_prompt;
  variables["bos_token"] = source.begin_token;
  variables["eos_token"] = source.end_token;
  return text.render(variables, {}, generated);
}

/// In a format of ours, where the template has none.
void Conversation::adapt_tools(Json &messages, const Json &tools) const {
  Json result = Json::array();
  for (Json &own : messages) {
    if (auto calls = own.find("tool_calls"); calls != own.end()) {
      for (const Json &call : *calls) {
        const Json &function = call["function"];
        const Json &arguments = function["arguments"];
        append(own, tool_call_text(function["name"].get<std::string>(),
                                   arguments.is_string()
                                       ? arguments.get<std::string>()
                                       : arguments.dump()));
      }
      own.erase("tool_calls");
    }
    if (own["role"] == "tool") {
      const std::string result_text =
          tool_result_text(own.value("name", std::string("function")),
                           own["content"].get<std::string>());
      // Roles alternate.
      if (!result.empty() && result.back()["role"] == "user")
        append(result.back(), result_text);
      else
        result.push_back(message("user", result_text));
      continue;
    }
    result.push_back(std::move(own));
  }
  if (!tools.empty()) {
    if (result.front()["role"] != "system")
      result.insert(result.begin(), message("system", ""));
    append(result.front(), tool_instructions(tools));
  }
  messages = std::move(result);
}

Conversation::Json Conversation::adapt(const ConversationInput &input) const {
  if (!input.messages.is_array() || input.messages.empty())
    throw Error("messages: expected a list with at least one message");
  Json messages = Json::array();
  for (size_t i = 0; i < input.messages.size(); ++i)
    messages.push_back(read_message(input.messages[i], messages, place_of(i)));
  if (format.generic)
    adapt_tools(messages, input.tools);
  if (!takes_system)
    messages = without_system(messages);
  for (Json &own : messages) {
    if (auto calls = own.find("tool_calls");
        calls != own.end() && !takes_objects)
      for (Json &call : *calls)
        if (Json &arguments = call["function"]["arguments"];
            !arguments.is_string())
          arguments = arguments.dump();
    if (takes_thinking && own.contains("reasoning_content"))
      own["thinking"] = Json(own["reasoning_content"]);
  }
  return messages;
}

bool Conversation::marks_answers() const {
  for (size_t at = 0; (at = source.text.find("{%", at)) != std::string::npos;) {
    at = source.text.find_first_not_of("-+ \t\r\n", at + 2);
    if (at != std::string::npos &&
        std::string_view(source.text).substr(at).starts_with("generation"))
      return true;
  }
  return false;
}

std::string
Conversation::prompt(const ConversationInput &input,
                     std::vector<jinja::TextSpan> *generated) const {
  Json messages = adapt(input);
  const Json tools = format.generic ? Json() : input.tools;
  // The answer begins with the last message: what stands before its text.
  std::string begun;
  const bool continues = input.continues;
  if (continues) {
    if (messages.back()["role"] != "assistant")
      throw Error("continue_final_message: the last message is no assistant's");
    begun = messages.back()["content"].get<std::string>();
    messages.back()["content"] = probe;
  }
  if (takes_parts)
    for (Json &own : messages)
      own["content"] = Json::array({part_of(own["content"])});
  std::string rendered;
  try {
    rendered = render(messages, tools, input.arguments,
                      input.add_generation_prompt && !continues, generated);
  } catch (const Error &failure) {
    throw Error("messages: the chat template refuses them: " +
                std::string(failure.what()));
  }
  if (continues) {
    const size_t end = rendered.rfind(probe);
    if (end == std::string::npos)
      throw Error("continue_final_message: the chat template leaves the last "
                  "message out");
    rendered = rendered.substr(0, end) + begun;
  }
  return rendered;
}

} // namespace baton
