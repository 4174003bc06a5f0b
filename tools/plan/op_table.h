//===- op_table.h - what an op was measured to take, by its sizes ---------===//

#ifndef BATON_TOOLS_PLAN_OP_TABLE_H
#define BATON_TOOLS_PLAN_OP_TABLE_H

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace baton::plan {

/// Seconds of one op over a grid of its sizes. Between points it is linear
/// along each axis, so that a sum of parts that are constant, or grow with
/// one size or with a product of sizes (what is launched, bytes, operations)
/// is met exactly; at points it is what was measured.
class OpTable {
public:
  /// A size, and where it was measured: ascending, above 0.
  struct Axis {
    std::string name;
    std::vector<double> values;
  };
  /// Of sizes in the axes' order.
  using Bound = std::function<double(const std::vector<double> &)>;

  /// `seconds` and `spreads` of all points, the last axis' next to each other.
  /// A spread is how far apart the rounds were, as a part of the seconds.
  /// Throws Error that says what is wrong with them, without a file's name.
  OpTable(std::string op, std::string type, std::vector<Axis> axes,
          std::vector<double> seconds, std::vector<double> spreads);

  /// Of an object {"op", "type", "axes": {name: [..]}, "seconds", "spread"}.
  /// Throws Error as the constructor does.
  static OpTable parse(const nlohmann::ordered_json &json);
  nlohmann::ordered_json to_json() const;

  /// Outside of the grid, the nearest point of its border times what `bound`
  /// (a roofline: seconds that grow with each size) says of the sizes beside
  /// what it says of that point. Sizes are above 0.
  double seconds(const std::vector<double> &sizes, const Bound &bound) const;
  /// Whether all sizes are within the grid.
  bool contains(const std::vector<double> &sizes) const;

  const std::string &op() const { return own_op; }
  /// "f32", or another word that tells tables of one op apart.
  const std::string &type() const { return own_type; }
  const std::vector<Axis> &axes() const { return own_axes; }
  const std::vector<double> &values() const { return own_seconds; }
  const std::vector<double> &spreads() const { return own_spreads; }
  /// Sizes of a point, by its place among values().
  std::vector<double> point(size_t place) const;

private:
  std::string own_op, own_type;
  std::vector<Axis> own_axes;
  std::vector<double> own_seconds, own_spreads;
};

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_OP_TABLE_H
