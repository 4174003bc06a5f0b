//===- op_table.cpp - what an op was measured to take, by its sizes -------===//

#include "tools/plan/op_table.h"

#include "runtime/error.h"
#include "tools/plan/grid.h"

#include <algorithm>
#include <cmath>

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

OpTable::OpTable(std::string op, std::string type, std::vector<Axis> axes,
                 std::vector<double> seconds, std::vector<double> spreads)
    : own_op(std::move(op)), own_type(std::move(type)),
      own_axes(std::move(axes)), own_seconds(std::move(seconds)),
      own_spreads(std::move(spreads)) {
  const std::string name =
      "table " + own_op + (own_type.empty() ? "" : " " + own_type) + ": ";
  if (own_axes.empty())
    throw Error(name + "has no axes");
  size_t points = 1;
  for (const Axis &axis : own_axes) {
    if (axis.values.empty())
      throw Error(name + "axis " + axis.name + " has no values");
    double before = 0;
    for (double value : axis.values) {
      if (!(value > before) || !std::isfinite(value))
        throw Error(name + "axis " + axis.name +
                    " does not ascend from above 0");
      before = value;
    }
    points *= axis.values.size();
  }
  auto check = [&](const char *what, const std::vector<double> &numbers,
                   bool zero) {
    if (numbers.size() != points)
      throw Error(name + "has " + std::to_string(numbers.size()) + " " + what +
                  ", and its axes " + std::to_string(points) + " points");
    for (double number : numbers)
      if (!(number > 0 || (zero && number == 0)) || !std::isfinite(number))
        throw Error(name + what + " are not all above 0");
  };
  check("seconds", own_seconds, false);
  check("spreads", own_spreads, true);
}

OpTable OpTable::parse(const Json &json) {
  try {
    for (const auto &[key, value] : json.items())
      if (key != "op" && key != "type" && key != "axes" && key != "seconds" &&
          key != "spread")
        throw Error("a table has '" + key + "', which is not known here");
    std::vector<Axis> axes;
    for (const auto &[name, values] : json.at("axes").items())
      axes.push_back({name, values.get<std::vector<double>>()});
    return OpTable(json.at("op").get<std::string>(),
                   json.at("type").get<std::string>(), std::move(axes),
                   json.at("seconds").get<std::vector<double>>(),
                   json.at("spread").get<std::vector<double>>());
  } catch (const Json::exception &error) {
    throw Error(std::string("a table: ") + error.what());
  }
}

Json OpTable::to_json() const {
  Json axes = Json::object();
  for (const Axis &axis : own_axes)
    axes[axis.name] = axis.values;
  return {{"op", own_op},
          {"type", own_type},
          {"axes", std::move(axes)},
          {"seconds", own_seconds},
          {"spread", own_spreads}};
}

std::vector<double> OpTable::point(size_t place) const {
  std::vector<double> sizes(own_axes.size());
  for (size_t axis = own_axes.size(); axis-- > 0;) {
    const std::vector<double> &values = own_axes[axis].values;
    sizes[axis] = values[place % values.size()];
    place /= values.size();
  }
  return sizes;
}

bool OpTable::contains(const std::vector<double> &sizes) const {
  for (size_t axis = 0; axis < own_axes.size(); ++axis)
    if (sizes[axis] < own_axes[axis].values.front() ||
        sizes[axis] > own_axes[axis].values.back())
      return false;
  return true;
}

double OpTable::seconds(const std::vector<double> &sizes,
                        const Bound &bound) const {
  if (sizes.size() != own_axes.size())
    throw Error("table " + own_op + ": " + std::to_string(sizes.size()) +
                " sizes are given for " + std::to_string(own_axes.size()) +
                " axes");
  std::vector<double> inside = sizes;
  std::vector<const std::vector<double> *> axes;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::vector<double> &values = own_axes[axis].values;
    inside[axis] = std::clamp(sizes[axis], values.front(), values.back());
    axes.push_back(&values);
  }
  const double sum = interpolate(axes, own_seconds, inside);
  return inside == sizes ? sum : sum * bound(sizes) / bound(inside);
}
