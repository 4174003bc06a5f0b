//===- step_costs.h - what a training step computes and moves -------------===//
//
// As the compiler counts it, of each of a program's programs:
//
//   "programs": [{"costs": {
//     "kinds": {"products": {"step": {"flops": 0, "bytes": 4096},
//                            "row": {"flops": 6144, "bytes": 512}}, ...},
//     "attention": [{"window": 0, "flops_per_pair": 256}]}, ...}]
//
// Kinds of phases are products with weights and their adjoints, attention,
// updates, which only a step has that ends with one, and the rest.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_STEP_COSTS_H
#define BATON_RUNTIME_TRAIN_STEP_COSTS_H

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace baton {

/// Operations, and bytes that are read and written, each once.
struct StepCosts {
  struct Amount {
    double flops = 0, bytes = 0;
  };
  std::map<std::string, Amount> kinds;

  StepCosts &operator+=(const StepCosts &other);
  double flops() const;
  double bytes() const;
  /// Seconds that these take at least where so many operations and bytes a
  /// second are possible: each kind of phase by itself, at whichever limit it
  /// runs into.
  double seconds(double flops_per_second, double bytes_per_second) const;
};

/// Of a run of one program over `sequences` sequences of `length` tokens, which
/// are whole documents: where several lie in one, attention sees less.
/// `program` is an element of "programs". Throws an exception of the JSON
/// library when it is damaged.
StepCosts step_costs(const nlohmann::json &program, uint64_t sequences,
                     uint64_t length, bool updates);

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_STEP_COSTS_H
