//===- serving_search.cpp - how to serve most requests --------------------===//

#include "tools/plan/serving_search.h"

#include "runtime/error.h"
#include "runtime/execute/batch_inputs.h"
#include "runtime/main/table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

using namespace baton;
using namespace baton::plan;

/// A rate so much below what a replica can do is none.
static constexpr double least_part = 1.0 / 1024;

double plan::to_first_of(const Simulation &played, double part) {
  std::vector<double> values;
  for (const ServedTimes &request : played.requests)
    values.push_back(request.to_first());
  return percentile(std::move(values), part);
}

/// Requests of one token have nothing between.
double plan::between_of(const Simulation &played, double part) {
  std::vector<double> values;
  for (const ServedTimes &request : played.requests)
    if (request.tokens > 1)
      values.push_back(request.between());
  return percentile(std::move(values), part);
}

double plan::transfer_seconds(const ServingSearchOptions &options,
                              const ReplicaSplit &split, double positions) {
  const double bytes = positions * position_bytes(*options.served, split);
  const Device &device = options.device;
  if (options.devices <= device.devices_per_node)
    return device.link_latency + bytes / device.link_rate;
  return device.network_latency +
         bytes * double(device.devices_per_node) / device.network_rate;
}

static int64_t longest(const Trace &trace) {
  int64_t most = 0;
  for (const ServedRequest &request : trace)
    most = std::max(most, request.prompt + request.answer - 1);
  return most;
}

static std::string mesh_text(const ReplicaSplit &split) {
  std::string text;
  auto axis = [&](const char *what, int64_t size) {
    if (size > 1)
      text += (text.empty() ? "" : ",") + std::string(what) + "=" +
              std::to_string(size);
  };
  axis("pp", split.pipeline);
  axis("tp", split.tensor);
  axis("ep", split.expert);
  return text.empty() ? "one device" : text;
}

static std::vector<ReplicaSplit> splits(const ServingSearchOptions &options,
                                        std::string &why) {
  if (!options.served)
    return {{}};
  std::vector<ReplicaSplit> found;
  for (int64_t tensor = 1; tensor <= options.most_tensor; tensor *= 2)
    for (int64_t expert = 1; expert <= options.most_expert; expert *= 2)
      for (int64_t pipeline = 1; pipeline <= options.most_pipeline;
           pipeline *= 2) {
        const ReplicaSplit split = {tensor, expert, pipeline};
        if (split.devices() > options.devices)
          continue;
        why = check_split(*options.served, split, options.device);
        if (why.empty())
          found.push_back(split);
      }
  return found;
}

std::vector<ReplicaPlan>
plan::replica_plans(const ServingSearchOptions &options, std::string &binding) {
  std::vector<ReplicaPlan> plans;
  const int64_t positions = longest(options.trace);
  const int64_t pages_of_longest = int64_t(pages_of(uint64_t(positions)));
  std::string why;
  const auto all = splits(options, why);
  if (all.empty()) {
    binding = "no split has whole parts: " + why;
    return {};
  }
  // Of the split that comes closest.
  double least_missing = std::numeric_limits<double>::infinity();
  auto refuse = [&](double missing, const std::string &text) {
    if (missing < least_missing) {
      least_missing = missing;
      binding = text;
    }
  };
  for (const ReplicaSplit &split : all)
    for (int64_t batch : options.batches)
      for (int64_t rows : options.rows) {
        // Every text that runs has its row.
        if (rows < batch)
          continue;
        ReplicaPlan plan = {split, batch, rows, 0};
        if (!options.served) {
          plan.pages = options.pages
                           ? options.pages
                           : batch * int64_t(pages_of(uint64_t(
                                         options.measured->max_positions)));
          if (positions > options.measured->max_positions)
            refuse(double(positions),
                   "the longest sequence: the program has " +
                       std::to_string(options.measured->max_positions) +
                       " positions, and a request takes " +
                       std::to_string(positions));
          else if (plan.pages < pages_of_longest)
            refuse(double(pages_of_longest - plan.pages),
                   "room for keys and values: " + std::to_string(plan.pages) +
                       " pages are fewer than the " +
                       std::to_string(pages_of_longest) +
                       " that one request takes");
          else
            plans.push_back(plan);
          continue;
        }
        const ServedDecoder &served = *options.served;
        const double weights = weight_bytes(served, split);
        const double buffers =
            buffer_bytes(served, split, rows, std::max<int64_t>(batch, 9));
        const double of_page = position_bytes(served, split) * page_positions;
        const double left = options.memory - weights - buffers;
        if (weights > options.memory) {
          refuse(weights - options.memory,
                 "memory for weights: " + bytes_text(weights) +
                     " of each device with " + mesh_text(split) + ", of " +
                     bytes_text(options.memory) + " that there are");
          continue;
        }
        if (left < of_page * double(pages_of_longest)) {
          refuse(of_page * double(pages_of_longest) - left,
                 "room for keys and values of one sequence: " +
                     bytes_text(of_page * double(pages_of_longest)) +
                     " for a request of " + std::to_string(positions) +
                     " positions, where weights (" + bytes_text(weights) +
                     ") and buffers (" + bytes_text(buffers) + ") leave " +
                     bytes_text(std::max(left, 0.0)) + " of each device with " +
                     mesh_text(split));
          continue;
        }
        plan.pages = std::min(int64_t(std::min(left / of_page, 1e9)),
                              batch * pages_of_longest);
        plans.push_back(plan);
      }
  if (plans.empty() && binding.empty())
    binding = "rows of a step: none of those that may be chosen is as many as "
              "the sequences";
  return plans;
}

static std::unique_ptr<StepTimes> times_of(const ServingSearchOptions &options,
                                           const ReplicaPlan &plan) {
  if (options.served)
    return std::make_unique<ModelledStepTimes>(*options.served, options.device,
                                               plan.split);
  return std::make_unique<MeasuredStepTimes>(*options.measured);
}

Simulation plan::play(const ServingSearchOptions &options,
                      const ReplicaPlan &plan, Role role, const Trace &trace) {
  SimulationOptions wanted;
  wanted.limits = {.max_sequences = plan.max_sequences,
                   .max_rows = plan.max_rows,
                   .max_outputs =
                       options.max_outputs
                           ? options.max_outputs
                           : std::min(plan.max_rows,
                                      std::max<int64_t>(plan.max_sequences, 9)),
                   .max_positions = longest(trace),
                   .pages = plan.pages,
                   .prefill_chunk = options.prefill_chunk,
                   .prefix_cache = options.prefix_cache};
  wanted.step_overhead = options.step_overhead;
  wanted.guesses = options.guesses;
  wanted.acceptance = options.acceptance;
  wanted.imported = role == Role::answers;
  const auto times = times_of(options, plan);
  if (role != Role::prompts) {
    Simulation played = simulate(trace, *times, wanted);
    // Behind the first token, the text waits for its keys and values, too.
    if (role == Role::answers)
      for (size_t at = 0; at < trace.size(); ++at)
        if (played.requests[at].tokens > 1)
          played.requests[at].first_token -=
              transfer_seconds(options, plan.split, double(trace[at].prompt));
    return played;
  }
  Trace first = trace;
  for (ServedRequest &request : first)
    request.answer = 1;
  return simulate(first, *times, wanted);
}

double plan::saturated_rate(const ServingSearchOptions &options,
                            const ReplicaPlan &plan, Role role) {
  return double(options.trace.size()) /
         play(options, plan, role, at_once(options.trace)).seconds;
}

static bool meets(const ServingSearchOptions &options, const ReplicaPlan &plan,
                  Role role, const Trace &trace) {
  const ServingLimits &limits = options.limits;
  const Simulation played = play(options, plan, role, trace);
  return (role == Role::answers ||
          to_first_of(played, limits.part) <= limits.to_first) &&
         (role == Role::prompts ||
          between_of(played, limits.part) <= limits.between);
}

static bool has_limits(const ServingLimits &limits, Role role) {
  return (role != Role::answers && std::isfinite(limits.to_first)) ||
         (role != Role::prompts && std::isfinite(limits.between));
}

/// Up to the saturated rate.
static double limited_rate(const ServingSearchOptions &options,
                           const ReplicaPlan &plan, Role role, double most) {
  if (!has_limits(options.limits, role))
    return most;
  auto is_right = [&](double rate) {
    return meets(options, plan, role, at_rate(options.trace, rate));
  };
  if (is_right(most))
    return most;
  double low = most, high = most;
  do {
    high = low;
    low /= 4;
    if (low < most * least_part)
      return 0;
  } while (!is_right(low));
  while (high - low > options.precision * low) {
    const double middle = (low + high) / 2;
    (is_right(middle) ? low : high) = middle;
  }
  return low;
}

double plan::replica_rate(const ServingSearchOptions &options,
                          const ReplicaPlan &plan, Role role) {
  return limited_rate(options, plan, role, saturated_rate(options, plan, role));
}

namespace {
/// Somebody wants the best so far.
struct Stopped {};

struct RatedReplica {
  ReplicaPlan plan;
  double bound = 0;
  /// Of those that are as good, the first stays the first.
  size_t order = 0;
};

class ServingSearch {
public:
  explicit ServingSearch(const ServingSearchOptions &options)
      : options(options) {}

  ServingSearchResult run();

private:
  std::vector<RatedReplica> candidates(const std::vector<ReplicaPlan> &plans,
                                       Role role);
  void search_colocated(const std::vector<ReplicaPlan> &plans);
  void search_disaggregated(const std::vector<ReplicaPlan> &plans);
  std::map<int64_t, Pool> best_by_size(const std::vector<ReplicaPlan> &plans,
                                       Role role);
  void offer(const ServingPlan &plan);
  void count();
  void explain(const std::vector<ReplicaPlan> &plans);

  const ServingSearchOptions &options;
  uint64_t total = 0, done = 0;
  ServingSearchResult result;
};
} // namespace

void ServingSearch::count() {
  ++result.simulations;
  if (!options.progress)
    return;
  std::string best;
  if (result.best)
    best = "best " + fixed_text(result.best->rate, 2) + " requests/s: " +
           (result.best->pools.size() == 1
                ? mesh_text(result.best->pools[0].plan.split)
                : mesh_text(result.best->pools[0].plan.split) + " and " +
                      mesh_text(result.best->pools[1].plan.split));
  try {
    options.progress(std::min(done, total), total, best);
  } catch (const Error &) {
    throw Stopped();
  }
}

void ServingSearch::offer(const ServingPlan &plan) {
  auto &of_kind =
      plan.pools.size() == 1 ? result.colocated : result.disaggregated;
  if (!of_kind || plan.rate > of_kind->rate)
    of_kind = plan;
  if (!result.best || plan.rate > result.best->rate)
    result.best = plan;
}

/// The highest bound first.
std::vector<RatedReplica>
ServingSearch::candidates(const std::vector<ReplicaPlan> &plans, Role role) {
  std::vector<RatedReplica> found;
  for (const ReplicaPlan &plan : plans) {
    count();
    ++done;
    const Trace once = at_once(options.trace);
    const Simulation played = play(options, plan, role, once);
    found.push_back({plan, double(once.size()) / played.seconds, found.size()});
    if (role == Role::both)
      result.front.push_back({plan, found.back().bound,
                              double(played.generated_tokens) / played.seconds,
                              between_of(played, options.limits.part)});
  }
  return found;
}

void ServingSearch::search_colocated(const std::vector<ReplicaPlan> &plans) {
  std::vector<RatedReplica> found = candidates(plans, Role::both);
  auto replicas = [&](const ReplicaPlan &plan) {
    return options.devices / plan.split.devices();
  };
  std::sort(found.begin(), found.end(),
            [&](const RatedReplica &a, const RatedReplica &b) {
              return std::tuple(-a.bound * double(replicas(a.plan)), a.order) <
                     std::tuple(-b.bound * double(replicas(b.plan)), b.order);
            });
  for (const RatedReplica &candidate : found) {
    const auto many = double(replicas(candidate.plan));
    if (result.colocated && candidate.bound * many <= result.colocated->rate)
      break;
    count();
    const double rate =
        limited_rate(options, candidate.plan, Role::both, candidate.bound);
    if (rate > 0)
      offer({{{candidate.plan, replicas(candidate.plan), rate}},
             rate * many,
             replicas(candidate.plan) * candidate.plan.split.devices(),
             0});
  }
}

/// Of replicas of so many devices, the one that serves most.
std::map<int64_t, Pool>
ServingSearch::best_by_size(const std::vector<ReplicaPlan> &plans, Role role) {
  std::vector<RatedReplica> found = candidates(plans, role);
  std::sort(found.begin(), found.end(),
            [](const RatedReplica &a, const RatedReplica &b) {
              return std::tuple(-a.bound, a.order) <
                     std::tuple(-b.bound, b.order);
            });
  std::map<int64_t, Pool> best;
  for (const RatedReplica &candidate : found) {
    Pool &of_size = best[candidate.plan.split.devices()];
    if (candidate.bound <= of_size.rate)
      continue;
    count();
    const double rate =
        limited_rate(options, candidate.plan, role, candidate.bound);
    if (rate > of_size.rate)
      of_size = {candidate.plan, 0, rate};
  }
  return best;
}

void ServingSearch::search_disaggregated(
    const std::vector<ReplicaPlan> &plans) {
  const auto prompts = best_by_size(plans, Role::prompts);
  const auto answers = best_by_size(plans, Role::answers);
  double mean_prompt = 0;
  for (const ServedRequest &request : options.trace)
    mean_prompt += double(request.prompt) / double(options.trace.size());
  for (const auto &[size, of_prompts] : prompts)
    for (const auto &[other_size, of_answers] : answers)
      for (int64_t many = 1; many * size < options.devices; ++many) {
        const int64_t others = (options.devices - many * size) / other_size;
        if (others == 0 || of_prompts.rate == 0 || of_answers.rate == 0)
          continue;
        ServingPlan plan;
        plan.pools = {of_prompts, of_answers};
        plan.pools[0].replicas = many;
        plan.pools[1].replicas = others;
        plan.rate = std::min(double(many) * of_prompts.rate,
                             double(others) * of_answers.rate);
        plan.devices = many * size + others * other_size;
        plan.transfer =
            transfer_seconds(options, of_answers.plan.split, mean_prompt);
        offer(plan);
      }
}

/// What binds where no setting serves anything within the limits.
void ServingSearch::explain(const std::vector<ReplicaPlan> &plans) {
  const double never = std::numeric_limits<double>::infinity();
  double first = never, between = never;
  std::string first_plan, between_plan;
  // Each request alone: as if others came long before and after.
  Trace alone = options.trace;
  const double apart = 1e6;
  for (size_t at = 0; at < alone.size(); ++at)
    alone[at].arrival = double(at) * apart;
  for (const ReplicaPlan &plan : plans) {
    count();
    const Simulation played = play(options, plan, Role::both, alone);
    auto take = [&](double value, double &best, std::string &where) {
      if (value >= best)
        return;
      best = value;
      where = mesh_text(plan.split) + ", " + std::to_string(plan.max_rows) +
              " rows a step";
    };
    take(to_first_of(played, options.limits.part), first, first_plan);
    take(between_of(played, options.limits.part), between, between_plan);
  }
  auto milliseconds = [](double seconds) {
    return fixed_text(seconds * 1e3, 2) + " ms";
  };
  if (first > options.limits.to_first)
    result.binding = "the time to the first token: " +
                     milliseconds(options.limits.to_first) +
                     " are less than the shortest that a prompt alone takes, " +
                     milliseconds(first) + " (" + first_plan + ")";
  else if (between > options.limits.between)
    result.binding =
        "the time between tokens: " + milliseconds(options.limits.between) +
        " are less than the shortest step of a text alone, " +
        milliseconds(between) + " (" + between_plan + ")";
  else
    result.binding = "both limits together: a prompt alone takes " +
                     milliseconds(first) + " (" + first_plan + "), a token " +
                     milliseconds(between) + " (" + between_plan +
                     "), and no setting has both";
}

ServingSearchResult ServingSearch::run() {
  const std::vector<ReplicaPlan> plans = replica_plans(options, result.binding);
  if (plans.empty())
    return std::move(result);
  const bool two =
      options.served && options.disaggregated && options.devices > 1;
  result.settings = plans.size();
  total = plans.size() * (two ? 3 : 1);
  try {
    search_colocated(plans);
    if (two)
      search_disaggregated(plans);
    if (!result.best)
      explain(plans);
  } catch (const Stopped &) {
    result.complete = false;
  }
  auto of_device = [](const SaturatedReplica &replica) {
    return replica.tokens_per_second / double(replica.plan.split.devices());
  };
  std::sort(result.front.begin(), result.front.end(),
            [&](const SaturatedReplica &a, const SaturatedReplica &b) {
              return std::tuple(a.between, -of_device(a)) <
                     std::tuple(b.between, -of_device(b));
            });
  std::vector<SaturatedReplica> front;
  for (const SaturatedReplica &replica : result.front) {
    if (!front.empty() && of_device(replica) <= of_device(front.back()))
      continue;
    front.push_back(replica);
  }
  result.front = std::move(front);
  return std::move(result);
}

ServingSearchResult plan::search_serving(const ServingSearchOptions &options) {
  return ServingSearch(options).run();
}
