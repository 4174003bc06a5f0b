//===- safetensors.cpp - fuzz: headers of weight files --------------------===//

#include "ReadWeights.h"

#include "runtime/error.h"
#include "runtime/weights/quantisation.h"
#include "runtime/weights/safetensors.h"

#include <string>

#include <sys/mman.h>
#include <unistd.h>

using namespace baton;

namespace {

/// Whatever config.json says, numbers of the weights that several tensors make
/// have to be readable, too.
void read_quantised(const std::shared_ptr<const WeightFile> &file) {
  using Method = Quantisation::Method;
  for (Method method : {Method::Gptq, Method::Awq, Method::CompressedTensors,
                        Method::Fp8, Method::Mxfp4, Method::Bitsandbytes}) {
    Quantisation quantisation;
    quantisation.method = method;
    quantisation.block = {16, 128};
    try {
      const QuantisedTensors weights(quantisation, {file});
      for (const auto &[name, weight] : weights.all())
        fuzz::read_weights(name, weight.tensor, file);
    } catch (const Error &) {
    }
  }
}

} // namespace

/// Every tensor of an accepted file has to be readable from end to end.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int file = memfd_create("fuzz", 0);
  if (write(file, data, size) == static_cast<ssize_t>(size))
    try {
      auto opened =
          SafetensorsFile::open("/proc/self/fd/" + std::to_string(file));
      unsigned sum = 0;
      for (const auto &[name, tensor] : opened->tensors())
        for (uint64_t i = 0; i < tensor.bytes; ++i)
          sum += static_cast<unsigned>(tensor.data[i]);
      asm volatile("" : : "r"(sum)); // the bytes are read
      read_quantised(opened);
    } catch (const Error &) {
    }
  close(file);
  return 0;
}
