//===- ReadWeights.h - fuzz: what a program reads of quantised weights ----===//

#ifndef BATON_TEST_FUZZ_READWEIGHTS_H
#define BATON_TEST_FUZZ_READWEIGHTS_H

#include "runtime/error.h"
#include "runtime/weights/form.h"
#include "runtime/weights/stored_blocks.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace baton::fuzz {

/// Makes numbers of all weights of a quantised tensor, and panels of them:
/// whatever its file says otherwise, each weight has to be there.
inline void read_weights(const std::string &name, const Tensor &tensor,
                         const std::shared_ptr<const WeightFile> &file) {
  if (!is_quantised(tensor.type) || tensor.shape.size() < 2)
    return;
  uint64_t outputs = 1;
  for (uint64_t extent : tensor.shape)
    outputs *= extent;
  const uint64_t inputs =
      tensor.is_flipped ? tensor.shape.front() : tensor.shape.back();
  if (outputs == 0)
    return;
  outputs /= inputs;
  std::vector<float> row(inputs);
  for (uint64_t output = 0; output < outputs; ++output)
    dequantise(tensor, inputs, output, 0, inputs, row.data());

  ParameterPart part{};
  part.shape = {outputs, inputs};
  if (tensor.is_flipped)
    std::swap(part.shape[0], part.shape[1]);
  part.transposed = tensor.is_flipped;
  part.own_outputs = {0, outputs};
  part.own_inputs = {0, inputs};
  part.room_outputs = outputs;
  part.room_inputs = inputs;
  const nlohmann::json object = {
      {"formats", panel_format(tensor.type)}, {"k", inputs}, {"n", outputs}};
  const std::vector<ParameterPart> parts = {part};
  try {
    const auto form =
        WeightForm::parse("blocks", {name, DataType::I8, 1, parts, object});
    std::vector<std::byte> layer(form->layer_bytes());
    form->pack({{name, &tensor, file}}, 0, form->units(), layer.data());
  } catch (const Error &) {
    // A NaN, or rows of heads that are no panel's.
  }
}

} // namespace baton::fuzz

#endif // BATON_TEST_FUZZ_READWEIGHTS_H
