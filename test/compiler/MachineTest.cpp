//===- MachineTest.cpp - where the figures of a machine come from ---------===//

#include "compiler/explain/HostFigures.h"

#include <gtest/gtest.h>

using namespace baton;
using namespace baton::explain;

namespace {

MachineFigures figures(const std::string &from, std::optional<double> workers,
                       std::optional<double> bandwidth,
                       std::optional<double> worker,
                       std::optional<double> event) {
  MachineFigures result;
  result.from = from;
  result.workers = workers;
  result.bandwidthGigabytes = bandwidth;
  result.workerGigaflops = worker;
  result.eventMicroseconds = event;
  return result;
}

const MachineFigures kHost = figures("host", 4, 20, 30, .25);

std::string text(const Figure &figure) {
  return std::to_string(static_cast<int>(figure.value)) + " " + figure.from;
}

} // namespace

TEST(Machine, TakesEachFigureFromTheFirstThatStatesIt) {
  MachineFigures flags;
  flags.from = "flag";
  flags.peakGigaflops = 500;
  auto machine =
      chooseMachine({flags, figures("file", 2, {}, 80, 7), kHost}, "file.json");
  ASSERT_TRUE(static_cast<bool>(machine));
  EXPECT_EQ(text(machine->workers), "2 file");
  EXPECT_EQ(text(machine->bandwidthGigabytes), "20 host");
  EXPECT_EQ(text(machine->peakGigaflops), "500 flag");
  EXPECT_EQ(text(machine->eventMicroseconds), "7 file");
  EXPECT_FALSE(machine->tensorGigaflops);
}

TEST(Machine, OneWorkersPeakCountsForThoseThatThereAre) {
  MachineFigures flags;
  flags.from = "flag";
  flags.workers = 8;
  auto machine = chooseMachine({flags, kHost}, "file.json");
  ASSERT_TRUE(static_cast<bool>(machine));
  EXPECT_EQ(text(machine->peakGigaflops), "240 host");
}

TEST(Machine, IsMeasuredWhereAFigureIsMissingOnly) {
  int asked = 0;
  auto measure = [&]() -> llvm::Expected<MachineFigures> {
    ++asked;
    return kHost;
  };
  auto whole =
      chooseMachine({figures("file", 2, 3, 4, 5)}, "file.json", measure);
  ASSERT_TRUE(static_cast<bool>(whole));
  EXPECT_EQ(asked, 0);
  auto partial =
      chooseMachine({figures("file", 2, 3, {}, 5)}, "file.json", measure);
  ASSERT_TRUE(static_cast<bool>(partial));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(text(partial->peakGigaflops), "60 host");
  EXPECT_EQ(text(partial->eventMicroseconds), "5 file");
}

TEST(Machine, SaysWhatNobodyStates) {
  auto missing = chooseMachine({figures("file", 2, 3, 4, {})}, "file.json");
  EXPECT_EQ(llvm::toString(missing.takeError()),
            "--event-us is missing, and file.json states no 'event_us'");
  auto failed = chooseMachine({}, "file.json", [] {
    return llvm::Expected<MachineFigures>(
        llvm::createStringError("no machine"));
  });
  EXPECT_EQ(llvm::toString(failed.takeError()), "no machine");
}

TEST(Host, IsOneOfSomeCores) {
  Host host = Host::current();
  EXPECT_GE(host.cores, 1u);
  EXPECT_FALSE(host.model.empty());
  EXPECT_EQ((Host{"a processor", 1}).text(), "1 core of a processor");
  EXPECT_EQ((Host{"a processor", 12}).text(), "12 cores of a processor");
}
