//===- paged_model.h - a model of many sequences that needs no compiler --===//
//
// Keys and values are what a position is about: its token, and its number.
// Logits are pseudo-random numbers that depend on all tokens up to a row, as
// they are found through the tables of pages. So whoever computes in a wrong
// place, or reads what is not computed, gets other tokens.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_RUNTIME_BATCH_PAGED_MODEL_H
#define BATON_TEST_RUNTIME_BATCH_PAGED_MODEL_H

#include "runtime/batch/batch_driver.h"
#include "runtime/weights/hash.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace baton::test {

/// After this token, which is never generated, logits are no numbers.
inline constexpr int32_t poison = 250;

inline uint64_t hash_token(uint64_t hash, int32_t token, uint64_t position) {
  return mix(hash ^ (position << 32 | static_cast<uint32_t>(token)));
}

inline void fill_logits(uint64_t hash, bool poisoned, std::span<float> logits) {
  for (size_t token = 0; token < logits.size(); ++token)
    logits[token] =
        poisoned ? std::nanf("")
                 : static_cast<float>(mix(hash + token) >> 40) * 0x1p-22f;
  if (!poisoned)
    logits[poison] = -1000;
}

/// The continuation, computed by itself.
inline BatchChoice continue_alone(const BatchRequest &request, uint32_t index,
                                  const BatchCapacities &shape) {
  SamplingOptions sampling = request.sampling;
  sampling.seed += index;
  Sampler sampler(sampling);
  BatchChoice choice;
  std::vector<int32_t> tokens = request.prompt;
  std::vector<float> logits(shape.vocabulary);
  std::string text;
  uint64_t hash = 0, hashed = 0;
  bool poisoned = false;
  while (choice.tokens.size() < most_new_tokens(request, shape)) {
    for (; hashed < tokens.size(); ++hashed) {
      hash = hash_token(hash, tokens[hashed], hashed);
      poisoned |= tokens[hashed] == poison;
    }
    if (poisoned) {
      choice.finish = BatchFinish::Error;
      choice.error = "logits at position " + std::to_string(hashed) +
                     " are not finite";
      return choice;
    }
    fill_logits(hash, false, logits);
    int32_t token =
        request.logprobs
            ? sampler.sample(logits, tokens, request.prompt.size(),
                             *request.logprobs, choice.logprobs)
            : sampler.sample(logits, tokens, request.prompt.size());
    tokens.push_back(token);
    choice.tokens.push_back(token);
    text += static_cast<char>(token);
    bool stops = std::find(request.stop_tokens.begin(),
                           request.stop_tokens.end(),
                           token) != request.stop_tokens.end();
    for (const std::string &stop : request.stop_strings)
      stops |= text.ends_with(stop);
    if (stops) {
      choice.finish = BatchFinish::Stop;
      break;
    }
  }
  return choice;
}

/// The program, and the memory that a driver fills.
class PagedModel {
public:
  explicit PagedModel(const BatchCapacities &shape)
      : shape(shape), rows(4, std::vector<int32_t>(shape.max_rows, -1)),
        pages(shape.max_sequences * shape.line_entries(), -1),
        cells(shape.pages * page_positions, {-1, ~uint64_t(0)}),
        logits(shape.max_outputs * shape.vocabulary) {}

  BatchInputs inputs() {
    return {rows[0].data(), rows[1].data(), rows[2].data(), rows[3].data(),
            pages.data()};
  }

  /// Runs to the end; `between` is called after each step.
  void run(BatchDriver &driver, const std::function<void()> &between = {}) {
    BatonStep step = driver.begin({});
    while (step.rows) {
      compute(step);
      if (::testing::Test::HasFatalFailure())
        return;
      step = driver.advance(step, {logits.data(),
                                   static_cast<int64_t>(shape.vocabulary),
                                   static_cast<int64_t>(shape.vocabulary)});
      spoil(driver);
      if (between)
        between();
    }
    driver.finish();
  }

  void compute(const BatonStep &step) {
    const BatchInputs in = inputs();
    auto fault = find_batch_fault(shape, step, in);
    ASSERT_FALSE(fault) << *fault;
    for (uint32_t row = 0; row < step.rows; ++row)
      cells[static_cast<size_t>(in.slots[row])] = {
          in.tokens[row], static_cast<uint64_t>(in.positions[row])};
    for (uint32_t output = 0; output < step.outputs; ++output) {
      const uint32_t row = step.rows - step.outputs + output;
      uint64_t hash = 0;
      bool poisoned = false;
      for (int32_t position = 0; position <= in.positions[row]; ++position) {
        const int32_t page =
            in.pages[static_cast<size_t>(in.sequences[row]) *
                         shape.line_entries() +
                     static_cast<size_t>(position) / page_positions];
        const Cell &cell = cells[static_cast<size_t>(page) * page_positions +
                                 static_cast<size_t>(position) %
                                     page_positions];
        hash = hash_token(hash, cell.token, cell.position);
        poisoned |= cell.token == poison;
      }
      fill_logits(hash, poisoned,
                  std::span(logits).subspan(output * shape.vocabulary,
                                            shape.vocabulary));
    }
  }

private:
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
  std::vector<std::vector<int32_t>> rows;
  std::vector<int32_t> pages;
  std::vector<Cell> cells;
  std::vector<float> logits;
  uint64_t spoiled = 0;
};

} // namespace baton::test

#endif // BATON_TEST_RUNTIME_BATCH_PAGED_MODEL_H
