//===- MetricsTest.cpp - what a server counts, for Prometheus -------------===//

#include "runtime/serve/metrics.h"

#include <gtest/gtest.h>

#include <string>

namespace baton {
namespace {

TEST(Histogram, AValueAtALimitIsBelowIt) {
  Histogram histogram({1, 2});
  for (double value : {0.5, 1.0, 1.5, 2.0, 7.0})
    histogram.observe(value);
  EXPECT_EQ(histogram.counts, (std::vector<uint64_t>{2, 2, 1}));
  EXPECT_EQ(histogram.sum, 12);
}

TEST(ServerMetrics, BucketsAddUp) {
  ServerMetrics metrics;
  metrics.first_token.observe(0.003);
  metrics.first_token.observe(1000);
  metrics.finished["stop"] = 2;
  const std::string text =
      metrics.text("a \"model\"", {.generated_tokens = 42},
                   {.running = 1, .used_pages = 3, .pages = 4}, 5);
  for (const char *line :
       {"vllm:num_requests_running{model_name=\"a \\\"model\\\"\"} 1\n",
        "vllm:kv_cache_usage_perc{model_name=\"a \\\"model\\\"\"} 0.75\n",
        "vllm:generation_tokens_total{model_name=\"a \\\"model\\\"\"} 42\n",
        "vllm:time_to_first_token_seconds_bucket{model_name=\"a "
        "\\\"model\\\"\",le=\"0.001\"} 0\n",
        "vllm:time_to_first_token_seconds_bucket{model_name=\"a "
        "\\\"model\\\"\",le=\"160\"} 1\n",
        "vllm:time_to_first_token_seconds_bucket{model_name=\"a "
        "\\\"model\\\"\",le=\"+Inf\"} 2\n",
        "vllm:request_success_total{model_name=\"a "
        "\\\"model\\\"\",finished_reason=\"stop\"} 2\n",
        "# TYPE vllm:e2e_request_latency_seconds histogram\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

} // namespace
} // namespace baton
