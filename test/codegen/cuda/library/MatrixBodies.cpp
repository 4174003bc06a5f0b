//===- MatrixBodies.cpp - linears on tensor cores, emulated ---------------===//

#include "test/codegen/cuda/library/MatrixBodies.h"

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

const std::vector<MatrixBodies> &test::matrix_bodies() {
  static const std::vector<MatrixBodies> all = {
      bodies_of<32, 32, 32, 80>(),   bodies_of<64, 32, 64, 80>(),
      bodies_of<128, 64, 128, 80>(), bodies_of<256, 128, 128, 80>(),
      bodies_of<128, 64, 64, 90>(),  bodies_of<128, 128, 128, 90>(),
      bodies_of<256, 128, 128, 90>()};
  return all;
}
