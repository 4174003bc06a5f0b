//===- Bodies.cpp - the CUDA task library, emulated -----------------------===//

#include "test/codegen/cuda/library/Bodies.h"

#include <stdexcept>

// Behind the standard headers, whose attributes it redefines.
#include "codegen/cuda/library/body.h"
#include "codegen/cuda/library/library.h"
#include "codegen/cuda/library/sampling.h"
#include "codegen/cuda/library/training.h"
// What the library has to have: a function with other parameters is another
// one.
#include "codegen/bodies/CudaLibrary.h"

using namespace baton;
using namespace baton::test;

const std::vector<EmulatedBody> &test::emulated_bodies() {
#define BATON_BODY(name)                                                       \
  {#name, reinterpret_cast<void (*)()>(name), &typeid(decltype(name))},
  static const std::vector<EmulatedBody> bodies = {
#include "codegen/bodies/Functions.inc"
  };
  return bodies;
}

StagedProduct *test::staged_product(unsigned threads) {
  switch (threads) {
  case 32:
    return baton_staged_product<32>;
  case 64:
    return baton_staged_product<64>;
  case 128:
    return baton_staged_product<128>;
  default:
    return baton_staged_product<256>;
  }
}
StagedGradient *test::staged_gradient(unsigned threads) {
  switch (threads) {
  case 32:
    return baton_staged_product_gradient<32>;
  case 64:
    return baton_staged_product_gradient<64>;
  case 128:
    return baton_staged_product_gradient<128>;
  default:
    return baton_staged_product_gradient<256>;
  }
}

int64_t test::emulated_attention_scratch_bytes(int64_t rows, int64_t group,
                                               int64_t head_dim,
                                               int64_t value_dim) {
  return baton_attention_scratch_bytes(rows, group, head_dim, value_dim);
}
int64_t test::emulated_attention_partial_width(int64_t value_dim) {
  return baton_attention_partial_width(value_dim);
}
int32_t test::emulated_sample(ThreadBlock block,
                              const std::vector<float> &logits,
                              const BatonGeneration &wanted,
                              uint64_t position) {
  std::vector<int32_t> tokens(block.threads);
  run_emulated(block,
               +[](const float *logits, int64_t vocabulary,
                   const BatonGeneration *wanted, uint64_t position,
                   int32_t *tokens) {
                 tokens[threadIdx.x] =
                     baton_sample(logits, vocabulary, *wanted, position);
               },
               {logits.data(), static_cast<int64_t>(logits.size()), &wanted,
                position, tokens.data()});
  for (int32_t token : tokens)
    if (token != tokens.front())
      throw std::logic_error("threads have chosen different tokens");
  return tokens.front();
}
float test::emulated_exp(float x) { return cuda::exp(x); }
float test::emulated_tanh(float x) { return cuda::tanh(x); }
float test::emulated_erf(float x) { return cuda::erf(x); }
float test::emulated_maximum(float a, float b) { return cuda::maximum(a, b); }
float test::emulated_minimum(float a, float b) { return cuda::minimum(a, b); }
uint16_t test::emulated_half(float x) { return cuda::to_half(x); }
uint16_t test::emulated_bfloat(float x) { return cuda::to_bfloat(x); }
