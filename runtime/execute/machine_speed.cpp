//===- machine_speed.cpp - what this machine can do at best --------------===//

#include "runtime/execute/machine_speed.h"

#include "runtime/execute/amx.h"
#include "runtime/weights/memory.h"
#include "runtime/weights/parallel.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace baton {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double measuring_seconds = 0.4;
/// What a thread reads in one window, at most: about three milliseconds, and no
/// part of it again before all others.
constexpr uint64_t window_bytes = uint64_t(64) << 20;

/// Keeps the compiler from leaving out work whose result nobody needs.
template <typename T> void use(const T &value) {
  asm volatile("" : : "g"(&value) : "memory");
}

/// Runs `work(thread)` on all threads at once, window after window for about
/// `budget` seconds, and returns the shortest window's seconds.
double best_window(unsigned threads, double budget,
                   const std::function<void(unsigned)> &work) {
  constexpr int fewest_windows = 5;
  auto seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  double best = 1e30;
  Clock::time_point start = Clock::now();
  Clock::time_point begin;
  int windows = 0;
  bool running = false;
  bool enough = false;
  // The last thread to arrive starts or stops the clock.
  auto turn = [&]() noexcept {
    if (running) {
      best = std::min(best, seconds_since(begin));
      ++windows;
      enough = windows >= fewest_windows && seconds_since(start) > budget;
    }
    running = !running;
    begin = Clock::now();
  };
  std::barrier border(threads, turn);
  auto run = [&](unsigned thread) {
    while (true) {
      border.arrive_and_wait();
      work(thread);
      border.arrive_and_wait();
      if (enough)
        return;
    }
  };
  std::vector<std::jthread> others;
  for (unsigned thread = 1; thread < threads; ++thread)
    others.emplace_back(run, thread);
  run(0);
  others.clear();
  return best;
}

/// A thread reads as several streams: the hardware fetches each ahead by
/// itself, but one alone keeps too few cache lines in flight, and figures above
/// such a "limit" would make no sense. Prefetch instructions slow such a loop
/// down. `bytes` is a multiple of 512.
constexpr int streams = 8;

/// Gaps between weights are poisoned in sanitized programs: reading them here
/// is no mistake.
#define BATON_READS_GAPS __attribute__((no_sanitize("address")))

BATON_READS_GAPS void read_words(const std::byte *data, uint64_t bytes) {
  uint64_t sums[8] = {};
  for (uint64_t offset = 0; offset < bytes / streams; offset += 64)
    for (int stream = 0; stream < streams; ++stream) {
      const std::byte *from = data + stream * (bytes / streams) + offset;
      uint64_t line[8];
      std::memcpy(line, from, sizeof(line));
      for (int i = 0; i < 8; ++i)
        sums[i] += line[i];
    }
  use(sums);
}

/// Independent chains of multiply-adds: their number times the width of a
/// vector covers the latency of two units.
constexpr int chains = 12;

/// Returns the operations done.
double multiply_add_portable(uint64_t iterations) {
  float values[chains];
  std::fill_n(values, chains, 1.0f);
  float factor = 0.999f;
  use(factor);
  for (uint64_t i = 0; i < iterations; ++i)
    for (float &value : values)
      value = value * factor + 0.001f;
  use(values);
  return 2.0 * chains * static_cast<double>(iterations);
}

#if defined(__x86_64__)
BATON_READS_GAPS __attribute__((target("avx2"))) void
read_avx2(const std::byte *data, uint64_t bytes) {
  __m256i sums[streams];
  std::fill_n(sums, streams, _mm256_setzero_si256());
  for (uint64_t offset = 0; offset < bytes / streams; offset += 64)
    for (int stream = 0; stream < streams; ++stream) {
      const std::byte *from = data + stream * (bytes / streams) + offset;
      const auto *line = reinterpret_cast<const __m256i *>(from);
      for (int i = 0; i < 2; ++i)
        sums[stream] =
            _mm256_add_epi64(sums[stream], _mm256_load_si256(line + i));
    }
  use(sums);
}

__attribute__((target("avx2,fma"))) double
multiply_add_avx2(uint64_t iterations) {
  __m256 values[chains];
  for (__m256 &value : values)
    value = _mm256_set1_ps(1.0f);
  float scalar = 0.999f;
  use(scalar);
  __m256 factor = _mm256_set1_ps(scalar);
  __m256 term = _mm256_set1_ps(0.001f);
  for (uint64_t i = 0; i < iterations; ++i)
    for (__m256 &value : values)
      value = _mm256_fmadd_ps(value, factor, term);
  use(values);
  return 2.0 * 8 * chains * static_cast<double>(iterations);
}

__attribute__((target("avx512f"))) double
multiply_add_avx512(uint64_t iterations) {
  __m512 values[chains];
  for (__m512 &value : values)
    value = _mm512_set1_ps(1.0f);
  float scalar = 0.999f;
  use(scalar);
  __m512 factor = _mm512_set1_ps(scalar);
  __m512 term = _mm512_set1_ps(0.001f);
  for (uint64_t i = 0; i < iterations; ++i)
    for (__m512 &value : values)
      value = _mm512_fmadd_ps(value, factor, term);
  use(values);
  return 2.0 * 16 * chains * static_cast<double>(iterations);
}

__attribute__((target("avx512f,avx512bf16"))) double
multiply_pairs(uint64_t iterations) {
  __m512 values[chains];
  for (__m512 &value : values)
    value = _mm512_setzero_ps();
  // Two numbers near 1.
  unsigned pair = 0x3f803f80;
  use(pair);
  const auto factor = (__m512bh)_mm512_set1_epi32(static_cast<int>(pair));
  for (uint64_t i = 0; i < iterations; ++i)
    for (__m512 &value : values)
      value = _mm512_dpbf16_ps(value, factor, factor);
  use(values);
  return 4.0 * 16 * chains * static_cast<double>(iterations);
}

__attribute__((target("amx-tile,amx-bf16"))) double
multiply_tiles(uint64_t iterations) {
  struct alignas(64) {
    uint8_t palette = 1, rest[15] = {};
    uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } shapes;
  // Zeros: tiles take as long for any numbers. As many as hide the latency.
  _tile_loadconfig(&shapes);
  for (uint64_t i = 0; i < iterations / 16; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
  return 4.0 * 2 * 16 * 16 * 32 * static_cast<double>(iterations / 16);
}
#endif

auto best_reader() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return read_avx2;
#endif
  return read_words;
}

auto best_multiply_add(Arithmetic arithmetic) {
#if defined(__x86_64__)
  if (arithmetic == Arithmetic::bf16_tiles &&
      __builtin_cpu_supports("amx-bf16") && request_amx())
    return multiply_tiles;
  if (arithmetic == Arithmetic::bf16_pairs &&
      __builtin_cpu_supports("avx512bf16"))
    return multiply_pairs;
  if (__builtin_cpu_supports("avx512f"))
    return multiply_add_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return multiply_add_avx2;
#endif
  return multiply_add_portable;
}

/// Four times the last-level cache, within bounds: some virtual machines report
/// the cache of the whole host.
uint64_t memory_to_read() {
  constexpr uint64_t mebibyte = uint64_t(1) << 20;
  long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  uint64_t bytes =
      std::clamp<uint64_t>(4 * static_cast<uint64_t>(std::max(cache, 0L)),
                           256 * mebibyte, 2048 * mebibyte);
  uint64_t memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                    static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::max(16 * mebibyte, std::min(bytes, memory / 8));
}

/// As a task waits in a compiled program: codegen/cpu/library.
void wait_for(const std::atomic<uint32_t> &word, uint32_t target) {
  constexpr int polls_before_yield = 1024;
  for (int poll = 0; word.load(std::memory_order_acquire) < target; ++poll)
    if (poll >= polls_before_yield)
      std::this_thread::yield();
    else {
#if defined(__x86_64__)
      _mm_pause();
#endif
    }
}

} // namespace

bool can_measure_bandwidth(std::span<const std::byte> memory) {
  return memory.size() >= memory_to_read();
}

double measure_read_bandwidth(unsigned threads,
                              std::span<const std::byte> memory) {
  HugeRegion region;
  if (!can_measure_bandwidth(memory)) {
    region = HugeRegion(memory_to_read());
    memory = {region.data(), static_cast<size_t>(region.size())};
    // Pages that were never written all stand for one page of zeros.
    uint64_t share = memory.size() / threads;
    parallel_for(threads, threads, [&](size_t thread) {
      std::memset(region.data() + thread * share, 1, share);
    });
  }
  uint64_t share = memory.size() / threads / 4096 * 4096;
  // The share in windows of equal size, none of them left out.
  uint64_t count = (share + window_bytes - 1) / window_bytes;
  uint64_t window = share / count / 512 * 512;
  std::vector<uint64_t> cursors(threads);
  auto read = best_reader();
  double seconds =
      best_window(threads, measuring_seconds, [&](unsigned thread) {
        uint64_t &cursor = cursors[thread];
        read(memory.data() + thread * share + cursor, window);
        cursor = cursor + 2 * window <= share ? cursor + window : 0;
      });
  return static_cast<double>(window * threads) / seconds;
}

double measure_arithmetic_peak(unsigned threads, Arithmetic arithmetic) {
  auto multiply_add = best_multiply_add(arithmetic);
  // About five milliseconds each.
  constexpr uint64_t iterations = 2'500'000;
  std::vector<double> operations(threads);
  double seconds =
      best_window(threads, measuring_seconds, [&](unsigned thread) {
        operations[thread] = multiply_add(iterations);
      });
  double total = 0;
  for (double count : operations)
    total += count;
  return total / seconds;
}

double measure_hand_over(unsigned threads) {
  const unsigned partners = std::min(threads, 2u);
  // About a tenth of a millisecond.
  constexpr uint32_t rounds = 512;
  // On lines of their own, as the words of two phases are.
  struct alignas(128) Word {
    std::atomic<uint32_t> count = 0;
  };
  Word words[2];
  uint32_t done[2] = {};
  double seconds =
      best_window(partners, measuring_seconds, [&](unsigned thread) {
        Word &own = words[thread];
        Word &other = words[partners - 1 - thread];
        uint32_t &count = done[thread];
        for (uint32_t round = 0; round < rounds; ++round) {
          // The first thread begins, and the second one answers.
          if (thread == 0)
            own.count.fetch_add(1, std::memory_order_release);
          wait_for(other.count, ++count);
          if (thread == 1)
            own.count.fetch_add(1, std::memory_order_release);
        }
      });
  return seconds / (rounds * partners);
}

MachineLimits limits_of(const Metadata &metadata) {
  MachineLimits limits;
  const auto model = metadata.json.find("model");
  const auto target = metadata.json.find("target");
  if (target != metadata.json.end() && target->value("amx", false))
    limits.products = Arithmetic::bf16_tiles;
  else if (model != metadata.json.end() &&
           model->value("activations", "") == "bf16")
    limits.products = Arithmetic::bf16_pairs;
  return limits;
}

} // namespace baton
