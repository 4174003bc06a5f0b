//===- arrivals.cpp - random requests come to a compiled program ----------===//
//
// arrivals.py links it with what batonc makes of a model, in the place of the
// runtime's main.
//
//   FILE WEIGHTS TEXTS SEED COUNT WORKERS
//
// In a program of many sequences COUNT requests come and are cancelled between
// its steps, once for each number in WORKERS, as "1,2,3", with chunks and pages
// drawn for each run. On the host pages change places between steps, and those
// that nobody has hold NaN. Wherever the same tokens stand before a row, its
// logits have to have the same bits, and a request the same tokens. What there
// was is written to TEXTS: two lines for each text, its tokens and a hash of
// the logits behind each, 0 where no row had any.
//
// A program of one sequence computes these texts, and compares.
//
//===----------------------------------------------------------------------===//

#include "runtime/batch/batch_driver.h"
#include "runtime/error.h"
#include "runtime/execute/execution.h"
#include "runtime/main/weights.h"
#include "test/e2e/linked_program.h"
#include "test/runtime/batch/toy_constraints.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace baton {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

/// Of the bits; never 0.
uint64_t hash_of(std::span<const float> logits) {
  uint64_t hash = 1;
  for (float logit : logits)
    hash = mix(hash, std::bit_cast<uint32_t>(logit));
  return hash | 1;
}

/// Of tokens, from the first on.
constexpr uint64_t no_tokens = 7;
uint64_t behind(uint64_t tokens, int32_t token) {
  return mix(tokens, static_cast<uint64_t>(token) + 1);
}

template <typename... Words> std::string joined(const Words &...words) {
  std::ostringstream text;
  (text << ... << words);
  return text.str();
}
template <typename... Words> [[noreturn]] void fail(const Words &...words) {
  throw Error(joined(words...));
}
template <typename... Words> void print(const Words &...words) {
  std::puts(joined(words...).c_str());
}

/// What logits there were behind tokens, by the hashes of both.
class Rows {
public:
  void see(uint64_t tokens, uint64_t logits, int32_t position) {
    auto [place, is_new] = hashes.emplace(tokens, logits);
    if (!is_new && place->second != logits)
      fail("position ", position, ": other logits behind the same tokens");
    ++count;
  }
  /// 0: there were none.
  uint64_t behind(uint64_t tokens) const {
    auto found = hashes.find(tokens);
    return found == hashes.end() ? 0 : found->second;
  }
  size_t size() const { return hashes.size(); }

  uint64_t count = 0;

private:
  std::unordered_map<uint64_t, uint64_t> hashes;
};

/// Whether this thread decides about a step.
thread_local bool decides = false;

/// All tokens. Masks are made beside steps, not between two.
std::shared_ptr<const TokenConstraint> made_beside_steps() {
  return test::watched([](std::span<uint32_t>) {
    if (decides)
      throw std::logic_error("a mask is made between two steps");
  });
}

using Random = std::mt19937_64;

/// Pages of a program on the host that change places between steps: the driver
/// goes on to know them by the numbers that they had.
class MovedPages {
public:
  MovedPages(const Metadata &metadata, const Execution &execution,
             const BatchCapacities &shape)
      : real(execution.inputs()), seen(real), places(shape.pages) {
    std::iota(places.begin(), places.end(), 0);
    void *const *storages = execution.storages();
    if (!storages)
      return;
    for (size_t i = 0; i < metadata.storages.size(); ++i)
      if (metadata.storages[i].paged)
        states.push_back({static_cast<std::byte *>(storages[i]),
                          metadata.storages[i].bytes});
    slots.resize(shape.max_rows);
    lines.resize(shape.max_sequences * shape.line_entries());
    seen.slots = slots.data();
    seen.pages = lines.data();
  }

  /// Whether pages can be moved.
  bool has_host() const { return !states.empty(); }
  /// What the driver writes.
  const BatchInputs &inputs() const { return seen; }

  /// Tells the program of a step where its pages lie.
  void translate() {
    if (!has_host())
      return;
    for (size_t row = 0; row < slots.size(); ++row)
      real.slots[row] =
          slots[row] < 0 ? slots[row]
                         : int32_t(places[size_t(slots[row]) / page_positions] *
                                       page_positions +
                                   size_t(slots[row]) % page_positions);
    for (size_t entry = 0; entry < lines.size(); ++entry)
      real.pages[entry] = lines[entry] < 0
                              ? lines[entry]
                              : int32_t(places[size_t(lines[entry])]);
  }
  /// While no step runs.
  void shuffle(Random &random) {
    for (size_t page = places.size(); page-- > 1;) {
      const size_t other = random() % (page + 1);
      for (const State &state : states)
        if (other != page)
          std::swap_ranges(state.page(places[page]),
                           state.page(places[page]) + state.bytes,
                           state.page(places[other]));
      std::swap(places[page], places[other]);
    }
  }
  /// Makes NaN, of all types, of pages that nobody has.
  void spoil(const PagePool &pool) {
    for (size_t page = 0; page < places.size(); ++page)
      if (const auto number = static_cast<int32_t>(page);
          pool.references(number) == 0 && !pool.is_published(number))
        for (const State &state : states)
          std::fill_n(state.page(places[page]), state.bytes, std::byte(0xff));
  }

private:
  struct State {
    std::byte *first;
    uint64_t bytes;
    std::byte *page(size_t place) const { return first + place * bytes; }
  };

  const BatchInputs real;
  BatchInputs seen;
  std::vector<State> states;
  std::vector<int32_t> slots, lines;
  /// Of each page that the driver knows.
  std::vector<size_t> places;
};

/// Passes a driver's steps on and looks at their logits. Of each slot it knows
/// which tokens end there, as a page may have come from another text. Before
/// some steps the program ends, so that pages can be moved.
class WatchedSteps : public StepDriver {
public:
  WatchedSteps(BatchDriver &driver, const BatchCapacities &shape,
               MovedPages &moved, Rows &rows, Random &random,
               std::function<void()> between)
      : driver(driver), shape(shape), moved(moved), inputs(moved.inputs()),
        rows(rows), random(random), between(std::move(between)),
        ending(shape.pages * page_positions) {}

  BatonStep begin(std::span<int32_t> tokens) override {
    const BatonStep step =
        next ? *next : decide([&] { return driver.begin(tokens); });
    next.reset();
    moved.translate();
    return step;
  }
  BatonStep advance(const BatonStep &current, const Logits &logits) override {
    for (uint32_t row = 0; row < current.rows; ++row)
      ending[size_t(inputs.slots[row])] =
          behind(before(row), inputs.tokens[row]);
    for (uint32_t output = 0; output < current.outputs; ++output) {
      const uint32_t row = current.rows - current.outputs + output;
      rows.see(ending[size_t(inputs.slots[row])], hash_of(logits.row(output)),
               inputs.positions[row]);
    }
    between();
    moved.spoil(driver.pool());
    const BatonStep step =
        decide([&] { return driver.advance(current, logits); });
    if (step.rows && moved.has_host() && random() % 8 == 0) {
      next = step;
      return {};
    }
    moved.translate();
    return step;
  }
  bool provides_inputs() const override { return true; }
  void finish() noexcept override {
    if (!next)
      driver.finish();
  }

private:
  static BatonStep decide(const std::function<BatonStep()> &next) {
    decides = true;
    const BatonStep step = next();
    decides = false;
    return step;
  }
  uint64_t before(uint32_t row) const {
    const auto position = static_cast<size_t>(inputs.positions[row]);
    if (position == 0)
      return no_tokens;
    const size_t entry = (position - 1) / page_positions;
    const int32_t page =
        inputs.pages[static_cast<size_t>(inputs.sequences[row]) *
                         shape.line_entries() +
                     entry];
    return ending[static_cast<size_t>(page) * page_positions +
                  (position - 1) % page_positions];
  }

  BatchDriver &driver;
  const BatchCapacities &shape;
  MovedPages &moved;
  const BatchInputs &inputs;
  Rows &rows;
  Random &random;
  const std::function<void()> between;
  std::vector<uint64_t> ending;
  std::optional<BatonStep> next;
};

std::vector<int32_t> random_tokens(Random &random, size_t size,
                                   uint64_t vocabulary) {
  std::vector<int32_t> tokens(size);
  for (int32_t &token : tokens)
    token = static_cast<int32_t>(random() % vocabulary);
  return tokens;
}

/// Half of the prompts begin alike, some for more than a page.
std::vector<BatchRequest> random_requests(Random &random, size_t count,
                                          const Metadata &metadata) {
  const uint64_t vocabulary = metadata.vocabulary;
  const uint64_t longest =
      std::min<uint64_t>(metadata.batch->max_positions - 24, 150);
  std::vector<int32_t> common = random_tokens(random, longest, vocabulary);
  std::vector<BatchRequest> requests(count);
  for (size_t number = 0; number < count; ++number) {
    BatchRequest &request = requests[number];
    request.id = std::to_string(number);
    const size_t shared = random() % 2 ? random() % longest : 0;
    request.prompt.assign(common.begin(),
                          common.begin() + static_cast<ptrdiff_t>(shared));
    // Many end shortly before a page does, and come to need the next.
    const std::array<size_t, 4> own = {1 + random() % 8, 1 + random() % 40,
                                       page_positions - shared % page_positions,
                                       1 + random() % longest};
    const size_t more = std::min(own[random() % 4], longest - shared);
    for (int32_t token : random_tokens(random, more, vocabulary))
      request.prompt.push_back(token);
    request.max_new_tokens = 1 + random() % (random() % 2 ? 8 : 24);
    request.sampling.seed = random();
    if (random() % 2)
      request.sampling.temperature = 0.9;
    if (random() % 4 == 0)
      request.sampling.top_p = 0.9;
    if (random() % 4 == 0)
      request.sampling.repetition_penalty = 1.3;
    if (random() % 4 == 0)
      request.n = 2 + static_cast<uint32_t>(random() % 2);
    if (random() % 4 == 0)
      request.logprobs = static_cast<uint32_t>(random() % 4);
    if (random() % 5 == 0)
      request.stop_tokens = random_tokens(random, 8, vocabulary);
    if (random() % 5 == 0)
      request.constraint =
          random() % 4 == 0 ? made_beside_steps()
          : random() % 4    ? test::multiples_of(2 + int32_t(random() % 40))
                         : test::just(random_tokens(random, 1 + random() % 12,
                                                    vocabulary));
    // The first come to need two pages each, which few pages do not have.
    if (number < 4) {
      request.prompt = random_tokens(random, page_positions - 4, vocabulary);
      request.max_new_tokens = 24;
      request.stop_tokens = {};
    }
    if (request.prompt.size() > 1 && random() % 4 == 0) {
      const uint64_t last = request.prompt.size() - 1;
      request.score_from = last - random() % std::min<uint64_t>(last, 30);
    }
  }
  return requests;
}

struct RunSettings {
  unsigned workers;
  uint32_t prefill_chunk;
  uint64_t pages;
  bool prefix_cache;
};

using Results = std::map<std::string, BatchResult>;

/// All requests, in the order of their ids, some of which are cancelled.
Results run_requests(const Metadata &metadata, const Parameters &parameters,
                     const std::vector<BatchRequest> &requests,
                     const RunSettings &settings, Random &random, Rows &rows,
                     BatchCounts &counts) {
  std::unique_ptr<Execution> execution =
      make_execution(metadata, parameters,
                     {.workers = settings.workers, .pages = settings.pages});
  const BatchCapacities shape = batch_capacities(metadata, execution->pages());
  MovedPages moved(metadata, *execution, shape);
  Results results;
  BatchDriver driver(shape, moved.inputs(),
                     {.prefill_chunk = settings.prefill_chunk,
                      .prefix_cache = settings.prefix_cache},
                     {.on_result = [&](BatchResult &&result) {
                       std::string id = result.request.id;
                       if (!results.emplace(id, std::move(result)).second)
                         fail("request ", id, " has two results");
                     }});
  size_t next = 0;
  auto arrive = [&] {
    if (random() % 4)
      return;
    for (uint64_t more = random() % 4; more && next < requests.size(); --more) {
      BatchRequest copy = requests[next];
      if (!driver.submit(std::move(copy)))
        return;
      if (++next % 6 == 0)
        driver.cancel(std::to_string(next - 1 - random() % 4));
    }
  };
  WatchedSteps watched(driver, shape, moved, rows, random, arrive);
  while (next < requests.size() || driver.has_work()) {
    arrive();
    if (driver.has_work()) {
      execution->run(watched);
      moved.shuffle(random);
    }
  }
  counts = driver.counts();
  if (driver.pool().available() != shape.pages)
    fail("pages that nobody has are not free");
  return results;
}

/// What one run has of a text begins as what the other has.
void expect_alike(const std::string &id, const BatchResult &one,
                  const BatchResult &other) {
  for (size_t i = 0; i < one.choices.size(); ++i) {
    const BatchChoice &a = one.choices[i], &b = other.choices[i];
    const bool whole = a.finish != BatchFinish::Cancelled &&
                       b.finish != BatchFinish::Cancelled;
    const size_t same = std::min(a.tokens.size(), b.tokens.size());
    if (!std::equal(a.tokens.begin(),
                    a.tokens.begin() + static_cast<ptrdiff_t>(same),
                    b.tokens.begin()) ||
        (whole && (a.tokens.size() != b.tokens.size() ||
                   a.logprobs != b.logprobs || a.finish != b.finish)))
      fail("request ", id, ", continuation ", i, ": another text");
  }
  const size_t same = std::min(one.scores.size(), other.scores.size());
  if (!std::equal(one.scores.begin(),
                  one.scores.begin() + static_cast<ptrdiff_t>(same),
                  other.scores.begin()))
    fail("request ", id, ": other scores");
}

/// Two lines for each text; every row that was seen is in one of them.
void write_texts(const std::string &path,
                 const std::vector<BatchRequest> &requests,
                 const std::vector<Results> &runs, const Rows &rows) {
  std::ofstream file(path);
  std::unordered_set<uint64_t> written;
  for (const BatchRequest &request : requests)
    for (size_t i = 0; i < request.n; ++i) {
      const std::vector<int32_t> *longest = nullptr;
      for (const Results &results : runs)
        if (auto &tokens = results.at(request.id).choices[i].tokens;
            !longest || tokens.size() > longest->size())
          longest = &tokens;
      std::vector<int32_t> text = request.prompt;
      text.insert(text.end(), longest->begin(), longest->end());
      uint64_t tokens = no_tokens;
      std::string hashes;
      for (int32_t token : text) {
        file << token << ' ';
        tokens = behind(tokens, token);
        const uint64_t hash = rows.behind(tokens);
        hashes += std::to_string(hash) + ' ';
        if (hash)
          written.insert(tokens);
      }
      file << '\n' << hashes << '\n';
    }
  if (written.size() != rows.size())
    fail(rows.size() - written.size(), " rows had logits of no text");
  if (!file.flush())
    fail(path, " cannot be written");
}

/// Runs alternate between few pages, which preempt, and enough for all; the
/// third shares none. More workers than cores take long to wait for one
/// another, and so get fewer steps.
RunSettings draw_settings(Random &random, size_t run, unsigned workers,
                          uint64_t least_pages, const Metadata &metadata) {
  const uint32_t most_rows = metadata.max_rows;
  const uint32_t least_rows = workers > 3 ? most_rows / 2 : 1;
  return {workers,
          least_rows + uint32_t(random() % (most_rows - least_rows + 1)),
          run % 4 == 1 ? metadata.batch->max_sequences *
                             pages_of(metadata.batch->max_positions)
                       : least_pages + random() % 2,
          run % 4 != 2};
}

/// Tokens are those that the request's constraint takes.
void expect_constrained(const std::string &id, const BatchResult &result) {
  if (!result.request.constraint)
    return;
  for (const BatchChoice &choice : result.choices) {
    auto matcher = result.request.constraint->start();
    for (int32_t token : choice.tokens)
      if (!matcher->accept(token))
        fail("request ", id, ": token ", token, " is not allowed");
    if (choice.finish == BatchFinish::Stop && !matcher->is_finished() &&
        result.request.stop_tokens.empty())
      fail("request ", id, " ends before its constraint does");
  }
}

void check_results(const std::vector<BatchRequest> &requests,
                   const Results &results, const Results &first) {
  if (results.size() != requests.size())
    fail(results.size(), " results for ", requests.size(), " requests");
  for (const auto &[id, result] : results) {
    for (const BatchChoice &choice : result.choices)
      if (choice.finish == BatchFinish::Error)
        fail("request ", id, ": ", choice.error);
    expect_constrained(id, result);
    expect_alike(id, first.at(id), result);
  }
}

uint64_t cancelled_texts(const Results &results) {
  uint64_t count = 0;
  for (const auto &[id, result] : results)
    for (const BatchChoice &choice : result.choices)
      count += choice.finish == BatchFinish::Cancelled;
  return count;
}

void run_many(const Metadata &metadata, const Parameters &parameters,
              const std::string &path, uint64_t seed, size_t count,
              const std::vector<int32_t> &workers) {
  Random random(seed);
  const std::vector<BatchRequest> requests =
      random_requests(random, count, metadata);
  uint64_t least_pages = 0;
  for (const BatchRequest &request : requests)
    least_pages = std::max(
        least_pages, pages_of(request.prompt.size() + request.max_new_tokens));
  Rows rows;
  std::vector<Results> runs;
  uint64_t preemptions = 0, cancelled = 0;
  for (size_t run = 0; run < workers.size(); ++run) {
    const RunSettings settings =
        draw_settings(random, run, static_cast<unsigned>(workers[run]),
                      least_pages, metadata);
    BatchCounts counts;
    runs.push_back(run_requests(metadata, parameters, requests, settings,
                                random, rows, counts));
    check_results(requests, runs.back(), runs.front());
    print(settings.workers, " workers, chunks of ", settings.prefill_chunk,
          ", ", settings.pages, " pages: ", counts.steps, " steps of ",
          counts.rows, " rows, ", counts.recomputed, " of them again, ",
          counts.cached_tokens, " found");
    preemptions += counts.preemptions;
    cancelled += cancelled_texts(runs.back());
  }
  if (!preemptions || !cancelled)
    fail(preemptions, " texts preempted, ", cancelled, " cancelled: too few");
  write_texts(path, requests, runs, rows);
  print(count, " requests on each, ", preemptions, " texts preempted, ",
        cancelled, " cancelled: ", rows.count, " rows with logits, behind ",
        rows.size(), " different texts");
}

/// Holds the logits of a text's rows against hashes.
class ComparedText : public StepDriver {
public:
  ComparedText(std::vector<int32_t> tokens, std::vector<uint64_t> hashes,
               uint32_t chunk)
      : tokens(std::move(tokens)), hashes(std::move(hashes)), chunk(chunk) {}

  BatonStep begin(std::span<int32_t> sequence) override {
    std::copy(tokens.begin(), tokens.end(), sequence.begin());
    return step(0);
  }
  BatonStep advance(const BatonStep &current, const Logits &logits) override {
    for (uint32_t row = 0; row < current.outputs; ++row)
      if (const uint64_t hash = hashes[current.past + row]) {
        if (hash != hash_of(logits.row(row)))
          fail("position ", current.past + row,
               ": other logits than those of one sequence");
        ++compared;
      }
    return step(current.past + current.rows);
  }

  uint64_t compared = 0;

private:
  BatonStep step(uint32_t past) const {
    const uint32_t rows =
        std::min(static_cast<uint32_t>(tokens.size()) - past, chunk);
    return {rows, past, rows, 0};
  }

  const std::vector<int32_t> tokens;
  const std::vector<uint64_t> hashes;
  const uint32_t chunk;
};

template <typename Number>
bool read_numbers(std::istream &file, std::vector<Number> &numbers) {
  std::string line;
  if (!std::getline(file, line))
    return false;
  std::istringstream words(line);
  numbers.clear();
  for (Number number; words >> number;)
    numbers.push_back(number);
  return true;
}

void run_one(const Metadata &metadata, const Parameters &parameters,
             const std::string &path) {
  std::unique_ptr<Execution> execution =
      make_execution(metadata, parameters, {.workers = 1});
  std::ifstream file(path);
  std::vector<int32_t> tokens;
  std::vector<uint64_t> hashes;
  uint64_t texts = 0, compared = 0;
  for (; read_numbers(file, tokens) && read_numbers(file, hashes); ++texts) {
    ComparedText text(tokens, hashes,
                      std::min(metadata.max_rows, metadata.max_outputs));
    execution->run(text);
    compared += text.compared;
  }
  if (!compared)
    fail(path, " has no rows");
  print(texts, " texts of one sequence each: the bits of ", compared, " rows");
}

} // namespace
} // namespace baton

int main(int argc, char **argv) {
  using namespace baton;
  if (argc != 6)
    return 2;
  return test::run_linked(
      argv[1], [&](const Metadata &metadata, const Parameters &parameters) {
        if (metadata.batch)
          run_many(metadata, parameters, argv[2], std::stoull(argv[3]),
                   std::stoull(argv[4]), parse_token_list("WORKERS", argv[5]));
        else
          run_one(metadata, parameters, argv[2]);
      });
}
