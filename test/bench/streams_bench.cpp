//===- streams_bench.cpp - how fast one core reads, by streams ------------===//
//
// Loops that only read memory no cache holds, with 1 or 4 multiply-adds of 16
// lanes for each line of 64 bytes: as 1, 2 or 4 streams in turn, line by line
// or in bursts, with and without prefetch instructions. The table explains how
// attention and linears lay out and prefetch what they read.
//
// Every figure is the best of ROUNDS windows of 2 MiB, interleaved. A second
// table has the fastest loop in windows as long as a token of a large model
// takes: the longer a window, the less of it has the machine to itself.
//
//   streams_bench [ROUNDS = 150]
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sys/mman.h>
#include <vector>

namespace {

constexpr int64_t line = 16;          // floats
constexpr int64_t total = 64 << 20;   // floats: 256 MiB
constexpr int64_t window = 512 << 10; // floats: 2 MiB

typedef float Vector __attribute__((ext_vector_type(line)));

volatile float sink;
volatile float factors[] = {0.25F, 0.5F, 0.75F, 1.0F};

/// Reads `window` floats as `Streams` streams that take turns every `burst`
/// floats; each asks for what it reads `ahead` bytes later.
template <int64_t Streams, int64_t Adds, bool Prefetch>
__attribute__((noinline)) float read(const float *source, int64_t burst,
                                     int64_t ahead) {
  constexpr int64_t length = window / Streams;
  Vector sums[Adds] = {};
  // Different factors, lest the sums be found equal.
  Vector by[Adds];
  for (int64_t i = 0; i < Adds; ++i)
    by[i] = factors[i];
  auto step = [&](const float *place) __attribute__((always_inline)) {
    if constexpr (Prefetch)
      __builtin_prefetch(reinterpret_cast<const char *>(place) + ahead);
    Vector value;
    __builtin_memcpy(&value, place, sizeof value);
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < Adds; ++i)
      sums[i] = __builtin_elementwise_fma(by[i], value, sums[i]);
  };
  if (burst == line) { // a loop of its own: nothing but reading
    for (int64_t i = 0; i < length; i += line)
#pragma clang loop unroll(full)
      for (int64_t stream = 0; stream < Streams; ++stream)
        step(source + stream * length + i);
  } else {
    for (int64_t begin = 0; begin < length; begin += burst)
      for (int64_t stream = 0; stream < Streams; ++stream)
        for (int64_t i = begin; i < begin + burst; i += line)
          step(source + stream * length + i);
  }
  Vector sum = {};
  for (Vector part : sums)
    sum += part;
  return sum.x;
}

struct Loop {
  int64_t streams, adds, burst, ahead;
  float (*run)(const float *, int64_t burst, int64_t ahead);
  double best = std::numeric_limits<double>::infinity(); // seconds
};

template <int64_t Streams, int64_t Adds> void add(std::vector<Loop> &loops) {
  for (int64_t burst : {line, int64_t(256), int64_t(512)}) {
    if (Streams == 1 && burst != line)
      continue; // one stream has nobody to take turns with
    for (int64_t ahead : {0, 512, 1024, 4096})
      loops.push_back(
          {Streams, Adds, burst, ahead,
           ahead ? read<Streams, Adds, true> : read<Streams, Adds, false>});
  }
}

} // namespace

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 150;
  // A prefetch may ask for up to 4096 bytes behind the end.
  const size_t bytes = total * sizeof(float) + 4096;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    perror("streams_bench: mmap");
    return 1;
  }
  madvise(memory, bytes, MADV_HUGEPAGE);
  float *numbers = static_cast<float *>(memory);
  std::fill_n(numbers, total, 1.0F);

  std::vector<Loop> loops;
  add<1, 1>(loops);
  add<2, 1>(loops);
  add<4, 1>(loops);
  add<1, 4>(loops);
  add<2, 4>(loops);
  add<4, 4>(loops);

  int64_t place = 0;
  for (int round = 0; round < rounds; ++round)
    for (Loop &loop : loops) {
      if (place + window > total)
        place = 0;
      const auto begin = std::chrono::steady_clock::now();
      sink = loop.run(numbers + place, loop.burst, loop.ahead);
      const std::chrono::duration<double> time =
          std::chrono::steady_clock::now() - begin;
      loop.best = std::min(loop.best, time.count());
      place += window;
    }

  printf("multiply-adds a line  streams  burst  ahead   GB/s (best of %d)\n",
         rounds);
  for (const Loop &loop : loops)
    printf("%20ld %8ld %6ld %6ld %6.1f\n", long(loop.adds), long(loop.streams),
           long(loop.burst * sizeof(float)), long(loop.ahead),
           window * sizeof(float) / loop.best / 1e9);

  printf("\nwindow, MiB   GB/s (best and median of 16)\n");
  for (int64_t windows : {8, 128, 512, 2048}) {
    std::vector<double> seconds;
    for (int round = 0; round < 16; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      for (int64_t i = 0; i < windows; ++i, place += window) {
        if (place + window > total)
          place = 0;
        sink = read<4, 1, false>(numbers + place, line, 0);
      }
      const std::chrono::duration<double> time =
          std::chrono::steady_clock::now() - begin;
      seconds.push_back(time.count());
    }
    std::sort(seconds.begin(), seconds.end());
    const double bytes_read = double(windows * window * sizeof(float));
    printf("%11ld %6.1f %6.1f\n", long(bytes_read) >> 20,
           bytes_read / seconds[0] / 1e9, bytes_read / seconds[8] / 1e9);
  }
}
