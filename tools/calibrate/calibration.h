//===- calibration.h - measures a machine by micro-programs ---------------===//

#ifndef BATON_TOOLS_CALIBRATE_CALIBRATION_H
#define BATON_TOOLS_CALIBRATE_CALIBRATION_H

#include "tools/calibrate/exchanges.h"
#include "tools/calibrate/host.h"
#include "tools/calibrate/samples.h"

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

namespace baton::calibrate {

struct CalibrationOptions {
  /// The compiler's program.
  std::string batonc;
  /// Of linears' weights.
  std::vector<std::string> types = {"f32", "bf16"};
  /// The most that exchange; 1 measures no exchanges.
  int64_t ranks = 2;
  int64_t rounds = 3;
  /// A coarse grid, whose points are all in the fine one.
  bool quick = false;
  /// Programs of the grid, but of their rows and positions the coarse ones.
  bool coarse_steps = false;
  bool quiet = false;
};

/// Rates of the machine itself, of the best windows; a second.
struct Rates {
  double operations = 0, bytes = 0;
  /// Of products of pairs of BF16 numbers; as `operations` without such.
  double pair_operations = 0;
  /// Seconds from one worker's notification to the other's going on.
  double hand_over = 0;
};

struct Calibration {
  Host host;
  std::map<Point, Estimate> points;
  /// Of each round.
  std::vector<Rates> rates;
};

/// Compiles the micro-programs, and runs them round by round. Files lie in
/// `folder` meanwhile. Throws Error, also when `stopped` becomes true.
Calibration measure(const CalibrationOptions &options,
                    const std::filesystem::path &folder,
                    const std::atomic<bool> &stopped);

/// The best of all rounds.
Rates best(const std::vector<Rates> &rates);

/// Operations a second of the products that such types of weights can have.
double peak_of(const Rates &rates, const std::vector<std::string> &types);

/// A device file (tools/plan/device.h), marked as measured.
nlohmann::ordered_json device_json(const CalibrationOptions &options,
                                   const Calibration &calibration);

} // namespace baton::calibrate

#endif // BATON_TOOLS_CALIBRATE_CALIBRATION_H
