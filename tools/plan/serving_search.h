//===- serving_search.h - how to serve most requests ----------------------===//

#ifndef BATON_TOOLS_PLAN_SERVING_SEARCH_H
#define BATON_TOOLS_PLAN_SERVING_SEARCH_H

#include "tools/plan/deployment.h"
#include "tools/plan/serving_simulator.h"

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace baton::plan {

/// What users are to have.
struct ServingLimits {
  /// Seconds to a request's first token, and between its tokens.
  double to_first = std::numeric_limits<double>::infinity();
  double between = std::numeric_limits<double>::infinity();
  /// Of so large a part of the requests.
  double part = .9;
};

/// One program: how it is split, and what it was compiled with.
struct ReplicaPlan {
  ReplicaSplit split;
  int64_t max_sequences = 1, max_rows = 1;
  int64_t pages = 0;

  bool operator==(const ReplicaPlan &) const = default;
};

/// What replicas do.
enum class Role {
  /// Prompts and answers.
  both,
  /// Prompts, up to the first token; and answers behind it.
  prompts,
  answers,
};

struct ServingSearchOptions {
  Trace trace;
  ServingLimits limits;
  int64_t devices = 1;
  /// A model on devices; or else a program of one device, measured.
  std::optional<ServedDecoder> served;
  Device device;
  std::shared_ptr<const MeasuredStepTimes> measured;
  /// Bytes of a device that may be taken; pages of a measured program.
  double memory = 0;
  int64_t pages = 0;
  /// What may be chosen of.
  std::vector<int64_t> batches, rows;
  int64_t most_tensor = 8, most_expert = 1, most_pipeline = 1;
  bool disaggregated = true;
  int64_t max_outputs = 0;
  /// As SimulationOptions.
  double step_overhead = 0;
  int64_t guesses = 0;
  double acceptance = 0;
  int64_t prefill_chunk = 0;
  bool prefix_cache = true;
  /// How exact rates are, as a part of them.
  double precision = .01;
  /// Called as settings are played out. An exception ends the search, which
  /// then answers with the best so far and says that it is not `complete`.
  std::function<void(uint64_t done, uint64_t total, const std::string &best)>
      progress;
};

/// Replicas of one kind.
struct Pool {
  ReplicaPlan plan;
  int64_t replicas = 0;
  /// Requests that one of them serves in a second within the limits.
  double rate = 0;
};

struct ServingPlan {
  /// One that does both, or one of each.
  std::vector<Pool> pools;
  /// Requests a second of all.
  double rate = 0;
  int64_t devices = 0;
  /// Seconds that keys and values take from one pool to the other.
  double transfer = 0;
};

/// One replica that always has something to do.
struct SaturatedReplica {
  ReplicaPlan plan;
  double rate = 0, tokens_per_second = 0;
  /// At the limits' percentile.
  double between = 0;
};

struct ServingSearchResult {
  /// That of the highest rate; and the best ones with one pool, and with two.
  std::optional<ServingPlan> best, colocated, disaggregated;
  /// Of replicas that always have something to do: those than which no other
  /// makes more tokens a device and has less time between tokens, by that.
  std::vector<SaturatedReplica> front;
  uint64_t settings = 0, simulations = 0;
  bool complete = true;
  /// Why there is no plan: what binds.
  std::string binding;
};

/// Every split, batch and number of rows that there may be; and of two pools
/// every division of the devices. The rate of a replica is found by bisection,
/// up to what it does when all requests are there at once: of that, settings
/// are tried in descending order, until none that is left could be the best.
ServingSearchResult search_serving(const ServingSearchOptions &options);

/// All replicas that may be chosen of, without those that cannot hold the model
/// or a request; `binding` says what binds if there are none.
std::vector<ReplicaPlan> replica_plans(const ServingSearchOptions &options,
                                       std::string &binding);

/// Requests in a second that one replica serves within the limits, 0 if none;
/// and what it does when all are there at once.
double replica_rate(const ServingSearchOptions &options,
                    const ReplicaPlan &plan, Role role);
double saturated_rate(const ServingSearchOptions &options,
                      const ReplicaPlan &plan, Role role);

/// Of a trace as it is.
Simulation play(const ServingSearchOptions &options, const ReplicaPlan &plan,
                Role role, const Trace &trace);

/// Seconds that so many positions' keys and values take to the devices of a
/// replica that goes on with them: over links where all devices are in a node,
/// else over the network that a node's devices share.
double transfer_seconds(const ServingSearchOptions &options,
                        const ReplicaSplit &split, double positions);

/// The kind of answer that a limit is compared with.
double to_first_of(const Simulation &played, double part);
double between_of(const Simulation &played, double part);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_SERVING_SEARCH_H
