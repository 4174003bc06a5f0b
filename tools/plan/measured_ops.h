//===- measured_ops.h - ops' times, from a device's tables ----------------===//
//
// Each op that batonc calibrate measures, its sizes, and the roofline by which
// its times go on where nothing was measured.
//
//   op            types            axes
//   linear        of weights       rows, outputs, inputs
//   gated_linear  of weights       rows, outputs (of each half), inputs
//   attention     f32              rows, positions, key_heads, group, head_size
//   rope, append  f32              rows, width
//   embedding     f32              rows, width
//   elementwise   f32              bytes (read and written)
//   step          one_sequence     rows
//   exchange      all_to_all,      ranks, bytes (of the whole tensor)
//                 all_gather
//
// A `step` is what is outside of all ops: from the end of one step's last op to
// the beginning of the next step.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_PLAN_MEASURED_OPS_H
#define BATON_TOOLS_PLAN_MEASURED_OPS_H

#include "tools/plan/device.h"

#include <optional>
#include <string>
#include <vector>

namespace baton::plan {

/// An op's time, and whether its sizes are within what was measured.
struct OpTime {
  double seconds = 0;
  bool inside = false;
};

/// Bytes of a weight: of "f32", "bf16", "f16", or of a format of quantised
/// weights such as "q4_k". Throws Error that names an unknown type.
double weight_bytes(const std::string &type);

/// Sizes are in the order of the op's axes. Nothing where the device has no
/// such table.
std::optional<OpTime> measured_time(const Device &device, const std::string &op,
                                    const std::string &type,
                                    const std::vector<double> &sizes);

/// The type of weights of products of 16-bit numbers: bf16, f16, or f32 if
/// neither was measured; empty without any.
std::string product_type(const Device &device);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_MEASURED_OPS_H
