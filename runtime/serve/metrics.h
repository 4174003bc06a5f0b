//===- metrics.h - what a server counts, for Prometheus -------------------===//
//
// Names are vLLM's where the meaning is the same, so that dashboards made for
// it show this server. The text format is written here: the client library that
// Debian has is a shared one only, which programs would then need.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_METRICS_H
#define BATON_RUNTIME_SERVE_METRICS_H

#include "runtime/batch/batch_driver.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace baton {

/// How many values were at most each of some limits. Used by one thread.
class Histogram {
public:
  explicit Histogram(std::vector<double> limits);
  void observe(double value);

  const std::vector<double> limits;
  /// One more than limits: of what is above them all.
  std::vector<uint64_t> counts;
  double sum = 0;
};

/// Of a server's life. Used by one thread.
struct ServerMetrics {
  ServerMetrics();

  /// By "stop", "length", "error", "cancelled".
  std::map<std::string, uint64_t> finished;
  /// HTTP: by path, as far as it is known, and status.
  std::map<std::pair<std::string, unsigned>, uint64_t> responses;
  /// Seconds.
  Histogram first_token, between_tokens, whole_request;
  /// Tokens of a request.
  Histogram prompt_tokens, generated_tokens;

  /// In Prometheus' text format.
  std::string text(const std::string &model, const BatchCounts &counts,
                   const BatchLoad &load, size_t connections) const;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_METRICS_H
