//===- async.h - copies that overlap with arithmetic, and tensor cores ----===//
//
// PTX's asynchronous copies, barriers in shared memory and matrix operations,
// and what the emulation makes of them. cp.async, ldmatrix and mma need sm_80,
// bulk copies and their barriers sm_90, wgmma sm_90a. `shared` is always in
// shared memory, `global` in global memory.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ASYNC_H
#define BATON_CODEGEN_CUDA_LIBRARY_ASYNC_H

#include "codegen/cuda/library/device.h"

#ifdef BATON_EMULATION

#include "runtime/cuda/emulation/async.h"
#include "runtime/cuda/emulation/warpgroup.h"

BATON_DEVICE uint32_t baton_shared_address(const void *shared) {
  return baton::emulation::shared_address(shared);
}

BATON_DEVICE void baton_copy_async(void *shared, const void *global) {
  baton::emulation::copy_later(shared, global);
}
BATON_DEVICE void baton_copies_commit() { baton::emulation::commit_copies(); }
template <int Groups> BATON_DEVICE void baton_copies_wait() {
  baton::emulation::wait_for_copies(Groups);
}

BATON_DEVICE void baton_barrier_init(uint64_t *barrier, uint32_t arrivals) {
  *barrier = baton::emulation::make_barrier(barrier, arrivals);
}
BATON_DEVICE void baton_barrier_init_fence() {}
BATON_DEVICE void baton_barrier_invalidate(uint64_t *barrier) {
  *barrier = ~uint64_t{0};
}
BATON_DEVICE void baton_barrier_arrive(uint64_t *barrier) {
  baton::emulation::arrive(barrier, *barrier, 0);
}
BATON_DEVICE void baton_barrier_arrive_expect(uint64_t *barrier,
                                              uint32_t bytes) {
  baton::emulation::arrive(barrier, *barrier, bytes);
}
BATON_DEVICE bool baton_barrier_test(uint64_t *barrier, uint32_t parity) {
  return baton::emulation::phase_has_ended(barrier, *barrier, parity);
}
BATON_DEVICE void baton_barrier_wait(uint64_t *barrier, uint32_t parity) {
  while (!baton_barrier_test(barrier, parity)) {
  }
}
BATON_DEVICE void baton_bulk_copy(void *shared, const void *global,
                                  uint32_t bytes, uint64_t *barrier) {
  baton::emulation::bulk_copy(shared, global, bytes, barrier, *barrier);
}
BATON_DEVICE void baton_proxy_fence() { baton::emulation::proxy_fence(); }
BATON_DEVICE void baton_shared_proxy_fence() {
  baton::emulation::proxy_fence_for_multiplications();
}

BATON_DEVICE void baton_load_matrices(uint32_t (&matrices)[4],
                                      const void *row) {
  baton::emulation::share_address(row);
  const unsigned lane = threadIdx.x % 32;
  for (unsigned i = 0; i < 4; ++i)
    matrices[i] = static_cast<const uint32_t *>(
        baton::emulation::address_of_lane(i * 8 + lane / 4))[lane % 4];
}
BATON_DEVICE void baton_load_matrices_transposed(uint32_t (&matrices)[4],
                                                 const void *row) {
  baton::emulation::share_address(row);
  const unsigned lane = threadIdx.x % 32;
  for (unsigned i = 0; i < 4; ++i) {
    auto element = [&](unsigned row) -> uint32_t {
      return static_cast<const uint16_t *>(
          baton::emulation::address_of_lane(i * 8 + row))[lane / 4];
    };
    matrices[i] = element(lane % 4 * 2) | element(lane % 4 * 2 + 1) << 16;
  }
}
BATON_DEVICE void baton_multiply_bf16(float (&sum)[4], const uint32_t (&a)[4],
                                      const uint32_t (&b)[2]) {
  baton::emulation::multiply(sum, a, b, baton::emulation::Numbers::bf16);
}
BATON_DEVICE void baton_multiply_f16(float (&sum)[4], const uint32_t (&a)[4],
                                     const uint32_t (&b)[2]) {
  baton::emulation::multiply(sum, a, b, baton::emulation::Numbers::f16);
}
BATON_DEVICE void baton_multiply_bytes(int32_t (&sum)[4],
                                       const uint32_t (&a)[4],
                                       const uint32_t (&b)[2]) {
  baton::emulation::multiply_bytes(sum, a, b, 2);
}
BATON_DEVICE void baton_multiply_bytes(int32_t (&sum)[4],
                                       const uint32_t (&a)[2],
                                       const uint32_t (&b)[1]) {
  baton::emulation::multiply_bytes(sum, a, b, 1);
}
BATON_DEVICE uint32_t baton_bf16_pair(float lower, float upper) {
  auto round = [](float value) -> uint32_t {
    const uint32_t bits = __float_as_uint(value);
    // What is behind the point overflows into what is before it, as it should.
    return value != value ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  };
  return round(lower) | round(upper) << 16;
}
BATON_DEVICE uint32_t baton_f16_pair(float lower, float upper) {
  auto round = [](float value) -> uint32_t {
    return value != value
               ? 0x7fff
               : __builtin_bit_cast(uint16_t, static_cast<_Float16>(value));
  };
  return round(lower) | round(upper) << 16;
}

BATON_DEVICE void baton_warpgroup_fence() {
  baton::emulation::fence_multiplications();
}
template <int Count>
BATON_DEVICE void baton_warpgroup_multiply_bf16(float (&sum)[Count],
                                                const uint32_t (&a)[4],
                                                uint64_t b) {
  baton::emulation::multiply_later(sum, Count * 2, a, b);
}
template <int Count>
BATON_DEVICE void baton_warpgroup_multiply_bf16(float (&sum)[Count], uint64_t a,
                                                uint64_t b) {
  baton::emulation::multiply_later(sum, Count * 2, a, b,
                                   baton::emulation::Numbers::bf16);
}
template <int Count>
BATON_DEVICE void baton_warpgroup_multiply_f16(float (&sum)[Count], uint64_t a,
                                               uint64_t b) {
  baton::emulation::multiply_later(sum, Count * 2, a, b,
                                   baton::emulation::Numbers::f16);
}
BATON_DEVICE void baton_warpgroup_commit() {
  baton::emulation::commit_multiplications();
}
template <int Groups> BATON_DEVICE void baton_warpgroup_wait() {
  baton::emulation::wait_for_multiplications(Groups);
}
template <typename T, int Count>
BATON_DEVICE void baton_warpgroup_hold(T (&)[Count]) {}

#else

/// In the window of shared memory.
BATON_DEVICE uint32_t baton_shared_address(const void *shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

/// Starts to copy 16 bytes; both addresses are aligned to 16.
BATON_DEVICE void baton_copy_async(void *shared, const void *global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   baton_shared_address(shared)),
               "l"(global)
               : "memory");
}
/// Makes a group of the copies that this thread has started since the last.
BATON_DEVICE void baton_copies_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Returns when all but the latest `Groups` groups of this thread are complete,
/// for this thread to see. Others see them behind a barrier.
template <int Groups> BATON_DEVICE void baton_copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

/// For phases of so many arrivals. One thread does it, then the init fence; the
/// others may use the barrier behind __syncthreads.
BATON_DEVICE void baton_barrier_init(uint64_t *barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(
                   baton_shared_address(barrier)),
               "r"(arrivals)
               : "memory");
}
/// Lets bulk copies see barriers that this thread has initialized.
BATON_DEVICE void baton_barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// Its memory may be used for other things, or initialized anew. Nobody uses
/// the barrier any more.
BATON_DEVICE void baton_barrier_invalidate(uint64_t *barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(
                   baton_shared_address(barrier))
               : "memory");
}
/// Release.
BATON_DEVICE void baton_barrier_arrive(uint64_t *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(
                   baton_shared_address(barrier))
               : "memory");
}
/// Release; the phase also ends only when bulk copies have brought `bytes`.
BATON_DEVICE void baton_barrier_arrive_expect(uint64_t *barrier,
                                              uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   baton_shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
/// Whether the phase of this parity has ended, after waiting a little; then an
/// acquire. The first phase has parity 0.
BATON_DEVICE bool baton_barrier_test(uint64_t *barrier, uint32_t parity) {
  uint32_t ended;
  asm volatile("{\n"
               ".reg .pred ended;\n"
               "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
               "selp.u32 %0, 1, 0, ended;\n"
               "}"
               : "=r"(ended)
               : "r"(baton_shared_address(barrier)), "r"(parity)
               : "memory");
  return ended != 0;
}
/// Starts to copy; addresses and bytes are multiples of 16. The barrier's
/// current phase expects the bytes.
BATON_DEVICE void baton_bulk_copy(void *shared, const void *global,
                                  uint32_t bytes, uint64_t *barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
      "bytes [%0], [%1], %2, [%3];" ::"r"(baton_shared_address(shared)),
      "l"(global), "r"(bytes), "r"(baton_shared_address(barrier))
      : "memory");
}
/// Lets bulk copies that this thread starts from now on, and multiplications by
/// warpgroups, read what ordinary stores have written that it has acquired;
/// those of other threads too, if they acquire from this one.
BATON_DEVICE void baton_proxy_fence() {
  asm volatile("fence.proxy.async;" ::: "memory");
}
/// The same of shared memory only, which costs far less: the other waits as
/// fences at GPU scope do.
BATON_DEVICE void baton_shared_proxy_fence() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Four 8 x 8 matrices of 16 bits by a warp: lane i brings the address of row
/// i % 8 of matrix i / 8, 16 bytes aligned to 16, and gets the elements 2 (i %
/// 4) and its neighbour of row i / 4 of each matrix.
BATON_DEVICE void baton_load_matrices(uint32_t (&matrices)[4],
                                      const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, "
               "[%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]),
                 "=r"(matrices[3])
               : "r"(baton_shared_address(row))
               : "memory");
}
/// The same of the transposed matrices.
BATON_DEVICE void baton_load_matrices_transposed(uint32_t (&matrices)[4],
                                                 const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, "
               "%3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]),
                 "=r"(matrices[3])
               : "r"(baton_shared_address(row))
               : "memory");
}
/// sum += a b by a warp, for [16, 8], [16, 16] and [16, 8] in PTX's
/// distribution over lanes of mma.m16n8k16.
BATON_DEVICE void baton_multiply_bf16(float (&sum)[4], const uint32_t (&a)[4],
                                      const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                 "r"(b[1]));
}
BATON_DEVICE void baton_multiply_f16(float (&sum)[4], const uint32_t (&a)[4],
                                     const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                 "r"(b[1]));
}
/// The same of whole numbers of 8 bits with a sign, exactly: [16, 32] and [32,
/// 8] as mma.m16n8k32 has them, or [16, 16] and [16, 8] as mma.m16n8k16.
BATON_DEVICE void baton_multiply_bytes(int32_t (&sum)[4],
                                       const uint32_t (&a)[4],
                                       const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                 "r"(b[1]));
}
BATON_DEVICE void baton_multiply_bytes(int32_t (&sum)[4],
                                       const uint32_t (&a)[2],
                                       const uint32_t (&b)[1]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
               "{%0, %1, %2, %3}, {%4, %5}, {%6}, "
               "{%0, %1, %2, %3};"
               : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
/// Two numbers rounded to BF16, to nearest even; NaN becomes 0x7fff.
BATON_DEVICE uint32_t baton_bf16_pair(float lower, float upper) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(upper), "f"(lower));
  return pair;
}
/// The same to F16, infinity beyond 65504.
BATON_DEVICE uint32_t baton_f16_pair(float lower, float upper) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(upper), "f"(lower));
  return pair;
}

// Multiplications by warpgroups. They are asynchronous, also in the registers
// that they are given: between issue and the wait for their group these must
// not be touched, but by further multiplications that add to the same sums.

/// Comes between other uses of the registers and the next multiplication.
BATON_DEVICE void baton_warpgroup_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/// Makes a group of the multiplications since the last.
BATON_DEVICE void baton_warpgroup_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Returns when all but the latest `Groups` groups are complete.
template <int Groups> BATON_DEVICE void baton_warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
}
/// Keeps what the compiler does with the registers before or behind this, where
/// it would be free to move arithmetic across a fence or a wait.
template <int Count>
BATON_DEVICE void baton_warpgroup_hold(float (&registers)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i)
    asm volatile("" : "+f"(registers[i])::"memory");
}
template <int Count>
BATON_DEVICE void baton_warpgroup_hold(uint32_t (&registers)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i)
    asm volatile("" : "+r"(registers[i])::"memory");
}

#define BATON_EIGHT(sum, i)                                                    \
  "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]),          \
      "+f"(sum[i + 4]), "+f"(sum[i + 5]), "+f"(sum[i + 6]), "+f"(sum[i + 7])

/// sum += a b by a warpgroup, for [64, N], [64, 16] and [16, N]: a warp has
/// sixteen rows of a and sum, its lanes have them as in mma.m16n8k16, of sum
/// one [16, 8] after the other. b, K-major, is what a descriptor says that all
/// threads of the warpgroup bring.
BATON_DEVICE void baton_warpgroup_multiply_bf16(float (&sum)[32],
                                                const uint32_t (&a)[4],
                                                uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
               "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, "
               "%25, %26, %27, %28, %29, %30, %31},  "
               "{%32, %33, %34, %35}, %36, 1, 1, 1, 0;"
               : BATON_EIGHT(sum, 0), BATON_EIGHT(sum, 8), BATON_EIGHT(sum, 16),
                 BATON_EIGHT(sum, 24)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
BATON_DEVICE void baton_warpgroup_multiply_bf16(float (&sum)[64],
                                                const uint32_t (&a)[4],
                                                uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
               "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, "
               "%25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, "
               "%37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, "
               "%49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, "
               "%61, %62, %63},  "
               "{%64, %65, %66, %67}, %68, 1, 1, 1, 0;"
               : BATON_EIGHT(sum, 0), BATON_EIGHT(sum, 8), BATON_EIGHT(sum, 16),
                 BATON_EIGHT(sum, 24), BATON_EIGHT(sum, 32),
                 BATON_EIGHT(sum, 40), BATON_EIGHT(sum, 48),
                 BATON_EIGHT(sum, 56)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#define BATON_SIXTY_FOUR(sum, i)                                               \
  BATON_EIGHT(sum, i), BATON_EIGHT(sum, i + 8), BATON_EIGHT(sum, i + 16),      \
      BATON_EIGHT(sum, i + 24), BATON_EIGHT(sum, i + 32),                      \
      BATON_EIGHT(sum, i + 40), BATON_EIGHT(sum, i + 48),                      \
      BATON_EIGHT(sum, i + 56)

/// The same of [64, 16] that a descriptor says, too, K-major: both matrices are
/// in shared memory. N is 64, 128 or 256.
#define BATON_MULTIPLY_SHARED(numbers)                                         \
  BATON_DEVICE void baton_warpgroup_multiply_##numbers(                        \
      float(&sum)[32], uint64_t a, uint64_t b) {                               \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." #numbers        \
                 "." #numbers " "                                              \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "    \
                 "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "     \
                 "%24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, "      \
                 "1, 1, 0, 0;"                                                 \
                 : BATON_EIGHT(sum, 0), BATON_EIGHT(sum, 8),                   \
                   BATON_EIGHT(sum, 16), BATON_EIGHT(sum, 24)                  \
                 : "l"(a), "l"(b));                                            \
  }                                                                            \
  BATON_DEVICE void baton_warpgroup_multiply_##numbers(                        \
      float(&sum)[64], uint64_t a, uint64_t b) {                               \
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." #numbers       \
                 "." #numbers " "                                              \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "    \
                 "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "     \
                 "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, "     \
                 "%35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "     \
                 "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, "     \
                 "%57, %58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1, "     \
                 "0, 0;"                                                       \
                 : BATON_SIXTY_FOUR(sum, 0)                                    \
                 : "l"(a), "l"(b));                                            \
  }                                                                            \
  BATON_DEVICE void baton_warpgroup_multiply_##numbers(                        \
      float(&sum)[128], uint64_t a, uint64_t b) {                              \
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32." #numbers       \
                 "." #numbers " "                                              \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "    \
                 "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "     \
                 "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, "     \
                 "%35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "     \
                 "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, "     \
                 "%57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, "     \
                 "%68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, "     \
                 "%79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, "     \
                 "%90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, "    \
                 "%101, %102, %103, %104, %105, %106, %107, %108, %109, "      \
                 "%110, %111, %112, %113, %114, %115, %116, %117, %118, "      \
                 "%119, %120, %121, %122, %123, %124, %125, %126, %127}, "     \
                 "%128, %129, 1, 1, 1, 0, 0;"                                  \
                 : BATON_SIXTY_FOUR(sum, 0), BATON_SIXTY_FOUR(sum, 64)         \
                 : "l"(a), "l"(b));                                            \
  }
BATON_MULTIPLY_SHARED(bf16)
BATON_MULTIPLY_SHARED(f16)
#undef BATON_MULTIPLY_SHARED
#undef BATON_SIXTY_FOUR
#undef BATON_EIGHT

/// May take as long as waits for event words do on a GPU, 10 s. Copies that do
/// not come have been asked for wrongly, which no report would
/// say more of: the kernel is ended, and the program prints the driver's error.
/// The clock is read only where the barrier's own wait was not enough. No
/// function is called, because multiplications that are under way would then
/// wait for one another.
BATON_DEVICE void baton_barrier_wait(uint64_t *barrier, uint32_t parity) {
  if (baton_barrier_test(barrier, parity))
    return;
  constexpr uint64_t most_nanoseconds = 10000000000;
  const uint64_t start = baton_nanoseconds();
  while (!baton_barrier_test(barrier, parity))
    if (baton_nanoseconds() - start > most_nanoseconds)
      asm volatile("trap;");
}

#endif // BATON_EMULATION

#endif // BATON_CODEGEN_CUDA_LIBRARY_ASYNC_H
