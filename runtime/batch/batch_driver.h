//===- batch_driver.h - continues and scores many texts at once ----------===//
//
// Continuous batching: texts come and go between any two steps. In a step each
// text whose next row has logits has that; the rest of the rows, and of those
// with logits, go to prompts, in chunks, the oldest text first.
//
// Of a prompt that is scored the rows before the tokens in question have
// logits, too. A token is scored once, also if its text is computed again.
//
// A text is admitted, first come first served among those of the same priority,
// when a line of the table of
// pages and pages for all of its tokens are free. It begins behind the pages
// that hold its tokens already (runtime/batch/page_pool.h), and if another text
// computes the next page of the same tokens in this step, it waits a step and
// uses that. When a text needs a page and there is none, the youngest text
// gives its pages back, and computes its tokens again later; most of its pages
// are still there then. So the oldest always goes on.
//
// Of a text whose embedding is wanted no row has logits; its rows' hidden
// states are added up, or the last one is taken, behind each step, in the order
// of positions, so that chunks change no bit.
//
// Where lines of logits are left, a text may also have rows of tokens that are
// guessed (prompt_lookup.h), as many as are worth it (guess_choice.h). Those
// behind the first wrong guess were for nothing: what they wrote lies behind
// the text's end, where nobody reads, until the rows that belong there are
// written over it.
//
// Of a text behind which tokens are compared the last row has logits. Where all
// rows of a step with logits want those of some tokens only, the step says
// which, and computes no others.
//
// A text with a constraint has a mask of its own for each token. It is made
// while the step runs that draws the token, by tasks of that
// (model.token_mask), or beside a GPU's kernel; the step's sampling waits for
// it.
//
// Rows do not depend on the rest of a step, nor a token on anything but its
// seed and position: which texts run together changes no text.
//
// A text with an adapter is admitted when that is in the program's memory, or
// there is room for it (adapter_ranks.h); then it is put there, before the step
// begins. Who hands a request over has made of its files what goes there, so
// that this copies and no more.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_BATCH_BATCH_DRIVER_H
#define BATON_RUNTIME_BATCH_BATCH_DRIVER_H

#include "runtime/batch/adapter_ranks.h"
#include "runtime/batch/batch_request.h"
#include "runtime/batch/guess_choice.h"
#include "runtime/batch/page_pool.h"
#include "runtime/batch/prompt_lookup.h"
#include "runtime/execute/batch_check.h"
#include "runtime/execute/step_driver.h"
#include "runtime/tokenizer/tokenizer.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace baton {

double steady_seconds();

struct BatchOptions {
  /// Most rows of a step that go to prompts; 0: all that are left.
  uint32_t prefill_chunk = 0;
  /// Whether texts that begin alike share pages.
  bool prefix_cache = true;
  /// Most tokens that are guessed of a text in a step; 0: none.
  uint32_t prompt_lookup = 0;
  /// Most requests that are not finished; 0: some for each sequence.
  size_t capacity = 0;
  /// Puts adapters into the program's memory; of a program that takes some.
  StorageWriter write_storage = {};
  /// Seconds since any moment, by which guesses are chosen.
  double (*clock)() = &steady_seconds;
  /// For strings that end texts.
  std::optional<Tokenizer> tokenizer = {};
};

/// Called by the worker that advances: quick, and never waiting.
struct BatchHooks {
  /// A request is finished.
  std::function<void(BatchResult &&result)> on_result = {};
  /// A token of the request's continuation `choice`; if the request wants them,
  /// its log-probability, then those of the most likely ones, fewer where a
  /// constraint has left fewer.
  std::function<void(const BatchRequest &request, uint32_t choice,
                     int32_t token, std::span<const TokenLogprob> logprobs)>
      on_token = {};
  /// A request's first continuation begins, or a step has computed some of its
  /// prompt.
  std::function<void(const BatchRequest &request,
                     const PromptProgress &progress)>
      on_prompt = {};
  /// The program ends; see BatchDriver::has_work().
  std::function<void()> on_finish = {};
};

/// What has come of it so far.
struct BatchCounts {
  uint64_t steps = 0;
  uint64_t rows = 0;
  /// Tokens of prompts that were computed, once each, and that were found.
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t generated_tokens = 0;
  uint64_t scored_tokens = 0;
  /// Panels of 16 tokens whose logits steps may compute or leave out, of all
  /// steps with logits, and those that they left out.
  uint64_t logit_panels = 0;
  uint64_t left_out_panels = 0;
  /// Rows of guesses, and those of them that were right: of generated_tokens
  /// so many had no step of their own.
  uint64_t guessed_tokens = 0;
  uint64_t right_guesses = 0;
  uint64_t preemptions = 0;
  /// Rows that were computed again because of them.
  uint64_t recomputed = 0;
  /// Adapters that were put into the program's memory.
  uint64_t adapter_loads = 0;
};

/// Behind the latest step or result.
struct BatchLoad {
  /// Texts that have pages, and that wait for some.
  uint64_t running = 0, waiting = 0;
  /// Pages of the former, and how many there are.
  uint64_t used_pages = 0, pages = 0;
};

class BatchDriver : public StepDriver {
public:
  /// `inputs` is memory of the program that runs.
  BatchDriver(const BatchCapacities &shape, const BatchInputs &inputs,
              BatchOptions options = {}, BatchHooks hooks = {});
  ~BatchDriver() override;

  // From any thread, also while it runs.

  /// Hands a request over. False, and the request stays as it was, when too
  /// many are unfinished: try again when one is finished. Throws Error when the
  /// program cannot take it, or after close().
  bool submit(BatchRequest &&request);
  /// Ends requests of this id, if there are any that are not finished; their
  /// results say so.
  void cancel(std::string id);
  /// No more will be submitted.
  void close() { closed = true; }
  /// Whether requests are not finished. The program ends when it finds none;
  /// one that comes just then is not lost: who sees the end and has_work() runs
  /// it again.
  bool has_work() const { return unfinished > 0; }
  bool idle() const { return !has_work(); }
  BatchCounts counts() const;
  BatchLoad load() const;

  // What the program calls.

  BatonStep begin(std::span<int32_t> tokens) override;
  BatonStep advance(const BatonStep &current, const Logits &logits) override;
  bool provides_inputs() const override { return true; }
  /// The step draws its tokens.
  bool needs_logits() const override { return false; }
  void finish() noexcept override;

  /// For tests, between two steps.
  const PagePool &pool() const { return pages; }

private:
  struct Job;
  struct Sequence;
  /// A request, or the id of those to cancel.
  struct Event {
    std::unique_ptr<Job> job;
    std::string cancelled;
  };

  void expect_beginning(const Job &job) const;

  // What came of a step.
  void take_results();
  void take_rows(Sequence &sequence);
  void pool_rows(Sequence &sequence, uint64_t begin, uint64_t end) const;
  void end_embedded(Sequence &sequence);
  void report_prompt(const Sequence &sequence) const;
  void publish_pages(Sequence &sequence);
  void take_draws(Sequence &sequence, std::span<const BatonDraw> draws);
  bool take_token(Sequence &sequence, const BatonDraw &draw);
  void take_choices(Sequence &sequence, const BatonDraw &draw);
  void take_guess(Sequence &sequence);
  bool ends_text(Sequence &sequence, int32_t token) const;

  // Who runs.
  void take_events(std::unique_lock<std::mutex> lock);
  void cancel_jobs(const std::string &id);
  void wait(Sequence &sequence);
  void stop_waiting(Sequence &sequence);
  void admit();
  bool admit(Sequence &sequence);
  bool admit_adapter(Sequence &sequence);
  void find_pages(Sequence &sequence);
  void give_pages_back(Sequence &sequence);
  void count_found(Sequence &sequence, uint64_t before);
  void preempt(Sequence &sequence);
  void leave(Sequence &sequence);
  void let_others_wait(Job &job);
  void end(Sequence &sequence, BatchFinish finish, std::string error = {});
  void deliver(Job &job);
  void show_load();

  // The next step.
  BatonStep make_step();
  void choose_ready();
  void choose_prompts();
  void choose_guesses();
  uint32_t has_pages(Sequence &sequence, uint32_t more);
  uint32_t write_rows();
  void want_logits(uint32_t outputs);
  bool is_computed_now(const Sequence &sequence) const;
  bool has_page(Sequence &sequence);
  void write_row(uint32_t row, const Sequence &sequence, uint64_t position);
  BatonSampling sampling_of(Sequence &sequence, uint64_t position) const;
  int32_t *line(const Sequence &sequence);
  /// Of the sequence's line.
  BatonChange *changes_of(const Sequence &sequence);
  void write_changes(const Sequence &sequence);
  static void make_mask(void *text, uint32_t *mask, uint64_t words) noexcept;
  void set_page(Sequence &sequence, uint32_t entry, int32_t page);

  const BatchCapacities shape;
  const BatchInputs inputs;
  const BatchOptions options;
  const BatchHooks hooks;
  PagePool pages;
  AdapterRanks adapters;
  BatchCheck check;

  // Of the worker that advances.
  std::vector<std::unique_ptr<Job>> jobs;
  /// In order of age.
  std::vector<Sequence *> running;
  Sequence *waiting = nullptr, *last_waiting = nullptr;
  uint64_t waiting_count = 0;
  /// The pages of each line, of which inputs.pages is a copy.
  std::vector<int32_t> lines;
  std::vector<uint32_t> free_lines;
  /// Whether inputs.wanted_panels has all of them.
  bool wants_all = false;
  /// What the first that waits could not have: it is not tried again with less.
  const Sequence *refused = nullptr;
  uint64_t refused_pages = 0;
  /// Of those with a row, which is next where not all can have one.
  size_t turn = 0;
  GuessChoice guess_choice;
  /// Who may have guesses in the step that is made, and how many.
  std::vector<std::pair<Sequence *, PromptLookup::Match>> matches;
  std::vector<GuessChoice::Text> candidates;
  /// When the step that runs was made.
  double began = 0;
  /// Of the step that runs: who has rows, and who has those with logits, in
  /// their order.
  std::vector<Sequence *> ready, prompts, outputs;

  std::atomic<uint64_t> unfinished = 0;
  std::atomic<bool> closed = false;
  std::mutex mutex;
  /// Guarded by it.
  std::vector<Event> events;
  uint64_t submitted = 0;
  /// Taken from there.
  std::vector<Event> taken;
  const size_t capacity;

  struct {
    std::atomic<uint64_t> steps = 0, rows = 0, prompt_tokens = 0,
                          cached_tokens = 0, generated_tokens = 0,
                          scored_tokens = 0, logit_panels = 0,
                          left_out_panels = 0, guessed_tokens = 0,
                          right_guesses = 0, preemptions = 0, recomputed = 0,
                          adapter_loads = 0;
  } count;
  struct {
    std::atomic<uint64_t> running = 0, waiting = 0, used_pages = 0;
  } seen;
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_BATCH_DRIVER_H
