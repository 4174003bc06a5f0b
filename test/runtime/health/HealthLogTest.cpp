#include "runtime/health/health_log.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <fstream>

namespace baton {
namespace {

class HealthLogFile : public testing::Test {
protected:
  HealthLogFile()
      : path(std::filesystem::path(testing::TempDir()) /
             (std::string("log-") +
              testing::UnitTest::GetInstance()->current_test_info()->name() +
              ".csv")) {}
  ~HealthLogFile() override { std::filesystem::remove(path); }

  HealthLog read(const std::string &text) {
    std::ofstream(path) << text;
    return HealthLog::read({path});
  }
  /// What is said of the text, behind the file's name.
  std::string refusal(const std::string &text) {
    try {
      read(text);
    } catch (const Error &error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.starts_with(path.string() + ":")) << what;
      return what.substr(path.string().size() + 1);
    }
    return "none";
  }

  const std::filesystem::path path;
};

TEST_F(HealthLogFile, ReadsColumnsAndLinesInAnyOrder) {
  const HealthLog log = read(
      "loss,value,rank,step,indicator\r\n"
      "3.2,0.5,1,2,compute\r\n\r\n3.2,2e-1,0,1,compute\r\n"
      "3.2,0.25,0,2,\"a \"\"name\"\", quoted\"\r\n3.2,0.75,1,2,compute\r\n");
  EXPECT_EQ(log.indicators,
            (std::vector<std::string>{"compute", "a \"name\", quoted"}));
  ASSERT_EQ(log.ranks.size(), 2u);
  ASSERT_EQ(log.steps.size(), 2u);
  EXPECT_EQ(log.steps[0].step, 1u);
  EXPECT_EQ(log.steps[0].seconds, (std::vector<double>{0.2, 0, 0, 0}));
  // The last one counts.
  EXPECT_EQ(log.steps[1].seconds, (std::vector<double>{0, 0.75, 0.25, 0}));
}

TEST_F(HealthLogFile, ReadsWhatItWrites) {
  const std::vector<std::string> indicators = {"compute", "wait, of a kind"};
  const std::vector<RankIdentity> ranks = {{"stage 0", "node1"},
                                           {"stage 1, \"last\"", "node2"}};
  // Whole nanoseconds come back as they are.
  std::vector<std::vector<double>> steps;
  {
    HealthLogWriter writer(path, indicators, ranks);
    for (uint64_t step = 0; step < 50; ++step) {
      std::vector<double> &seconds = steps.emplace_back();
      for (uint64_t i = 0; i < 4; ++i)
        seconds.push_back(double((step * 4 + i) * 123456789 % 1000000007) /
                          1e9);
      writer.add(step + 7, seconds);
    }
  }
  const HealthLog log = HealthLog::read({path});
  EXPECT_EQ(log.indicators, indicators);
  ASSERT_EQ(log.ranks.size(), 2u);
  EXPECT_EQ(log.ranks[1].work, ranks[1].work);
  EXPECT_EQ(log.ranks[1].host, "node2");
  ASSERT_EQ(log.steps.size(), 50u);
  for (size_t step = 0; step < 50; ++step) {
    EXPECT_EQ(log.steps[step].step, step + 7);
    EXPECT_EQ(log.steps[step].seconds, steps[step]);
  }
}

TEST_F(HealthLogFile, MergesFilesOfRanks) {
  const std::filesystem::path other = path.string() + ".1";
  std::ofstream(path) << "step,rank,indicator,value\n1,0,compute,0.5\n";
  std::ofstream(other) << "rank,step,value,indicator\n1,1,0.25,compute\n";
  const HealthLog log = HealthLog::read({path, other});
  ASSERT_EQ(log.steps.size(), 1u);
  EXPECT_EQ(log.steps[0].seconds, (std::vector<double>{0.5, 0.25}));
  std::filesystem::remove(other);
}

TEST_F(HealthLogFile, NamesTheLineOfWhatIsWrong) {
  const std::string head = "step,rank,indicator,value,work\n";
  EXPECT_EQ(refusal(""), " is empty; expected a line that names the columns "
                         "step, rank, indicator and value");
  EXPECT_EQ(refusal("step,rank,value\n"),
            "1: no column is called indicator; the first line names the "
            "columns step, rank, indicator and value, and may name work and "
            "host");
  EXPECT_EQ(refusal(head), " has no values");
  EXPECT_EQ(refusal(head + "1,0,compute\n"), "2: has 3 cells and no value");
  EXPECT_EQ(refusal(head + "1,0,compute,0.5\nx,0,compute,0.5\n"),
            "3: step: expected a whole number, not 'x'");
  EXPECT_EQ(refusal(head + "1,-1,compute,0.5\n"),
            "2: rank: expected a whole number below 1048576, not '-1'");
  EXPECT_EQ(refusal(head + "1,4294967295,compute,0.5\n"),
            "2: rank: expected a whole number below 1048576, not '4294967295'");
  EXPECT_EQ(refusal(head + "1,0,,0.5\n"),
            "2: indicator: expected a name, not ''");
  for (const char *value : {"-0.5", "nan", "inf", "0.5 s", ""})
    EXPECT_EQ(refusal(head + "1,0,compute," + value + "\n"),
              "2: value: expected seconds that are not negative, not '" +
                  std::string(value) + "'");
  EXPECT_EQ(refusal(head + "1,0,\"compute,0.5\n"),
            "2: a quotation mark does not end");
  EXPECT_EQ(refusal(head + "1,0,compute,0.5,a\n2,0,compute,0.5,b\n"),
            "3: rank 0 has the work 'b', and 'a' before; judge parts of a run "
            "that differ one by one");
  EXPECT_EQ(refusal(head + "1,0,compute,0.5\n1,2,compute,0.5\n"),
            " rank 1 has no values, and rank 2 has some");
}

TEST_F(HealthLogFile, NamesAFileThatIsNone) {
  const std::filesystem::path absent = path.string() + ".absent";
  for (const auto &[file, why] :
       {std::pair{absent, "No such file or directory"},
        {std::filesystem::path(testing::TempDir()), "it is a folder"}})
    try {
      HealthLog::read({file});
      ADD_FAILURE() << file;
    } catch (const Error &error) {
      EXPECT_EQ(error.what(), file.string() + ": cannot be read: " + why);
    }
  EXPECT_THROW(HealthLogWriter(absent / "log", {"compute"}, {{}, {}}), Error);
}

} // namespace
} // namespace baton
