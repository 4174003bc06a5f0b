//===- IntegerProgram.cpp - least sums under linear conditions ------------===//

#include "passes/planning/IntegerProgram.h"

#include <coin/Cbc_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>

using namespace baton::planning;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

unsigned IntegerProgram::addBinary(double cost, bool mayBeOne) {
  variables.push_back({cost, mayBeOne ? 1.0 : 0.0, true});
  return variables.size() - 1;
}

unsigned IntegerProgram::addReal(double cost) {
  variables.push_back({cost, kInfinity, false});
  return variables.size() - 1;
}

void IntegerProgram::addRow(std::vector<Term> terms, double low, double high) {
  rows.push_back({std::move(terms), low, high});
}

std::optional<std::vector<double>> IntegerProgram::solve() const {
  // The solver takes columns, one after the other.
  std::vector<std::map<int, double>> columns(variables.size());
  std::vector<double> lows, highs, costs, least(variables.size(), 0), most;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const Term &term : rows[i].terms)
      columns[term.variable][int(i)] += term.factor;
    lows.push_back(rows[i].low);
    highs.push_back(rows[i].high);
  }
  // Its tolerances are absolute: costs may be microseconds, or bytes.
  double largest = 0;
  for (const Variable &variable : variables)
    largest = std::max(largest, std::abs(variable.cost));
  const double scale = largest > 0 ? 1e4 / largest : 1;
  std::vector<CoinBigIndex> starts = {0};
  std::vector<int> indices;
  std::vector<double> values;
  for (size_t i = 0; i < variables.size(); ++i) {
    for (auto [row, value] : columns[i]) {
      indices.push_back(row);
      values.push_back(value);
    }
    starts.push_back(indices.size());
    costs.push_back(variables[i].cost * scale);
    most.push_back(variables[i].most);
  }
  std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)> model(Cbc_newModel(),
                                                               Cbc_deleteModel);
  Cbc_setParameter(model.get(), "log", "0");
  // Of a program without whole variables, too, which Clp solves alone.
  Cbc_setLogLevel(model.get(), 0);
  Cbc_setParameter(model.get(), "ratioGap", "0");
  Cbc_setParameter(model.get(), "allowableGap", "0");
  Cbc_loadProblem(model.get(), int(variables.size()), int(rows.size()),
                  starts.data(), indices.data(), values.data(), least.data(),
                  most.data(), costs.data(), lows.data(), highs.data());
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i].isWhole)
      Cbc_setInteger(model.get(), int(i));
  Cbc_solve(model.get());
  if (Cbc_isProvenInfeasible(model.get()))
    return std::nullopt;
  if (!Cbc_isProvenOptimal(model.get()))
    throw std::runtime_error("the integer program's solver gave up");
  const double *solution = Cbc_getColSolution(model.get());
  return std::vector<double>(solution, solution + variables.size());
}
