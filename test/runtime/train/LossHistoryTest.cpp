//===- LossHistoryTest.cpp - losses of before and after a resume ---------===//

#include "runtime/train/loss_history.h"

#include "runtime/error.h"
#include "test/runtime/weights/fixture.h"

namespace baton::test {
namespace {

StepReport report(uint64_t step, std::optional<double> validation = {}) {
  return {step, 8.0 / double(step), 1, 0.001, 100, validation};
}

TEST(LossHistory, GoesOnWithTheLinesOfTheCheckpoint) {
  TemporaryFolder folder;
  LossHistory whole(folder.path, 0);
  for (uint64_t step = 1; step <= 6; ++step)
    whole.add(report(step, step == 3 ? std::optional(9.0) : std::nullopt));
  whole.write();
  std::string lines = read_file(folder.path / "losses.jsonl");
  std::string picture = read_file(folder.path / "loss.svg");
  EXPECT_EQ(lines.find(step_line(report(1))), 0u);

  // The last two were not in the checkpoint, and a line was cut off.
  write_file(folder.path / "losses.jsonl", lines + "{\"step\":4,\"lo");
  LossHistory resumed(folder.path, 4);
  resumed.write();
  EXPECT_NE(read_file(folder.path / "losses.jsonl"), lines);
  resumed.add(report(5));
  resumed.add(report(6));
  resumed.write();
  EXPECT_EQ(read_file(folder.path / "losses.jsonl"), lines);
  EXPECT_EQ(read_file(folder.path / "loss.svg"), picture);

  // A new run has nothing to do with what is there.
  LossHistory other(folder.path, 0);
  other.write();
  EXPECT_EQ(read_file(folder.path / "losses.jsonl"), "");
}

TEST(LossHistory, SkipsWhatIsNoLine) {
  TemporaryFolder folder;
  write_file(folder.path / "losses.jsonl",
             "nonsense\n[1]\n{}\n{\"step\":-1,\"loss\":1}\n"
             "{\"step\":1,\"loss\":\"x\"}\n" +
                 step_line(report(2)));
  LossHistory resumed(folder.path, 9);
  resumed.write();
  EXPECT_EQ(read_file(folder.path / "losses.jsonl"), step_line(report(2)));
}

TEST(LossHistory, NamesTheFile) {
  TemporaryFolder folder;
  LossHistory history(folder.path / "no", 0);
  expect_contains(error_of([&] { history.write(); }),
                  "losses.jsonl: cannot be written");
}

} // namespace
} // namespace baton::test
