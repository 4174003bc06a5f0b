//===- step_times.cpp - how long a step of a program takes ----------------===//

#include "tools/plan/step_times.h"

#include "runtime/error.h"
#include "tools/plan/grid.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>

using namespace baton;
using namespace baton::plan;

MeasuredStepTimes::MeasuredStepTimes(std::vector<double> outputs,
                                     std::vector<double> rows,
                                     std::vector<double> contexts,
                                     std::vector<double> seconds)
    : axes{std::move(outputs), std::move(rows), std::move(contexts)},
      times(std::move(seconds)) {
  check("step times");
}

MeasuredStepTimes::MeasuredStepTimes(const std::filesystem::path &file) {
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file))
    throw Error(file.string() + ": cannot be read");
  try {
    const auto json = nlohmann::json::parse(stream);
    if (!json.is_object() || json.value("kind", "") != "step times")
      throw Error(file.string() + ": is not what a program's bench "
                                  "--step-times writes");
    const char *names[] = {"outputs", "rows", "contexts"};
    for (int axis = 0; axis < 3; ++axis)
      axes[axis] = json.at(names[axis]).get<std::vector<double>>();
    for (const auto &plane : json.at("seconds"))
      for (const auto &line : plane) {
        const auto values = line.get<std::vector<double>>();
        times.insert(times.end(), values.begin(), values.end());
      }
    max_sequences = json.at("max_sequences").get<int64_t>();
    max_rows = json.at("max_rows").get<int64_t>();
    max_outputs = json.at("max_outputs").get<int64_t>();
    max_positions = json.at("max_positions").get<int64_t>();
    workers = json.at("workers").get<int64_t>();
    spread = json.at("spread").get<double>();
  } catch (const nlohmann::json::exception &error) {
    throw Error(file.string() + ": " + error.what());
  }
  for (int64_t limit : {max_sequences, max_rows, max_outputs, max_positions})
    if (limit < 1 || limit > int64_t(1) << 31)
      throw Error(file.string() + ": the program's limits are no whole numbers "
                                  "above 0");
  check(file.string());
}

void MeasuredStepTimes::check(const std::string &name) {
  size_t points = 1;
  for (const std::vector<double> &axis : axes) {
    if (axis.empty() || axis.front() < 0 ||
        !std::is_sorted(axis.begin(), axis.end(), std::less_equal()))
      throw Error(name + ": the numbers of an axis do not ascend");
    points *= axis.size();
  }
  for (int axis = 0; axis < 2; ++axis)
    if (axes[axis].front() != 0 || axes[axis].size() < 2)
      throw Error(name + ": the axes of rows are to begin with 0, and go on");
  if (times.size() != points)
    throw Error(name + ": there are " + std::to_string(times.size()) +
                " times for a grid of " + std::to_string(points));
  for (double time : times)
    if (!(time > 0) || !std::isfinite(time))
      throw Error(name + ": a time is not above 0");
  shortest = *std::min_element(times.begin(), times.end());
}

double MeasuredStepTimes::at(double outputs, double rows,
                             double context) const {
  return interpolate({&axes[0], &axes[1], &axes[2]}, times,
                     {outputs, rows, context});
}

double MeasuredStepTimes::seconds(const StepShape &shape) const {
  const double of_outputs =
      shape.outputs > 0 ? shape.output_contexts / shape.outputs : 0;
  // The rows of the grid's chunk see each other, too.
  const double of_rows =
      shape.rows > 0 ? shape.row_contexts / shape.rows - (shape.rows - 1) / 2
                     : 0;
  double context = shape.outputs > 0 ? of_outputs : of_rows;
  if (shape.outputs > 0 && shape.rows > 0) {
    const double low = axes[2].front(), high = axes[2].back();
    auto cost = [&](double outputs, double rows) {
      return std::max(at(outputs, rows, high) - at(outputs, rows, low), 0.0);
    };
    const double outputs = cost(shape.outputs, 0), rows = cost(0, shape.rows);
    const double share = outputs + rows > 0
                             ? outputs / (outputs + rows)
                             : shape.outputs / (shape.outputs + shape.rows);
    context = share * of_outputs + (1 - share) * of_rows;
  }
  return std::max(at(shape.outputs, shape.rows, context), shortest);
}
