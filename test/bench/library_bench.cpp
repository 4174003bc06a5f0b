//===- library_bench.cpp - how near the CPU bodies come to the machine ----===//
//
// Runs linear bodies over matrices that no cache holds and prints their rate
// beside the read bandwidth and the FMA peak of the same core, measured in the
// same rounds. The bodies come from the library's bitcode with constant shapes,
// as in a compiled program.
//
// Every figure is the best of many short windows, interleaved: cores of shared
// machines slow down and vanish, and a mean would measure the neighbours.
//
//   library_bench [ROUNDS]
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/training.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <sys/mman.h>
#include <vector>

extern "C" void baton_yield() { sched_yield(); }

namespace {

constexpr int64_t features = 2048; // both in and out
constexpr int64_t matrices = 16;   // 256 MiB in F32
constexpr int64_t tile_columns = 64;
constexpr int64_t matrix_weights = features * features;
constexpr int64_t context = 4096;
constexpr int64_t product_tile = 256; // rows and columns
constexpr int64_t product_depth = 768;

typedef float Vector __attribute__((ext_vector_type(16)));

volatile float sink;

/// Sums a matrix as eight streams: bound by nothing but reading. One stream
/// alone keeps too few cache lines in flight, and prefetch instructions only
/// take miss buffers from the hardware's own prefetchers.
__attribute__((noinline)) float read_all(const float *source, int64_t count) {
  constexpr int64_t streams = 8;
  const int64_t length = count / streams;
  Vector sums[streams] = {};
  for (int64_t i = 0; i < length; i += 16)
#pragma clang loop unroll(full)
    for (int64_t stream = 0; stream < streams; ++stream) {
      const float *place = source + stream * length + i;
      Vector value;
      __builtin_memcpy(&value, place, sizeof value);
      sums[stream] += value;
    }
  Vector sum = {};
  for (Vector part : sums)
    sum += part;
  return sum.x;
}

template <int64_t Rows>
void linear(float *out, const float *x, const float *panels) {
  for (int64_t column = 0; column < features; column += tile_columns)
    baton_task_linear_f32(out + column, features, x, features,
                          panels + column * features, nullptr, nullptr, 0, Rows,
                          features, tile_columns, BATON_ACTIVATION_NONE);
}

template <int64_t Rows>
void linear(float *out, const float *x, const uint16_t *panels) {
  for (int64_t column = 0; column < features; column += tile_columns)
    baton_task_linear_bf16(out + column, features, x, features,
                           panels + column * features, nullptr, nullptr, 0,
                           Rows, features, tile_columns, BATON_ACTIVATION_NONE);
}

void linear_f16(float *out, const float *x, const uint16_t *panels) {
  for (int64_t column = 0; column < features; column += tile_columns)
    baton_task_linear_f16(out + column, features, x, features,
                          panels + column * features, nullptr, nullptr, 0, 1,
                          features, tile_columns, BATON_ACTIVATION_NONE);
}

/// One key/value head of `Width` dimensions, `Rows` rows of `Group` query
/// heads.
template <int64_t Rows, int64_t Group, int64_t Width>
void attention(float *out, const float *q, const float *keys,
               const float *values, int64_t position, float *scratch) {
  baton_task_attention(out, Group * Width, q, Group * Width, keys,
                       /*key_stride=*/0, values, /*value_stride=*/0, Rows,
                       position, Group, Width, Width, 0.125f, 0.0f, 0, nullptr,
                       0, 0, nullptr, scratch);
}

/// One tile of a training step's products: activations and weights as they lie,
/// either of them by columns.
template <bool LeftByColumns, bool RightByColumns>
void product(float *out, const float *left, const float *right,
             float *scratch) {
  baton_task_product(out, features, left, LeftByColumns ? 1 : features,
                     LeftByColumns ? features : 1, right,
                     RightByColumns ? 1 : features,
                     RightByColumns ? features : 1, nullptr, nullptr, 0,
                     product_tile, product_tile, product_depth, scratch);
}

template <typename Body> double seconds(Body body) {
  auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

float *allocate(int64_t count) {
  const size_t bytes = count * sizeof(float);
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("library_bench: mmap");
    std::exit(1);
  }
  madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<float *>(memory);
}

struct Row {
  const char *name;
  double bytes; // read in one window, 0 where arithmetic bounds
  double operations;
  double best; // seconds
};

} // namespace

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 60;
  float *weights = allocate(matrices * matrix_weights);
  for (int64_t i = 0; i < matrices * matrix_weights; ++i)
    weights[i] = static_cast<float>(i % 251) * 0x1p-10f;
  float *x = allocate(48 * features);
  float *out = allocate(product_tile * features);
  for (int64_t i = 0; i < 48 * features; ++i)
    x[i] = static_cast<float>(i % 127) * 0x1p-7f;
  std::vector<float> scratch(baton_attention_scratch_bytes(48, 4, 128, 128) /
                             4);
  std::vector<float> product_scratch(baton_product_scratch_bytes(product_tile) /
                                     4);

  // Every window reads the bytes that were left alone for longest. Halves of
  // these floats are ordinary numbers: subnormal ones would be slow.
  int64_t cursor = 0;
  auto take = [&](int64_t floats) {
    if (cursor + floats > matrices * matrix_weights)
      cursor = 0;
    cursor += floats;
    return weights + cursor - floats;
  };
  auto f32 = [&] { return take(matrix_weights); };
  auto halves = [&] {
    return reinterpret_cast<const uint16_t *>(take(matrix_weights / 2));
  };
  auto states = [&](int64_t width) { return take((context + 64) * width); };

  auto side = [&] { return take(product_depth * features); };

  constexpr double wide = 4.0 * matrix_weights, narrow = 2.0 * matrix_weights;
  constexpr double work = 2.0 * matrix_weights;
  constexpr double product_bytes = 8.0 * product_tile * product_depth;
  constexpr double product_work =
      2.0 * product_tile * product_tile * product_depth;
  constexpr int64_t probe_iterations = 1000000;
  std::vector<Row> table = {
      {"read loop", wide, 0, 1e9},
      {"fma probe", 0, double(BATON_FMA_PROBE_OPERATIONS) * probe_iterations,
       1e9},
      {"linear f32, 1 row", wide, work, 1e9},
      {"linear bf16, 1 row", narrow, work, 1e9},
      {"linear f16, 1 row", narrow, work, 1e9},
      {"linear f32, 2 rows", wide, 2 * work, 1e9},
      {"linear bf16, 2 rows", narrow, 2 * work, 1e9},
      {"linear bf16, 3 rows", narrow, 3 * work, 1e9},
      {"linear f32, 6 rows", wide, 6 * work, 1e9},
      {"linear bf16, 6 rows", narrow, 6 * work, 1e9},
      {"linear f32, 48 rows", wide, 48 * work, 1e9},
      {"linear bf16, 48 rows", narrow, 48 * work, 1e9},
      {"attention, 1 row of 4 heads", context * 512.0, context * 64 * 4.0 * 4,
       1e9},
      {"attention, 1 row of 2 wide heads", context * 1024.0,
       context * 128 * 4.0 * 2, 1e9},
      {"attention, 48 rows of 4 heads", context * 512.0,
       (context + 24) * 64 * 4.0 * 4 * 48, 1e9},
      {"product with weights by columns", product_bytes, product_work, 1e9},
      {"product with weights by rows", product_bytes, product_work, 1e9},
      {"product for weights", product_bytes, product_work, 1e9},
  };
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < table.size(); ++i) {
      double elapsed = seconds([&] {
        switch (i) {
        case 0:
          sink = read_all(f32(), matrix_weights);
          break;
        case 1:
          sink = baton_task_fma_probe(probe_iterations);
          break;
        case 2:
          linear<1>(out, x, f32());
          break;
        case 3:
          linear<1>(out, x, halves());
          break;
        case 4:
          linear_f16(out, x, halves());
          break;
        case 5:
          linear<2>(out, x, f32());
          break;
        case 6:
          linear<2>(out, x, halves());
          break;
        case 7:
          linear<3>(out, x, halves());
          break;
        case 8:
          linear<6>(out, x, f32());
          break;
        case 9:
          linear<6>(out, x, halves());
          break;
        case 10:
          linear<48>(out, x, f32());
          break;
        case 11:
          linear<48>(out, x, halves());
          break;
        case 12:
          attention<1, 4, 64>(out, x, states(64), states(64), context - 1,
                              scratch.data());
          break;
        case 13:
          attention<1, 2, 128>(out, x, states(128), states(128), context - 1,
                               scratch.data());
          break;
        case 14:
          attention<48, 4, 64>(out, x, states(64), states(64), context,
                               scratch.data());
          break;
        case 15:
          product<false, true>(out, side(), side(), product_scratch.data());
          break;
        case 16:
          product<false, false>(out, side(), side(), product_scratch.data());
          break;
        case 17:
          product<true, false>(out, side(), side(), product_scratch.data());
          break;
        }
      });
      table[i].best = std::min(table[i].best, elapsed);
    }

  const double bandwidth = table[0].bytes / table[0].best;
  const double peak = table[1].operations / table[1].best;
  std::printf("%-33s %8s %7s %9s %7s\n", "", "GB/s", "of read", "GFLOP/s",
              "of FMA");
  for (const Row &row : table)
    std::printf("%-33s %8.1f %6.0f%% %9.1f %6.0f%%\n", row.name,
                row.bytes / row.best / 1e9,
                row.bytes / row.best / bandwidth * 100,
                row.operations / row.best / 1e9,
                row.operations / row.best / peak * 100);
}
