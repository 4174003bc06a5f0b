//===- loss_history.h - a run's losses, also of before it was resumed ----===//

#ifndef BATON_RUNTIME_TRAIN_LOSS_HISTORY_H
#define BATON_RUNTIME_TRAIN_LOSS_HISTORY_H

#include "runtime/train/loss_curve.h"
#include "runtime/train/step_log.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace baton {

inline constexpr std::string_view loss_lines_name = "losses.jsonl";
inline constexpr std::string_view loss_picture_name = "loss.svg";

/// Two files of a run's folder, each replaced as a whole: one has the line of
/// every step (step_line), the other shows them.
class LossHistory {
public:
  /// Of a run whose newest checkpoint is of step `steps`, 0 for a new one:
  /// begins with the lines up to that step, as far as there are any.
  LossHistory(const std::filesystem::path &folder, uint64_t steps);

  void add(const StepReport &report);
  /// Before a checkpoint is saved: it then has all lines that it is resumed
  /// with. Throws Error that names the file.
  void write() const;

private:
  std::filesystem::path folder;
  std::string lines;
  LossCurve curve = {"training loss", {}, {}};
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_LOSS_HISTORY_H
