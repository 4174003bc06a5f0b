//===- ProductMatrixBodies.cpp - products of training on tensor cores -----===//

#include "test/codegen/cuda/library/ProductMatrixBodies.h"
#include "runtime/cuda/emulation/engine.h"
#include "test/codegen/cuda/library/Relocation.h"

// Behind the standard headers, whose attributes it redefines.
#include "codegen/cuda/library/product_matrix.h"

using namespace baton;
using namespace baton::test;

template <bool IsF16, int Threads, int Rows, int Columns, int Architecture>
static ProductMatrixBodies bodies_of() {
  return {
      {Threads, Rows, Columns, Architecture},
      IsF16,
      [](void *arguments) {
        const auto &call = *static_cast<const MatrixProduct *>(arguments);
        BATON_DYNAMIC_SHARED(shared);
        constexpr auto *body =
            IsF16
                ? baton_matrix_product_f16<Threads, Rows, Columns, Architecture>
                : baton_matrix_product_bf16<Threads, Rows, Columns,
                                            Architecture>;
        const ProductSides &sides = call.sides;
        body(shared, call.out, call.out_stride, sides.a, sides.a_row_stride,
             sides.a_depth_stride, sides.b, sides.b_depth_stride,
             sides.b_column_stride, call.bias, call.residual,
             call.residual_stride, call.rows, call.columns, call.depth,
             nullptr);
      },
      [](void *arguments) {
        const auto &call =
            *static_cast<const MatrixProductGradient *>(arguments);
        BATON_DYNAMIC_SHARED(shared);
        constexpr auto *body =
            IsF16 ? baton_matrix_product_gradient_f16<Threads, Rows, Columns,
                                                      Architecture>
                  : baton_matrix_product_gradient_bf16<Threads, Rows, Columns,
                                                       Architecture>;
        const ProductSides &sides = call.sides;
        body(shared, call.out, call.out_stride, sides.a, sides.a_row_stride,
             sides.a_depth_stride, sides.b, sides.b_depth_stride,
             sides.b_column_stride, call.weights, call.rows, call.columns,
             call.depth, call.accumulate, nullptr);
      }};
}

std::string ProductMatrixBodies::kernel(const char *body) const {
  std::string name =
      std::string("matrix_") + body + (is_f16 ? "_f16_" : "_bf16_") +
      std::to_string(shape.architecture) + "_" + std::to_string(shape.rows) +
      "x" + std::to_string(shape.columns);
  // Those of the kernels, which their names do not say.
  return shape.threads == 256
             ? name
             : name + " of " + std::to_string(shape.threads) + " threads";
}

bool ProductMatrixBodies::can_run() const {
  Place *const place = Place::chosen();
  return !place || place->has(kernel("product"));
}

static emulation::Launch launch_of(const BatonProductMatrixShape &shape,
                                   uint64_t seed) {
  return {1, static_cast<unsigned>(shape.threads),
          static_cast<size_t>(shape.shared_bytes()), seed};
}

void ProductMatrixBodies::run(MatrixProduct call, uint64_t seed) const {
  const emulation::Launch launch = launch_of(shape, seed);
  ProductSides &sides = call.sides;
  float *scratch = nullptr;
  run_placed(
      kernel("product"), launch.threads, launch.shared_bytes,
      [&] { emulation::launch(launch, product, &call); }, call.out,
      call.out_stride, sides.a, sides.a_row_stride, sides.a_depth_stride,
      sides.b, sides.b_depth_stride, sides.b_column_stride, call.bias,
      call.residual, call.residual_stride, call.rows, call.columns, call.depth,
      scratch);
}
void ProductMatrixBodies::run(MatrixProductGradient call, uint64_t seed) const {
  const emulation::Launch launch = launch_of(shape, seed);
  ProductSides &sides = call.sides;
  float *scratch = nullptr;
  run_placed(
      kernel("product_gradient"), launch.threads, launch.shared_bytes,
      [&] { emulation::launch(launch, gradient, &call); }, call.out,
      call.out_stride, sides.a, sides.a_row_stride, sides.a_depth_stride,
      sides.b, sides.b_depth_stride, sides.b_column_stride, call.weights,
      call.rows, call.columns, call.depth, call.accumulate, scratch);
}

const std::vector<ProductMatrixBodies> &test::product_matrix_bodies() {
  static const std::vector<ProductMatrixBodies> all = {
      bodies_of<false, 32, 32, 32, 80>(),
      bodies_of<true, 64, 32, 64, 80>(),
      bodies_of<false, 256, 128, 128, 80>(),
      bodies_of<true, 256, 128, 256, 80>(),
      bodies_of<true, 128, 64, 64, 90>(),
      bodies_of<false, 128, 64, 128, 90>(),
      bodies_of<true, 256, 128, 128, 90>(),
      bodies_of<false, 256, 128, 256, 90>()};
  return all;
}
