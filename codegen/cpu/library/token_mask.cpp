//===- token_mask.cpp - tokens that constraints allow ---------------------===//

#include "codegen/cpu/library/vector.h"
#include "runtime/step_sampling.h"

using namespace baton::cpu;

BATON_TASK void baton_task_token_mask(int32_t *__restrict masks,
                                      int64_t masks_stride,
                                      const int32_t *__restrict sampling,
                                      int64_t sampling_stride, int64_t rows,
                                      int64_t words) {
  for (int64_t row = 0; row < rows; ++row) {
    BatonSampling wanted;
    __builtin_memcpy(&wanted, sampling + row * sampling_stride, sizeof wanted);
    if (wanted.masked)
      wanted.make_mask(wanted.text,
                       reinterpret_cast<uint32_t *>(masks + row * masks_stride),
                       static_cast<uint64_t>(words));
  }
}
