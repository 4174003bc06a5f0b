//===- health_log.h - files of ranks' times -------------------------------===//
//
// A log is a file of comma-separated values, with a line that names its
// columns:
//
//   step,rank,indicator,value,work,host
//   1,0,compute,0.412,layers 0-11,node3
//   1,1,compute,0.409,layers 0-11,node4
//   1,0,wait.collectives,0.021
//
// A value is in seconds. `work` and `host`, which may be absent, are said of a
// rank once: ranks of the same work are peers, and without a word of it all
// are. Other columns are left alone, columns may have any order, and so may
// lines; of a value that is there twice the last one counts.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_HEALTH_HEALTH_LOG_H
#define BATON_RUNTIME_HEALTH_HEALTH_LOG_H

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// Who a rank is.
struct RankIdentity {
  std::string work, host;
};

/// What one log, or several of the same run, say.
struct HealthLog {
  struct Step {
    uint64_t step;
    /// As RankJudge::add() takes them.
    std::vector<double> seconds;
  };

  std::vector<std::string> indicators;
  std::vector<RankIdentity> ranks;
  /// Ascending.
  std::vector<Step> steps;

  /// Throws Error that begins with the file, and the line where there is one.
  static HealthLog read(const std::vector<std::filesystem::path> &files);
};

/// Writes a log while a run goes on. Used by one thread at a time.
class HealthLogWriter {
public:
  /// Replaces the file. Throws Error when it cannot be written.
  HealthLogWriter(std::filesystem::path file,
                  std::vector<std::string> indicators,
                  std::vector<RankIdentity> ranks);

  /// Throws Error when the disk refuses.
  void add(uint64_t step, std::span<const double> seconds);
  /// Others see all lines so far.
  void flush();

private:
  struct Closer {
    void operator()(std::FILE *stream) const { std::fclose(stream); }
  };

  [[noreturn]] void fail() const;

  const std::filesystem::path file;
  const std::vector<std::string> indicators;
  const std::vector<RankIdentity> ranks;
  std::unique_ptr<std::FILE, Closer> stream;
  bool has_said_who = false;
};

} // namespace baton

#endif // BATON_RUNTIME_HEALTH_HEALTH_LOG_H
