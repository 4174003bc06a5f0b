//===- quantize.cpp - a model becomes one of quantised weights ------------===//

#include "tools/quantize/quantize.h"

#include "tools/quantize/quantize_folder.h"
#include "tools/quantize/quantize_gguf.h"

namespace baton {

QuantizedModel plan_quantization(const QuantizeOptions &options) {
  return makes_folder(options.format) ? plan_folder(options)
                                      : plan_gguf(options);
}

QuantizedModel quantize(const QuantizeOptions &options,
                        const QuantizeProgress &progress) {
  return makes_folder(options.format) ? quantize_folder(options, progress)
                                      : quantize_gguf(options, progress);
}

} // namespace baton
