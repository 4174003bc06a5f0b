//===- sweep.h - whether a machine is still what its file says ------------===//

#ifndef BATON_TOOLS_CALIBRATE_SWEEP_H
#define BATON_TOOLS_CALIBRATE_SWEEP_H

#include "tools/calibrate/calibration.h"
#include "tools/plan/device.h"

#include <string>
#include <vector>

namespace baton::calibrate {

/// One thing that a machine can do, beside what its file says. Ratios are of
/// times, measured to expected: above 1 is slower.
struct Indicator {
  std::string name;
  /// "us" of one op of the middle of its sizes, "GB/s" or "GFLOP/s".
  std::string unit;
  double expected = 0, measured = 0;
  /// Of all rounds: the median, the fastest and the slowest.
  double ratio = 1, least = 1, most = 1;

  enum class Verdict { same, slower, faster, unclear };
  /// Slower, or faster, by more than the tolerance in every round; unclear
  /// where the median is, but not all rounds are.
  Verdict verdict(double tolerance) const;
};

const char *name(Indicator::Verdict verdict);

/// Why the file is not of this machine; empty where it is.
std::string check_machine(const plan::Device &device, const Host &host);

/// What calibrate has to measure to compare with a file: the same programs, of
/// the same types of weights, and as many ranks, in few steps.
CalibrationOptions sweep_options(const plan::Device &device);

/// An indicator for each op, type and number of rows: the median over those
/// points that the file has, of times beside it. Ropes, states and what is
/// between steps are left out: they take as long as a clock's noise.
std::vector<Indicator> compare(const plan::Device &device,
                               const CalibrationOptions &options,
                               const Calibration &calibration);

} // namespace baton::calibrate

#endif // BATON_TOOLS_CALIBRATE_SWEEP_H
