//===- page.h - pages that stand for themselves ---------------------------===//

#ifndef BATON_TOOLS_PLAN_PAGE_H
#define BATON_TOOLS_PLAN_PAGE_H

#include <filesystem>
#include <string>
#include <vector>

namespace baton::plan {

struct Bar {
  std::string label;
  std::vector<double> parts;
};

/// Bars of parts that add up, one below the other, to one scale. Parts' sizes
/// are shown when pointed at, in the unit.
std::string stacked_bars(const std::vector<std::string> &parts,
                         const std::vector<Bar> &bars, const std::string &unit);

struct Point {
  double x = 0, y = 0;
  /// Shown when pointed at.
  std::string label;
  bool marked = false;
};

enum class Axes {
  /// Points are joined in their order.
  linear,
  /// Logarithmic. Values are above 0.
  logarithmic,
  /// Logarithmic, and the same, with a line where both are equal.
  compared,
};

std::string scatter(const std::vector<Point> &points, const std::string &x,
                    const std::string &y, Axes axes);

/// The first row has the names of the columns.
std::string html_table(const std::vector<std::vector<std::string>> &rows);

std::string escaped(const std::string &text);

struct Section {
  std::string heading, text, picture;
};

/// One file that needs no other. Throws Error, naming the file.
void write_page(const std::filesystem::path &file, const std::string &title,
                const std::vector<Section> &sections);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_PAGE_H
