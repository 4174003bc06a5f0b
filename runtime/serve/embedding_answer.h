//===- embedding_answer.h - texts as vectors ------------------------------===//
//
// OpenAI's /v1/embeddings and llama.cpp's /embedding.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_EMBEDDING_ANSWER_H
#define BATON_RUNTIME_SERVE_EMBEDDING_ANSWER_H

#include "runtime/batch/json_keys.h"
#include "runtime/serve/answer.h"
#include "runtime/serve/embedding_vector.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace baton {

struct EmbeddingRequest {
  /// One for each text.
  std::vector<BatchRequest> requests;
  /// Vectors as base64 instead of numbers.
  bool encodes = false;
  /// So many elements of each, the first ones; 0: all.
  uint32_t dimensions = 0;
  int32_t length = VectorLength::euclidean;
  std::vector<std::string> ignored_keys;
};

/// Throws Error that begins with the key at fault. Only llama.cpp's
/// /embedding, which `keeps_tokens`, has vectors of each token.
EmbeddingRequest read_embedding_request(const nlohmann::ordered_json &body,
                                        const ServedModel &model,
                                        bool keeps_tokens = false);

/// The keys "pooling" and "priority" of a text that becomes a vector, which is
/// of `key`.
BatchRequest make_embedded(const std::string &key, std::vector<int32_t> tokens,
                           const JsonKeys &keys, const ServedModel &model);

/// Gathers the vectors of an answer's requests.
class VectorAnswer : public Answer {
public:
  using Answer::Answer;

  void on_token(uint32_t, uint32_t, int32_t,
                std::span<const TokenLogprob>) override {}
  void on_result(uint32_t part, const BatchResult &result) override;
  void end(const Usage &usage) override;
  void fail(const ApiError &error) override;

protected:
  virtual nlohmann::ordered_json body(const Usage &usage) const = 0;

  /// By the request's place.
  std::vector<std::vector<float>> vectors =
      std::vector<std::vector<float>>(requests.size());

private:
  std::string failure;
};

std::shared_ptr<Answer>
make_embedding_answer(std::shared_ptr<HttpExchange> exchange,
                      std::shared_ptr<const ServedModel> model,
                      EmbeddingRequest &&request);
/// In llama.cpp's form.
std::shared_ptr<Answer>
make_llama_embedding_answer(std::shared_ptr<HttpExchange> exchange,
                            std::shared_ptr<const ServedModel> model,
                            EmbeddingRequest &&request);

/// What a checkpoint says of its vectors: pooling_type of a GGUF file, or
/// 1_Pooling/config.json of a folder as Sentence Transformers writes it.
/// Nothing where it says nothing, or another one than Pooling has.
std::optional<Pooling> read_pooling(const std::filesystem::path &checkpoint);
/// "mean", "last" or "none"; throws Error that begins with `key` for others.
Pooling parse_pooling(const std::string &key, const std::string &name);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_EMBEDDING_ANSWER_H
