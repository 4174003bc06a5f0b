//===- completion_answer.cpp - continuations of texts ---------------------===//

#include "runtime/serve/completion_answer.h"

#include "runtime/batch/token_json.h"
#include "runtime/error.h"
#include "runtime/serve/access.h"
#include "runtime/serve/api_json.h"
#include "runtime/serve/request_keys.h"

#include <algorithm>
#include <span>
#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// OpenAI's, of requests that do not say.
constexpr uint64_t usual_tokens = 16;

bool is_number_list(const Json &value) {
  return value.is_array() && !value.empty() && value.front().is_number();
}

std::vector<int32_t> read_prompt(const Json &prompt, const ServedModel &model,
                                 bool special_tokens) {
  if (is_number_list(prompt))
    return parse_tokens("prompt", prompt);
  return encode_text("prompt", prompt, model.format, special_tokens);
}

class CompletionAnswer : public Answer {
public:
  CompletionAnswer(std::shared_ptr<HttpExchange> exchange,
                   std::shared_ptr<const ServedModel> model,
                   CompletionRequest &&wanted)
      : Answer(std::move(exchange), std::move(model),
               std::move(wanted.requests)),
        echo(wanted.echo), streams(wanted.streams),
        include_usage(wanted.include_usage), wanted_logprobs(wanted.logprobs),
        id(random_id("cmpl-")), created(unix_time()) {
    for (const BatchRequest &request : requests)
      for (uint32_t choice = 0; choice < request.n; ++choice) {
        Choice &own = choices.emplace_back(
            TextStream(this->model->format.tokenizer, request.stop_strings));
        own.stop_tokens = request.stop_tokens;
        if (echo && this->model->format.tokenizer)
          own.prompt = request.prompt;
        own.logprobs = empty_logprobs();
      }
    each = requests.front().n;
  }

  void on_begin() override {
    if (!streams)
      return;
    exchange->begin_stream("text/event-stream", headers);
    for (size_t i = 0; echo && i < choices.size(); ++i)
      write(i, prompt_text(choices[i]), nullptr);
  }

  void on_token(uint32_t part, uint32_t choice, int32_t token,
                std::span<const TokenLogprob> logprobs) override {
    const size_t place = size_t(part) * each + choice;
    Choice &own = choices[place];
    const bool is_end =
        std::ranges::find(own.stop_tokens, token) != own.stop_tokens.end();
    if (is_end || own.text.stopped_by())
      return;
    if (wanted_logprobs && !logprobs.empty())
      add_logprob(own, logprobs);
    take(place, own.text.push(token));
  }

  void on_result(uint32_t part, const BatchResult &result) override {
    for (uint32_t choice = 0; choice < each; ++choice) {
      const size_t place = size_t(part) * each + choice;
      Choice &own = choices[place];
      own.finish = result.choices[choice].finish;
      own.error = result.choices[choice].error;
      if (result.request.score_from)
        add_prompt_logprobs(own, result);
      take(place, own.text.finish());
      if (streams && own.finish != BatchFinish::Error)
        write(place, "", batch_finish_name(own.finish));
    }
  }

  void end(const Usage &of) override {
    for (const Choice &choice : choices)
      if (choice.finish == BatchFinish::Error)
        return fail(server_fault(choice.error));
    if (streams) {
      if (include_usage) {
        Json chunk = base();
        chunk["choices"] = Json::array();
        chunk["usage"] = of.json();
        chunk["timings"] = of.timings.json();
        exchange->write(event_text(chunk));
      }
      exchange->write("data: [DONE]\n\n");
      return exchange->end();
    }
    Json body = base();
    body["choices"] = Json::array();
    for (size_t i = 0; i < choices.size(); ++i) {
      Choice &own = choices[i];
      Json json = {{"index", i}, {"text", prompt_text(own) + own.whole}};
      json["logprobs"] = nullptr;
      if (wanted_logprobs)
        json["logprobs"] = take_logprobs(own);
      json["finish_reason"] = batch_finish_name(own.finish);
      body["choices"].push_back(std::move(json));
    }
    body["usage"] = of.json();
    body["timings"] = of.timings.json();
    exchange->respond({.body = json_text(body), .headers = headers});
  }

  void fail(const ApiError &error) override {
    end_with_error(*exchange, error, streams && begun);
  }

private:
  struct Choice {
    explicit Choice(TextStream &&text) : text(std::move(text)) {}

    TextStream text;
    std::vector<int32_t> stop_tokens, prompt;
    std::string whole;
    BatchFinish finish = BatchFinish::Length;
    std::string error;
    /// Of streams: since the last chunk; and characters of tokens before that.
    Json logprobs;
    size_t offset = 0;
  };

  static Json empty_logprobs() {
    return {{"tokens", Json::array()},
            {"token_logprobs", Json::array()},
            {"top_logprobs", Json::array()}};
  }

  Json base() const {
    return {{"id", id},
            {"object", "text_completion"},
            {"created", created},
            {"model", model->name},
            {"system_fingerprint", model->fingerprint}};
  }

  std::string prompt_text(const Choice &choice) const {
    return choice.prompt.empty()
               ? ""
               : model->format.tokenizer->decode(choice.prompt, true);
  }

  void add_logprob(Choice &choice, std::span<const TokenLogprob> list) const {
    auto text = [&](const TokenLogprob &of) {
      return token_text(of.token, model->format);
    };
    choice.logprobs["tokens"].push_back(text(list.front()));
    choice.logprobs["token_logprobs"].push_back(list.front().logprob);
    auto top = Json::object();
    for (const TokenLogprob &likely : list.subspan(1))
      if (likely.token >= 0)
        top[text(likely)] = likely.logprob;
    // What was drawn has its place there, too.
    if (*wanted_logprobs > 0)
      top[text(list.front())] = list.front().logprob;
    choice.logprobs["top_logprobs"].push_back(std::move(top));
  }

  /// Before those of the text. The first token has none.
  void add_prompt_logprobs(Choice &choice, const BatchResult &result) const {
    const Json behind = std::exchange(choice.logprobs, empty_logprobs());
    choice.logprobs["tokens"].push_back(token_text(
        choice.prompt.empty() ? -1 : choice.prompt.front(), model->format));
    choice.logprobs["token_logprobs"].push_back(nullptr);
    choice.logprobs["top_logprobs"].push_back(nullptr);
    const size_t size =
        result.scored_tokens ? result.scores.size() / result.scored_tokens : 0;
    for (size_t i = 0; i < result.scores.size(); i += size)
      add_logprob(choice, std::span(result.scores).subspan(i, size));
    for (auto &[key, list] : choice.logprobs.items())
      for (const Json &value : behind[key])
        list.push_back(value);
  }

  /// Those that were not taken yet, with where each token's text begins.
  static Json take_logprobs(Choice &choice) {
    Json logprobs = std::exchange(choice.logprobs, empty_logprobs());
    Json offsets = Json::array();
    for (const Json &token : logprobs["tokens"]) {
      offsets.push_back(choice.offset);
      for (unsigned char byte : token.get_ref<const std::string &>())
        choice.offset += (byte & 0xc0) != 0x80;
    }
    logprobs["text_offset"] = std::move(offsets);
    return logprobs;
  }

  void take(size_t place, std::string &&text) {
    if (text.empty())
      return;
    choices[place].whole += text;
    if (streams)
      write(place, text, nullptr);
  }

  void write(size_t place, std::string text, Json finish) {
    Choice &own = choices[place];
    Json json = {{"index", place}, {"text", std::move(text)}};
    json["logprobs"] = nullptr;
    if (wanted_logprobs)
      json["logprobs"] = take_logprobs(own);
    json["finish_reason"] = std::move(finish);
    Json chunk = base();
    chunk["choices"] = Json::array({std::move(json)});
    if (include_usage)
      chunk["usage"] = nullptr;
    exchange->write(event_text(chunk));
  }

  const bool echo, streams, include_usage;
  const std::optional<uint32_t> wanted_logprobs;
  const std::string id;
  const int64_t created;
  uint32_t each = 1;
  std::vector<Choice> choices;
};

} // namespace

CompletionRequest read_completion_request(const Json &body,
                                          const ServedModel &model) {
  CompletionRequest result;
  const Json whole = complete_body(body, model);
  const JsonKeys keys(whole,
                      with_common_keys({"prompt", "logprobs", "echo", "best_of",
                                        "suffix", "add_special_tokens"}),
                      result.ignored_keys);
  const Json *prompt = keys.find("prompt");
  if (!prompt)
    throw Error("prompt: expected a text, a list of token ids, or a list of "
                "these");
  keys.expect("suffix", "");
  result.echo = keys.flag("echo", false);
  if (result.echo && !model.format.tokenizer)
    throw Error("echo: " + model.format.no_tokenizer);
  const Streaming streaming = read_streaming(keys);
  result.streams = streaming.streams;
  result.include_usage = streaming.include_usage;
  if (const Json *logprobs = keys.find("logprobs");
      logprobs && *logprobs != false)
    result.logprobs = *logprobs == true ? 0 : keys.small("logprobs", 0);

  if (result.streams && result.echo && result.logprobs)
    throw Error("stream: an echo with logprobs comes as a whole; leave one of "
                "the three out");

  BatchRequest request;
  // With its echo a text may be scored only.
  read_common_keys(keys, model, usual_tokens, request, result.echo ? 0 : 1);
  request.logprobs = result.logprobs;
  if (keys.whole("best_of", request.n) != request.n)
    throw Error("best_of: only n is supported");
  if (auto grammar = find_output_grammar(keys))
    request.constraint = model.constraints->find(grammar->key, grammar->make);
  const bool special_tokens = keys.flag("add_special_tokens", true);
  auto add = [&](const Json &one) {
    BatchRequest own = request;
    own.prompt = read_prompt(one, model, special_tokens);
    if (result.echo && (result.logprobs || request.is_only_scored()) &&
        own.prompt.size() > 1) {
      own.score_from = 1;
      own.score_likely = result.logprobs.value_or(0);
    }
    result.requests.push_back(std::move(own));
  };
  if (prompt->is_array() && !is_number_list(*prompt)) {
    if (prompt->empty())
      throw Error("prompt: the list is empty");
    for (const Json &one : *prompt)
      add(one);
  } else {
    add(*prompt);
  }
  return result;
}

std::shared_ptr<Answer>
make_completion_answer(std::shared_ptr<HttpExchange> exchange,
                       std::shared_ptr<const ServedModel> model,
                       CompletionRequest &&request) {
  return std::make_shared<CompletionAnswer>(
      std::move(exchange), std::move(model), std::move(request));
}

} // namespace baton
