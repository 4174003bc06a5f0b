//===- safetensors.cpp - fuzz: headers of weight files --------------------===//

#include "runtime/weights/safetensors.h"
#include "runtime/error.h"

#include <string>

#include <sys/mman.h>
#include <unistd.h>

using namespace baton;

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
    } catch (const Error &) {
    }
  close(file);
  return 0;
}
