//===- MatrixBodies.cpp - linears on tensor cores, emulated ---------------===//

#include "test/codegen/cuda/library/MatrixBodies.h"
#include "runtime/cuda/emulation/engine.h"
#include "test/codegen/cuda/library/Relocation.h"

// Behind the standard headers, whose attributes it redefines.
#include "codegen/cuda/library/matrix.h"

using namespace baton;
using namespace baton::test;

template <int Threads, int Rows, int Columns, int Architecture>
static MatrixBodies bodies_of() {
  return {
      {Threads, Rows, Columns, Architecture},
      [](void *arguments) {
        const auto &call = *static_cast<const MatrixLinear *>(arguments);
        BATON_DYNAMIC_SHARED(shared);
        baton_matrix_linear_bf16<Threads, Rows, Columns, Architecture>(
            shared, call.out, call.out_stride, call.x, call.x_stride,
            call.panels, call.bias, call.residual, call.residual_stride,
            call.rows, call.k, call.columns, call.activation);
      },
      [](void *arguments) {
        const auto &call = *static_cast<const MatrixGatedLinear *>(arguments);
        BATON_DYNAMIC_SHARED(shared);
        baton_matrix_gated_linear_bf16<Threads, Rows, Columns, Architecture>(
            shared, call.out, call.out_stride, call.x, call.x_stride,
            call.panels, call.bias_gate, call.bias_up, call.rows, call.k,
            call.columns, call.activation);
      }};
}

std::string MatrixBodies::kernel(const char *body) const {
  std::string name =
      std::string("matrix_") + body + "_" + std::to_string(shape.architecture) +
      "_" + std::to_string(shape.rows) + "x" + std::to_string(shape.columns);
  // Those of the kernels, which their names do not say.
  return shape.threads == 256
             ? name
             : name + " of " + std::to_string(shape.threads) + " threads";
}

bool MatrixBodies::can_run() const {
  Place *const place = Place::chosen();
  return !place || place->has(kernel("linear_bf16"));
}

static emulation::Launch launch_of(const BatonMatrixShape &shape,
                                   uint64_t seed) {
  return {1, static_cast<unsigned>(shape.threads),
          static_cast<size_t>(shape.shared_bytes()), seed};
}

void MatrixBodies::run(MatrixLinear call, uint64_t seed) const {
  const emulation::Launch launch = launch_of(shape, seed);
  run_placed(
      kernel("linear_bf16"), launch.threads, launch.shared_bytes,
      [&] { emulation::launch(launch, linear, &call); }, call.out,
      call.out_stride, call.x, call.x_stride, call.panels, call.bias,
      call.residual, call.residual_stride, call.rows, call.k, call.columns,
      call.activation);
}
void MatrixBodies::run(MatrixGatedLinear call, uint64_t seed) const {
  const emulation::Launch launch = launch_of(shape, seed);
  run_placed(
      kernel("gated_linear_bf16"), launch.threads, launch.shared_bytes,
      [&] { emulation::launch(launch, gated_linear, &call); }, call.out,
      call.out_stride, call.x, call.x_stride, call.panels, call.bias_gate,
      call.bias_up, call.rows, call.k, call.columns, call.activation);
}

const std::vector<MatrixBodies> &test::matrix_bodies() {
  static const std::vector<MatrixBodies> all = {
      bodies_of<128, 16, 32, 80>(),   bodies_of<256, 16, 32, 80>(),
      bodies_of<512, 16, 32, 80>(),   bodies_of<128, 32, 32, 80>(),
      bodies_of<32, 32, 32, 80>(),    bodies_of<64, 32, 64, 80>(),
      bodies_of<128, 64, 128, 80>(),  bodies_of<128, 64, 64, 80>(),
      bodies_of<256, 128, 128, 80>(), bodies_of<128, 64, 64, 90>(),
      bodies_of<128, 128, 128, 90>(), bodies_of<256, 128, 128, 90>()};
  return all;
}
