//===- device.h - what CUDA bodies and kernels are written in -------------===//
//
// The few device primitives that generated kernels and the task library use,
// spelled in PTX for NVRTC and taken from runtime/cuda/emulation when the same
// source is compiled for the host (BATON_EMULATION). Besides async.h, which has
// the asynchronous copies, no file of the library contains PTX or asks which of
// the two it is.
//
// Memory order follows PTX's model: a notification is a release, a wait polls
// with acquires, both at the scope that the plan gives the event (GPU scope for
// `device`), and a barrier of the block hands what one thread has acquired to
// the others. A fence behind relaxed polls would do as well, but it also waits
// for what the thread has written.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_DEVICE_H
#define BATON_CODEGEN_CUDA_LIBRARY_DEVICE_H

#ifdef BATON_EMULATION

#include "runtime/cuda/emulation/emulation.h"

#else

// NVRTC has no standard headers.
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
static_assert(sizeof(int64_t) == 8 && sizeof(uint64_t) == 8, "LP64");

#define BATON_DEVICE static __device__ __forceinline__
/// Called, instead of being inlined: bodies that take most registers do not
/// share them with everything around their call, and long ones that are called
/// from several places are in the kernel once.
#define BATON_CALLED static __device__ __noinline__

/// Declares `name`, the block's dynamic shared memory, aligned as warpgroups
/// want it.
#define BATON_DYNAMIC_SHARED(name)                                             \
  extern __shared__ __align__(1024) unsigned char name[]

/// Acquire, at GPU scope.
BATON_DEVICE uint32_t baton_load_acquire(const uint32_t *word) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(word)
               : "memory");
  return value;
}

/// Relaxed, at GPU scope.
BATON_DEVICE uint32_t baton_load_relaxed(const uint32_t *word) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(word)
               : "memory");
  return value;
}

BATON_DEVICE void baton_store_relaxed(uint32_t *word, uint32_t value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value)
               : "memory");
}

/// Release, at GPU scope.
BATON_DEVICE void baton_add_release(uint32_t *word, uint32_t value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(word),
               "r"(value)
               : "memory");
}

// The same at system scope.

BATON_DEVICE void baton_add_release_system(uint32_t *word, uint32_t value) {
  asm volatile("red.release.sys.global.add.u32 [%0], %1;" ::"l"(word),
               "r"(value)
               : "memory");
}

/// True for the one caller that changes *word from 0 to `value`.
BATON_DEVICE bool baton_claim(uint32_t *word, uint32_t value) {
  return atomicCAS(word, 0u, value) == 0u;
}

/// Of words that the host writes, at system scope.
BATON_DEVICE uint32_t baton_load_acquire_system(const uint32_t *word) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(word)
               : "memory");
  return value;
}

/// Of words that the host reads, at system scope.
BATON_DEVICE void baton_store_release_system(uint32_t *word, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value)
               : "memory");
}

/// A clock that all blocks share.
BATON_DEVICE uint64_t baton_nanoseconds() {
  uint64_t value;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(value)::"memory");
  return value;
}

// Values asked again. What follows from them is computed where it is needed,
// instead of being held in registers by all phases that use the same body.

/// threadIdx.x and blockDim.x.
BATON_DEVICE uint32_t baton_thread() {
  uint32_t thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}
BATON_DEVICE uint32_t baton_threads() {
  uint32_t threads;
  asm volatile("mov.u32 %0, %%ntid.x;" : "=r"(threads));
  return threads;
}
BATON_DEVICE int64_t baton_again(int64_t value) {
  asm volatile("" : "+l"(value));
  return value;
}

/// What `object` points to is in memory, and read from there again wherever
/// other memory may have changed.
BATON_DEVICE void baton_keep_in_memory(void *object) {
  asm volatile("" ::"l"(object) : "memory");
}

/// Leaves the cores to others for about so long.
BATON_DEVICE void baton_pause(uint32_t nanoseconds) {
  __nanosleep(nanoseconds);
}

/// Starts loading `bytes` from `address` on into the second-level cache; called
/// by all threads of the block.
BATON_DEVICE void baton_prefetch(const void *address, int64_t bytes) {
  for (int64_t at = baton_thread() * 128; at < bytes;
       at += baton_threads() * 128)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(
        static_cast<const char *>(address) + at));
}

/// Brings `count` numbers from `first` on into the first-level cache, in about
/// the time of one load from the second; called by all threads of the block.
/// The loads behind it find them there, or on their way.
BATON_DEVICE void baton_touch(const float *first, int64_t count) {
  constexpr int64_t sector = 32 / sizeof(float);
  for (int64_t i = baton_thread() * sector; i < count;
       i += baton_threads() * sector)
    asm volatile("{\n"
                 "  .reg .f32 value;\n"
                 "  ld.f32 value, [%0];\n"
                 "}" ::"l"(first + i));
}

// Of kernels that follow one another in a graph, from compute capability 9.0
// on.

/// Lets the next kernel start, once all blocks have; it waits before it reads
/// what this one writes.
BATON_DEVICE void baton_start_kernel_behind() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// Returns when the kernel before has ended, and what it wrote is visible.
BATON_DEVICE void baton_wait_for_kernel_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

BATON_DEVICE float baton_half_to_float(uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

/// sum + the products of the words' four bytes, which have signs.
BATON_DEVICE int32_t baton_dot_bytes(int32_t sum, uint32_t a, uint32_t b) {
  int32_t value;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(value) : "r"(a), "r"(b), "r"(sum));
  return value;
}

/// 2^x by one instruction, to two units in the last place; 0 for -infinity, NaN
/// for NaN. What is below 2^-126 may be 0. For bodies that do not promise the
/// CPU's bits.
BATON_DEVICE float baton_exp2(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

#endif // BATON_EMULATION

/// Ten times the compute capability whose instructions may be used. Those
/// of 9.0 that later ones do not have (sm_90a) only where it is said.
#ifndef BATON_ARCHITECTURE
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define BATON_ARCHITECTURE 90
#else
#define BATON_ARCHITECTURE 80
#endif
#endif

#endif // BATON_CODEGEN_CUDA_LIBRARY_DEVICE_H
