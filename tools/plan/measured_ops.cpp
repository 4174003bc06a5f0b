//===- measured_ops.cpp - ops' times, from a device's tables --------------===//

#include "tools/plan/measured_ops.h"

#include "runtime/error.h"
#include "runtime/weight_formats.h"

#include <algorithm>

using namespace baton;
using namespace baton::plan;

double plan::weight_bytes(const std::string &type) {
  if (type == "f32")
    return 4;
  if (type == "bf16" || type == "f16")
    return 2;
  if (const blocks::Format *format = blocks::find_format(type))
    return double(format->bytes) / format->inputs;
  std::string names = "f32, bf16, f16";
  for (const blocks::Format &format : blocks::formats)
    if (!format.is_plain)
      names += ", " + std::string(format.name);
  throw Error("there is no type of weights '" + type + "'; there are " + names);
}

/// Seconds that grow with each size, and are as many as bytes and operations
/// take at the rates of the device's file.
static double bound(const Device &device, const std::string &op,
                    const std::string &type, const std::vector<double> &sizes) {
  const double operations = device.matmul_rate * device.matmul_fraction;
  const double bytes = device.bandwidth * device.stream_fraction;
  if (op == "linear" || op == "gated_linear") {
    const double weights = sizes[1] * sizes[2] * (op == "gated_linear" ? 2 : 1);
    return std::max(2 * sizes[0] * weights / operations,
                    weights * weight_bytes(type) / bytes);
  }
  if (op == "attention") {
    const double heads = sizes[2] * sizes[4];
    return std::max(4 * sizes[0] * sizes[1] * heads * sizes[3] /
                        (device.matmul_rate * device.attention_fraction),
                    2 * 4 * sizes[1] * heads / bytes);
  }
  if (op == "exchange")
    return device.link_latency +
           sizes[1] * (sizes[0] - 1) / sizes[0] / device.link_rate;
  if (op == "step")
    // The host does the same whatever the rows are.
    return 1;
  double product = 4;
  for (double size : sizes)
    product *= size;
  return product / bytes;
}

std::optional<OpTime> plan::measured_time(const Device &device,
                                          const std::string &op,
                                          const std::string &type,
                                          const std::vector<double> &sizes) {
  const OpTable *table = device.table(op, type);
  if (!table)
    return std::nullopt;
  return OpTime{table->seconds(sizes,
                               [&](const std::vector<double> &at) {
                                 return bound(device, op, type, at);
                               }),
                table->contains(sizes)};
}

std::string plan::product_type(const Device &device) {
  for (const char *type : {"bf16", "f16", "f32"})
    if (device.table("linear", type))
      return type;
  return "";
}
