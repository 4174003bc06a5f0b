//===- library.h - the tile bodies of the CUDA target ---------------------===//
//
// What a generated kernel calls for one tile of one operator: the functions
// that codegen/bodies/*.td declare, so that a plan's calls are the same for
// both targets. codegen/cpu/library/library.h says how weights lie in memory.
//
// Conventions
// - A body is called by all threads of a block, convergently and with the same
//   arguments; the block has a multiple of 32 threads, in one dimension, up to
//   1024.
// - What its inputs depend on is visible to all threads when it starts. It does
//   not end with a barrier: whoever reads what it has written, or writes over
//   what it reads, puts __syncthreads() between.
// - Pointers are generic; each may point to global or to shared memory. Bodies
//   use no shared memory of their own.
// - No pointer is __restrict__: other blocks write activations while the kernel
//   runs, and what the compiler believes constant it may read past the order of
//   memory.
// - Left-hand sides of products whose rows are aligned to 16 bytes are read
//   faster; nothing requires it.
// - Bodies are inlined; shapes that are constants at the call are constants
//   within. The headers need no others and compile as C++17 under NVRTC, and
//   with runtime/cuda/emulation for the host.
//
// Numeric contract, but for stream.h, stream_blocks.h, matrix.h,
// matrix_blocks.h and attention_matrix.h, which have their own and take shared
// memory: these are the portable bodies, whose results are those of the CPU's,
// bit for bit (a NaN's payload and the C library's sine and cosine aside): a
// row's bits depend neither on its tile nor on the number of threads. Compilers
// must not contract multiplications
// (--fmad=false), flush subnormal numbers or approximate divisions and roots
// (NVRTC's defaults).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_LIBRARY_H
#define BATON_CODEGEN_CUDA_LIBRARY_LIBRARY_H

#include "codegen/cuda/library/adapter.h"
#include "codegen/cuda/library/attention.h"
#include "codegen/cuda/library/attention_matrix.h"
#include "codegen/cuda/library/attention_merge.h"
#include "codegen/cuda/library/attention_partial.h"
#include "codegen/cuda/library/deferred_norm.h"
#include "codegen/cuda/library/elementwise.h"
#include "codegen/cuda/library/embedding.h"
#include "codegen/cuda/library/experts.h"
#include "codegen/cuda/library/experts_gradient.h"
#include "codegen/cuda/library/gated_linear.h"
#include "codegen/cuda/library/hyper.h"
#include "codegen/cuda/library/integer_linear.h"
#include "codegen/cuda/library/linear.h"
#include "codegen/cuda/library/matmul.h"
#include "codegen/cuda/library/matrix.h"
#include "codegen/cuda/library/matrix_blocks.h"
#include "codegen/cuda/library/matrix_integers.h"
#include "codegen/cuda/library/norm.h"
#include "codegen/cuda/library/paged_attention.h"
#include "codegen/cuda/library/rope.h"
#include "codegen/cuda/library/sample.h"
#include "codegen/cuda/library/softmax.h"
#include "codegen/cuda/library/stored_linear.h"
#include "codegen/cuda/library/stream.h"
#include "codegen/cuda/library/stream_blocks.h"
#include "codegen/cuda/library/token_mask.h"

#endif // BATON_CODEGEN_CUDA_LIBRARY_LIBRARY_H
