//===- train_options.h - what batonc plan train is asked ------------------===//

#ifndef BATON_TOOLS_PLAN_TRAIN_OPTIONS_H
#define BATON_TOOLS_PLAN_TRAIN_OPTIONS_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace baton::plan {

struct TrainOptions {
  std::string model, device = "h100-80gb", framework = "megatron-core", html,
                     measured, output;
  int64_t devices = 0, global_batch = 0, sequence = 4096;
  /// Of a device, in 1e9 bytes; 0 for what it has.
  double memory = 0;
  int64_t calibrate = 0;
  size_t top = 10;
  bool json = false, quiet = false;

  // Of --framework=baton only; empty or 0 means batonc's own.
  std::string dtype, optimizer, target;
  /// Threads of a rank.
  int64_t workers = 0;
};

/// The framework that is batonc itself.
inline constexpr char baton_framework[] = "baton";
/// The device that is the machine at hand, cut into as many as are wanted.
inline constexpr char this_machine[] = "this-machine";

/// --framework=baton: prints what to tell batonc. `batonc` is the program.
void plan_with_baton(const TrainOptions &options, const std::string &batonc);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_TRAIN_OPTIONS_H
