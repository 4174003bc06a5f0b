//===- constant.h - functions of constants --------------------------------===//
//
// What kernels and the compiler that emits them compute alike, when they are
// compiled.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_CONSTANT_H
#define BATON_CODEGEN_CUDA_LIBRARY_CONSTANT_H

#ifdef __CUDACC__
#define BATON_CONSTANT __host__ __device__ constexpr
#else
#define BATON_CONSTANT constexpr
#endif

#endif // BATON_CODEGEN_CUDA_LIBRARY_CONSTANT_H
