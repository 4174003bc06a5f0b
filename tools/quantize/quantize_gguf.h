//===- quantize_gguf.h - a GGUF file of quantised weights -----------------===//

#ifndef BATON_TOOLS_QUANTIZE_QUANTIZE_GGUF_H
#define BATON_TOOLS_QUANTIZE_QUANTIZE_GGUF_H

#include "tools/quantize/quantized_model.h"

namespace baton {

/// What plan_quantization() and quantize() do for formats of GGUF files.
QuantizedModel plan_gguf(const QuantizeOptions &options);
QuantizedModel quantize_gguf(const QuantizeOptions &options,
                             const QuantizeProgress &progress);

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_QUANTIZE_GGUF_H
