//===- config.cpp - fuzz: config.json -------------------------------------===//

#include "Accepted.h"

#include "models/Importer.h"

#include "dialects/Model/Model.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <unistd.h>

using namespace baton;

/// A config is imported, or refused in one line.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::string folder = [] {
    std::string pattern = "/dev/shm/baton-fuzz-XXXXXX";
    if (!mkdtemp(pattern.data()))
      std::abort();
    static std::string path = pattern;
    std::atexit([] {
      unlink((path + "/config.json").c_str());
      rmdir(path.c_str());
    });
    return pattern;
  }();
  std::ofstream(folder + "/config.json", std::ios::binary)
      .write(reinterpret_cast<const char *>(data),
             static_cast<std::streamsize>(size));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string error;
  auto module = models::importFolder(context, folder, {}, error);
  if (!module != !error.empty() || error.find('\n') != std::string::npos) {
    std::fprintf(stderr, "error: '%s'\n", error.c_str());
    std::abort();
  }
  return fuzz::outcome({reinterpret_cast<const char *>(data), size}, ".json",
                       module ? *module : nullptr);
}
