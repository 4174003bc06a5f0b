//===- overlapped.h - exchanges beside a running kernel -------------------===//
//
// Where the kernel does not end for an exchange of ranks, a second stream holds
// NCCL back until the device's epoch has come to it: the task of an exchange,
// which has waited for what is sent, counts the epoch up, and is done with it.
// Behind NCCL the stream writes what the exchange's event word counts up to,
// which is what tasks of the plan wait for. So the stream is the worker that
// runs a rank's exchanges, one after another in the plan's order.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_OVERLAPPED_H
#define BATON_CODEGEN_CUDA_LIBRARY_OVERLAPPED_H

#include "codegen/cuda/library/kernel.h"

/// Ends the task of an exchange. Others of the kernel, and the stream, see
/// behind it all that the task has waited for.
BATON_DEVICE void baton_begin_exchange(BatonWorkerState &worker) {
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t *const epoch = &worker.device->epoch;
    baton_store_release_system(epoch, baton_load_relaxed(epoch) + 1);
  }
}

/// At the end of a step, before words count on: NCCL has read and written for
/// the last time. No budget ends this wait; the host looks for ranks that do
/// not come.
BATON_DEVICE void baton_wait_for_exchange(BatonWorkerState &worker,
                                          int64_t word, uint32_t growth) {
  if (worker.index != 0 || threadIdx.x != 0)
    return;
  const uint32_t *const counter =
      worker.events + word * BATON_DEVICE_WORD_STRIDE;
  const uint32_t target = worker.bases[word] + growth;
  while (int32_t(baton_load_acquire_system(counter) - target) < 0) {
    worker.failed |= baton_load_relaxed(&worker.device->failure->failed) != 0;
    if (worker.failed)
      return;
    baton_pause(100);
  }
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_OVERLAPPED_H
