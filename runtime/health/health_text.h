//===- health_text.h - what a judge of ranks has found, in words ----------===//

#ifndef BATON_RUNTIME_HEALTH_HEALTH_TEXT_H
#define BATON_RUNTIME_HEALTH_HEALTH_TEXT_H

#include "runtime/health/health_log.h"
#include "runtime/health/rank_judge.h"

#include <nlohmann/json.hpp>

#include <string>

namespace baton {

/// "rank 3 (node7) is slow since step 31: compute takes 5.2 % longer than that
/// of its 7 peers (score 8.1)"
std::string event_text(const RankEvent &event, const RankPeers &peers,
                       const RankIdentity &rank);

/// {"event": "slow", "rank": 3, "host": "node7", "step": 60, "since": 31,
///  "indicators": [{"name": "compute", "excess": 0.052, "score": 8.1}],
///  "peers": [0, 1, 2], "by_history": false}
/// "recovered" has no indicators.
nlohmann::ordered_json event_json(const RankEvent &event,
                                  const RankPeers &peers,
                                  const RankIdentity &rank);

} // namespace baton

#endif // BATON_RUNTIME_HEALTH_HEALTH_TEXT_H
