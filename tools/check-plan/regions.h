//===- regions.h - which boxes of buffers have bytes in common ------------===//
//
// All boxes that tasks of an instance touch are known before it is judged. They
// cut a storage into pieces, and pieces that lie in the same boxes are one
// region. A box is then a list of regions, and two boxes have bytes in common
// exactly if they have a region in common.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_CHECK_PLAN_REGIONS_H
#define BATON_TOOLS_CHECK_PLAN_REGIONS_H

#include "tools/check-plan/plan.h"

#include <array>
#include <unordered_map>

namespace baton::check {

/// An index of a buffer, a grid or a mesh.
using Index = std::array<int64_t, max_dimensions>;

/// To the next index of a box, `by` further along one dimension; at the end
/// back to the first, and false.
bool step(Index &index, const Index &low, const Index &high, size_t rank,
          size_t along = max_dimensions, int64_t by = 1);

/// "[3, 5]"
std::string listed(const int64_t *numbers, size_t count);

/// Of a copy of a buffer, as a call uses it: so many bytes further on.
struct Box {
  int64_t program, buffer, copy, shift;
  Index low{}, high{};

  bool operator==(const Box &) const = default;
};

class Regions {
public:
  static constexpr uint32_t none = ~0u;

  explicit Regions(const Plan &plan);

  /// The number of a box, whose bounds lie within the capacity. None when it is
  /// empty.
  uint32_t add(const Call &call, uint32_t buffer, int64_t copy,
               const Index &low, const Index &high);
  size_t count_boxes() const { return boxes.size(); }
  /// Behind the last byte of a box, in its buffer's storage.
  int64_t end(uint32_t box) const;
  /// Whether two elements of the boxes, which are of one buffer, have a byte in
  /// common.
  bool overlap(const std::vector<uint32_t> &numbers) const;
  /// Behind all boxes: finds the regions.
  void finish();

  /// Storages of one number are cut alike; their memory need not be the same.
  uint32_t storage(uint32_t program, uint32_t buffer) const {
    return numbers[program][plan.programs[program].buffers[buffer].storage];
  }
  size_t count_regions(uint32_t storage) const {
    return storages[storage].bytes.size();
  }
  /// Of a box, in a storage.
  const std::vector<uint32_t> &of(uint32_t box) const { return regions[box]; }
  bool has(uint32_t box, uint32_t region) const;
  /// "@x[3, 5]": an element of the box in the region.
  std::string element(uint32_t box, uint32_t region) const;

private:
  struct Storage {
    std::vector<uint32_t> boxes;
    /// Of each region, the first byte.
    std::vector<int64_t> bytes;
  };
  struct Hash {
    size_t operator()(const Box &box) const;
  };

  const Buffer &buffer(const Box &box) const {
    return plan.programs[box.program].buffers[box.buffer];
  }
  template <typename Visitor>
  void visit_runs(const Box &box, Visitor &&visit) const;
  void cut(Storage &storage);

  const Plan &plan;
  /// Of each program's storages.
  std::vector<std::vector<uint32_t>> numbers;
  std::vector<Storage> storages;
  std::unordered_map<Box, uint32_t, Hash> known;
  std::vector<const Box *> boxes;
  std::vector<std::vector<uint32_t>> regions;
  /// While a storage is cut, of each box: how often it has the piece, and
  /// whether it is among those that may.
  std::vector<uint32_t> depths;
  std::vector<bool> is_open;
};

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_REGIONS_H
