//===- adapter_shelf.h - adapters that requests may name ------------------===//
//
// Low-rank adapters in PEFT folders, under names. A folder is read when it is
// named; its matrices become what a program multiplies by when a request needs
// them and they are not in the program's memory.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_BATCH_ADAPTER_SHELF_H
#define BATON_RUNTIME_BATCH_ADAPTER_SHELF_H

#include "runtime/execute/metadata.h"
#include "runtime/weights/adapter.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/form.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// Where a program has the matrices beside one linear, of each of its layers:
/// of one adapter behind those of another, each rank `width` elements, in
/// panels as codegen/bodies/adapter.td has it.
struct AdapterRoom {
  std::string name;
  /// Whose memory it is, of a program of several ranks.
  uint32_t rank;
  size_t storage;
  /// Of the second matrices, B; else of the first, A.
  bool is_up;
  ParameterPart part;
  DataType type;
  uint64_t width;
  uint64_t layers, first_layer, layer_step;
  /// The number of a layer of it, as tensors have it.
  uint64_t number_of(uint64_t layer) const {
    return first_layer + layer * layer_step;
  }
  /// Bytes of the ranks of a layer that there is room for.
  uint64_t layer_bytes;
};

/// Those of one of the program's ranks; none of a program without adapters.
/// Throws Error, of a program that is damaged.
std::vector<AdapterRoom> parse_adapter_rooms(const nlohmann::json &description,
                                             uint32_t rank);

/// An adapter's matrices as its rooms have them: of each room those of its
/// layers, one behind the other.
using PackedAdapter = std::vector<std::vector<std::byte>>;

/// Puts bytes into a storage of one of the program's ranks, so many bytes
/// behind its start, before its next step, while no task uses them.
using StorageWriter =
    std::function<void(uint32_t rank, size_t storage, uint64_t offset,
                       std::span<const std::byte> bytes)>;

class ServedAdapter {
public:
  /// Reads what is in a folder. Throws Error, naming the file and the tensor or
  /// key, where the program has no room for it.
  ServedAdapter(std::string name, const std::filesystem::path &folder,
                std::shared_ptr<const std::vector<AdapterRoom>> rooms,
                uint32_t most);

  const std::string &name() const { return own_name; }
  /// Ranks of the program that it takes.
  uint32_t ranks() const { return padded; }
  /// Of all adapters of this process, not 0.
  uint64_t number() const { return own_number; }

  /// What goes into the program's memory.
  PackedAdapter pack() const;
  /// Puts it there, from the rank `place` on.
  void write(const PackedAdapter &packed, uint32_t place,
             const StorageWriter &writer) const;

  /// Whether it is in the program's memory, as far as who makes steps has said:
  /// then there may be no need to pack it.
  const std::shared_ptr<std::atomic<bool>> is_there =
      std::make_shared<std::atomic<bool>>(false);

private:
  void check_tensors() const;
  bool has(const AdapterRoom &room, uint64_t layer) const;
  void pack_layer(const AdapterRoom &room, uint64_t layer,
                  std::byte *destination) const;

  const std::string own_name;
  const std::filesystem::path path;
  const Adapter config;
  const Checkpoint weights;
  const std::shared_ptr<const std::vector<AdapterRoom>> rooms;
  /// Ranks of the largest pair, in whole panels; smaller ones have zeros behind
  /// theirs.
  const uint32_t padded;
  const uint64_t own_number;
};

/// Adapters by their names. Used by any threads, once all are added.
class AdapterShelf {
public:
  explicit AdapterShelf(const Metadata &metadata);

  /// Throws Error for a folder that the program cannot take, and a name that is
  /// empty or another one's.
  void add(const std::string &name, const std::filesystem::path &folder);
  /// Null where there is none of the name.
  std::shared_ptr<ServedAdapter> find(const std::string &name) const;
  /// Throws Error that names those that there are.
  std::shared_ptr<ServedAdapter> get(const std::string &name) const;
  std::vector<std::shared_ptr<ServedAdapter>> all() const;

private:
  std::shared_ptr<const std::vector<AdapterRoom>> rooms;
  /// 0 of a program that takes none.
  uint32_t most = 0;
  std::map<std::string, std::shared_ptr<ServedAdapter>> adapters;
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_ADAPTER_SHELF_H
