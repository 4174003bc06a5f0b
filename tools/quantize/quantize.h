//===- quantize.h - a model becomes one of quantised weights --------------===//
//
// A GGUF file (quantize_gguf.h), or a folder of Hugging Face
// (quantize_folder.h).
//
// Tensors are read, encoded and written one after the other, a few rows at a
// time. The file grows as OUT.part beside its place, with OUT.part.journal,
// which says which tensors are complete and what they were made of: the same
// command goes on behind them, and begins anew where the model, the file's
// header or the program changed.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_QUANTIZE_QUANTIZE_H
#define BATON_TOOLS_QUANTIZE_QUANTIZE_H

#include "tools/quantize/quantized_model.h"

namespace baton {

/// Which tensors there will be; nothing is written.
QuantizedModel plan_quantization(const QuantizeOptions &options);

/// Writes the file or the folder. Throws Error that names the file or the
/// tensor.
QuantizedModel quantize(const QuantizeOptions &options,
                        const QuantizeProgress &progress);

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_QUANTIZE_H
