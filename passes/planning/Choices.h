//===- Choices.h - choices whose costs depend on pairs of them ------------===//
//
// The intra-operator problem of Alpa (Zheng et al. 2022, arXiv 2201.12023,
// section 4): every op and every tensor has one of a few placements, and what a
// tensor costs on its way from one to another depends on both ends.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_PLANNING_CHOICES_H
#define BATON_PASSES_PLANNING_CHOICES_H

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace baton::planning {

inline constexpr double kForbidden = std::numeric_limits<double>::infinity();

/// One of several options.
struct Choice {
  std::string name;
  /// Of each option; kForbidden for one that cannot be.
  std::vector<double> seconds;
  /// Of a device's memory; empty where no option takes any.
  std::vector<double> bytes;
};

/// What one choice makes, other choices read; each of these in one of several
/// forms, which is made once however many read it.
struct Transfer {
  struct Reader {
    unsigned choice;
    /// The form that each of its options reads.
    std::vector<unsigned> form;
  };

  unsigned from;
  std::vector<Reader> readers;
  /// Of each option of `from` and each form.
  std::vector<std::vector<double>> seconds;
};

struct ChoiceProblem {
  std::vector<Choice> choices;
  std::vector<Transfer> transfers;
  /// Bytes that a device has.
  double memory = kForbidden;
};

/// Of one option for each choice; kForbidden where they cannot be together.
/// Memory is not looked at.
double secondsOf(const ChoiceProblem &problem,
                 const std::vector<unsigned> &options);
double bytesOf(const ChoiceProblem &problem,
               const std::vector<unsigned> &options);

/// The options that take least time of those that fit the memory, by an integer
/// program; nothing if none can be. A choice's options are variables of 0 and
/// 1, one of which is 1. Of a pair of choices, flows from options to forms say
/// which of both are taken together, so that relaxed programs are tight.
std::optional<std::vector<unsigned>> solve(const ChoiceProblem &problem);

/// Likewise the options that take least memory, however long they take.
std::optional<std::vector<unsigned>> solveForMemory(ChoiceProblem problem);

} // namespace baton::planning

#endif // BATON_PASSES_PLANNING_CHOICES_H
