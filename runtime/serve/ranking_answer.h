//===- ranking_answer.h - texts by how close they are to another ----------===//
//
// vLLM's /score, and /rerank as Jina's and Cohere's API and llama.cpp's server
// have it, or, with "texts", Hugging Face's Text Embeddings Inference. A score
// is the cosine of two embeddings, or what the model's RelevanceJudge says.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_RANKING_ANSWER_H
#define BATON_RUNTIME_SERVE_RANKING_ANSWER_H

#include "runtime/serve/answer.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace baton {

struct RankingRequest {
  /// How the answer looks.
  enum class Form { Score, Rerank, Texts } form = Form::Score;
  /// Of embeddings one for each text, each text once; of a judge those of the
  /// two tokens for each pair.
  std::vector<BatchRequest> requests;
  /// The two requests of each score.
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  bool is_judged = false;
  /// What answers repeat, if they do.
  std::vector<std::string> documents;
  bool shows_documents = false;
  /// The best so many.
  size_t most = 0;
  uint64_t prompt_tokens = 0;
  std::vector<std::string> ignored_keys;
};

/// Throw Error that begins with the key at fault.
RankingRequest read_score_request(const nlohmann::ordered_json &body,
                                  const ServedModel &model);
RankingRequest read_rerank_request(const nlohmann::ordered_json &body,
                                   const ServedModel &model);

std::shared_ptr<Answer>
make_ranking_answer(std::shared_ptr<HttpExchange> exchange,
                    std::shared_ptr<const ServedModel> model,
                    RankingRequest &&request);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_RANKING_ANSWER_H
