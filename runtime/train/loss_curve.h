//===- loss_curve.h - a run's losses as a picture ------------------------===//

#ifndef BATON_RUNTIME_TRAIN_LOSS_CURVE_H
#define BATON_RUNTIME_TRAIN_LOSS_CURVE_H

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace baton {

struct LossPoint {
  uint64_t step;
  double loss;
};

struct LossCurve {
  std::string title;
  /// Both by ascending step. A loss that is infinite or not a number is a gap.
  std::vector<LossPoint> training;
  std::vector<LossPoint> validation;
};

/// An SVG picture that needs nothing else: the training loss as a thin line and
/// smoothed, by an exponential moving average in both directions, each over a
/// fiftieth of the run, and the validation loss as points. Of long runs a line
/// has the least and the largest loss of every column of the picture, so that
/// its size is bounded (about 100 KB). Texts are made valid XML, whatever they
/// hold.
std::string loss_curve_svg(const LossCurve &curve);

/// Writes it, beside its place first. Throws Error that names the path.
void write_loss_curve(const std::filesystem::path &path,
                      const LossCurve &curve);

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_LOSS_CURVE_H
