//===- decode_ranks.cpp - a program that decodes, on all of its ranks -----===//

#include "runtime/main/decode_ranks.h"

#include "runtime/comm/in_process.h"
#include "runtime/comm/message_passing.h"
#include "runtime/decode/decoding_stages.h"
#include "runtime/main/handshake.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/ranks.h"
#include "runtime/main/weights.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace baton {

namespace {

/// What a step reads: tokens by position, or of a driver of many sequences,
/// what it has written for the step's rows.
struct StepData {
  std::span<int32_t> tokens = {};
  const BatchInputs *inputs = nullptr;
  /// Entries of a sequence's line of pages, and panels of logits of which steps
  /// may leave some out.
  size_t line = 0, panels = 0;
};

/// What goes into the memory of a rank other than the leader, before a step.
struct RankWrite {
  uint32_t rank;
  uint64_t storage, offset;
  std::vector<std::byte> bytes;
};
using RankWrites = std::vector<RankWrite>;

/// The steps that one driver decides about, for all ranks.
class Steps {
public:
  virtual ~Steps() = default;
  /// Of the rank with the logits: the next one, what it reads, and what ranks
  /// copy to their memory before it.
  virtual void publish(const BatonStep &next, const StepData &data,
                       RankWrites writes) = 0;
  /// Of the others: waits for the step with this number, counting from 1, and
  /// takes over what it reads, and what is for the rank of the execution.
  virtual BatonStep take(uint64_t number, const StepData &data, uint32_t rank,
                         Execution &execution) = 0;
};

/// Arrays that have a number for each row of a step.
std::vector<int32_t *> rows_of(const BatchInputs &inputs) {
  std::vector<int32_t *> rows = {inputs.tokens, inputs.positions,
                                 inputs.sequences, inputs.slots};
  if (inputs.adapter_places)
    rows.insert(rows.end(), {inputs.adapter_places, inputs.adapter_counts});
  return rows;
}

/// Calls `visit` with each array that a step's rows read: theirs, and of their
/// sequences the pages up to them. What it writes to one array, where it does,
/// says where the next ones lie. Tokens are drawn on one rank alone.
void visit_inputs(
    const BatonStep &step, const StepData &data,
    const std::function<void(std::span<int32_t> numbers)> &visit) {
  const BatchInputs &inputs = *data.inputs;
  for (int32_t *numbers : rows_of(inputs))
    visit({numbers, step.rows});
  for (uint32_t row = 0; row < step.rows; ++row) {
    // Of rows behind one another in a sequence the last one sees most.
    if (row + 1 < step.rows &&
        inputs.sequences[row + 1] == inputs.sequences[row])
      continue;
    visit({inputs.pages + inputs.sequences[row] * data.line,
           pages_of(uint64_t(inputs.positions[row]) + 1)});
  }
}

void append_numbers(std::string &text, std::span<const int32_t> numbers) {
  text.append(reinterpret_cast<const char *>(numbers.data()),
              numbers.size_bytes());
}

/// Of ranks that are threads.
class LocalSteps : public Steps {
public:
  void publish(const BatonStep &next, const StepData &data,
               RankWrites writes) override {
    std::lock_guard lock(mutex);
    step = next;
    published = data;
    written = std::move(writes);
    ++count;
    changed.notify_all();
  }

  BatonStep take(uint64_t number, const StepData &data, uint32_t rank,
                 Execution &execution) override {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return count >= number; });
    // Nobody goes on to the next one without this rank.
    for (const RankWrite &write : written)
      if (write.rank == rank)
        execution.write_of_rank(rank, write.storage, write.offset, write.bytes);
    if (data.inputs)
      copy_inputs(data);
    else
      std::copy_n(published.tokens.begin(), size_t(step.past) + step.rows,
                  data.tokens.begin());
    return step;
  }

private:
  void copy_inputs(const StepData &data) const {
    const int32_t *const from_pages = published.inputs->pages;
    const int32_t *const to_pages = data.inputs->pages;
    const std::vector<int32_t *> rows = rows_of(*published.inputs);
    size_t number = 0;
    visit_inputs(step, data, [&](std::span<int32_t> numbers) {
      std::copy_n(number < rows.size()
                      ? rows[number]
                      : from_pages + (numbers.data() - to_pages),
                  numbers.size(), numbers.begin());
      ++number;
    });
  }

  std::mutex mutex;
  std::condition_variable changed;
  BatonStep step = {};
  StepData published;
  RankWrites written;
  uint64_t count = 0;
};

/// Of ranks that are processes: all meet between two steps.
class SharedSteps : public Steps {
public:
  SharedSteps(Communicator &communicator, uint32_t leader)
      : communicator(communicator), leader(leader) {}

  void publish(const BatonStep &next, const StepData &data,
               RankWrites writes) override {
    std::string text(reinterpret_cast<const char *>(&next), sizeof(next));
    if (data.inputs)
      visit_inputs(next, data, [&](std::span<int32_t> numbers) {
        append_numbers(text, numbers);
      });
    else
      append_numbers(text, data.tokens.subspan(next.past, next.rows));
    for (const RankWrite &write : writes) {
      const WriteBegin begin = {write.rank, write.storage, write.offset,
                                write.bytes.size()};
      text.append(reinterpret_cast<const char *>(&begin), sizeof(begin));
      text.append(reinterpret_cast<const char *>(write.bytes.data()),
                  write.bytes.size());
    }
    communicator.share(text, kWhat);
  }

  BatonStep take(uint64_t, const StepData &data, uint32_t rank,
                 Execution &execution) override {
    const std::string text = communicator.share("", kWhat).at(leader);
    std::string_view rest = text;
    auto read = [&](void *to, size_t bytes) {
      if (rest.size() < bytes)
        fail();
      std::memcpy(to, rest.data(), bytes);
      rest.remove_prefix(bytes);
    };
    BatonStep step = {};
    read(&step, sizeof(step));
    if (data.inputs) {
      visit_inputs(step, data, [&](std::span<int32_t> numbers) {
        read(numbers.data(), numbers.size_bytes());
      });
    } else {
      if (size_t(step.past) + step.rows > data.tokens.size())
        fail();
      read(data.tokens.data() + step.past, step.rows * sizeof(int32_t));
    }
    while (!rest.empty()) {
      WriteBegin begin;
      read(&begin, sizeof(begin));
      if (rest.size() < begin.bytes)
        fail();
      if (begin.rank == rank)
        execution.write_of_rank(
            rank, begin.storage, begin.offset,
            std::as_bytes(std::span(rest.data(), size_t(begin.bytes))));
      rest.remove_prefix(begin.bytes);
    }
    return step;
  }

  /// What a run is like.
  struct Run {
    /// Whether its steps are of a driver that provides inputs.
    bool has_inputs;
    /// See Execution::adapter_ranks.
    uint32_t adapter_ranks;
  };
  /// Of the rank with the logits: a run begins, or none does any more.
  void begin_run(const Run &run) {
    communicator.share((run.has_inputs ? "of many " : "of one ") +
                           std::to_string(run.adapter_ranks),
                       kRun);
  }
  void end_runs() { communicator.share("", kRun); }
  /// Of the others: nothing behind the last run.
  std::optional<Run> next_run() {
    const std::string text =
        communicator.share("", kRun, {}, Communicator::Patience::Endless)
            .at(leader);
    if (text.empty())
      return std::nullopt;
    return Run{text.starts_with("of many "),
               static_cast<uint32_t>(
                   std::stoul(text.substr(text.find_last_of(' ') + 1)))};
  }

private:
  /// Before the bytes of a RankWrite.
  struct WriteBegin {
    uint64_t rank, storage, offset, bytes;
  };

  static constexpr const char *kWhat = "the begin of a step",
                              *kRun = "the begin of a run";

  [[noreturn]] void fail() const {
    throw Error("rank " + std::to_string(leader) +
                " makes other steps; the ranks do not run the same program");
  }

  Communicator &communicator;
  uint32_t leader;
};

/// Feeds the rank with the logits with what the driver says, and tells the
/// others.
class Leader : public StepDriver {
public:
  /// The driver may leave something in `writes` when it makes a step.
  Leader(StepDriver &driver, Steps &steps, Communicator &communicator,
         const std::atomic<bool> &stop, RankWrites &writes,
         const StepData &data)
      : driver(driver), steps(steps), communicator(communicator), stop(stop),
        writes(writes), data(data) {}

  BatonStep begin(std::span<int32_t> tokens) override {
    data.tokens = tokens;
    BatonStep step = driver.begin(tokens);
    steps.publish(step, data, std::exchange(writes, {}));
    communicator.set_step(1);
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
      steps.publish({}, data, std::exchange(writes, {}));
      throw;
    }
    steps.publish(step, data, std::exchange(writes, {}));
    communicator.set_step(communicator.step() + 1);
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

  bool provides_inputs() const override { return driver.provides_inputs(); }
  bool needs_logits() const override { return driver.needs_logits(); }
  void finish() noexcept override { driver.finish(); }

private:
  StepDriver &driver;
  Steps &steps;
  Communicator &communicator;
  const std::atomic<bool> &stop;
  RankWrites &writes;
  StepData data;
  std::exception_ptr failure;
};

class Follower : public StepDriver {
public:
  Follower(Steps &steps, Communicator &communicator, Execution &execution,
           const StepData &data)
      : steps(steps), communicator(communicator), execution(execution),
        data(data) {}

  BatonStep begin(std::span<int32_t> tokens) override {
    data.tokens = tokens;
    // Nobody reads this rank's logits: it leaves all of them out.
    if (data.inputs && data.inputs->wanted_panels)
      std::fill_n(data.inputs->wanted_panels, data.panels + 1, 0);
    return next();
  }
  bool provides_inputs() const override { return data.inputs; }
  bool needs_logits() const override { return false; }
  BatonStep advance(const BatonStep &, const Logits &) override {
    return next();
  }

private:
  BatonStep next() {
    BatonStep step = steps.take(++number, data, communicator.rank(), execution);
    communicator.set_step(number);
    return step;
  }

  Steps &steps;
  Communicator &communicator;
  Execution &execution;
  StepData data;
  uint64_t number = 0;
};

/// Where a rank's steps read what its driver provides, if it does.
StepData data_of(const Execution &execution, const Metadata &metadata,
                 bool provides_inputs) {
  return provides_inputs ? StepData{{},
                                    &execution.inputs(),
                                    pages_of(metadata.max_seq),
                                    batch_capacities(metadata, 0).logit_panels}
                         : StepData{};
}

constexpr const char *kPages = "the number of pages";

/// All ranks, each with threads of this process.
class RankExecution : public Execution {
public:
  RankExecution(const Metadata &metadata, const RankParameters &parameters,
                const ExecutionOptions &options, const RankOptions &ranks_as,
                const Mesh &mesh)
      : Execution(metadata, options),
        each{std::max(1u, options.workers / mesh.ranks()),
             options.event_origin,
             nullptr,
             {},
             options.pages},
        world(mesh, Collective::parse(metadata.json, mesh),
              communicator_options(
                  ranks_as, Message::parse(metadata.json, mesh), each.workers)),
        with_logits(rank_with_logits(metadata.json, mesh)) {
    for (uint32_t rank = 0; rank < mesh.ranks(); ++rank) {
      ExecutionOptions own = each;
      own.communicator = &world.rank(rank);
      ranks.push_back(make_execution(metadata, parameters[rank], own));
    }
    step_inputs = ranks[with_logits]->inputs();
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
  void *const *storages() const override {
    return ranks[with_logits]->storages();
  }
  void write_of_rank(uint32_t rank, size_t storage, uint64_t offset,
                     std::span<const std::byte> bytes) override {
    if (rank == with_logits)
      ranks[rank]->write_of_rank(rank, storage, offset, bytes);
    else
      writes.push_back({rank, storage, offset, {bytes.begin(), bytes.end()}});
  }

  void start(StepDriver &driver, bool observed) override {
    steps = std::make_unique<LocalSteps>();
    auto data = [&](uint32_t rank) {
      return data_of(*ranks[rank], metadata, driver.provides_inputs());
    };
    leader = std::make_unique<Leader>(driver, *steps, world.rank(with_logits),
                                      stop, writes, data(with_logits));
    followers.clear();
    for (const auto &rank : ranks)
      rank->adapter_ranks = adapter_ranks;
    ranks[with_logits]->record(recorder);
    ranks[with_logits]->start(*leader, observed);
    for (uint32_t rank = 0; rank < ranks.size(); ++rank)
      if (rank != with_logits)
        ranks[rank]->start(*followers.emplace_back(std::make_unique<Follower>(
            *steps, world.rank(rank), *ranks[rank], data(rank))));
  }

  void wait() override {
    for (size_t rank = ranks.size(); rank-- > 0;)
      if (rank != with_logits)
        ranks[rank]->wait();
    ranks[with_logits]->wait();
  }

private:
  const ExecutionOptions each;
  InProcessWorld world;
  const uint32_t with_logits;
  std::vector<std::unique_ptr<Execution>> ranks;
  std::unique_ptr<Steps> steps;
  /// For the next step.
  RankWrites writes;
  std::unique_ptr<Leader> leader;
  std::vector<std::unique_ptr<Follower>> followers;
};

/// The rank with the logits, where the others are processes.
class LeadingExecution : public Execution {
public:
  LeadingExecution(const Metadata &metadata, const Parameters &parameters,
                   const ExecutionOptions &options)
      : Execution(metadata, {.pages = options.pages}),
        steps(*options.communicator, options.communicator->rank()),
        communicator(*options.communicator),
        rank(make_execution(metadata, parameters, options)) {
    step_inputs = rank->inputs();
    communicator.share(std::to_string(options.pages), kPages);
  }
  ~LeadingExecution() override {
    try {
      steps.end_runs();
    } catch (const std::exception &) {
      // Others that are gone need not be told.
    }
  }

  unsigned workers() const override { return rank->workers(); }
  void *const *storages() const override { return rank->storages(); }
  void write_of_rank(uint32_t of, size_t storage, uint64_t offset,
                     std::span<const std::byte> bytes) override {
    if (of == communicator.rank())
      rank->write_of_rank(of, storage, offset, bytes);
    else
      writes.push_back({of, storage, offset, {bytes.begin(), bytes.end()}});
  }

  void start(StepDriver &driver, bool observed) override {
    steps.begin_run({driver.provides_inputs(), adapter_ranks});
    rank->adapter_ranks = adapter_ranks;
    leader = std::make_unique<Leader>(
        driver, steps, communicator, stop, writes,
        data_of(*rank, metadata, driver.provides_inputs()));
    rank->record(recorder);
    rank->start(*leader, observed);
  }
  void wait() override { rank->wait(); }

private:
  SharedSteps steps;
  Communicator &communicator;
  /// For the next step.
  RankWrites writes;
  std::unique_ptr<Leader> leader;
  std::unique_ptr<Execution> rank;
};

/// Makes the steps of the rank with the logits, in a process of another one.
void follow(const Metadata &metadata, const DecodeRanks &ranks,
            const RunOptions &run, Communicator &communicator,
            unsigned workers) {
  RunOptions quiet = run;
  quiet.quiet = true;
  RankParameters parameters = ranks.load_weights(quiet);
  const uint32_t leader = rank_with_logits(metadata.json, communicator.mesh());
  // It reads its weights first, and what they leave says how many there are.
  const std::string pages =
      communicator.share("", kPages, {}, Communicator::Patience::Endless)
          .at(leader);
  ExecutionOptions options{workers,
                           static_cast<uint32_t>(run.event_origin),
                           &communicator,
                           {},
                           std::stoull(pages)};
  std::unique_ptr<Execution> execution =
      make_execution(metadata, parameters.front(), options);
  SharedSteps steps(communicator, leader);
  // The one that speaks ends all when there is a signal.
  std::atomic<bool> interrupted = false;
  Interruptible interruptible(interrupted);
  while (std::optional<SharedSteps::Run> next = steps.next_run()) {
    execution->adapter_ranks = next->adapter_ranks;
    Follower follower(steps, communicator, *execution,
                      data_of(*execution, metadata, next->has_inputs));
    execution->run(follower);
  }
}

} // namespace

DecodeRanks::DecodeRanks(const Metadata &metadata, const RankOptions &options)
    : metadata(metadata), options(options) {
  for (uint32_t rank = 0; rank < Mesh::parse(metadata.json).ranks(); ++rank)
    ranks.push_back(rank);
}

DecodeRanks::DecodeRanks(const Metadata &metadata, const RankOptions &options,
                         Communicator &communicator, unsigned workers)
    : metadata(metadata), options(options), ranks({communicator.rank()}),
      communicator(&communicator), own_workers(workers) {}

RankParameters
DecodeRanks::load_weights(const RunOptions &run,
                          const std::optional<LayerLoading> &layers) const {
  RankParameters result;
  for (uint32_t rank : ranks)
    result.push_back(baton::load_weights(metadata, run, rank, layers));
  return result;
}

RankParameters
DecodeRanks::random_weights(unsigned threads,
                            const std::optional<LayerLoading> &layers) const {
  RankParameters result;
  for (uint32_t rank : ranks)
    result.push_back(
        Parameters::random(metadata.json, rank, threads, rank, layers));
  return result;
}

std::unique_ptr<Execution> DecodeRanks::make_execution(
    const RankParameters &parameters, const RunOptions &run, unsigned workers,
    uint64_t pages, const std::optional<OffloadedPages> &layer_pages) const {
  const auto origin = static_cast<uint32_t>(run.event_origin);
  if (communicator)
    return std::make_unique<LeadingExecution>(
        metadata, parameters.front(),
        ExecutionOptions{own_workers, origin, communicator, {}, pages});
  if (ranks.size() == 1)
    return baton::make_execution(metadata, parameters.front(), run, workers,
                                 pages, layer_pages);
  return std::make_unique<RankExecution>(
      metadata, parameters,
      ExecutionOptions{workers, origin, nullptr, {}, pages}, options,
      Mesh::parse(metadata.json));
}

void on_decode_ranks(const Metadata &metadata, const RunOptions &run,
                     const RankOptions &options,
                     const std::function<void(const DecodeRanks &)> &drive) {
  const Mesh mesh = Mesh::parse(metadata.json);
  if (mesh.ranks() > 1 || options.ranks)
    check_ranks(mesh, options);
  if (mesh.ranks() == 1 || launched_ranks().value_or(1) == 1)
    return drive(DecodeRanks(metadata, options));
  on_ranks(metadata, run, options, [&](Ranks &ranks) {
    ranks.run([&](Communicator *communicator, unsigned workers) {
      shake_hands(*communicator, identity(metadata, run));
      DecodeRanks own(metadata, options, *communicator, workers);
      if (communicator->rank() == rank_with_logits(metadata.json, mesh))
        drive(own);
      else
        follow(metadata, own, run, *communicator, workers);
    });
  });
}

} // namespace baton
