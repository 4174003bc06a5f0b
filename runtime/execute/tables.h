//===- tables.h - whether a table holds what the plan says ---------------===//
//
// A plan's proof takes for granted what it declares of tables: the range of
// their values, and that they are distinct or a partition. Every instance is
// checked before a task indexes by it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_TABLES_H
#define BATON_RUNTIME_EXECUTE_TABLES_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace baton {

/// As event.table declares it; the numbers are in compiled programs.
enum class TableProperty : uint32_t { any = 0, distinct = 1, partition = 2 };

/// What is wrong with the values v(0), ..., v(n - 1) of a table, or nothing:
/// all lie in [low, high); distinct ones are different from one another; those
/// of a partition ascend from low to high - 1. O(n), or O(n log n) where
/// distinct values may lie far apart.
std::optional<std::string> find_table_fault(std::span<const int32_t> values,
                                            int64_t low, int64_t high,
                                            TableProperty property);

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_TABLES_H
