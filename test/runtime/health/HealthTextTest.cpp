#include "runtime/health/health_text.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

const RankEvent slow = {
    true, 3, 31, 60, {{"compute", 0.0521, 8.14}, {"forward", 0.05, 6}}};
const RankEvent recovered = {false, 3, 91, 130, {}};

TEST(HealthText, NamesRankIndicatorAndStep) {
  EXPECT_EQ(event_text(slow, {{0, 1, 2}, false}, {"all", "node7"}),
            "rank 3 (node7) is slow since step 31: compute takes 5.2 % longer "
            "than that of its 3 peers (score 8.1), forward 5.0 % (score 6.0)");
  EXPECT_EQ(event_text(recovered, {{0, 1, 2}, false}, {"all", "node7"}),
            "rank 3 (node7) is no longer slow since step 91");
}

TEST(HealthText, SaysWhatARankIsComparedWith) {
  RankEvent event = slow;
  event.findings.pop_back();
  EXPECT_EQ(event_text(event, {{1}, false}, {}),
            "rank 3 is slow since step 31: compute takes 5.2 % longer than "
            "that of rank 1, its only peer (score 8.1)");
  EXPECT_EQ(event_text(event, {{1, 2}, true}, {}),
            "rank 3 is slow since step 31: compute takes 5.2 % longer than in "
            "the first windows, where other ranks do not (score 8.1)");
  EXPECT_EQ(event_text(event, {{}, true}, {}),
            "rank 3 is slow since step 31: compute takes 5.2 % longer than in "
            "the first windows (score 8.1)");
}

TEST(HealthText, IsJson) {
  EXPECT_EQ(event_json(slow, {{0, 1}, false}, {"all", "node7"}).dump(),
            "{\"event\":\"slow\",\"rank\":3,\"host\":\"node7\",\"step\":60,"
            "\"since\":31,\"indicators\":[{\"name\":\"compute\",\"excess\":0."
            "0521,\"score\":8.14},{\"name\":\"forward\",\"excess\":0.05,"
            "\"score\":6.0}],\"peers\":[0,1],\"by_history\":false}");
  EXPECT_EQ(event_json(recovered, {{0, 1}, true}, {}).dump(),
            "{\"event\":\"recovered\",\"rank\":3,\"host\":\"\",\"step\":130,"
            "\"since\":91,\"peers\":[0,1],\"by_history\":true}");
}

} // namespace
} // namespace baton
