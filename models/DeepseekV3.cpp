//===- DeepseekV3.cpp - importer of the DeepSeek-V3 family ----------------===//
//
// transformers' DeepseekV3ForCausalLM (also DeepSeek-R1): latent attention, and
// a mixture of experts with sigmoids, chosen with biases of their own among the
// groups whose best two are best.
//
//===----------------------------------------------------------------------===//

#include "models/Family.h"
#include "models/LatentAttention.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

static OwningOpRef<ModuleOp> buildDeepseekV3(MLIRContext &context,
                                             const Config &config,
                                             const ImportOptions &options) {
  LatentModel model = readLatentModel(config, options,
                                      {.denseLayers = 3,
                                       .sharedExperts = 1,
                                       .normalizes = true,
                                       .factor = 2.5});
  if (config.text("scoring_func", "sigmoid") != "sigmoid")
    config.fail("scoring_func", "sigmoid");
  if (config.text("topk_method", "noaux_tc") != "noaux_tc")
    config.fail("topk_method", "noaux_tc");
  model.mixture.scoring = model::Scoring::sigmoid;
  model.mixture.correctsChoice = true;
  readGroups(config, model.mixture);
  if (model.mixture.experts / model.mixture.groups < 2)
    config.fail("n_group", "one that leaves two experts for each group of "
                           "'n_routed_experts', " +
                               std::to_string(model.mixture.experts));
  model.mixture.byBestTwo = true;
  model.attention.interleaved = config.boolean("rope_interleave", true);
  return model.build(context, config, options, "deepseek_v3");
}

const Family baton::models::DeepseekV3Family = {
    "deepseek_v3", "DeepseekV3ForCausalLM", buildDeepseekV3};
