//===- decoding_stages.cpp - who runs which part of a model ---------------===//

#include "runtime/decode/decoding_stages.h"
#include "runtime/error.h"

namespace baton {

std::optional<DecodingStages>
DecodingStages::parse(const nlohmann::json &description) {
  auto found = description.find("stages");
  if (found == description.end() || found->is_null())
    return std::nullopt;
  try {
    return DecodingStages{found->at("axis")};
  } catch (const nlohmann::json::exception &failure) {
    throw Error(std::string("this program's description is damaged: ") +
                failure.what());
  }
}

uint32_t rank_with_logits(const nlohmann::json &description, const Mesh &mesh) {
  std::optional<DecodingStages> stages = DecodingStages::parse(description);
  return stages ? mesh.group(0, {stages->axis}).back() : 0;
}

} // namespace baton
