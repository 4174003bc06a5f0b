//===- merged_metrics.cpp - metrics of several servers as one text --------===//

#include "runtime/serve/merged_metrics.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace baton {

namespace {

struct MetricText {
  /// HELP and TYPE, then samples.
  std::string head, samples;
};

/// "name" of "# TYPE name counter".
std::string_view commented_name(std::string_view line) {
  const size_t begin = line.find(' ', 2);
  if (begin == std::string_view::npos)
    return {};
  const std::string_view rest = line.substr(begin + 1);
  return rest.substr(0, rest.find(' '));
}

} // namespace

std::string merge_metrics(std::span<const std::string> texts) {
  std::vector<std::string> order;
  std::unordered_map<std::string, MetricText> metrics;
  for (const std::string &text : texts) {
    // Samples follow the comments of their metric, and may have other names
    // (a histogram's _bucket).
    MetricText *current = nullptr;
    std::string name;
    bool is_first = false;
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (line.empty())
        continue;
      const bool is_comment = line.starts_with("# ");
      if (!current || (is_comment && commented_name(line) != name)) {
        name = is_comment ? commented_name(line)
                          : line.substr(0, line.find_first_of(" {"));
        auto [place, is_new] = metrics.try_emplace(name);
        if (is_new)
          order.push_back(name);
        current = &place->second;
        is_first = is_new;
      }
      if (is_comment && !is_first)
        continue;
      std::string &part = is_comment ? current->head : current->samples;
      part.append(line).append("\n");
    }
  }
  std::string merged;
  for (const std::string &name : order)
    merged += metrics[name].head + metrics[name].samples;
  return merged;
}

} // namespace baton
