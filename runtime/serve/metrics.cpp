//===- metrics.cpp - what a server counts, for Prometheus -----------------===//

#include "runtime/serve/metrics.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

namespace baton {

namespace {

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", number);
  return text;
}

/// Within quotes.
std::string escape_label(std::string_view text) {
  std::string result;
  for (char letter : text) {
    if (letter == '\n') {
      result += "\\n";
      continue;
    }
    if (letter == '"' || letter == '\\')
      result += '\\';
    result += letter;
  }
  return result;
}

/// Writes one metric after the other.
class Exposition {
public:
  explicit Exposition(const std::string &model)
      : model("model_name=\"" + escape_label(model) + "\"") {}

  void begin(std::string_view name, std::string_view kind,
             std::string_view help) {
    text.append("# HELP ").append(name).append(" ").append(help).append("\n");
    text.append("# TYPE ").append(name).append(" ").append(kind).append("\n");
  }
  void value(std::string_view name, double number,
             const std::string &labels = {}) {
    text.append(name).append("{").append(model).append(labels);
    text.append("} ").append(number_text(number)).append("\n");
  }
  void counter(std::string_view name, double number, std::string_view help) {
    begin(name, "counter", help);
    value(name, number);
  }
  void gauge(std::string_view name, double number, std::string_view help) {
    begin(name, "gauge", help);
    value(name, number);
  }
  void histogram(const std::string &name, const Histogram &of,
                 std::string_view help) {
    begin(name, "histogram", help);
    uint64_t below = 0;
    for (size_t i = 0; i < of.limits.size(); ++i)
      value(name + "_bucket", static_cast<double>(below += of.counts[i]),
            ",le=\"" + number_text(of.limits[i]) + "\"");
    below += of.counts.back();
    value(name + "_bucket", static_cast<double>(below), ",le=\"+Inf\"");
    value(name + "_sum", of.sum);
    value(name + "_count", static_cast<double>(below));
  }

  std::string text;

private:
  const std::string model;
};

/// 1, 2, 5, 10 ...
std::vector<double> token_limits() {
  std::vector<double> limits;
  for (double power = 1; power <= 100'000; power *= 10)
    for (double step : {1, 2, 5})
      limits.push_back(power * step);
  return limits;
}

} // namespace

Histogram::Histogram(std::vector<double> limits)
    : limits(std::move(limits)), counts(this->limits.size() + 1) {}

void Histogram::observe(double value) {
  const auto limit = std::ranges::lower_bound(limits, value);
  ++counts[static_cast<size_t>(limit - limits.begin())];
  sum += value;
}

ServerMetrics::ServerMetrics()
    : first_token({0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5,
                   0.75,  1,     2.5,  5,    7.5,  10,   20,   40,  80,   160}),
      between_tokens({0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15,
                      0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5}),
      whole_request({0.1, 0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,
                     15,  20,  30,  40,  50, 60,  120, 240, 480, 960}),
      prompt_tokens(token_limits()), generated_tokens(token_limits()) {}

std::string ServerMetrics::text(const std::string &model,
                                const BatchCounts &counts,
                                const BatchLoad &load,
                                size_t connections) const {
  Exposition out(model);
  out.gauge("vllm:num_requests_running", double(load.running),
            "Texts that have pages");
  out.gauge("vllm:num_requests_waiting", double(load.waiting),
            "Texts that wait for pages");
  out.gauge("vllm:kv_cache_usage_perc",
            load.pages ? double(load.used_pages) / double(load.pages) : 0,
            "Of the pages of keys and values, the part that texts have; 1 is "
            "all");
  out.counter("vllm:num_preemptions_total", double(counts.preemptions),
              "Texts that gave their pages back and were computed again");
  out.counter("vllm:prompt_tokens_total",
              double(counts.prompt_tokens + counts.cached_tokens),
              "Tokens of prompts");
  out.counter("vllm:generation_tokens_total", double(counts.generated_tokens),
              "Tokens that were generated");
  out.counter("vllm:prefix_cache_queries_total",
              double(counts.prompt_tokens + counts.cached_tokens),
              "Tokens of prompts that were looked up in the prefix cache");
  out.counter("vllm:prefix_cache_hits_total", double(counts.cached_tokens),
              "Tokens of prompts that the prefix cache had");
  out.counter("vllm:spec_decode_num_draft_tokens_total",
              double(counts.guessed_tokens), "Tokens that were guessed");
  out.counter("vllm:spec_decode_num_accepted_tokens_total",
              double(counts.right_guesses), "Guesses that were right");
  out.begin("vllm:request_success_total", "counter",
            "Texts that have ended, by how");
  for (const auto &[reason, count] : finished)
    out.value("vllm:request_success_total", double(count),
              ",finished_reason=\"" + reason + "\"");
  out.histogram("vllm:time_to_first_token_seconds", first_token,
                "From a request to its first token");
  out.histogram("vllm:inter_token_latency_seconds", between_tokens,
                "From a token of a request to its next one");
  out.histogram("vllm:e2e_request_latency_seconds", whole_request,
                "From a request to its end");
  out.histogram("vllm:request_prompt_tokens", prompt_tokens,
                "Tokens of a request's prompt");
  out.histogram("vllm:request_generation_tokens", generated_tokens,
                "Tokens generated for a request");
  out.counter("baton:steps_total", double(counts.steps),
              "Steps of the program");
  out.counter("baton:rows_total", double(counts.rows), "Rows of all steps");
  out.counter("baton:recomputed_tokens_total", double(counts.recomputed),
              "Rows that were computed again after a preemption");
  out.gauge("baton:pages", double(load.pages),
            "Pages of keys and values, of 64 positions each");
  out.gauge("baton:connections", double(connections), "Open connections");
  out.begin("baton:http_responses_total", "counter",
            "Answers by path and status");
  for (const auto &[key, count] : responses)
    out.value("baton:http_responses_total", double(count),
              ",path=\"" + escape_label(key.first) + "\",status=\"" +
                  std::to_string(key.second) + "\"");
  return out.text;
}

} // namespace baton
