//===- touched_memory.h - the part of a program's memory that a step touches =//
//
// Storages are reserved for the largest step. A step of fewer rows touches
// parts of them, and pages that nobody touches take no memory.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_TOUCHED_MEMORY_H
#define BATON_RUNTIME_EXECUTE_TOUCHED_MEMORY_H

#include "runtime/execute/metadata.h"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace baton {

/// Of each storage, the bytes of the pages on which a step of a program writes,
/// by what its phases state. `page`: bytes of a page; 0: those that the storage
/// gets from the system, if it is a region by itself.
std::vector<uint64_t> touched_bytes(const Metadata &metadata,
                                    const ProgramDescription &program,
                                    const BatonStep &step, uint64_t page);

/// The same of storages in one region, each of which begins at a byte of it or,
/// with nothing, lies elsewhere: adds the numbers of the pages.
void add_touched_pages(const Metadata &metadata,
                       const ProgramDescription &program, const BatonStep &step,
                       uint64_t page,
                       const std::vector<std::optional<uint64_t>> &begins,
                       std::set<uint64_t> &pages);

/// Bytes of the pages that the system gives a region of so many: huge ones,
/// where it has them and the region is large enough. See HugeRegion.
uint64_t page_of_region(uint64_t bytes);

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_TOUCHED_MEMORY_H
