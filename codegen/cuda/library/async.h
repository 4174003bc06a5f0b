//===- async.h - copies that overlap with arithmetic, and tensor cores ----===//
//
// PTX's asynchronous copies, barriers in shared memory and matrix operations,
// and what the emulation makes of them. cp.async, ldmatrix and mma need sm_80,
// bulk copies and their barriers sm_90. `shared` is always in shared memory,
// `global` in global memory.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ASYNC_H
#define BATON_CODEGEN_CUDA_LIBRARY_ASYNC_H

#include "codegen/cuda/library/device.h"

#ifdef BATON_EMULATION

#include "runtime/cuda/emulation/async.h"

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
BATON_DEVICE void baton_bulk_copy(void *shared, const void *global,
                                  uint32_t bytes, uint64_t *barrier) {
  baton::emulation::bulk_copy(shared, global, bytes, barrier, *barrier);
}
BATON_DEVICE void baton_proxy_fence() { baton::emulation::proxy_fence(); }

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
  baton::emulation::multiply_bf16(sum, a, b);
}
BATON_DEVICE uint32_t baton_bf16_pair(float lower, float upper) {
  auto round = [](float value) -> uint32_t {
    const uint32_t bits = __float_as_uint(value);
    // What is behind the point overflows into what is before it, as it should.
    return value != value ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  };
  return round(lower) | round(upper) << 16;
}

#else

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
/// Lets bulk copies that this thread starts from now on read what ordinary
/// stores have written that it has acquired.
BATON_DEVICE void baton_proxy_fence() {
  asm volatile("fence.proxy.async;" ::: "memory");
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
/// Two numbers rounded to BF16, to nearest even; NaN becomes 0x7fff.
BATON_DEVICE uint32_t baton_bf16_pair(float lower, float upper) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(upper), "f"(lower));
  return pair;
}

#endif // BATON_EMULATION

BATON_DEVICE void baton_barrier_wait(uint64_t *barrier, uint32_t parity) {
  while (!baton_barrier_test(barrier, parity)) {
  }
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_ASYNC_H
