//===- ServingTraceTest.cpp - requests from files, and drawn ones ---------===//

#include "tools/plan/serving_simulator.h"
#include "tools/plan/serving_trace.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

namespace baton::plan {
namespace {

std::string write(const std::string &text) {
  const std::string file = testing::TempDir() + "requests.trace";
  std::ofstream(file) << text;
  return file;
}

std::string message(const std::string &text) {
  try {
    read_trace(write(text));
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(ServingTrace, ReadsBothForms) {
  const Trace lines =
      read_trace(write("{\"arrival\": 2.5, \"prompt\": 7, \"answer\": 3}\n\n"
                       "{\"arrival\": 1, \"prompt\": 90, \"answer\": 1, "
                       "\"prefix\": 4, \"prefix_length\": 64}\n"));
  const Trace values = read_trace(
      write("# of a day\narrival, answer, prompt, prefix, prefix_length\r\n"
            "2.5, 3, 7, 0, 0\r\n1, 1, 90, 4, 64\r\n"));
  ASSERT_EQ(lines.size(), 2u);
  ASSERT_EQ(values.size(), 2u);
  for (size_t at = 0; at < 2; ++at) {
    EXPECT_EQ(lines[at].arrival, values[at].arrival);
    EXPECT_EQ(lines[at].prompt, values[at].prompt);
    EXPECT_EQ(lines[at].answer, values[at].answer);
    EXPECT_EQ(lines[at].prefix, values[at].prefix);
    EXPECT_EQ(lines[at].prefix_length, values[at].prefix_length);
  }
  EXPECT_EQ(lines[0].arrival, 1);
  EXPECT_EQ(lines[0].prefix_length, 64);
}

TEST(ServingTrace, NamesWhatIsWrong) {
  EXPECT_NE(message("arrival,prompt,answer\n1,2\n").find("trace:2: has 2"),
            std::string::npos);
  EXPECT_NE(
      message("arrival,prompt,answer\n1,2,x\n").find("answer is no number"),
      std::string::npos);
  EXPECT_NE(message("arrival,prompt,answr\n1,2,3\n").find("no key \"answr\""),
            std::string::npos);
  EXPECT_NE(
      message("{\"arrival\": 1, \"prompt\": 2}").find("answer is missing"),
      std::string::npos);
  EXPECT_NE(message("{\"arrival\": -1, \"prompt\": 2, \"answer\": 1}")
                .find("arrival"),
            std::string::npos);
  EXPECT_NE(message("{\"arrival\": 1, \"prompt\": 0.5, \"answer\": 1}")
                .find("prompt is no whole number"),
            std::string::npos);
  EXPECT_NE(message("{\"arrival\": 1, \"prompt\": 5, \"answer\": 1, "
                    "\"prefix_length\": 6}")
                .find("prefix_length is above prompt"),
            std::string::npos);
  EXPECT_NE(message("\n").find("has no request"), std::string::npos);
  EXPECT_NE(message("[1]").find("trace"), std::string::npos);
}

TEST(ServingTrace, DrawsWhatItSays) {
  TraceOptions options;
  options.requests = 20000;
  options.rate = 4;
  options.prompt = {300, .6, 100000};
  options.answer = {50, 0, 40};
  options.prefixes = 5;
  options.prefix_length = 128;
  const Trace trace = make_trace(options);
  EXPECT_NEAR(double(trace.size()) / trace.back().arrival / 4, 1, .03);
  std::vector<double> logarithms, gaps;
  int64_t of_last = 0;
  for (size_t at = 0; at < trace.size(); ++at) {
    logarithms.push_back(std::log(double(trace[at].prompt - 128)));
    EXPECT_EQ(trace[at].answer, 40);
    EXPECT_LT(trace[at].prefix, 5);
    of_last += trace[at].prefix == 4;
    if (at)
      gaps.push_back(trace[at].arrival - trace[at - 1].arrival);
  }
  EXPECT_NEAR(std::exp(percentile(logarithms, .5)) / 300, 1, .03);
  EXPECT_NEAR(percentile(logarithms, .84134) - percentile(logarithms, .5), .6,
              .03);
  EXPECT_NEAR(double(of_last) / 20000, .2, .02);
  // Of an exponential distribution the median is ln 2 of the mean.
  EXPECT_NEAR(percentile(gaps, .5) * 4 / std::log(2), 1, .05);
  // The rate changes, the pattern stays.
  const Trace faster = at_rate(trace, 10);
  EXPECT_NEAR(double(trace.size() - 1) / faster.back().arrival, 10, 1e-9);
  EXPECT_NEAR((faster[9].arrival - faster[8].arrival) /
                  (trace[9].arrival - trace[8].arrival),
              faster.back().arrival /
                  (trace.back().arrival - trace.front().arrival),
              1e-9);
  EXPECT_THROW(at_rate(at_once(trace), 1), Error);
}

} // namespace
} // namespace baton::plan
