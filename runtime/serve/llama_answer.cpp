//===- llama_answer.cpp - what llama.cpp's server answers -----------------===//

#include "runtime/batch/token_json.h"
#include "runtime/serve/access.h"
#include "runtime/serve/api_json.h"
#include "runtime/serve/llama_completion.h"
#include "runtime/serve/text_stream.h"

#include <cmath>
#include <optional>
#include <span>
#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// {"id", "token", "bytes", "logprob", "top_logprobs"}, or as probabilities.
Json token_json(std::span<const TokenLogprob> list, bool as_probabilities,
                const BatchFormat &format) {
  auto entry = [&](const TokenLogprob &of) {
    const std::string text = token_text(of.token, format);
    Json json = {{"id", of.token}, {"token", text}};
    json["bytes"] = Json::array();
    for (unsigned char byte : text)
      json["bytes"].push_back(byte);
    if (as_probabilities)
      json["prob"] = std::exp(of.logprob);
    else
      json["logprob"] = of.logprob;
    return json;
  };
  Json json = entry(list.front());
  Json top = Json::array();
  for (const TokenLogprob &likely : list.subspan(1))
    // Of a probability that is 0 nothing was drawn.
    if (likely.token >= 0 && !(as_probabilities && !std::exp(likely.logprob)))
      top.push_back(entry(likely));
  json[as_probabilities ? "top_probs" : "top_logprobs"] = std::move(top);
  return json;
}

/// "a/b" is b in a; its name stays. What is not there is left out.
Json chosen_fields(const Json &whole, const std::vector<std::string> &fields) {
  if (fields.empty())
    return whole;
  Json chosen = Json::object();
  for (const std::string &field : fields) {
    const Json *place = &whole;
    for (size_t begin = 0; place && begin <= field.size();) {
      const size_t end = std::min(field.find('/', begin), field.size());
      const auto found = place->is_object()
                             ? place->find(field.substr(begin, end - begin))
                             : place->end();
      place = found == place->end() ? nullptr : &*found;
      begin = end + 1;
    }
    if (place)
      chosen[field] = *place;
  }
  return chosen;
}

class LlamaAnswer : public Answer {
public:
  LlamaAnswer(std::shared_ptr<HttpExchange> exchange,
              std::shared_ptr<const ServedModel> model, LlamaRequest &&wanted)
      : Answer(std::move(exchange), std::move(model), {}),
        options(std::move(wanted)) {
    requests = std::move(options.requests);
    each = requests.front().n;
    for (const BatchRequest &request : requests)
      for (uint32_t choice = 0; choice < each; ++choice) {
        Text &own = texts.emplace_back(
            TextStream(this->model->format.tokenizer, request.stop_strings));
        own.stop_tokens = request.stop_tokens;
        own.prompt = request.prompt;
        own.wanted = request.max_new_tokens;
      }
  }

  void on_begin() override {
    if (!options.streams)
      return;
    exchange->begin_stream("text/event-stream", headers);
  }

  void on_prompt(uint32_t part, const PromptProgress &progress) override {
    for (uint32_t choice = 0; choice < each; ++choice)
      texts[size_t(part) * each + choice].clock.on_prompt(progress);
    if (!options.streams || !options.shows_progress)
      return;
    const size_t place = size_t(part) * each;
    Json json = part_json(place, "", Json::array());
    json["prompt_progress"] = texts[place].clock.progress_json();
    exchange->write(event_text(json));
  }

  void on_token(uint32_t part, uint32_t choice, int32_t token,
                std::span<const TokenLogprob> logprobs) override {
    const size_t place = size_t(part) * each + choice;
    Text &own = texts[place];
    own.clock.on_token();
    own.ended_by_token =
        std::ranges::find(own.stop_tokens, token) != own.stop_tokens.end();
    if (own.ended_by_token || own.stream.stopped_by())
      return;
    const std::string text = own.stream.push(token);
    own.whole += text;
    own.tokens.push_back(token);
    Json probabilities = Json::array();
    if (!logprobs.empty()) {
      probabilities.push_back(
          token_json(logprobs, options.returns_probabilities, model->format));
      own.probabilities.push_back(probabilities.front());
    }
    if (options.streams) {
      Json json = part_json(place, text, Json::array({token}));
      if (!probabilities.empty())
        json["completion_probabilities"] = std::move(probabilities);
      exchange->write(event_text(json));
    }
    wants_end |= options.most_milliseconds > 0 &&
                 own.clock.since_first_token() > options.most_milliseconds &&
                 own.whole.find('\n') != std::string::npos;
  }

  void on_result(uint32_t part, const BatchResult &result) override {
    for (uint32_t choice = 0; choice < each; ++choice) {
      const size_t place = size_t(part) * each + choice;
      Text &own = texts[place];
      own.finish = result.choices[choice].finish;
      own.error = result.choices[choice].error;
      own.generated = result.choices[choice].tokens.size();
      own.cached = result.cached_tokens;
      own.rest = own.stream.finish();
      own.whole += own.rest;
      if (options.streams && own.finish != BatchFinish::Error)
        exchange->write(event_text(whole_json(place)));
    }
  }

  void end(const Usage &) override {
    for (const Text &text : texts)
      if (text.finish == BatchFinish::Error)
        return fail(server_fault(text.error));
    if (options.streams)
      return exchange->end();
    Json all = Json::array();
    for (size_t place = 0; place < texts.size(); ++place)
      all.push_back(chosen_fields(whole_json(place), options.fields));
    exchange->respond({.body = json_text(all.size() == 1 ? all.front() : all),
                       .headers = headers});
  }

  void fail(const ApiError &error) override {
    end_with_error(*exchange, error, options.streams && begun);
  }

private:
  struct Text {
    explicit Text(TextStream &&stream) : stream(std::move(stream)) {}

    TextStream stream;
    std::vector<int32_t> stop_tokens, prompt, tokens;
    /// All of it, and what a stream has not had before the end.
    std::string whole, rest;
    Json probabilities = Json::array();
    AnswerClock clock;
    bool ended_by_token = false;
    uint64_t wanted = 0, generated = 0, cached = 0;
    BatchFinish finish = BatchFinish::Length;
    std::string error;
  };

  Json part_json(size_t place, const std::string &text, Json &&tokens) const {
    const Text &own = texts[place];
    const Timings timings = own.clock.timings();
    Json json = {{"index", place},
                 {"content", text},
                 {"tokens", std::move(tokens)},
                 {"stop", false},
                 {"id_slot", -1},
                 {"tokens_predicted", timings.generated},
                 {"tokens_evaluated", own.prompt.size()}};
    if (options.shows_timings)
      json["timings"] = timings.json();
    return json;
  }

  const char *stop_type(const Text &text) const {
    if (text.finish != BatchFinish::Stop)
      return "limit";
    return text.stream.stopped_by() ? "word" : "eos";
  }

  Json whole_json(size_t place) const {
    const Text &own = texts[place];
    const std::string *word = own.stream.stopped_by();
    Timings timings = own.clock.timings();
    timings.cached = own.cached;
    timings.prompt = own.prompt.size() - own.cached;
    timings.generated = own.generated;
    const bool shows_tokens = !options.streams && options.returns_tokens;
    Json json = {{"index", place},
                 {"content", options.streams ? own.rest : own.whole},
                 {"tokens", shows_tokens ? Json(own.tokens) : Json::array()},
                 {"id_slot", -1},
                 {"stop", true},
                 {"model", model->name},
                 {"tokens_predicted", own.generated},
                 {"tokens_evaluated", own.prompt.size()},
                 {"generation_settings", options.settings},
                 {"prompt", model->format.tokenizer
                                ? model->format.tokenizer->decode(own.prompt)
                                : ""},
                 {"has_new_line", own.whole.find('\n') != std::string::npos},
                 {"truncated", own.finish == BatchFinish::Length &&
                                   own.generated < own.wanted},
                 {"stop_type", stop_type(own)},
                 {"stopping_word", word ? *word : ""},
                 {"tokens_cached", own.prompt.size() + own.generated},
                 {"timings", timings.json()}};
    if (!options.streams && !own.probabilities.empty())
      json["completion_probabilities"] = own.probabilities;
    return json;
  }

  LlamaRequest options;
  uint32_t each = 1;
  std::vector<Text> texts;
};

} // namespace

std::shared_ptr<Answer>
make_llama_answer(std::shared_ptr<HttpExchange> exchange,
                  std::shared_ptr<const ServedModel> model,
                  LlamaRequest &&request) {
  return std::make_shared<LlamaAnswer>(std::move(exchange), std::move(model),
                                       std::move(request));
}

} // namespace baton
