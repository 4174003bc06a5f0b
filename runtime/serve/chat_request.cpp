//===- chat_request.cpp - requests for an answer in a conversation --------===//

#include "runtime/serve/chat_request.h"

#include "runtime/batch/token_json.h"
#include "runtime/chat/tool_grammar.h"
#include "runtime/error.h"
#include "runtime/serve/api_json.h"
#include "runtime/serve/request_keys.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// Which tools the model may call, and whether it has to.
struct ToolChoice {
  bool must_call = false;
  /// No more than one call.
  bool single = false;
  std::vector<ToolDeclaration> tools;
};

ToolChoice read_tool_choice(const JsonKeys &keys) {
  ToolChoice choice;
  const Json *tools = keys.find("tools");
  if (tools && !tools->empty())
    choice.tools = read_tools(*tools);
  choice.single = !keys.flag("parallel_tool_calls", true);
  const Json *wanted = keys.find("tool_choice");
  if (!wanted || *wanted == "auto")
    return choice;
  if (*wanted == "none") {
    choice.tools.clear();
    return choice;
  }
  if (choice.tools.empty())
    throw Error("tool_choice: there are no tools to choose from");
  choice.must_call = true;
  // Some servers say "any".
  if (*wanted == "required" || *wanted == "any")
    return choice;
  const Json *name = nullptr;
  if (wanted->is_object() && wanted->contains("function") &&
      (*wanted)["function"].is_object() &&
      (*wanted)["function"].contains("name"))
    name = &(*wanted)["function"]["name"];
  if (!name || !name->is_string())
    throw Error("tool_choice: expected \"none\", \"auto\", \"required\" or "
                "{\"type\": \"function\", \"function\": {\"name\": ...}}");
  const ToolDeclaration *tool =
      find_tool(choice.tools, name->get_ref<const std::string &>());
  if (!tool)
    throw Error("tool_choice: there is no tool " +
                quote_name(name->get<std::string>()));
  choice.tools = {*tool};
  choice.single = true;
  return choice;
}

ConversationInput read_conversation(const JsonKeys &keys) {
  ConversationInput input;
  if (const Json *messages = keys.find("messages"))
    input.messages = *messages;
  if (const Json *tools = keys.find("tools");
      tools && !tools->empty() &&
      !(keys.has("tool_choice") && *keys.find("tool_choice") == "none"))
    input.tools = *tools;
  if (const Json *arguments = keys.find("chat_template_kwargs")) {
    if (!arguments->is_object())
      throw Error("chat_template_kwargs: expected an object");
    input.arguments = *arguments;
  }
  if (const Json *effort = keys.find("reasoning_effort"))
    input.arguments["reasoning_effort"] = *effort;
  if (const Json *documents = keys.find("documents"))
    input.arguments["documents"] = *documents;
  input.add_generation_prompt = keys.flag("add_generation_prompt", true);
  // An assistant's last message is the beginning of the answer, unless the
  // client says that it is whole.
  const bool is_begun =
      input.messages.is_array() && !input.messages.empty() &&
      input.messages.back().is_object() &&
      input.messages.back().value("role", Json()) == "assistant" &&
      !input.messages.back().contains("tool_calls");
  input.continues = keys.flag("continue_final_message",
                              is_begun && !keys.has("add_generation_prompt"));
  if (input.continues && keys.flag("add_generation_prompt", false))
    throw Error("continue_final_message: the answer is a new message "
                "(add_generation_prompt) or the end of the last one");
  return input;
}

std::string write_prompt(const Conversation &conversation,
                         const JsonKeys &keys) {
  const ConversationInput input = read_conversation(keys);
  std::string prompt = conversation.prompt(input);
  const ToolFormat &format = conversation.tool_format();
  // Some templates begin reasoning whatever they are told. It ends at once.
  if (input.arguments.value("enable_thinking", Json()) == false &&
      find_output_start(format, prompt) == OutputStart::Reasoning)
    prompt += format.reasoning_close;
  return prompt;
}

std::vector<int32_t> sorted(std::vector<int32_t> tokens) {
  std::ranges::sort(tokens);
  return tokens;
}

const Conversation &conversation_of(const ServedModel &model) {
  if (!model.conversation)
    throw Error("messages: " + model.no_conversation);
  return *model.conversation;
}

std::vector<std::string> chat_keys() {
  return with_common_keys(
      {"messages", "max_completion_tokens", "logprobs", "top_logprobs", "tools",
       "tool_choice", "parallel_tool_calls", "reasoning_effort",
       "chat_template_kwargs", "documents", "add_generation_prompt",
       "continue_final_message", "reasoning_format", "parse_tool_calls",
       "verbose", "return_progress"});
}

/// The prompt has its special tokens: the tokenizer adds none but the one that
/// begins every text, once.
std::vector<int32_t> encode_prompt(const std::string &text,
                                   const ServedModel &model) {
  const BatchFormat &format = model.format;
  std::vector<int32_t> tokens =
      encode_text("messages", text, format, /*special_tokens=*/false);
  const std::vector<int32_t> begin = encode_text("messages", "", format);
  if (!begin.empty() && (tokens.empty() || tokens.front() != begin.front()))
    tokens.insert(tokens.begin(), begin.front());
  return tokens;
}

void read_logprobs(const JsonKeys &keys, BatchRequest &request) {
  const bool wanted = keys.flag("logprobs", false);
  if (wanted)
    request.logprobs = keys.small("top_logprobs", 0);
  else if (keys.small("top_logprobs", 0) > 0)
    throw Error("top_logprobs: needs \"logprobs\": true beside it");
}

/// Of a model that was not trained to, nobody wants it. Where messages have
/// headers, reasoning is one of them.
bool may_reason(const std::string &template_text, const ToolFormat &format) {
  auto has = [&](const std::string &mark) {
    return template_text.find(mark) != std::string::npos;
  };
  return format.header != MessageHeader::None || has(format.reasoning_open) ||
         has(format.reasoning_close);
}

/// What the answer is constrained to by its tools or its format.
std::shared_ptr<const TokenConstraint>
find_constraint(const ServedModel &model, const ChatOutput &output,
                const ToolChoice &choice,
                const std::optional<NamedGrammar> &answer,
                const std::vector<int32_t> &stop_tokens) {
  if (!answer && choice.tools.empty())
    return nullptr;
  if (answer && choice.must_call)
    throw Error("tool_choice: an answer that has to be a call cannot have a "
                "response_format");
  const ToolFormat &format = output.format;
  const AnswerGrammarOptions options = {
      .start = output.parser.start,
      .reasoning = may_reason(model.conversation->template_text(), format),
      .parallel_calls = !choice.single,
      .is_special_token =
          [tokenizer = *model.format.tokenizer](std::string_view spelling) {
            const auto token = tokenizer.token_id(spelling);
            return token && tokenizer.is_special(*token);
          }};
  std::vector<int32_t> more_stops;
  std::ranges::set_difference(sorted(stop_tokens),
                              sorted(model.format.stop_tokens),
                              std::back_inserter(more_stops));
  std::string key = std::to_string(static_cast<int>(options.start));
  if (answer)
    return model.constraints->find(
        key + answer->key,
        [&] { return answer_grammar(format, answer->make(), options); },
        more_stops);
  key += choice.must_call ? " calls" : " text";
  key += choice.single ? " one" : " many";
  for (const ToolDeclaration &tool : choice.tools)
    key += tool.name + tool.parameters.dump();
  try {
    return model.constraints->find(
        key,
        [&] {
          return choice.must_call
                     ? required_calls_grammar(format, choice.tools, options)
                     : optional_calls_grammar(format, choice.tools, options);
        },
        more_stops);
  } catch (const Error &failure) {
    // A model that may call, but need not, does so unconstrained.
    if (!choice.must_call)
      return nullptr;
    throw Error("tools: " + std::string(failure.what()));
  }
}

} // namespace

ChatRequest read_chat_request(const Json &body, const ServedModel &model) {
  ChatRequest result;
  const Json whole = complete_body(body, model);
  const JsonKeys keys(whole, chat_keys(), result.ignored_keys);
  const Conversation &conversation = conversation_of(model);
  const ToolFormat &format = conversation.tool_format();
  const ToolChoice choice = read_tool_choice(keys);
  const std::string prompt = write_prompt(conversation, keys);
  if (keys.flag("verbose", false))
    result.shown_prompt = prompt;

  BatchRequest &request = result.request;
  request.prompt = encode_prompt(prompt, model);
  uint64_t most = std::numeric_limits<uint64_t>::max();
  if (keys.has("max_completion_tokens"))
    most = std::max<uint64_t>(keys.whole("max_completion_tokens", 1), 1);
  read_common_keys(keys, model, most, request);
  read_logprobs(keys, request);
  const Streaming streaming = read_streaming(keys);
  result.include_usage = streaming.include_usage;

  ChatOutput &output = result.output;
  output.streams = streaming.streams;
  output.shows_progress = keys.flag("return_progress", false);
  output.shows_timings = keys.flag("timings_per_token", false);
  output.format = format;
  output.parser.start = find_output_start(format, prompt);
  output.parser.tools = choice.tools;
  // Reasoning may be wanted within the content, as it was written.
  output.parses =
      keys.text("reasoning_format") != "none" || !choice.tools.empty();
  output.parser.make_id = [length = format.id_length](size_t) {
    static thread_local std::mt19937 random{std::random_device{}()};
    return length ? random_call_id(random, length)
                  : "call_" + random_call_id(random, 24);
  };
  output.kept_tokens = model.marker_tokens;
  if (!choice.tools.empty())
    request.stop_tokens.insert(request.stop_tokens.end(),
                               model.call_stop_tokens.begin(),
                               model.call_stop_tokens.end());

  request.constraint = find_constraint(
      model, output, choice, find_output_grammar(keys), request.stop_tokens);
  return result;
}

std::string read_chat_prompt(const Json &body, const ServedModel &model) {
  std::vector<std::string> ignored;
  const Json whole = complete_body(body, model);
  const JsonKeys keys(whole, chat_keys(), ignored);
  const Conversation &conversation = conversation_of(model);
  read_tool_choice(keys);
  return write_prompt(conversation, keys);
}

} // namespace baton
