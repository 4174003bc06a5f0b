//===- cublaslt.cpp - products of matrices by cuBLASLt --------------------===//

#include "runtime/cuda/cublaslt.h"

#include "runtime/error.h"

#include <cstdlib>
#include <vector>

#include <dlfcn.h>

namespace baton {

namespace {

/// Where it may be: where the user says, or else on the loader's path or in a
/// toolkit.
std::vector<std::string> candidates() {
  if (const char *file = std::getenv("BATON_CUBLASLT"))
    return {file};
  std::vector<std::string> folders = {""};
  for (const char *variable : {"CUDA_PATH", "CUDA_HOME"})
    if (const char *toolkit = std::getenv(variable))
      folders.push_back(std::string(toolkit) + "/lib64/");
  folders.push_back("/usr/local/cuda/lib64/");
  std::vector<std::string> files;
  for (const std::string &folder : folders)
    for (const char *version : {"13", "12"})
      files.push_back(folder + "libcublasLt.so." + version);
  return files;
}

CublasLtLibrary open_library() {
  CublasLtLibrary library;
  void *opened = nullptr;
  for (const std::string &file : candidates())
    if ((opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))) {
      library.file = file;
      break;
    }
  if (!opened) {
    const char *file = std::getenv("BATON_CUBLASLT");
    throw Error("cuBLASLt was not found (" +
                std::string(file ? file : "libcublasLt.so.13 or .12") +
                "); BATON_CUBLASLT names its file, CUDA_PATH a toolkit");
  }
  auto resolve = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(opened, name));
    if (!function)
      throw Error("cuBLASLt (" + library.file + ") is too old: it lacks " +
                  name + "; this program needs that of CUDA 12");
  };
  resolve("cublasLtGetStatusString", library.status_string);
  resolve("cublasLtCreate", library.create);
  resolve("cublasLtDestroy", library.destroy);
  resolve("cublasLtMatmulDescCreate", library.description_create);
  resolve("cublasLtMatrixLayoutCreate", library.layout_create);
  resolve("cublasLtMatmulPreferenceCreate", library.preference_create);
  resolve("cublasLtMatmulPreferenceSetAttribute", library.preference_set);
  resolve("cublasLtMatmulAlgoGetHeuristic", library.heuristic);
  resolve("cublasLtMatmul", library.multiply);
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
