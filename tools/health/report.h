//===- report.h - what a log of ranks' times comes to ---------------------===//

#ifndef BATON_TOOLS_HEALTH_REPORT_H
#define BATON_TOOLS_HEALTH_REPORT_H

#include "runtime/health/health_log.h"
#include "runtime/health/rank_judge.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace baton {

/// All steps of a log, judged as a run judges them.
struct HealthReport {
  HealthLog log;
  RankJudge judge;
  std::vector<RankEvent> events;
  /// Of all steps, as HealthLog::Step has them; 0: none was measured.
  std::vector<double> medians;

  HealthReport(HealthLog log, double threshold);

  std::string text() const;
  nlohmann::ordered_json json() const;
  /// Throws Error, naming the file.
  void write_page(const std::filesystem::path &file) const;

private:
  double median_of(size_t indicator, uint32_t rank) const {
    return medians[indicator * log.ranks.size() + rank];
  }
  /// Ranks and their times, the first row with the names of the columns.
  std::vector<std::vector<std::string>> table() const;
  /// How many steps, windows and ranks there are.
  std::string extent() const;
  /// Who is slow at the end.
  std::string verdict() const;
};

} // namespace baton

#endif // BATON_TOOLS_HEALTH_REPORT_H
