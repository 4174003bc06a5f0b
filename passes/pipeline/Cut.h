//===- Cut.h - a row of costs in parts as even as they can be -------------===//

#ifndef BATON_PASSES_PIPELINE_CUT_H
#define BATON_PASSES_PIPELINE_CUT_H

#include <vector>

namespace baton::pipeline {

/// Where each of `parts` parts of consecutive items begins. The largest part is
/// as small as possible, and of all such cuts the sum of squares is the least;
/// of several of these, early parts are the longer ones. There are as many
/// items as parts, or more.
std::vector<int> cutEvenly(const std::vector<double> &costs, int parts);

} // namespace baton::pipeline

#endif // BATON_PASSES_PIPELINE_CUT_H
