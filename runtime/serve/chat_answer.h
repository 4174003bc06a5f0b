//===- chat_answer.h - the answer in a conversation -----------------------===//
//
// What the engine draws becomes content, reasoning and calls of tools, and goes
// to a writer, of which there is one for each API that has conversations.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_CHAT_ANSWER_H
#define BATON_RUNTIME_SERVE_CHAT_ANSWER_H

#include "runtime/chat/output_parser.h"
#include "runtime/serve/answer.h"
#include "runtime/serve/text_stream.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace baton {

/// An answer so far.
struct ChatChoice {
  std::string reasoning, content;
  struct Call {
    std::string id, name, arguments;
  };
  std::vector<Call> calls;
  /// Of each token, as chat_logprob_json() has it; null unless wanted.
  nlohmann::ordered_json logprobs = nullptr;
  BatchFinish finish = BatchFinish::Length;
  /// The string that ended the text; empty where another end came first.
  std::string stop_string;
  /// Of BatchFinish::Error.
  std::string error;

  /// "stop", "length" or "tool_calls", as OpenAI has it.
  std::string finish_reason() const;
};

/// Writes an answer in the form of an API. Called by the server's thread.
class ChatWriter {
public:
  virtual ~ChatWriter() = default;
  virtual void begin(HttpExchange &exchange, const HttpHeaders &headers) = 0;
  /// Of requests that want it, streams only: as AnswerClock has it.
  virtual void prompt(HttpExchange &, const nlohmann::ordered_json &) {}
  /// `logprobs`: a list of those of tokens since the last call, or null.
  virtual void delta(HttpExchange &exchange, uint32_t choice,
                     const ChatDelta &delta,
                     const nlohmann::ordered_json &logprobs) = 0;
  virtual void finish(HttpExchange &exchange, uint32_t choice,
                      const ChatChoice &whole,
                      const nlohmann::ordered_json &logprobs) = 0;
  virtual void end(HttpExchange &exchange, const HttpHeaders &headers,
                   const std::vector<ChatChoice> &choices,
                   const Usage &usage) = 0;
  /// Instead of an end; `begun`: whether there was a beginning.
  virtual void fail(HttpExchange &exchange, const ApiError &error,
                    bool begun) = 0;

  /// So far, of requests that want them beside each delta.
  std::optional<Timings> timings;
};

/// What a request asks of its output.
struct ChatOutput {
  ToolFormat format;
  OutputParserOptions parser;
  /// Otherwise text is content as it comes.
  bool parses = true;
  /// Special tokens with text.
  std::vector<int32_t> kept_tokens;
  /// It is handed out as it comes.
  bool streams = false;
  /// Of streams: how far the prompt is, and times beside each delta.
  bool shows_progress = false, shows_timings = false;
};

class ChatAnswer : public Answer {
public:
  ChatAnswer(std::shared_ptr<HttpExchange> exchange,
             std::shared_ptr<const ServedModel> model, BatchRequest &&request,
             const ChatOutput &output, std::unique_ptr<ChatWriter> writer);

  void on_begin() override;
  void on_prompt(uint32_t part, const PromptProgress &progress) override;
  void on_token(uint32_t part, uint32_t choice, int32_t token,
                std::span<const TokenLogprob> logprobs) override;
  void on_result(uint32_t part, const BatchResult &result) override;
  void end(const Usage &usage) override;
  void fail(const ApiError &error) override;

private:
  struct Stream {
    TextStream text;
    std::unique_ptr<OutputParser> parser;
    /// Not handed out yet.
    nlohmann::ordered_json logprobs = nullptr;
  };

  void take(uint32_t choice, std::vector<ChatDelta> &&deltas);
  void take_text(uint32_t choice, const std::string &text, bool is_last);

  const bool streams, shows_progress, shows_timings, wants_logprobs;
  const std::vector<int32_t> stop_tokens;
  std::unique_ptr<ChatWriter> writer;
  std::vector<Stream> streams_of;
  std::vector<ChatChoice> choices;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_CHAT_ANSWER_H
