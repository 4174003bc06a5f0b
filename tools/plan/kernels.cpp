//===- kernels.cpp - what a device runs of a layer, and how long it takes -===//

#include "tools/plan/kernels.h"

#include "tools/plan/measured_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace baton;
using namespace baton::plan;

double plan::operations(const Kernel &kernel) {
  return kernel.kind == Kernel::Kind::matmul
             ? 2 * kernel.m * kernel.n * kernel.k * kernel.count
             : kernel.operations;
}

/// Tiles that libraries of products have for 16-bit numbers, and the rate of
/// each as a part of the largest tile's: a tile of m x n reads (m + n) / (m n)
/// operands for each multiply-add.
static constexpr struct {
  double m, n, rate;
} tiles[] = {{256, 128, 1}, {128, 256, 1}, {128, 128, .85},
             {128, 64, .6}, {64, 128, .6}, {64, 64, .42}};

/// What filling a tile's pipeline costs, as elements of its sums' length.
static constexpr double tile_fill = 96;
/// Sums are not cut into parts shorter than this.
static constexpr double shortest_part = 256;

static double matmul_seconds(const Kernel &kernel, const Device &device) {
  const double rate = device.matmul_rate * device.matmul_fraction /
                      double(device.multiprocessors);
  const double stream = device.bandwidth * device.stream_fraction;
  double best = std::numeric_limits<double>::infinity();
  for (const auto &tile : tiles) {
    const double count = std::ceil(kernel.m / tile.m) *
                         std::ceil(kernel.n / tile.n) * kernel.count;
    for (double parts : {1, 2, 4, 8}) {
      if (parts > 1 && kernel.k / parts < shortest_part)
        break;
      const double waves =
          std::ceil(count * parts / double(device.multiprocessors));
      double time = waves * 2 * tile.m * tile.n *
                    (kernel.k / parts + tile_fill) / (rate * tile.rate);
      // Parts of sums are written and added up.
      if (parts > 1)
        time += 2 * kernel.m * kernel.n * kernel.count * 4 * parts / stream;
      best = std::min(best, time);
    }
  }
  const double bytes =
      2 * kernel.count *
      (kernel.m * kernel.k + kernel.k * kernel.n + kernel.m * kernel.n);
  return std::max(best, bytes / stream);
}

/// Of a device that was measured. Products of which there are many at once, as
/// of attention's scores, are no linears.
static std::optional<OpTime> table_time(const Kernel &kernel,
                                        const Device &device) {
  if (kernel.kind == Kernel::Kind::matmul && kernel.count == 1)
    return measured_time(device, "linear", product_type(device),
                         {kernel.m, kernel.n, kernel.k});
  if (kernel.kind == Kernel::Kind::stream)
    return measured_time(device, "elementwise", "f32", {kernel.bytes});
  return std::nullopt;
}

double plan::seconds(const Kernel &kernel, const Device &device) {
  if (const std::optional<OpTime> time = table_time(kernel, device))
    return time->seconds;
  switch (kernel.kind) {
  case Kernel::Kind::matmul:
    return matmul_seconds(kernel, device) + device.kernel_time;
  case Kernel::Kind::attention:
    return kernel.operations /
               (device.matmul_rate * device.attention_fraction) +
           device.kernel_time;
  case Kernel::Kind::stream:
    return kernel.bytes / (device.bandwidth * device.stream_fraction) +
           device.kernel_time;
  case Kernel::Kind::dropout:
    return kernel.bytes / (device.bandwidth * device.dropout_fraction) +
           device.kernel_time;
  }
  return 0;
}

double plan::seconds(const std::vector<Kernel> &kernels, const Device &device) {
  double sum = 0;
  for (const Kernel &kernel : kernels)
    sum += seconds(kernel, device);
  return sum;
}

namespace {
/// Kernels in the order in which they run.
struct Builder {
  std::vector<Kernel> kernels;

  void matmul(const char *name, double m, double n, double k,
              double count = 1) {
    kernels.push_back({name, Kernel::Kind::matmul, m, n, k, count, 0, 0});
  }
  void attention(const char *name, double operations) {
    kernels.push_back(
        {name, Kernel::Kind::attention, 0, 0, 0, 1, operations, 0});
  }
  void stream(const char *name, double bytes) {
    kernels.push_back({name, Kernel::Kind::stream, 0, 0, 0, 1, 0, bytes});
  }
  void dropout(const char *name, double bytes) {
    kernels.push_back({name, Kernel::Kind::dropout, 0, 0, 0, 1, 0, bytes});
  }
};
} // namespace

LayerKernels plan::layer_kernels(const Decoder &decoder,
                                 const Framework &framework,
                                 const Split &split) {
  const double ranks = double(split.tensor);
  const double sequence = double(split.sequence);
  const double rows = sequence * double(split.micro_batch);
  const double hidden = double(decoder.hidden);
  const double head = double(decoder.head_size);
  const double queries = double(decoder.heads) * head / ranks;
  const double qkv =
      queries +
      2 * double(std::max(decoder.kv_heads, split.tensor)) * head / ranks;
  const double mlp = double(decoder.mlp) / ranks;
  const double up = mlp * (decoder.gated ? 2 : 1);
  // Pairs of sequence and head, and their scores.
  const double pairs =
      double(split.micro_batch) * double(decoder.heads) / ranks;
  const double scores = pairs * sequence * sequence;
  // Bytes of the hidden rows, which all tensor parallel ranks have whole
  // unless they share them.
  const double width =
      2 * rows * hidden / (split.sequence_parallel ? ranks : 1);

  LayerKernels layer;
  layer.unfused = !framework.flash_attention && std::fmod(pairs, 4) != 0;
  const bool dropout = framework.dropout;

  Builder forward;
  forward.stream("norm", 2 * width);
  forward.matmul("qkv", rows, qkv, hidden);
  forward.stream("qkv transposed", 2 * 2 * rows * qkv);
  const size_t inside = forward.kernels.size();
  if (framework.flash_attention) {
    // Half of the scores are masked, and not computed.
    forward.attention("attention", 2 * pairs * sequence * sequence * head);
  } else {
    forward.matmul("scores", sequence, sequence, head, pairs);
    if (layer.unfused) {
      forward.stream("scale", 4 * scores);
      forward.stream("mask", 6 * scores);
      forward.stream("softmax", 8 * scores);
      forward.stream("rounding", 6 * scores);
    } else {
      forward.stream("scale, mask, softmax", 4 * scores);
    }
    if (dropout)
      forward.dropout("dropout of scores", 5 * scores);
    forward.matmul("values", sequence, head, sequence, pairs);
    forward.stream("values transposed", 2 * 2 * rows * queries);
  }
  layer.attention.assign(forward.kernels.begin() + ptrdiff_t(inside),
                         forward.kernels.end());
  forward.matmul("output", rows, hidden, queries);
  if (dropout)
    forward.dropout("bias, dropout, residual", 3.5 * width);
  else
    forward.stream("residual", 3 * width);
  forward.stream("norm", 2 * width);
  forward.matmul("up", rows, up, hidden);
  forward.stream("activation", 2 * rows * (up + mlp));
  forward.matmul("down", rows, hidden, mlp);
  if (dropout)
    forward.dropout("bias, dropout, residual", 3.5 * width);
  else
    forward.stream("residual", 3 * width);
  layer.forward = std::move(forward.kernels);

  Builder backward;
  backward.matmul("down, input", rows, mlp, hidden);
  backward.matmul("down, weight", hidden, mlp, rows);
  backward.stream("activation", 2 * rows * (up + up + mlp));
  backward.matmul("up, input", rows, hidden, up);
  backward.matmul("up, weight", up, hidden, rows);
  backward.stream("norm", 4 * width);
  backward.matmul("output, input", rows, queries, hidden);
  backward.matmul("output, weight", hidden, queries, rows);
  if (framework.flash_attention) {
    // Scores once more, and four products.
    backward.attention("attention", 5 * pairs * sequence * sequence * head);
  } else {
    backward.stream("values transposed", 2 * rows * queries);
    backward.matmul("values, scores", sequence, sequence, head, pairs);
    backward.matmul("values, values", sequence, head, sequence, pairs);
    if (dropout)
      backward.dropout("dropout of scores", 5 * scores);
    if (layer.unfused) {
      backward.stream("rounding", 6 * scores);
      backward.stream("softmax", 12 * scores);
      backward.stream("mask", 6 * scores);
      backward.stream("scale", 4 * scores);
    } else {
      backward.stream("scale, mask, softmax", 6 * scores);
    }
    backward.matmul("scores, queries", sequence, head, sequence, pairs);
    backward.matmul("scores, keys", sequence, head, sequence, pairs);
  }
  backward.stream("qkv transposed", 2 * rows * qkv);
  backward.matmul("qkv, input", rows, hidden, qkv);
  backward.matmul("qkv, weight", qkv, hidden, rows);
  backward.stream("norm", 4 * width);
  // Of both halves: the gradient through dropout, and the residual's sum.
  for (int half = 0; half < 2; ++half) {
    if (dropout)
      backward.dropout("dropout", 2.5 * width);
    backward.stream("residual", 2 * width);
  }
  if (decoder.learned_positions)
    backward.stream("biases", 2 * rows * (mlp + qkv) + 2 * width);
  if (!framework.adds_in_product)
    backward.stream("gradients added up", 3 * framework.gradient_bytes *
                                              decoder.layer_matrices() / ranks);
  layer.backward = std::move(backward.kernels);
  return layer;
}

std::vector<Kernel> plan::head_kernels(const Decoder &decoder,
                                       const Split &split) {
  const double rows = double(split.sequence) * double(split.micro_batch);
  const double hidden = double(decoder.hidden);
  const double words = double(decoder.vocabulary) / double(split.tensor);
  Builder head;
  head.matmul("head", rows, words, hidden);
  // Logits become F32; their maximum, exponentials and sum, and the gradient.
  head.stream("loss", 34 * rows * words);
  head.matmul("head, input", rows, hidden, words);
  head.matmul("head, weight", words, hidden, rows);
  return head.kernels;
}

std::vector<Kernel> plan::embedding_kernels(const Decoder &decoder,
                                            const Split &split) {
  const double rows = double(split.sequence) * double(split.micro_batch);
  Builder embedding;
  embedding.stream("embedding", 2 * 8 * rows * double(decoder.hidden));
  embedding.stream("embedding, gradient",
                   2 * 8 * rows * double(decoder.hidden));
  return embedding.kernels;
}
