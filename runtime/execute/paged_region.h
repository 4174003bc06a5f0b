//===- paged_region.h - memory of which only a part is resident ----------===//
//
// A region of a file's pages, of which at most so many bytes are in memory. It
// is cut into chunks. A chunk that is not in memory may not be touched: who
// does so gets a signal, whose handler lets the chunk in and puts the one out
// that came first. So the limit holds at every moment and for whoever touches
// the region, and nothing that a program computes depends on it.
//
// Who knows what will be touched has chunks fetched before, and released
// behind: what is fetched is put out only where nothing else can be. Some
// chunks may stay once they are in.
//
// What was put out stays in the system's cache of the file for as long as that
// has memory to spare, and is on the disk when it has not.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_PAGED_REGION_H
#define BATON_RUNTIME_EXECUTE_PAGED_REGION_H

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace baton {

/// Storages that need not be in memory as a whole: at most `most` bytes of all
/// of them are, and a file in `folder` has the others. On a device so many
/// bytes are in its own memory, and the others in the host's.
struct PagedStorages {
  std::vector<size_t> storages = {};
  uint64_t most = 0;
  std::filesystem::path folder = {};
};

/// System calls may not be given addresses inside, since they get no signal:
/// they fail with EFAULT.
class PagedRegion {
public:
  /// Of a chunk, or a multiple where there would be many thousands in memory.
  static constexpr uint64_t chunk_bytes = uint64_t(256) << 10;
  /// What one thread needs: tiles of several tensors, each of which may begin
  /// and end within a chunk.
  static constexpr uint64_t bytes_of_worker = 16 * chunk_bytes;

  /// Zeros, in a file without a name in `folder`, of which at most `most` bytes
  /// are in memory. Throws Error, naming the folder, when the file cannot be
  /// made or the disk has no place for it, and when the folder is itself in
  /// memory.
  PagedRegion(const std::filesystem::path &folder, uint64_t bytes,
              uint64_t most);

  /// A run of bytes of the region.
  struct Part {
    uint64_t begin, bytes;
  };
  /// How a region of other chunks is made.
  struct Layout {
    /// Of each chunk, a multiple of the system's pages.
    uint64_t chunk;
    /// What will ever be touched, and has its place on the disk; all else of
    /// the region may not be.
    std::vector<Part> used;
    /// Chunks of these stay in memory once they are there.
    std::vector<Part> staying;
  };
  PagedRegion(const std::filesystem::path &folder, uint64_t bytes,
              uint64_t most, const Layout &layout);
  PagedRegion(const PagedRegion &) = delete;
  PagedRegion &operator=(const PagedRegion &) = delete;
  ~PagedRegion();

  std::byte *data() const;
  /// Chunks that were let in up to now.
  uint64_t arrivals() const;
  /// Those of them that were fetched, before anybody touched them.
  uint64_t fetched() const;
  /// Most bytes that were in memory at once.
  uint64_t peak() const;

  /// The part comes into memory, and is put out only where all else that does
  /// not stay is fetched, too, until it is released as often as fetched.
  void fetch(Part part);
  void release(Part part);
  /// Asks the disk for what is not in memory; returns at once.
  void ask(Part part) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_PAGED_REGION_H
