//===- Dump.h - reads what `logits --dump` wrote --------------------------===//

#ifndef BATON_TOOLS_DIFF_RUN_DUMP_H
#define BATON_TOOLS_DIFF_RUN_DUMP_H

#include "runtime/error.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace baton::diff {

/// One value of a run: what a phase wrote in one iteration.
struct Value {
  std::string phase;
  uint64_t iteration;
  std::string buffer;
  std::filesystem::path file;
};

/// The values of a dump's index.json, in program order. Throws Error, naming
/// the file, when it cannot be read or is no index.
std::vector<Value> readIndex(const std::filesystem::path &folder);

/// A .npy file in memory, widened to double, which holds every element type of
/// a dump but 64-bit integers beyond 2^53.
struct Array {
  std::vector<uint64_t> shape;
  std::vector<double> elements;
};

/// Throws Error, naming the file, when it is no array that a dump has.
Array readArray(const std::filesystem::path &file);

} // namespace baton::diff

#endif // BATON_TOOLS_DIFF_RUN_DUMP_H
