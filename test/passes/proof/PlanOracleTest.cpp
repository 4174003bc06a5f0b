//===- PlanOracleTest.cpp - the oracle on plans that a reader can check ---===//

#include "test/passes/proof/PlanOracle.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace baton;
using namespace baton::test;

namespace {

/// "make" writes @x row by row, "use" reads it and writes @y, twice over; then
/// "hand" reads all of @y. Each has a task for every row but "hand".
struct Plan {
  std::string storageOfY = "@y_memory";
  std::string made = "(1)";
  std::string used = "(rows)";
  std::string useWaits =
      "#event.wait<@made, (i)[rows, past, outputs] -> (i) to "
      "(i)[rows, past, outputs] -> (i + 1)>";
  std::string useReads = "(i, 0) to (i)[rows, past, outputs] -> (i + 1, 2)";
  std::string makeWaits =
      "#event.wait<@used distance 1, (i)[rows, past, outputs] -> () to "
      "(i)[rows, past, outputs] -> ()>";
  std::string handWaits =
      "#event.wait<@used, (i)[rows, past, outputs] -> () to "
      "(i)[rows, past, outputs] -> ()>";
  std::string schedule;

  std::string text() const {
    const std::string map = "affine_map<()[rows, past, outputs] -> ";
    const std::string at = "(i)[rows, past, outputs] -> ";
    const std::string row = at + "(i, 0) to " + at + "(i + 1, 2)";
    return "event.program @p max_rows 4 max_seq 8 max_outputs 1 {\n"
           "event.storage @x_memory bytes 32\n"
           "event.storage @y_memory bytes 32\n"
           "event.buffer @x transient : f32 extents " +
           map + "(rows, 2)> capacity [4, 2] strides [2, 1] in @x_memory\n" +
           "event.buffer @y transient : f32 extents " + map +
           "(rows, 2)> capacity [4, 2] strides [2, 1] in " + storageOfY + "\n" +
           "event.tensor @made shape " + map + "(rows)> capacity [4] count " +
           map + made + ">\n" + "event.tensor @used shape " + map +
           "()> capacity [] count " + map + used + ">\n" +
           "event.segment \"twice\" repeat 2 {\n"
           "event.phase \"make\" grid " +
           map + "(rows)> capacity [4] accesses [#event.access<write @x, " +
           row + ">] waits [" + makeWaits + "] notifies <@made, " + at +
           "(i)> {\n}\n" + "event.phase \"use\" grid " + map +
           "(rows)> capacity [4] accesses [#event.access<read @x, " + at +
           useReads + ">, #event.access<write @y, " + row + ">] waits [" +
           useWaits + "] notifies <@used, " + at + "()> {\n}\n}\n" +
           "event.segment \"end\" repeat 1 {\n"
           "event.phase \"hand\" grid " +
           map + "(1)> capacity [1] accesses [#event.access<read @y, " + at +
           "(0, 0) to " + at + "(rows, 2)>] waits [" + handWaits +
           "] {\n}\n}\n" + schedule + "}\n";
  }
};

class PlanOracleTest : public testing::Test {
protected:
  PlanOracleTest() { context.loadDialect<event::EventDialect>(); }

  /// The kind of the first fault in a step of two rows.
  std::optional<FaultKind> faultOf(const Plan &plan) {
    module = mlir::parseSourceString<mlir::ModuleOp>(plan.text(), &context);
    EXPECT_TRUE(module) << plan.text();
    if (!module)
      return std::nullopt;
    auto program = *module->getOps<event::ProgramOp>().begin();
    auto fault = findFault(program, {2, 0, 1});
    if (fault)
      message = fault->message;
    return fault ? std::optional(fault->kind) : std::nullopt;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string message;
};

TEST_F(PlanOracleTest, FindsNothingInASoundPlan) {
  EXPECT_EQ(faultOf(Plan()), std::nullopt) << message;
}

/// Of a unit that is wanted every task of its columns has work.
TEST_F(PlanOracleTest, FindsTasksThatLeaveOutWhatIsWanted) {
  auto faultWith = [&](const std::string &condition) {
    module = mlir::parseSourceString<mlir::ModuleOp>(
        R"(event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.storage @t_memory bytes 20
  event.storage @x_memory bytes 32
  event.buffer @t persistent : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] in @t_memory {description = {role = "input"}}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (8)> capacity [8] strides [1] in @x_memory
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (5) any
  event.segment "s" repeat 1 {
    event.phase "f" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      when <@t, )" +
            condition +
            R"(>
      accesses [#event.access<read @t, (i)[r, p, o] -> (0) to (i)[r, p, o] -> (5)>,
                #event.access<may write @x, (i)[r, p, o] -> (i * 4) to (i)[r, p, o] -> (i * 4 + 4)>] {}
  }
})",
        &context);
    EXPECT_TRUE(module) << condition;
    int faults = 0;
    for (unsigned seed = 0; module && seed < 20; ++seed)
      if (auto fault = findFault(*module->getOps<event::ProgramOp>().begin(),
                                 {2, 0, 1}, seed)) {
        ++faults;
        EXPECT_EQ(fault->kind, FaultKind::value);
        EXPECT_EQ(fault->message, "f leaves out what is wanted");
      }
    return faults;
  };
  const std::string low = "(i)[r, p, o] -> (i * 2", below = ") below ",
                    high = "(i)[r, p, o] -> (i * 2 + 2";
  EXPECT_EQ(faultWith(low + below + high + ") by 2"), 0);
  EXPECT_GT(faultWith(low + " + 1" + below + high + ") by 2"), 0);
  EXPECT_GT(faultWith(low + below + high + " - 1) by 2"), 0);
  EXPECT_GT(faultWith(low + below + high + ", 3) by 2"), 0);
}

TEST_F(PlanOracleTest, FindsAReadThatDoesNotWait) {
  Plan plan;
  plan.useWaits = "";
  EXPECT_EQ(faultOf(plan), FaultKind::race);
  EXPECT_EQ(message, "use(0)#0 may touch @x before make(0)#0");
}

TEST_F(PlanOracleTest, FindsAWriteInTheNextIterationThatDoesNotWait) {
  // The next iteration's notification may even be taken for this one's.
  Plan plan;
  plan.makeWaits = "";
  EXPECT_EQ(faultOf(plan), FaultKind::race);
  EXPECT_EQ(message, "use(0)#0 may touch @x before make(0)#0");
}

TEST_F(PlanOracleTest, FindsThatALowerCountIsMetByOthers) {
  Plan plan;
  plan.used = "(rows - 1)";
  EXPECT_EQ(faultOf(plan), FaultKind::race);
}

TEST_F(PlanOracleTest, KnowsThatALowerCountCanSuffice) {
  // It does when one worker runs all, but not with a worker for each row: the
  // last task reads both.
  Plan plan;
  plan.used = "(rows - 1)";
  plan.schedule =
      "event.schedule rows 2 past 0 outputs 1 workers ["
      "[#event.task<\"make\", 0, [0]>, #event.task<\"make\", 0, [1]>,"
      " #event.task<\"use\", 0, [0]>, #event.task<\"use\", 0, [1]>,"
      " #event.task<\"make\", 1, [0]>, #event.task<\"make\", 1, [1]>,"
      " #event.task<\"use\", 1, [0]>, #event.task<\"use\", 1, [1]>,"
      " #event.task<\"hand\", 0, [0]>]]\n";
  EXPECT_EQ(faultOf(plan), std::nullopt) << message;
  plan.schedule =
      "event.schedule rows 2 past 0 outputs 1 workers ["
      "[#event.task<\"make\", 0, [0]>, #event.task<\"use\", 0, [0]>,"
      " #event.task<\"make\", 1, [0]>, #event.task<\"use\", 1, [0]>],"
      "[#event.task<\"make\", 0, [1]>, #event.task<\"use\", 0, [1]>,"
      " #event.task<\"make\", 1, [1]>, #event.task<\"use\", 1, [1]>,"
      " #event.task<\"hand\", 0, [0]>]]\n";
  EXPECT_EQ(faultOf(plan), FaultKind::race);
  EXPECT_EQ(message, "hand(0)#0 may touch @y before use(0)#0");
}

TEST_F(PlanOracleTest, FindsThatAHigherCountIsNeverMet) {
  Plan plan;
  plan.made = "(2)";
  EXPECT_EQ(faultOf(plan), FaultKind::deadlock);
  EXPECT_EQ(message, "one worker never starts use(0)#0");
}

TEST_F(PlanOracleTest, FindsBytesWrittenUnderAnotherName) {
  Plan plan;
  plan.storageOfY = "@x_memory";
  EXPECT_EQ(faultOf(plan), FaultKind::race);
  EXPECT_EQ(message, "use(0)#0 writes what it has under another name");
}

TEST_F(PlanOracleTest, FindsValuesOverwrittenUnderAnotherName) {
  // @y begins one row into the bytes of @x, and one worker runs all: "use" of
  // the second row wants what the first row's has overwritten.
  Plan plan;
  plan.storageOfY = "@x_memory {offset = 2 : i64}";
  plan.schedule =
      "event.schedule rows 2 past 0 outputs 1 workers ["
      "[#event.task<\"make\", 0, [0]>, #event.task<\"make\", 0, [1]>,"
      " #event.task<\"use\", 0, [0]>, #event.task<\"use\", 0, [1]>,"
      " #event.task<\"make\", 1, [0]>, #event.task<\"make\", 1, [1]>,"
      " #event.task<\"use\", 1, [0]>, #event.task<\"use\", 1, [1]>,"
      " #event.task<\"hand\", 0, [0]>]]\n";
  std::string text = plan.text();
  plan.storageOfY = "@y_memory";
  EXPECT_EQ(faultOf(plan), std::nullopt) << message;
  text.replace(text.find("@x_memory bytes 32"), 18, "@x_memory bytes 40");
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  auto fault =
      findFault(*module->getOps<event::ProgramOp>().begin(), {2, 0, 1});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::value);
  EXPECT_EQ(fault->message, "use(1)#0 reads row 1 of @x overwritten");
}

TEST_F(PlanOracleTest, FindsAReadOfWhatNoTaskWrites) {
  Plan plan;
  plan.useReads = "(0, 0) to (i)[rows, past, outputs] -> (rows, 2)";
  plan.useWaits = "#event.wait<@made, (i)[rows, past, outputs] -> (0) to "
                  "(i)[rows, past, outputs] -> (rows)>";
  EXPECT_EQ(faultOf(plan), std::nullopt) << message;
  std::string text = plan.text();
  // "make" leaves the second column out.
  std::string written = "(i + 1, 2)>] waits [" + plan.makeWaits;
  text.replace(text.find(written), 10, "(i + 1, 1)");
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  auto fault =
      findFault(*module->getOps<event::ProgramOp>().begin(), {2, 0, 1});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::value);
  EXPECT_EQ(fault->message, "use(0)#0 reads row 0 of @x unwritten");
}

TEST_F(PlanOracleTest, FindsAScheduleThatNeverEnds) {
  Plan plan;
  plan.schedule =
      "event.schedule rows 2 past 0 outputs 1 workers ["
      "[#event.task<\"use\", 0, [0]>, #event.task<\"make\", 0, [1]>,"
      " #event.task<\"make\", 1, [0]>, #event.task<\"use\", 1, [0]>],"
      "[#event.task<\"use\", 0, [1]>, #event.task<\"make\", 0, [0]>,"
      " #event.task<\"make\", 1, [1]>, #event.task<\"use\", 1, [1]>,"
      " #event.task<\"hand\", 0, [0]>]]\n";
  EXPECT_EQ(faultOf(plan), FaultKind::deadlock);
}

TEST_F(PlanOracleTest, TakesListsForOrder) {
  // Without its wait, "use" still comes after "make" on the same worker.
  Plan plan;
  plan.useWaits = "";
  const std::string rest =
      " #event.task<\"make\", 1, [0]>, #event.task<\"use\", 1, [0]>]";
  auto lists = [&](const std::string &first, const std::string &second) {
    return "event.schedule rows 2 past 0 outputs 1 workers ["
           "[#event.task<\"make\", 0, [" +
           first + "]>, #event.task<\"use\", 0, [0]>," + rest +
           ",[#event.task<\"make\", 0, [" + second +
           "]>, #event.task<\"use\", 0, [1]>,"
           " #event.task<\"make\", 1, [1]>, #event.task<\"use\", 1, [1]>,"
           " #event.task<\"hand\", 0, [0]>]]\n";
  };
  plan.schedule = lists("0", "1");
  EXPECT_EQ(faultOf(plan), std::nullopt) << message;
  plan.schedule = lists("1", "0");
  EXPECT_EQ(faultOf(plan), FaultKind::race);
}

} // namespace
