//===- judge.cpp - predictions beside what was measured -------------------===//

#include "tools/plan/judge.h"

#include "runtime/error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

using namespace baton;
using namespace baton::plan;

static std::vector<JudgedWorkload>
workloads(const std::vector<JudgedStep> &rows) {
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t>;
  std::map<Key, JudgedWorkload> found;
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto &[line, decoder, split, seconds, memory] = rows[row].measured;
    found[{split.devices(), split.global_batch, split.sequence, decoder.hidden,
           decoder.heads, decoder.layers}]
        .rows.push_back(row);
  }
  std::vector<JudgedWorkload> several;
  for (auto &[key, workload] : found) {
    if (workload.rows.size() < 2)
      continue;
    workload.fastest = *std::min_element(
        workload.rows.begin(), workload.rows.end(), [&](size_t a, size_t b) {
          return rows[a].measured.seconds < rows[b].measured.seconds;
        });
    workload.rank =
        1 + size_t(std::count_if(workload.rows.begin(), workload.rows.end(),
                                 [&](size_t row) {
                                   return rows[row].time.total <
                                          rows[workload.fastest].time.total;
                                 }));
    several.push_back(workload);
  }
  return several;
}

static Recompute least_recompute(const std::vector<MeasuredStep> &steps,
                                 const Device &device,
                                 const Framework &framework) {
  for (Recompute recompute : {Recompute::none, Recompute::selective})
    if (std::all_of(steps.begin(), steps.end(), [&](const MeasuredStep &step) {
          Split split = step.split;
          split.recompute = recompute;
          return step_memory(step.decoder, framework, split).total <=
                 device.memory;
        }))
      return recompute;
  return Recompute::full;
}

Judgement plan::judge(const std::vector<MeasuredStep> &steps,
                      size_t calibrating, const Device &device,
                      const Framework &framework,
                      std::optional<Recompute> recompute) {
  Judgement judgement;
  judgement.recompute =
      recompute.value_or(least_recompute(steps, device, framework));
  for (const MeasuredStep &step : steps) {
    judgement.rows.push_back({step, {}, {}, 0, {}, false});
    judgement.rows.back().measured.split.recompute = judgement.recompute;
  }

  JudgedStep &calibrator = judgement.rows[calibrating];
  calibrator.calibrates = true;
  judgement.slowness = calibrate(
      [&](const Slowness &slowness) {
        return step_time(calibrator.measured.decoder, framework, device,
                         calibrator.measured.split, slowness)
            .total;
      },
      device.uncertainty, calibrator.measured.seconds);

  double sum = 0, memory_sum = 0;
  size_t with_memory = 0;
  for (JudgedStep &row : judgement.rows) {
    const auto &[line, decoder, split, seconds, allocated] = row.measured;
    row.time = step_time(decoder, framework, device, split, judgement.slowness);
    row.memory = step_memory(decoder, framework, split);
    row.error = row.time.total / seconds - 1;
    if (!row.calibrates)
      sum += std::abs(row.error);
    judgement.too_large += row.memory.total > device.memory;
    if (allocated > 0) {
      // What libraries take is not the allocator's.
      row.memory_error =
          (row.memory.total - row.memory.reserved) / allocated - 1;
      memory_sum += std::abs(*row.memory_error);
      ++with_memory;
    }
  }
  if (with_memory)
    judgement.mean_memory_error = memory_sum / double(with_memory);
  if (judgement.rows.size() > 1)
    judgement.mean_error = sum / double(judgement.rows.size() - 1);
  judgement.workloads = workloads(judgement.rows);
  for (const JudgedWorkload &workload : judgement.workloads)
    judgement.best_rank =
        std::max(judgement.best_rank.value_or(1), workload.rank);
  return judgement;
}

size_t plan::calibrating_row(const MeasuredTable &table,
                             const std::string &file, int64_t row) {
  if (row < 1 || row > int64_t(table.steps.size()))
    throw Error("--calibrate=" + std::to_string(row) + ": " + file + " has " +
                std::to_string(table.steps.size()) + " rows");
  return size_t(row - 1);
}
