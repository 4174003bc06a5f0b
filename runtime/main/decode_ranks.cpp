//===- decode_ranks.cpp - a program that decodes, on all of its ranks -----===//

#include "runtime/main/decode_ranks.h"

#include "runtime/comm/in_process.h"
#include "runtime/comm/message_passing.h"
#include "runtime/main/weights.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace baton {

namespace {

/// The steps that one driver decides about, for all ranks.
class Steps {
public:
  /// Of rank 0: the next one, and the tokens up to its last row.
  void publish(const BatonStep &next, std::span<const int32_t> tokens) {
    std::lock_guard lock(mutex);
    step = next;
    sequence = tokens;
    ++count;
    changed.notify_all();
  }

  /// Of the others: waits for the step with this number, counting from 1, and
  /// takes over the tokens.
  BatonStep take(uint64_t number, std::span<int32_t> tokens) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return count >= number; });
    // Nobody goes on to the next one without this rank.
    const size_t known = size_t(step.past) + step.rows;
    std::copy_n(sequence.begin(), known, tokens.begin());
    return step;
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  BatonStep step = {};
  std::span<const int32_t> sequence;
  uint64_t count = 0;
};

/// Feeds rank 0 with what the driver says, and tells the others.
class Leader : public StepDriver {
public:
  Leader(StepDriver &driver, Steps &steps, const std::atomic<bool> &stop)
      : driver(driver), steps(steps), stop(stop) {}

  BatonStep begin(std::span<int32_t> tokens) override {
    sequence = tokens;
    BatonStep step = driver.begin(tokens);
    steps.publish(step, sequence);
    return step;
  }

  BatonStep advance(const BatonStep &current, const Logits &logits) override {
    BatonStep step = {};
    try {
      if (failure)
        std::rethrow_exception(std::exchange(failure, nullptr));
      if (!stop.load(std::memory_order_relaxed))
        step = driver.advance(current, logits);
    } catch (...) {
      steps.publish({}, sequence);
      throw;
    }
    steps.publish(step, sequence);
    return step;
  }

  void observe(const BatonStep &step, uint32_t phase, uint32_t iteration,
               void *const *storages) override {
    // The other ranks need this one until the step ends.
    try {
      if (!failure)
        driver.observe(step, phase, iteration, storages);
    } catch (...) {
      failure = std::current_exception();
    }
  }

  void finish() noexcept override { driver.finish(); }

private:
  StepDriver &driver;
  Steps &steps;
  const std::atomic<bool> &stop;
  std::span<int32_t> sequence;
  std::exception_ptr failure;
};

class Follower : public StepDriver {
public:
  explicit Follower(Steps &steps) : steps(steps) {}

  BatonStep begin(std::span<int32_t> tokens) override {
    sequence = tokens;
    return steps.take(++number, sequence);
  }
  BatonStep advance(const BatonStep &, const Logits &) override {
    return steps.take(++number, sequence);
  }

private:
  Steps &steps;
  std::span<int32_t> sequence;
  uint64_t number = 0;
};

class RankExecution : public Execution {
public:
  RankExecution(const Metadata &metadata, const RankParameters &parameters,
                const ExecutionOptions &options, const Mesh &mesh)
      : Execution(metadata), each{std::max(1u, options.workers / mesh.ranks()),
                                  options.event_origin},
        world(mesh, Collective::parse(metadata.json, mesh),
              communicator_options(each.workers)) {
    for (uint32_t rank = 0; rank < mesh.ranks(); ++rank) {
      ExecutionOptions own = each;
      own.communicator = &world.rank(rank);
      ranks.push_back(make_execution(metadata, parameters[rank], own));
    }
  }

  ~RankExecution() override {
    stop = true;
    for (const auto &rank : ranks)
      rank->stop = true;
    ranks.clear();
  }

  unsigned workers() const override {
    return each.workers * static_cast<unsigned>(ranks.size());
  }
  void *const *storages() const override { return ranks.front()->storages(); }

  void start(StepDriver &driver, bool observed) override {
    steps = std::make_unique<Steps>();
    leader = std::make_unique<Leader>(driver, *steps, stop);
    followers.clear();
    ranks.front()->record(recorder);
    ranks.front()->start(*leader, observed);
    for (size_t rank = 1; rank < ranks.size(); ++rank)
      ranks[rank]->start(
          *followers.emplace_back(std::make_unique<Follower>(*steps)));
  }

  void wait() override {
    for (size_t rank = ranks.size(); rank-- > 0;)
      ranks[rank]->wait();
  }

private:
  static CommunicatorOptions communicator_options(unsigned workers) {
    CommunicatorOptions result;
    result.workers = workers;
    return result;
  }

  const ExecutionOptions each;
  InProcessWorld world;
  std::vector<std::unique_ptr<Execution>> ranks;
  std::unique_ptr<Steps> steps;
  std::unique_ptr<Leader> leader;
  std::vector<std::unique_ptr<Follower>> followers;
};

} // namespace

RankParameters load_rank_weights(const Metadata &metadata,
                                 const RunOptions &options) {
  RankParameters result;
  for (uint32_t rank = 0; rank < Mesh::parse(metadata.json).ranks(); ++rank)
    result.push_back(load_weights(metadata, options, rank));
  return result;
}

RankParameters random_rank_weights(const Metadata &metadata, unsigned threads) {
  RankParameters result;
  for (uint32_t rank = 0; rank < Mesh::parse(metadata.json).ranks(); ++rank)
    result.push_back(Parameters::random(metadata.json, rank, threads));
  return result;
}

std::unique_ptr<Execution>
make_rank_execution(const Metadata &metadata, const RankParameters &parameters,
                    const RunOptions &options, unsigned workers) {
  Mesh mesh = Mesh::parse(metadata.json);
  if (mesh.ranks() == 1)
    return make_execution(metadata, parameters.front(), options, workers);
  if (launched_ranks().value_or(1) != 1)
    throw Error("mpirun: ranks of a program that decodes are threads of one "
                "process; start it without mpirun");
  return std::make_unique<RankExecution>(
      metadata, parameters,
      ExecutionOptions{workers, static_cast<uint32_t>(options.event_origin)},
      mesh);
}

} // namespace baton
