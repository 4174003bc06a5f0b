//===- packed_file.h - a packed region that lies in a file ----------------===//

#ifndef BATON_RUNTIME_WEIGHTS_PACKED_FILE_H
#define BATON_RUNTIME_WEIGHTS_PACKED_FILE_H

#include "runtime/files/direct_file.h"
#include "runtime/weights/cache.h"
#include "runtime/weights/parameter_slots.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace baton {

/// Makes all slots of a region, and hands them over in pieces. At no time there
/// is much more in memory than one slot's tensors. With a seed, of random
/// numbers.
void write_slots(const std::vector<ParameterSlot> &slots,
                 std::optional<uint64_t> seed, unsigned threads,
                 const WriteRange &write);

/// The region of so many bytes in a file without a name in `folder`. Then hands
/// it over block by block. Throws Error, naming --offload-dir, when the folder
/// or the disk refuses.
std::shared_ptr<const DirectFile>
make_packed_file(const std::filesystem::path &folder,
                 const std::vector<ParameterSlot> &slots, uint64_t bytes,
                 std::optional<uint64_t> seed, unsigned threads,
                 const TakeBlock &take);

/// The same in the checkpoint's cache, where it may be already; `remade` is
/// called with the file's name when it is damaged, and made again.
std::shared_ptr<const DirectFile> open_packed_file(
    const std::filesystem::path &path, CacheKey key,
    const std::vector<ParameterSlot> &slots, uint64_t bytes, unsigned threads,
    const TakeBlock &take,
    const std::function<void(const std::filesystem::path &)> &remade);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_PACKED_FILE_H
