//===- kernels.h - what a device runs of a layer, and how long it takes ---===//

#ifndef BATON_TOOLS_PLAN_KERNELS_H
#define BATON_TOOLS_PLAN_KERNELS_H

#include "tools/plan/decoder.h"
#include "tools/plan/device.h"
#include "tools/plan/framework.h"

#include <string>
#include <vector>

namespace baton::plan {

/// One kernel of a rank.
struct Kernel {
  enum class Kind { matmul, attention, stream, dropout };
  std::string name;
  Kind kind = Kind::stream;
  /// Of a product: rows, columns and the length of the sums, and how many such
  /// there are.
  double m = 0, n = 0, k = 0, count = 1;
  /// Of attention on the chip.
  double operations = 0;
  /// What the others read and write.
  double bytes = 0;
};

/// Operations of its products, a multiply-add as two.
double operations(const Kernel &kernel);

/// Seconds on a device. A product is cut into tiles of one of six sizes, and
/// its sums into up to eight parts, whichever ends first: tiles come in waves
/// of one for each multiprocessor, and a tile takes as long as its products at
/// the rate that its size reaches. It takes at least as long as its operands'
/// bytes do. Where a device was measured, products and streams take what its
/// tables say.
double seconds(const Kernel &kernel, const Device &device);

/// The kernels of one layer and microbatch on one rank.
struct LayerKernels {
  std::vector<Kernel> forward, backward;
  /// Those of the forward that are inside of attention.
  std::vector<Kernel> attention;
  /// Scores are masked and scaled by kernels of their own: Megatron-LM's fused
  /// kernel wants a multiple of four of (sequence, head) pairs.
  bool unfused = false;
};

LayerKernels layer_kernels(const Decoder &decoder, const Framework &framework,
                           const Split &split);

/// Of the head with its loss, both directions, and of the embedding.
std::vector<Kernel> head_kernels(const Decoder &decoder, const Split &split);
std::vector<Kernel> embedding_kernels(const Decoder &decoder,
                                      const Split &split);

double seconds(const std::vector<Kernel> &kernels, const Device &device);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_KERNELS_H
