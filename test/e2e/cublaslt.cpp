//===- cublaslt.cpp - a cuBLASLt without a GPU ----------------------------===//
//
// What runtime/cuda/cublaslt.cpp calls of the library, for programs on an
// emulated device: matrices are the host's, sums are F32 and ascend in depth.
// With CUBLASLT_LOG set each product is a line of that file. CUBLASLT_FAULT
// names the call that fails: "create", "heuristic", "algorithm" (there is none)
// or "multiply". Compiled with BATON_OLD_CUBLASLT it lacks a function.
//
//===----------------------------------------------------------------------===//

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int not_initialized = 1, invalid_value = 7, execution_failed = 13,
              internal_error = 14, not_supported = 15;
constexpr int float32 = 0, bfloat16 = 14, compute_float32 = 68;

/// Columns lie behind one another.
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t stride;
};
struct Preference {
  uint64_t workspace_bytes;
  uint32_t schemes;
};
struct Algorithm {
  uint64_t rows, columns, depth, more[5];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

bool fails(const char *call) {
  const char *fault = getenv("CUBLASLT_FAULT");
  return fault && strcmp(fault, call) == 0;
}

bool is_aligned(const void *address) {
  return reinterpret_cast<uintptr_t>(address) % 256 == 0;
}

float widened(uint16_t bits) {
  const uint32_t wide = uint32_t(bits) << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

} // namespace

extern "C" {

const char *cublasLtGetStatusString(int status) {
  return status == not_initialized    ? "CUBLAS_STATUS_NOT_INITIALIZED"
         : status == execution_failed ? "CUBLAS_STATUS_EXECUTION_FAILED"
                                      : "CUBLAS_STATUS_INTERNAL_ERROR";
}
int cublasLtCreate(void **handle) {
  static char made;
  return *handle = &made, fails("create") ? not_initialized : 0;
}
int cublasLtDestroy(void *handle) { return handle ? 0 : invalid_value; }
int cublasLtMatmulDescCreate(void **description, int compute, int scale) {
  static char made;
  *description = &made;
  return compute == compute_float32 && scale == float32 ? 0 : not_supported;
}
int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows,
                               uint64_t columns, int64_t stride) {
  *layout = new Layout{type, rows, columns, stride};
  return rows && columns && stride >= int64_t(rows) ? 0 : invalid_value;
}
int cublasLtMatmulPreferenceCreate(void **preference) {
  return *preference = new Preference{}, 0;
}
int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute,
                                         const void *value, size_t bytes) {
  auto *made = static_cast<Preference *>(preference);
  if (attribute == 1 && bytes == 8)
    return memcpy(&made->workspace_bytes, value, 8), 0;
  if (attribute == 3 && bytes == 4)
    return memcpy(&made->schemes, value, 4), 0;
  return invalid_value;
}

#ifndef BATON_OLD_CUBLASLT
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *description,
                                   void *a_layout, void *b_layout,
                                   void *c_layout, void *d_layout,
                                   void *preference, int wanted,
                                   Heuristic *found, int *count) {
  const auto &a = *static_cast<Layout *>(a_layout);
  const auto &b = *static_cast<Layout *>(b_layout);
  const auto &d = *static_cast<Layout *>(d_layout);
  const auto &limits = *static_cast<Preference *>(preference);
  *count = 0;
  if (fails("heuristic"))
    return internal_error;
  // Only sums in one order, and rows of 16 bytes, as tensor cores want them.
  if (!handle || !description || c_layout != d_layout || wanted != 1 ||
      limits.schemes != 2 || limits.workspace_bytes == 0)
    return invalid_value;
  if (fails("algorithm") || a.type != bfloat16 || b.type != bfloat16 ||
      d.type != float32 || a.columns != b.rows || a.rows != d.rows ||
      b.columns != d.columns || a.stride % 8 || b.stride % 8)
    return not_supported;
  *found = {{a.rows, b.columns, a.columns, {}}, 0, 0, 1, {}};
  *count = 1;
  return 0;
}
#endif

int cublasLtMatmul(void *handle, void *description, const void *alpha,
                   const void *a_data, void *a_layout, const void *b_data,
                   void *b_layout, const void *beta, const void *c_data,
                   void *c_layout, void *d_data, void *d_layout,
                   const Algorithm *algorithm, void *workspace,
                   size_t workspace_bytes, void *stream) {
  (void)stream;
  const auto &a = *static_cast<Layout *>(a_layout);
  const auto &b = *static_cast<Layout *>(b_layout);
  const auto &d = *static_cast<Layout *>(d_layout);
  if (!handle || !description || *static_cast<const float *>(alpha) != 1 ||
      *static_cast<const float *>(beta) != 0 || c_data != d_data ||
      c_layout != d_layout || !workspace || workspace_bytes == 0 ||
      algorithm->rows != d.rows || algorithm->columns != d.columns ||
      algorithm->depth != a.columns || !is_aligned(a_data) ||
      !is_aligned(b_data) || !is_aligned(d_data))
    return invalid_value;
  if (const char *log = getenv("CUBLASLT_LOG"))
    if (FILE *file = fopen(log, "a")) {
      fprintf(file, "multiply %llu %llu %llu\n",
              static_cast<unsigned long long>(d.columns),
              static_cast<unsigned long long>(a.columns),
              static_cast<unsigned long long>(d.rows));
      fclose(file);
    }
  if (fails("multiply"))
    return execution_failed;
  for (uint64_t column = 0; column < d.columns; ++column)
    for (uint64_t row = 0; row < d.rows; ++row) {
      float sum = 0;
      for (uint64_t k = 0; k < a.columns; ++k)
        sum = std::fma(
            widened(static_cast<const uint16_t *>(a_data)[k * a.stride + row]),
            widened(
                static_cast<const uint16_t *>(b_data)[column * b.stride + k]),
            sum);
      static_cast<float *>(d_data)[column * d.stride + row] = sum;
    }
  return 0;
}

} // extern "C"
