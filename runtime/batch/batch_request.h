//===- batch_request.h - one of many texts to continue or score ----------===//

#ifndef BATON_RUNTIME_BATCH_BATCH_REQUEST_H
#define BATON_RUNTIME_BATCH_BATCH_REQUEST_H

#include "runtime/batch/adapter_shelf.h"
#include "runtime/batch/token_constraint.h"
#include "runtime/decode/sampler.h"
#include "runtime/execute/batch_inputs.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// The logarithm of a token's probability, as the model, bias, penalties and
/// constraint make it, before temperature, top-k, top-p and min-p.
struct TokenLogprob {
  int32_t token;
  float logprob;

  bool operator==(const TokenLogprob &) const = default;
};

/// What an embedding is made of a text's hidden states: their mean, the last
/// one, or none, and it has all of them.
enum class Pooling { Mean, Last, None };

struct BatchRequest {
  bool is_embedded() const { return pooling.has_value(); }
  /// Nothing is generated.
  bool is_only_scored() const {
    return max_new_tokens == 0 && !is_embedded() && !compares();
  }
  /// Tokens are compared.
  bool compares() const { return !choices.empty(); }

  std::string id;
  /// At least one token; less than max_positions, or, of one that is only
  /// scored, one more than these.
  std::vector<int32_t> prompt;
  /// At least one; 0 of a prompt that is only scored, whose last token is not
  /// computed on. As many as fit behind the prompt, if these are more.
  uint64_t max_new_tokens = 1;
  /// The prompt's tokens from this position on, at least 1, are scored: their
  /// log-probabilities behind all tokens before them are wanted, without bias
  /// or penalties, and those of so many of the most likely ones beside each.
  std::optional<uint64_t> score_from = {};
  uint32_t score_likely = 0;
  /// Tokens that may come behind the prompt, at most most_choices: their
  /// log-probabilities are wanted, by logits as they are, and nothing else;
  /// max_new_tokens is 0 then. With `only_choices` their logits are wanted, and
  /// no others are looked at: where no row of a step wants more, others need
  /// not be computed.
  std::vector<int32_t> choices = {};
  bool only_choices = false;
  /// An embedding of the prompt is wanted, and nothing else; max_new_tokens is
  /// 0 then. The program has hidden states.
  std::optional<Pooling> pooling = {};
  SamplingOptions sampling;
  /// The low-rank adapter beside the model's linears, or none.
  std::shared_ptr<ServedAdapter> adapter = {};
  /// What texts may be; none: all. Its masks are of the program's vocabulary.
  std::shared_ptr<const TokenConstraint> constraint = {};
  /// A text ends behind the first of these tokens, and behind the token that
  /// completes the first of these strings; or where its constraint is finished.
  std::vector<int32_t> stop_tokens = {};
  std::vector<std::string> stop_strings = {};
  /// Continuations, at least one; the seeds of the others are the next ones.
  uint32_t n = 1;
  /// Whether log-probabilities of the tokens are wanted, and of how many of the
  /// most likely ones beside each.
  std::optional<uint32_t> logprobs = {};
  /// Of those that wait the ones with the lowest number come first, and of
  /// those that have pages the ones with the highest give theirs back first.
  int32_t priority = 0;
  /// Whatever whoever asks knows it by.
  uint64_t tag = 0;
  uint32_t part = 0;
};

/// Of a prompt: its tokens, those that were found, and those that were found or
/// computed.
struct PromptProgress {
  uint64_t tokens = 0, cached = 0, done = 0;
};

enum class BatchFinish { Stop, Length, Error, Cancelled };
/// "stop", "length", "error" or "cancelled".
std::string_view batch_finish_name(BatchFinish finish);

/// One continuation.
struct BatchChoice {
  std::vector<int32_t> tokens;
  BatchFinish finish = BatchFinish::Length;
  /// Of BatchFinish::Error.
  std::string error = {};
  /// If wanted, for each token: its own, then those of the most likely ones, as
  /// many for each. Where a constraint has left fewer, the rest have token
  /// BATON_NOT_DRAWN.
  std::vector<TokenLogprob> logprobs = {};
};

struct BatchResult {
  /// With an empty prompt: its tokens are counted here.
  BatchRequest request;
  uint64_t prompt_tokens = 0;
  /// Those of them that another text had computed before.
  uint64_t cached_tokens = 0;
  /// request.n of them.
  std::vector<BatchChoice> choices;
  /// Tokens of the prompt that were scored, and for each its own, then those of
  /// request.score_likely others, of fewer where the vocabulary has fewer.
  uint64_t scored_tokens = 0;
  std::vector<TokenLogprob> scores = {};
  /// If tokens were compared: the log-probability of each, or its logit, and
  /// which token is the most likely one, of all or of these.
  std::vector<float> compared = {};
  int32_t likeliest = BATON_NOT_DRAWN;
  /// If one was wanted: BatchCapacities::hidden_width elements; of
  /// Pooling::None as many for each token.
  std::vector<float> embedding = {};
};

/// The most log-probabilities beside each token.
inline constexpr uint32_t most_logprobs = BATON_MOST_LIKELY;
/// The most tokens that a request compares.
inline constexpr uint32_t most_choices = BATON_MOST_LISTED;
/// The most continuations of a request.
inline constexpr uint32_t most_continuations = 128;

/// New tokens that a request may have in a program.
uint64_t most_new_tokens(const BatchRequest &request,
                         const BatchCapacities &shape);

/// Why a program cannot take a request, or nothing. Starts with the key of a
/// request (runtime/batch/request_json.h); that of the prompt is given.
std::optional<std::string>
find_request_fault(const BatchRequest &request, const BatchCapacities &shape,
                   const std::string &prompt_key = "prompt");
/// The same of tokens alone.
std::optional<std::string> find_tokens_fault(const std::string &key,
                                             std::span<const int32_t> tokens,
                                             const BatchCapacities &shape);

} // namespace baton

#endif // BATON_RUNTIME_BATCH_BATCH_REQUEST_H
