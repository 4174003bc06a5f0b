//===- HyperConnections.cpp - how wide a residual stream is, and its maps -===//

#include "models/HyperConnections.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

static constexpr int64_t kMostStreams = 8, kMostIterations = 64;

static model::Mixing readMode(const Config &config) {
  std::string mode = config.text("mode", "sinkhorn");
  if (mode == "sinkhorn")
    return model::Mixing::sinkhorn;
  if (mode == "identity")
    return model::Mixing::identity;
  if (mode == "free")
    return model::Mixing::free;
  config.fail("mode", "sinkhorn, identity or free");
}

std::optional<HyperConnections>
models::readHyperConnections(const Config &config, int64_t width,
                             float normEpsilon) {
  std::optional<Config> field = config.object("hyper_connections");
  if (!field)
    return std::nullopt;
  field->allowOnly(
      {"streams", "mode", "iterations", "epsilon", "norm_epsilon"});
  HyperConnections form;
  form.streams = field->integer("streams", 1, kMostStreams);
  form.mixing = readMode(*field);
  form.iterations =
      field->optionalInteger("iterations", 1, kMostIterations).value_or(10);
  form.epsilon = static_cast<float>(field->number("epsilon", 0, 1, 1e-6));
  form.normEpsilon =
      static_cast<float>(field->number("norm_epsilon", 0, 1, normEpsilon));
  if (form.streams * width > kMaxDimension)
    config.fail("'hyper_connections.streams' times the width is " +
                std::to_string(form.streams * width) + ", expected at most " +
                std::to_string(kMaxDimension));
  return form;
}
