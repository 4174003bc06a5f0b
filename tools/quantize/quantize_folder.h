//===- quantize_folder.h - a folder of quantised weights ------------------===//
//
// Layers' linears get the layout of linear_layout.h; all other tensors, the
// table of embeddings and the head among them, are copied, as are files beside
// weights. The folder grows as OUT.part beside its place.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_QUANTIZE_QUANTIZE_FOLDER_H
#define BATON_TOOLS_QUANTIZE_QUANTIZE_FOLDER_H

#include "tools/quantize/quantized_model.h"

namespace baton {

/// What plan_quantization() and quantize() do for formats of folders.
QuantizedModel plan_folder(const QuantizeOptions &options);
QuantizedModel quantize_folder(const QuantizeOptions &options,
                               const QuantizeProgress &progress);

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_QUANTIZE_FOLDER_H
