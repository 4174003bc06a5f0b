//===- Text.cpp - an explanation for a terminal ---------------------------===//

#include "compiler/explain/Explanation.h"
#include "compiler/explain/Words.h"

#include <cstdio>

using namespace baton;
using namespace baton::explain;

static constexpr size_t kColumns = 118;

namespace {

/// Rows of cells, each as wide as its column's widest; all but the first
/// column flush right.
class TextTable {
public:
  void add(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }
  std::string text(size_t indent) const;

private:
  std::vector<std::vector<std::string>> rows;
};

} // namespace

std::string TextTable::text(size_t indent) const {
  std::vector<size_t> widths;
  for (const auto &row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  }
  std::string text;
  for (const auto &row : rows) {
    std::string line(indent, ' ');
    for (size_t column = 0; column < row.size(); ++column) {
      std::string padding(widths[column] - row[column].size(), ' ');
      if (column > 0)
        line += "  ";
      line += column == 0 ? row[column] + padding : padding + row[column];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

/// A sentence behind a label, broken between words.
static std::string paragraph(const std::string &label, const std::string &text,
                             size_t indent) {
  std::string line(label), result;
  line.resize(std::max(line.size() + 1, indent), ' ');
  size_t start = 0;
  bool empty = true;
  while (start < text.size()) {
    size_t end = text.find(' ', start);
    if (end == std::string::npos)
      end = text.size();
    std::string word = text.substr(start, end - start);
    if (!empty && line.size() + 1 + word.size() > kColumns) {
      result += line + "\n";
      line = std::string(indent + 2, ' ');
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
    start = end + 1;
  }
  return result + line + "\n";
}

static std::string ratioText(double measured, double predicted) {
  if (!(predicted > 0))
    return "";
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", measured / predicted);
  return text;
}

/// A name's end says more than its beginning.
static std::string shortened(const std::string &name) {
  constexpr size_t most = 26;
  return name.size() <= most ? name
                             : ".." + name.substr(name.size() - most + 2);
}

static std::string machineText(const Machine &machine) {
  auto figure = [](const char *format, const Figure &figure) {
    char text[64];
    std::snprintf(text, sizeof(text), format, figure.value);
    return std::string(text) + " (" + figure.from + ")";
  };
  return paragraph("machine",
                   figure("%g workers", machine.workers) + ", " +
                       figure("%.1f GB/s read", machine.bandwidthGigabytes) +
                       ", " + figure("%.1f GFLOP/s", machine.peakGigaflops) +
                       (machine.tensorGigaflops
                            ? ", " + figure("%.1f GFLOP/s of BF16 products",
                                            *machine.tensorGigaflops)
                            : "") +
                       ", " +
                       figure("%.2f us an event", machine.eventMicroseconds),
                   10);
}

/// Without the unit, which the column's head says.
static std::string flopsCell(double flops, bool known) {
  if (!known)
    return "unknown";
  std::string text = flopsText(flops);
  return text.substr(0, text.size() - std::string("FLOP").size());
}

/// What a step's table says of a phase, or of all.
static std::vector<std::string> costCells(const Cost &cost) {
  return {flopsCell(cost.flops, cost.flopsKnown), bytesText(cost.weightBytes),
          bytesText(cost.readBytes + cost.writtenBytes),
          bytesText(cost.stateReadBytes + cost.stateWrittenBytes)};
}

/// Adds `times` the cost of one iteration.
static void accumulate(Cost &total, const Cost &cost, double times) {
  total.flopsKnown &= cost.flopsKnown;
  total.flops += times * cost.flops;
  total.weightBytes += times * cost.weightBytes;
  total.readBytes += times * cost.readBytes;
  total.writtenBytes += times * cost.writtenBytes;
  total.stateReadBytes += times * cost.stateReadBytes;
  total.stateWrittenBytes += times * cost.stateWrittenBytes;
}

/// Measured times take the place of the share of workers that are busy.
static std::vector<std::string> timeCells(const std::string &bound,
                                          const std::string &busy,
                                          double predicted,
                                          std::optional<double> measured) {
  if (!measured)
    return {bound, busy, timeText(predicted)};
  return {bound, timeText(predicted), timeText(*measured),
          ratioText(*measured, predicted)};
}

static std::vector<std::string> row(std::string name, std::string tasks,
                                    const std::vector<std::string> &costs,
                                    const std::vector<std::string> &times) {
  std::vector<std::string> cells = {std::move(name), std::move(tasks)};
  cells.insert(cells.end(), costs.begin(), costs.end());
  cells.insert(cells.end(), times.begin(), times.end());
  return cells;
}

static std::string tableText(const Explanation &explanation,
                             const StepExplanation &step) {
  using Cells = std::vector<std::string>;
  TextTable table;
  table.add(row("phase", "tasks", {"FLOP", "weights", "act.", "KV"},
                step.measured ? Cells{"bound", "predicted", "measured", "ratio"}
                              : Cells{"bound", "busy", "predicted"}));
  Cost total;
  std::string segment;
  for (auto [phase, at] : llvm::zip(explanation.phases, step.phases)) {
    if (phase.segment != segment) {
      segment = phase.segment;
      table.add(
          {"segment " + segment +
           (phase.repeat > 1 ? ", " + std::to_string(phase.repeat) + " times"
                             : "")});
    }
    Cost cost;
    accumulate(cost, at.cost, static_cast<double>(phase.repeat));
    accumulate(total, cost, 1);
    std::optional<double> measured;
    if (at.measured)
      measured = at.measured->wall;
    table.add(row(
        "  " + shortened(shortName(phase.op)),
        std::to_string(phase.repeat * at.balance.tasks), costCells(cost),
        timeCells(at.bound == "synchronisation" ? "sync" : at.bound,
                  percentText(at.balance.busy()), at.predicted(), measured)));
  }
  std::optional<double> measured;
  if (step.measured)
    measured = step.measured->microseconds;
  table.add(row("step", "", costCells(total),
                timeCells("", "", step.predicted(), measured)));
  return table.text(2);
}

static std::string stepText(const Explanation &explanation,
                            const StepExplanation &step) {
  std::string text =
      "\n" + step.name + " step: " + plural(step.step.rows, "row");
  if (!trains(explanation.program)) {
    if (!batchOf(explanation.program))
      text += " after " + plural(step.step.past, "position");
    text += ", " + plural(step.step.outputs, "row") + " of logits";
  }
  text += "\n";
  for (const std::string &note : step.notes)
    text += paragraph("  note:", note, 9);
  text += tableText(explanation, step);
  text += "  with phases overlapping, in rank order on " +
          plural(explanation.machine.workerCount(), "worker") + ": " +
          timeText(step.simulated.microseconds) + " simulated\n";
  return text;
}

static std::string reasonsText(const Explanation &explanation, size_t index) {
  const PhaseExplanation &phase = explanation.phases[index];
  event::PhaseOp op = phase.op;
  std::string text = "\n" + phase.name + "  (" + affineText(op.getGrid()) +
                     ") of " + listText(phase.calls) + ", rank " +
                     std::to_string(index + 1) + " of " +
                     std::to_string(explanation.phases.size()) + "\n";
  auto add = [&](const char *label, const Sentences &reasons) {
    std::string shown = label;
    for (const std::string &reason : reasons) {
      text += paragraph("  " + shown, reason, 18);
      shown.clear();
    }
  };
  add("fusion", phase.fusion);
  for (const StepExplanation &step : explanation.steps)
    add(("tile, " + step.name).c_str(), step.phases[index].tile);
  if (phase.product)
    add("cublaslt", {phase.product->reason});
  add("order", phase.order);
  add("events", phase.events);
  for (const StepExplanation &step : explanation.steps)
    if (!step.phases[index].eventWords.empty())
      add(step.name.c_str(), {step.phases[index].eventWords});
  return text;
}

std::string explain::explanationText(const Explanation &explanation) {
  event::ProgramOp program = explanation.program;
  const std::optional<BatchLimits> batch = batchOf(program);
  std::string text =
      explanation.model + ": " +
      plural(static_cast<int64_t>(explanation.phases.size()), "phase") +
      ", at most " + std::to_string(program.getMaxRows()) + " rows a step" +
      (batch ? " of " + plural(batch->sequences, "sequence") +
                   ", each of at most " + plural(batch->longest, "position")
             : " and " + plural(program.getMaxSeq(), "position")) +
      "\n";
  const MemoryUse &memory = explanation.memory;
  text += paragraph("memory",
                    (memory.kept > 0
                         ? bytesText(memory.kept) + " weights, gradients and "
                                                    "the optimizer's states, "
                         : bytesText(memory.weights) + " weights, " +
                               bytesText(memory.states) +
                               (batch ? " keys and values of a page, "
                                      : " keys and values, ")) +
                        (memory.exchanges > 0
                             ? bytesText(memory.exchanges) + " for exchanges, "
                             : "") +
                        bytesText(memory.transients) + " activations, " +
                        bytesText(memory.scratch) + " scratch for each worker",
                    10);
  text += machineText(explanation.machine);
  if (!explanation.measuredFrom.empty())
    text += paragraph("measured", explanation.measuredFrom, 10);
  for (const StepExplanation &step : explanation.steps)
    text += stepText(explanation, step);
  text += "\nwhy\n";
  for (size_t index = 0; index < explanation.phases.size(); ++index)
    text += reasonsText(explanation, index);
  if (!explanation.remarks.empty()) {
    text += "\nremarks about what is no phase now\n";
    for (const compiler::Remark &remark : explanation.remarks)
      text += paragraph("  " + remark.at + ":", remark.text, 4);
  }
  return text;
}
