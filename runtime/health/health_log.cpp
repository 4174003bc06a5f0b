//===- health_log.cpp - files of ranks' times -----------------------------===//

#include "runtime/health/health_log.h"

#include "runtime/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>

namespace baton {

namespace {

constexpr uint32_t most_ranks = 1 << 20;

enum Column { StepColumn, RankColumn, IndicatorColumn, ValueColumn, Required };
constexpr std::array<const char *, Required> required = {"step", "rank",
                                                         "indicator", "value"};

/// Cells of a line, of which some may be in double quotes, with "" for one;
/// nothing where a quote does not end.
std::optional<std::vector<std::string>> cells_of(const std::string &line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (quoted && letter == '"' && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (letter == '"' && (quoted || cells.back().empty()))
      quoted = !quoted;
    else if (letter == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += letter;
  }
  if (quoted)
    return std::nullopt;
  return cells;
}

std::string cell(const std::string &text) {
  if (text.find_first_of(",\"") == std::string::npos)
    return text;
  std::string result = "\"";
  for (char letter : text)
    result += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return result + "\"";
}

template <typename Number>
std::optional<Number> number_of(const std::string &text) {
  Number number;
  const char *end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || rest != end)
    return std::nullopt;
  return number;
}

struct Value {
  uint64_t step;
  uint32_t rank, indicator;
  double seconds;
};

class Reader {
public:
  explicit Reader(HealthLog &log) : log(log) {}

  void read(const std::filesystem::path &path);
  /// Puts what was read in order.
  void finish(const std::string &files);

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw Error(file + ":" + std::to_string(line) + ": " + what);
  }
  void read_columns(const std::vector<std::string> &cells);
  void read_values(const std::vector<std::string> &cells);
  uint32_t indicator_of(const std::string &name);
  void identify(uint32_t rank, const std::vector<std::string> &cells);

  HealthLog &log;
  std::string file;
  uint64_t line = 0;
  std::array<size_t, Required> places;
  std::optional<size_t> work, host;
  std::map<std::string, uint32_t> numbers;
  std::vector<Value> values;
};

void Reader::read(const std::filesystem::path &path) {
  file = path.string();
  line = 0;
  work = host = std::nullopt;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path))
    throw Error(file + ": cannot be read: " +
                (stream ? "it is a folder" : std::strerror(errno)));
  bool has_columns = false;
  for (std::string text; std::getline(stream, text);) {
    ++line;
    if (text.ends_with('\r'))
      text.pop_back();
    if (text.empty())
      continue;
    const auto cells = cells_of(text);
    if (!cells)
      fail("a quotation mark does not end");
    if (has_columns)
      read_values(*cells);
    else
      read_columns(*cells);
    has_columns = true;
  }
  if (stream.bad())
    throw Error(file + ": cannot be read: " + std::strerror(errno));
  if (!has_columns)
    throw Error(file + ": is empty; expected a line that names the columns "
                       "step, rank, indicator and value");
}

void Reader::read_columns(const std::vector<std::string> &cells) {
  auto place_of = [&](const char *name) -> std::optional<size_t> {
    const auto found = std::ranges::find(cells, name);
    if (found == cells.end())
      return std::nullopt;
    return static_cast<size_t>(found - cells.begin());
  };
  for (size_t i = 0; i < required.size(); ++i) {
    const std::optional<size_t> place = place_of(required[i]);
    if (!place)
      fail("no column is called " + std::string(required[i]) +
           "; the first line names the columns step, rank, indicator and "
           "value, and may name work and host");
    places[i] = *place;
  }
  work = place_of("work");
  host = place_of("host");
}

uint32_t Reader::indicator_of(const std::string &name) {
  const auto [entry, is_new] =
      numbers.try_emplace(name, static_cast<uint32_t>(numbers.size()));
  if (is_new)
    log.indicators.push_back(name);
  return entry->second;
}

void Reader::identify(uint32_t rank, const std::vector<std::string> &cells) {
  RankIdentity &identity = log.ranks[rank];
  if (host && *host < cells.size() && !cells[*host].empty())
    identity.host = cells[*host];
  if (!work || *work >= cells.size() || cells[*work].empty())
    return;
  if (!identity.work.empty() && identity.work != cells[*work])
    fail("rank " + std::to_string(rank) + " has the work '" + cells[*work] +
         "', and '" + identity.work +
         "' before; judge parts of a run that differ one by one");
  identity.work = cells[*work];
}

void Reader::read_values(const std::vector<std::string> &cells) {
  for (size_t i = 0; i < required.size(); ++i)
    if (places[i] >= cells.size())
      fail("has " + std::to_string(cells.size()) +
           (cells.size() == 1 ? " cell" : " cells") + " and no " + required[i]);
  auto wrong = [&](Column column, const char *expected) {
    fail(std::string(required[column]) + ": expected " + expected + ", not '" +
         cells[places[column]] + "'");
  };
  const auto step = number_of<uint64_t>(cells[places[StepColumn]]);
  if (!step)
    wrong(StepColumn, "a whole number");
  const auto rank = number_of<uint32_t>(cells[places[RankColumn]]);
  if (!rank || *rank >= most_ranks)
    wrong(RankColumn, "a whole number below 1048576");
  const std::string &name = cells[places[IndicatorColumn]];
  if (name.empty())
    wrong(IndicatorColumn, "a name");
  const auto seconds = number_of<double>(cells[places[ValueColumn]]);
  if (!seconds || !std::isfinite(*seconds) || *seconds < 0)
    wrong(ValueColumn, "seconds that are not negative");
  if (*rank >= log.ranks.size())
    log.ranks.resize(*rank + 1);
  identify(*rank, cells);
  values.push_back({*step, *rank, indicator_of(name), *seconds});
}

void Reader::finish(const std::string &files) {
  if (values.empty())
    throw Error(files + ": has no values");
  const size_t ranks = log.ranks.size(), width = ranks * log.indicators.size();
  std::vector<bool> present(ranks);
  for (const Value &value : values)
    present[value.rank] = true;
  if (const auto absent = std::ranges::find(present, false);
      absent != present.end())
    throw Error(files + ": rank " + std::to_string(absent - present.begin()) +
                " has no values, and rank " + std::to_string(ranks - 1) +
                " has some");
  std::map<uint64_t, std::vector<double>> steps;
  for (const Value &value : values) {
    std::vector<double> &seconds = steps[value.step];
    seconds.resize(width);
    seconds[value.indicator * ranks + value.rank] = value.seconds;
  }
  for (auto &[step, seconds] : steps)
    log.steps.push_back({step, std::move(seconds)});
}

} // namespace

HealthLog HealthLog::read(const std::vector<std::filesystem::path> &files) {
  HealthLog log;
  Reader reader(log);
  std::string names;
  for (const std::filesystem::path &file : files) {
    reader.read(file);
    names += (names.empty() ? "" : ", ") + file.string();
  }
  reader.finish(names);
  return log;
}

HealthLogWriter::HealthLogWriter(std::filesystem::path path,
                                 std::vector<std::string> indicators,
                                 std::vector<RankIdentity> ranks)
    : file(std::move(path)), indicators(std::move(indicators)),
      ranks(std::move(ranks)), stream(std::fopen(file.c_str(), "we")) {
  if (!stream ||
      std::fputs("step,rank,indicator,value,work,host\n", stream.get()) == EOF)
    fail();
  flush();
}

void HealthLogWriter::fail() const {
  throw Error(file.string() + ": cannot be written: " + std::strerror(errno));
}

void HealthLogWriter::add(uint64_t step, std::span<const double> seconds) {
  std::string text;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (size_t i = 0; i < indicators.size(); ++i) {
      char number[64];
      std::snprintf(number, sizeof number, ",%.9f",
                    seconds[i * ranks.size() + rank]);
      text += std::to_string(step) + "," + std::to_string(rank) + "," +
              cell(indicators[i]) + number;
      if (i == 0 && !has_said_who)
        text += "," + cell(ranks[rank].work) + "," + cell(ranks[rank].host);
      text += "\n";
    }
  has_said_who = true;
  if (std::fwrite(text.data(), 1, text.size(), stream.get()) != text.size())
    fail();
}

void HealthLogWriter::flush() {
  if (std::fflush(stream.get()) != 0)
    fail();
}

} // namespace baton
