//===- serving_setup.cpp - what serves conversations starts with ----------===//

#include "runtime/main/serving_setup.h"

#include "runtime/main/batch_setup.h"
#include "runtime/main/weights.h"
#include "runtime/serve/api_json.h"
#include "runtime/serve/embedding_answer.h"
#include "runtime/weights/hash.h"

#include <filesystem>

namespace baton {

/// "smollm2-135m" of a folder or a file of this name.
static std::string model_name(const std::filesystem::path &weights) {
  std::filesystem::path path = std::filesystem::weakly_canonical(weights);
  return path.extension() == ".gguf" ? path.stem().string()
                                     : path.filename().string();
}

std::shared_ptr<ServedModel>
read_served_model(const Metadata &metadata, const RunOptions &run,
                  const std::optional<std::string> &name,
                  const std::optional<std::string> &chat_template) {
  auto model = std::make_shared<ServedModel>();
  const std::filesystem::path path = weights_path(run);
  model->name = name.value_or(model_name(path));
  model->created = unix_time();
  const std::string plan = metadata.json.dump();
  model->fingerprint =
      "baton-" + hash_text(hash_bytes(plan.data(), plan.size(), 0));
  const nlohmann::json &description = metadata.json.at("model");
  model->family = description.value("family", std::string("model"));
  model->weights = path.string();
  for (const PhaseDescription &phase : metadata.phases)
    model->phases.push_back(phase.name);
  model->format = read_batch_format(metadata, run);
  model->format.shape = batch_capacities(metadata, 0);
  model->sampling = read_recommended_sampling(path);
  model->pooling = read_pooling(path).value_or(Pooling::Last);
  read_conversation_of(path, chat_template, *model);
  model->constraints = std::make_shared<ConstraintCache>(
      model->format.tokenizer, metadata.vocabulary, model->format.stop_tokens);
  return model;
}

} // namespace baton
