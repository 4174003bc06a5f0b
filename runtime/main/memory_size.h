//===- memory_size.h - sizes as people write them -------------------------===//

#ifndef BATON_RUNTIME_MAIN_MEMORY_SIZE_H
#define BATON_RUNTIME_MAIN_MEMORY_SIZE_H

#include <cstdint>
#include <string>

namespace baton {

/// Reads "512MiB" or "4GiB" as bytes. Throws Error that begins with the flag.
uint64_t parse_memory_size(const std::string &flag, const std::string &text);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_MEMORY_SIZE_H
