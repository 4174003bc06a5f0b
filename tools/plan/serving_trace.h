//===- serving_trace.h - which requests come, and when --------------------===//

#ifndef BATON_TOOLS_PLAN_SERVING_TRACE_H
#define BATON_TOOLS_PLAN_SERVING_TRACE_H

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace baton::plan {

struct ServedRequest {
  /// Seconds.
  double arrival = 0;
  /// Tokens.
  int64_t prompt = 1, answer = 1;
  /// Prompts with the same number begin with the same tokens, as many as the
  /// shorter `prefix_length` says.
  int64_t prefix = 0, prefix_length = 0;
};

using Trace = std::vector<ServedRequest>;

/// Lengths of which each drawn one has half of them on either side.
struct Lengths {
  double median = 1;
  /// Standard deviation of the logarithm; 0: all are alike.
  double deviation = 0;
  int64_t most = 1;
};

struct TraceOptions {
  int64_t requests = 1;
  /// Of a Poisson process, in a second; 0: all are there at once.
  double rate = 0;
  Lengths prompt, answer;
  /// Prompts begin with one of so many prefixes, of so many tokens.
  int64_t prefixes = 0, prefix_length = 0;
  uint64_t seed = 0;
};

/// The same on every machine for the same options. Prompts are longer than
/// their prefixes by what their lengths say.
Trace make_trace(const TraceOptions &options);

/// Reads lines of JSON objects with the keys arrival, prompt, answer, and
/// perhaps prefix and prefix_length; or of comma-separated values, the first of
/// which names the columns so. Sorted by arrival. Throws Error that names file,
/// line and what is wrong.
Trace read_trace(const std::filesystem::path &file);

/// The same requests, so many a second on average. Throws Error where all come
/// at once.
Trace at_rate(Trace trace, double rate);

/// All of them at once.
Trace at_once(Trace trace);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_SERVING_TRACE_H
