//===- device.h - what a kind of device can do, from a file ---------------===//

#ifndef BATON_TOOLS_PLAN_DEVICE_H
#define BATON_TOOLS_PLAN_DEVICE_H

#include "tools/plan/op_table.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace baton::plan {

/// What batonc calibrate says of the machine that it has measured.
struct MeasuredOn {
  /// "2026-11-29", in UTC.
  std::string date;
  /// As the system calls the processor.
  std::string processor;
  int64_t cores = 0;
  int64_t workers = 0;
  /// On calibrate's coarse grid only.
  bool quick = false;
};

/// One kind of device, and the nodes that hold several. Bytes, seconds,
/// operations (a multiply-add is two).
struct Device {
  std::string name;
  /// Where the numbers are from; printed with every plan.
  std::string source;
  /// How far its kernels' times may be off, as a standard deviation of their
  /// logarithm: little where they were measured, more where they are assumed.
  double uncertainty = 0;

  double memory = 0;
  double bandwidth = 0;
  /// What kernels that only move bytes reach of it.
  double stream_fraction = 0;
  /// What kernels reach that draw a random number for each element.
  double dropout_fraction = 0;
  /// Of products of 16-bit numbers with sums in 32.
  double matmul_rate = 0;
  /// What the largest tiles reach of it.
  double matmul_fraction = 0;
  /// What attention that keeps its scores on the chip reaches of it.
  double attention_fraction = 0;
  int64_t multiprocessors = 0;
  /// The shortest kernel.
  double kernel_time = 0;

  int64_t devices_per_node = 0;
  /// Bytes that a device sends in a second while a ring inside a node is busy.
  double link_rate = 0;
  double link_latency = 0;
  /// Bytes that a node sends in a second to others.
  double network_rate = 0;
  double network_latency = 0;

  /// None where the numbers are from data sheets.
  std::optional<MeasuredOn> measured;
  /// Of ops on the measured machine; what has one is not computed from the
  /// numbers above.
  std::vector<OpTable> tables;

  /// Null where it was not measured.
  const OpTable *table(const std::string &op, const std::string &type) const;
};

/// Of a file, or of a name that is installed beside the tool. Throws Error,
/// naming the file and the key.
Device read_device(const std::string &name_or_file);

/// The names of files beside the tools, in order; `kind` as below.
std::vector<std::string> fact_names(const std::string &kind);

/// A file beside the tools: `kind` is devices or frameworks. Throws Error that
/// lists the names there are.
std::filesystem::path fact_file(const std::string &kind,
                                const std::string &name_or_file);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_DEVICE_H
