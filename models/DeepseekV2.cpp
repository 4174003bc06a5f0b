//===- DeepseekV2.cpp - importer of the DeepSeek-V2 family ----------------===//
//
// transformers' DeepseekV2ForCausalLM: latent attention, whose rotary pairs lie
// side by side, and a mixture of experts with softmax, maybe of the groups with
// the best ones.
//
//===----------------------------------------------------------------------===//

#include "models/Family.h"
#include "models/LatentAttention.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

static OwningOpRef<ModuleOp> buildDeepseekV2(MLIRContext &context,
                                             const Config &config,
                                             const ImportOptions &options) {
  LatentModel model = readLatentModel(
      config, options,
      {.denseLayers = 0, .sharedExperts = 2, .normalizes = false, .factor = 1});
  if (model.mixture.normalizes)
    config.fail("norm_topk_prob", "false, as weights of this family's experts "
                                  "are not divided by their sum");
  if (config.text("scoring_func", "softmax") != "softmax")
    config.fail("scoring_func", "softmax");
  const std::string method = config.text("topk_method", "greedy");
  if (method == "group_limited_greedy")
    readGroups(config, model.mixture);
  else if (method != "greedy")
    config.fail("topk_method", "greedy or group_limited_greedy");
  return model.build(context, config, options, "deepseek_v2");
}

const Family baton::models::DeepseekV2Family = {
    "deepseek_v2", "DeepseekV2ForCausalLM", buildDeepseekV2};
