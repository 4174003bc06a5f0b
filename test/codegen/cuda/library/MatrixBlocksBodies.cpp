//===- MatrixBlocksBodies.cpp - products of blocks on tensor cores --------===//

#include "test/codegen/cuda/library/MatrixBlocksBodies.h"
#include "runtime/cuda/emulation/engine.h"
#include "runtime/weight_formats.h"
#include "test/codegen/cuda/library/Relocation.h"

#include <algorithm>

// Behind the standard headers, whose attributes it redefines.
#include "test/codegen/cuda/library/matrix_blocks_linears.h"

using namespace baton;
using namespace baton::test;

static std::string names(uint32_t formats) {
  std::string list;
  for (uint32_t i = 0; i < blocks::format_count; ++i)
    if (formats >> i & 1)
      list += (list.empty() ? "" : "|") + std::string(blocks::formats[i].name);
  return list;
}

template <uint32_t Formats, int Threads, int Rows, int Columns,
          int Architecture>
static MatrixBlocksBody body_of() {
  return {names(Formats),
          {{Threads, Rows, Columns, Architecture}, Formats},
          false,
          [](void *arguments) {
            const auto &call = *static_cast<const BlocksLinear *>(arguments);
            BATON_DYNAMIC_SHARED(shared);
            linear_of_blocks<Formats, Threads, Rows, Columns, Architecture>(
                shared, call.out, call.out_stride, call.x, call.x_stride,
                call.panels, call.bias, call.bias_up, call.residual,
                call.residual_stride, call.rows, call.k, call.columns,
                call.activation, call.gated);
          }};
}

template <uint32_t Formats, int Threads, int Rows, int Columns>
static MatrixBlocksBody integer_body_of() {
  return {names(Formats),
          {{Threads, Rows, Columns, 80}, Formats},
          true,
          [](void *arguments) {
            const auto &call = *static_cast<const BlocksLinear *>(arguments);
            BATON_DYNAMIC_SHARED(shared);
            integer_linear_of_blocks<Formats, Threads, Rows, Columns>(
                shared, call.out, call.out_stride, call.x, call.x_stride,
                call.panels, call.bias, call.bias_up, call.residual,
                call.residual_stride, call.rows, call.k, call.columns,
                call.activation, call.gated);
          }};
}

template <uint32_t Formats, int Threads, int Rows, int Columns,
          int Architecture>
static PartlyMatrixBodies partly_bodies_of() {
  constexpr BatonMatrixShape tile{Threads, Rows, Columns, Architecture};
  constexpr uint32_t plain = Formats & plain_formats;
  return {names(Formats), tile,
          std::max(BatonBlocksMatrixShape{tile, Formats}.integer_shared_bytes(),
                   BatonBlocksMatrixShape{tile, plain}.shared_bytes()),
          [](void *arguments) {
            const auto &call =
                *static_cast<const PartlyIntegerLinear *>(arguments);
            BATON_DYNAMIC_SHARED(shared);
            partly_integer_linear_of_blocks<Formats, Threads, Rows, Columns,
                                            Architecture>(
                shared, call.out, call.out_stride, call.x, call.x_stride,
                call.exact, call.exact_stride, call.panels, call.bias,
                call.residual, call.residual_stride, call.rows, call.k,
                call.columns, call.activation);
          }};
}

void PartlyMatrixBodies::run(PartlyIntegerLinear call, uint64_t seed) const {
  emulation::launch({1, static_cast<unsigned>(tile.threads),
                     static_cast<size_t>(shared_bytes), seed},
                    bodies, &call);
}

const std::vector<PartlyMatrixBodies> &test::partly_matrix_bodies() {
  // One format of blocks, or of numbers, and several.
  static const std::vector<PartlyMatrixBodies> all = {
      partly_bodies_of<1u << blocks::q8_0 | 1u << blocks::bf16, 64, 32, 64,
                       80>(),
      partly_bodies_of<1u << blocks::q4_k | plain_formats, 64, 32, 64, 80>(),
      partly_bodies_of<1u << blocks::q8_0 | 1u << blocks::q6_k |
                           1u << blocks::f16,
                       128, 64, 64, 90>()};
  return all;
}

std::string MatrixBlocksBody::kernel() const {
  std::string list = formats;
  std::replace(list.begin(), list.end(), '|', '_');
  const BatonMatrixShape &tile = shape.tile;
  const std::string name =
      std::string("matrix_") + (of_integers ? "integers_" : "blocks_") + list +
      "_" + std::to_string(tile.architecture) + "_" +
      std::to_string(tile.rows) + "x" + std::to_string(tile.columns);
  // Those of the kernels, which their names do not say.
  return tile.threads == 256
             ? name
             : name + " of " + std::to_string(tile.threads) + " threads";
}

bool MatrixBlocksBody::can_run() const {
  Place *const place = Place::chosen();
  return !place || place->has(kernel());
}

void MatrixBlocksBody::run(BlocksLinear call, uint64_t seed) const {
  const emulation::Launch launch = {1,
                                    static_cast<unsigned>(shape.tile.threads),
                                    static_cast<size_t>(shared_bytes()), seed};
  run_placed(
      kernel(), launch.threads, launch.shared_bytes,
      [&] { emulation::launch(launch, body, &call); }, call.out,
      call.out_stride, call.x, call.x_stride, call.panels, call.bias,
      call.bias_up, call.residual, call.residual_stride, call.rows, call.k,
      call.columns, call.activation, call.gated);
}

const std::vector<MatrixBlocksBody> &test::matrix_blocks_bodies() {
  static const std::vector<MatrixBlocksBody> all = {
#define BATON_BODY_OF(NAME, BLOCK)                                             \
  body_of<1u << blocks::NAME, 64, 32, 64, 80>(),
      BATON_FOR_EACH_BLOCK(BATON_BODY_OF)
#undef BATON_BODY_OF
#define BATON_INTEGER_BODY_OF(NAME, BLOCK)                                     \
  integer_body_of<1u << blocks::NAME, 64, 32, 64>(),
          BATON_FOR_EACH_INTEGER_BLOCK(BATON_INTEGER_BODY_OF)
#undef BATON_INTEGER_BODY_OF
              body_of<1u << blocks::q4_0, 32, 32, 32, 80>(),
      body_of<some_formats, 128, 64, 64, 80>(),
      body_of<1u << blocks::q8_0, 128, 64, 64, 90>(),
      body_of<1u << blocks::q6_k, 128, 128, 128, 90>(),
      body_of<some_formats, 128, 64, 64, 90>(),
      // Of numbers as they are, in chunks of one stage and of two.
      body_of<1u << blocks::q8_0 | 1u << blocks::f16, 64, 32, 64, 80>(),
      body_of<1u << blocks::q4_0 | 1u << blocks::f32, 64, 32, 64, 80>(),
      body_of<1u << blocks::int4_g128 | 1u << blocks::bf16, 64, 32, 64, 80>(),
      body_of<1u << blocks::q4_k | 1u << blocks::f16, 128, 64, 64, 80>(),
      body_of<some_formats | plain_formats, 128, 64, 64, 80>(),
      body_of<1u << blocks::q8_0 | plain_formats, 128, 64, 64, 90>(),
      body_of<1u << blocks::q4_k | 1u << blocks::bf16, 128, 64, 64, 90>(),
      body_of<1u << blocks::q4_k, 256, 128, 128, 80>(),
      body_of<1u << blocks::q4_k, 256, 128, 128, 90>(),
      integer_body_of<some_formats, 128, 64, 64>(),
      integer_body_of<1u << blocks::q6_k, 32, 32, 32>(),
      integer_body_of<1u << blocks::q4_k, 256, 128, 128>(),
      // Of few rows.
      body_of<1u << blocks::q8_0, 128, 16, 32, 80>(),
      body_of<1u << blocks::q4_k, 256, 16, 32, 80>(),
      body_of<some_formats | plain_formats, 128, 16, 32, 80>(),
      integer_body_of<1u << blocks::q8_0, 128, 16, 32>(),
      integer_body_of<1u << blocks::q4_k, 256, 16, 32>(),
      integer_body_of<some_formats, 128, 16, 32>()};
  return all;
}
