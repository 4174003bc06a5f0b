//===- Bodies.h - the CUDA task library, emulated -------------------------===//
//
// The bodies by name, and how one block runs one. The library's headers and the
// CPU's declare the same names differently; only Bodies.cpp sees the former.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_BODIES_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_BODIES_H

#include "runtime/cuda/emulation/engine.h"
#include "runtime/device_program.h"
#include "test/codegen/cuda/library/Relocation.h"

#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <tuple>
#include <typeinfo>
#include <vector>

namespace baton::test {

struct EmulatedBody {
  /// As in the CPU's library.h, training.h and ranks.h, all of whose bodies are
  /// listed.
  const char *name;
  /// Null if codegen/cuda/library has no such body.
  void (*body)();
  const std::type_info *type;
};

/// For GoogleTest.
void PrintTo(const EmulatedBody &body, std::ostream *os);

const std::vector<EmulatedBody> &emulated_bodies();

/// The body `name`; null if there is none, or if its parameters are others than
/// Function's.
template <typename Function> Function *emulated_body(std::string_view name) {
  for (const EmulatedBody &candidate : emulated_bodies())
    if (candidate.name == name && candidate.body &&
        *candidate.type == typeid(Function))
      return reinterpret_cast<Function *>(candidate.body);
  return nullptr;
}

/// Of one of them.
inline const char *body_name(void (*body)()) {
  for (const EmulatedBody &candidate : emulated_bodies())
    if (candidate.body == body)
      return candidate.name;
  return "a body without a name";
}

/// Of threads, taking turns as the emulation's seed says.
struct ThreadBlock {
  unsigned threads;
  uint64_t seed;
};

/// Calls `body`, one of emulated_bodies(), in all threads of one block, where
/// Relocation.h says.
template <typename... Parameters>
void run_emulated(ThreadBlock block, void (*body)(Parameters...),
                  std::tuple<Parameters...> arguments) {
  auto call = [&] { std::apply(body, arguments); };
  std::apply(
      [&](Parameters &...each) {
        run_placed(
            body_name(reinterpret_cast<void (*)()>(body)), block.threads, 0,
            [&] {
              emulation::launch(
                  {1, block.threads, 0, block.seed},
                  [](void *call_address) {
                    (*static_cast<decltype(call) *>(call_address))();
                  },
                  &call);
            },
            each...);
      },
      arguments);
}

/// A body of product.h for as many threads, a power of 2 from 32 to 256; the
/// other parameters are those of the portable body.
using StagedProduct = void(unsigned char *, float *, int64_t, const float *,
                           int64_t, int64_t, const float *, int64_t, int64_t,
                           const float *, const float *, int64_t, int64_t,
                           int64_t, int64_t, float *);
using StagedGradient = void(unsigned char *, float *, int64_t, const float *,
                            int64_t, int64_t, const float *, int64_t, int64_t,
                            const float *, int64_t, int64_t, int64_t,
                            const int32_t *, float *);
StagedProduct *staged_product(unsigned threads);
StagedGradient *staged_gradient(unsigned threads);

// Helpers of the library that tests hold against the CPU's.
int64_t emulated_attention_scratch_bytes(int64_t rows, int64_t group,
                                         int64_t head_dim, int64_t value_dim);
int64_t emulated_attention_partial_width(int64_t value_dim);
/// baton_sample, which all threads agree on; throws std::logic_error otherwise.
int32_t emulated_sample(ThreadBlock block, const std::vector<float> &logits,
                        const BatonGeneration &wanted, uint64_t position);
float emulated_exp(float x);
float emulated_tanh(float x);
float emulated_erf(float x);
float emulated_maximum(float a, float b);
float emulated_minimum(float a, float b);
uint16_t emulated_half(float x);
uint16_t emulated_bfloat(float x);

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_BODIES_H
