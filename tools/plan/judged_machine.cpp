//===- judged_machine.cpp - whose measurements a table has ----------------===//

#include "tools/plan/judged_machine.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

using namespace baton;
using namespace baton::plan;

/// Before a row is looked at, the first machine is so much likelier: minus
/// twice the logarithm of a ratio.
static constexpr double first_is_likelier = 12;
/// Of what a framework allocates, as a logarithm.
static constexpr double memory_deviation = .05;

/// Whether `word` stands in `text` by itself, or as a plural.
static bool has_word(const std::string &text, const std::string &word) {
  auto letter = [](char one) {
    return std::isalnum(static_cast<unsigned char>(one)) != 0;
  };
  for (size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if (end < text.size() && text[end] == 's')
      ++end;
    if ((at == 0 || !letter(text[at - 1])) &&
        (end == text.size() || !letter(text[end])))
      return true;
  }
  return false;
}

std::vector<std::string>
plan::named_devices(const std::vector<std::string> &devices,
                    const std::string &about) {
  std::string text;
  for (char one : about)
    text += char(std::tolower(static_cast<unsigned char>(one)));
  std::vector<std::string> named;
  for (const std::string &device : devices) {
    std::string word = device;
    if (word.ends_with("gb"))
      word = word.substr(0, word.rfind('-'));
    word = word.substr(word.find('-') + 1);
    if (has_word(text, word))
      named.push_back(device);
  }
  return named.empty() ? devices : named;
}

std::vector<Machine> plan::possible_machines(const MeasuredTable &table,
                                             const std::string &device,
                                             const std::string &framework) {
  auto first = [](std::vector<std::string> names, const char *usual) {
    const auto found = std::find(names.begin(), names.end(), usual);
    if (found != names.end())
      std::rotate(names.begin(), found, found + 1);
    return names;
  };
  const std::vector<std::string> devices =
      device == "auto"
          ? first(named_devices(fact_names("devices"), table.about),
                  table.has_cases ? "b200" : "a100-80gb")
          : std::vector{device};
  const std::vector<std::string> frameworks =
      framework == "auto"
          ? first(fact_names("frameworks"),
                  table.has_cases ? "megatron-core" : "megatron-lm-2022")
          : std::vector{framework};
  std::vector<Machine> machines;
  for (const std::string &one : devices)
    for (const std::string &other : frameworks)
      machines.push_back({read_device(one), read_framework(other)});
  return machines;
}

const Machine &plan::likeliest(const std::vector<Machine> &machines,
                               const std::vector<MeasuredStep> &steps,
                               size_t calibrating,
                               std::optional<Recompute> recompute) {
  const Machine *best = &machines[0];
  double least = std::numeric_limits<double>::infinity();
  for (const Machine &machine : machines) {
    const auto &[device, framework] = machine;
    const Judgement judgement =
        judge(steps, calibrating, device, framework, recompute);
    const JudgedStep &row = judgement.rows[calibrating];
    const auto &[line, decoder, split, seconds, allocated] = row.measured;
    double found = surprise(
        [&](const Slowness &slowness) {
          return step_time(decoder, framework, device, split, slowness).total;
        },
        device.uncertainty, seconds);
    if (row.memory_error)
      found += std::pow(std::log1p(*row.memory_error) / memory_deviation, 2);
    found += judgement.too_large * first_is_likelier;
    if (&machine != &machines[0])
      found += first_is_likelier;
    if (found < least) {
      least = found;
      best = &machine;
    }
  }
  return *best;
}
