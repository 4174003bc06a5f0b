//===- batch_driver.cpp - continues and scores many texts at once --------===//

#include "runtime/batch/batch_driver.h"

#include "runtime/batch/logit_changes.h"
#include "runtime/error.h"
#include "runtime/tokenizer/stream_decoder.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace baton {

namespace {

/// Unless told otherwise, so many requests wait at most for each that runs.
constexpr size_t requests_per_sequence = 4;
constexpr size_t least_requests = 256;

/// Whether a mask has a token of so many; bits behind them are of none.
bool allows_token(std::span<const uint32_t> mask, uint64_t vocabulary) {
  const uint64_t full = vocabulary / 32, rest = vocabulary % 32;
  return std::ranges::any_of(mask.first(full),
                             [](uint32_t word) { return word != 0; }) ||
         (rest && mask[full] & ((uint32_t(1) << rest) - 1));
}

/// That of the token, and of so many likely ones. Returns those that are there,
/// until the list grows.
std::span<const TokenLogprob> record(std::vector<TokenLogprob> &list,
                                     const BatonDraw &draw, uint64_t likely) {
  const size_t begin = list.size();
  size_t count = 1;
  list.push_back({draw.drawn.token, draw.drawn.logprob});
  for (uint64_t i = 0; i < likely; ++i) {
    list.push_back({draw.likely[i].token, draw.likely[i].logprob});
    count += draw.likely[i].token >= 0;
  }
  return {list.data() + begin, count};
}

} // namespace

double steady_seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct BatchDriver::Sequence {
  Sequence(Job &job, uint32_t index, const BatchDriver &driver);

  /// Positions that are computed, for now.
  uint64_t end() const { return tokens.size() - is_only_scored; }
  bool is_embedded() const { return pooling.has_value(); }
  /// Those of them that have no keys and values yet; one at least.
  uint64_t left() const { return end() - computed; }
  /// From this position on rows have logits, which are wanted of this text: of
  /// each token that is still to be scored, of the last one else.
  uint64_t first_output() const {
    if (is_embedded())
      return UINT64_MAX;
    return (is_scored() ? tokens.size() : to_score) - 1;
  }
  bool is_scored() const { return to_score == scores_end; }
  /// Pages whose contents another text may have computed: of one whose hidden
  /// states are all wanted, none.
  uint64_t full_pages() const {
    if (is_embedded() && pooling != Pooling::Last)
      return 0;
    return std::min<uint64_t>(first_output(), tokens.size() - 1) /
           page_positions;
  }
  std::span<const int32_t, page_positions> page_tokens(uint64_t entry) const {
    return std::span<const int32_t, page_positions>(
        tokens.data() + entry * page_positions, page_positions);
  }
  bool is_older(const Sequence &other) const;

  Job &job;
  /// Which of the request's continuations it is.
  const uint32_t index;
  /// Held: until the first continuation has computed the prompt.
  enum class State { Held, Waiting, Running, Done } state = State::Held;
  /// The prompt and what is generated.
  std::vector<int32_t> tokens;
  std::vector<TokenLogprob> logprobs;
  const bool is_only_scored, compares;
  const std::optional<Pooling> pooling;
  /// The next token to score, and where these end: nowhere but in the request's
  /// first sequence there are any.
  uint64_t to_score = 0, scores_end = 0;
  LogitChanges changes;
  /// What may follow the text, if not all; and why the step that runs, or ran,
  /// has no mask that says so.
  std::unique_ptr<TokenMatcher> matcher;
  std::exception_ptr mask_failure;
  const uint64_t vocabulary;
  /// Text that may be the beginning of a string that ends it.
  std::optional<StreamDecoder> decoder;
  std::string tail;

  /// Positions that have keys and values in its pages; and the most that ever
  /// had.
  uint64_t computed = 0, reached = 0;
  /// Of a running one.
  uint32_t line = 0;
  /// The first rank of its adapter, if it has one.
  uint32_t adapter_place = 0;
  uint32_t page_count = 0;
  /// Those of its pages, from the first on, that are published.
  uint32_t published = 0;
  /// In the step that is made, or runs; and how many of them, the last ones,
  /// have logits.
  uint32_t rows = 0, outputs = 0;
  /// What is guessed of the text, if anything may be, and in that step: behind
  /// how long a match, and which tokens the last of its rows are of.
  PromptLookup lookup;
  uint32_t match_length = 0, guessed = 0;
  std::vector<int32_t> guesses;
  /// Of one that is embedded: the first of its rows in that step, the positions
  /// that were added up, and their sum.
  uint32_t first_row = 0;
  uint64_t pooled = 0;
  std::vector<double> sum;
  /// Of those that wait.
  Sequence *next = nullptr;
};

struct BatchDriver::Job {
  Job(BatchRequest &&wanted, const BatchDriver &driver);

  BatchRequest request;
  uint64_t number = 0;
  const uint64_t prompt_size;
  uint64_t max_new_tokens;
  uint64_t cached_tokens = 0;
  /// What is to be in the program's memory, until it is there.
  std::optional<PackedAdapter> packed;
  /// Texts share pages with those of the same adapter.
  uint64_t beginning() const {
    return request.adapter ? request.adapter->number() : 0;
  }
  size_t longest_stop_string = 0;
  std::vector<std::unique_ptr<Sequence>> sequences;
  /// Those that are not done.
  uint32_t left;
  bool has_prompt = false;
  std::vector<BatchChoice> choices;
  uint64_t scored_tokens = 0;
  std::vector<TokenLogprob> scores;
  std::vector<float> compared;
  int32_t likeliest = BATON_NOT_DRAWN;
  std::vector<float> embedding;
  /// In BatchDriver::jobs.
  size_t place = 0;
};

BatchDriver::Sequence::Sequence(Job &job, uint32_t index,
                                const BatchDriver &driver)
    : job(job), index(index), is_only_scored(job.request.is_only_scored()),
      compares(job.request.compares()), pooling(job.request.pooling),
      vocabulary(driver.shape.vocabulary) {
  if (job.max_new_tokens > 0)
    changes = LogitChanges(job.request.sampling, job.request.prompt,
                           job.prompt_size + job.max_new_tokens);
  if (compares) {
    changes = LogitChanges(job.request.choices);
    job.compared.reserve(job.request.choices.size());
  }
  if (job.max_new_tokens > 0 && job.request.constraint)
    matcher = job.request.constraint->start();
  if (index == 0 && job.request.score_from) {
    to_score = *job.request.score_from;
    scores_end = job.prompt_size;
    job.scores.reserve((scores_end - to_score) *
                       (1 + job.request.score_likely));
  }
  if (is_embedded())
    sum.resize(driver.shape.hidden_width);
  // Workers wait while a token is recorded; growing may not happen then.
  tokens.reserve(job.prompt_size + job.max_new_tokens);
  tokens.assign(job.request.prompt.begin(), job.request.prompt.end());
  // Penalties and masks of a row are those of the text before it.
  if (driver.options.prompt_lookup && job.max_new_tokens > 1 && !matcher &&
      !changes.follow_text()) {
    lookup = PromptLookup(tokens.capacity());
    lookup.find(tokens); // enters the prompt
    guesses.reserve(driver.options.prompt_lookup);
  }
  if (job.request.logprobs)
    logprobs.reserve(job.max_new_tokens * (1 + *job.request.logprobs));
  if (!job.request.stop_strings.empty())
    decoder.emplace(*driver.options.tokenizer, /*skip_special_tokens=*/true);
}

bool BatchDriver::Sequence::is_older(const Sequence &other) const {
  return std::tuple(job.request.priority, job.number, index) <
         std::tuple(other.job.request.priority, other.job.number, other.index);
}

BatchDriver::Job::Job(BatchRequest &&wanted, const BatchDriver &driver)
    : request(std::move(wanted)), prompt_size(request.prompt.size()),
      max_new_tokens(most_new_tokens(request, driver.shape)), left(request.n),
      choices(request.n) {
  for (const std::string &text : request.stop_strings)
    longest_stop_string = std::max(longest_stop_string, text.size());
  for (uint32_t index = 0; index < request.n; ++index)
    sequences.push_back(std::make_unique<Sequence>(*this, index, driver));
}

BatchDriver::BatchDriver(const BatchCapacities &shape,
                         const BatchInputs &inputs, BatchOptions wanted,
                         BatchHooks hooks)
    : shape(shape), inputs(inputs), options(std::move(wanted)),
      hooks(std::move(hooks)), pages(shape.pages, options.prefix_cache),
      adapters(shape.adapter_ranks), check(shape),
      capacity(options.capacity
                   ? options.capacity
                   : std::max(least_requests,
                              requests_per_sequence * shape.max_sequences)) {
  // Nothing grows while workers wait.
  jobs.reserve(capacity);
  running.reserve(shape.max_sequences);
  lines.resize(shape.max_sequences * shape.line_entries());
  for (uint32_t line = shape.max_sequences; line-- > 0;)
    free_lines.push_back(line);
  for (auto *list : {&ready, &prompts, &outputs})
    list->reserve(shape.max_sequences);
  matches.reserve(shape.max_sequences);
  candidates.reserve(shape.max_sequences);
  events.reserve(capacity);
  taken.reserve(capacity);
}

BatchDriver::~BatchDriver() = default;

bool BatchDriver::submit(BatchRequest &&request) {
  if (closed)
    throw Error("no more requests are taken");
  if (auto fault = find_request_fault(request, shape))
    throw Error(*fault);
  if (request.adapter && !options.write_storage)
    throw Error("adapter: the program takes no adapters");
  if (!request.stop_strings.empty() && !options.tokenizer)
    throw Error("stop: there is no tokenizer, and so no text that may end");
  if (unfinished.fetch_add(1) >= capacity) {
    --unfinished;
    return false;
  }
  try {
    auto job = std::make_unique<Job>(std::move(request), *this);
    expect_beginning(*job);
    if (const auto &adapter = job->request.adapter;
        adapter && !*adapter->is_there)
      job->packed = adapter->pack();
    std::lock_guard lock(mutex);
    job->number = submitted++;
    events.push_back({std::move(job), {}});
  } catch (...) {
    --unfinished;
    throw;
  }
  return true;
}

/// That each text may begin. It also makes what matchers keep.
void BatchDriver::expect_beginning(const Job &job) const {
  std::vector<uint32_t> mask(job.request.constraint ? shape.mask_words() : 0);
  for (const auto &sequence : job.sequences)
    if (sequence->matcher) {
      sequence->matcher->allowed(mask);
      if (!allows_token(mask, shape.vocabulary))
        throw Error("constraint: there is no token that may begin the text");
    }
}

void BatchDriver::cancel(std::string id) {
  std::lock_guard lock(mutex);
  events.push_back({nullptr, std::move(id)});
}

BatchCounts BatchDriver::counts() const {
  return {.steps = count.steps,
          .rows = count.rows,
          .prompt_tokens = count.prompt_tokens,
          .cached_tokens = count.cached_tokens,
          .generated_tokens = count.generated_tokens,
          .scored_tokens = count.scored_tokens,
          .logit_panels = count.logit_panels,
          .left_out_panels = count.left_out_panels,
          .guessed_tokens = count.guessed_tokens,
          .right_guesses = count.right_guesses,
          .preemptions = count.preemptions,
          .recomputed = count.recomputed,
          .adapter_loads = count.adapter_loads};
}

BatchLoad BatchDriver::load() const {
  return {seen.running, seen.waiting, seen.used_pages, pages.size()};
}

void BatchDriver::show_load() {
  seen.running = running.size();
  seen.waiting = waiting_count;
  seen.used_pages = pages.size() - pages.available();
}

BatonStep BatchDriver::begin(std::span<int32_t>) {
  // The last step of a program that was stopped may not have been told of.
  for (Sequence *sequence : running)
    sequence->rows = sequence->outputs = sequence->guessed = 0;
  ready.clear();
  prompts.clear();
  outputs.clear();
  std::copy(lines.begin(), lines.end(), inputs.pages);
  want_all_logits(inputs, shape);
  wants_all = true;
  for (Sequence *sequence : running)
    write_changes(*sequence);
  adapters.begin_step(/*begins_run=*/true);
  take_events(std::unique_lock(mutex));
  return make_step();
}

BatonStep BatchDriver::advance(const BatonStep &, const Logits &) {
  adapters.begin_step(/*begins_run=*/false);
  take_results();
  take_events(std::unique_lock(mutex, std::try_to_lock));
  return make_step();
}

void BatchDriver::finish() noexcept {
  if (hooks.on_finish)
    hooks.on_finish();
}

void BatchDriver::take_results() {
  ++count.steps;
  if (prompts.empty()) {
    uint32_t rows = 0;
    for (const Sequence *sequence : ready)
      rows += sequence->rows;
    guess_choice.learn_time(rows, options.clock() - began);
  }
  for (const auto *list : {&ready, &prompts})
    for (Sequence *sequence : *list)
      take_rows(*sequence);
  const BatonDraw *draws = inputs.draws;
  for (Sequence *sequence : outputs) {
    const uint32_t many = std::exchange(sequence->outputs, 0);
    take_draws(*sequence, {draws, many});
    draws += many;
  }
}

void BatchDriver::take_rows(Sequence &sequence) {
  Job &job = sequence.job;
  const uint64_t begin = sequence.computed;
  const uint32_t rows = std::exchange(sequence.rows, 0);
  // Whether more of them count, take_draws() says.
  const uint64_t end = begin + rows - sequence.guessed;
  const uint64_t fresh = std::max(begin, sequence.reached);
  count.rows += rows;
  count.recomputed += std::min(end, fresh) - begin;
  count.prompt_tokens +=
      std::max(std::min(end, job.prompt_size), fresh) - fresh;
  sequence.computed = end;
  sequence.reached = std::max(sequence.reached, end);
  publish_pages(sequence);
  if (fresh < std::min(end, job.prompt_size))
    report_prompt(sequence);
  // The others find the prompt's pages.
  if (end >= job.prompt_size)
    let_others_wait(job);
  if (!sequence.is_embedded())
    return;
  pool_rows(sequence, begin, end);
  if (end == sequence.end())
    end_embedded(sequence);
}

/// Those that were not added up before the text was preempted.
void BatchDriver::pool_rows(Sequence &sequence, uint64_t begin,
                            uint64_t end) const {
  const size_t width = shape.hidden_width;
  uint64_t from = std::max(begin, sequence.pooled);
  if (sequence.pooling == Pooling::Last)
    from = std::max(from, sequence.end() - 1);
  std::vector<float> &embedding = sequence.job.embedding;
  // Those that only wait take no memory.
  embedding.resize(sequence.pooling == Pooling::None ? sequence.end() * width
                                                     : width);
  for (uint64_t position = from; position < end; ++position) {
    const float *row = inputs.hidden_states +
                       (sequence.first_row + (position - begin)) * width;
    if (sequence.pooling == Pooling::None)
      std::copy_n(row, width, embedding.data() + position * width);
    else
      for (size_t i = 0; i < width; ++i)
        sequence.sum[i] += double(row[i]);
  }
  sequence.pooled = std::max(sequence.pooled, end);
}

void BatchDriver::end_embedded(Sequence &sequence) {
  const bool is_mean = sequence.pooling == Pooling::Mean;
  const double count = is_mean ? double(sequence.end()) : 1;
  std::vector<float> &embedding = sequence.job.embedding;
  if (sequence.pooling != Pooling::None)
    for (size_t i = 0; i < embedding.size(); ++i)
      embedding[i] = static_cast<float>(sequence.sum[i] / count);
  const bool is_finite = std::ranges::all_of(
      embedding, [](float number) { return std::isfinite(number); });
  if (is_finite)
    end(sequence, BatchFinish::Stop);
  else
    end(sequence, BatchFinish::Error, "hidden states are not finite");
}

/// What is computed again is not reported again.
void BatchDriver::report_prompt(const Sequence &sequence) const {
  const Job &job = sequence.job;
  if (hooks.on_prompt && sequence.index == 0)
    hooks.on_prompt(job.request,
                    {.tokens = job.prompt_size,
                     .cached = job.cached_tokens,
                     .done = std::min(sequence.reached, job.prompt_size)});
}

/// Those that were held for the first one.
void BatchDriver::let_others_wait(Job &job) {
  if (std::exchange(job.has_prompt, true))
    return;
  for (size_t other = 1; other < job.sequences.size(); ++other)
    wait(*job.sequences[other]);
}

void BatchDriver::publish_pages(Sequence &sequence) {
  if (!options.prefix_cache)
    return;
  while (sequence.published < sequence.computed / page_positions) {
    const uint32_t entry = sequence.published++;
    const int32_t *own = line(sequence);
    const int32_t parent = entry ? own[entry - 1] : PagePool::none;
    set_page(sequence, entry,
             pages.publish(own[entry], parent, sequence.page_tokens(entry),
                           sequence.job.beginning()));
  }
}

/// Of a row with logits each, which the sequence may end with.
void BatchDriver::take_draws(Sequence &sequence,
                             std::span<const BatonDraw> draws) {
  Job &job = sequence.job;
  const uint32_t guessed = std::exchange(sequence.guessed, 0),
                 length = sequence.match_length;
  uint32_t right = 0;
  for (const BatonDraw &draw : draws) {
    const bool scores = !sequence.is_scored();
    const uint64_t position =
        scores ? sequence.to_score : sequence.tokens.size();
    if (auto failure = std::exchange(sequence.mask_failure, nullptr)) {
      // Of a constraint that cannot go on: it ends one text, not all.
      try {
        std::rethrow_exception(failure);
      } catch (const Error &error) {
        return end(sequence, BatchFinish::Error, error.what());
      }
    }
    const int32_t token = draw.drawn.token;
    if (token == BATON_NOT_FINITE)
      return end(sequence, BatchFinish::Error,
                 "logits at position " + std::to_string(position) +
                     " are not finite");
    if (token < 0 || static_cast<uint64_t>(token) >= shape.vocabulary ||
        (scores && token != sequence.tokens[position]))
      throw std::logic_error("a step has drawn token " + std::to_string(token));
    if (!scores && sequence.compares)
      return take_choices(sequence, draw);
    if (!scores) {
      // The sequence may be gone behind its last token.
      if (take_token(sequence, draw) && right < guessed &&
          sequence.guesses[right] == token) {
        take_guess(sequence);
        ++right;
        continue;
      }
      if (guessed)
        guess_choice.learn_guesses(length, right, guessed);
      count.guessed_tokens += guessed;
      count.right_guesses += right;
      return;
    }
    record(job.scores, draw,
           std::min<uint64_t>(job.request.score_likely, shape.vocabulary));
    ++sequence.to_score;
    ++job.scored_tokens;
    ++count.scored_tokens;
  }
  if (sequence.is_only_scored && sequence.is_scored())
    end(sequence, BatchFinish::Length);
}

void BatchDriver::take_choices(Sequence &sequence, const BatonDraw &draw) {
  Job &job = sequence.job;
  const size_t many = job.request.choices.size();
  job.compared.assign(draw.listed, draw.listed + many);
  job.likeliest = draw.drawn.token;
  count.scored_tokens += many;
  end(sequence, BatchFinish::Length);
}

/// Its row was one of a guess, which was right.
void BatchDriver::take_guess(Sequence &sequence) {
  ++sequence.computed;
  sequence.reached = std::max(sequence.reached, sequence.computed);
  publish_pages(sequence);
}

/// Whether the text goes on.
bool BatchDriver::take_token(Sequence &sequence, const BatonDraw &draw) {
  const Job &job = sequence.job;
  const BatchRequest &request = job.request;
  const int32_t token = draw.drawn.token;
  std::span<const TokenLogprob> logprobs;
  if (request.logprobs)
    logprobs = record(sequence.logprobs, draw,
                      std::min<uint64_t>(*request.logprobs, shape.vocabulary));
  sequence.tokens.push_back(token);
  if (auto changed = sequence.changes.generated(token); !changed.empty())
    changes_of(sequence)[&changed.front() - sequence.changes.all().data()] =
        changed.front();
  ++count.generated_tokens;
  try {
    if (sequence.matcher && !sequence.matcher->accept(token))
      throw std::logic_error("a constraint has allowed token " +
                             std::to_string(token) + ", and refuses it");
    if (hooks.on_token)
      hooks.on_token(request, sequence.index, token, logprobs);
    if (ends_text(sequence, token))
      end(sequence, BatchFinish::Stop);
    else if (sequence.tokens.size() - job.prompt_size >= job.max_new_tokens)
      end(sequence, BatchFinish::Length);
    else
      return true;
  } catch (const Error &failure) {
    // Of a constraint that cannot go on: it ends one text, not all.
    end(sequence, BatchFinish::Error, failure.what());
  }
  return false;
}

bool BatchDriver::ends_text(Sequence &sequence, int32_t token) const {
  const BatchRequest &request = sequence.job.request;
  if (std::find(request.stop_tokens.begin(), request.stop_tokens.end(),
                token) != request.stop_tokens.end())
    return true;
  if (sequence.matcher && sequence.matcher->is_finished())
    return true;
  if (!sequence.decoder)
    return false;
  std::string &tail = sequence.tail;
  tail += sequence.decoder->push(token);
  for (const std::string &text : request.stop_strings)
    if (tail.find(text) != std::string::npos)
      return true;
  if (const size_t longest = sequence.job.longest_stop_string;
      tail.size() >= longest)
    tail.erase(0, tail.size() - (longest - 1));
  return false;
}

/// Does nothing without the lock.
void BatchDriver::take_events(std::unique_lock<std::mutex> lock) {
  if (!lock)
    return;
  taken.swap(events);
  lock.unlock();
  for (Event &event : taken) {
    if (!event.job) {
      cancel_jobs(event.cancelled);
      continue;
    }
    Job &job = *event.job;
    job.place = jobs.size();
    jobs.push_back(std::move(event.job));
    wait(*job.sequences.front());
  }
  taken.clear();
}

void BatchDriver::cancel_jobs(const std::string &id) {
  for (size_t place = jobs.size(); place-- > 0;) {
    // Gone with the last of its sequences, and the last job in its place.
    Job &job = *jobs[place];
    if (job.request.id != id)
      continue;
    for (size_t index = 0, left = job.left; left; ++index)
      if (Sequence &sequence = *job.sequences[index];
          sequence.state != Sequence::State::Done) {
        --left;
        end(sequence, BatchFinish::Cancelled);
      }
  }
}

/// The oldest comes first.
void BatchDriver::wait(Sequence &sequence) {
  sequence.state = Sequence::State::Waiting;
  ++waiting_count;
  Sequence **link = &waiting;
  if (last_waiting && last_waiting->is_older(sequence))
    link = &last_waiting->next;
  while (*link && (*link)->is_older(sequence))
    link = &(*link)->next;
  sequence.next = std::exchange(*link, &sequence);
  if (!sequence.next)
    last_waiting = &sequence;
}

void BatchDriver::stop_waiting(Sequence &sequence) {
  --waiting_count;
  Sequence *before = nullptr, **link = &waiting;
  for (; *link != &sequence; link = &before->next)
    before = *link;
  *link = std::exchange(sequence.next, nullptr);
  if (last_waiting == &sequence)
    last_waiting = before;
}

void BatchDriver::admit() {
  while (waiting && !free_lines.empty() && admit(*waiting)) {
  }
}

/// Unless it would take pages that those which run soon need.
bool BatchDriver::admit(Sequence &sequence) {
  // Only what others give back can change it.
  if (&sequence == refused && !running.empty() &&
      pages.available() <= refused_pages)
    return false;
  sequence.line = free_lines.back();
  const uint64_t available = pages.available();
  find_pages(sequence);
  const uint64_t wanted = pages_of(sequence.end());
  const uint64_t spare = running.size() / 8;
  if (pages.available() < wanted - sequence.page_count + spare) {
    give_pages_back(sequence);
    refused = &sequence;
    refused_pages = available;
    return false;
  }
  if (!admit_adapter(sequence)) {
    give_pages_back(sequence);
    return false;
  }
  if (&sequence == refused)
    refused = nullptr;
  free_lines.pop_back();
  stop_waiting(sequence);
  sequence.state = Sequence::State::Running;
  auto younger = std::find_if(
      running.rbegin(), running.rend(),
      [&](const Sequence *other) { return other->is_older(sequence); });
  running.insert(younger.base(), &sequence);
  while (sequence.page_count < wanted)
    set_page(sequence, sequence.page_count++, pages.take());
  const bool begins = sequence.reached == 0;
  count_found(sequence, 0);
  if (begins)
    report_prompt(sequence);
  write_changes(sequence);
  return true;
}

/// Sees to it that the sequence's adapter is in the program's memory. False
/// while others need the room.
bool BatchDriver::admit_adapter(Sequence &sequence) {
  Job &job = sequence.job;
  ServedAdapter *adapter = job.request.adapter.get();
  if (!adapter)
    return true;
  const auto room =
      adapters.take(adapter->number(), adapter->ranks(), adapter->is_there);
  if (!room)
    return false;
  if (room->is_new) {
    // It was there when the request came, and has gone meanwhile.
    if (!job.packed)
      job.packed = adapter->pack();
    adapter->write(*job.packed, room->place, options.write_storage);
    ++count.adapter_loads;
  }
  job.packed.reset();
  sequence.adapter_place = room->place;
  return true;
}

/// Of one that is not admitted after all, or no longer.
void BatchDriver::give_pages_back(Sequence &sequence) {
  const int32_t *own = line(sequence);
  while (sequence.page_count)
    pages.release(own[--sequence.page_count]);
  sequence.published = 0;
  sequence.computed = 0;
}

/// Takes what others have computed, at the borders of pages.
void BatchDriver::find_pages(Sequence &sequence) {
  if (!options.prefix_cache || sequence.computed % page_positions)
    return;
  int32_t *own = line(sequence);
  uint64_t entry = sequence.computed / page_positions;
  for (; entry < sequence.full_pages(); ++entry) {
    const int32_t parent = entry ? own[entry - 1] : PagePool::none;
    const int32_t page = pages.find(parent, sequence.page_tokens(entry),
                                    sequence.job.beginning());
    if (page == PagePool::none)
      break;
    if (entry < sequence.page_count)
      pages.release(own[entry]);
    else
      ++sequence.page_count;
    set_page(sequence, static_cast<uint32_t>(entry), page);
    sequence.published = static_cast<uint32_t>(entry) + 1;
  }
  sequence.computed = entry * page_positions;
}

/// Of those that find_pages() has skipped, from `before` on: each token of a
/// prompt that was not there before, once.
void BatchDriver::count_found(Sequence &sequence, uint64_t before) {
  Job &job = sequence.job;
  const uint64_t fresh = std::max(before, sequence.reached);
  const uint64_t found =
      std::max(std::min(sequence.computed, job.prompt_size), fresh) - fresh;
  count.cached_tokens += found;
  if (sequence.index == 0)
    job.cached_tokens += found;
  sequence.reached = std::max(sequence.reached, sequence.computed);
}

void BatchDriver::preempt(Sequence &sequence) {
  ++count.preemptions;
  leave(sequence);
  wait(sequence);
}

/// Gives its pages back; what they hold stays as long as it can.
void BatchDriver::leave(Sequence &sequence) {
  give_pages_back(sequence);
  if (const auto &adapter = sequence.job.request.adapter)
    adapters.release(adapter->number());
  free_lines.push_back(sequence.line);
  sequence.rows = sequence.outputs = sequence.guessed = 0;
  running.erase(std::find(running.begin(), running.end(), &sequence));
}

void BatchDriver::end(Sequence &sequence, BatchFinish finish,
                      std::string error) {
  if (sequence.state == Sequence::State::Running)
    leave(sequence);
  else if (sequence.state == Sequence::State::Waiting)
    stop_waiting(sequence);
  sequence.state = Sequence::State::Done;
  if (&sequence == refused)
    refused = nullptr;
  Job &job = sequence.job;
  let_others_wait(job);
  sequence.tokens.erase(sequence.tokens.begin(),
                        sequence.tokens.begin() +
                            static_cast<ptrdiff_t>(job.prompt_size));
  job.choices[sequence.index] = {std::move(sequence.tokens), finish,
                                 std::move(error),
                                 std::move(sequence.logprobs)};
  if (--job.left > 0)
    return;
  // Whoever has the result sees nothing of it running.
  show_load();
  deliver(job);
}

void BatchDriver::deliver(Job &job) {
  std::unique_ptr<Job> own = std::move(jobs[job.place]);
  if (job.place + 1 < jobs.size()) {
    jobs.back()->place = job.place;
    jobs[job.place] = std::move(jobs.back());
  }
  jobs.pop_back();
  own->request.prompt.clear();
  if (hooks.on_result)
    hooks.on_result(
        {std::move(own->request), own->prompt_size, own->cached_tokens,
         std::move(own->choices), own->scored_tokens, std::move(own->scores),
         std::move(own->compared), own->likeliest, std::move(own->embedding)});
  --unfinished;
}

BatonStep BatchDriver::make_step() {
  ready.clear();
  prompts.clear();
  outputs.clear();
  admit();
  choose_ready();
  choose_prompts();
  choose_guesses();
  show_load();

  uint32_t logits = 0;
  for (const auto *list : {&ready, &prompts})
    for (const Sequence *sequence : *list)
      logits += sequence->outputs;
  BatonStep step = {write_rows(), 0, logits, 0};
  if (step.rows == 0) {
    // The run ends where only adapters that rest are in the way; whoever waits
    // begins another.
    if (!running.empty() || (waiting && !adapters.rests()))
      throw std::logic_error("of the texts that are left none can go on");
    return step;
  }
  want_logits(logits);
  if (auto fault = check.find_fault(step, inputs))
    throw Error("batch: " + *fault);
  began = options.clock();
  return step;
}

/// Writes the rows of whoever was chosen. Returns how many there are.
uint32_t BatchDriver::write_rows() {
  uint32_t row = 0;
  auto write = [&](const Sequence &sequence, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i)
      write_row(row++, sequence, sequence.computed + i);
  };
  // Rows with logits are the last ones. The chunk before them goes on there.
  for (Sequence *sequence : prompts)
    if (sequence->outputs == 0) {
      sequence->first_row = row;
      write(*sequence, 0, sequence->rows);
    }
  auto before_outputs = [](const Sequence &sequence) {
    return sequence.rows - sequence.outputs;
  };
  for (const Sequence *sequence : prompts)
    if (sequence->outputs)
      write(*sequence, 0, before_outputs(*sequence));
  for (auto last = prompts.rbegin(); last != prompts.rend(); ++last)
    if ((*last)->outputs && before_outputs(**last))
      outputs.push_back(*last);
  for (Sequence *sequence : prompts)
    if (sequence->outputs && !before_outputs(*sequence))
      outputs.push_back(sequence);
  outputs.insert(outputs.end(), ready.begin(), ready.end());
  uint32_t output = 0;
  for (Sequence *sequence : outputs) {
    write(*sequence, before_outputs(*sequence), sequence->rows);
    for (uint32_t i = before_outputs(*sequence); i < sequence->rows; ++i)
      inputs.sampling[output++] =
          sampling_of(*sequence, sequence->computed + i);
  }
  return row;
}

/// Says which logits the step computes.
void BatchDriver::want_logits(uint32_t outputs) {
  if (!inputs.wanted_panels || outputs == 0)
    return;
  count.logit_panels += shape.logit_panels;
  const std::span<const BatonSampling> sampling(inputs.sampling, outputs);
  if (!std::ranges::all_of(sampling, [](const BatonSampling &each) {
        return each.wanted == BATON_WANTED_LISTED_ONLY;
      })) {
    // Most steps find all of them there.
    if (!std::exchange(wants_all, true))
      want_all_logits(inputs, shape);
    return;
  }
  wants_all = false;
  int32_t *const wanted = inputs.wanted_panels;
  std::fill_n(wanted, shape.logit_panels + 1, 0);
  for (const BatonSampling &each : sampling) {
    const BatonChange *listed =
        inputs.changes + size_t(each.line) * shape.max_changes;
    for (uint32_t i = 0; i < each.changes; ++i)
      wanted[shape.panel_of(static_cast<uint64_t>(listed[i].token)) + 1] = 1;
  }
  std::partial_sum(wanted, wanted + shape.logit_panels + 1, wanted);
  count.left_out_panels +=
      shape.logit_panels - static_cast<uint32_t>(wanted[shape.logit_panels]);
}

/// Texts whose next row has logits. Where not all can have one, they take
/// turns.
void BatchDriver::choose_ready() {
  for (Sequence *sequence : running)
    if (sequence->computed >= sequence->first_output())
      ready.push_back(sequence);
  const size_t most = std::min(shape.max_rows, shape.max_outputs);
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
  // The oldest first: whoever has to go is younger, and has no row yet.
  size_t kept = 0;
  for (Sequence *sequence : ready)
    if (sequence->state == Sequence::State::Running && has_page(*sequence)) {
      sequence->rows = sequence->outputs = 1;
      ready[kept++] = sequence;
    }
  ready.resize(kept);
}

/// And more rows of texts that are scored and have one.
void BatchDriver::choose_prompts() {
  uint64_t rows = shape.max_rows - ready.size();
  uint64_t logits = shape.max_outputs - ready.size();
  if (options.prefill_chunk)
    rows = std::min<uint64_t>(rows, options.prefill_chunk);
  for (Sequence *sequence : running) {
    if (rows == 0)
      break;
    if (sequence->left() == 1 && !sequence->is_embedded())
      continue;
    const uint64_t before = sequence->computed;
    find_pages(*sequence);
    count_found(*sequence, before);
    if (is_computed_now(*sequence))
      continue;
    const uint64_t begin = sequence->computed + sequence->rows;
    uint64_t more = std::min(sequence->end() - begin, rows);
    const uint64_t before_logits =
        std::max(sequence->first_output(), begin) - begin;
    uint64_t with_logits = more - std::min(more, before_logits);
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
    sequence->rows += static_cast<uint32_t>(more);
    sequence->outputs += static_cast<uint32_t>(with_logits);
  }
}

/// Rows that are left, where guesses are worth them. Steps with rows of prompts
/// take as long as these do, and have none.
void BatchDriver::choose_guesses() {
  if (options.prompt_lookup == 0 || !prompts.empty())
    return;
  uint32_t rows = 0;
  for (const Sequence *sequence : ready)
    rows += sequence->rows;
  const auto room =
      static_cast<uint32_t>(std::min(shape.max_rows, shape.max_outputs)) - rows;
  if (room == 0)
    return;
  matches.clear();
  candidates.clear();
  for (Sequence *sequence : ready) {
    const auto match = sequence->lookup.find(sequence->tokens);
    if (match.length == 0 || sequence->left() > 1)
      continue; // There is none, or rows are scored first.
    const uint64_t left = sequence->job.prompt_size +
                          sequence->job.max_new_tokens -
                          sequence->tokens.size() - 1;
    matches.emplace_back(sequence, match);
    candidates.push_back({.length = match.length,
                          .most = static_cast<uint32_t>(std::min<uint64_t>(
                              options.prompt_lookup, left))});
  }
  guess_choice.choose(candidates, rows, room);
  for (size_t i = 0; i < matches.size(); ++i) {
    const auto &[sequence, match] = matches[i];
    sequence->guessed = has_pages(*sequence, candidates[i].guesses);
    sequence->match_length = match.length;
    sequence->guesses.clear();
    // What ends in a loop goes on in it.
    for (uint32_t guess = 0; guess < sequence->guessed; ++guess)
      sequence->guesses.push_back(match.next[guess % match.next.size()]);
    sequence->rows += sequence->guessed;
    sequence->outputs += sequence->guessed;
  }
}

/// Sees to it that so many positions behind the next one have pages, if nobody
/// has to go for them. Returns how many have.
uint32_t BatchDriver::has_pages(Sequence &sequence, uint32_t more) {
  const uint64_t next = sequence.computed + 1;
  while (sequence.page_count < pages_of(next + more)) {
    const int32_t page = pages.take();
    if (page == PagePool::none)
      return static_cast<uint32_t>(sequence.page_count * page_positions - next);
    set_page(sequence, sequence.page_count++, page);
  }
  return more;
}

/// Whether another text computes the next page of the same tokens in this step.
bool BatchDriver::is_computed_now(const Sequence &sequence) const {
  const uint64_t entry = sequence.computed / page_positions;
  if (!options.prefix_cache || sequence.computed % page_positions ||
      entry >= sequence.full_pages())
    return false;
  auto parent = [&](const Sequence &of) {
    return lines[of.line * shape.line_entries() + entry - 1];
  };
  auto wanted = sequence.page_tokens(entry);
  for (const Sequence *other : prompts)
    if (other->computed / page_positions == entry &&
        other->end() >= (entry + 1) * page_positions &&
        (entry == 0 ? other->job.beginning() == sequence.job.beginning()
                    : parent(*other) == parent(sequence)) &&
        std::equal(wanted.begin(), wanted.end(),
                   other->page_tokens(entry).begin()))
      return true;
  return false;
}

/// Sees to it that the next position has a page, also if the youngest have to
/// go. False when it is the youngest.
bool BatchDriver::has_page(Sequence &sequence) {
  if (sequence.computed / page_positions < sequence.page_count)
    return true;
  int32_t page = pages.take();
  while (page == PagePool::none) {
    Sequence &youngest = *running.back();
    preempt(youngest);
    if (&youngest == &sequence)
      return false;
    page = pages.take();
  }
  set_page(sequence, sequence.page_count++, page);
  return true;
}

void BatchDriver::write_row(uint32_t row, const Sequence &sequence,
                            uint64_t position) {
  const int32_t page =
      lines[sequence.line * shape.line_entries() + position / page_positions];
  const size_t size = sequence.tokens.size();
  inputs.tokens[row] = position < size ? sequence.tokens[position]
                                       : sequence.guesses[position - size];
  inputs.positions[row] = static_cast<int32_t>(position);
  inputs.sequences[row] = static_cast<int32_t>(sequence.line);
  inputs.slots[row] = page * int32_t(page_positions) +
                      static_cast<int32_t>(position % page_positions);
  if (inputs.adapter_places) {
    const ServedAdapter *adapter = sequence.job.request.adapter.get();
    inputs.adapter_places[row] =
        adapter ? static_cast<int32_t>(sequence.adapter_place) : 0;
    inputs.adapter_counts[row] =
        adapter ? static_cast<int32_t>(adapter->ranks()) : 0;
  }
}

/// What is wanted of the row at a position.
BatonSampling BatchDriver::sampling_of(Sequence &sequence,
                                       uint64_t position) const {
  const BatchRequest &request = sequence.job.request;
  if (position + 1 < sequence.tokens.size()) {
    BatonSampling score = {};
    score.given = static_cast<uint64_t>(sequence.tokens[position + 1]);
    score.wanted = BATON_WANTED_SCORE;
    score.likely = request.score_likely;
    return score;
  }
  if (sequence.compares) {
    BatonSampling listed = {};
    listed.changes = static_cast<uint32_t>(sequence.changes.all().size());
    listed.line = sequence.line;
    listed.wanted =
        request.only_choices ? BATON_WANTED_LISTED_ONLY : BATON_WANTED_LISTED;
    return listed;
  }
  const SamplingOptions &options = request.sampling;
  return {.temperature = options.temperature,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .repetition_penalty = options.repetition_penalty,
          .presence_penalty = options.presence_penalty,
          .frequency_penalty = options.frequency_penalty,
          .top_k = options.top_k,
          // Continuations have neighbouring seeds.
          .seed = options.seed + sequence.index,
          .position = position + 1,
          .changes = static_cast<uint32_t>(sequence.changes.all().size()),
          .line = sequence.line,
          .wanted =
              request.logprobs ? BATON_WANTED_LOGPROBS : BATON_WANTED_TOKEN,
          .masked = sequence.matcher != nullptr,
          .likely = request.logprobs.value_or(0),
          .make_mask = &BatchDriver::make_mask,
          .text = &sequence,
          .mask_made = 0};
}

BatonChange *BatchDriver::changes_of(const Sequence &sequence) {
  return inputs.changes + size_t(sequence.line) * shape.max_changes;
}

void BatchDriver::write_changes(const Sequence &sequence) {
  std::ranges::copy(sequence.changes.all(), changes_of(sequence));
}

/// Of what fails, take_draws() hears.
void BatchDriver::make_mask(void *text, uint32_t *mask,
                            uint64_t words) noexcept {
  auto &sequence = *static_cast<Sequence *>(text);
  const std::span<uint32_t> all(mask, words);
  sequence.mask_failure = nullptr;
  try {
    sequence.matcher->allowed(all);
    if (allows_token(all, sequence.vocabulary))
      return;
    const bool begins = sequence.tokens.size() == sequence.job.prompt_size;
    throw Error(begins
                    ? "constraint: there is no token that may begin the text"
                    : "behind token " + std::to_string(sequence.tokens.back()) +
                          " the constraint allows none, and is not "
                          "finished");
  } catch (...) {
    sequence.mask_failure = std::current_exception();
    std::ranges::fill(all, 0U);
  }
}

int32_t *BatchDriver::line(const Sequence &sequence) {
  return lines.data() + sequence.line * shape.line_entries();
}

void BatchDriver::set_page(Sequence &sequence, uint32_t entry, int32_t page) {
  const size_t place = sequence.line * shape.line_entries() + entry;
  lines[place] = page;
  inputs.pages[place] = page;
}

} // namespace baton
