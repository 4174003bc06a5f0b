//===- serving_simulator.cpp - a server's steps, played out ---------------===//

#include "tools/plan/serving_simulator.h"

#include "runtime/batch/page_pool.h"
#include "runtime/error.h"
#include "runtime/weights/hash.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>

using namespace baton;
using namespace baton::plan;

double plan::percentile(std::vector<double> values, double part) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  const double place = part * double(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] +
         (values[above] - values[below]) * (place - double(below));
}

namespace {

using PageTokens = std::array<int32_t, page_positions>;

struct Sequence {
  size_t number = 0;
  const ServedRequest *request = nullptr;
  /// Tokens of the prompt and what is generated, those with keys and values,
  /// and the most that ever had.
  int64_t size = 0, computed = 0, reached = 0;
  int64_t generated = 0;
  std::vector<int32_t> pages;
  size_t published = 0;
  int64_t rows = 0, outputs = 0, guessed = 0;
  bool is_running = false;
  /// By how much a pipeline delays its tokens.
  std::optional<double> delay;

  int64_t left() const { return size - computed; }
  size_t full_pages() const { return size_t((size - 1) / page_positions); }
  bool is_older(const Sequence &other) const { return number < other.number; }
  /// In the place of a page's tokens: two pages have the same ones if these
  /// are.
  PageTokens page_tokens(size_t entry) const {
    const bool shared =
        int64_t(entry + 1) * page_positions <= request->prefix_length;
    PageTokens tokens = {};
    const uint64_t content =
        shared ? uint64_t(request->prefix) : uint64_t(number);
    tokens[0] = int32_t(uint32_t(content));
    tokens[1] = int32_t(uint32_t(content >> 32));
    tokens[2] = shared;
    return tokens;
  }
};

class Engine {
public:
  Engine(const Trace &trace, const StepTimes &times,
         const SimulationOptions &options)
      : times(times), options(options), limits(options.limits),
        pages(uint64_t(limits.pages), limits.prefix_cache) {
    sequences.resize(trace.size());
    for (size_t number = 0; number < trace.size(); ++number) {
      Sequence &sequence = sequences[number];
      sequence.number = number;
      sequence.request = &trace[number];
      sequence.size = trace[number].prompt + (options.imported ? 1 : 0);
      sequence.generated = options.imported ? 1 : 0;
      check(trace[number]);
    }
    result.requests.resize(trace.size());
  }

  Simulation run();

private:
  void check(const ServedRequest &request) const;
  void arrive(Sequence &sequence);

  // What came of a step.
  void take_results();
  void take_rows(Sequence &sequence);
  void take_draws(Sequence &sequence, int64_t draws);
  bool take_token(Sequence &sequence);
  void publish_pages(Sequence &sequence);
  bool is_right(const Sequence &sequence) const;

  // Who runs.
  void admit();
  bool admit(Sequence &sequence);
  void find_pages(Sequence &sequence);
  void give_pages_back(Sequence &sequence);
  void count_found(Sequence &sequence, int64_t before);
  void leave(Sequence &sequence);

  // The next step.
  StepShape make_step();
  void choose_ready();
  void choose_prompts();
  void choose_guesses();
  bool has_page(Sequence &sequence);
  int64_t has_pages(Sequence &sequence, int64_t more);
  bool is_computed_now(const Sequence &sequence) const;
  void add_rows(const Sequence &sequence, StepShape &shape) const;

  const StepTimes &times;
  const SimulationOptions &options;
  const EngineLimits limits;
  PagePool pages;
  std::vector<Sequence> sequences;
  /// In order of age.
  std::vector<Sequence *> running, waiting;
  const Sequence *refused = nullptr;
  uint64_t refused_pages = 0;
  size_t turn = 0;
  std::vector<Sequence *> ready, prompts, outputs;
  double now = 0;
  double fill = 0;
  Simulation result;
};

} // namespace

void Engine::check(const ServedRequest &request) const {
  const int64_t positions = request.prompt + request.answer - 1;
  const std::string text = "a request of " + std::to_string(request.prompt) +
                           " tokens and an answer of " +
                           std::to_string(request.answer);
  if (positions > limits.max_positions)
    throw Error(text + " takes more than the longest sequence, " +
                std::to_string(limits.max_positions) + " positions");
  if (int64_t(pages_of(uint64_t(positions))) > limits.pages)
    throw Error(text + " takes more pages than there is memory for, " +
                std::to_string(limits.pages) + " of " +
                std::to_string(page_positions) + " positions");
}

void Engine::arrive(Sequence &sequence) {
  ServedTimes &served = result.requests[sequence.number];
  served.arrival = sequence.request->arrival;
  if (options.imported) {
    served.first_token = served.last_token = served.arrival;
    served.tokens = 1;
    if (sequence.request->answer <= 1)
      return;
  }
  waiting.insert(std::upper_bound(waiting.begin(), waiting.end(), &sequence,
                                  [](const Sequence *a, const Sequence *b) {
                                    return a->is_older(*b);
                                  }),
                 &sequence);
}

Simulation Engine::run() {
  size_t next = 0;
  const double first = sequences.empty() ? 0 : sequences[0].request->arrival;
  now = first;
  double end = first;
  for (;;) {
    while (next < sequences.size() && sequences[next].request->arrival <= now)
      arrive(sequences[next++]);
    const StepShape shape = make_step();
    if (shape.outputs + shape.rows == 0) {
      if (!running.empty() || !waiting.empty())
        throw std::logic_error("of the texts that are left none can go on");
      if (next == sequences.size())
        break;
      now = sequences[next].request->arrival;
      continue;
    }
    const double seconds = times.seconds(shape) + options.step_overhead;
    fill = times.fill(shape);
    now += seconds;
    end = now + fill;
    result.busy += seconds;
    result.mean_running += seconds * double(running.size());
    ++result.steps;
    if (options.on_step) {
      PlannedStep step;
      step.shape = shape;
      step.end = now;
      for (const Sequence *sequence : ready)
        step.continued.push_back(sequence->number);
      for (const Sequence *sequence : prompts)
        step.prompts.push_back(sequence->number);
      options.on_step(step);
    }
    take_results();
  }
  result.seconds = end - first;
  if (result.busy > 0)
    result.mean_running /= result.busy;
  return std::move(result);
}

void Engine::take_results() {
  for (const auto *list : {&ready, &prompts})
    for (Sequence *sequence : *list)
      take_rows(*sequence);
  for (Sequence *sequence : outputs)
    take_draws(*sequence, std::exchange(sequence->outputs, 0));
}

void Engine::take_rows(Sequence &sequence) {
  const int64_t begin = sequence.computed;
  const int64_t rows = std::exchange(sequence.rows, 0);
  const int64_t end = begin + rows - sequence.guessed;
  const int64_t fresh = std::max(begin, sequence.reached);
  result.rows += rows;
  result.recomputed += std::min(end, fresh) - begin;
  result.prompt_tokens +=
      std::max(std::min(end, sequence.request->prompt), fresh) - fresh;
  sequence.computed = end;
  sequence.reached = std::max(sequence.reached, end);
  publish_pages(sequence);
}

void Engine::publish_pages(Sequence &sequence) {
  if (!limits.prefix_cache)
    return;
  while (sequence.published < size_t(sequence.computed / page_positions)) {
    const size_t entry = sequence.published++;
    const int32_t parent = entry ? sequence.pages[entry - 1] : PagePool::none;
    sequence.pages[entry] = pages.publish(sequence.pages[entry], parent,
                                          sequence.page_tokens(entry));
  }
}

/// A guess's luck hangs on its place in its text alone: settings are compared
/// with the same one.
bool Engine::is_right(const Sequence &sequence) const {
  const uint64_t drawn = mix(mix(options.seed + 1) + mix(sequence.number + 1) +
                             uint64_t(sequence.size));
  return double(drawn >> 11) * 0x1p-53 < options.acceptance;
}

void Engine::take_draws(Sequence &sequence, int64_t draws) {
  const int64_t guessed = std::exchange(sequence.guessed, 0);
  int64_t right = 0;
  for (int64_t draw = 0; draw < draws; ++draw) {
    const bool is_as_guessed = is_right(sequence);
    if (!take_token(sequence) || right == guessed || !is_as_guessed)
      break;
    ++sequence.computed;
    sequence.reached = std::max(sequence.reached, sequence.computed);
    publish_pages(sequence);
    ++right;
  }
  result.guessed_tokens += guessed;
  result.right_guesses += right;
}

/// Whether the text goes on.
bool Engine::take_token(Sequence &sequence) {
  ++sequence.size;
  ++sequence.generated;
  ++result.generated_tokens;
  if (!sequence.delay)
    sequence.delay = fill;
  ServedTimes &served = result.requests[sequence.number];
  served.last_token = now + *sequence.delay;
  if (served.tokens++ == 0)
    served.first_token = served.last_token;
  if (sequence.generated < sequence.request->answer)
    return true;
  leave(sequence);
  if (&sequence == refused)
    refused = nullptr;
  return false;
}

void Engine::admit() {
  while (!waiting.empty() && int64_t(running.size()) < limits.max_sequences &&
         admit(*waiting.front())) {
  }
}

bool Engine::admit(Sequence &sequence) {
  if (&sequence == refused && !running.empty() &&
      pages.available() <= refused_pages)
    return false;
  const uint64_t available = pages.available();
  // What came from elsewhere comes with its keys and values, once.
  const bool brings = options.imported && sequence.reached == 0;
  if (!brings)
    find_pages(sequence);
  const uint64_t wanted = pages_of(uint64_t(sequence.size));
  const uint64_t spare = running.size() / 8;
  if (pages.available() < wanted - sequence.pages.size() + spare) {
    give_pages_back(sequence);
    refused = &sequence;
    refused_pages = available;
    return false;
  }
  if (&sequence == refused)
    refused = nullptr;
  waiting.erase(waiting.begin());
  sequence.is_running = true;
  running.insert(std::upper_bound(running.begin(), running.end(), &sequence,
                                  [](const Sequence *a, const Sequence *b) {
                                    return a->is_older(*b);
                                  }),
                 &sequence);
  while (sequence.pages.size() < wanted)
    sequence.pages.push_back(pages.take());
  if (brings) {
    sequence.computed = sequence.reached = sequence.request->prompt;
    publish_pages(sequence);
  } else {
    count_found(sequence, 0);
  }
  return true;
}

void Engine::give_pages_back(Sequence &sequence) {
  while (!sequence.pages.empty()) {
    pages.release(sequence.pages.back());
    sequence.pages.pop_back();
  }
  sequence.published = 0;
  sequence.computed = 0;
}

void Engine::find_pages(Sequence &sequence) {
  if (!limits.prefix_cache || sequence.computed % page_positions)
    return;
  auto entry = size_t(sequence.computed / page_positions);
  for (; entry < sequence.full_pages(); ++entry) {
    const int32_t parent = entry ? sequence.pages[entry - 1] : PagePool::none;
    const int32_t page = pages.find(parent, sequence.page_tokens(entry));
    if (page == PagePool::none)
      break;
    if (entry < sequence.pages.size()) {
      pages.release(sequence.pages[entry]);
      sequence.pages[entry] = page;
    } else {
      sequence.pages.push_back(page);
    }
    sequence.published = entry + 1;
  }
  sequence.computed = int64_t(entry) * page_positions;
}

void Engine::count_found(Sequence &sequence, int64_t before) {
  const int64_t fresh = std::max(before, sequence.reached);
  result.cached_tokens +=
      std::max(std::min(sequence.computed, sequence.request->prompt), fresh) -
      fresh;
  sequence.reached = std::max(sequence.reached, sequence.computed);
}

void Engine::leave(Sequence &sequence) {
  give_pages_back(sequence);
  sequence.rows = sequence.outputs = sequence.guessed = 0;
  sequence.is_running = false;
  running.erase(std::find(running.begin(), running.end(), &sequence));
}

StepShape Engine::make_step() {
  ready.clear();
  prompts.clear();
  outputs.clear();
  admit();
  choose_ready();
  choose_prompts();
  choose_guesses();
  StepShape shape;
  for (const auto *list : {&ready, &prompts})
    for (const Sequence *sequence : *list)
      add_rows(*sequence, shape);
  // Rows with logits are the last ones, and tell who gives pages back first.
  auto before_outputs = [](const Sequence &sequence) {
    return sequence.rows - sequence.outputs;
  };
  for (auto last = prompts.rbegin(); last != prompts.rend(); ++last)
    if ((*last)->outputs && before_outputs(**last))
      outputs.push_back(*last);
  for (Sequence *sequence : prompts)
    if (sequence->outputs && !before_outputs(*sequence))
      outputs.push_back(sequence);
  outputs.insert(outputs.end(), ready.begin(), ready.end());
  return shape;
}

void Engine::add_rows(const Sequence &sequence, StepShape &shape) const {
  const auto before = double(sequence.computed);
  const auto without = double(sequence.rows - sequence.outputs);
  const auto with = double(sequence.outputs);
  shape.rows += without;
  shape.row_contexts += without * before + without * (without - 1) / 2;
  shape.outputs += with;
  shape.output_contexts += with * (before + without) + with * (with - 1) / 2;
}

void Engine::choose_ready() {
  for (Sequence *sequence : running)
    if (sequence->computed >= sequence->size - 1)
      ready.push_back(sequence);
  const auto most = size_t(std::min(limits.max_rows, limits.max_outputs));
  if (ready.size() > most) {
    turn %= ready.size();
    std::rotate(ready.begin(), ready.begin() + static_cast<ptrdiff_t>(turn),
                ready.end());
    ready.resize(most);
    turn += most;
    std::sort(ready.begin(), ready.end(),
              [](const Sequence *left, const Sequence *right) {
                return left->is_older(*right);
              });
  }
  size_t kept = 0;
  for (Sequence *sequence : ready)
    if (sequence->is_running && has_page(*sequence)) {
      sequence->rows = sequence->outputs = 1;
      ready[kept++] = sequence;
    }
  ready.resize(kept);
}

void Engine::choose_prompts() {
  int64_t rows = limits.max_rows - int64_t(ready.size());
  int64_t logits = limits.max_outputs - int64_t(ready.size());
  if (limits.prefill_chunk)
    rows = std::min(rows, limits.prefill_chunk);
  for (Sequence *sequence : running) {
    if (rows == 0)
      break;
    if (sequence->left() == 1)
      continue;
    const int64_t before = sequence->computed;
    find_pages(*sequence);
    count_found(*sequence, before);
    if (is_computed_now(*sequence))
      continue;
    const int64_t begin = sequence->computed + sequence->rows;
    int64_t more = std::min(sequence->size - begin, rows);
    const int64_t before_logits = std::max(sequence->size - 1, begin) - begin;
    int64_t with_logits = more - std::min(more, before_logits);
    if (with_logits > logits) {
      more -= with_logits - logits;
      with_logits = logits;
    }
    if (more == 0)
      continue;
    rows -= more;
    logits -= with_logits;
    if (sequence->rows == 0)
      prompts.push_back(sequence);
    sequence->rows += more;
    sequence->outputs += with_logits;
  }
}

/// As the runtime's GuessChoice, that knows how likely a guess is and how long
/// steps take: the likeliest first, as many as make the most tokens a second.
void Engine::choose_guesses() {
  if (options.guesses == 0 || options.acceptance <= 0 || !prompts.empty() ||
      ready.empty())
    return;
  StepShape shape;
  for (const Sequence *sequence : ready)
    add_rows(*sequence, shape);
  const int64_t room = std::min(limits.max_rows, limits.max_outputs) -
                       int64_t(shape.outputs + shape.rows);
  const double context = shape.output_contexts / shape.outputs;
  auto most_of = [&](const Sequence &sequence) {
    return std::min(options.guesses, sequence.request->prompt +
                                         sequence.request->answer -
                                         sequence.size - 1);
  };
  double tokens = shape.outputs, most = tokens / times.seconds(shape);
  int64_t best = 0, possible = 0;
  double right = options.acceptance;
  for (int64_t guess = 0; guess < options.guesses && possible < room;
       ++guess, right *= options.acceptance)
    for (const Sequence *sequence : ready) {
      if (most_of(*sequence) <= guess || possible == room)
        continue;
      ++possible;
      tokens += right;
      shape.outputs += 1;
      shape.output_contexts += context;
      if (const double rate = tokens / times.seconds(shape); rate > most) {
        most = rate;
        best = possible;
      }
    }
  for (int64_t guess = 0; guess < options.guesses && best > 0; ++guess)
    for (Sequence *sequence : ready)
      if (best > 0 && most_of(*sequence) > guess) {
        ++sequence->guessed;
        --best;
      }
  for (Sequence *sequence : ready) {
    sequence->guessed = has_pages(*sequence, sequence->guessed);
    sequence->rows += sequence->guessed;
    sequence->outputs += sequence->guessed;
  }
}

int64_t Engine::has_pages(Sequence &sequence, int64_t more) {
  const int64_t next = sequence.computed + 1;
  while (sequence.pages.size() < pages_of(uint64_t(next + more))) {
    const int32_t page = pages.take();
    if (page == PagePool::none)
      return int64_t(sequence.pages.size()) * page_positions - next;
    sequence.pages.push_back(page);
  }
  return more;
}

bool Engine::is_computed_now(const Sequence &sequence) const {
  const auto entry = size_t(sequence.computed / page_positions);
  if (!limits.prefix_cache || sequence.computed % page_positions ||
      entry >= sequence.full_pages())
    return false;
  const PageTokens wanted = sequence.page_tokens(entry);
  for (const Sequence *other : prompts)
    if (size_t(other->computed / page_positions) == entry &&
        other->size >= int64_t(entry + 1) * page_positions &&
        (entry == 0 || other->pages[entry - 1] == sequence.pages[entry - 1]) &&
        wanted == other->page_tokens(entry))
      return true;
  return false;
}

bool Engine::has_page(Sequence &sequence) {
  if (size_t(sequence.computed / page_positions) < sequence.pages.size())
    return true;
  int32_t page = pages.take();
  while (page == PagePool::none) {
    Sequence &youngest = *running.back();
    ++result.preemptions;
    leave(youngest);
    waiting.insert(std::upper_bound(waiting.begin(), waiting.end(), &youngest,
                                    [](const Sequence *a, const Sequence *b) {
                                      return a->is_older(*b);
                                    }),
                   &youngest);
    if (&youngest == &sequence)
      return false;
    page = pages.take();
  }
  sequence.pages.push_back(page);
  return true;
}

Simulation plan::simulate(const Trace &trace, const StepTimes &times,
                          const SimulationOptions &options) {
  return Engine(trace, times, options).run();
}
