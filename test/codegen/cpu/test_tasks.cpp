//===- test_tasks.cpp - task bodies whose results are easy to check -------===//

#include <cstdint>

#define TASK extern "C" __attribute__((always_inline))

/// out = a token id
TASK void baton_task_test_token(int64_t *out, const int32_t *token) {
  *out = *token;
}

/// out = in + weight
TASK void baton_task_test_add(int64_t *out, const int64_t *in,
                              const int64_t *weight) {
  *out = *in + *weight;
}

/// out = factor * in
TASK void baton_task_test_scale(int64_t *out, const int64_t *in,
                                int64_t factor) {
  *out = factor * *in;
}

/// out = in[0] + ... + in[count - 1], as a float
TASK void baton_task_test_sum(float *out, const int64_t *in, int64_t count) {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += in[i];
  *out = static_cast<float>(sum);
}

/// Notes who runs a tile, and how often it is run: the fixture writes each
/// worker's number into its scratch.
TASK void baton_task_test_visit(int64_t *visitor, int64_t *visits,
                                const int64_t *scratch) {
  *visitor = scratch[0];
  *visits += 1;
}

/// Counts calls in a worker's scratch.
TASK void baton_task_test_count_calls(int64_t *scratch) { *scratch += 1; }

/// One operand of each kind, packed into `out`.
TASK void baton_task_test_operands(double *out, int64_t count, int32_t small,
                                   int64_t large, float real,
                                   const void *nothing, const char *scratch,
                                   const char *address) {
  out[0] = static_cast<double>(count);
  out[1] = small;
  out[2] = static_cast<double>(large);
  out[3] = real;
  out[4] = nothing == nullptr;
  out[5] = static_cast<double>(scratch[0]);
  out[6] = static_cast<double>(address - reinterpret_cast<const char *>(out));
}

/// Not a task body: it returns a value.
TASK int64_t baton_task_test_value() { return 1; }
