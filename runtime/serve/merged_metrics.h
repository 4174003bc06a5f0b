//===- merged_metrics.h - metrics of several servers as one text ----------===//

#ifndef BATON_RUNTIME_SERVE_MERGED_METRICS_H
#define BATON_RUNTIME_SERVE_MERGED_METRICS_H

#include <span>
#include <string>

namespace baton {

/// Texts in Prometheus' format 0.0.4 as one in which each metric stands once,
/// with all of its samples, as the format wants it. Who makes the texts sees to
/// it that samples differ in a label.
std::string merge_metrics(std::span<const std::string> texts);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_MERGED_METRICS_H
