//===- checksum.h - of files, as they are written and as they are read ---===//
//
// hash_bytes (runtime/weights/hash.h) of every block of 1 MiB with the block's
// number as the seed, and hash_bytes of those results: 64 bits, at the speed of
// memory. It finds accidental damage, of which one case in 2^64 passes; it is
// no defence against an adversary.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_CHECKSUM_H
#define BATON_RUNTIME_TRAIN_CHECKSUM_H

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// What checksums.json calls it.
inline constexpr std::string_view checksum_algorithm = "baton-hash-64";

struct FileSummary {
  uint64_t bytes;
  /// 16 hexadecimal digits.
  std::string checksum;

  bool operator==(const FileSummary &) const = default;
};

/// Of bytes that come in pieces; how they are cut does not matter.
class Checksum {
public:
  static constexpr size_t block_bytes = 1 << 20;

  void add(const void *data, uint64_t bytes);
  /// Of all bytes so far.
  FileSummary summary() const;

private:
  std::vector<uint64_t> blocks;
  /// The beginning of the block that is not full yet.
  std::vector<char> rest;
};

/// Reads a plain file from its beginning to its end. Throws Error.
FileSummary summarize_file(const std::filesystem::path &path);

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_CHECKSUM_H
