//===- measured_table.cpp - training steps that somebody measured ---------===//
//
// Debian 12 has no CSV library for C++; tables of numbers need neither quotes
// nor escapes.
//
//===----------------------------------------------------------------------===//

#include "tools/plan/measured_table.h"

#include "runtime/error.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>

using namespace baton;
using namespace baton::plan;

namespace {
enum Column {
  gpus,
  global_batch,
  micro_batch,
  hidden,
  heads,
  layers,
  sequence,
  tensor,
  data,
  stages,
  milliseconds,
  columns
};
} // namespace

static constexpr std::array<const char *, columns> names = {
    "GPUs",
    "global batch",
    "micro batch",
    "hidden size",
    "attention heads",
    "layers",
    "sequence length",
    "tensor parallelism",
    "data parallelism",
    "pipeline parallelism",
    "iteration time (ms)"};

/// Sizes and degrees up to this have products that are exact.
static constexpr double largest = 1e6;

static std::vector<std::string> cells(std::string line) {
  std::vector<std::string> parts;
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n'))
    line.pop_back();
  size_t begin = 0;
  while (begin <= line.size()) {
    const size_t end = std::min(line.find(',', begin), line.size());
    std::string cell = line.substr(begin, end - begin);
    const auto first = cell.find_first_not_of(" \t\"");
    const auto last = cell.find_last_not_of(" \t\"");
    parts.push_back(
        first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    begin = end + 1;
  }
  return parts;
}

/// Where each column is, in a line of names. "# layers" are the layers.
static std::optional<std::array<size_t, columns>>
find_columns(const std::vector<std::string> &parts) {
  auto plain = [](const std::string &text) {
    std::string name;
    for (char letter : text)
      if (letter != '#' && (letter != ' ' || !name.empty()))
        name += char(std::tolower(static_cast<unsigned char>(letter)));
    return name;
  };
  std::array<size_t, columns> where;
  for (size_t column = 0; column < columns; ++column) {
    where[column] =
        size_t(std::find_if(parts.begin(), parts.end(),
                            [&](const std::string &part) {
                              return plain(part) == plain(names[column]);
                            }) -
               parts.begin());
    if (where[column] == parts.size())
      return std::nullopt;
  }
  return where;
}

static double number(const std::string &text, const std::string &place) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      !std::isfinite(value) || value <= 0)
    throw Error(place + ": '" + text + "' is no number above 0");
  return value;
}

/// A row of vTrain's.
static MeasuredStep wide_step(const std::vector<std::string> &parts,
                              const std::array<size_t, columns> &where,
                              const std::string &place, int64_t vocabulary) {
  std::array<double, columns> values;
  for (size_t column = 0; column < columns; ++column) {
    if (where[column] >= parts.size())
      throw Error(place + ": has no " + names[column]);
    const std::string here = place + ": " + names[column];
    values[column] = number(parts[where[column]], here);
    if (column != milliseconds &&
        (values[column] != std::floor(values[column]) ||
         values[column] > largest))
      throw Error(here + ": '" + parts[where[column]] +
                  "' is no whole number up to 1000000");
  }
  auto whole = [&](Column column) { return int64_t(values[column]); };
  if (whole(hidden) % whole(heads) != 0)
    throw Error(place + ": the hidden size is no multiple of the heads");
  MeasuredStep step;
  step.decoder =
      gpt_decoder(whole(hidden), whole(heads), whole(layers), vocabulary);
  step.split.global_batch = whole(global_batch);
  step.split.micro_batch = whole(micro_batch);
  step.split.sequence = whole(sequence);
  step.split.tensor = whole(tensor);
  step.split.data = whole(data);
  step.split.pipeline = whole(stages);
  step.seconds = values[milliseconds] / 1e3;
  if (step.split.devices() != whole(gpus))
    throw Error(place + ": " + std::to_string(whole(gpus)) +
                " GPUs are not tensor times data times pipeline degree, " +
                std::to_string(step.split.devices()));
  return step;
}

/// A decoder by the name that a case has for it.
static std::optional<Decoder> named_decoder(const std::string &name) {
  Decoder decoder;
  decoder.kv_heads = 8;
  decoder.head_size = 128;
  decoder.vocabulary = 128256;
  decoder.gated = true;
  decoder.tied = false;
  if (name == "llama3_8b") {
    decoder.hidden = 4096, decoder.heads = 32, decoder.mlp = 14336;
    decoder.layers = 32;
  } else if (name == "llama3_70b") {
    decoder.hidden = 8192, decoder.heads = 64, decoder.mlp = 28672;
    decoder.layers = 80;
  } else if (name == "llama3_405b") {
    decoder.hidden = 16384, decoder.heads = 128, decoder.mlp = 53248;
    decoder.layers = 126;
  } else {
    return std::nullopt;
  }
  return decoder;
}

/// A row of SimuMax's; none, and why, where it is not planned.
static std::optional<MeasuredStep>
case_step(const std::string &name, const std::string &place, std::string &why) {
  // Words and the numbers behind them; what stands before them is the model.
  MeasuredStep step;
  step.split.sequence = 4096;
  step.split.sharded_states = true;
  std::string model;
  int64_t microbatches = 1, layers = 0;
  bool begun = false;
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('_', begin), name.size());
    const std::string word = name.substr(begin, end - begin);
    begin = end + 1;
    const size_t digits =
        std::min(word.find_first_of("0123456789"), word.size());
    const std::string key = word.substr(0, digits);
    const std::pair<const char *, int64_t *> keys[] = {
        {"l", &layers},
        {"tp", &step.split.tensor},
        {"pp", &step.split.pipeline},
        {"vp", &step.split.chunks},
        {"dp", &step.split.data},
        {"mbs", &step.split.micro_batch},
        {"mbc", &microbatches},
        {"seq", &step.split.sequence}};
    auto found =
        std::find_if(std::begin(keys), std::end(keys),
                     [&](const auto &one) { return one.first == key; });
    if (found != std::end(keys) && digits < word.size()) {
      begun = true;
      const double value = number(word.substr(digits), place + ": case");
      if (value != std::floor(value) || value > largest)
        throw Error(place + ": case: " + word +
                    " has no whole number up to 1000000");
      *found->second = int64_t(value);
    } else if (key == "cp" || key == "ep") {
      begun = true;
      if (word.substr(2) != "1") {
        why = key == "cp" ? "context parallel ranks are not planned yet"
                          : "mixtures of experts are not planned yet";
        return std::nullopt;
      }
    } else if (!begun) {
      model += (model.empty() ? "" : "_") + word;
    } else if (word != "cef") {
      // A fused cross-entropy is what all cases have.
      why = "'" + word + "' is not known here";
      return std::nullopt;
    }
  }
  const std::optional<Decoder> decoder = named_decoder(model);
  if (!decoder) {
    why = "there is no model '" + model + "' here";
    return std::nullopt;
  }
  step.decoder = *decoder;
  if (layers)
    step.decoder.layers = layers;
  step.split.sequence_parallel = step.split.tensor > 1;
  step.split.global_batch =
      microbatches * step.split.micro_batch * step.split.data;
  return step;
}

MeasuredTable plan::read_measured_table(const std::filesystem::path &file,
                                        int64_t vocabulary) {
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file))
    throw Error(file.string() + ": cannot be read");
  MeasuredTable table;
  std::optional<std::array<size_t, columns>> where;
  // SimuMax's columns.
  std::optional<std::array<size_t, 3>> cases;
  std::string text;
  table.about = file.stem().string();
  for (int64_t line = 1; std::getline(stream, text); ++line) {
    if (text.starts_with("#"))
      table.about += "\n" + text;
    const std::vector<std::string> parts = cells(text);
    const std::string place = file.string() + ":" + std::to_string(line);
    if (!where && !cases) {
      where = find_columns(parts);
      std::array<size_t, 3> found;
      for (size_t which = 0; which < 3; ++which)
        found[which] = std::find(parts.begin(), parts.end(),
                                 std::array{"case", "measured_ms",
                                            "measured_alloc_gib"}[which]) -
                       parts.begin();
      if (!where && found[0] < parts.size() && found[1] < parts.size())
        cases = found;
      continue;
    }
    if (parts[0].starts_with("#") || (parts.size() == 1 && parts[0].empty()))
      continue;
    MeasuredStep step;
    if (where) {
      step = wide_step(parts, *where, place, vocabulary);
    } else {
      if (std::max((*cases)[0], (*cases)[1]) >= parts.size())
        throw Error(place + ": has no case, or no measured_ms");
      std::string why;
      const auto read = case_step(parts[(*cases)[0]], place, why);
      if (!read) {
        table.skipped.push_back(parts[(*cases)[0]] + ": " + why);
        continue;
      }
      step = *read;
      step.seconds = number(parts[(*cases)[1]], place + ": measured_ms") / 1e3;
      if ((*cases)[2] < parts.size() && !parts[(*cases)[2]].empty())
        step.memory =
            number(parts[(*cases)[2]], place + ": measured_alloc_gib") *
            double(int64_t(1) << 30);
    }
    step.line = line;
    if (std::string why = check_split(step.decoder, step.split); !why.empty())
      throw Error(place + ": " + why);
    table.steps.push_back(step);
  }
  if (!where && !cases)
    throw Error(file.string() +
                ": has no line that names GPUs, global batch, micro batch, "
                "hidden size, heads, layers, sequence length, tensor, data and "
                "pipeline parallelism and iteration time (ms), or case and "
                "measured_ms");
  table.has_cases = cases.has_value();
  if (table.steps.empty())
    throw Error(file.string() + ": has no rows that can be planned" +
                (table.skipped.empty() ? "" : "; " + table.skipped[0]));
  return table;
}
