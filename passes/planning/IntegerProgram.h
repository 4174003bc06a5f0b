//===- IntegerProgram.h - least sums under linear conditions --------------===//
//
// Solved by COIN-OR's branch and cut (CBC), through its C interface.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_PLANNING_INTEGERPROGRAM_H
#define BATON_PASSES_PLANNING_INTEGERPROGRAM_H

#include <optional>
#include <vector>

namespace baton::planning {

class IntegerProgram {
public:
  struct Term {
    unsigned variable;
    double factor;
  };

  /// 0 or 1; 0 alone if it may not be 1.
  unsigned addBinary(double cost, bool mayBeOne);
  /// At least 0.
  unsigned addReal(double cost);
  /// low <= sum of the terms <= high. A variable may come several times.
  void addRow(std::vector<Term> terms, double low, double high);

  /// All variables of a solution than which none costs less; nothing if no
  /// condition can be met. The same one whenever it is asked for.
  std::optional<std::vector<double>> solve() const;

private:
  struct Variable {
    double cost;
    double most;
    bool isWhole;
  };
  struct Row {
    std::vector<Term> terms;
    double low, high;
  };
  std::vector<Variable> variables;
  std::vector<Row> rows;
};

} // namespace baton::planning

#endif // BATON_PASSES_PLANNING_INTEGERPROGRAM_H
