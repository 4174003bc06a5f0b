//===- step_parts.cpp - a step around products by cuBLASLt ----------------===//

#include "runtime/cuda/step_parts.h"

namespace baton {

StepParts::StepParts(const nlohmann::json &program) {
  if (!program.contains("products"))
    return;
  for (const nlohmann::json &product : program.at("products"))
    list.push_back({product.at("kernel").get<std::string>(),
                    product.at("phase").get<size_t>(),
                    product.at("least_rows").get<uint32_t>(),
                    product.at("depth").get<uint64_t>(),
                    product.at("columns").get<uint64_t>()});
  for (const nlohmann::json &segment : program.at("order"))
    segments.push_back({segment.at("phases").get<size_t>(),
                        segment.at("repeat").get<int64_t>()});
}

std::vector<StepPart> StepParts::of(uint32_t rows) const {
  std::vector<StepPart> parts;
  size_t first_phase = 0;
  uint32_t place = 0, begun = 0;
  auto end_part = [&] {
    if (begun < place)
      parts.push_back({{begun, place}, std::nullopt, 0});
    begun = place;
  };
  for (const Segment &segment : segments) {
    for (int64_t iteration = 0; iteration < segment.repeat; ++iteration)
      for (size_t phase = 0; phase < segment.phases; ++phase, ++place)
        for (size_t product = 0; product < list.size(); ++product)
          if (list[product].phase == first_phase + phase &&
              list[product].least_rows <= rows) {
            end_part();
            parts.push_back({{place, place}, product, iteration});
          }
    first_phase += segment.phases;
  }
  if (parts.empty())
    return parts;
  end_part();
  return parts;
}

} // namespace baton
