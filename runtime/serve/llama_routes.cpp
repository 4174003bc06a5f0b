//===- llama_routes.cpp - paths that llama.cpp's server has ---------------===//

#include "runtime/batch/token_json.h"
#include "runtime/serve/access.h"
#include "runtime/serve/llama_completion.h"
#include "runtime/serve/request_keys.h"
#include "runtime/serve/service.h"

#include <filesystem>
#include <utility>

namespace baton {

using RouteJson = nlohmann::ordered_json;

void Service::llama_completions(const Exchange &exchange) {
  read(exchange, [this, exchange](const Body &body) {
    const Served &served = adapted.of(body);
    LlamaRequest request = read_llama_request(body, *served);
    for (const BatchRequest &own : request.requests) {
      expect_positions(own, *served, "prompt");
      if (auto fault = find_request_fault(own, served->format.shape))
        throw Error(*fault);
    }
    const std::vector<std::string> ignored = request.ignored_keys;
    auto answer = make_llama_answer(exchange, served, std::move(request));
    answer->ignore(ignored);
    start(answer);
  });
}

void Service::props(const Exchange &exchange) {
  const BatchFormat &format = model->format;
  auto first = [&](const std::vector<int32_t> &tokens) {
    return tokens.empty() || !format.tokenizer
               ? ""
               : token_text(tokens.front(), format);
  };
  const std::vector<int32_t> begin = format.tokenizer
                                         ? format.tokenizer->encode("", true)
                                         : std::vector<int32_t>();
  respond(*exchange,
          {{"default_generation_settings",
            {{"n_ctx", format.shape.max_positions},
             {"params", llama_default_settings(*model)}}},
           {"total_slots", format.shape.max_sequences},
           {"model_alias", model->name},
           // Where it lies is nobody's business.
           {"model_path", std::filesystem::path(model->weights).filename()},
           {"chat_template",
            model->conversation ? model->conversation->template_text() : ""},
           {"bos_token", first(begin)},
           {"eos_token", first(format.stop_tokens)},
           {"modalities", {{"vision", false}, {"audio", false}}},
           {"build_info", model->fingerprint}});
}

/// Texts have no places of their own here: the first ones stand for those that
/// run.
void Service::slots(const Exchange &exchange) {
  const uint64_t running = engine.load().running;
  RouteJson all = RouteJson::array();
  for (uint32_t slot = 0; slot < model->format.shape.max_sequences; ++slot)
    all.push_back({{"id", slot},
                   {"n_ctx", model->format.shape.max_positions},
                   {"speculative", false},
                   {"is_processing", slot < running}});
  respond(*exchange, all);
}

void Service::unsupported(const Exchange &exchange) {
  refuse(*exchange,
         not_supported(exchange->request().path + ": this server does no "
                                                  "such work"));
}

} // namespace baton
