//===- calibration.h - the inputs of a model's linears on a text ----------===//
//
// batonc compiles the model, and the program's `calibrate` measures them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_QUANTIZE_CALIBRATION_H
#define BATON_TOOLS_QUANTIZE_CALIBRATION_H

#include "tools/command/command.h"
#include "tools/quantize/importance.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace baton {

struct CalibrationOptions {
  /// The compiler's path.
  std::string batonc;
  std::filesystem::path model, text;
  /// For files on the way, which are gone in the end, but for a process that is
  /// killed.
  std::filesystem::path folder;
  /// The most windows of 512 tokens, or as many as the model has positions for.
  uint64_t windows = 32;
  bool quiet = false;
};

/// Compiles, runs and reads what was measured. Throws Error or AlreadySaid.
Importance calibrate(const CalibrationOptions &options);

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_CALIBRATION_H
