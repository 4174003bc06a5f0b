//===- service.cpp - the server's API -------------------------------------===//

#include "runtime/serve/service.h"

#include "runtime/batch/token_json.h"
#include "runtime/error.h"
#include "runtime/serve/access.h"
#include "runtime/serve/api_json.h"
#include "runtime/serve/chat_request.h"
#include "runtime/serve/completion_answer.h"
#include "runtime/serve/dialects.h"
#include "runtime/serve/embedding_answer.h"
#include "runtime/serve/page.h"
#include "runtime/serve/ranking_answer.h"
#include "runtime/serve/request_keys.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <string_view>
#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// Reading bodies is quick beside steps, and should not take their cores.
constexpr unsigned reading_threads = 2;

constexpr std::string_view models_path = "/v1/models/";

} // namespace

const std::vector<Service::Route> &Service::routes() {
  static const std::vector<Route> all = {
      {"GET", "/", &Service::page, true},
      {"GET", "/health", &Service::health, true},
      {"GET", "/v1/health", &Service::health, true},
      {"GET", "/version", &Service::version},
      {"GET", "/metrics", &Service::show_metrics},
      {"GET", "/engine", &Service::engine_state},
      {"GET", "/v1/models", &Service::models},
      {"GET", "/models", &Service::models},
      {"POST", "/v1/chat/completions", &Service::chat_completions},
      {"POST", "/chat/completions", &Service::chat_completions},
      {"POST", "/v1/completions", &Service::completions},
      {"POST", "/completions", &Service::llama_completions},
      {"POST", "/completion", &Service::llama_completions},
      {"POST", "/v1/messages", &Service::messages},
      {"POST", "/v1/messages/count_tokens", &Service::count_tokens},
      {"POST", "/v1/chat/completions/input_tokens",
       &Service::count_chat_tokens},
      {"POST", "/chat/completions/input_tokens", &Service::count_chat_tokens},
      {"POST", "/v1/responses/input_tokens", &Service::count_response_tokens},
      {"POST", "/v1/responses", &Service::responses},
      {"POST", "/responses", &Service::responses},
      {"POST", "/tokenize", &Service::tokenize},
      {"POST", "/detokenize", &Service::detokenize},
      {"POST", "/apply-template", &Service::apply_template},
      {"GET", "/tokenizer_info", &Service::tokenizer_info},
      {"GET", "/props", &Service::props},
      {"GET", "/slots", &Service::slots},
      {"POST", "/infill", &Service::unsupported},
      {"POST", "/v1/embeddings", &Service::embeddings},
      {"POST", "/embeddings", &Service::llama_embeddings},
      {"POST", "/embedding", &Service::llama_embeddings},
      {"POST", "/score", &Service::score},
      {"POST", "/v1/score", &Service::score},
      {"POST", "/rerank", &Service::rerank},
      {"POST", "/reranking", &Service::rerank},
      {"POST", "/v1/rerank", &Service::rerank},
      {"POST", "/v2/rerank", &Service::rerank},
  };
  return all;
}

Service::Takes Service::takes(std::string_view method, std::string_view path) {
  Takes result;
  for (const Route &route : routes())
    if (path == route.path) {
      result.path = true;
      result.method |= method == route.method;
    }
  return result;
}

Service::Service(Execution &execution, std::shared_ptr<const ServedModel> of,
                 ServiceOptions wanted)
    : model(std::move(of)), adapted(model), options(std::move(wanted)),
      http(options.http,
           [this](const Exchange &exchange) { handle(exchange); }),
      engine(execution, model->format.shape,
             {.prefill_chunk = options.prefill_chunk,
              .prefix_cache = options.prefix_cache,
              .prompt_lookup = options.prompt_lookup,
              .capacity = options.max_requests,
              .write_storage = storage_writer(execution),
              .tokenizer = model->format.tokenizer},
             [this] { http.post([this] { take_events(); }); }),
      workers(reading_threads) {}

Service::~Service() = default;

void Service::run() {
  http.on_signal([this](int) { on_signal(); });
  http.run();
  if (const std::string failure = engine.failure(); !failure.empty())
    throw Error("the program has failed: " + failure);
}

void Service::on_signal() {
  // Who asks twice does not want to wait.
  if (draining)
    return http.stop();
  draining = true;
  http.drain();
  http.post_after(options.drain_seconds, [this] { http.stop(); });
  end_if_drained();
}

void Service::end_if_drained() {
  if (http.connections() == 0 && reading == 0)
    return http.stop();
  http.post_after(0.02, [this] { end_if_drained(); });
}

void Service::handle(const Exchange &exchange) {
  const HttpRequest &request = exchange->request();
  // Paths that there are not would be names of metrics without end.
  std::string path = "other";
  for (const Route &route : routes())
    if (request.path == route.path)
      path = route.path;
  dispatch(std::make_shared<MarkedExchange>(
      exchange, origin_headers(request, options.cors_origins),
      [this, path](unsigned status) {
        http.post(
            [this, path, status] { ++metrics.responses[{path, status}]; });
      }));
}

void Service::dispatch(const Exchange &exchange) {
  const HttpRequest &request = exchange->request();
  if (request.method == "OPTIONS")
    return exchange->respond({.status = 200});
  const Route *found = nullptr;
  bool is_path = false;
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  static const Route model_route = {"GET", "", &Service::model_of};
  for (const Route &route : routes())
    if (request.path == route.path) {
      is_path = true;
      if (method == route.method)
        found = &route;
    }
  if (!found && method == "GET" && request.path.starts_with(models_path))
    found = &model_route;
  if ((!found || !found->is_public) && !has_key(request, options.api_keys))
    return refuse(*exchange, key_wanted());
  if (!found && is_path)
    return refuse(*exchange,
                  {405, "invalid_request_error",
                   request.path + " does not take " + request.method});
  if (!found)
    return refuse(*exchange, not_found("there is no " + request.path));
  if (draining && method == "POST")
    return refuse(*exchange, overloaded("the server is about to end"));
  try {
    (this->*found->action)(exchange);
  } catch (const std::exception &failure) {
    refuse(*exchange, server_fault(failure.what()));
  }
}

void Service::take_events() {
  engine.take(events);
  for (const EngineEvent &event : events)
    take(event);
  events.clear();
  const std::string failure = engine.failure();
  if (failure.empty())
    return;
  std::unordered_map<uint64_t, Place> left;
  {
    std::lock_guard lock(mutex);
    left.swap(places);
  }
  std::set<std::shared_ptr<Answer>> failed;
  for (const auto &[tag, place] : left)
    if (!place.answer->gone && failed.insert(place.answer).second)
      place.answer->fail(server_fault(failure));
  http.post_after(0.1, [this] { http.stop(); });
}

void Service::take(const EngineEvent &event) {
  Place place;
  {
    std::lock_guard lock(mutex);
    auto found = places.find(event.tag);
    if (found == places.end())
      return;
    place = found->second;
    if (event.result)
      places.erase(found);
  }
  try {
    tell(*place.answer, place.part, event);
  } catch (const std::exception &failure) {
    // It ends one answer, not the server.
    if (!place.answer->gone)
      place.answer->fail(server_fault(failure.what()));
    leave(place.answer);
  }
}

void Service::tell(Answer &answer, uint32_t part, const EngineEvent &event) {
  if (!answer.gone)
    answer.begin();
  if (event.prompt) {
    answer.clock.on_prompt(*event.prompt);
    if (!answer.gone)
      answer.on_prompt(part, *event.prompt);
    return;
  }
  if (!event.result) {
    answer.clock.on_token();
    if (part == 0 && event.choice == 0) {
      const auto now = Answer::Clock::now();
      using Seconds = std::chrono::duration<double>;
      if (answer.latest_token == Answer::Clock::time_point())
        metrics.first_token.observe(Seconds(now - answer.arrived).count());
      else
        metrics.between_tokens.observe(
            Seconds(now - answer.latest_token).count());
      answer.latest_token = now;
    }
    if (!answer.gone)
      answer.on_token(part, event.choice, event.token, event.logprobs);
    if (std::exchange(answer.wants_end, false))
      for (const std::string &id : answer.ids)
        engine.cancel(id);
    return;
  }
  count(answer, *event.result);
  answer.usage.prompt += event.result->prompt_tokens;
  answer.usage.cached += event.result->cached_tokens;
  for (const BatchChoice &choice : event.result->choices)
    answer.usage.generated += choice.tokens.size();
  if (!answer.gone)
    answer.on_result(part, *event.result);
  if (--answer.left > 0 || answer.gone)
    return;
  answer.usage.timings = answer.clock.timings();
  answer.usage.timings.cached = answer.usage.cached;
  answer.usage.timings.prompt = answer.usage.prompt - answer.usage.cached;
  answer.end(answer.usage);
}

void Service::count(const Answer &answer, const BatchResult &result) {
  uint64_t generated = 0;
  for (const BatchChoice &choice : result.choices) {
    ++metrics.finished[std::string(batch_finish_name(choice.finish))];
    generated += choice.tokens.size();
  }
  metrics.prompt_tokens.observe(double(result.prompt_tokens));
  metrics.generated_tokens.observe(double(generated));
  metrics.whole_request.observe(
      std::chrono::duration<double>(Answer::Clock::now() - answer.arrived)
          .count());
}

/// Nobody waits for it any more.
void Service::leave(const std::shared_ptr<Answer> &answer) {
  answer->gone = true;
  for (const std::string &id : answer->ids)
    engine.cancel(id);
}

void Service::start(const std::shared_ptr<Answer> &answer) {
  std::vector<BatchRequest> requests = std::move(answer->requests);
  answer->left = requests.size();
  {
    std::lock_guard lock(mutex);
    for (uint32_t part = 0; part < requests.size(); ++part) {
      BatchRequest &request = requests[part];
      request.tag = next_tag++;
      request.id = std::to_string(request.tag);
      answer->ids.push_back(request.id);
      places[request.tag] = {answer, part};
    }
  }
  auto withdraw = [&] {
    std::lock_guard lock(mutex);
    for (const std::string &id : answer->ids) {
      places.erase(std::stoull(id));
      engine.cancel(id);
    }
  };
  try {
    for (BatchRequest &request : requests)
      if (!engine.submit(std::move(request)))
        throw overloaded("there are too many requests; try again later");
  } catch (...) {
    withdraw();
    throw;
  }
  // A client that left before is noticed now.
  http.post([this, answer] {
    answer->exchange->on_disconnect([this, answer] { leave(answer); });
    if (!answer->gone)
      answer->begin();
  });
}

void Service::read(const Exchange &exchange,
                   std::function<void(const Body &body)> answer) {
  ++reading;
  workers.push([this, exchange, answer = std::move(answer)] {
    try {
      answer(parse_body(exchange->request().body));
    } catch (const ApiError &error) {
      refuse(*exchange, error);
    } catch (const Error &error) {
      refuse(*exchange, invalid_request(error.what()));
    } catch (const std::exception &error) {
      refuse(*exchange, server_fault(error.what()));
    }
    --reading;
  });
}

void Service::health(const Exchange &exchange) {
  if (draining || !engine.failure().empty())
    return refuse(*exchange, overloaded("the server is about to end"));
  respond(*exchange, {{"status", "ok"}});
}

void Service::page(const Exchange &exchange) {
  if (!options.has_page)
    return refuse(*exchange, not_found("there is no page (--no-page)"));
  exchange->respond(page_response());
}

/// Of a model with an adapter, beside which it is, too.
static Json model_json(const ServedModel &model, const ServedModel &base) {
  return {{"id", model.name},
          {"object", "model"},
          {"created", model.created},
          {"owned_by", "baton"},
          {"parent", model.adapter ? Json(base.name) : Json()},
          {"max_model_len", model.format.shape.max_positions},
          {"meta",
           {{"family", model.family},
            {"vocabulary", model.format.shape.vocabulary},
            {"chat", model.conversation != nullptr},
            {"embedding_width", model.format.shape.hidden_width},
            {"tool_format", model.conversation
                                ? Json(model.conversation->tool_format().name)
                                : Json()}}}};
}

void Service::models(const Exchange &exchange) {
  Json data = Json::array();
  for (const ServedModel *served : adapted.all())
    data.push_back(model_json(*served, *model));
  respond(*exchange, {{"object", "list"}, {"data", std::move(data)}});
}

void Service::model_of(const Exchange &exchange) {
  const std::string name = exchange->request().path.substr(models_path.size());
  const ServedModel *served = adapted.find(name);
  if (!served)
    return refuse(*exchange, not_found("there is no model " + name));
  respond(*exchange, model_json(*served, *model));
}

void Service::show_metrics(const Exchange &exchange) {
  exchange->respond({.type = "text/plain; version=0.0.4; charset=utf-8",
                     .body = metrics.text(model->name, engine.counts(),
                                          engine.load(), http.connections())});
}

/// Times are seconds.
static Json timeline_json(const EngineTimeline *timeline,
                          const std::vector<std::string> &phases) {
  if (!timeline)
    return nullptr;
  auto seconds = [](double microseconds) {
    return std::round(microseconds * 10) / 1e7;
  };
  Json steps = Json::array();
  for (const EngineTimeline::Step &step : timeline->steps) {
    Json tasks = Json::array();
    for (const EngineTimeline::Interval &interval : step.intervals)
      tasks.push_back(
          {interval.worker, seconds(interval.begin), seconds(interval.end),
           interval.phase < phases.size() ? phases[interval.phase] : "phase"});
    steps.push_back({{"begin", seconds(step.begin)},
                     {"end", seconds(step.end)},
                     {"rows", step.rows},
                     {"tasks", std::move(tasks)}});
  }
  return {{"workers", timeline->workers}, {"steps", std::move(steps)}};
}

void Service::engine_state(const Exchange &exchange) {
  const BatchCounts counts = engine.counts();
  const BatchLoad load = engine.load();
  const BatchCapacities &shape = model->format.shape;
  respond(*exchange, {{"model", model->name},
                      {"running", load.running},
                      {"waiting", load.waiting},
                      {"max_running", shape.max_sequences},
                      {"max_rows", shape.max_rows},
                      {"used_pages", load.used_pages},
                      {"pages", load.pages},
                      {"steps", counts.steps},
                      {"rows", counts.rows},
                      {"prompt_tokens", counts.prompt_tokens},
                      {"cached_tokens", counts.cached_tokens},
                      {"generated_tokens", counts.generated_tokens},
                      {"guessed_tokens", counts.guessed_tokens},
                      {"right_guesses", counts.right_guesses},
                      {"preemptions", counts.preemptions},
                      {"connections", http.connections()},
                      {"timeline",
                       timeline_json(engine.timeline().get(), model->phases)}});
}

void Service::version(const Exchange &exchange) {
  respond(*exchange, {{"version", model->fingerprint}});
}

void Service::converse(const Exchange &exchange, const Served &served,
                       const Body &chat, const MakeWriter &make_writer) {
  ChatRequest request = read_chat_request(chat, *served);
  expect_positions(request.request, *served, "messages");
  if (auto fault =
          find_request_fault(request.request, served->format.shape, "messages"))
    throw Error(*fault);
  std::unique_ptr<ChatWriter> writer = make_writer(request);
  auto answer =
      std::make_shared<ChatAnswer>(exchange, served, std::move(request.request),
                                   request.output, std::move(writer));
  answer->ignore(request.ignored_keys);
  start(answer);
}

void Service::chat_completions(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    const Served &served = adapted.of(body);
    converse(exchange, served, body, [&](const ChatRequest &request) {
      return make_openai_chat_writer(*served, request);
    });
  });
}

void Service::messages(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    const Served &served = adapted.of(body);
    converse(exchange, served, chat_of_messages(body),
             [&](const ChatRequest &request) {
               return make_messages_writer(*served, request.output.streams,
                                           request.request.prompt.size(), body);
             });
  });
}

static void respond_count(HttpExchange &exchange, const Json &chat,
                          const ServedModel &model) {
  const ChatRequest request = read_chat_request(chat, model);
  respond(exchange, {{"input_tokens", request.request.prompt.size()}});
}

void Service::count_chat_tokens(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    respond_count(*exchange, body, *model);
  });
}

void Service::count_tokens(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    respond_count(*exchange, chat_of_messages(body), *model);
  });
}

void Service::count_response_tokens(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    respond_count(*exchange, chat_of_responses(body), *model);
  });
}

void Service::responses(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    const Served &served = adapted.of(body);
    converse(exchange, served, chat_of_responses(body),
             [&](const ChatRequest &request) {
               return make_responses_writer(*served, request.output.streams,
                                            request.request.prompt.size(),
                                            body);
             });
  });
}

void Service::completions(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    const Served &served = adapted.of(body);
    CompletionRequest request = read_completion_request(body, *served);
    for (const BatchRequest &own : request.requests) {
      expect_positions(own, *served, "prompt");
      if (auto fault = find_request_fault(own, served->format.shape))
        throw Error(*fault);
    }
    const std::vector<std::string> ignored = request.ignored_keys;
    auto answer = make_completion_answer(exchange, served, std::move(request));
    answer->ignore(ignored);
    start(answer);
  });
}

template <typename Request>
void Service::start_vectors(
    const Exchange &exchange, const Served &served, Request &&request,
    std::shared_ptr<Answer> (*make)(std::shared_ptr<HttpExchange>,
                                    std::shared_ptr<const ServedModel>,
                                    Request &&)) {
  const std::vector<std::string> ignored = request.ignored_keys;
  for (BatchRequest &own : request.requests)
    own.adapter = served->adapter;
  auto answer = make(exchange, served, std::forward<Request>(request));
  answer->ignore(ignored);
  start(answer);
}

void Service::embeddings(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    const Served &served = adapted.of(body);
    start_vectors(exchange, served, read_embedding_request(body, *served),
                  make_embedding_answer);
  });
}

void Service::llama_embeddings(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    const Served &served = adapted.of(body);
    start_vectors(exchange, served,
                  read_embedding_request(body, *served, /*keeps_tokens=*/true),
                  make_llama_embedding_answer);
  });
}

void Service::score(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    const Served &served = adapted.of(body);
    start_vectors(exchange, served, read_score_request(body, *served),
                  make_ranking_answer);
  });
}

void Service::rerank(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    const Served &served = adapted.of(body);
    start_vectors(exchange, served, read_rerank_request(body, *served),
                  make_ranking_answer);
  });
}

void Service::tokenize(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    std::vector<std::string> ignored;
    const JsonKeys keys(body,
                        {"content", "prompt", "text", "messages", "add_special",
                         "add_special_tokens", "with_pieces", "parse_special",
                         "model", "tools", "add_generation_prompt",
                         "chat_template_kwargs", "return_token_strs"},
                        ignored);
    std::vector<int32_t> tokens;
    if (keys.has("messages")) {
      tokens = encode_text("messages", read_chat_prompt(body, *model),
                           model->format, false);
    } else {
      // llama.cpp's server leaves special tokens out, vLLM's does not.
      const char *key = "content";
      for (const char *own : {"prompt", "text"})
        if (keys.has(own))
          key = own;
      const Json *text = keys.find(key);
      if (!text)
        throw Error("content: expected a text");
      const bool special = keys.flag(
          "add_special",
          keys.flag("add_special_tokens", std::string_view(key) != "content"));
      tokens = encode_text(key, *text, model->format, special);
    }
    Json json = {{"count", tokens.size()},
                 {"max_model_len", model->format.shape.max_positions}};
    if (keys.flag("with_pieces", false)) {
      json["tokens"] = Json::array();
      for (int32_t token : tokens)
        json["tokens"].push_back(
            {{"id", token}, {"piece", token_text(token, model->format)}});
    } else {
      json["tokens"] = tokens;
    }
    respond(*exchange, json);
  });
}

void Service::detokenize(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    std::vector<std::string> ignored;
    const JsonKeys keys(body, {"tokens", "model"}, ignored);
    const Json *tokens = keys.find("tokens");
    if (!tokens)
      throw Error("tokens: expected a list of token ids");
    if (!model->format.tokenizer)
      throw Error("tokens: " + model->format.no_tokenizer);
    const std::vector<int32_t> ids = parse_tokens("tokens", *tokens);
    if (auto fault = find_tokens_fault("tokens", ids, model->format.shape))
      throw Error(*fault);
    const std::string text = model->format.tokenizer->decode(ids);
    respond(*exchange, {{"content", text}, {"prompt", text}});
  });
}

/// vLLM's name, and lm-evaluation-harness's way to a tokenizer.
void Service::tokenizer_info(const Exchange &exchange) {
  const BatchFormat &format = model->format;
  if (!format.tokenizer)
    return refuse(*exchange, not_found(format.no_tokenizer));
  auto first = [&](const std::vector<int32_t> &tokens) {
    return tokens.empty() ? Json() : Json(token_text(tokens.front(), format));
  };
  Json chat_template;
  if (model->conversation)
    chat_template = model->conversation->template_text();
  respond(*exchange, {{"bos_token", first(format.tokenizer->encode("", true))},
                      {"eos_token", first(format.stop_tokens)},
                      {"chat_template", std::move(chat_template)},
                      {"model_max_length", format.shape.max_positions}});
}

void Service::apply_template(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    respond(*exchange, {{"prompt", read_chat_prompt(body, *model)}});
  });
}

} // namespace baton
