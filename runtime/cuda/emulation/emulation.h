//===- emulation.h - CUDA's names on the host -----------------------------===//
//
// What device.h promises, and the part of CUDA C++ that bodies and kernels use,
// for clang as C++17 or later, and engine.h.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CUDA_EMULATION_EMULATION_H
#define BATON_RUNTIME_CUDA_EMULATION_EMULATION_H

#include "runtime/cuda/emulation/engine.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

// Specifiers and built-in variables -------------------------------------------

#define __host__
#define __device__
#define __global__
#define __constant__
/// A hint: forced, kernels take three times as long to compile.
#define __forceinline__ inline
/// Nothing, because standard headers have it inside of __attribute__((...)).
#define __noinline__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
/// A block is a thread. The section's name is a C identifier, so that the
/// linker says where it begins and ends.
#define __shared__ __attribute__((section("baton_shared"))) static thread_local

#define threadIdx (::baton::emulation::current->thread)
#define blockIdx (::baton::emulation::current->block)
#define blockDim (::baton::emulation::current->threads)
#define gridDim (::baton::emulation::current->blocks)

extern "C" __attribute__((
    weak, visibility("hidden"))) unsigned char __start_baton_shared[];
extern "C" __attribute__((
    weak, visibility("hidden"))) unsigned char __stop_baton_shared[];
__attribute__((constructor)) static void baton_poison_static_shared() {
  ::baton::emulation::poison_initial_values(__start_baton_shared,
                                            __stop_baton_shared);
}

#define BATON_DEVICE static __device__ __forceinline__
#define BATON_CALLED static __device__ __noinline__
#define BATON_DYNAMIC_SHARED(name)                                             \
  unsigned char *const name = ::baton::emulation::current->shared

// Barriers --------------------------------------------------------------------

using BatonOperation = ::baton::emulation::Operation;

BATON_DEVICE uint64_t baton_meet(BatonOperation operation, uint32_t mask,
                                 uint64_t value, unsigned source = 0) {
  return ::baton::emulation::meet({operation, mask, value, source});
}

BATON_DEVICE void __syncthreads() {
  baton_meet(BatonOperation::syncthreads, 0, 0);
}
BATON_DEVICE int __syncthreads_count(int predicate) {
  return static_cast<int>(
      baton_meet(BatonOperation::syncthreads_count, 0, predicate != 0));
}
BATON_DEVICE int __syncthreads_and(int predicate) {
  return baton_meet(BatonOperation::syncthreads_and, 0, predicate == 0) == 0;
}
BATON_DEVICE int __syncthreads_or(int predicate) {
  return baton_meet(BatonOperation::syncthreads_or, 0, predicate != 0) != 0;
}
BATON_DEVICE void __syncwarp(unsigned mask = 0xffffffffu) {
  baton_meet(BatonOperation::syncwarp, mask, 0);
}

// Votes and shuffles ----------------------------------------------------------

BATON_DEVICE unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(
      baton_meet(BatonOperation::ballot, mask, predicate != 0));
}
BATON_DEVICE int __any_sync(unsigned mask, int predicate) {
  return baton_meet(BatonOperation::any, mask, predicate != 0) != 0;
}
BATON_DEVICE int __all_sync(unsigned mask, int predicate) {
  return baton_meet(BatonOperation::all, mask, predicate == 0) == 0;
}

template <typename T>
BATON_DEVICE T baton_shuffle(BatonOperation operation, unsigned mask, T value,
                             unsigned source) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "at most 64 bits");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(T));
  bits = baton_meet(operation, mask, bits, source);
  memcpy(&value, &bits, sizeof(T));
  return value;
}

BATON_DEVICE unsigned baton_lane() { return threadIdx.x % 32; }

// A source outside of the lane's segment of `width` lanes leaves the value as
// it is.
template <typename T>
BATON_DEVICE T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  unsigned segment = baton_lane() & ~(width - 1u);
  return baton_shuffle(BatonOperation::shfl, mask, value,
                       segment | (source & (width - 1u)));
}
template <typename T>
BATON_DEVICE T __shfl_up_sync(unsigned mask, T value, unsigned delta,
                              int width = 32) {
  bool inside = (baton_lane() & (width - 1u)) >= delta;
  return baton_shuffle(BatonOperation::shfl_up, mask, value,
                       inside ? baton_lane() - delta : baton_lane());
}
template <typename T>
BATON_DEVICE T __shfl_down_sync(unsigned mask, T value, unsigned delta,
                                int width = 32) {
  bool inside = delta < width - (baton_lane() & (width - 1u));
  return baton_shuffle(BatonOperation::shfl_down, mask, value,
                       inside ? baton_lane() + delta : baton_lane());
}
template <typename T>
BATON_DEVICE T __shfl_xor_sync(unsigned mask, T value, int flipped,
                               int width = 32) {
  unsigned source = baton_lane() ^ flipped;
  bool inside = source <= (baton_lane() | (width - 1u));
  return baton_shuffle(BatonOperation::shfl_xor, mask, value,
                       inside ? source : baton_lane());
}

// Atomics and intrinsics ------------------------------------------------------

/// Relaxed, as CUDA's are.
BATON_DEVICE unsigned atomicAdd(unsigned *word, unsigned value) {
  ::baton::emulation::interleave();
  return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}
BATON_DEVICE unsigned atomicCAS(unsigned *word, unsigned expected,
                                unsigned desired) {
  ::baton::emulation::interleave();
  // Who fails may try until the holder of a lock has run.
  if (!__atomic_compare_exchange_n(word, &expected, desired, false,
                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ::baton::emulation::yield();
  return expected;
}

/// The lowest set bit, from 1 on; 0 for none.
BATON_DEVICE int __ffs(int value) { return __builtin_ffs(value); }

BATON_DEVICE unsigned __float_as_uint(float value) {
  return __builtin_bit_cast(unsigned, value);
}
BATON_DEVICE float __uint_as_float(unsigned bits) {
  return __builtin_bit_cast(float, bits);
}
BATON_DEVICE int __float_as_int(float value) {
  return __builtin_bit_cast(int, value);
}
BATON_DEVICE float __int_as_float(int bits) {
  return __builtin_bit_cast(float, bits);
}

BATON_DEVICE long long __double_as_longlong(double value) {
  return __builtin_bit_cast(long long, value);
}
BATON_DEVICE double __longlong_as_double(long long bits) {
  return __builtin_bit_cast(double, bits);
}

BATON_DEVICE void __nanosleep(unsigned) { ::baton::emulation::yield(); }

// The primitives of device.h --------------------------------------------------

BATON_DEVICE uint32_t baton_load_acquire(const uint32_t *word) {
  ::baton::emulation::poll(word);
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

BATON_DEVICE uint32_t baton_load_relaxed(const uint32_t *word) {
  ::baton::emulation::poll(word);
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}

BATON_DEVICE void baton_store_relaxed(uint32_t *word, uint32_t value) {
  ::baton::emulation::interleave();
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

BATON_DEVICE void baton_add_release(uint32_t *word, uint32_t value) {
  ::baton::emulation::interleave();
  __atomic_fetch_add(word, value, __ATOMIC_RELEASE);
}

// Threads of the host have one scope, which is the system's.

BATON_DEVICE void baton_add_release_system(uint32_t *word, uint32_t value) {
  baton_add_release(word, value);
}

BATON_DEVICE bool baton_claim(uint32_t *word, uint32_t value) {
  return atomicCAS(word, 0u, value) == 0u;
}

BATON_DEVICE uint32_t baton_load_acquire_system(const uint32_t *word) {
  ::baton::emulation::yield();
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

BATON_DEVICE void baton_store_release_system(uint32_t *word, uint32_t value) {
  ::baton::emulation::interleave();
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

BATON_DEVICE uint32_t baton_thread() { return threadIdx.x; }
BATON_DEVICE uint32_t baton_threads() { return blockDim.x; }
BATON_DEVICE int64_t baton_again(int64_t value) { return value; }
BATON_DEVICE void baton_keep_in_memory(void *) {}
BATON_DEVICE uint64_t baton_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}

BATON_DEVICE void baton_pause(uint32_t nanoseconds) {
  __nanosleep(nanoseconds);
}

BATON_DEVICE void baton_start_kernel_behind() {
  ::baton::emulation::start_kernel_behind();
}
BATON_DEVICE void baton_wait_for_kernel_before() {
  ::baton::emulation::wait_for_kernel_before();
}

/// The host's caches prefetch by themselves.
BATON_DEVICE void baton_prefetch(const void *, int64_t) {}
BATON_DEVICE void baton_touch(const float *, int64_t) {}

BATON_DEVICE float baton_half_to_float(uint16_t bits) {
  return static_cast<float>(__builtin_bit_cast(_Float16, bits));
}

BATON_DEVICE int32_t baton_dot_bytes(int32_t sum, uint32_t a, uint32_t b) {
  for (int bit = 0; bit < 32; bit += 8)
    sum += static_cast<int8_t>(a >> bit) * static_cast<int8_t>(b >> bit);
  return sum;
}

BATON_DEVICE float baton_exp2(float x) { return ::exp2f(x); }

#endif // BATON_RUNTIME_CUDA_EMULATION_EMULATION_H
