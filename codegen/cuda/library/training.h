//===- training.h - the tile bodies of training ---------------------------===//
//
// Those that programs call which train or have several ranks, with library.h's
// conventions and numeric contract: the CPU's bits; but for product_matrix.h. A
// chain over all rows of a step is one thread's, or one thread's for each
// column; many of its loads are under way at once. Some bodies have a few
// numbers in static shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_TRAINING_H
#define BATON_CODEGEN_CUDA_LIBRARY_TRAINING_H

#include "codegen/cuda/library/attention_gradient.h"
#include "codegen/cuda/library/attention_gradient_matrix.h"
#include "codegen/cuda/library/cross_entropy.h"
#include "codegen/cuda/library/deferred_norm_gradient.h"
#include "codegen/cuda/library/elementwise_gradient.h"
#include "codegen/cuda/library/embedding_gradient.h"
#include "codegen/cuda/library/hyper_gradient.h"
#include "codegen/cuda/library/linear_transposed.h"
#include "codegen/cuda/library/magnitude.h"
#include "codegen/cuda/library/norm_gradient.h"
#include "codegen/cuda/library/preference_loss.h"
#include "codegen/cuda/library/product.h"
#include "codegen/cuda/library/product_matrix.h"
#include "codegen/cuda/library/router_loss.h"
#include "codegen/cuda/library/sequence_attention.h"
#include "codegen/cuda/library/sequence_attention_matrix.h"
#include "codegen/cuda/library/step_summary.h"
#include "codegen/cuda/library/sum_ranks.h"
#include "codegen/cuda/library/sum_rows.h"
#include "codegen/cuda/library/sum_squares.h"
#include "codegen/cuda/library/vocabulary_parts.h"

#endif // BATON_CODEGEN_CUDA_LIBRARY_TRAINING_H
