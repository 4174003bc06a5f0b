//===- embedding_answer.cpp - texts as vectors ----------------------------===//

#include "runtime/serve/embedding_answer.h"

#include "runtime/error.h"
#include "runtime/serve/access.h"
#include "runtime/serve/api_json.h"
#include "runtime/serve/prompt_json.h"
#include "runtime/serve/request_keys.h"
#include "runtime/weights/gguf_model.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <fstream>
#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

class EmbeddingAnswer : public VectorAnswer {
public:
  EmbeddingAnswer(std::shared_ptr<HttpExchange> exchange,
                  std::shared_ptr<const ServedModel> model,
                  EmbeddingRequest &&request)
      : VectorAnswer(std::move(exchange), std::move(model),
                     std::move(request.requests)),
        encodes(request.encodes), dimensions(request.dimensions),
        length(request.length) {}

protected:
  Json body(const Usage &of) const override {
    Json data = Json::array();
    for (const std::vector<float> &vector : vectors)
      data.push_back({{"object", "embedding"},
                      {"index", data.size()},
                      {"embedding", json_of(vector)}});
    return {
        {"object", "list"},
        {"data", std::move(data)},
        {"model", model->name},
        {"usage", {{"prompt_tokens", of.prompt}, {"total_tokens", of.prompt}}}};
  }

  Json json_of(std::span<const float> vector) const {
    if (dimensions)
      vector = vector.first(dimensions);
    const std::vector<float> made = normalized(vector, length);
    return encodes ? Json(base64_of(made)) : Json(made);
  }

private:
  const bool encodes;
  const uint32_t dimensions;
  const int32_t length;
};

class LlamaEmbeddingAnswer : public EmbeddingAnswer {
public:
  using EmbeddingAnswer::EmbeddingAnswer;

protected:
  Json body(const Usage &) const override {
    Json all = Json::array();
    const size_t width = model->format.shape.hidden_width;
    for (const std::vector<float> &vector : vectors) {
      Json rows = Json::array();
      for (size_t begin = 0; begin < vector.size(); begin += width)
        rows.push_back(json_of(std::span(vector).subspan(begin, width)));
      all.push_back({{"index", all.size()}, {"embedding", std::move(rows)}});
    }
    return all;
  }
};

int32_t read_length(const JsonKeys &keys, int32_t usual) {
  const Json *length = keys.find("embd_normalize");
  if (!length)
    return keys.flag("normalize", usual >= 0)
               ? std::max<int32_t>(usual, VectorLength::euclidean)
               : VectorLength::as_it_is;
  if (!length->is_number_integer() || *length < -1 || *length > 64)
    throw Error("embd_normalize: expected -1 (not at all), 0 (the largest "
                "element), or the order of a norm, as 2");
  return length->get<int32_t>();
}

bool read_encoding(const JsonKeys &keys) {
  const std::string format = keys.text("encoding_format");
  if (!format.empty() && format != "float" && format != "base64")
    throw Error("encoding_format: expected \"float\" or \"base64\"");
  return format == "base64";
}

} // namespace

void VectorAnswer::on_result(uint32_t part, const BatchResult &result) {
  if (result.choices.front().finish == BatchFinish::Error)
    failure = result.choices.front().error;
  vectors[part] = result.embedding;
}

void VectorAnswer::end(const Usage &of) {
  if (!failure.empty())
    return fail(server_fault(failure));
  exchange->respond({.body = json_text(body(of)), .headers = headers});
}

void VectorAnswer::fail(const ApiError &error) {
  end_with_error(*exchange, error, false);
}

BatchRequest make_embedded(const std::string &key, std::vector<int32_t> tokens,
                           const JsonKeys &keys, const ServedModel &model) {
  BatchRequest request;
  request.prompt = std::move(tokens);
  request.max_new_tokens = 0;
  request.pooling = model.pooling;
  if (keys.has("pooling"))
    request.pooling = parse_pooling("pooling", keys.text("pooling"));
  request.priority = read_priority(keys);
  expect_positions(request, model, key);
  if (auto fault = find_request_fault(request, model.format.shape, key)) {
    if (model.format.shape.hidden_width == 0)
      throw not_supported(*fault);
    throw Error(*fault);
  }
  return request;
}

EmbeddingRequest read_embedding_request(const Json &body,
                                        const ServedModel &model,
                                        bool keeps_tokens) {
  EmbeddingRequest result;
  const JsonKeys keys(body,
                      {"input", "content", "model", "user", "encoding_format",
                       "dimensions", "pooling", "normalize", "embd_normalize",
                       "priority"},
                      result.ignored_keys);
  const char *key =
      keys.has("content") && !keys.has("input") ? "content" : "input";
  const Json *input = keys.find(key);
  if (!input)
    throw Error(std::string(key) + ": expected a text, a list of token ids, or "
                                   "a list of these");
  result.encodes = read_encoding(keys);
  for (std::vector<int32_t> &tokens : read_texts(key, *input, model.format)) {
    const size_t number = result.requests.size();
    const std::string place =
        number ? std::string(key) + "[" + std::to_string(number) + "]" : key;
    result.requests.push_back(
        make_embedded(place, std::move(tokens), keys, model));
  }
  const bool has_all = result.requests.front().pooling == Pooling::None;
  if (has_all && !keeps_tokens)
    throw Error("pooling: expected \"mean\" or \"last\"; vectors of each "
                "token has POST /embedding");
  result.dimensions = keys.small("dimensions", 0);
  const uint32_t width = model.format.shape.hidden_width;
  if (result.dimensions > width ||
      (keys.has("dimensions") && result.dimensions == 0))
    throw Error("dimensions: expected 1 to " + std::to_string(width));
  // llama.cpp leaves vectors of tokens as they are.
  result.length = read_length(keys, has_all ? VectorLength::as_it_is
                                            : VectorLength::euclidean);
  return result;
}

std::shared_ptr<Answer>
make_embedding_answer(std::shared_ptr<HttpExchange> exchange,
                      std::shared_ptr<const ServedModel> model,
                      EmbeddingRequest &&request) {
  return std::make_shared<EmbeddingAnswer>(
      std::move(exchange), std::move(model), std::move(request));
}

std::shared_ptr<Answer>
make_llama_embedding_answer(std::shared_ptr<HttpExchange> exchange,
                            std::shared_ptr<const ServedModel> model,
                            EmbeddingRequest &&request) {
  return std::make_shared<LlamaEmbeddingAnswer>(
      std::move(exchange), std::move(model), std::move(request));
}

Pooling parse_pooling(const std::string &key, const std::string &name) {
  if (name == "mean")
    return Pooling::Mean;
  if (name == "last")
    return Pooling::Last;
  if (name == "none")
    return Pooling::None;
  throw Error(key + ": expected \"mean\", \"last\" or \"none\", not " +
              quote_name(name));
}

std::optional<Pooling> read_pooling(const std::filesystem::path &checkpoint) {
  if (const auto path = find_gguf(checkpoint)) {
    const auto file = GgufFile::open(*path);
    const auto family = file->text("general.architecture");
    const auto type =
        family ? file->integer(std::string(*family) + ".pooling_type", 4)
               : std::nullopt;
    // llama.cpp's numbers.
    if (type == 1)
      return Pooling::Mean;
    if (type == 3)
      return Pooling::Last;
    return std::nullopt;
  }
  std::ifstream stream(checkpoint / "1_Pooling" / "config.json");
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  if (!json.is_object())
    return std::nullopt;
  auto says = [&](const char *key) {
    return json.value(key, nlohmann::json()) == true;
  };
  if (says("pooling_mode_mean_tokens"))
    return Pooling::Mean;
  if (says("pooling_mode_lasttoken"))
    return Pooling::Last;
  return std::nullopt;
}

} // namespace baton
