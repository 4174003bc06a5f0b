//===- table.cpp - columns of text that line up --------------------------===//

#include "runtime/main/table.h"

#include <algorithm>
#include <cstdio>

namespace baton {

std::string Table::text(unsigned indent) const {
  std::vector<size_t> widths;
  for (const auto &row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  }
  std::string result;
  for (const auto &row : rows) {
    std::string line(indent, ' ');
    for (size_t column = 0; column < row.size(); ++column) {
      const std::string &cell = row[column];
      std::string padding(widths[column] - cell.size(), ' ');
      if (column)
        line += "  ";
      line += number_columns.contains(column) ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

std::string bytes_text(double bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return fixed_text(bytes, unit == 0 ? 0 : 2) + " " + units[unit];
}

std::string fixed_text(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

std::string percent_text(double fraction) {
  return fixed_text(fraction * 100, 1) + " %";
}

} // namespace baton
