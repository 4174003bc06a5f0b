//===- cublaslt.h - products of matrices by cuBLASLt ----------------------===//
//
// The part of cuBLASLt's interface that is used (CUDA 12 and later,
// cublasLt.h), declared here and opened at run time, as libcuda in driver.h.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CUDA_CUBLASLT_H
#define BATON_RUNTIME_CUDA_CUBLASLT_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace baton {

struct CublasLtLibrary {
  using Status = int;
  using Handle = void *;
  using Description = void *;
  using Layout = void *;
  using Preference = void *;

  /// cublasLtMatmulAlgo_t and cublasLtMatmulHeuristicResult_t.
  struct Algorithm {
    uint64_t data[8];
  };
  struct Heuristic {
    Algorithm algorithm;
    size_t workspace_bytes;
    Status state;
    float waves;
    int reserved[4];
  };

  // Values of enumerations.
  static constexpr Status not_supported = 15;
  static constexpr int float32 = 0, bfloat16 = 14;
  static constexpr int compute_float32 = 68;
  static constexpr int preference_workspace_bytes = 1;
  static constexpr int preference_reduction_schemes = 3;
  /// Parts of a sum meet in the workspace, in one order.
  static constexpr uint32_t reduction_in_compute_type = 2;

  /// The file that was opened, for messages.
  std::string file;

  const char *(*status_string)(Status status);
  Status (*create)(Handle *handle);
  Status (*destroy)(Handle handle);
  Status (*description_create)(Description *description, int compute_type,
                               int scale_type);
  Status (*layout_create)(Layout *layout, int type, uint64_t rows,
                          uint64_t columns, int64_t leading_dimension);
  Status (*preference_create)(Preference *preference);
  Status (*preference_set)(Preference preference, int attribute,
                           const void *value, size_t bytes);
  Status (*heuristic)(Handle handle, Description description, Layout a,
                      Layout b, Layout c, Layout d, Preference preference,
                      int wanted, Heuristic *found, int *count);
  Status (*multiply)(Handle handle, Description description, const void *alpha,
                     const void *a, Layout a_layout, const void *b,
                     Layout b_layout, const void *beta, const void *c,
                     Layout c_layout, void *d, Layout d_layout,
                     const Algorithm *algorithm, void *workspace,
                     size_t workspace_bytes, void *stream);

  /// Throws Error, in one line, where there is none or it is too old.
  static const CublasLtLibrary &get();

  /// Throws Error with `what` and the library's words unless `status` is 0.
  void check(Status status, const std::string &what) const;
};

/// A handle, and what was found for the products that have been asked for.
class CublasLt {
public:
  static constexpr size_t workspace_bytes = size_t(32) << 20;

  /// In the current context, if there is one. `device` is its name.
  explicit CublasLt(std::string device);
  ~CublasLt();
  CublasLt(const CublasLt &) = delete;
  CublasLt &operator=(const CublasLt &) = delete;

  struct Shape {
    uint64_t rows, depth, columns;
    auto operator<=>(const Shape &) const = default;
  };
  /// How products of one shape are computed.
  struct Plan {
    Shape shape;
    CublasLtLibrary::Layout activations, weights, product;
    CublasLtLibrary::Algorithm algorithm;
  };
  /// The same plan every time. Throws Error where cuBLASLt has none.
  const Plan &plan(const Shape &shape);

  /// product[rows][columns] = activations[rows][depth] *
  /// weights[depth][columns], BF16 to F32, in the order of `stream`.
  void multiply(const Plan &plan, const void *activations, const void *weights,
                void *product, void *workspace, void *stream) const;

private:
  std::string what(const Shape &shape) const;

  const CublasLtLibrary &library;
  std::string device;
  CublasLtLibrary::Handle handle = nullptr;
  CublasLtLibrary::Description description = nullptr;
  CublasLtLibrary::Preference preference = nullptr;
  std::map<Shape, Plan> plans;
};

} // namespace baton

#endif // BATON_RUNTIME_CUDA_CUBLASLT_H
