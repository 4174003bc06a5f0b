//===- loss_history.cpp - a run's losses, also of before it was resumed --===//

#include "runtime/train/loss_history.h"

#include "runtime/files/temporary.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace baton {

namespace {

bool is_number(const nlohmann::json &line, const char *key) {
  return line.contains(key) && line[key].is_number();
}

} // namespace

LossHistory::LossHistory(const std::filesystem::path &folder, uint64_t steps)
    : folder(folder) {
  if (steps == 0)
    return;
  std::ifstream file(folder / loss_lines_name);
  for (std::string text; std::getline(file, text);) {
    // Somebody may have edited it: a picture is not worth an error.
    auto line =
        nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!line.is_object() || !line.contains("step") ||
        !line["step"].is_number_unsigned() || !is_number(line, "loss") ||
        line["step"].get<uint64_t>() > steps)
      continue;
    uint64_t step = line["step"].get<uint64_t>();
    curve.training.push_back({step, line["loss"].get<double>()});
    if (is_number(line, "validation_loss"))
      curve.validation.push_back({step, line["validation_loss"].get<double>()});
    lines += text + "\n";
  }
}

void LossHistory::add(const StepReport &report) {
  lines += step_line(report);
  curve.training.push_back({report.step, report.loss});
  if (report.validation_loss)
    curve.validation.push_back({report.step, *report.validation_loss});
}

void LossHistory::write() const {
  TemporaryFile file(folder / loss_lines_name);
  file.write(lines.data(), lines.size(), 0);
  file.publish();
  write_loss_curve(folder / loss_picture_name, curve);
}

} // namespace baton
