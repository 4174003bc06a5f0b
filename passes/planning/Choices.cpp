//===- Choices.cpp - choices as an integer program ------------------------===//

#include "passes/planning/Choices.h"

#include "passes/planning/IntegerProgram.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace baton::planning;

double baton::planning::secondsOf(const ChoiceProblem &problem,
                                  const std::vector<unsigned> &options) {
  double sum = 0;
  for (size_t i = 0; i < options.size(); ++i)
    sum += problem.choices[i].seconds[options[i]];
  for (const Transfer &transfer : problem.transfers) {
    std::set<unsigned> forms;
    for (const Transfer::Reader &reader : transfer.readers)
      forms.insert(reader.form[options[reader.choice]]);
    for (unsigned form : forms)
      sum += transfer.seconds[options[transfer.from]][form];
  }
  return sum;
}

double baton::planning::bytesOf(const ChoiceProblem &problem,
                                const std::vector<unsigned> &options) {
  double sum = 0;
  for (size_t i = 0; i < options.size(); ++i)
    if (!problem.choices[i].bytes.empty())
      sum += problem.choices[i].bytes[options[i]];
  return sum;
}

namespace {

/// Writes a problem as a program.
class Writer {
public:
  explicit Writer(const ChoiceProblem &problem) : problem(problem) {}

  std::optional<std::vector<unsigned>> solve();

private:
  void addChoices();
  void addMemory();
  void addTransfer(const Transfer &transfer);
  /// Variables of what flows to one reader, by option and form.
  std::map<std::pair<unsigned, unsigned>, unsigned>
  addFlows(const Transfer &transfer, const Transfer::Reader &reader,
           bool costs);

  const ChoiceProblem &problem;
  IntegerProgram program;
  /// The variable of each choice's option.
  std::vector<std::vector<unsigned>> variables;
};

} // namespace

void Writer::addChoices() {
  for (const Choice &choice : problem.choices) {
    std::vector<unsigned> &own = variables.emplace_back();
    std::vector<IntegerProgram::Term> one;
    for (double seconds : choice.seconds) {
      bool may = std::isfinite(seconds);
      own.push_back(program.addBinary(may ? seconds : 0, may));
      one.push_back({own.back(), 1});
    }
    program.addRow(std::move(one), 1, 1);
  }
}

void Writer::addMemory() {
  if (!std::isfinite(problem.memory))
    return;
  std::vector<IntegerProgram::Term> all;
  for (size_t i = 0; i < problem.choices.size(); ++i) {
    const std::vector<double> &bytes = problem.choices[i].bytes;
    for (size_t option = 0; option < bytes.size(); ++option)
      if (bytes[option] > 0)
        all.push_back({variables[i][option],
                       bytes[option] / std::max(problem.memory, 1.0)});
  }
  // Bytes are whole numbers: a part of one is no byte more.
  program.addRow(std::move(all), -kForbidden,
                 1 + 0.5 / std::max(problem.memory, 1.0));
}

std::map<std::pair<unsigned, unsigned>, unsigned>
Writer::addFlows(const Transfer &transfer, const Transfer::Reader &reader,
                 bool costs) {
  std::map<std::pair<unsigned, unsigned>, unsigned> flows;
  std::set<unsigned> forms(reader.form.begin(), reader.form.end());
  const std::vector<unsigned> &from = variables[transfer.from];
  for (unsigned option = 0; option < from.size(); ++option)
    for (unsigned form : forms)
      if (double seconds = transfer.seconds[option][form];
          std::isfinite(seconds))
        flows[{option, form}] = program.addReal(costs ? seconds : 0);
  auto balance = [&](auto selects, std::vector<IntegerProgram::Term> whole) {
    for (const auto &[pair, flow] : flows)
      if (selects(pair))
        whole.push_back({flow, 1});
    program.addRow(std::move(whole), 0, 0);
  };
  for (unsigned option = 0; option < from.size(); ++option)
    balance([&](auto pair) { return pair.first == option; },
            {{from[option], -1}});
  for (unsigned form : forms) {
    std::vector<IntegerProgram::Term> wanting;
    for (unsigned option = 0; option < reader.form.size(); ++option)
      if (reader.form[option] == form)
        wanting.push_back({variables[reader.choice][option], -1});
    balance([&](auto pair) { return pair.second == form; }, wanting);
  }
  return flows;
}

void Writer::addTransfer(const Transfer &transfer) {
  if (transfer.readers.size() == 1) {
    addFlows(transfer, transfer.readers.front(), true);
    return;
  }
  // A form is paid for if any reader takes it.
  std::map<std::pair<unsigned, unsigned>, unsigned> paid;
  for (const Transfer::Reader &reader : transfer.readers)
    for (const auto &[pair, flow] : addFlows(transfer, reader, false)) {
      double seconds = transfer.seconds[pair.first][pair.second];
      if (seconds == 0)
        continue;
      auto [entry, isNew] = paid.try_emplace(pair, 0);
      if (isNew)
        entry->second = program.addReal(seconds);
      program.addRow({{entry->second, 1}, {flow, -1}}, 0, kForbidden);
    }
}

std::optional<std::vector<unsigned>> Writer::solve() {
  addChoices();
  addMemory();
  for (const Transfer &transfer : problem.transfers)
    addTransfer(transfer);
  std::optional<std::vector<double>> values = program.solve();
  if (!values)
    return std::nullopt;
  std::vector<unsigned> options;
  for (const std::vector<unsigned> &own : variables)
    options.push_back(std::max_element(own.begin(), own.end(),
                                       [&](unsigned a, unsigned b) {
                                         return (*values)[a] < (*values)[b];
                                       }) -
                      own.begin());
  return options;
}

std::optional<std::vector<unsigned>>
baton::planning::solve(const ChoiceProblem &problem) {
  return Writer(problem).solve();
}

std::optional<std::vector<unsigned>>
baton::planning::solveForMemory(ChoiceProblem problem) {
  problem.memory = kForbidden;
  for (Choice &choice : problem.choices)
    for (size_t option = 0; option < choice.seconds.size(); ++option)
      if (std::isfinite(choice.seconds[option]))
        choice.seconds[option] =
            choice.bytes.empty() ? 0 : choice.bytes[option];
  for (Transfer &transfer : problem.transfers)
    for (std::vector<double> &row : transfer.seconds)
      for (double &seconds : row)
        if (std::isfinite(seconds))
          seconds = 0;
  return Writer(problem).solve();
}
