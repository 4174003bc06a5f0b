//===- token_mask.h - tokens that constraints allow -----------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_TOKEN_MASK_H
#define BATON_CODEGEN_CUDA_LIBRARY_TOKEN_MASK_H

#include "codegen/cuda/library/device.h"
#include "runtime/step_sampling.h"

/// The host makes masks, in memory that it shares, while the kernel runs; no
/// budget ends this wait, as it makes all that it was asked for.
BATON_DEVICE void baton_task_token_mask(int32_t * /*masks*/,
                                        int64_t /*masks_stride*/,
                                        const int32_t *sampling,
                                        int64_t sampling_stride, int64_t rows,
                                        int64_t /*words*/) {
  for (int64_t row = 0; row < rows; ++row) {
    const BatonSampling &wanted = *reinterpret_cast<const BatonSampling *>(
        sampling + row * sampling_stride);
    if (wanted.masked && threadIdx.x == 0)
      while (baton_load_acquire_system(&wanted.mask_made) == 0)
        baton_pause(200);
  }
  __syncthreads();
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_TOKEN_MASK_H
