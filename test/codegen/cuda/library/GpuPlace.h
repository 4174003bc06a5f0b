//===- GpuPlace.h - bodies on a GPU ---------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_GPUPLACE_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_GPUPLACE_H

#include "test/codegen/cuda/library/Relocation.h"

#include <memory>
#include <string>

namespace baton::test {

/// The first GPU, with the kernels of CompiledBodies.cu in a cubin. Throws
/// std::runtime_error, in one line, where there is no driver, GPU or file.
std::unique_ptr<Place> make_gpu_place(const std::string &cubin);

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_GPUPLACE_H
