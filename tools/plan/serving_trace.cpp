//===- serving_trace.cpp - which requests come, and when ------------------===//

#include "tools/plan/serving_trace.h"

#include "runtime/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numbers>
#include <numeric>
#include <random>
#include <sstream>
#include <tuple>

using namespace baton;
using namespace baton::plan;

namespace {
/// The standard library's distributions differ from one to the next.
class Draws {
public:
  explicit Draws(uint64_t seed) : random(seed) {}

  /// Above 0, up to 1.
  double uniform() { return double((random() >> 11) + 1) * 0x1p-53; }
  double exponential() { return -std::log(uniform()); }
  double normal() {
    const double radius = std::sqrt(2 * exponential());
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  int64_t length(const Lengths &of) {
    const double drawn = of.deviation > 0
                             ? of.median * std::exp(of.deviation * normal())
                             : of.median;
    return std::clamp(int64_t(std::llround(std::min(drawn, 1e15))), int64_t(1),
                      std::max(of.most, int64_t(1)));
  }

private:
  std::mt19937_64 random;
};
} // namespace

Trace plan::make_trace(const TraceOptions &options) {
  Draws draws(options.seed);
  Trace trace;
  double now = 0;
  for (int64_t number = 0; number < options.requests; ++number) {
    ServedRequest request;
    if (options.rate > 0)
      now += draws.exponential() / options.rate;
    request.arrival = now;
    request.prompt = draws.length(options.prompt);
    request.answer = draws.length(options.answer);
    if (options.prefixes > 0) {
      request.prefix =
          std::min(int64_t(draws.uniform() * double(options.prefixes)),
                   options.prefixes - 1);
      request.prefix_length = options.prefix_length;
      request.prompt += options.prefix_length;
    }
    trace.push_back(request);
  }
  return trace;
}

static ServedRequest request_of(const std::map<std::string, double> &values,
                                const std::string &place) {
  auto find = [&](const char *key, double otherwise) {
    const auto found = values.find(key);
    if (found != values.end())
      return found->second;
    if (otherwise < 0)
      throw Error(place + ": " + key + " is missing");
    return otherwise;
  };
  auto count = [&](const char *key, double otherwise, double least) {
    const double value = find(key, otherwise);
    if (!(value >= least) || value > 1e9 || value != std::floor(value))
      throw Error(place + ": " + key + " is no whole number from " +
                  std::to_string(int(least)) + " to 1000000000");
    return int64_t(value);
  };
  for (const auto &[key, value] : values)
    if (key != "arrival" && key != "prompt" && key != "answer" &&
        key != "prefix" && key != "prefix_length")
      throw Error(place + ": there is no key \"" + key +
                  "\"; there are arrival, prompt, answer, prefix and "
                  "prefix_length");
  ServedRequest request;
  request.arrival = find("arrival", -1);
  if (!(request.arrival >= 0) || request.arrival > 1e12)
    throw Error(place + ": arrival is no number of seconds from 0 on");
  request.prompt = count("prompt", -1, 1);
  request.answer = count("answer", -1, 1);
  request.prefix = count("prefix", 0, 0);
  request.prefix_length = count("prefix_length", 0, 0);
  if (request.prefix_length > request.prompt)
    throw Error(place + ": prefix_length is above prompt");
  return request;
}

Trace plan::read_trace(const std::filesystem::path &file) {
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file))
    throw Error(file.string() + ": cannot be read");
  Trace trace;
  std::vector<std::string> columns;
  size_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] == '#')
      continue;
    const std::string place = file.string() + ":" + std::to_string(number);
    std::map<std::string, double> values;
    if (line[first] == '{') {
      try {
        const auto json = nlohmann::json::parse(line);
        for (const auto &[key, value] : json.items()) {
          if (!value.is_number())
            throw Error(place + ": " + key + " is no number");
          values[key] = value.get<double>();
        }
      } catch (const nlohmann::json::exception &error) {
        throw Error(place + ": " + error.what());
      }
    } else {
      std::vector<std::string> cells;
      std::istringstream parts(line);
      for (std::string cell; std::getline(parts, cell, ',');) {
        const size_t begin = cell.find_first_not_of(" \t");
        const size_t end = cell.find_last_not_of(" \t");
        cells.push_back(begin == std::string::npos
                            ? ""
                            : cell.substr(begin, end - begin + 1));
      }
      if (columns.empty()) {
        columns = cells;
        continue;
      }
      if (cells.size() != columns.size())
        throw Error(place + ": has " + std::to_string(cells.size()) +
                    " values for " + std::to_string(columns.size()) +
                    " columns");
      for (size_t column = 0; column < cells.size(); ++column) {
        char *end = nullptr;
        const double value = std::strtod(cells[column].c_str(), &end);
        if (cells[column].empty() || *end)
          throw Error(place + ": " + columns[column] + " is no number");
        values[columns[column]] = value;
      }
    }
    trace.push_back(request_of(values, place));
  }
  if (trace.empty())
    throw Error(file.string() + ": has no request");
  // Those that come together stay in the file's order.
  std::vector<size_t> order(trace.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(trace[a].arrival, a) < std::tuple(trace[b].arrival, b);
  });
  Trace sorted;
  for (size_t at : order)
    sorted.push_back(trace[at]);
  return sorted;
}

Trace plan::at_rate(Trace trace, double rate) {
  const double first = trace.front().arrival;
  const double seconds = trace.back().arrival - first;
  if (seconds <= 0)
    throw Error("all requests of the trace come at once: there is no rate to "
                "change");
  const double factor = double(trace.size() - 1) / seconds / rate;
  for (ServedRequest &request : trace)
    request.arrival = (request.arrival - first) * factor;
  return trace;
}

Trace plan::at_once(Trace trace) {
  for (ServedRequest &request : trace)
    request.arrival = 0;
  return trace;
}
