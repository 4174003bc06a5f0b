//===- batch_request.cpp - one of many texts to continue or score --------===//

#include "runtime/batch/batch_request.h"

#include <algorithm>
#include <cmath>

namespace baton {

namespace {

/// Logits that are changed by more might not be finite any more, which would
/// look like a fault of the model.
constexpr double largest_change = 1e9;

bool is_change(double value) { return std::abs(value) <= largest_change; }

std::optional<std::string> find_token_fault(const std::string &key,
                                            int32_t token,
                                            const BatchCapacities &shape) {
  if (token >= 0 && static_cast<uint64_t>(token) < shape.vocabulary)
    return std::nullopt;
  return key + ": token " + std::to_string(token) +
         " is outside the model's vocabulary of " +
         std::to_string(shape.vocabulary) + " tokens";
}

std::optional<std::string> find_sampling_fault(const SamplingOptions &sampling,
                                               const BatchCapacities &shape) {
  if (!std::isfinite(sampling.temperature) || sampling.temperature < 0)
    return "temperature: expected a number that is not negative";
  if (!(sampling.top_p > 0 && sampling.top_p <= 1))
    return "top_p: expected a probability above 0 and at most 1";
  if (!(sampling.min_p >= 0 && sampling.min_p <= 1))
    return "min_p: expected a probability from 0 to 1";
  if (!is_change(sampling.repetition_penalty) ||
      sampling.repetition_penalty < 1 / largest_change)
    return "repetition_penalty: expected a number from 1e-9 to 1e9; 1 changes "
           "nothing";
  if (!is_change(sampling.presence_penalty))
    return "presence_penalty: expected a number from -1e9 to 1e9";
  if (!is_change(sampling.frequency_penalty))
    return "frequency_penalty: expected a number from -1e9 to 1e9";
  if (const uint32_t most = shape.max_changes - shape.max_positions;
      sampling.logit_bias.size() > most)
    return "logit_bias: " + std::to_string(sampling.logit_bias.size()) +
           " tokens, expected at most " + std::to_string(most);
  for (const SamplingOptions::Bias &bias : sampling.logit_bias) {
    if (auto fault = find_token_fault("logit_bias", bias.token, shape))
      return fault;
    if (!is_change(bias.bias))
      return "logit_bias: expected numbers from -1e9 to 1e9";
  }
  return std::nullopt;
}

/// Of the prompt's size; without the key.
std::optional<std::string> find_size_fault(const BatchRequest &request,
                                           const BatchCapacities &shape) {
  const bool generates = request.max_new_tokens > 0;
  const uint64_t size = request.prompt.size();
  // A token that is scored last is not computed on, and needs no position.
  const uint64_t positions =
      size + most_new_tokens(request, shape) -
      (request.is_embedded() || request.compares() ? 0 : 1);
  if (generates ? size >= shape.max_positions : positions > shape.max_positions)
    return std::to_string(size) + " tokens" +
           (generates ? " and a new one" : "") +
           " do not fit into the program's " +
           std::to_string(shape.max_positions) +
           " positions; compile with a larger --max-seq";
  if (pages_of(positions) > shape.pages)
    return "its " + std::to_string(size) + " tokens " +
           (generates ? "and those behind it " : "") + "take " +
           std::to_string(pages_of(positions)) + " pages of " +
           std::to_string(page_positions) + " positions, and there are " +
           std::to_string(shape.pages) + "; give a larger --kv-memory" +
           (generates ? " or a smaller max_new_tokens" : "");
  return std::nullopt;
}

std::optional<std::string> find_score_fault(const BatchRequest &request) {
  if (!request.score_from)
    return std::nullopt;
  if (request.prompt.size() < 2)
    return "prompt_logprobs: the first token has none; give a second one";
  if (*request.score_from < 1 || *request.score_from >= request.prompt.size())
    return "score_from: expected 1 to " +
           std::to_string(request.prompt.size() - 1) + ", the last of the " +
           std::to_string(request.prompt.size()) + " tokens";
  if (request.score_likely > most_logprobs)
    return "prompt_logprobs: expected 0 to " + std::to_string(most_logprobs);
  if (request.is_only_scored() && request.n != 1)
    return "n: expected 1 beside max_new_tokens 0, where nothing is generated";
  return std::nullopt;
}

std::optional<std::string> find_choices_fault(const BatchRequest &request,
                                              const BatchCapacities &shape) {
  if (!request.compares())
    return std::nullopt;
  if (request.max_new_tokens || request.score_from || request.is_embedded() ||
      request.n != 1)
    return "choices: nothing else is made of their prompts";
  const uint32_t most = std::min(most_choices, shape.max_changes);
  if (request.choices.size() > most)
    return "choices: " + std::to_string(request.choices.size()) +
           " tokens, expected at most " + std::to_string(most);
  return find_tokens_fault("choices", request.choices, shape);
}

std::optional<std::string> find_embedding_fault(const BatchRequest &request,
                                                const BatchCapacities &shape) {
  if (!request.is_embedded())
    return std::nullopt;
  if (shape.hidden_width == 0)
    return "embeddings: this program makes none; compile with --embeddings";
  if (request.max_new_tokens || request.score_from || request.n != 1)
    return "embeddings: nothing else is made of their texts";
  return std::nullopt;
}

} // namespace

std::string_view batch_finish_name(BatchFinish finish) {
  switch (finish) {
  case BatchFinish::Stop:
    return "stop";
  case BatchFinish::Length:
    return "length";
  case BatchFinish::Error:
    return "error";
  case BatchFinish::Cancelled:
    break;
  }
  return "cancelled";
}

uint64_t most_new_tokens(const BatchRequest &request,
                         const BatchCapacities &shape) {
  // There may be a position less than tokens of the prompt.
  if (request.max_new_tokens == 0)
    return 0;
  return std::min<uint64_t>(request.max_new_tokens,
                            shape.max_positions - request.prompt.size());
}

std::optional<std::string> find_tokens_fault(const std::string &key,
                                             std::span<const int32_t> tokens,
                                             const BatchCapacities &shape) {
  for (int32_t token : tokens)
    if (auto fault = find_token_fault(key, token, shape))
      return fault;
  return std::nullopt;
}

std::optional<std::string> find_request_fault(const BatchRequest &request,
                                              const BatchCapacities &shape,
                                              const std::string &prompt_key) {
  if (request.prompt.empty())
    return prompt_key + ": there is no token; give at least one";
  if (auto fault = find_tokens_fault(prompt_key, request.prompt, shape))
    return fault;
  if (request.is_only_scored() && !request.score_from)
    return "max_new_tokens: expected at least 1";
  if (auto fault = find_embedding_fault(request, shape))
    return fault;
  if (auto fault = find_choices_fault(request, shape))
    return fault;
  if (auto fault = find_size_fault(request, shape))
    return prompt_key + ": " + *fault;
  if (auto fault = find_score_fault(request))
    return fault;
  if (request.n == 0 || request.n > most_continuations)
    return "n: expected 1 to " + std::to_string(most_continuations);
  if (request.logprobs.value_or(0) > most_logprobs)
    return "logprobs: expected 0 to " + std::to_string(most_logprobs);
  for (const std::string &text : request.stop_strings)
    if (text.empty())
      return "stop: an empty string would end every text";
  return find_sampling_fault(request.sampling, shape);
}

} // namespace baton
