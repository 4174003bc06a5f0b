//===- MessagesTest.cpp - /v1/messages ------------------------------------===//

#include "runtime/serve/api_json.h"
#include "runtime/serve/chat_request.h"
#include "runtime/serve/dialects.h"
#include "test/runtime/serve/written_exchange.h"

#include <gtest/gtest.h>

#include <string>

namespace baton {
namespace {

using Json = nlohmann::ordered_json;

Json chat_of(const std::string &body) {
  return chat_of_messages(parse_body(body));
}

/// Of a request with one message of a user, and the keys given.
Json chat_with(const std::string &keys) {
  return chat_of(R"({"messages": [{"role": "user", "content": "a"}], )" + keys +
                 "}");
}

std::string fault_of(const std::string &body) {
  try {
    chat_of(body);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

std::string fault_with(const std::string &keys) {
  return fault_of(R"({"messages": [{"role": "user", "content": "a"}], )" +
                  keys + "}");
}

/// Of one block in a message of the role.
std::string fault_of_block(const std::string &role, const std::string &block) {
  return fault_of(R"({"messages": [{"role": ")" + role + R"(", "content": [)" +
                  block + "]}]}");
}

TEST(MessagesRequest, WhatMeansTheSameIsTaken) {
  EXPECT_EQ(chat_of(R"({"model": "m", "max_tokens": 5, "temperature": 0,
                        "top_k": 3, "seed": 7, "stream": true, "system": "S",
                        "metadata": {"user_id": "u"},
                        "stop_sequences": ["x", "y"],
                        "messages": [{"role": "user", "content": "a"}]})"),
            Json::parse(R"({"model": "m", "max_tokens": 5, "temperature": 0,
                        "top_k": 3, "seed": 7, "stream": true,
                        "metadata": {"user_id": "u"},
                        "messages": [{"role": "system", "content": "S"},
                                     {"role": "user", "content": "a"}],
                        "stop": ["x", "y"]})"));
}

TEST(MessagesRequest, BlocksAreLines) {
  EXPECT_EQ(chat_of(R"({"system": [{"type": "text", "text": "S"},
                                   {"type": "text", "text": "T"}],
                        "messages": [
    {"role": "user", "content": [{"type": "text", "text": "a"},
        {"type": "text", "text": "b", "cache_control": {"type": "e"}}]}]})")
                ["messages"],
            Json::parse(R"([{"role": "system", "content": "S\nT"},
                            {"role": "user", "content": "a\nb"}])"));
}

TEST(MessagesRequest, MessagesOfOneRoleAreOneTurn) {
  EXPECT_EQ(chat_of(R"({"messages": [{"role": "user", "content": "a"},
                                     {"role": "user", "content": "b"},
                                     {"role": "assistant", "content": "c"},
                                     {"role": "assistant", "content": "d"}]})")
                ["messages"],
            Json::parse(R"([{"role": "user", "content": "a\nb"},
                            {"role": "assistant", "content": "c\nd"}])"));
}

TEST(MessagesRequest, CallsAndResults) {
  EXPECT_EQ(chat_of(R"({"messages": [
    {"role": "user", "content": "weather?"},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "1", "name": "f", "input": {"x": 1}},
        {"type": "tool_use", "id": "2", "name": "g", "input": {}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "1", "content": "sun"},
        {"type": "tool_result", "tool_use_id": "2", "is_error": true,
         "content": [{"type": "text", "text": "no"}]},
        {"type": "tool_result", "tool_use_id": "3", "is_error": true},
        {"type": "tool_result", "tool_use_id": "4"},
        {"type": "text", "text": "go on"}]}]})")["messages"],
            Json::parse(R"([
    {"role": "user", "content": "weather?"},
    {"role": "assistant", "content": "I look.", "reasoning_content": "hm",
     "tool_calls": [
        {"type": "function", "function": {"name": "f", "arguments": {"x": 1}},
         "id": "1"},
        {"type": "function", "function": {"name": "g", "arguments": {}},
         "id": "2"}]},
    {"role": "tool", "tool_call_id": "1", "content": "sun"},
    {"role": "tool", "tool_call_id": "2", "content": "Error: no"},
    {"role": "tool", "tool_call_id": "3", "content": "Error"},
    {"role": "tool", "tool_call_id": "4", "content": ""},
    {"role": "user", "content": "go on"}])"));
}

TEST(MessagesRequest, Tools) {
  const Json chat = chat_with(R"("tools": [
      {"name": "f", "description": "D", "input_schema": {"type": "object"},
       "cache_control": {"type": "ephemeral"}},
      {"type": "custom", "name": "g", "input_schema": {}, "strict": true}])");
  EXPECT_EQ(chat["tools"], Json::parse(R"([
      {"type": "function", "function": {"name": "f", "description": "D",
       "parameters": {"type": "object"}}},
      {"type": "function", "function": {"name": "g", "parameters": {},
       "strict": true}}])"));
  EXPECT_FALSE(chat.contains("tool_choice"));
}

TEST(MessagesRequest, ToolChoice) {
  auto choice = [](const std::string &of) {
    return chat_with("\"tool_choice\": " + of);
  };
  EXPECT_EQ(choice(R"({"type": "auto"})")["tool_choice"], "auto");
  EXPECT_EQ(choice(R"({"type": "none"})")["tool_choice"], "none");
  const Json any =
      choice(R"({"type": "any", "disable_parallel_tool_use": true})");
  EXPECT_EQ(any["tool_choice"], "required");
  EXPECT_EQ(any["parallel_tool_calls"], false);
  EXPECT_EQ(choice(R"({"type": "tool", "name": "f"})")["tool_choice"],
            Json::parse(R"({"type": "function", "function": {"name": "f"}})"));
  EXPECT_FALSE(choice("null").contains("tool_choice"));
}

TEST(MessagesRequest, Thinking) {
  const Json chat =
      chat_with(R"("thinking": {"type": "enabled", "budget_tokens": 1024})");
  EXPECT_EQ(chat["chat_template_kwargs"]["enable_thinking"], true);
  EXPECT_EQ(chat["thinking.budget_tokens"], 1024);
  EXPECT_FALSE(chat.contains("thinking"));
  EXPECT_EQ(
      chat_with(R"("thinking": {"type": "disabled"},
                         "chat_template_kwargs": {"a": 1})")
          ["chat_template_kwargs"],
      Json::parse(R"({"a": 1, "enable_thinking": false, "thinking": false})"));
  EXPECT_FALSE(chat_with("\"top_k\": 1").contains("chat_template_kwargs"));
}

TEST(MessagesRequest, OutputFormat) {
  const Json format = Json::parse(R"({"type": "json_schema",
      "json_schema": {"schema": {"type": "object"}}})");
  EXPECT_EQ(chat_with(R"("output_format": {"type": "json_schema",
                         "schema": {"type": "object"}})")["response_format"],
            format);
  const Json chat = chat_with(R"("output_config": {"effort": "low",
      "format": {"type": "json_schema", "schema": {"type": "object"}}})");
  EXPECT_EQ(chat["response_format"], format);
  EXPECT_EQ(chat["reasoning_effort"], "low");
}

TEST(MessagesRequest, AFaultNamesItsPlace) {
  EXPECT_EQ(fault_of("{}"),
            "messages: expected a list with at least one message");
  EXPECT_EQ(fault_of(R"({"messages": [1]})"),
            "messages[0]: expected an object");
  EXPECT_EQ(fault_of(R"({"messages": [{"content": "a"}]})"),
            "messages[0].role: expected a text");
  EXPECT_EQ(fault_of(R"({"messages": [{"role": "tool", "content": "a"}]})"),
            "messages[0].role: expected user or assistant, not \"tool\"");
  EXPECT_NE(fault_of(R"({"messages": [{"role": "system", "content": "a"}]})")
                .find("\"system\", beside"),
            std::string::npos);
  EXPECT_EQ(fault_of(R"({"messages": [{"role": "user"}]})"),
            "messages[0].content: expected a text or a list of blocks");
  EXPECT_EQ(fault_of_block("user", "\"a\""),
            "messages[0].content[0]: expected an object");
  EXPECT_EQ(fault_of_block("user", R"({"text": "a"})"),
            "messages[0].content[0].type: expected a text");
  EXPECT_EQ(fault_of_block("user", R"({"type": "text"})"),
            "messages[0].content[0].text: expected a text");
  EXPECT_EQ(fault_of_block("assistant",
                           R"({"type": "tool_use", "id": "1", "name": "f",
                               "input": "x"})"),
            "messages[0].content[0].input: expected an object");
  EXPECT_EQ(fault_with("\"system\": 3"),
            "system: expected a text or a list of blocks");
  EXPECT_EQ(fault_with("\"stop_sequences\": [\"a\", 1]"),
            "stop_sequences[1]: expected a text");
  EXPECT_EQ(fault_with("\"tools\": [{\"name\": \"f\"}]"),
            "tools[0].input_schema: expected an object");
  EXPECT_EQ(fault_with("\"tool_choice\": \"auto\""),
            "tool_choice: expected an object");
  EXPECT_EQ(fault_with("\"tool_choice\": {\"type\": \"all\"}"),
            "tool_choice.type: expected auto, any, tool or none, not \"all\"");
  EXPECT_EQ(fault_with("\"thinking\": {\"type\": \"on\"}"),
            "thinking.type: expected enabled, adaptive or disabled, not "
            "\"on\"");
}

TEST(MessagesRequest, WhatThereIsNotIsRefusedByName) {
  EXPECT_EQ(fault_of_block("user", R"({"type": "image", "source": {}})"),
            "messages[0].content[0]: this model reads text only, no "
            "\"image\"");
  EXPECT_EQ(fault_of_block("user", R"({"type": "document"})"),
            "messages[0].content[0]: this model reads text only, no "
            "\"document\"");
  EXPECT_EQ(fault_of_block("user", R"({"type": "tool_result",
                "tool_use_id": "1", "content": [{"type": "image"}]})"),
            "messages[0].content[0].content[0]: this model reads text only, "
            "no \"image\"");
  EXPECT_EQ(fault_of_block("user", R"({"type": "tool_use"})"),
            "messages[0].content[0]: \"tool_use\" is not for messages of "
            "users");
  EXPECT_EQ(fault_of_block("assistant", R"({"type": "tool_result"})"),
            "messages[0].content[0]: \"tool_result\" is not for messages of "
            "assistants");
  EXPECT_NE(fault_with(R"("tools": [{"type": "web_search_20250305",
                          "name": "web_search"}])")
                .find("tools[0].type: "),
            std::string::npos);
  EXPECT_NE(fault_with(R"("mcp_servers": [{"url": "u"}])").find("mcp_servers"),
            std::string::npos);
  EXPECT_EQ(fault_with("\"n\": 2"), "n: only 1 is supported");
  EXPECT_EQ(fault_with("\"logprobs\": true"),
            "logprobs: only false is supported");
}

TEST(MessagesRequest, AMisspeltKeyIsAnError) {
  EXPECT_NE(fault_with("\"stop_sequence\": [\"a\"]").find("stop_sequences"),
            std::string::npos);
  EXPECT_NE(fault_with("\"temperatur\": 1").find("temperature"),
            std::string::npos);
  // One that is there.
  EXPECT_EQ(fault_with("\"speed\": \"fast\""), "");
}

// Answers.

ServedModel model() {
  ServedModel made;
  made.name = "small";
  return made;
}

struct Written {
  explicit Written(bool streams)
      : writer(make_messages_writer(of, streams, 9, Json::object())) {}

  void take(ChatDelta::Kind kind, const std::string &text,
            const std::string &id = {}) {
    writer->delta(exchange, 0, {kind, text, 0, id, true}, nullptr);
  }
  void end(const ChatChoice &choice) {
    writer->finish(exchange, 0, choice, nullptr);
    writer->end(exchange, {}, {choice},
                {.prompt = 9, .cached = 4, .generated = 3});
  }

  const ServedModel of = model();
  std::unique_ptr<ChatWriter> writer;
  WrittenExchange exchange;
};

Json whole(const ChatChoice &choice) {
  Written written(false);
  written.writer->end(written.exchange, {}, {choice},
                      {.prompt = 9, .cached = 4, .generated = 3});
  EXPECT_EQ(written.exchange.response.status, 200u);
  return written.exchange.body();
}

TEST(MessagesWriter, AWholeMessage) {
  ChatChoice choice;
  choice.reasoning = "hm";
  choice.content = "I look.";
  choice.calls = {{"c1", "f", R"({"x": [1]})"}, {"c2", "g", ""}};
  choice.finish = BatchFinish::Stop;
  Json message = whole(choice);
  EXPECT_TRUE(message["id"].get<std::string>().starts_with("msg_"));
  message.erase("id");
  EXPECT_EQ(message, Json::parse(R"({"type": "message", "role": "assistant",
    "model": "small", "content": [
      {"type": "thinking", "thinking": "hm", "signature": ""},
      {"type": "text", "text": "I look."},
      {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": [1]}},
      {"type": "tool_use", "id": "c2", "name": "g", "input": {}}],
    "stop_reason": "tool_use", "stop_sequence": null,
    "usage": {"input_tokens": 5, "cache_creation_input_tokens": 0,
              "cache_read_input_tokens": 4, "output_tokens": 3}})"));
}

TEST(MessagesWriter, StopReasons) {
  ChatChoice choice;
  choice.content = "a";
  EXPECT_EQ(whole(choice)["stop_reason"], "max_tokens");
  choice.finish = BatchFinish::Stop;
  EXPECT_EQ(whole(choice)["stop_reason"], "end_turn");
  EXPECT_EQ(whole(choice)["stop_sequence"], nullptr);
  choice.stop_string = "x";
  EXPECT_EQ(whole(choice)["stop_reason"], "stop_sequence");
  EXPECT_EQ(whole(choice)["stop_sequence"], "x");
}

TEST(MessagesWriter, ArgumentsThatAreNotWholeAreNone) {
  for (const std::string &arguments :
       {std::string(R"({"x": 1, "y": "a)"), std::string("[1]"),
        std::string(R"({"x": )") + std::string(5000, '[') +
            std::string(5000, ']') + "}"}) {
    ChatChoice choice;
    choice.calls = {{"c", "f", arguments}};
    EXPECT_EQ(whole(choice)["content"][0]["input"], Json::object());
  }
}

TEST(MessagesWriter, AStreamedMessage) {
  Written written(true);
  written.writer->begin(written.exchange, {});
  written.take(ChatDelta::Reasoning, "h");
  written.take(ChatDelta::Reasoning, "m");
  written.take(ChatDelta::Content, "I ");
  written.take(ChatDelta::Content, "look.");
  for (const char *name : {"f", "g"}) {
    written.take(ChatDelta::CallBegin, name, std::string("id-") + name);
    written.take(ChatDelta::CallArguments, "{\"x\":");
    written.take(ChatDelta::CallArguments, "1}");
    written.take(ChatDelta::CallEnd, "");
  }
  ChatChoice choice;
  choice.calls = {{"id-f", "f", "{\"x\":1}"}, {"id-g", "g", "{\"x\":1}"}};
  choice.finish = BatchFinish::Stop;
  written.end(choice);
  EXPECT_EQ(written.exchange.stream_type, "text/event-stream");
  EXPECT_TRUE(written.exchange.ended);
  std::vector<Json> events = written.exchange.events();
  EXPECT_TRUE(
      events[0]["message"]["id"].get<std::string>().starts_with("msg_"));
  events[0]["message"].erase("id");
  const Json expected = Json::parse(R"([
    {"type": "message_start", "message": {"type": "message",
     "role": "assistant", "model": "small", "content": [],
     "stop_reason": null, "stop_sequence": null,
     "usage": {"input_tokens": 9, "cache_creation_input_tokens": 0,
               "cache_read_input_tokens": 0, "output_tokens": 0}}},
    {"type": "content_block_start", "index": 0, "content_block":
     {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta":
     {"type": "thinking_delta", "thinking": "h"}},
    {"type": "content_block_delta", "index": 0, "delta":
     {"type": "thinking_delta", "thinking": "m"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block":
     {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta":
     {"type": "text_delta", "text": "I "}},
    {"type": "content_block_delta", "index": 1, "delta":
     {"type": "text_delta", "text": "look."}},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block":
     {"type": "tool_use", "id": "id-f", "name": "f", "input": {}}},
    {"type": "content_block_delta", "index": 2, "delta":
     {"type": "input_json_delta", "partial_json": "{\"x\":"}},
    {"type": "content_block_delta", "index": 2, "delta":
     {"type": "input_json_delta", "partial_json": "1}"}},
    {"type": "content_block_stop", "index": 2},
    {"type": "content_block_start", "index": 3, "content_block":
     {"type": "tool_use", "id": "id-g", "name": "g", "input": {}}},
    {"type": "content_block_delta", "index": 3, "delta":
     {"type": "input_json_delta", "partial_json": "{\"x\":"}},
    {"type": "content_block_delta", "index": 3, "delta":
     {"type": "input_json_delta", "partial_json": "1}"}},
    {"type": "content_block_stop", "index": 3},
    {"type": "message_delta", "delta":
     {"stop_reason": "tool_use", "stop_sequence": null},
     "usage": {"input_tokens": 5, "cache_creation_input_tokens": 0,
               "cache_read_input_tokens": 4, "output_tokens": 3}},
    {"type": "message_stop"}])");
  ASSERT_EQ(events.size(), expected.size());
  for (size_t i = 0; i < events.size(); ++i)
    EXPECT_EQ(events[i], expected[i]) << i;
}

TEST(MessagesWriter, AnEmptyStreamHasNoBlocks) {
  Written written(true);
  written.writer->begin(written.exchange, {});
  written.end({});
  EXPECT_EQ(written.exchange.names(),
            "message_start message_delta message_stop");
}

TEST(MessagesWriter, Failures) {
  Written early(true);
  early.writer->fail(early.exchange, overloaded("later"), false);
  EXPECT_EQ(early.exchange.response.status, 503u);
  EXPECT_EQ(early.exchange.body(), Json::parse(R"({"type": "error",
    "error": {"type": "overloaded_error", "message": "later"}})"));
  Written late(true);
  late.writer->begin(late.exchange, {});
  late.take(ChatDelta::Content, "a");
  late.writer->fail(late.exchange, server_fault("broken"), true);
  EXPECT_TRUE(late.exchange.ended);
  EXPECT_EQ(late.exchange.events().back(), Json::parse(R"({"type": "error",
    "error": {"type": "api_error", "message": "broken"}})"));
  EXPECT_EQ(
      messages_error_json({400, "a_type_of_others", "long"})["error"]["type"],
      "invalid_request_error");
  EXPECT_EQ(messages_error_json({413, "invalid_request_error", "large"}),
            Json::parse(R"({"type": "error", "error":
              {"type": "request_too_large", "message": "large"}})"));
}

} // namespace
} // namespace baton
