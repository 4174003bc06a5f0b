//===- step_sampling.h - what is drawn from a step's logits ---------------===//
//
// What the runtime says of each row of logits of a batch program's step, and
// what the step's tasks answer (model.token_mask, model.sample). Bodies of
// tasks include this header, too, which therefore includes nothing that NVRTC
// lacks.
//
// Logits go through these in order, each of which is left out where its number
// changes nothing: bias, repetition penalty, frequency and presence penalty,
// mask, (here log-probabilities are taken,) temperature, top-k, top-p, min-p.
// The runtime's own sampler (runtime/decode/sampler.h) says what each is.
//
// A mask is a bias that is infinitely negative: tokens outside it have no
// probability, and are never drawn, nor among the most likely ones. Whether a
// logit is finite is asked before it, of all tokens.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_STEP_SAMPLING_H
#define BATON_RUNTIME_STEP_SAMPLING_H

#ifndef __CUDACC_RTC__
#include <cstdint>
#endif

extern "C" {

/// What is wanted of a row of logits.
enum BatonWanted : uint16_t {
  /// Nothing: the row's draw is of no token.
  BATON_WANTED_NOTHING = 0,
  BATON_WANTED_TOKEN = 1,
  /// And log-probabilities.
  BATON_WANTED_LOGPROBS = 2,
  /// Log-probabilities of a token that is given, and of the most likely ones,
  /// by logits as they are: neither bias, penalties nor masks change them.
  BATON_WANTED_SCORE = 3,
  /// Log-probabilities of tokens that are listed, by logits as they are; what
  /// is
  /// drawn is the most likely one of all tokens.
  BATON_WANTED_LISTED = 4,
  /// Logits of tokens that are listed, as they are; what is drawn is the most
  /// likely one of these, with its logit. No other logit is looked at, and none
  /// need have been computed.
  BATON_WANTED_LISTED_ONLY = 5,
};

struct BatonSampling {
  /// 0 takes the token of the largest logit, of equal ones the lowest.
  double temperature;
  double top_p;
  double min_p;
  double repetition_penalty;
  double presence_penalty;
  double frequency_penalty;
  /// 0: all tokens are candidates.
  uint64_t top_k;
  union {
    uint64_t seed;
    /// Of BATON_WANTED_SCORE: the token that is given.
    uint64_t given;
  };
  /// Of the token that is drawn, in its sequence.
  uint64_t position;
  /// Of logits that bias or penalties change: how many. Where tokens are
  /// listed, of these: 1 to BATON_MOST_LISTED.
  uint32_t changes;
  /// Which line of the step's changes has them.
  uint32_t line;
  /// BatonWanted.
  uint16_t wanted;
  /// 1: only tokens whose bit in the row's mask is 1 are candidates; bit
  /// t mod 32 of word t / 32 is that of token t. 0: all are, and no mask is
  /// made or read.
  uint16_t masked;
  /// Log-probabilities of the most likely tokens, besides that of the one
  /// drawn or given.
  uint32_t likely;
  /// Of a row that is masked: writes all of its mask's words, those of `text`.
  /// Called once while the step runs, beside other rows' and by any thread.
  /// Neither throws nor waits; of a mask that cannot be made it writes zeros.
  void (*make_mask)(void *text, uint32_t *mask, uint64_t words);
  void *text;
  /// Where tasks cannot call the host: 0 until the mask is there, then 1.
  uint32_t mask_made;
};

/// A token whose logit changes; a line has each once. Or, where tokens are
/// listed, one of them: counts and bias say nothing then.
struct BatonChange {
  int32_t token;
  /// Twice as often as it was generated, and 1 more if it stands anywhere in
  /// the sequence.
  uint32_t counts;
  float bias;
};

/// A token and the logarithm of its probability.
struct BatonLogprob {
  int32_t token;
  float logprob;
};

/// The most log-probabilities besides that of the token drawn.
enum { BATON_MOST_LIKELY = 20 };
/// The most tokens that are listed for a row.
enum { BATON_MOST_LISTED = 256 };

struct BatonDraw {
  /// Or what was given; BATON_NOT_FINITE or BATON_NOT_DRAWN.
  BatonLogprob drawn;
  /// The most likely tokens first, of equal ones the lowest ids. Those that are
  /// not wanted have token BATON_NOT_DRAWN.
  BatonLogprob likely[BATON_MOST_LIKELY];
  /// Log-probabilities or logits of tokens that are listed, in their order.
  /// Those behind them, and of rows without, are whatever was there before.
  float listed[BATON_MOST_LISTED];
};

/// Scratch of a block of threads that samples; a single thread needs none.
enum { BATON_SAMPLE_SCRATCH_BYTES = 2560 };

enum : int32_t {
  /// A logit is infinite or not a number.
  BATON_NOT_FINITE = -1,
  BATON_NOT_DRAWN = -2
};

} // extern "C"

#endif // BATON_RUNTIME_STEP_SAMPLING_H
