//===- bench_steps.cpp - how long steps take, by what they hold -----------===//
//
// What a step takes depends on its rows with logits, which are of texts that
// are continued and ends of prompts; on its rows without, of prompts; and on
// the positions that these see. A point of the grid is a step with so many of
// both, all behind so many positions. Keys and values of all of them are
// computed first, as a program's are: memory that nobody has written would be
// read from caches.
//
// The grid is gone through several times, so that a disturbance of some seconds
// hits each point once. What many steps take together is wanted, but a point
// has too few for a mean of its own: it has their median, times what all steps
// of the grid take beside their medians, on average. A point's first step of a
// round is not timed.
//
//===----------------------------------------------------------------------===//

#include "runtime/main/bench_steps.h"

#include "runtime/batch/batch_driver.h"
#include "runtime/error.h"
#include "runtime/execute/execution.h"
#include "runtime/files/temporary.h"
#include "runtime/main/decode_ranks.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/output.h"
#include "runtime/main/progress.h"
#include "runtime/main/table.h"
#include "runtime/weights/hash.h"

#include <algorithm>
#include <set>
#include <utility>

namespace baton {

namespace {

/// Unless told otherwise, and steps of a round that are timed.
constexpr uint64_t usual_rounds = 5, timed_steps = 2;

/// The three axes, ascending. The first two begin with 0.
struct Axes {
  std::vector<uint64_t> outputs, rows, contexts;
};

struct Point {
  uint32_t outputs = 0, rows = 0, context = 0;
  std::vector<double> seconds;
};

/// Powers of two up to the most, which is there, too.
std::vector<uint64_t> powers(uint64_t first, uint64_t most) {
  std::vector<uint64_t> axis;
  for (uint64_t at = first; at < most; at *= 2)
    axis.push_back(at);
  axis.push_back(most);
  return axis;
}

std::vector<uint64_t> sorted(std::vector<uint64_t> axis) {
  std::sort(axis.begin(), axis.end());
  axis.erase(std::unique(axis.begin(), axis.end()), axis.end());
  return axis;
}

void refuse(const std::string &flag, uint64_t value, const std::string &why) {
  throw Error("bench: " + flag + ": " + std::to_string(value) + " " + why);
}

Axes axes_of(const Metadata &metadata, const BenchOptions &options) {
  const uint64_t sequences = metadata.batch->max_sequences;
  const uint64_t max_rows = metadata.max_rows;
  const uint64_t positions = metadata.batch->max_positions;
  const uint64_t most_outputs =
      std::min({sequences, uint64_t(metadata.max_outputs), max_rows});
  Axes axes;
  axes.outputs =
      options.batch.empty() ? powers(1, most_outputs) : sorted(options.batch);
  const uint64_t outputs = axes.outputs.back();
  if (outputs > most_outputs)
    refuse("--batch", outputs,
           "rows with logits are more than the program's " +
               std::to_string(most_outputs) +
               "; compile with larger --max-batch, --max-outputs and "
               "--max-rows");
  // Each step fits, also behind a chunk of its own sequence.
  const uint64_t most_rows =
      std::min(max_rows - outputs, positions > 2 ? positions - 2 : 0);
  if (most_rows == 0)
    throw Error("bench: --step-times: beside " + std::to_string(outputs) +
                " rows with logits a step of " + std::to_string(max_rows) +
                " rows has none of prompts; compile with a larger --max-rows, "
                "or take fewer by --batch");
  axes.rows = options.chunks.empty()
                  ? powers(std::min<uint64_t>(16, most_rows), most_rows)
                  : sorted(options.chunks);
  if (axes.rows.back() > most_rows)
    refuse("--chunks", axes.rows.back(),
           "rows of prompts are more than the " + std::to_string(most_rows) +
               " that a step has beside " + std::to_string(outputs) +
               " with logits; compile with a larger --max-rows");
  const uint64_t most_context = positions - axes.rows.back() - 1;
  axes.contexts = options.contexts.empty()
                      ? sorted({0, most_context / 4, most_context})
                      : sorted(options.contexts);
  if (axes.contexts.back() > most_context)
    refuse("--contexts", axes.contexts.back(),
           "positions before " + std::to_string(axes.rows.back()) +
               " rows of a prompt are more than the program's " +
               std::to_string(positions) + " have room for");
  for (auto *axis : {&axes.outputs, &axes.rows})
    if (axis->front() != 0)
      axis->insert(axis->begin(), 0);
  return axes;
}

/// Computes what all points see, then makes their steps.
class GridSteps : public StepDriver {
public:
  GridSteps(const BatchCapacities &shape, const BatchInputs &inputs,
            std::vector<Point> &points, uint64_t sequences, uint64_t positions,
            uint64_t rounds, Progress &progress)
      : shape(shape), inputs(inputs), points(points), sequences(sequences),
        positions(positions), rounds(rounds), progress(progress), check(shape) {
  }

  BatonStep begin(std::span<int32_t>) override {
    const uint64_t pages = pages_of(positions);
    want_all_logits(inputs, shape);
    for (uint64_t sequence = 0; sequence < sequences; ++sequence)
      for (uint64_t entry = 0; entry < pages; ++entry)
        inputs.pages[sequence * shape.line_entries() + entry] =
            static_cast<int32_t>(sequence * pages + entry);
    return next();
  }
  BatonStep advance(const BatonStep &, const Logits &) override {
    const auto now = steady_seconds();
    if (is_timed)
      points[point].seconds.push_back(now - began);
    began = now;
    return next();
  }
  bool provides_inputs() const override { return true; }
  bool needs_logits() const override { return false; }

  bool is_complete() const { return round == rounds; }

private:
  BatonStep next() {
    rows = outputs = 0;
    is_timed = false;
    if (filling < sequences)
      return fill();
    // The first call finds no step of a point behind it.
    if (turn > timed_steps) {
      turn = 0;
      if (++point == points.size()) {
        point = 0;
        ++round;
      }
    }
    if (is_complete())
      return {};
    if (turn == 0)
      progress.update(round * points.size() + point, rounds * points.size());
    is_timed = turn++ > 0;
    return step_of(points[point]);
  }

  BatonStep fill() {
    const uint64_t end = std::min<uint64_t>(filled + shape.max_rows, positions);
    for (; filled < end; ++filled)
      add(filling, filled);
    if (filled == positions) {
      ++filling;
      filled = 0;
    }
    return checked();
  }

  /// The chunk is of a sequence of its own, while there is one; else the first
  /// one's row with logits comes behind it.
  BatonStep step_of(const Point &at) {
    const uint64_t of_chunk = at.outputs < sequences ? at.outputs : 0;
    for (uint32_t row = 0; row < at.rows; ++row)
      add(of_chunk, at.context + row);
    for (uint32_t sequence = 0; sequence < at.outputs; ++sequence) {
      const uint32_t behind = sequence == of_chunk ? at.rows : 0;
      add(sequence, at.context + behind);
      BatonSampling &sampling = inputs.sampling[outputs++];
      sampling = {};
      sampling.top_p = 1;
      sampling.repetition_penalty = 1;
      sampling.position = at.context + behind + 1;
      sampling.line = sequence;
      sampling.wanted = BATON_WANTED_TOKEN;
    }
    return checked();
  }

  void add(uint64_t sequence, uint64_t position) {
    inputs.tokens[rows] = static_cast<int32_t>(
        mix(sequence * positions + position + 1) % shape.vocabulary);
    inputs.positions[rows] = static_cast<int32_t>(position);
    inputs.sequences[rows] = static_cast<int32_t>(sequence);
    inputs.slots[rows] = static_cast<int32_t>(
        sequence * pages_of(positions) * page_positions + position);
    if (inputs.adapter_places) {
      inputs.adapter_places[rows] = 0;
      inputs.adapter_counts[rows] = 0;
    }
    ++rows;
  }

  BatonStep checked() {
    const BatonStep step = {rows, 0, outputs, 0};
    if (auto fault = check.find_fault(step, inputs))
      throw std::logic_error("a step of the grid: " + *fault);
    return step;
  }

  const BatchCapacities shape;
  const BatchInputs inputs;
  std::vector<Point> &points;
  const uint64_t sequences, positions, rounds;
  Progress &progress;
  BatchCheck check;
  /// Of the step that is made.
  uint32_t rows = 0, outputs = 0;
  uint64_t filling = 0, filled = 0;
  uint64_t round = 0, turn = 0;
  size_t point = 0;
  bool is_timed = false;
  double began = 0;
};

double part_of(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  const double place = part * double(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] +
         (values[above] - values[below]) * (place - double(below));
}

struct Grid {
  Axes axes;
  std::vector<Point> points;
  unsigned workers = 0;
  uint64_t rounds = 0;
  double mean_to_median = 1;

  std::vector<double> samples(uint64_t outputs, uint64_t rows,
                              uint64_t context) const {
    return std::ranges::find_if(points,
                                [&](const Point &point) {
                                  return point.outputs == outputs &&
                                         point.rows == rows &&
                                         point.context == context;
                                })
        ->seconds;
  }
  /// A step without rows would take no longer than the shortest one with some.
  double seconds(uint64_t outputs, uint64_t rows, uint64_t context) const {
    if (outputs || rows)
      return part_of(samples(outputs, rows, context), .5) * mean_to_median;
    return std::min(seconds(0, axes.rows[1], context),
                    seconds(axes.outputs[1], 0, context));
  }
  /// The mean of all steps, each as a part of its point's median: what takes a
  /// core away for a while makes it more than 1.
  void find_mean() {
    double sum = 0, count = 0;
    for (const Point &point : points)
      for (double seconds : point.seconds) {
        sum += seconds / part_of(point.seconds, .5);
        ++count;
      }
    mean_to_median = sum / count;
  }
  /// Of half of a point's steps, as a part of their median; the median of all
  /// points.
  double spread() const {
    std::vector<double> parts;
    for (const Point &point : points)
      parts.push_back(
          (part_of(point.seconds, .75) - part_of(point.seconds, .25)) /
          part_of(point.seconds, .5));
    return part_of(parts, .5);
  }
};

Grid measure_grid(const Metadata &metadata, const BenchOptions &options) {
  Grid grid;
  grid.axes = axes_of(metadata, options);
  grid.rounds = options.repeat ? options.repeat : usual_rounds;
  for (uint64_t outputs : grid.axes.outputs)
    for (uint64_t rows : grid.axes.rows)
      for (uint64_t context : grid.axes.contexts)
        if (outputs + rows > 0)
          grid.points.push_back(
              {uint32_t(outputs), uint32_t(rows), uint32_t(context), {}});
  const uint64_t positions =
      grid.axes.contexts.back() + grid.axes.rows.back() + 1;
  // One more for the chunk, where there is a line for it.
  const uint64_t sequences = std::min<uint64_t>(grid.axes.outputs.back() + 1,
                                                metadata.batch->max_sequences);
  const DecodeRanks ranks(metadata, options);
  const RankParameters parameters =
      options.run.weights ? ranks.load_weights(options.run)
                          : ranks.random_weights(chosen_workers(options.run));
  std::unique_ptr<Execution> execution = ranks.make_execution(
      parameters, options.run, program_workers(options.run, metadata),
      std::max(sequences * pages_of(positions),
               pages_of(metadata.batch->max_positions)));
  grid.workers = execution->workers();
  Progress progress("measuring steps", options.run.quiet);
  const Interruptible interruptible(execution->stop);
  GridSteps steps(batch_capacities(metadata, execution->pages()),
                  execution->inputs(), grid.points, sequences, positions,
                  grid.rounds, progress);
  execution->run(steps);
  if (!steps.is_complete())
    throw Error("interrupted; " + *options.step_times + " was not written");
  grid.find_mean();
  return grid;
}

nlohmann::ordered_json json_of(const Metadata &metadata, const Grid &grid) {
  auto seconds = nlohmann::ordered_json::array();
  for (uint64_t outputs : grid.axes.outputs) {
    auto plane = nlohmann::ordered_json::array();
    for (uint64_t rows : grid.axes.rows) {
      auto line = nlohmann::ordered_json::array();
      for (uint64_t context : grid.axes.contexts)
        line.push_back(grid.seconds(outputs, rows, context));
      plane.push_back(std::move(line));
    }
    seconds.push_back(std::move(plane));
  }
  nlohmann::ordered_json json = {
      {"kind", "step times"},
      {"workers", grid.workers},
      {"rounds", grid.rounds},
      {"spread", grid.spread()},
      {"mean_to_median", grid.mean_to_median},
      {"max_sequences", metadata.batch->max_sequences},
      {"max_rows", metadata.max_rows},
      {"max_outputs", metadata.max_outputs},
      {"max_positions", metadata.batch->max_positions},
      {"outputs", grid.axes.outputs},
      {"rows", grid.axes.rows},
      {"contexts", grid.axes.contexts}};
  json["seconds"] = std::move(seconds);
  return json;
}

std::string text_of(const Metadata &metadata, const BenchOptions &options,
                    const Grid &grid) {
  std::set<size_t> numbers;
  for (size_t column = 0; column < 2 + grid.axes.contexts.size(); ++column)
    numbers.insert(column);
  Table table(numbers);
  std::vector<std::string> heading = {"with logits", "without"};
  for (uint64_t context : grid.axes.contexts)
    heading.push_back("behind " + std::to_string(context));
  table.add(heading);
  for (uint64_t outputs : grid.axes.outputs)
    for (uint64_t rows : grid.axes.rows) {
      if (outputs + rows == 0)
        continue;
      std::vector<std::string> row = {std::to_string(outputs),
                                      std::to_string(rows)};
      for (uint64_t context : grid.axes.contexts)
        row.push_back(
            fixed_text(grid.seconds(outputs, rows, context) * 1e3, 2) + " ms");
      table.add(row);
    }
  return table.text(0) + "medians of " +
         std::to_string(grid.rounds * timed_steps) + " steps each, times " +
         fixed_text(grid.mean_to_median, 3) +
         ", as means are; half of a point's steps are within " +
         percent_text(grid.spread()) + ", with " +
         std::to_string(grid.workers) +
         (grid.workers == 1 ? " worker" : " workers") + "\n" +
         *options.step_times + " is for: batonc plan serve --step-times " +
         *options.step_times + "\n";
}

} // namespace

void bench_steps(const Metadata &metadata, const BenchOptions &options) {
  for (auto [flag, is_given] :
       {std::pair("--profile", options.profile),
        std::pair("--logits", options.logits.has_value()),
        std::pair("--trace", options.run.trace.has_value()),
        std::pair("--adapter", !options.adapters.empty())})
    if (is_given)
      throw Error(std::string("bench: ") + flag +
                  " does not go with --step-times; leave one of them out");
  TemporaryFile file(*options.step_times);
  const Grid grid = measure_grid(metadata, options);
  const std::string json = json_of(metadata, grid).dump() + "\n";
  file.write(json.data(), json.size(), 0);
  file.publish();
  print(options.json ? json : text_of(metadata, options, grid));
}

} // namespace baton
