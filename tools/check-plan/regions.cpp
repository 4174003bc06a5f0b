//===- regions.cpp - which boxes of buffers have bytes in common ----------===//

#include "tools/check-plan/unroll.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>

using namespace baton::check;

/// Memory that is free between programs is each program's own.
Regions::Regions(const Plan &plan) : plan(plan) {
  std::map<std::pair<std::string, size_t>, uint32_t> shared;
  for (const Program &program : plan.programs) {
    numbers.emplace_back();
    for (const auto &[name, bytes, scope, slot] : program.storages) {
      const bool own = scope == check::Storage::Scope::Transient;
      numbers.back().push_back(
          shared.try_emplace({name, own ? numbers.size() : 0}, shared.size())
              .first->second);
    }
  }
  storages.resize(shared.size());
}

size_t Regions::Hash::operator()(const Box &box) const {
  static_assert(std::has_unique_object_representations_v<Box>);
  return std::hash<std::string_view>()(
      {reinterpret_cast<const char *>(&box), sizeof(Box)});
}

uint32_t Regions::add(const Call &call, uint32_t number, int64_t copy,
                      const Index &low, const Index &high) {
  const Program &program = plan.programs[call.program];
  const Buffer &buffer = program.buffers[number];
  const check::Storage &storage = program.storages[buffer.storage];
  const int64_t place = storage.slot == "microbatch" ? call.microbatch
                        : storage.slot == "chunk"    ? call.chunk
                                                     : 0;
  for (size_t d = 0; d < buffer.strides.rank; ++d)
    if (low[d] >= high[d])
      return none;
  const Box box{call.program, number, copy, place * storage.bytes, low, high};
  auto [found, is_new] = known.try_emplace(box, uint32_t(boxes.size()));
  if (is_new) {
    storages[this->storage(call.program, number)].boxes.push_back(
        found->second);
    boxes.push_back(&found->first);
  }
  return found->second;
}

/// Calls with where runs of adjacent bytes begin and end.
template <typename Visitor>
void Regions::visit_runs(const Box &box, Visitor &&visit) const {
  const Buffer &of = buffer(box);
  // Elements follow one another along a dimension: all of those behind it, or
  // so many as are interleaved.
  const bool interleaved = of.interleave > 1;
  const int64_t group =
      of.interleave_columns > 1 ? of.interleave_columns : of.interleave;
  size_t rank = of.strides.rank, along = max_dimensions;
  int64_t length = 1;
  if (interleaved)
    along = of.interleave_columns > 1 ? rank - 1 : 0;
  else
    while (rank > 0 && (of.strides[rank - 1] == length ||
                        box.high[rank - 1] - box.low[rank - 1] == 1))
      --rank, length *= box.high[rank] - box.low[rank];
  Index index = box.low;
  int64_t begin = 0, end = -1;
  do {
    if (interleaved)
      length = std::min((index[along] / group + 1) * group, box.high[along]) -
               index[along];
    const int64_t at =
        of.address(index, box.copy) * of.element_bytes + box.shift;
    if (at != end) {
      if (end >= 0)
        visit(begin, end);
      begin = at;
    }
    end = at + length * of.element_bytes;
  } while (step(index, box.low, box.high, rank, along, length));
  visit(begin, end);
}

int64_t Regions::end(uint32_t box) const {
  int64_t result = 0;
  visit_runs(*boxes[box], [&](int64_t, int64_t end) {
    result = std::max(result, end - boxes[box]->shift);
  });
  return result;
}

bool Regions::overlap(const std::vector<uint32_t> &all) const {
  std::vector<std::pair<int64_t, int64_t>> runs;
  for (uint32_t box : all)
    visit_runs(*boxes[box], [&](int64_t begin, int64_t end) {
      runs.emplace_back(begin, end);
    });
  std::sort(runs.begin(), runs.end());
  for (size_t i = 1; i < runs.size(); ++i)
    if (runs[i].first < runs[i - 1].second)
      return true;
  return false;
}

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// From piece to piece. The sum of random numbers of the boxes in which a piece
/// lies tells whether there was one in the same: of 128 bits, so that two sums
/// are not equal by chance.
void Regions::cut(Storage &storage) {
  struct Edge {
    int64_t byte;
    uint32_t box;
    int32_t change;
  };
  std::vector<Edge> edges;
  for (uint32_t box : storage.boxes)
    visit_runs(*boxes[box], [&](int64_t begin, int64_t end) {
      edges.push_back({begin, box, 1});
      edges.push_back({end, box, -1});
    });
  std::sort(edges.begin(), edges.end(), [](const Edge &one, const Edge &other) {
    return one.byte < other.byte;
  });
  unsigned __int128 sum = 0;
  auto hash = [](unsigned __int128 sum) { return size_t(sum); };
  std::unordered_set<unsigned __int128, decltype(hash)> sums;
  sums.insert(0);
  std::vector<uint32_t> open;
  for (size_t i = 0; i < edges.size(); ++i) {
    const auto &[byte, box, change] = edges[i];
    sum += change * ((unsigned __int128)mix(box) << 64 | mix(~uint64_t(box)));
    depths[box] += change;
    if (change > 0 && !is_open[box])
      open.push_back(box), is_open[box] = true;
    if ((i + 1 < edges.size() && edges[i + 1].byte == byte) ||
        !sums.insert(sum).second)
      continue;
    std::erase_if(
        open, [&](uint32_t box) { return !(is_open[box] = depths[box] > 0); });
    for (uint32_t box : open)
      regions[box].push_back(uint32_t(storage.bytes.size()));
    storage.bytes.push_back(byte);
  }
}

void Regions::finish() {
  regions.resize(boxes.size());
  depths.resize(boxes.size());
  is_open.resize(boxes.size());
  for (Storage &storage : storages)
    cut(storage);
}

bool Regions::has(uint32_t box, uint32_t region) const {
  return std::binary_search(of(box).begin(), of(box).end(), region);
}

std::string Regions::element(uint32_t number, uint32_t region) const {
  const Box &box = *boxes[number];
  const Buffer &in = buffer(box);
  const size_t rank = in.strides.rank;
  const int64_t byte =
      storages[storage(box.program, box.buffer)].bytes[region] - box.shift;
  Index index = box.low;
  for (bool more = true; more; more = step(index, box.low, box.high, rank)) {
    const int64_t past = byte - in.address(index, box.copy) * in.element_bytes;
    if (past >= 0 && past < in.element_bytes)
      break;
  }
  return in.layers > 1 ? text("@", in.name, index, " of copy ", box.copy)
                       : text("@", in.name, index);
}
