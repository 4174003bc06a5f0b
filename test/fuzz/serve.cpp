//===- serve.cpp - fuzz: requests to a server -----------------------------===//
//
// The first line is a path, the rest a body. Bodies are read as the server
// reads them; what it would hand to its engine gets tokens, those that a
// constraint allows or those of some text, and the answer is written.
//
// Mutations of bodies that are JSON take, put and change whole values, too.
//
//===----------------------------------------------------------------------===//

#include "runtime/batch/score_json.h"
#include "runtime/serve/api_json.h"
#include "runtime/serve/batch_lines.h"
#include "runtime/serve/chat_request.h"
#include "runtime/serve/completion_answer.h"
#include "runtime/serve/dialects.h"
#include "runtime/serve/embedding_answer.h"
#include "runtime/serve/llama_completion.h"
#include "runtime/serve/ranking_answer.h"
#include "runtime/serve/request_keys.h"
#include "test/runtime/serve/written_exchange.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>

using namespace baton;
using Json = nlohmann::ordered_json;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

namespace {

constexpr int32_t end_token = 0;
constexpr size_t most_answers = 8, most_tokens = 96;

constexpr const char *chat_template =
    R"({%- if tools %}# Tools <tool_call>{"name": NAME, "arguments": {}}</tool_call>
{% for tool in tools %}{{ tool|tojson }}
{% endfor %}{% endif %}
{%- for message in messages %}<{{ message.role }}>{{ message.content }}
{%- if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}
{%- for call in message.tool_calls or [] %}<tool_call>
{{- {"name": call.function.name, "arguments": call.function.arguments}|tojson }}</tool_call>
{%- endfor %}</>{% endfor %}
{%- if add_generation_prompt %}<assistant>{% if enable_thinking is defined and enable_thinking %}<think>
{% endif %}{% endif %})";

/// Each byte is a token.
std::shared_ptr<const ServedModel> served_model() {
  auto model = std::make_shared<ServedModel>();
  model->name = "bytes";
  BatchFormat &format = model->format;
  format.tokenizer = Tokenizer::of_bytes();
  format.stop_tokens = {end_token};
  format.shape.max_positions = 4096;
  format.shape.max_sequences = 8;
  format.shape.max_rows = 64;
  format.shape.max_outputs = 8;
  format.shape.vocabulary = 256;
  format.shape.pages = 512;
  format.shape.max_changes = 4096 + 1024;
  format.shape.hidden_width = 5;
  model->conversation = std::make_shared<const Conversation>(
      ChatTemplate{chat_template, "", ""}, "template");
  model->constraints = std::make_shared<ConstraintCache>(
      format.tokenizer, format.shape.vocabulary, format.stop_tokens);
  return model;
}

std::vector<int32_t> tokens_of(const BatchRequest &request,
                               std::mt19937 &random) {
  static const char *const texts[] = {"Hello, world. 日本 \xC3\xA9 \n\nstop x",
                                      R"(<think>hm</think>
<tool_call>
{"name": "f", "arguments": {"x": [1, "a"]}}
</tool_call>)",
                                      "hm\n</think> It is \xF0\x9F\x98\x80",
                                      "<tool_call>{\"name\": \"f\", \"argu",
                                      "\xF0\x9F\xFF {\"a\": 1}"};
  const uint64_t count = std::min<uint64_t>(
      {request.max_new_tokens, most_tokens, 1 + random() % most_tokens});
  std::vector<int32_t> tokens;
  if (request.constraint) {
    const auto matcher = request.constraint->start();
    std::vector<uint32_t> mask(8);
    while (tokens.size() < count) {
      matcher->allowed(mask);
      std::vector<int32_t> allowed;
      for (int32_t token = 0; token < 256; ++token)
        if (mask[size_t(token) / 32] >> (token % 32) & 1)
          allowed.push_back(token);
      if (allowed.empty())
        std::abort();
      tokens.push_back(allowed[random() % allowed.size()]);
      if (!matcher->accept(tokens.back()))
        std::abort();
      if (tokens.back() == end_token || matcher->is_finished())
        break;
    }
    return tokens;
  }
  const std::string text = texts[random() % std::size(texts)];
  for (size_t i = 0; i < text.size() && tokens.size() < count; ++i)
    tokens.push_back(static_cast<uint8_t>(text[i]));
  if (tokens.size() < count && random() % 2)
    tokens.push_back(end_token);
  return tokens;
}

BatchChoice choice_of(const BatchRequest &request, std::mt19937 &random) {
  BatchChoice choice;
  if (!request.is_only_scored())
    choice.tokens = tokens_of(request, random);
  choice.finish = random() % 16 == 0
                      ? BatchFinish::Error
                      : (choice.tokens.size() < request.max_new_tokens
                             ? BatchFinish::Stop
                             : BatchFinish::Length);
  if (choice.finish == BatchFinish::Error)
    choice.error = "it has failed";
  if (request.logprobs)
    for (int32_t token : choice.tokens) {
      choice.logprobs.push_back({token, -0.5F});
      for (uint32_t i = 0; i < *request.logprobs; ++i)
        choice.logprobs.push_back({i % 3 ? int32_t(i) : BATON_NOT_DRAWN, -1.F});
    }
  return choice;
}

BatchResult result_of(BatchRequest request, std::mt19937 &random) {
  BatchResult result;
  result.prompt_tokens = request.prompt.size();
  if (request.is_embedded())
    for (size_t i = 0;
         i < (request.pooling == Pooling::None ? request.prompt.size() : 1) * 5;
         ++i)
      result.embedding.push_back(i % 7 ? float(i) - 3.5F : 0);
  request.prompt.clear();
  for (uint32_t i = 0; i < request.n; ++i)
    result.choices.push_back(choice_of(request, random));
  result.request = std::move(request);
  return result;
}

/// What is written is JSON, and comes to an end.
void check(const WrittenExchange &exchange) {
  if (exchange.stream_type.empty()) {
    const Json body = Json::parse(exchange.response.body);
    if (exchange.response.status != 200 &&
        body.dump().find("it has failed") == std::string::npos)
      std::abort();
    return;
  }
  if (!exchange.ended)
    std::abort();
  for (size_t place = 0; place < exchange.text.size();) {
    const size_t end = exchange.text.find('\n', place);
    if (end == std::string::npos)
      std::abort();
    const std::string line = exchange.text.substr(place, end - place);
    if (line.starts_with("data: ") && line != "data: [DONE]")
      static_cast<void>(Json::parse(line.substr(6)));
    place = end + 1;
  }
}

/// The engine has answered.
void play(Answer &answer, std::mt19937 &random) {
  std::vector<BatchRequest> requests = std::move(answer.requests);
  size_t answers = 0;
  for (const BatchRequest &request : requests)
    answers += request.n;
  if (answers > most_answers)
    return;
  answer.begin();
  for (uint32_t part = 0; part < requests.size(); ++part) {
    answer.on_prompt(part, {.tokens = requests[part].prompt.size(),
                            .done = requests[part].prompt.size()});
    const BatchResult result = result_of(std::move(requests[part]), random);
    for (uint32_t i = 0; i < result.choices.size(); ++i) {
      const BatchChoice &choice = result.choices[i];
      const size_t each = choice.tokens.empty()
                              ? 0
                              : choice.logprobs.size() / choice.tokens.size();
      for (size_t at = 0; at < choice.tokens.size(); ++at)
        answer.on_token(part, i, choice.tokens[at],
                        std::span(choice.logprobs).subspan(at * each, each));
      answer.usage.generated += choice.tokens.size();
    }
    answer.on_result(part, result);
  }
  answer.end(answer.usage);
}

const std::shared_ptr<const ServedModel> &model() {
  static const auto made = served_model();
  return made;
}

using MakeWriter =
    std::function<std::unique_ptr<ChatWriter>(const ChatRequest &)>;

void converse(const Json &chat, std::mt19937 &random, const MakeWriter &make) {
  ChatRequest request = read_chat_request(chat, *model());
  expect_positions(request.request, *model(), "messages");
  if (auto fault = find_request_fault(request.request, model()->format.shape,
                                      "messages"))
    throw Error(*fault);
  auto exchange = std::make_shared<WrittenExchange>();
  std::unique_ptr<ChatWriter> writer = make(request);
  ChatAnswer answer(exchange, model(), std::move(request.request),
                    request.output, std::move(writer));
  answer.ignore(request.ignored_keys);
  const bool fits = answer.requests.front().n <= most_answers;
  play(answer, random);
  if (fits)
    check(*exchange);
}

template <typename Request, typename Make>
void complete(Request request, Make make, std::mt19937 &random) {
  size_t answers = 0;
  for (const BatchRequest &own : request.requests) {
    expect_positions(own, *model(), "prompt");
    if (auto fault = find_request_fault(own, model()->format.shape))
      throw Error(*fault);
    answers += own.n;
  }
  auto exchange = std::make_shared<WrittenExchange>();
  const std::vector<std::string> ignored = request.ignored_keys;
  const std::shared_ptr<Answer> answer =
      make(exchange, model(), std::move(request));
  answer->ignore(ignored);
  play(*answer, random);
  if (answers <= most_answers)
    check(*exchange);
}

/// A line of a file of requests, to continue and to score.
void read_line(const Json &line, bool scores, std::mt19937 &random) {
  static const auto format = [] {
    BatchFormat made = model()->format;
    made.api = make_api_lines(model());
    return made;
  }();
  RequestOrigin origin;
  // A file names what has none.
  if (!request_id(line))
    return;
  if (scores) {
    for (const BatchRequest &request : parse_scores(line, format, origin))
      static_cast<void>(find_request_fault(request, format.shape));
    return;
  }
  BatchRequest request = parse_request(line, format, origin);
  if (auto fault = find_request_fault(request, format.shape))
    throw Error(*fault);
  if (request.n > most_answers || request.score_from)
    return;
  const BatchResult result = result_of(std::move(request), random);
  if (std::ranges::any_of(result.choices, [](const BatchChoice &choice) {
        return choice.finish == BatchFinish::Error;
      }))
    return;
  static_cast<void>(Json::parse(result_line(origin, result, format, "x:1")));
}

using Route = void (*)(const Json &body, std::mt19937 &random);

const std::map<std::string, Route, std::less<>> &routes() {
  static const std::map<std::string, Route, std::less<>> all = {
      {"/v1/chat/completions",
       [](const Json &body, std::mt19937 &random) {
         converse(body, random, [](const ChatRequest &request) {
           return make_openai_chat_writer(*model(), request);
         });
       }},
      {"/v1/messages",
       [](const Json &body, std::mt19937 &random) {
         converse(
             chat_of_messages(body), random, [&](const ChatRequest &request) {
               return make_messages_writer(*model(), request.output.streams,
                                           request.request.prompt.size(), body);
             });
       }},
      {"/v1/responses",
       [](const Json &body, std::mt19937 &random) {
         converse(
             chat_of_responses(body), random, [&](const ChatRequest &request) {
               return make_responses_writer(*model(), request.output.streams,
                                            request.request.prompt.size(),
                                            body);
             });
       }},
      {"/v1/completions",
       [](const Json &body, std::mt19937 &random) {
         complete(read_completion_request(body, *model()),
                  make_completion_answer, random);
       }},
      {"/completion",
       [](const Json &body, std::mt19937 &random) {
         complete(read_llama_request(body, *model()), make_llama_answer,
                  random);
       }},
      {"/v1/embeddings",
       [](const Json &body, std::mt19937 &random) {
         complete(read_embedding_request(body, *model()), make_embedding_answer,
                  random);
       }},
      {"/embedding",
       [](const Json &body, std::mt19937 &random) {
         complete(read_embedding_request(body, *model(), true),
                  make_llama_embedding_answer, random);
       }},
      {"/score",
       [](const Json &body, std::mt19937 &random) {
         complete(read_score_request(body, *model()), make_ranking_answer,
                  random);
       }},
      {"/rerank",
       [](const Json &body, std::mt19937 &random) {
         complete(read_rerank_request(body, *model()), make_ranking_answer,
                  random);
       }},
      {"/apply-template",
       [](const Json &body, std::mt19937 &) {
         static_cast<void>(json_text(read_chat_prompt(body, *model())));
       }},
      {"batch", [](const Json &body,
                   std::mt19937 &random) { read_line(body, false, random); }},
      {"score", [](const Json &body,
                   std::mt19937 &random) { read_line(body, true, random); }},
  };
  return all;
}

/// All values in a document.
void collect(Json &value, std::vector<Json *> &all) {
  all.push_back(&value);
  if (value.is_structured())
    for (Json &part : value)
      collect(part, all);
}

Json &any_value(Json &document, std::mt19937 &random) {
  std::vector<Json *> all;
  collect(document, all);
  return *all[random() % all.size()];
}

Json odd_value(std::mt19937 &random) {
  static const std::vector<Json> all = {
      nullptr,
      true,
      false,
      0,
      1,
      -1,
      2.5,
      1e300,
      18446744073709551615U,
      65,
      "",
      "a",
      "auto",
      "\n",
      "\xC3\xA9",
      "{}",
      "string",
      std::string(3000, 'x'),
      Json::array(),
      Json::object(),
      Json::array({1, 2}),
      Json::array({"a"}),
      Json{{"type", "text"}, {"text", "a"}},
      Json{{"type", "object"}},
      Json{{"role", "user"}, {"content", "a"}}};
  return all[random() % all.size()];
}

/// One value comes from elsewhere, is left out or changed.
void mutate(Json &document, Json &other, std::mt19937 &random) {
  Json &place = any_value(document, random);
  const Json value =
      random() % 2 ? Json(any_value(other, random)) : odd_value(random);
  if (place.is_object() && !place.empty() && random() % 2) {
    const auto at =
        std::next(place.begin(), std::ptrdiff_t(random() % place.size()));
    if (random() % 2)
      place.erase(at);
    else
      at.value() = value;
  } else if (place.is_object() && other.is_object() && !other.empty()) {
    const auto at =
        std::next(other.begin(), std::ptrdiff_t(random() % other.size()));
    place[at.key()] = random() % 2 ? Json(at.value()) : value;
  } else if (place.is_array() && random() % 2) {
    place.insert(place.begin() + std::ptrdiff_t(random() % (place.size() + 1)),
                 value);
  } else if (place.is_number() && random() % 2) {
    place = place.get<double>() + double(random() % 5) - 2;
  } else {
    place = value;
  }
}

struct Parts {
  std::string path, body;
};

Parts parts_of(const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  const size_t line = text.find('\n');
  if (line == std::string::npos)
    return {text, ""};
  return {text.substr(0, line), text.substr(line + 1)};
}

size_t put(const Parts &parts, uint8_t *data, size_t most) {
  const std::string text = parts.path + "\n" + parts.body;
  if (text.size() > most)
    return 0;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  std::mt19937 random(seed);
  Parts parts = parts_of(data, size);
  if (random() % 16 == 0 || !routes().contains(parts.path))
    parts.path =
        std::next(routes().begin(), std::ptrdiff_t(random() % routes().size()))
            ->first;
  Json document = Json::parse(parts.body, nullptr, false);
  if (random() % 4 == 0 || document.is_discarded()) {
    std::string body = parts.body;
    body.resize(std::max<size_t>(most, parts.path.size() + 64) -
                parts.path.size() - 1);
    body.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(body.data()),
                                 parts.body.size(), body.size()));
    parts.body = body;
  } else {
    for (unsigned count = 1 + random() % 3; count > 0; --count) {
      Json copy = document;
      mutate(document, copy, random);
    }
    parts.body = json_text(document);
  }
  const size_t changed = put(parts, data, most);
  return changed ? changed : size;
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first,
                                            size_t first_size,
                                            const uint8_t *second,
                                            size_t second_size, uint8_t *out,
                                            size_t most, unsigned seed) {
  std::mt19937 random(seed);
  Parts parts = parts_of(first, first_size);
  Json document = Json::parse(parts.body, nullptr, false),
       other = Json::parse(parts_of(second, second_size).body, nullptr, false);
  if (!document.is_discarded() && !other.is_discarded())
    for (unsigned count = 1 + random() % 3; count > 0; --count)
      mutate(document, other, random);
  parts.body = document.is_discarded() ? parts.body : json_text(document);
  return put(parts, out, most);
}

/// A request is answered, or refused with its reason; what else is thrown would
/// be a status 500.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const Parts parts = parts_of(data, size);
  const auto route = routes().find(parts.path);
  if (route == routes().end())
    return 0;
  uint32_t hash = 2166136261U;
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ data[i]) * 16777619U;
  std::mt19937 random(hash);
  try {
    route->second(parse_body(parts.body), random);
  } catch (const ApiError &error) {
    if (error.status == 500 || *error.what() == 0)
      std::abort();
    static_cast<void>(json_text(error_json(error)));
  } catch (const Error &error) {
    if (*error.what() == 0)
      std::abort();
    static_cast<void>(json_text(error_json(invalid_request(error.what()))));
  }
  return 0;
}
