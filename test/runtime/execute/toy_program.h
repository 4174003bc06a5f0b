//===- toy_program.h - a hand-written program for tests of the runtime ---===//
//
// Implements runtime/program.h the way compiled code does - phases, events,
// bases, borders - for a model small enough to be computed by hand:
//
//   state[p]     = mix(state[p - 1] + token[p])             (0 before the text)
//   logits[p, v] = uniform in [-4, 4) by hash of (state[p], v), plus bias[v]
//
// with these exceptions after some tokens:
//   240 ... 249   the next number is by far the most likely token
//   250           token 2, the end of the text
//   258           logits that are not numbers; never likely itself
//
// The state is 32 bits, computed by worker 0 and stored per position, so that a
// wrong chunk of the prompt changes everything behind it; columns of the logits
// are split over the workers.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_RUNTIME_EXECUTE_TOY_PROGRAM_H
#define BATON_TEST_RUNTIME_EXECUTE_TOY_PROGRAM_H

#include "runtime/program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace baton::toy {

inline constexpr int64_t vocabulary = 259;
inline constexpr uint32_t max_rows = 8;
inline constexpr uint32_t max_seq = 64;
inline constexpr uint32_t max_outputs = 4;
inline constexpr uint32_t layers = 2;
/// Floats from one row of logits to the next.
inline constexpr int64_t logits_stride = 272;
inline constexpr int32_t end_of_text = 2;

std::string metadata();

/// The state behind a text.
uint32_t state_after(const std::vector<int32_t> &tokens);
/// The logits behind a text, without the bias.
std::vector<float> logits_after(const std::vector<int32_t> &tokens);
/// The continuation that always takes the most likely token.
std::vector<int32_t> greedy(std::vector<int32_t> tokens, size_t count);

/// Every step that was run since the last call; only for one run at a time.
std::vector<BatonStep> take_steps();

} // namespace baton::toy

#endif // BATON_TEST_RUNTIME_EXECUTE_TOY_PROGRAM_H
