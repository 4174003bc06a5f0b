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

#include <span>
#include <unordered_map>

namespace baton::check {

class Regions {
public:
  static constexpr uint32_t none = ~0u;

  struct Box {
    uint32_t program, buffer;
    /// Storages of one number are cut alike; their memory need not be the same.
    uint32_t storage;
    int64_t copy, shift;
    /// Where its bounds and regions begin.
    size_t bounds, first = 0, count = 0;
  };

  explicit Regions(const Plan &plan) : plan(plan) {}

  /// Of a copy of a buffer, as a call uses it; bounds lie within the capacity.
  /// None when it is empty.
  uint32_t add(const Call &call, uint32_t buffer, int64_t copy,
               std::span<const int64_t> low, std::span<const int64_t> high);
  /// Behind the last byte of a box, in its buffer's storage.
  int64_t end(uint32_t box) const;
  /// Whether two elements of the boxes, which are of one buffer, have a byte in
  /// common.
  bool overlap(std::span<const uint32_t> numbers) const;
  /// Behind all boxes: finds the regions.
  void finish();

  size_t count_boxes() const { return boxes.size(); }
  const Box &box(uint32_t number) const { return boxes[number]; }
  std::span<const uint32_t> regions(uint32_t number) const {
    return {list.data() + boxes[number].first, boxes[number].count};
  }
  size_t count_regions(uint32_t storage) const {
    return storages[storage].regions;
  }
  /// "@x[3, 5]": an element of the box in the region.
  std::string element(uint32_t number, uint32_t region) const;

private:
  struct Cut {
    std::vector<uint32_t> boxes;
    /// Of each region, a byte.
    std::vector<int64_t> bytes;
    size_t regions = 0;
  };
  class Points;

  const Buffer &buffer(const Box &box) const {
    return plan.programs[box.program].buffers[box.buffer];
  }
  uint32_t storage_number(const Call &call, const Storage &storage);
  template <typename Visitor>
  void visit_runs(const Box &box, Visitor &&visit) const;
  void cut(Cut &storage);

  const Plan &plan;
  std::vector<Box> boxes;
  std::vector<int64_t> pool;
  std::unordered_multimap<uint64_t, uint32_t> known;
  std::map<std::string, uint32_t> numbers;
  std::vector<Cut> storages;
  std::vector<uint32_t> list;
};

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_REGIONS_H
