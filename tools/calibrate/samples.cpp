//===- samples.cpp - what rounds of measurements say of each op -----------===//

#include "tools/calibrate/samples.h"

#include "runtime/error.h"

#include <algorithm>
#include <set>

using namespace baton;
using namespace baton::calibrate;
using Json = nlohmann::ordered_json;

double calibrate::median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half]
                           : (values[half - 1] + values[half]) / 2;
}

/// Whether a step of a run is one of those to measure.
static bool is_measured(const Json &run, const Step &step) {
  const auto rows = run.at("rows").get<int64_t>();
  const auto positions = run.at("past").get<int64_t>() + rows;
  if (rows != step.rows)
    return false;
  return rows == 1 ? positions > step.positions - decoded_tokens / 2 &&
                         positions <= step.positions + decoded_tokens / 2
                   : positions == step.positions;
}

void Samples::add(const MicroProgram &program, const Step &step,
                  const Json &bench) {
  const auto names = bench.at("phases").get<std::vector<std::string>>();
  for (const auto &[name, phase] : program.phases)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error("the program " + program.name + " has no phase " + name +
                  ": batonc has fused it with others");
  const std::set<std::string> others(program.others.begin(),
                                     program.others.end());
  size_t steps = 0;
  for (const Json &run : bench.at("steps")) {
    if (!is_measured(run, step))
      continue;
    ++steps;
    double outside = 0;
    for (size_t at = 0; at < names.size(); ++at) {
      const auto seconds = run.at("phases_s").at(at).get<std::vector<double>>();
      const auto phase = program.phases.find(names[at]);
      if (phase != program.phases.end())
        for (double one : seconds)
          add(phase->second.in(step), one);
      else if (!others.count(names[at]))
        for (double one : seconds)
          outside += one;
    }
    const Json &border = run.at("border_s");
    if (program.between_steps && border.is_number())
      add({"step", "one_sequence", {{"rows", double(step.rows)}}},
          border.get<double>() + outside);
  }
  if (steps == 0)
    throw Error("the program " + program.name + " made no step of " +
                std::to_string(step.rows) + " rows and " +
                std::to_string(step.positions) + " positions");
}

std::map<Point, Estimate> Samples::estimates() const {
  std::map<Point, std::vector<double>> fastest;
  for (const auto &round : rounds)
    for (const auto &[point, seconds] : round) {
      std::vector<double> sorted = seconds;
      std::sort(sorted.begin(), sorted.end());
      fastest[point].push_back(sorted[sorted.size() / 10]);
    }
  std::map<Point, Estimate> estimates;
  for (const auto &[point, seconds] : fastest) {
    const auto [least, most] =
        std::minmax_element(seconds.begin(), seconds.end());
    // A clock has ticks: nothing takes no time.
    const double middle = std::max(median(seconds), 1e-9);
    estimates[point] = {middle, (*most - *least) / middle, seconds};
  }
  return estimates;
}

/// Axes in the order of tools/plan/measured_ops.h.
static const std::vector<std::string> &axes_of(const std::string &op) {
  static const std::map<std::string, std::vector<std::string>> axes = {
      {"linear", {"rows", "outputs", "inputs"}},
      {"gated_linear", {"rows", "outputs", "inputs"}},
      {"attention", {"rows", "positions", "key_heads", "group", "head_size"}},
      {"rope", {"rows", "width"}},
      {"append", {"rows", "width"}},
      {"embedding", {"rows", "width"}},
      {"elementwise", {"bytes"}},
      {"step", {"rows"}},
      {"exchange", {"ranks", "bytes"}}};
  return axes.at(op);
}

std::vector<plan::OpTable>
calibrate::tables_of(const std::map<Point, Estimate> &points) {
  std::map<std::pair<std::string, std::string>, std::vector<Point>> groups;
  for (const auto &[point, estimate] : points)
    groups[{point.op, point.type}].push_back(point);
  std::vector<plan::OpTable> tables;
  for (const auto &[name, group] : groups) {
    std::vector<plan::OpTable::Axis> axes;
    size_t size = 1;
    for (const std::string &axis : axes_of(name.first)) {
      std::set<double> values;
      for (const Point &point : group)
        values.insert(point.sizes.at(axis));
      axes.push_back({axis, {values.begin(), values.end()}});
      size *= values.size();
    }
    std::vector<double> seconds, spreads;
    for (size_t place = 0; place < size; ++place) {
      Point point{name.first, name.second, {}};
      size_t rest = place;
      std::string text;
      for (size_t axis = axes.size(); axis-- > 0;) {
        const auto &values = axes[axis].values;
        point.sizes[axes[axis].name] = values[rest % values.size()];
        rest /= values.size();
      }
      const auto found = points.find(point);
      if (found == points.end()) {
        for (const auto &[axis, value] : point.sizes)
          text += " " + axis + " " + std::to_string(int64_t(value));
        throw Error("nothing was measured of " + name.first + " " +
                    name.second + " with" + text);
      }
      seconds.push_back(found->second.seconds);
      spreads.push_back(found->second.spread);
    }
    tables.emplace_back(name.first, name.second, std::move(axes),
                        std::move(seconds), std::move(spreads));
  }
  return tables;
}
