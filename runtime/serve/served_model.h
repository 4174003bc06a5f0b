//===- served_model.h - what requests of a served model need --------------===//

#ifndef BATON_RUNTIME_SERVE_SERVED_MODEL_H
#define BATON_RUNTIME_SERVE_SERVED_MODEL_H

#include "runtime/batch/batch_format.h"
#include "runtime/chat/conversation.h"
#include "runtime/decode/sampler.h"
#include "runtime/serve/constraints.h"
#include "runtime/serve/relevance.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace baton {

struct ServedModel {
  /// As requests call it; other names are taken, too, as there is but one.
  std::string name;
  int64_t created = 0;
  /// Tells which program made an answer.
  std::string fingerprint;
  /// "llama" and such, and where its weights are.
  std::string family, weights;
  /// Of the program, by their numbers.
  std::vector<std::string> phases;
  BatchFormat format;
  /// Beside the model's linears, of one with an adapter.
  std::shared_ptr<ServedAdapter> adapter = {};
  /// Of embeddings that do not say.
  Pooling pooling = Pooling::Last;
  /// Of scores, where they are not those of embeddings.
  std::optional<RelevanceJudge> judge = {};
  /// What the checkpoint recommends (generation_config.json), else that every
  /// token is as likely as the model says.
  SamplingOptions sampling;
  /// Keys of requests that do not have them.
  nlohmann::ordered_json defaults = nlohmann::ordered_json::object();
  /// How it writes conversations; without, `no_conversation` says why.
  std::shared_ptr<const Conversation> conversation;
  std::string no_conversation;
  /// Special tokens that calls of tools and reasoning are written with, which
  /// have text; and those that end a text where there are tools.
  std::vector<int32_t> marker_tokens, call_stop_tokens;
  std::shared_ptr<ConstraintCache> constraints;
};

/// Reads what a checkpoint says of conversations into `model`, which has its
/// format already. Throws Error for what is there and damaged.
void read_conversation_of(const std::filesystem::path &checkpoint,
                          const std::optional<std::string> &template_file,
                          ServedModel &model);

/// Throws Error that begins with the flag at fault.
RelevanceJudge read_judge(const std::string &template_file,
                          const std::string &tokens, const BatchFormat &format);

/// Reads "temperature", "top_k", "top_p", "min_p" and "repetition_penalty" of a
/// checkpoint's generation_config.json, unless its "do_sample" is false.
SamplingOptions
read_recommended_sampling(const std::filesystem::path &checkpoint);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_SERVED_MODEL_H
