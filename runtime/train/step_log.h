//===- step_log.h - what a training step reports -------------------------===//

#ifndef BATON_RUNTIME_TRAIN_STEP_LOG_H
#define BATON_RUNTIME_TRAIN_STEP_LOG_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace baton {

struct StepReport {
  /// Steps that are finished: 1 after the first.
  uint64_t step = 0;
  /// Mean over the step's targets, in nats.
  double loss = 0;
  /// Euclidean norm of all gradients, before clipping.
  double gradient_norm = 0;
  double learning_rate = 0;
  double tokens_per_second = 0;
  /// Mean over the validation sequences, with the weights after the step; of
  /// steps that it is measured after.
  std::optional<double> validation_loss = {};
  /// What losses were multiplied by, of products in F16, and whether that was
  /// too much, so that the step changed nothing.
  std::optional<double> loss_scale = {};
  bool skipped = false;
  /// What the loss is made of, by name, where that is more than one thing.
  std::vector<std::pair<std::string, double>> loss_parts = {};
  /// Operations of the step's products, as a fraction of what the machine could
  /// do in its time, where that is known: model FLOPs utilisation.
  std::optional<double> utilisation = {};
};

/// One line of JSON, with its line feed:
///   {"step":1,"loss":5.54,"grad_norm":1.2,"lr":0.001,"tokens_per_s":8100.0}
/// with the loss's parts, and "validation_loss", behind it where there are
/// such. What is infinite or not a number is null. The utilisation, which is
/// measured where somebody sees it, is none of it.
std::string step_line(const StepReport &report);

/// What a terminal shows, less than 80 columns:
///   step 120/1000 [###...........]  12 %  loss 3.2104  8123 tokens/s  41 % MFU
std::string step_progress(const StepReport &report, uint64_t steps);

/// Prints a line a step, and keeps a line on standard error up to date when
/// that is a terminal. Used by one thread at a time.
class StepLog {
public:
  /// Prints a text to standard output, or throws Error.
  using Print = std::function<void(std::string_view)>;

  /// `steps`: of the whole run. `quiet`: nothing on standard error.
  StepLog(uint64_t steps, bool quiet, Print print);
  StepLog(const StepLog &) = delete;
  StepLog &operator=(const StepLog &) = delete;
  /// Clears the line.
  ~StepLog();

  void add(const StepReport &report);
  /// Whether there is such a terminal.
  bool has_progress() const { return shows_progress; }
  /// Clears the line until the next step, for whoever else has something to
  /// say on the terminal.
  void clear();

private:
  uint64_t steps;
  Print print;
  bool shows_progress;
  bool shares_terminal;
  bool is_shown = false;
  std::chrono::steady_clock::time_point shown_at;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_STEP_LOG_H
