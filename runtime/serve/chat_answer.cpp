//===- chat_answer.cpp - the answer in a conversation ---------------------===//

#include "runtime/serve/chat_answer.h"

#include "runtime/serve/api_json.h"

#include <algorithm>
#include <utility>

namespace baton {

std::string ChatChoice::finish_reason() const {
  if (finish == BatchFinish::Stop)
    return calls.empty() ? "stop" : "tool_calls";
  return std::string(batch_finish_name(finish));
}

ChatAnswer::ChatAnswer(std::shared_ptr<HttpExchange> exchange,
                       std::shared_ptr<const ServedModel> model,
                       BatchRequest &&request, const ChatOutput &output,
                       std::unique_ptr<ChatWriter> writer)
    : Answer(std::move(exchange), std::move(model), {}),
      streams(output.streams), shows_progress(output.shows_progress),
      shows_timings(output.shows_timings),
      wants_logprobs(request.logprobs.has_value()),
      stop_tokens(request.stop_tokens), writer(std::move(writer)) {
  for (uint32_t choice = 0; choice < request.n; ++choice) {
    streams_of.push_back({TextStream(this->model->format.tokenizer,
                                     request.stop_strings, output.kept_tokens),
                          {}});
    if (output.parses)
      streams_of.back().parser =
          std::make_unique<OutputParser>(output.format, output.parser);
    if (wants_logprobs)
      streams_of.back().logprobs = nlohmann::ordered_json::array();
  }
  choices.resize(request.n);
  if (wants_logprobs)
    for (ChatChoice &choice : choices)
      choice.logprobs = nlohmann::ordered_json::array();
  requests.push_back(std::move(request));
}

void ChatAnswer::on_begin() {
  if (!streams)
    return;
  writer->begin(*exchange, headers);
}

void ChatAnswer::on_prompt(uint32_t, const PromptProgress &) {
  if (shows_timings)
    writer->timings = clock.timings();
  if (streams && shows_progress)
    writer->prompt(*exchange, clock.progress_json());
}

void ChatAnswer::on_token(uint32_t, uint32_t choice, int32_t token,
                          std::span<const TokenLogprob> logprobs) {
  Stream &stream = streams_of[choice];
  if (shows_timings)
    writer->timings = clock.timings();
  const bool is_end =
      std::ranges::find(stop_tokens, token) != stop_tokens.end();
  if (wants_logprobs && !logprobs.empty() && !is_end &&
      !stream.text.stopped_by()) {
    nlohmann::ordered_json json = chat_logprob_json(logprobs, model->format);
    choices[choice].logprobs.push_back(json);
    stream.logprobs.push_back(std::move(json));
  }
  if (!is_end)
    take_text(choice, stream.text.push(token), false);
}

void ChatAnswer::on_result(uint32_t, const BatchResult &result) {
  for (uint32_t choice = 0; choice < choices.size(); ++choice) {
    Stream &stream = streams_of[choice];
    ChatChoice &whole = choices[choice];
    whole.finish = result.choices[choice].finish;
    whole.error = result.choices[choice].error;
    take_text(choice, stream.text.finish(), true);
    if (const std::string *stop = stream.text.stopped_by())
      whole.stop_string = *stop;
    if (streams && whole.finish != BatchFinish::Error)
      writer->finish(*exchange, choice, whole, stream.logprobs);
  }
}

void ChatAnswer::end(const Usage &usage) {
  for (const ChatChoice &choice : choices)
    if (choice.finish == BatchFinish::Error)
      return fail(server_fault(choice.error));
  writer->end(*exchange, headers, choices, usage);
}

void ChatAnswer::fail(const ApiError &error) {
  writer->fail(*exchange, error, streams && begun);
}

void ChatAnswer::take_text(uint32_t choice, const std::string &text,
                           bool is_last) {
  OutputParser *const parser = streams_of[choice].parser.get();
  if (!parser) {
    if (!text.empty())
      take(choice, {{ChatDelta::Content, text, 0, {}, true}});
    return;
  }
  if (!text.empty())
    take(choice, parser->push(text));
  if (is_last)
    take(choice, parser->finish());
}

void ChatAnswer::take(uint32_t choice, std::vector<ChatDelta> &&deltas) {
  ChatChoice &whole = choices[choice];
  for (ChatDelta &delta : deltas) {
    switch (delta.kind) {
    case ChatDelta::Content:
      whole.content += delta.text;
      break;
    case ChatDelta::Reasoning:
      whole.reasoning += delta.text;
      break;
    case ChatDelta::CallBegin:
      whole.calls.push_back({delta.id, delta.text, {}});
      break;
    case ChatDelta::CallArguments:
      whole.calls[delta.call].arguments += delta.text;
      break;
    case ChatDelta::CallEnd:
      break;
    }
    if (!streams)
      continue;
    nlohmann::ordered_json &logprobs = streams_of[choice].logprobs;
    writer->delta(*exchange, choice, delta, logprobs);
    if (!logprobs.is_null())
      logprobs = nlohmann::ordered_json::array();
  }
}

} // namespace baton
