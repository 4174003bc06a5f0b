//===- samples.h - what rounds of measurements say of each op -------------===//

#ifndef BATON_TOOLS_CALIBRATE_SAMPLES_H
#define BATON_TOOLS_CALIBRATE_SAMPLES_H

#include "tools/calibrate/micro_program.h"
#include "tools/plan/op_table.h"

#include <nlohmann/json.hpp>

#include <map>
#include <vector>

namespace baton::calibrate {

/// Seconds of an op, and how far apart rounds were, as a part of them.
struct Estimate {
  double seconds = 0, spread = 0;
  /// Of each round, in order.
  std::vector<double> rounds;
};

/// Measurements come in rounds that are some time apart. A round's time is
/// that of its fastest tenth: on a shared machine a core may be away for most
/// of the others. What counts is the median of the rounds.
class Samples {
public:
  void begin_round() { rounds.emplace_back(); }
  void add(const Point &point, double seconds) {
    rounds.back()[point].push_back(seconds);
  }
  /// What `bench --steps --json` said of a program's step. Throws Error where
  /// phases that were to be measured are not there.
  void add(const MicroProgram &program, const Step &step,
           const nlohmann::ordered_json &bench);

  std::map<Point, Estimate> estimates() const;

private:
  std::vector<std::map<Point, std::vector<double>>> rounds;
};

/// Those of equal op and type, over the grid of all their sizes. Throws Error
/// where a point of a grid is missing.
std::vector<plan::OpTable> tables_of(const std::map<Point, Estimate> &points);

/// The middle one, or the mean of both; of one at least.
double median(std::vector<double> values);

} // namespace baton::calibrate

#endif // BATON_TOOLS_CALIBRATE_SAMPLES_H
