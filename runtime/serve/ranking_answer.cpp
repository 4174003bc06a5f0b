//===- ranking_answer.cpp - texts by how close they are to another --------===//

#include "runtime/serve/ranking_answer.h"

#include "runtime/batch/json_keys.h"
#include "runtime/batch/token_json.h"
#include "runtime/error.h"
#include "runtime/serve/api_json.h"
#include "runtime/serve/embedding_answer.h"
#include "runtime/serve/prompt_json.h"
#include "runtime/serve/request_keys.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// A text, or an object that has one.
std::string plain_text(const std::string &key, const Json &value) {
  const Json *text = &value;
  if (value.is_object())
    if (auto found = value.find("text"); found != value.end())
      text = &*found;
  if (!text->is_string())
    throw Error(key + ": expected a text");
  return text->get<std::string>();
}

std::vector<std::string> text_list(const std::string &key, const Json *value) {
  if (!value || (value->is_array() && value->empty()))
    throw Error(key + ": expected a text or a list of texts, one at least");
  if (!value->is_array())
    return {plain_text(key, *value)};
  std::vector<std::string> list;
  for (const Json &each : *value)
    list.push_back(
        plain_text(key + "[" + std::to_string(list.size()) + "]", each));
  return list;
}

/// Turns pairs of texts into what the engine is asked.
class Pairs {
public:
  Pairs(const JsonKeys &keys, const ServedModel &model, RankingRequest &result)
      : keys(keys), model(model), result(result) {
    result.is_judged = model.judge.has_value();
    if (keys.has("instruction") && !model.judge)
      throw Error("instruction: is for models with a --score-template");
  }

  void add(const std::string &query, const std::string &document,
           const std::string &key) {
    if (!result.is_judged) {
      const uint32_t left = embed(query, "query");
      result.pairs.emplace_back(left, embed(document, key));
      return;
    }
    Json context = {{"query", query}, {"document", document}};
    if (const Json *instruction = keys.find("instruction"))
      context["instruction"] = *instruction;
    const std::vector<int32_t> prompt = encode_text(
        key, model.judge->prompt.render(context), model.format, false);
    const uint32_t first = ask(prompt, model.judge->yes, key);
    result.pairs.emplace_back(first, ask(prompt, model.judge->no, key));
    result.prompt_tokens += prompt.size();
  }

private:
  uint32_t embed(const std::string &text, const std::string &key) {
    auto [place, is_new] =
        places.try_emplace(text, static_cast<uint32_t>(result.requests.size()));
    if (is_new) {
      std::vector<int32_t> tokens = encode_text(key, text, model.format);
      result.prompt_tokens += tokens.size();
      BatchRequest request = make_embedded(key, std::move(tokens), keys, model);
      if (request.pooling == Pooling::None)
        throw Error("pooling: expected \"mean\" or \"last\"");
      result.requests.push_back(std::move(request));
    }
    return place->second;
  }

  uint32_t ask(const std::vector<int32_t> &prompt, int32_t token,
               const std::string &key) {
    BatchRequest request;
    request.prompt = prompt;
    request.prompt.push_back(token);
    request.score_from = prompt.size();
    request.max_new_tokens = 0;
    request.priority = read_priority(keys);
    if (auto fault = find_request_fault(request, model.format.shape, key))
      throw Error(*fault);
    result.requests.push_back(std::move(request));
    return static_cast<uint32_t>(result.requests.size() - 1);
  }

  const JsonKeys &keys;
  const ServedModel &model;
  RankingRequest &result;
  std::map<std::string, uint32_t> places;
};

class RankingAnswer : public VectorAnswer {
public:
  RankingAnswer(std::shared_ptr<HttpExchange> exchange,
                std::shared_ptr<const ServedModel> model,
                RankingRequest &&wanted)
      : VectorAnswer(std::move(exchange), std::move(model),
                     std::move(wanted.requests)),
        request(std::move(wanted)), logprobs(vectors.size()) {}

  void on_result(uint32_t part, const BatchResult &result) override {
    VectorAnswer::on_result(part, result);
    if (!result.scores.empty())
      logprobs[part] = double(result.scores.front().logprob);
  }

protected:
  Json body(const Usage &) const override {
    std::vector<double> scores;
    for (const auto &[left, right] : request.pairs)
      scores.push_back(
          request.is_judged
              ? 1 / (1 + std::exp(logprobs[right] - logprobs[left]))
              : cosine(vectors[left], vectors[right]));
    const Json usage = {{"prompt_tokens", request.prompt_tokens},
                        {"total_tokens", request.prompt_tokens}};
    Json list = Json::array();
    if (request.form == RankingRequest::Form::Score) {
      for (double score : scores)
        list.push_back(
            {{"index", list.size()}, {"object", "score"}, {"score", score}});
      return {{"id", random_id("score-")}, {"object", "list"},
              {"created", unix_time()},    {"model", model->name},
              {"data", std::move(list)},   {"usage", usage}};
    }
    const bool is_texts = request.form == RankingRequest::Form::Texts;
    for (size_t place : best(scores)) {
      Json json = {{"index", place},
                   {is_texts ? "score" : "relevance_score", scores[place]}};
      if (request.shows_documents && is_texts)
        json["text"] = request.documents[place];
      else if (request.shows_documents)
        json["document"] = {{"text", request.documents[place]}};
      list.push_back(std::move(json));
    }
    if (is_texts)
      return list;
    return {{"id", random_id("rerank-")},
            {"model", model->name},
            {"object", "list"},
            {"results", std::move(list)},
            {"usage", usage}};
  }

private:
  std::vector<size_t> best(const std::vector<double> &scores) const {
    std::vector<size_t> order(scores.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::ranges::sort(order, [&](size_t left, size_t right) {
      return std::pair(-scores[left], left) < std::pair(-scores[right], right);
    });
    order.resize(std::min(order.size(), request.most));
    return order;
  }

  const RankingRequest request;
  /// Of a judge: of the token, by the request's place.
  std::vector<double> logprobs;
};

} // namespace

RankingRequest read_score_request(const Json &body, const ServedModel &model) {
  RankingRequest result;
  const JsonKeys keys(body,
                      {"text_1", "text_2", "queries", "documents", "model",
                       "instruction", "pooling", "priority", "user"},
                      result.ignored_keys);
  const bool is_named = keys.has("queries") || keys.has("documents");
  const std::string left_key = is_named ? "queries" : "text_1",
                    right_key = is_named ? "documents" : "text_2";
  const std::vector<std::string> lefts = text_list(left_key,
                                                   keys.find(left_key.c_str())),
                                 rights = text_list(
                                     right_key, keys.find(right_key.c_str()));
  if (lefts.size() != 1 && lefts.size() != rights.size())
    throw Error(right_key + ": expected as many texts as " + left_key +
                " has, " + std::to_string(lefts.size()));
  Pairs pairs(keys, model, result);
  for (size_t i = 0; i < rights.size(); ++i)
    pairs.add(lefts[lefts.size() == 1 ? 0 : i], rights[i],
              right_key + "[" + std::to_string(i) + "]");
  return result;
}

RankingRequest read_rerank_request(const Json &body, const ServedModel &model) {
  RankingRequest result;
  const JsonKeys keys(body,
                      {"query", "documents", "texts", "model", "top_n",
                       "return_documents", "return_text", "instruction",
                       "pooling", "priority", "user"},
                      result.ignored_keys);
  const bool is_texts = keys.has("texts") && !keys.has("documents");
  result.form =
      is_texts ? RankingRequest::Form::Texts : RankingRequest::Form::Rerank;
  const char *key = is_texts ? "texts" : "documents";
  const Json *query = keys.find("query");
  if (!query)
    throw Error("query: expected a text");
  const Json *documents = keys.find(key);
  if (!documents || !documents->is_array())
    throw Error(std::string(key) + ": expected a list of texts");
  const std::string text = plain_text("query", *query);
  result.documents = text_list(key, documents);
  Pairs pairs(keys, model, result);
  for (size_t i = 0; i < result.documents.size(); ++i)
    pairs.add(text, result.documents[i],
              std::string(key) + "[" + std::to_string(i) + "]");
  result.most = keys.whole("top_n", result.documents.size());
  result.shows_documents =
      keys.flag(is_texts ? "return_text" : "return_documents", false);
  return result;
}

std::shared_ptr<Answer>
make_ranking_answer(std::shared_ptr<HttpExchange> exchange,
                    std::shared_ptr<const ServedModel> model,
                    RankingRequest &&request) {
  return std::make_shared<RankingAnswer>(std::move(exchange), std::move(model),
                                         std::move(request));
}

} // namespace baton
