//===- sample.cpp - tokens drawn from logits ------------------------------===//
//
// What runtime/decode/sampler.h does on the host, for a row of a step. Weights
// are whole numbers, so that their sums are the same in any order, also that of
// the blocks of a GPU; the host's are floating, and a number within 2^-40 of
// the border between two tokens may fall to the other one.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/vector.h"
#include "runtime/step_sampling.h"

using namespace baton::cpu;

namespace {

constexpr int64_t wide = 8;
typedef double Doubles __attribute__((ext_vector_type(8)));
typedef int64_t Longs __attribute__((ext_vector_type(8)));

/// SplitMix64's finaliser, as in runtime/weights/hash.h.
BATON_INLINE uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// A number in [0, 1), as in runtime/decode/sampler.cpp.
BATON_INLINE double uniform(uint64_t seed, uint64_t position) {
  const uint64_t bits = mix(mix(seed) + (position + 1) * 0x9e3779b97f4a7c15);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// e^x for x that is not positive, within 2 units in the last place; of what is
/// below -60, that of -60.
BATON_INLINE Doubles exp_below(Doubles x) {
  x = x < -60.0 ? Doubles(-60.0) : x;
  const Doubles shift = Doubles(0x1.8p52);
  const Doubles shifted =
      __builtin_elementwise_fma(x, Doubles(0x1.71547652b82fep+0), shift);
  const Doubles n = shifted - shift;
  Doubles r = __builtin_elementwise_fma(n, Doubles(-0x1.62e42fefa39efp-1), x);
  r = __builtin_elementwise_fma(n, Doubles(-0x1.abc9e3b39803fp-56), r);
  // Taylor's series of e^r for |r| <= ln(2) / 2: the next term is below 2^-57.
  constexpr double factorials[] = {479001600, 39916800, 3628800, 362880, 40320,
                                   5040,      720,      120,     24,     6,
                                   2,         1,        1};
  Doubles p = Doubles(1.0 / 6227020800.0);
  BATON_UNROLL
  for (double factorial : factorials)
    p = __builtin_elementwise_fma(p, r, Doubles(1.0 / factorial));
  const Longs exponent =
      __builtin_bit_cast(Longs, shifted) - __builtin_bit_cast(Longs, shift);
  return p * __builtin_bit_cast(Doubles, (exponent + 1023) << 52);
}

/// Weights of a row's tokens at a temperature.
struct Weights {
  const Real *logits;
  int64_t vocabulary;
  double largest, temperature, scale;

  BATON_INLINE Weights(const Real *logits, int64_t vocabulary, Real largest,
                       double temperature)
      : logits(logits), vocabulary(vocabulary), largest(double(largest)),
        temperature(temperature) {
    int64_t bits = 0;
    while (vocabulary >> bits)
      ++bits;
    // The sum of all has less than 63 bits, and each at most 51.
    scale = static_cast<double>(int64_t(1) << (bits < 12 ? 50 : 62 - bits));
  }

  /// How far tokens [first, first + 8) are below the largest, in temperatures;
  /// what lies behind the last is as far as one of them. Those outside a mask
  /// are infinitely far, and weigh nothing.
  BATON_INLINE Doubles away(int64_t first) const {
    HalfVector loaded;
    const int64_t left = vocabulary - first;
    if (left >= wide) {
      __builtin_memcpy(&loaded, logits + first, sizeof loaded);
    } else {
      loaded = HalfVector(logits[first]);
      __builtin_memcpy(&loaded, logits + first, left * sizeof(Real));
    }
    const Doubles values = __builtin_convertvector(loaded, Doubles);
    return (values - largest) / temperature;
  }
  /// Rounded to whole numbers.
  BATON_INLINE Longs weigh(Doubles away) const {
    // Leaves a whole number in the low bits.
    const Doubles shift = Doubles(0x1.8p52);
    return __builtin_bit_cast(Longs, exp_below(away) * scale + shift) -
           __builtin_bit_cast(Longs, shift);
  }
  /// Those of tokens [first, first + 8); 0 behind the last.
  BATON_INLINE Longs at(int64_t first) const {
    Longs weights = weigh(away(first));
    for (int64_t lane = vocabulary - first; lane < wide; ++lane)
      weights[lane] = 0;
    return weights;
  }
  BATON_INLINE int64_t of(int64_t token) const {
    const Doubles value = Doubles(double(logits[token]));
    return weigh((value - largest) / temperature)[0];
  }
  BATON_INLINE int64_t sum() const {
    Longs sums = Longs(0);
    for (int64_t first = 0; first < vocabulary; first += wide)
      sums += at(first);
    return __builtin_reduce_add(sums);
  }
};

/// How much of a sum a number in [0, 1) leaves behind it: less than all.
BATON_INLINE int64_t part_of(double number, int64_t sum) {
  const auto part = static_cast<int64_t>(number * static_cast<double>(sum));
  return part < sum ? part : sum - 1;
}

/// The first token behind whose weight more than `target` lies.
BATON_INLINE int32_t token_behind(const Weights &weights, int64_t target) {
  for (int64_t first = 0;; first += wide) {
    const Longs part = weights.at(first);
    const int64_t sum = __builtin_reduce_add(part);
    if (sum <= target) {
      target -= sum;
      continue;
    }
    int64_t lane = 0;
    for (; part[lane] <= target; ++lane)
      target -= part[lane];
    return static_cast<int32_t>(first + lane);
  }
}

/// The likeliest tokens, the most likely one first, of equal ones the lowest
/// id. They lie in bins by how far they are below the largest logit, so that of
/// all of them only those of a bin or two have to be put in order.
class Candidates {
public:
  /// All tokens. `tokens` has room for them.
  BATON_INLINE Candidates(const Weights &weights, int32_t *tokens)
      : weights(weights), tokens(tokens) {
    for (int64_t bin = 0; bin <= bins; ++bin)
      counts[bin] = sums[bin] = 0;
    for (int64_t first = 0; first < weights.vocabulary; first += wide) {
      const Doubles away = weights.away(first);
      const Longs weight = weights.weigh(away), bin = bin_of(away);
      const int64_t left = weights.vocabulary - first;
      for (int64_t lane = 0; lane < wide && lane < left; ++lane) {
        ++counts[bin[lane]];
        sums[bin[lane]] += weight[lane];
      }
    }
    last = bins - 1;
    kept = counts[last];
  }

  /// Only the `most` likeliest stay.
  BATON_INLINE void keep_count(int64_t most) {
    int64_t bin = 0;
    for (; bin < last && counts[bin] <= most; ++bin)
      most -= counts[bin];
    if (bin < last || most < kept)
      kept = most;
    last = bin;
  }
  /// Only the fewest stay that weigh `part` of them all.
  BATON_INLINE void keep_part(double part) {
    const int64_t all = sum();
    const double share = __builtin_ceil(part * double(all));
    int64_t target = share < 1             ? 1
                     : share > double(all) ? all
                                           : static_cast<int64_t>(share);
    int64_t bin = 0;
    for (; bin < last && sums[bin] < target; ++bin)
      target -= sums[bin];
    sort(bin);
    int64_t number = 0;
    const int64_t end = bin == last ? kept : counts[bin];
    for (; number < end && target > 0; ++number)
      target -= weights.of(take());
    last = bin;
    kept = number;
  }
  /// Only those stay that weigh so much.
  BATON_INLINE void keep_near(double least) {
    int64_t near = 0;
    for (int64_t first = 0; first < weights.vocabulary; first += wide) {
      const Longs weight = weights.at(first);
      for (int64_t lane = 0; lane < wide; ++lane)
        near += weight[lane] > 0 && double(weight[lane]) >= least;
    }
    keep_count(near);
  }
  /// One of them, by a number in [0, 1).
  BATON_INLINE int32_t choose(double number) {
    int64_t target = part_of(number, sum());
    int64_t bin = 0;
    for (; bin < last && sums[bin] <= target; ++bin)
      target -= sums[bin];
    sort(bin);
    for (;;) {
      const int32_t token = take();
      const int64_t weight = weights.of(token);
      if (target < weight)
        return token;
      target -= weight;
    }
  }

private:
  static constexpr int64_t bins = 256;

  /// Eight for each factor of e, all that is far away in the last; what is
  /// infinitely far, and is never drawn, behind that.
  BATON_INLINE static Longs bin_of(Doubles away) {
    const Doubles place = away * -8.0;
    Doubles bin = place < double(bins - 1) ? place : Doubles(bins - 1);
    bin = place < __builtin_inf() ? bin : Doubles(bins);
    return __builtin_convertvector(bin, Longs);
  }
  /// Of all that are left.
  BATON_INLINE int64_t sum() {
    int64_t all = 0;
    for (int64_t bin = 0; bin < last; ++bin)
      all += sums[bin];
    if (kept == counts[last])
      return all + sums[last];
    sort(last);
    for (int64_t i = 0; i < kept; ++i)
      all += weights.of(take());
    return all;
  }
  /// Makes a heap of a bin's tokens.
  BATON_INLINE void sort(int64_t bin) {
    count = 0;
    for (int64_t first = 0; first < weights.vocabulary; first += wide) {
      const Longs own = bin_of(weights.away(first));
      const int64_t left = weights.vocabulary - first;
      for (int64_t lane = 0; lane < wide && lane < left; ++lane)
        if (own[lane] == bin)
          tokens[count++] = static_cast<int32_t>(first + lane);
    }
    for (int64_t place = count / 2; place-- > 0;)
      sink(place);
  }
  BATON_INLINE bool is_likelier(int32_t left, int32_t right) const {
    const Real *logits = weights.logits;
    return logits[left] != logits[right] ? logits[left] > logits[right]
                                         : left < right;
  }
  BATON_INLINE void sink(int64_t place) {
    const int32_t token = tokens[place];
    for (int64_t child; (child = 2 * place + 1) < count; place = child) {
      if (child + 1 < count && is_likelier(tokens[child + 1], tokens[child]))
        ++child;
      if (!is_likelier(tokens[child], token))
        break;
      tokens[place] = tokens[child];
    }
    tokens[place] = token;
  }
  /// The likeliest of the heap.
  BATON_INLINE int32_t take() {
    const int32_t token = tokens[0];
    tokens[0] = tokens[--count];
    if (count > 1)
      sink(0);
    return token;
  }

  const Weights &weights;
  int32_t *tokens;
  int64_t count = 0;
  int64_t counts[bins + 1], sums[bins + 1];
  /// All tokens of the bins before the last are left, and of that so many.
  int64_t last, kept;
};

/// The largest logit. False if one is infinite or not a number.
BATON_INLINE bool find_largest(const Real *logits, int64_t vocabulary,
                               Real &largest) {
  Vector best = Vector(logits[0]);
  IntegerVector finite = IntegerVector(-1);
  for (int64_t first = 0; first < vocabulary; first += lanes) {
    const int64_t left = vocabulary - first;
    Vector values = Vector(logits[first]);
    if (left >= lanes)
      values = load(logits + first);
    else
      __builtin_memcpy(&values, logits + first, left * sizeof(Real));
    // Differences are 0 but of infinities and of what is no number.
    // NOLINTNEXTLINE(misc-redundant-expression)
    finite &= values - values == Vector(0);
    best = values > best ? values : best;
  }
  largest = __builtin_reduce_max(best);
  return __builtin_reduce_and(finite) != 0;
}

/// The token of the largest logit, of equal ones the lowest.
BATON_INLINE int32_t token_of(const Real *logits, Real largest) {
  int32_t token = 0;
  while (logits[token] != largest)
    ++token;
  return token;
}

BATON_INLINE int32_t draw(const Real *logits, int64_t vocabulary, Real largest,
                          const BatonSampling &wanted, int32_t *tokens) {
  if (wanted.temperature == 0 || wanted.top_k == 1)
    return token_of(logits, largest);
  const Weights weights(logits, vocabulary, largest, wanted.temperature);
  const double number = uniform(wanted.seed, wanted.position);
  const bool counts =
      wanted.top_k != 0 && wanted.top_k < static_cast<uint64_t>(vocabulary);
  if (counts || wanted.top_p < 1 || wanted.min_p > 0) {
    Candidates candidates(weights, tokens);
    if (counts)
      candidates.keep_count(static_cast<int64_t>(wanted.top_k));
    if (wanted.top_p < 1)
      candidates.keep_part(wanted.top_p);
    if (wanted.min_p > 0)
      candidates.keep_near(wanted.min_p * weights.scale);
    return candidates.choose(number);
  }
  return token_behind(weights, part_of(number, weights.sum()));
}

/// Writes the logits behind bias and penalties.
BATON_INLINE void change(Real *changed, const Real *logits, int64_t vocabulary,
                         const BatonSampling &wanted,
                         const BatonChange *changes) {
  __builtin_memcpy(changed, logits, vocabulary * sizeof(Real));
  for (uint32_t i = 0; i < wanted.changes; ++i) {
    const BatonChange &entry = changes[i];
    if (entry.token < 0 || entry.token >= vocabulary)
      continue;
    float biased = static_cast<float>(changed[entry.token]) + entry.bias;
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
}

/// Writes the logits of the tokens that the mask allows, and infinitely
/// negative ones for the others. Returns the largest.
BATON_INLINE Real exclude(Real *kept, const Real *logits, int64_t vocabulary,
                          const uint32_t *mask) {
  const auto nothing = static_cast<Real>(-__builtin_inf());
  Vector best = splat(nothing);
  for_each_vector(
      vocabulary, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
        const IntegerVector bits(
            static_cast<Integer>(mask[first / 32] >> (first % 32) & 0xffff));
        const IntegerVector allowed = bits >> lane_indices() & IntegerVector(1);
        Vector values = load(logits + first, count);
        values = allowed != IntegerVector(0) ? values : splat(nothing);
        values = keep_first(values, count, nothing);
        store(kept + first, values, count);
        best = maximum(values, best);
      });
  return __builtin_reduce_max(best);
}

/// The words of a BatonDraw before those of tokens that are listed.
struct Drawn {
  BatonLogprob drawn;
  BatonLogprob likely[BATON_MOST_LIKELY];
};
static_assert(sizeof(Drawn) == __builtin_offsetof(BatonDraw, listed));

/// Those of the token that `draw` has, and of the most likely ones. Returns
/// what is subtracted from a logit.
BATON_INLINE double write_logprobs(Drawn &draw, const Real *logits,
                                   int64_t vocabulary, Real largest,
                                   uint32_t likely) {
  const Weights weights(logits, vocabulary, largest, 1);
  const double base =
      double(largest) +
      __builtin_log(static_cast<double>(weights.sum()) / weights.scale);
  auto logprob = [&](int32_t token) BATON_INLINE_LAMBDA -> BatonLogprob {
    return {token, static_cast<float>(double(logits[token]) - base)};
  };
  draw.drawn = logprob(draw.drawn.token);
  // Few are wanted: those found so far, the most likely one first.
  int64_t found = 0;
  const int64_t most = likely < BATON_MOST_LIKELY ? likely : BATON_MOST_LIKELY;
  for (int64_t token = 0; token < vocabulary && most; ++token) {
    auto is_less = [&](int64_t place) BATON_INLINE_LAMBDA {
      return logits[draw.likely[place].token] < logits[token];
    };
    // Those outside a mask are not among them.
    if (found == most ? !is_less(found - 1) : logits[token] == -__builtin_inf())
      continue;
    int64_t place = found == most ? found - 1 : found++;
    for (; place > 0 && is_less(place - 1); --place)
      draw.likely[place] = draw.likely[place - 1];
    draw.likely[place] = logprob(static_cast<int32_t>(token));
  }
  return base;
}

/// Writes the logits of the tokens that are listed, less `base`. Returns the
/// likeliest of them with its logit, of equal ones the lowest; a token that is
/// BATON_NOT_FINITE if a logit is not.
BATON_INLINE BatonLogprob write_listed(int32_t *listed, const Real *logits,
                                       int64_t vocabulary,
                                       const BatonSampling &wanted,
                                       const BatonChange *tokens, double base) {
  BatonLogprob best = {BATON_NOT_DRAWN, 0};
  bool finite = true;
  for (uint32_t i = 0; i < wanted.changes && i < BATON_MOST_LISTED; ++i) {
    const int32_t token = tokens[i].token;
    if (token < 0 || token >= vocabulary)
      continue;
    const Real logit = logits[token];
    // NOLINTNEXTLINE(misc-redundant-expression)
    finite &= logit - logit == 0;
    const auto value = static_cast<float>(double(logit) - base);
    __builtin_memcpy(listed + i, &value, sizeof value);
    if (best.token < 0 || logit > static_cast<Real>(best.logprob) ||
        (logit == static_cast<Real>(best.logprob) && token < best.token))
      best = {token, static_cast<float>(logit)};
  }
  return finite ? best : BatonLogprob{BATON_NOT_FINITE, 0};
}

/// What is wanted of a row. `masked` are the words of its mask, `work` has room
/// for two vocabularies.
BATON_INLINE void sample_row(Drawn &made, int32_t *listed, Real *work,
                             const Real *own, int64_t vocabulary,
                             const BatonSampling &wanted,
                             const BatonChange *changes,
                             const uint32_t *masked) {
  if (wanted.wanted == BATON_WANTED_LISTED_ONLY) {
    made.drawn = write_listed(listed, own, vocabulary, wanted, changes, 0);
    return;
  }
  const bool lists = wanted.wanted == BATON_WANTED_LISTED;
  const bool scores = wanted.wanted == BATON_WANTED_SCORE || lists;
  if (wanted.changes && !scores) {
    change(work, own, vocabulary, wanted, changes);
    own = work;
  }
  Real largest = 0;
  const bool finite = find_largest(own, vocabulary, largest);
  if (finite && wanted.masked && !scores) {
    largest = exclude(work, own, vocabulary, masked);
    own = work;
  }
  if (!finite)
    made.drawn.token = BATON_NOT_FINITE;
  else if (wanted.wanted == BATON_WANTED_SCORE)
    made.drawn.token = static_cast<int32_t>(wanted.given);
  else if (lists)
    made.drawn.token = token_of(own, largest);
  else if (largest > -__builtin_inf())
    made.drawn.token = draw(own, vocabulary, largest, wanted,
                            reinterpret_cast<int32_t *>(work + vocabulary));
  if (wanted.wanted >= BATON_WANTED_LOGPROBS && made.drawn.token >= 0) {
    const double base =
        write_logprobs(made, own, vocabulary, largest, wanted.likely);
    if (lists)
      write_listed(listed, own, vocabulary, wanted, changes, base);
  }
}

} // namespace

BATON_TASK void baton_task_sample(
    int32_t *__restrict draws, int64_t draws_stride, int32_t *__restrict listed,
    int64_t listed_stride, Real *__restrict workspace, int64_t workspace_stride,
    const Real *__restrict logits, int64_t logits_stride,
    const int32_t *__restrict sampling, int64_t sampling_stride,
    const int32_t *__restrict changes, int64_t /*change_words*/,
    int64_t line_words, const int32_t *__restrict masks, int64_t masks_stride,
    int64_t rows, int64_t vocabulary, Real *__restrict /*scratch*/) {
  for (int64_t row = 0; row < rows; ++row) {
    BatonSampling wanted;
    __builtin_memcpy(&wanted, sampling + row * sampling_stride, sizeof wanted);
    Drawn made;
    made.drawn = {BATON_NOT_DRAWN, 0};
    for (BatonLogprob &likely : made.likely)
      likely = {BATON_NOT_DRAWN, 0};
    if (wanted.wanted != BATON_WANTED_NOTHING)
      sample_row(
          made, listed + row * listed_stride,
          workspace + row * workspace_stride, logits + row * logits_stride,
          vocabulary, wanted,
          reinterpret_cast<const BatonChange *>(changes +
                                                wanted.line * line_words),
          reinterpret_cast<const uint32_t *>(masks + row * masks_stride));
    __builtin_memcpy(draws + row * draws_stride, &made, sizeof made);
  }
}
