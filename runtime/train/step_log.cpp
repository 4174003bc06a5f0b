//===- step_log.cpp - what a training step reports -----------------------===//

#include "runtime/train/step_log.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include <unistd.h>

namespace baton {

std::string step_line(const StepReport &report) {
  nlohmann::ordered_json line;
  line["step"] = report.step;
  line["loss"] = report.loss;
  for (const auto &[name, part] : report.loss_parts)
    line[name] = part;
  if (report.validation_loss)
    line["validation_loss"] = *report.validation_loss;
  line["grad_norm"] = report.gradient_norm;
  line["lr"] = report.learning_rate;
  line["tokens_per_s"] = report.tokens_per_second;
  if (report.loss_scale)
    line["loss_scale"] = *report.loss_scale;
  if (report.skipped)
    line["skipped"] = true;
  return line.dump() + "\n";
}

std::string step_progress(const StepReport &report, uint64_t steps) {
  double done = steps ? std::min(1.0, double(report.step) / double(steps)) : 1;
  // Where losses are of pairs of answers, how well they are told apart.
  auto part = [&](const char *name) -> std::optional<double> {
    for (const auto &[own, value] : report.loss_parts)
      if (own == name)
        return value;
    return std::nullopt;
  };
  const std::optional<double> margin = part("rewards/margins"),
                              accuracy = part("rewards/accuracies");
  // All have to fit in a line.
  const int width = margin && accuracy ? 4 : report.utilisation ? 12 : 20;
  int filled = static_cast<int>(done * width);
  char text[256];
  std::snprintf(text, sizeof(text),
                "step %llu/%llu [%.*s%.*s] %3d %%  loss %.5g  %.0f tokens/s",
                static_cast<unsigned long long>(report.step),
                static_cast<unsigned long long>(steps), filled,
                "####################", width - filled, "....................",
                static_cast<int>(done * 100), report.loss,
                std::clamp(report.tokens_per_second, 0.0, 1e12));
  std::string line = text;
  if (margin && accuracy) {
    std::snprintf(text, sizeof(text), "  margin %.3g (%.0f %%)", *margin,
                  std::clamp(*accuracy, 0.0, 1.0) * 100);
    line += text;
  } else if (report.utilisation) {
    std::snprintf(text, sizeof(text), "  %.0f %% MFU",
                  std::clamp(*report.utilisation, 0.0, 99.0) * 100);
    line += text;
  }
  // A line that wraps could not be cleared.
  constexpr size_t columns = 79;
  return line.substr(0, columns);
}

StepLog::StepLog(uint64_t steps, bool quiet, Print print)
    : steps(steps), print(std::move(print)),
      shows_progress(!quiet && isatty(STDERR_FILENO)),
      shares_terminal(isatty(STDOUT_FILENO)) {}

StepLog::~StepLog() { clear(); }

void StepLog::clear() {
  // Return to the first column and clear the line.
  if (is_shown)
    std::fputs("\r\033[K", stderr);
  is_shown = false;
}

void StepLog::add(const StepReport &report) {
  if (shares_terminal)
    clear();
  print(step_line(report));
  if (!shows_progress)
    return;
  // Steps may take less than a terminal does.
  constexpr auto interval = std::chrono::milliseconds(100);
  auto now = std::chrono::steady_clock::now();
  if (is_shown && now - shown_at < interval && report.step < steps)
    return;
  std::fprintf(stderr, "\r\033[K%s", step_progress(report, steps).c_str());
  std::fflush(stderr);
  is_shown = true;
  shown_at = now;
}

} // namespace baton
