//===- table.h - columns of text that line up ----------------------------===//

#ifndef BATON_RUNTIME_MAIN_TABLE_H
#define BATON_RUNTIME_MAIN_TABLE_H

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace baton {

/// Rows of cells; every column is as wide as its widest cell.
class Table {
public:
  /// The columns of numbers are set flush right.
  explicit Table(std::set<size_t> number_columns = {})
      : number_columns(std::move(number_columns)) {}

  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  /// Lines, each after `indent` spaces.
  std::string text(unsigned indent) const;

private:
  std::set<size_t> number_columns;
  std::vector<std::vector<std::string>> rows;
};

/// "1.50 GiB"; whole bytes below one KiB.
std::string bytes_text(double bytes);

/// A number with the given digits behind the point.
std::string fixed_text(double value, int digits);

/// 0.471 becomes "47.1 %".
std::string percent_text(double fraction);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_TABLE_H
