//===- tables.cpp - whether a table holds what the plan says -------------===//

#include "runtime/execute/tables.h"

#include "runtime/comm/job_end.h"
#include "runtime/program.h"

#include <algorithm>
#include <vector>

namespace baton {

namespace {

std::string value_at(std::span<const int32_t> values, size_t place) {
  return std::to_string(values[place]) + " at place " + std::to_string(place);
}

/// Two places with one value, if there are any.
std::optional<std::pair<size_t, size_t>>
find_twice(std::span<const int32_t> values, int64_t low, int64_t high) {
  // As many bits as values, or some times as many, are soon cleared.
  if (high - low <= int64_t(64 * values.size() + 1024)) {
    std::vector<bool> seen(static_cast<size_t>(high - low));
    for (size_t i = 0; i < values.size(); ++i) {
      auto index = static_cast<size_t>(values[i] - low);
      if (seen[index])
        return std::pair(
            size_t(std::find(values.begin(), values.end(), values[i]) -
                   values.begin()),
            i);
      seen[index] = true;
    }
    return std::nullopt;
  }
  std::vector<std::pair<int32_t, size_t>> sorted;
  for (size_t i = 0; i < values.size(); ++i)
    sorted.emplace_back(values[i], i);
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].first == sorted[i - 1].first)
      return std::pair(sorted[i - 1].second, sorted[i].second);
  return std::nullopt;
}

} // namespace

std::optional<std::string> find_table_fault(std::span<const int32_t> values,
                                            int64_t low, int64_t high,
                                            TableProperty property) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] < low || values[i] >= high)
      return "holds " + value_at(values, i) + ", expected " +
             std::to_string(low) + " to " + std::to_string(high - 1);
  if (property == TableProperty::distinct)
    if (auto twice = find_twice(values, low, high))
      return "holds " + value_at(values, twice->first) + " and at place " +
             std::to_string(twice->second) + ", expected distinct values";
  if (property != TableProperty::partition)
    return std::nullopt;
  if (values.empty())
    return "is empty, expected a partition";
  for (auto [place, bound] :
       {std::pair(size_t(0), low), std::pair(values.size() - 1, high - 1)})
    if (values[place] != bound)
      return "holds " + value_at(values, place) + ", expected " +
             std::to_string(bound) + ", where a partition " +
             (place == 0 ? "begins" : "ends");
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i] < values[i - 1])
      return "holds " + value_at(values, i - 1) + " and " +
             value_at(values, i) + ", expected a partition, which ascends";
  return std::nullopt;
}

} // namespace baton

void baton_check_table(const char *table, const char *phase,
                       const int32_t *values, int64_t count, int64_t low,
                       int64_t high, uint32_t property) {
  auto fault = baton::find_table_fault(
      {values, static_cast<size_t>(std::max<int64_t>(count, 0))}, low, high,
      static_cast<baton::TableProperty>(property));
  if (fault)
    baton::end_process(std::string("the table @") + table + ", which phase \"" +
                       phase + "\" has written, " + *fault);
}
