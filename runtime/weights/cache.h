//===- cache.h - packed weights kept beside their checkpoint -------------===//
//
// Packing reads, converts and transposes every weight; its result is kept in
// <checkpoint>/.baton/<key>.packed, so that the next start only reads. A file
// is one header page and then the packed region as it stands in memory.
//
// The key is a 128-bit hash of the packing version, the program's description
// of its parameters, and of each checkpoint file the canonical path, size, time
// of change and header. A file under another key is never looked at and
// never removed: other programs use the same folder.
//
// The checksum covers every byte. It is taken block by block right after a
// block has been read, while the block is still in the processor's cache, and
// costs a fraction of the read; sampling would save little and could pass a
// damaged weight.
//
// A file appears by rename, so that readers see all or nothing and concurrent
// writers of one key both succeed. It is not synchronised to disk: what a power
// failure leaves behind fails the checksum and is packed again.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_CACHE_H
#define BATON_RUNTIME_WEIGHTS_CACHE_H

#include "runtime/weights/checkpoint.h"
#include "runtime/weights/memory.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

namespace baton {

/// Increased whenever the same key would stand for other bytes: a new layout of
/// panels, of the region, of the file, or another rounding.
inline constexpr uint64_t packing_version = 3;

struct CacheKey {
  uint64_t words[2];
};

CacheKey packing_key(const Checkpoint &checkpoint,
                     std::string_view description);

/// Where the packed weights of this key lie.
std::filesystem::path cache_path(const Checkpoint &checkpoint, CacheKey key);

enum class CacheState { Read, Absent, Damaged };

/// Called with the number of bytes finished, from any thread.
using BytesDone = std::function<void(uint64_t bytes)>;

/// Fills the region. In any state but Read its contents are undefined.
CacheState read_cache(const std::filesystem::path &path, CacheKey key,
                      HugeRegion &region, unsigned threads,
                      const BytesDone &done);

/// Gets blocks of the region one by one, several threads beside one another; a
/// block's bytes are there during the call.
using TakeBlock =
    std::function<void(uint64_t offset, std::span<const std::byte> block)>;

/// The same without a region: a file of so many bytes, block by block.
CacheState scan_cache(const std::filesystem::path &path, CacheKey key,
                      uint64_t bytes, unsigned threads, const TakeBlock &take);

/// Where the region's bytes begin in the file.
inline constexpr uint64_t packed_data_offset = 4096;

/// Puts bytes at an offset of the region into the file.
using WriteRange =
    std::function<void(const void *data, uint64_t bytes, uint64_t offset)>;

/// Makes a file of so many bytes, all of which `make` writes; what it leaves
/// out is zeros. Throws Error, leaving no file behind, when the folder or the
/// disk refuses, or `make` throws.
void make_cache(const std::filesystem::path &path, CacheKey key, uint64_t bytes,
                unsigned threads,
                const std::function<void(const WriteRange &)> &make);

/// Writes the region, and removes what killed writers left in the folder.
/// Throws Error, leaving no file behind, when the folder or the disk refuses.
void write_cache(const std::filesystem::path &path, CacheKey key,
                 const HugeRegion &region, unsigned threads);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_CACHE_H
