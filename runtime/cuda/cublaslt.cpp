//===- cublaslt.cpp - products of matrices by cuBLASLt --------------------===//

#include "runtime/cuda/cublaslt.h"

#include "runtime/error.h"
#include "runtime/files/optional_library.h"

namespace baton {

namespace {

CublasLtLibrary open_library() {
  const OptionalLibrary opened({"cuBLASLt",
                                "",
                                "BATON_CUBLASLT",
                                {"libcublasLt.so.13", "libcublasLt.so.12"},
                                "that of CUDA 12"});
  CublasLtLibrary library;
  library.file = opened.file();
  opened.resolve("cublasLtGetStatusString", library.status_string);
  opened.resolve("cublasLtCreate", library.create);
  opened.resolve("cublasLtDestroy", library.destroy);
  opened.resolve("cublasLtMatmulDescCreate", library.description_create);
  opened.resolve("cublasLtMatrixLayoutCreate", library.layout_create);
  opened.resolve("cublasLtMatmulPreferenceCreate", library.preference_create);
  opened.resolve("cublasLtMatmulPreferenceSetAttribute",
                 library.preference_set);
  opened.resolve("cublasLtMatmulAlgoGetHeuristic", library.heuristic);
  opened.resolve("cublasLtMatmul", library.multiply);
  return library;
}

} // namespace

const CublasLtLibrary &CublasLtLibrary::get() {
  static const CublasLtLibrary library = open_library();
  return library;
}

void CublasLtLibrary::check(Status status, const std::string &what) const {
  if (status == 0)
    return;
  const char *text = status_string(status);
  throw Error(what + ": " + (text ? text : "unknown error") +
              " (cuBLASLt status " + std::to_string(status) + ")");
}

CublasLt::CublasLt(std::string device)
    : library(CublasLtLibrary::get()), device(std::move(device)) {
  const std::string what =
      "cuBLASLt (" + library.file + ") does not start on " + this->device;
  library.check(library.create(&handle), what);
  library.check(library.description_create(&description,
                                           CublasLtLibrary::compute_float32,
                                           CublasLtLibrary::float32),
                what);
  library.check(library.preference_create(&preference), what);
  const uint64_t bytes = workspace_bytes;
  library.check(library.preference_set(
                    preference, CublasLtLibrary::preference_workspace_bytes,
                    &bytes, sizeof bytes),
                what);
  const uint32_t schemes = CublasLtLibrary::reduction_in_compute_type;
  library.check(library.preference_set(
                    preference, CublasLtLibrary::preference_reduction_schemes,
                    &schemes, sizeof schemes),
                what);
}

// What was made with the handle is memory of the host, and goes with the
// program.
CublasLt::~CublasLt() {
  if (handle)
    library.destroy(handle);
}

std::string CublasLt::what(const Shape &shape) const {
  return "a product of " + std::to_string(shape.rows) + " rows, " +
         std::to_string(shape.columns) + " columns and depth " +
         std::to_string(shape.depth) + " by cuBLASLt on " + device;
}

const CublasLt::Plan &CublasLt::plan(const Shape &shape) {
  if (auto known = plans.find(shape); known != plans.end())
    return known->second;
  Plan plan = {shape, nullptr, nullptr, nullptr, {}};
  // Matrices whose rows lie behind one another are transposed ones to cuBLASLt,
  // whose product has its sides in the other order.
  auto layout = [&](CublasLtLibrary::Layout &made, int type, uint64_t rows,
                    uint64_t columns) {
    library.check(library.layout_create(&made, type, rows, columns,
                                        static_cast<int64_t>(rows)),
                  what(shape));
  };
  layout(plan.weights, CublasLtLibrary::bfloat16, shape.columns, shape.depth);
  layout(plan.activations, CublasLtLibrary::bfloat16, shape.depth, shape.rows);
  layout(plan.product, CublasLtLibrary::float32, shape.columns, shape.rows);
  CublasLtLibrary::Heuristic found = {};
  int count = 0;
  const int status = library.heuristic(
      handle, description, plan.weights, plan.activations, plan.product,
      plan.product, preference, 1, &found, &count);
  if (status == CublasLtLibrary::not_supported ||
      (status == 0 && (count < 1 || found.state != 0)))
    throw Error(what(shape) + ": it has no algorithm for that; compile with "
                              "--cublaslt=never");
  library.check(status, what(shape));
  plan.algorithm = found.algorithm;
  return plans.emplace(shape, plan).first->second;
}

void CublasLt::multiply(const Plan &plan, const void *activations,
                        const void *weights, void *product, void *workspace,
                        void *stream) const {
  const float one = 1, zero = 0;
  library.check(library.multiply(handle, description, &one, weights,
                                 plan.weights, activations, plan.activations,
                                 &zero, product, plan.product, product,
                                 plan.product, &plan.algorithm, workspace,
                                 workspace_bytes, stream),
                what(plan.shape));
}

} // namespace baton
