//===- pages.cpp - pages of what was measured -----------------------------===//

#include "tools/calibrate/pages.h"

#include "runtime/main/table.h"
#include "tools/plan/measured_ops.h"
#include "tools/plan/page.h"

using namespace baton;
using namespace baton::calibrate;

static std::string size_text(double size) { return fixed_text(size, 0); }

/// Sizes, microseconds, and how far apart rounds were.
static std::string rows_of(const plan::OpTable &table) {
  std::vector<std::vector<std::string>> rows(1);
  for (const plan::OpTable::Axis &axis : table.axes())
    rows[0].push_back(axis.name);
  rows[0].push_back("us");
  rows[0].push_back("rounds' spread");
  for (size_t place = 0; place < table.values().size(); ++place) {
    std::vector<std::string> row;
    for (double size : table.point(place))
      row.push_back(size_text(size));
    row.push_back(fixed_text(table.values()[place] * 1e6, 2));
    row.push_back(percent_text(table.spreads()[place]));
    rows.push_back(std::move(row));
  }
  return plan::html_table(rows);
}

/// A linear's weights are read once, and take two operations each for a row.
static std::vector<plan::Point> linear_points(const plan::Device &device) {
  std::vector<plan::Point> points;
  for (const plan::OpTable &table : device.tables) {
    if (table.op() != "linear")
      continue;
    const double bytes = plan::weight_bytes(table.type());
    for (size_t place = 0; place < table.values().size(); ++place) {
      const std::vector<double> sizes = table.point(place);
      const double rate =
          2 * sizes[0] * sizes[1] * sizes[2] / table.values()[place];
      points.push_back({2 * sizes[0] / bytes, rate / 1e9,
                        table.type() + ", " + size_text(sizes[0]) + " rows, " +
                            size_text(sizes[1]) + " x " + size_text(sizes[2]) +
                            ": " + fixed_text(rate / 1e9, 1) + " GFLOP/s",
                        false});
    }
  }
  return points;
}

void calibrate::write_device_page(const std::filesystem::path &file,
                                  const plan::Device &device) {
  std::vector<plan::Section> sections = {
      {"The machine", device.source,
       plan::html_table(
           {{"", ""},
            {"products", fixed_text(device.matmul_rate / 1e9, 1) + " GFLOP/s"},
            {"memory, read",
             fixed_text(device.bandwidth / 1e9, 1) + " GB/s"}})}};
  std::vector<plan::Point> points = linear_points(device);
  if (!points.empty()) {
    points.push_back(
        {device.matmul_rate / device.bandwidth, device.matmul_rate / 1e9,
         "peak, at as many operations a byte as memory brings", true});
    sections.push_back(
        {"Linears", "plan::Point at one for its sizes.",
         plan::scatter(points, "operations for a byte of weights", "GFLOP/s",
                       plan::Axes::logarithmic)});
  }
  for (const plan::OpTable &table : device.tables)
    sections.push_back({table.op() + " " + table.type(), "", rows_of(table)});
  plan::write_page(file, "batonc calibrate: " + device.name, sections);
}

void calibrate::write_sweep_page(const std::filesystem::path &file,
                                 const plan::Device &device,
                                 const std::vector<Indicator> &indicators,
                                 double tolerance) {
  std::vector<plan::Bar> bars;
  std::vector<std::vector<std::string>> rows = {
      {"", "expected", "measured", "times as slow", "rounds", ""}};
  for (const Indicator &one : indicators) {
    bars.push_back({one.name, {one.ratio}});
    rows.push_back({one.name, fixed_text(one.expected, 2) + " " + one.unit,
                    fixed_text(one.measured, 2) + " " + one.unit,
                    fixed_text(one.ratio, 2),
                    fixed_text(one.least, 2) + " to " + fixed_text(one.most, 2),
                    name(one.verdict(tolerance))});
  }
  plan::write_page(
      file, "batonc sweep: " + device.name,
      {{"Beside " + device.measured->date, "", plan::html_table(rows)},
       {"Times as slow", "The median of the rounds; 1 is as before.",
        plan::stacked_bars({"times as slow"}, bars, "")}});
}
