//===- sweep.cpp - whether a machine is still what its file says ----------===//

#include "tools/calibrate/sweep.h"

#include <algorithm>
#include <set>

using namespace baton;
using namespace baton::calibrate;

Indicator::Verdict Indicator::verdict(double tolerance) const {
  const double slow = 1 + tolerance, fast = 1 / (1 + tolerance);
  if (least > slow)
    return Verdict::slower;
  if (most < fast)
    return Verdict::faster;
  return ratio > slow || ratio < fast ? Verdict::unclear : Verdict::same;
}

const char *calibrate::name(Indicator::Verdict verdict) {
  switch (verdict) {
  case Indicator::Verdict::same:
    return "ok";
  case Indicator::Verdict::slower:
    return "slower";
  case Indicator::Verdict::faster:
    return "faster";
  case Indicator::Verdict::unclear:
    return "unclear";
  }
  return "";
}

static std::string cores_of(int64_t cores, const std::string &processor) {
  return std::to_string(cores) + (cores == 1 ? " core of " : " cores of ") +
         processor;
}

std::string calibrate::check_machine(const plan::Device &device,
                                     const Host &host) {
  if (!device.measured)
    return "is from data sheets, and has nothing measured to compare with; "
           "batonc calibrate -o FILE.json measures this machine";
  if (device.measured->processor != host.processor ||
      device.measured->cores > host.cores)
    return "is of " +
           cores_of(device.measured->cores, device.measured->processor) +
           ", and this machine has " + cores_of(host.cores, host.processor) +
           "; batonc calibrate -o FILE.json measures this one";
  return "";
}

CalibrationOptions calibrate::sweep_options(const plan::Device &device) {
  CalibrationOptions options;
  options.types.clear();
  options.ranks = 1;
  options.quick = device.measured && device.measured->quick;
  options.coarse_steps = true;
  for (const plan::OpTable &table : device.tables) {
    if (table.op() == "linear")
      options.types.push_back(table.type());
    if (table.op() == "exchange")
      options.ranks = int64_t(table.axes().front().values.back());
  }
  return options;
}

/// The point's time in the file; nothing where it was not measured.
static std::optional<double> expected(const plan::Device &device,
                                      const Point &point) {
  const plan::OpTable *table = device.table(point.op, point.type);
  if (!table)
    return std::nullopt;
  for (size_t place = 0; place < table->values().size(); ++place) {
    const std::vector<double> sizes = table->point(place);
    bool same = true;
    for (size_t axis = 0; axis < sizes.size(); ++axis)
      same = same && point.sizes.at(table->axes()[axis].name) == sizes[axis];
    if (same)
      return table->values()[place];
  }
  return std::nullopt;
}

/// Of rounds' ratios.
static void set_ratios(Indicator &indicator, std::vector<double> ratios) {
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  indicator.least = *least;
  indicator.most = *most;
  indicator.ratio = median(std::move(ratios));
}

static Indicator rate(const std::string &name, const std::string &unit,
                      double expected, const std::vector<double> &rounds) {
  Indicator indicator{name, unit, expected / 1e9, median(rounds) / 1e9};
  std::vector<double> ratios;
  for (double one : rounds)
    ratios.push_back(expected / one);
  set_ratios(indicator, std::move(ratios));
  return indicator;
}

std::vector<Indicator> calibrate::compare(const plan::Device &device,
                                          const CalibrationOptions &options,
                                          const Calibration &calibration) {
  std::vector<double> peaks, bandwidths;
  for (const Rates &rates : calibration.rates) {
    peaks.push_back(peak_of(rates, options.types));
    bandwidths.push_back(rates.bytes);
  }
  std::vector<Indicator> indicators = {
      rate("multiply-add peak", "GFLOP/s", device.matmul_rate, peaks),
      rate("memory, read", "GB/s", device.bandwidth, bandwidths)};

  static const std::set<std::string> compared = {
      "linear", "gated_linear", "attention", "elementwise", "exchange"};
  struct Known {
    double expected;
    const Estimate *estimate;
  };
  std::map<std::string, std::vector<Known>> groups;
  for (const auto &[point, estimate] : calibration.points) {
    const std::optional<double> known = expected(device, point);
    if (!known || !compared.count(point.op))
      continue;
    std::string group = point.op + " " + point.type;
    std::replace(group.begin(), group.end(), '_', ' ');
    if (auto rows = point.sizes.find("rows"); rows != point.sizes.end())
      group += ", " + std::to_string(int64_t(rows->second)) +
               (rows->second == 1 ? " row" : " rows");
    groups[group].push_back({*known, &estimate});
  }
  for (auto &[group, points] : groups) {
    Indicator indicator{group, "us"};
    std::vector<double> ratios;
    for (size_t round = 0; round < calibration.rates.size(); ++round) {
      std::vector<double> own;
      for (const Known &point : points)
        own.push_back(point.estimate->rounds.at(round) / point.expected);
      ratios.push_back(median(std::move(own)));
    }
    set_ratios(indicator, std::move(ratios));
    std::sort(points.begin(), points.end(),
              [](const Known &one, const Known &other) {
                return one.expected < other.expected;
              });
    const Known &middle = points[points.size() / 2];
    indicator.expected = middle.expected * 1e6;
    indicator.measured = middle.estimate->seconds * 1e6;
    indicators.push_back(std::move(indicator));
  }
  return indicators;
}
