//===- ResponsesTest.cpp - /v1/responses ----------------------------------===//

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
  return chat_of_responses(parse_body(body));
}

/// Of a request with an input, and the keys given.
Json chat_with(const std::string &keys) {
  return chat_of(R"({"input": "a", )" + keys + "}");
}

/// Messages of these items.
Json messages_of(const std::string &items) {
  return chat_of("{\"input\": [" + items + "]}")["messages"];
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
  return fault_of(R"({"input": "a", )" + keys + "}");
}

std::string fault_of_item(const std::string &item) {
  return fault_of("{\"input\": [" + item + "]}");
}

TEST(ResponsesRequest, WhatMeansTheSameIsTaken) {
  EXPECT_EQ(chat_of(R"({"model": "m", "input": "a", "instructions": "I",
                        "max_output_tokens": 5, "temperature": 0, "seed": 7,
                        "stream": true, "store": true, "truncation": "auto",
                        "stream_options": {"include_obfuscation": true},
                        "parallel_tool_calls": false,
                        "previous_response_id": null,
                        "background": false, "include": []})"),
            Json::parse(R"({"model": "m", "temperature": 0, "seed": 7,
                        "stream": true, "store": true,
                        "parallel_tool_calls": false,
                        "messages": [{"role": "system", "content": "I"},
                                     {"role": "user", "content": "a"}],
                        "continue_final_message": false, "max_tokens": 5})"));
}

TEST(ResponsesRequest, Items) {
  EXPECT_EQ(messages_of(R"(
    {"role": "user", "content": "weather?"},
    {"type": "reasoning", "id": "r", "summary": [], "content":
        [{"type": "reasoning_text", "text": "hm"}]},
    {"type": "message", "role": "assistant", "content":
        [{"type": "output_text", "text": "I ", "annotations": []},
         {"type": "output_text", "text": "look."}]},
    {"type": "function_call", "id": "i", "call_id": "1", "name": "f",
        "arguments": "{\"x\": 1}"},
    {"type": "function_call", "call_id": "2", "name": "g", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "1", "output": "sun"},
    {"type": "function_call_output", "call_id": "2", "output":
        [{"type": "input_text", "text": "rain"}]},
    {"type": "message", "role": "user", "content":
        [{"type": "input_text", "text": "go on"}]})"),
            Json::parse(R"([
    {"role": "user", "content": "weather?"},
    {"role": "assistant", "content": "I \nlook.", "reasoning_content": "hm",
     "tool_calls": [
        {"type": "function", "function":
         {"name": "f", "arguments": "{\"x\": 1}"}, "id": "1"},
        {"type": "function", "function": {"name": "g", "arguments": "{}"},
         "id": "2"}]},
    {"role": "tool", "tool_call_id": "1", "content": "sun"},
    {"role": "tool", "tool_call_id": "2", "content": "rain"},
    {"role": "user", "content": "go on"}])"));
}

TEST(ResponsesRequest, ReasoningBelongsToWhatFollows) {
  EXPECT_EQ(messages_of(R"(
    {"role": "assistant", "content": "a"},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]},
    {"type": "function_call", "call_id": "1", "name": "f",
        "arguments": "{}"})"),
            Json::parse(R"([
    {"role": "assistant", "content": "a"},
    {"role": "assistant", "content": "", "reasoning_content": "s",
     "tool_calls": [{"type": "function",
        "function": {"name": "f", "arguments": "{}"}, "id": "1"}]}])"));
  // Two answers in a row are two.
  EXPECT_EQ(messages_of(R"({"role": "assistant", "content": "a"},
                           {"role": "assistant", "content": "b"})")
                .size(),
            2u);
}

TEST(ResponsesRequest, TheSystemSpeaksOnce) {
  EXPECT_EQ(chat_of(R"({"instructions": "A", "input": [
                        {"role": "developer", "content": "B"},
                        {"role": "system", "content": "C"},
                        {"role": "user", "content": "a"}]})")["messages"],
            Json::parse(R"([{"role": "system", "content": "A\n\nB\n\nC"},
                            {"role": "user", "content": "a"}])"));
}

TEST(ResponsesRequest, Tools) {
  const Json chat = chat_with(R"("tools": [
      {"type": "function", "name": "f", "description": "D", "strict": true,
       "parameters": {"type": "object"}},
      {"type": "function", "name": "g", "parameters": null}],
      "tool_choice": {"type": "function", "name": "f"})");
  EXPECT_EQ(chat["tools"], Json::parse(R"([
      {"type": "function", "function": {"name": "f", "description": "D",
       "parameters": {"type": "object"}, "strict": true}},
      {"type": "function", "function": {"name": "g"}}])"));
  EXPECT_EQ(chat["tool_choice"], Json::parse(R"({"type": "function",
      "function": {"name": "f"}})"));
  EXPECT_EQ(chat_with(R"("tool_choice": "required")")["tool_choice"],
            "required");
}

TEST(ResponsesRequest, TextFormat) {
  EXPECT_EQ(chat_with(R"("text": {"format": {"type": "json_schema",
      "name": "n", "strict": true, "schema": {"type": "object"}}})")
                ["response_format"],
            Json::parse(R"({"type": "json_schema", "json_schema": {"name": "n",
                            "strict": true, "schema": {"type": "object"}}})"));
  EXPECT_EQ(
      chat_with(
          R"("text": {"format": {"type": "json_object"}})")["response_format"],
      Json::parse(R"({"type": "json_object"})"));
  EXPECT_FALSE(
      chat_with(R"("text": {"verbosity": "low"})").contains("response_format"));
}

TEST(ResponsesRequest, ReasoningEffort) {
  const Json low = chat_with(R"("reasoning": {"effort": "low"})");
  EXPECT_EQ(low["reasoning_effort"], "low");
  EXPECT_FALSE(low.contains("chat_template_kwargs"));
  const Json none = chat_with(R"("reasoning": {"effort": "none"})");
  EXPECT_EQ(none["chat_template_kwargs"]["enable_thinking"], false);
  EXPECT_FALSE(none.contains("reasoning_effort"));
  EXPECT_FALSE(chat_with(R"("reasoning": {"summary": "auto"})")
                   .contains("reasoning_effort"));
}

TEST(ResponsesRequest, Logprobs) {
  EXPECT_FALSE(chat_with("\"top_logprobs\": 0").contains("logprobs"));
  EXPECT_EQ(chat_with("\"top_logprobs\": 3")["top_logprobs"], 3);
  EXPECT_EQ(chat_with("\"top_logprobs\": 3")["logprobs"], true);
  const Json included =
      chat_with(R"("include": ["message.output_text.logprobs"])");
  EXPECT_EQ(included["logprobs"], true);
  EXPECT_FALSE(included.contains("top_logprobs"));
}

TEST(ResponsesRequest, AFaultNamesItsPlace) {
  EXPECT_EQ(fault_of("{}"), "input: expected a text or a list of items");
  EXPECT_EQ(fault_of("{\"input\": []}"),
            "input: expected a text or a list of items");
  EXPECT_EQ(fault_of_item("1"), "input[0]: expected an object");
  EXPECT_EQ(fault_of_item("{}"), "input[0].type: expected a text");
  EXPECT_EQ(fault_of_item(R"({"role": "tool", "content": "a"})"),
            "input[0].role: expected user, assistant, system or developer, "
            "not \"tool\"");
  EXPECT_EQ(fault_of_item(R"({"role": "user"})"),
            "input[0].content: expected a text or a list of parts");
  EXPECT_EQ(fault_of_item(R"({"role": "user", "content": [1]})"),
            "input[0].content[0]: expected an object");
  EXPECT_EQ(
      fault_of_item(R"({"role": "user", "content": [{"type": "input_text"}]})"),
      "input[0].content[0].text: expected a text");
  EXPECT_EQ(fault_of_item(R"({"type": "function_call", "name": "f"})"),
            "input[0].call_id: expected a text");
  EXPECT_EQ(fault_of_item(R"({"type": "function_call_output",
                              "call_id": "1"})"),
            "input[0].output: expected a text or a list of parts");
  EXPECT_EQ(fault_of_item(R"({"type": "reasoning", "summary": []})"),
            "input: there is nothing that this model can read");
  EXPECT_EQ(fault_with("\"instructions\": []"),
            "instructions: expected a text");
  EXPECT_EQ(fault_with("\"text\": \"a\""), "text: expected an object");
  EXPECT_EQ(fault_with(R"("text": {"format": {"type": "json_schema"}})"),
            "text.format.schema: expected an object");
  EXPECT_EQ(fault_with("\"max_output_tokens\": 0"),
            "max_output_tokens: expected a whole number, at least 1");
  EXPECT_EQ(fault_with("\"reasoning\": {\"effort\": 1}"),
            "reasoning.effort: expected a text");
  EXPECT_EQ(fault_with("\"tools\": [{\"type\": \"function\"}]"),
            "tools[0].name: expected a text");
  EXPECT_EQ(fault_with("\"tool_choice\": \"any\""),
            "tool_choice: expected none, auto, required or an object, not "
            "\"any\"");
  EXPECT_EQ(fault_with("\"include\": \"x\""),
            "include: expected a list of texts");
}

TEST(ResponsesRequest, WhatThereIsNotIsRefusedByName) {
  for (const char *key : {"previous_response_id", "conversation", "prompt"})
    EXPECT_TRUE(fault_with("\"" + std::string(key) + "\": \"x\"")
                    .starts_with(std::string(key) + ": nothing is stored"))
        << key;
  EXPECT_TRUE(fault_with("\"background\": true").starts_with("background: "));
  EXPECT_TRUE(fault_of_item(R"({"type": "item_reference", "id": "x"})")
                  .starts_with("input[0]: nothing is stored"));
  EXPECT_EQ(fault_with(R"("tools": [{"type": "web_search"}])"),
            "tools[0].type: there are only functions here, no "
            "\"web_search\"");
  EXPECT_EQ(fault_with(R"("tool_choice": {"type": "web_search"})"),
            "tool_choice.type: expected function, not \"web_search\"");
  EXPECT_EQ(fault_of_item(R"({"role": "user", "content":
                              [{"type": "input_image"}]})"),
            "input[0].content[0]: this model reads text only, no "
            "\"input_image\"");
  EXPECT_EQ(fault_of_item(R"({"type": "web_search_call"})"),
            "input[0].type: expected message, function_call, "
            "function_call_output or reasoning, not \"web_search_call\"");
  EXPECT_EQ(fault_with("\"n\": 2"), "n: only 1 is supported");
}

// Answers.

ServedModel model() {
  ServedModel made;
  made.name = "small";
  made.sampling.temperature = 0.5;
  return made;
}

struct Written {
  explicit Written(bool streams, const Json &body = Json::object())
      : writer(make_responses_writer(of, streams, 9, body)) {}

  void take(ChatDelta::Kind kind, const std::string &text,
            const std::string &id = {}, const Json &logprobs = nullptr,
            bool complete = true) {
    writer->delta(exchange, 0, {kind, text, 0, id, complete}, logprobs);
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

Json whole(const ChatChoice &choice, const Json &body = Json::object()) {
  Written written(false, body);
  written.writer->end(written.exchange, {}, {choice},
                      {.prompt = 9, .cached = 4, .generated = 3});
  EXPECT_EQ(written.exchange.response.status, 200u);
  return written.exchange.body();
}

/// Random identifiers become those of their kind.
void erase_ids(Json &json) {
  for (auto &[key, value] : json.items()) {
    if (value.is_structured())
      erase_ids(value);
    else if (key == "id" || key == "item_id")
      value = value.get<std::string>().substr(
          0, value.get<std::string>().find('_'));
  }
  if (json.is_object())
    json.erase("created_at");
}

TEST(ResponsesWriter, AWholeResponse) {
  ChatChoice choice;
  choice.reasoning = "hm";
  choice.content = "I look.";
  choice.calls = {{"c1", "f", "{\"x\":1}"}};
  choice.finish = BatchFinish::Stop;
  Json response = whole(choice, {{"metadata", {{"a", "b"}}},
                                 {"instructions", "I"},
                                 {"top_p", nullptr},
                                 {"max_output_tokens", 5}});
  EXPECT_GT(response["created_at"], 1'700'000'000);
  for (auto &item : response["output"])
    EXPECT_GT(item["id"].get<std::string>().size(), 20u);
  for (auto &item : response["output"])
    erase_ids(item);
  erase_ids(response);
  EXPECT_EQ(response, Json::parse(R"({"id": "resp", "object": "response",
    "status": "completed", "error": null, "incomplete_details": null,
    "model": "small", "output": [
      {"id": "rs", "type": "reasoning", "status": "completed", "summary": [],
       "content": [{"type": "reasoning_text", "text": "hm"}]},
      {"id": "msg", "type": "message", "status": "completed",
       "role": "assistant", "content": [{"type": "output_text",
       "text": "I look.", "annotations": [], "logprobs": []}]},
      {"id": "fc", "type": "function_call", "status": "completed",
       "call_id": "c1", "name": "f", "arguments": "{\"x\":1}"}],
    "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4},
              "output_tokens": 3,
              "output_tokens_details": {"reasoning_tokens": 0},
              "total_tokens": 12},
    "background": false, "previous_response_id": null, "store": false,
    "truncation": "disabled", "instructions": "I", "max_output_tokens": 5,
    "metadata": {"a": "b"}, "parallel_tool_calls": true,
    "reasoning": {"effort": null, "summary": null}, "temperature": 0.5,
    "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [],
    "top_logprobs": 0, "top_p": 1.0, "user": null})"));
}

TEST(ResponsesWriter, WhatEndsTooEarlyIsIncomplete) {
  ChatChoice choice;
  choice.content = "I look.";
  choice.calls = {{"c1", "f", "{\"x\":"}};
  choice.finish = BatchFinish::Length;
  const Json response = whole(choice);
  EXPECT_EQ(response["status"], "incomplete");
  EXPECT_EQ(response["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(response["output"][0]["status"], "completed");
  EXPECT_EQ(response["output"][1]["status"], "incomplete");
}

TEST(ResponsesWriter, AStreamedResponse) {
  const Json logprob = Json::array({{{"token", "I "}, {"logprob", -1.5}}});
  const Json logprob2 = Json::array({{{"token", "look."}, {"logprob", -2.5}}});
  Written written(true);
  written.writer->begin(written.exchange, {});
  written.take(ChatDelta::Reasoning, "h");
  written.take(ChatDelta::Reasoning, "m");
  written.take(ChatDelta::Content, "I ", "", logprob);
  written.take(ChatDelta::Content, "look.", "", logprob2);
  written.take(ChatDelta::CallBegin, "f", "c1");
  written.take(ChatDelta::CallArguments, "{\"x\":");
  written.take(ChatDelta::CallArguments, "1}");
  written.take(ChatDelta::CallEnd, "");
  ChatChoice choice;
  choice.finish = BatchFinish::Stop;
  written.end(choice);
  EXPECT_TRUE(written.exchange.ended);
  std::vector<Json> events = written.exchange.events();
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i]["sequence_number"], i);
    events[i].erase("sequence_number");
  }
  // One identifier for all events of an item.
  EXPECT_EQ(events[2]["item"]["id"], events[4]["item_id"]);
  EXPECT_EQ(events[2]["item"]["id"], events[8]["item"]["id"]);
  for (Json &event : events)
    erase_ids(event);
  const Json expected = Json::parse(R"([
    {"type": "response.output_item.added", "output_index": 0, "item":
     {"id": "rs", "type": "reasoning", "status": "in_progress", "summary": [],
      "content": []}},
    {"type": "response.content_part.added", "item_id": "rs",
     "output_index": 0, "content_index": 0, "part":
     {"type": "reasoning_text", "text": ""}},
    {"type": "response.reasoning_text.delta", "item_id": "rs",
     "output_index": 0, "content_index": 0, "delta": "h"},
    {"type": "response.reasoning_text.delta", "item_id": "rs",
     "output_index": 0, "content_index": 0, "delta": "m"},
    {"type": "response.reasoning_text.done", "item_id": "rs",
     "output_index": 0, "content_index": 0, "text": "hm"},
    {"type": "response.content_part.done", "item_id": "rs",
     "output_index": 0, "content_index": 0, "part":
     {"type": "reasoning_text", "text": "hm"}},
    {"type": "response.output_item.done", "output_index": 0, "item":
     {"id": "rs", "type": "reasoning", "status": "completed", "summary": [],
      "content": [{"type": "reasoning_text", "text": "hm"}]}},
    {"type": "response.output_item.added", "output_index": 1, "item":
     {"id": "msg", "type": "message", "status": "in_progress",
      "role": "assistant", "content": []}},
    {"type": "response.content_part.added", "item_id": "msg",
     "output_index": 1, "content_index": 0, "part":
     {"type": "output_text", "text": "", "annotations": [], "logprobs": []}},
    {"type": "response.output_text.delta", "item_id": "msg",
     "output_index": 1, "content_index": 0, "delta": "I ",
     "logprobs": [{"token": "I ", "logprob": -1.5}]},
    {"type": "response.output_text.delta", "item_id": "msg",
     "output_index": 1, "content_index": 0, "delta": "look.",
     "logprobs": [{"token": "look.", "logprob": -2.5}]},
    {"type": "response.output_text.done", "item_id": "msg",
     "output_index": 1, "content_index": 0, "text": "I look.",
     "logprobs": [{"token": "I ", "logprob": -1.5},
                  {"token": "look.", "logprob": -2.5}]},
    {"type": "response.content_part.done", "item_id": "msg",
     "output_index": 1, "content_index": 0, "part":
     {"type": "output_text", "text": "I look.", "annotations": [],
      "logprobs": [{"token": "I ", "logprob": -1.5},
                   {"token": "look.", "logprob": -2.5}]}},
    {"type": "response.output_item.done", "output_index": 1, "item":
     {"id": "msg", "type": "message", "status": "completed",
      "role": "assistant", "content": [{"type": "output_text",
      "text": "I look.", "annotations": [],
      "logprobs": [{"token": "I ", "logprob": -1.5},
                   {"token": "look.", "logprob": -2.5}]}]}},
    {"type": "response.output_item.added", "output_index": 2, "item":
     {"id": "fc", "type": "function_call", "status": "in_progress",
      "call_id": "c1", "name": "f", "arguments": ""}},
    {"type": "response.function_call_arguments.delta", "item_id": "fc",
     "output_index": 2, "delta": "{\"x\":"},
    {"type": "response.function_call_arguments.delta", "item_id": "fc",
     "output_index": 2, "delta": "1}"},
    {"type": "response.function_call_arguments.done", "item_id": "fc",
     "output_index": 2, "name": "f", "arguments": "{\"x\":1}"},
    {"type": "response.output_item.done", "output_index": 2, "item":
     {"id": "fc", "type": "function_call", "status": "completed",
      "call_id": "c1", "name": "f", "arguments": "{\"x\":1}"}}])");
  ASSERT_EQ(events.size(), expected.size() + 3);
  EXPECT_EQ(events[0]["type"], "response.created");
  EXPECT_EQ(events[0]["response"]["status"], "in_progress");
  EXPECT_EQ(events[0]["response"]["output"], Json::array());
  EXPECT_EQ(events[1]["type"], "response.in_progress");
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(events[i + 2], expected[i]) << i;
  const Json &last = events.back();
  EXPECT_EQ(last["type"], "response.completed");
  EXPECT_EQ(last["response"]["status"], "completed");
  EXPECT_EQ(last["response"]["output"],
            Json::array({expected[6]["item"], expected[13]["item"],
                         expected[18]["item"]}));
  EXPECT_EQ(last["response"]["usage"]["output_tokens"], 3);
}

TEST(ResponsesWriter, AStreamThatEndsTooEarly) {
  Written written(true);
  written.writer->begin(written.exchange, {});
  written.take(ChatDelta::CallBegin, "f", "c1");
  written.take(ChatDelta::CallArguments, "{\"x\":");
  written.take(ChatDelta::CallEnd, "", "", nullptr, false);
  written.take(ChatDelta::Content, "a");
  written.end({});
  const Json last = written.exchange.events().back();
  EXPECT_EQ(last["type"], "response.incomplete");
  EXPECT_EQ(last["response"]["incomplete_details"]["reason"],
            "max_output_tokens");
  EXPECT_EQ(last["response"]["output"][0]["status"], "incomplete");
  EXPECT_EQ(last["response"]["output"][1]["status"], "incomplete");
}

TEST(ResponsesWriter, Failures) {
  Written early(true);
  early.writer->fail(early.exchange, invalid_request("seed: expected"), false);
  EXPECT_EQ(early.exchange.response.status, 400u);
  EXPECT_EQ(early.exchange.body()["error"]["param"], "seed");
  Written late(true);
  late.writer->begin(late.exchange, {});
  late.take(ChatDelta::Content, "a");
  late.writer->fail(late.exchange, server_fault("broken"), true);
  EXPECT_TRUE(late.exchange.ended);
  const Json last = late.exchange.events().back();
  EXPECT_EQ(last["type"], "response.failed");
  EXPECT_EQ(last["response"]["status"], "failed");
  EXPECT_EQ(last["response"]["error"],
            Json::parse(R"({"code": "server_error", "message": "broken"})"));
}

} // namespace
} // namespace baton
