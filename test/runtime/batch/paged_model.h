//===- paged_model.h - a model of many sequences that needs no compiler --===//
//
// Keys and values are what a position is about: its token, and its number.
// Logits (paged_numbers.h) depend on all tokens up to a row, as they are found
// through the tables of pages. So whoever computes in a wrong place, or reads
// what is not computed, gets other tokens.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_RUNTIME_BATCH_PAGED_MODEL_H
#define BATON_TEST_RUNTIME_BATCH_PAGED_MODEL_H

#include "paged_numbers.h"
#include "runtime/batch/batch_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <vector>

namespace baton::test {

/// The program, and the memory that a driver fills.
class PagedModel {
public:
  explicit PagedModel(const BatchCapacities &shape)
      : shape(shape), rows(4, std::vector<int32_t>(shape.max_rows, -1)),
        pages(shape.max_sequences * shape.line_entries(), -1),
        cells(shape.pages * page_positions, {-1, ~uint64_t(0)}),
        sampling(shape.max_outputs),
        changes(size_t(shape.max_sequences) * shape.max_changes),
        masks(shape.max_outputs * shape.mask_words()),
        wanted(shape.logit_panels + 1, -1), draws(shape.max_outputs),
        logits(shape.vocabulary),
        hidden(size_t(shape.max_rows) * shape.hidden_width) {}

  BatchInputs inputs() {
    return {.tokens = rows[0].data(),
            .positions = rows[1].data(),
            .sequences = rows[2].data(),
            .slots = rows[3].data(),
            .pages = pages.data(),
            .sampling = sampling.data(),
            .changes = changes.data(),
            .masks = masks.data(),
            .draws = draws.data(),
            .hidden_states = hidden.data(),
            .wanted_panels = shape.logit_panels ? wanted.data() : nullptr};
  }

  /// The driver's memory as it is when a program has it anew.
  void forget_inputs() {
    for (auto &table : rows)
      std::fill(table.begin(), table.end(), -1);
    std::fill(pages.begin(), pages.end(), -1);
    std::fill(changes.begin(), changes.end(), BatonChange{-1, 0, 0});
    std::fill(wanted.begin(), wanted.end(), -1);
  }

  /// Runs to the end; `between` is called after each step.
  void run(BatchDriver &driver, const std::function<void()> &between = {}) {
    BatonStep step = driver.begin({});
    while (step.rows) {
      compute(step);
      if (::testing::Test::HasFatalFailure())
        return;
      step = driver.advance(step, {nullptr, 0, 0});
      spoil(driver);
      if (between)
        between();
    }
    driver.finish();
  }

  void compute(const BatonStep &step) {
    computes = true;
    compute_rows(step);
    computes = false;
  }

  void compute_rows(const BatonStep &step) {
    const BatchInputs in = inputs();
    auto fault = check.find_fault(step, in);
    ASSERT_FALSE(fault) << *fault;
    expect_chunks(step);
    for (uint32_t row = 0; row < step.rows; ++row)
      cells[static_cast<size_t>(in.slots[row])] = {
          in.tokens[row], static_cast<uint64_t>(in.positions[row])};
    std::fill(hidden.begin(), hidden.end(), 1e9F);
    for (uint32_t row = 0; shape.hidden_width && row < step.rows; ++row) {
      const auto [hash, poisoned] = hash_of(row);
      fill_hidden(hash, poisoned,
                  std::span(hidden).subspan(size_t(row) * shape.hidden_width,
                                            shape.hidden_width));
    }
    make_masks(step);
    for (uint32_t output = 0; output < step.outputs; ++output) {
      const auto [hash, poisoned] = hash_of(step.rows - step.outputs + output);
      fill_logits(hash, poisoned, logits);
      leave_out();
      const size_t line = sampling[output].line;
      draws[output] =
          draw_from(logits, sampling[output],
                    changes.data() + line * shape.max_changes, mask_of(output));
    }
  }

  /// How many threads make a step's masks.
  unsigned threads = 1;
  /// Whether a step is computed, rather than decided about.
  std::atomic<bool> computes = false;

private:
  /// Logits of panels that the step does not want: nobody may look at them.
  void leave_out() {
    for (size_t token = 0; shape.logit_panels && token < logits.size(); ++token)
      if (const size_t panel = token / 16; wanted[panel] == wanted[panel + 1])
        logits[token] = std::nanf("");
  }

  uint32_t *mask_of(uint32_t output) {
    return masks.data() + output * shape.mask_words();
  }

  /// Anew for each step, each row's by one of the threads.
  void make_masks(const BatonStep &step) {
    std::fill(masks.begin(), masks.end(), 0x5a5a5a5a);
    auto make = [&](uint32_t first) {
      for (uint32_t output = first; output < step.outputs; output += threads)
        if (const BatonSampling &wanted = sampling[output]; wanted.masked)
          wanted.make_mask(wanted.text, mask_of(output), shape.mask_words());
    };
    std::vector<std::jthread> others;
    for (unsigned thread = 1; thread < threads; ++thread)
      others.emplace_back(make, thread);
    make(0);
  }

  /// Of all tokens that a row sees, and whether one is `poison`.
  std::pair<uint64_t, bool> hash_of(uint32_t row) {
    const BatchInputs in = inputs();
    uint64_t hash = 0;
    bool poisoned = false;
    for (int32_t position = 0; position <= in.positions[row]; ++position) {
      const int32_t page =
          in.pages[static_cast<size_t>(in.sequences[row]) *
                       shape.line_entries() +
                   static_cast<size_t>(position) / page_positions];
      const Cell &cell = cells[static_cast<size_t>(page) * page_positions +
                               static_cast<size_t>(position) % page_positions];
      hash = hash_token(hash, cell.token, cell.position);
      poisoned |= cell.token == poison;
    }
    return {hash, poisoned};
  }

  /// Rows of one text stand together, but for those with logits behind others:
  /// of such texts one does.
  void expect_chunks(const BatonStep &step) {
    const BatchInputs in = inputs();
    std::set<int32_t> texts, early, ending;
    uint32_t chunks = 0;
    for (uint32_t row = 0; row < step.rows; ++row) {
      const bool goes_on = row && in.sequences[row] == in.sequences[row - 1] &&
                           in.positions[row] == in.positions[row - 1] + 1;
      chunks += !goes_on;
      texts.insert(in.sequences[row]);
      if (row < step.rows - step.outputs)
        early.insert(in.sequences[row]);
      else if (early.contains(in.sequences[row]))
        ending.insert(in.sequences[row]);
    }
    EXPECT_EQ(chunks, texts.size() + (ending.empty() ? 0 : ending.size() - 1));
  }

  struct Cell {
    int32_t token;
    uint64_t position;
  };

  /// Nobody may rely on what free pages hold.
  void spoil(const BatchDriver &driver) {
    for (uint64_t page = 0; page < shape.pages; ++page)
      if (auto number = static_cast<int32_t>(page);
          driver.pool().references(number) == 0 &&
          !driver.pool().is_published(number))
        for (uint64_t i = 0; i < page_positions; ++i)
          cells[page * page_positions + i] = {-5, mix(++spoiled)};
  }

  const BatchCapacities shape;
  BatchCheck check{shape};
  std::vector<std::vector<int32_t>> rows;
  std::vector<int32_t> pages;
  std::vector<Cell> cells;
  std::vector<BatonSampling> sampling;
  std::vector<BatonChange> changes;
  std::vector<uint32_t> masks;
  std::vector<int32_t> wanted;
  std::vector<BatonDraw> draws;
  std::vector<float> logits;
  std::vector<float> hidden;
  uint64_t spoiled = 0;
};

} // namespace baton::test

#endif // BATON_TEST_RUNTIME_BATCH_PAGED_MODEL_H
