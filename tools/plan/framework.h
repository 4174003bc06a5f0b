//===- framework.h - how a training framework runs a model ----------------===//

#ifndef BATON_TOOLS_PLAN_FRAMEWORK_H
#define BATON_TOOLS_PLAN_FRAMEWORK_H

#include <string>

namespace baton::plan {

/// What a framework does of a layer, and what its host program needs to say so.
/// Seconds and bytes.
struct Framework {
  std::string name;
  std::string source;

  /// Attention that keeps its scores on the chip; they are in memory without.
  bool flash_attention = false;
  /// Dropout behind attention's scores and both halves of a layer.
  bool dropout = false;
  /// Products of weights' gradients add to what is there.
  bool adds_in_product = false;
  /// Gradients travel while others are made.
  bool overlaps_gradients = false;

  /// Of a parameter: what it, its gradient and the optimizer's copies take.
  double weight_bytes = 0, gradient_bytes = 0, state_bytes = 0;
  /// What an update of it reads and writes.
  double update_bytes = 0;
  /// Of a parameter of a layer's products: what stays beside its gradient for
  /// autograd, once for all weights of one shape. The head's is there while its
  /// gradient is made.
  double placeholder_bytes = 0;
  /// A gradient as it travels.
  double sent_gradient_bytes = 0;
  /// What libraries and the allocator take of a device's memory.
  double reserved = 0;

  // The host's time, which the device waits for where it has nothing to do.
  /// Of a layer.
  double host_forward = 0, host_backward = 0;
  /// More where scores have to be masked by kernels of their own.
  double host_unfused = 0;
  /// Of a collective of a layer, and by how much the slowest host of several
  /// comes behind: times 1/2 + 1/3 + ... + 1/ranks.
  double host_collective = 0, host_jitter = 0;
  /// Of a microbatch: its data, its loss; and of an embedding, or a head.
  double host_microbatch = 0, host_ends = 0;
  /// Of an exchange between stages.
  double host_exchange = 0;
  /// Of a step, and of each layer's part of it.
  double host_step = 0, host_step_layer = 0;
};

/// Of a file, or of a name that is installed beside the tool. Throws Error.
Framework read_framework(const std::string &name_or_file);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_FRAMEWORK_H
