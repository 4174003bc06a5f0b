//===- quantised.cpp - fuzz: quantised folders of Hugging Face ------------===//
//
// An input is a config.json, a byte 0, and model.safetensors.
//
//===----------------------------------------------------------------------===//

#include "ReadWeights.h"

#include "runtime/error.h"
#include "runtime/weights/checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <unistd.h>

using namespace baton;

namespace {

void write(const std::string &path, const uint8_t *begin, const uint8_t *end) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(begin), end - begin);
}

} // namespace

/// What config.json says of quantised weights and what tensors there are may be
/// at odds in any way: the folder is refused in one line, or all of its weights
/// are there.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::string folder = [] {
    std::string pattern = "/dev/shm/baton-fuzz-XXXXXX";
    if (!mkdtemp(pattern.data()))
      std::abort();
    static std::string path = pattern;
    std::atexit([] {
      unlink((path + "/config.json").c_str());
      unlink((path + "/model.safetensors").c_str());
      rmdir(path.c_str());
    });
    return pattern;
  }();
  const uint8_t *end = data + size, *middle = std::find(data, end, 0);
  write(folder + "/config.json", data, middle);
  write(folder + "/model.safetensors", middle == end ? end : middle + 1, end);
  try {
    if (const auto quantisation = Quantisation::read(folder)) {
      const Checkpoint checkpoint = Checkpoint::open(folder);
      const QuantisedTensors weights(*quantisation, checkpoint.files());
      for (const auto &[name, weight] : weights.all())
        fuzz::read_weights(name, *checkpoint.find({name}).tensor,
                           checkpoint.files().front());
    }
  } catch (const Error &error) {
    const std::string message = error.what();
    if (message.empty() || message.find('\n') != std::string::npos) {
      std::fprintf(stderr, "error: '%s'\n", message.c_str());
      std::abort();
    }
  }
  return 0;
}
