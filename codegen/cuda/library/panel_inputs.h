//===- panel_inputs.h - single numbers of packed weights ------------------===//
//
// For bodies that read a weight piece by piece, in every form that it may have.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_PANEL_INPUTS_H
#define BATON_CODEGEN_CUDA_LIBRARY_PANEL_INPUTS_H

#include "codegen/cuda/library/blocks.h"

namespace baton::cuda {

/// The weight of an output and an input, of which there are `inputs`.
template <typename Weight>
BATON_DEVICE float weight_of(const Weight *panels, int64_t output,
                             int64_t input, int64_t inputs) {
  return load_weight(panels + (output / lanes * inputs + input) * lanes +
                     output % lanes);
}

template <typename Block>
BATON_DEVICE float weight_of(const Quantised<Block> *panels, int64_t output,
                             int64_t input, int64_t inputs) {
  return weight_at(panels + output / lanes * panel_bytes<Block>(inputs), input,
                   output % lanes);
}

/// Panels that each say which format they have.
struct MixedPanel {
  int8_t byte;
};

BATON_DEVICE float weight_of(const MixedPanel *panels, int64_t output,
                             int64_t input, int64_t) {
  const int64_t stride =
      reinterpret_cast<const blocks::MixedHead *>(panels)->stride;
  const MixedPanel *panel = panels + output / lanes * stride;
  switch (reinterpret_cast<const blocks::MixedHead *>(panel)->format) {
#define BATON_WEIGHT_OF_FORMAT(NAME, BLOCK)                                    \
  case blocks::NAME:                                                           \
    return weight_at(reinterpret_cast<const Quantised<blocks::BLOCK> *>(       \
                         panel + sizeof(blocks::MixedHead)),                   \
                     input, output % lanes);
#define BATON_WEIGHT_OF_PLAIN(NAME, FORMAT)                                    \
  case blocks::NAME:                                                           \
    return plain_weight_at<blocks::FORMAT>(                                    \
        reinterpret_cast<const int8_t *>(panel + sizeof(blocks::MixedHead)),   \
        input, output % lanes);
    BATON_FOR_EACH_BLOCK(BATON_WEIGHT_OF_FORMAT)
    BATON_FOR_EACH_PLAIN_FORMAT(BATON_WEIGHT_OF_PLAIN)
#undef BATON_WEIGHT_OF_PLAIN
#undef BATON_WEIGHT_OF_FORMAT
  }
  return quiet_nan();
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_PANEL_INPUTS_H
