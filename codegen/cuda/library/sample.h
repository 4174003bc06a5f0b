//===- sample.h - tokens drawn from logits --------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_SAMPLE_H
#define BATON_CODEGEN_CUDA_LIBRARY_SAMPLE_H

#include "codegen/cuda/library/sampling.h"

namespace baton::cuda {

static_assert(sizeof(SamplingMemory) <= BATON_SAMPLE_SCRATCH_BYTES);

/// Writes the logits behind bias and penalties; ends with a barrier.
BATON_DEVICE void change_logits(float *changed, const float *logits,
                                int64_t vocabulary, const BatonSampling &wanted,
                                const BatonChange *changes) {
  for (int64_t token = threadIdx.x; token < vocabulary; token += blockDim.x)
    changed[token] = logits[token];
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < wanted.changes; i += blockDim.x) {
    const BatonChange entry = changes[i];
    if (entry.token < 0 || entry.token >= vocabulary)
      continue;
    const float biased = changed[entry.token] + entry.bias;
    double logit = biased;
    if (entry.counts)
      logit = logit > 0 ? logit / wanted.repetition_penalty
                        : logit * wanted.repetition_penalty;
    const uint32_t times = entry.counts >> 1;
    logit -= times * wanted.frequency_penalty;
    if (times)
      logit -= wanted.presence_penalty;
    changed[entry.token] = static_cast<float>(logit);
  }
  __syncthreads();
}

/// Logits of tokens outside a mask are infinitely negative.
BATON_DEVICE bool is_allowed(float logit) {
  return __float_as_uint(logit) != 0xff800000u;
}

/// Writes the logits of the tokens that the mask allows, and infinitely
/// negative ones for the others. Returns the likeliest token, or -1 if none is
/// allowed; ends with a barrier.
BATON_DEVICE int32_t exclude_tokens(float *kept, const float *logits,
                                    int64_t vocabulary, const uint32_t *mask,
                                    int64_t *shared) {
  constexpr int64_t none = -0x7fffffffffffffff;
  int64_t best = none;
  // Masks lie in the host's memory: as many loads under way as hide that.
  constexpr int at_once = 16;
#pragma unroll 1
  for (int64_t first = threadIdx.x; first < vocabulary;
       first += at_once * blockDim.x) {
    uint32_t words[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int64_t token = first + i * int64_t(blockDim.x);
      words[i] = mask[(token < vocabulary ? token : first) / 32];
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int64_t token = first + i * int64_t(blockDim.x);
      if (token >= vocabulary)
        continue;
      const bool allowed = words[i] >> (token % 32) & 1;
      const float logit = logits[token];
      kept[token] = allowed ? logit : __uint_as_float(0xff800000u);
      const int64_t order = order_of(logit, token);
      best = allowed && order > best ? order : best;
    }
  }
  best = largest_of_block(best, shared);
  return best == none ? -1
                      : static_cast<int32_t>(0x7fffffff - (best & 0x7fffffff));
}

/// Log-probabilities of the token drawn or given, and of the likeliest ones,
/// the first of which is `best`.
/// Returns what is subtracted from a logit.
BATON_DEVICE double write_logprobs(BatonDraw *draw, const float *logits,
                                   int64_t vocabulary, int32_t best,
                                   int32_t drawn, uint32_t likely,
                                   SamplingMemory *memory) {
  const TokenWeights weights(vocabulary, logits[best], 1);
  uint64_t own = 0, before = 0;
  for (int64_t token = threadIdx.x; token < vocabulary; token += blockDim.x)
    own += weights.of(logits[token]);
  const uint64_t total = sum_of_block(own, before, memory->sums);
  const double base =
      weights.largest + ::log(static_cast<double>(total) / weights.scale);
  auto write = [&](BatonLogprob *place, int32_t token) {
    if (threadIdx.x == 0)
      *place = {token,
                static_cast<float>(static_cast<double>(logits[token]) - base)};
  };
  write(&draw->drawn, drawn);
  const int64_t most = smaller(smaller(likely, BATON_MOST_LIKELY), vocabulary);
  // Those outside a mask are not among them.
  for (int64_t i = 0; i < most && is_allowed(logits[best]); ++i) {
    write(&draw->likely[i], best);
    if (i + 1 < most)
      best = likeliest(logits, vocabulary, memory->integers,
                       order_of(logits[best], best), /*checks=*/false);
  }
  return base;
}

/// Writes the logits of the tokens that are listed, less `base`. Returns the
/// likeliest of them, of equal ones the lowest, BATON_NOT_FINITE if a logit
/// is not, BATON_NOT_DRAWN if there is none; given to all threads. Begins
/// behind a barrier, and ends with one.
BATON_DEVICE int32_t write_listed(int32_t *listed, const float *logits,
                                  int64_t vocabulary,
                                  const BatonSampling &wanted,
                                  const BatonChange *tokens, double base,
                                  int64_t *shared) {
  constexpr int64_t none = -0x7fffffffffffffff;
  int64_t best = none;
  bool fine = true;
  const uint32_t most = wanted.changes < BATON_MOST_LISTED
                            ? wanted.changes
                            : uint32_t(BATON_MOST_LISTED);
  for (uint32_t i = threadIdx.x; i < most; i += blockDim.x) {
    const int32_t token = tokens[i].token;
    if (token < 0 || token >= vocabulary)
      continue;
    const float logit = logits[token];
    fine &= (__float_as_int(logit) & 0x7f800000) != 0x7f800000;
    listed[i] =
        __float_as_int(static_cast<float>(static_cast<double>(logit) - base));
    const int64_t order = order_of(logit, token);
    best = order > best ? order : best;
  }
  best = largest_of_block(best, shared);
  if (__syncthreads_or(!fine))
    return BATON_NOT_FINITE;
  return best == none ? BATON_NOT_DRAWN
                      : static_cast<int32_t>(0x7fffffff - (best & 0x7fffffff));
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_sample(
    int32_t *draws, int64_t draws_stride, int32_t *listed,
    int64_t listed_stride, float *workspace, int64_t workspace_stride,
    const float *logits, int64_t logits_stride, const int32_t *sampling,
    int64_t sampling_stride, const int32_t *changes, int64_t /*change_words*/,
    int64_t line_words, const int32_t *masks, int64_t masks_stride,
    int64_t rows, int64_t vocabulary, float *scratch) {
  using namespace baton::cuda;
  auto *const memory = reinterpret_cast<SamplingMemory *>(scratch);
  for (int64_t row = 0; row < rows; ++row) {
    const BatonSampling &wanted = *reinterpret_cast<const BatonSampling *>(
        sampling + row * sampling_stride);
    auto *const draw_of_row =
        reinterpret_cast<BatonDraw *>(draws + row * draws_stride);
    for (uint32_t i = threadIdx.x; i <= BATON_MOST_LIKELY; i += blockDim.x)
      (i ? draw_of_row->likely[i - 1] : draw_of_row->drawn) = {BATON_NOT_DRAWN,
                                                               0};
    if (wanted.wanted == BATON_WANTED_NOTHING)
      continue;
    const float *own = logits + row * logits_stride;
    const bool lists = wanted.wanted >= BATON_WANTED_LISTED;
    const bool scores = wanted.wanted == BATON_WANTED_SCORE || lists;
    const auto *tokens = reinterpret_cast<const BatonChange *>(
        changes + wanted.line * line_words);
    if (wanted.wanted == BATON_WANTED_LISTED_ONLY) {
      const int32_t best =
          write_listed(listed + row * listed_stride, own, vocabulary, wanted,
                       tokens, 0, memory->integers);
      if (threadIdx.x == 0)
        draw_of_row->drawn = {best, best < 0 ? 0.0f : own[best]};
      __syncthreads();
      continue;
    }
    if (wanted.changes && !scores) {
      float *const changed = workspace + row * workspace_stride;
      change_logits(changed, own, vocabulary, wanted, tokens);
      own = changed;
    }
    int32_t best = likeliest(own, vocabulary, memory->integers);
    int32_t token = BATON_NOT_FINITE;
    if (best >= 0 && wanted.masked && !scores) {
      float *const kept = workspace + row * workspace_stride;
      best = exclude_tokens(
          kept, own, vocabulary,
          reinterpret_cast<const uint32_t *>(masks + row * masks_stride),
          memory->integers);
      token = BATON_NOT_DRAWN;
      own = kept;
    }
    if (best >= 0 && scores)
      token = lists ? best : static_cast<int32_t>(wanted.given);
    else if (best >= 0)
      token = draw(own, vocabulary, best,
                   {wanted.temperature, wanted.top_p, wanted.min_p,
                    wanted.top_k, wanted.seed},
                   wanted.position, memory);
    // The marks above are there.
    __syncthreads();
    if (threadIdx.x == 0)
      draw_of_row->drawn.token = token;
    if (best >= 0 && wanted.wanted >= BATON_WANTED_LOGPROBS) {
      const double base = write_logprobs(draw_of_row, own, vocabulary, best,
                                         token, wanted.likely, memory);
      if (lists)
        write_listed(listed + row * listed_stride, own, vocabulary, wanted,
                     tokens, base, memory->integers);
    }
    __syncthreads();
  }
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_SAMPLE_H
