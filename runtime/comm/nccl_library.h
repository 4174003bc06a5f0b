//===- nccl_library.h - NCCL, opened at run time --------------------------===//
//
// The part of NCCL's interface that is used (2.18 and later, nccl.h), declared
// here, as libcuda in runtime/cuda/driver.h: an executable starts where there
// is none.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_COMM_NCCL_LIBRARY_H
#define BATON_RUNTIME_COMM_NCCL_LIBRARY_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace baton {

struct NcclLibrary {
  using Result = int;
  using Comm = void *;
  using Stream = void *;

  struct UniqueId {
    char bytes[128];
  };
  /// The beginning of ncclConfig_t, as of 2.17; later versions complete it.
  struct Config {
    size_t size;
    unsigned magic;
    unsigned version;
    int blocking;
    int cluster_size;
    int least_blocks;
    int most_blocks;
    const char *network;
  };

  // Values of enumerations.
  static constexpr Result success = 0, in_progress = 7;
  static constexpr int uint8 = 1;
  static constexpr int undefined = -2147483647 - 1;
  static constexpr unsigned config_magic = 0xcafebeef, config_version = 21700;
  static constexpr int least_version = 21800;

  /// The file that was opened, for messages, and the version that it says.
  std::string file;
  int version;

  Result (*get_version)(int *version);
  const char *(*error_string)(Result result);
  const char *(*last_error)(Comm communicator);
  Result (*get_unique_id)(UniqueId *id);
  Result (*init)(Comm *communicator, int ranks, UniqueId id, int rank,
                 Config *config);
  Result (*async_error)(Comm communicator, Result *result);
  Result (*destroy)(Comm communicator);
  Result (*group_start)();
  Result (*group_end)();
  Result (*send)(const void *data, size_t count, int type, int peer,
                 Comm communicator, Stream stream);
  Result (*receive)(void *data, size_t count, int type, int peer,
                    Comm communicator, Stream stream);
  Result (*all_gather)(const void *send, void *receive, size_t count, int type,
                       Comm communicator, Stream stream);

  /// Throws Error, in one line, where there is none or it is too old.
  static const NcclLibrary &get();

  /// "NCCL 2.28.9 (libnccl.so.2)"
  std::string name() const;
  /// What `result` means, with NCCL's own words about the communicator, which
  /// may be null; one line.
  std::string text(Result result, Comm communicator) const;
};

} // namespace baton

#endif // BATON_RUNTIME_COMM_NCCL_LIBRARY_H
