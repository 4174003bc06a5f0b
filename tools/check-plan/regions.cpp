//===- regions.cpp - which boxes of buffers have bytes in common ----------===//

#include "tools/check-plan/regions.h"

#include <algorithm>
#include <bit>
#include <numeric>

using namespace baton::check;

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Memory that is free between programs is each program's own.
uint32_t Regions::storage_number(const Call &call, const Storage &storage) {
  std::string key = storage.name;
  if (storage.scope == Storage::Scope::Transient)
    key += '\n' + std::to_string(call.program);
  auto [found, is_new] = numbers.emplace(key, uint32_t(storages.size()));
  if (is_new)
    storages.emplace_back();
  return found->second;
}

uint32_t Regions::add(const Call &call, uint32_t buffer, int64_t copy,
                      std::span<const int64_t> low,
                      std::span<const int64_t> high) {
  for (size_t d = 0; d < low.size(); ++d)
    if (low[d] >= high[d])
      return none;
  const Program &program = plan.programs[call.program];
  const Storage &storage = program.storages[program.buffers[buffer].storage];
  const int64_t place = storage.slot == "microbatch" ? call.microbatch
                        : storage.slot == "chunk"    ? call.chunk
                                                     : 0;
  Box box{
      call.program,          buffer,     storage_number(call, storage), copy,
      place * storage.bytes, pool.size()};
  uint64_t hash = mix(call.program ^ mix(buffer ^ mix(copy ^ mix(box.shift))));
  for (size_t d = 0; d < low.size(); ++d)
    hash = mix(hash ^ mix(low[d] ^ mix(high[d])));
  auto [begin, end] = known.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Box &other = boxes[it->second];
    if (other.program == box.program && other.buffer == buffer &&
        other.copy == copy && other.shift == box.shift &&
        std::equal(low.begin(), low.end(), pool.begin() + other.bounds) &&
        std::equal(high.begin(), high.end(),
                   pool.begin() + other.bounds + low.size()))
      return it->second;
  }
  pool.insert(pool.end(), low.begin(), low.end());
  pool.insert(pool.end(), high.begin(), high.end());
  const uint32_t number = uint32_t(boxes.size());
  known.emplace(hash, number);
  storages[box.storage].boxes.push_back(number);
  boxes.push_back(box);
  return number;
}

int64_t Regions::end(uint32_t number) const {
  int64_t result = 0;
  visit_runs(boxes[number], [&](int64_t, int64_t end) {
    result = std::max(result, end - boxes[number].shift);
  });
  return result;
}

/// Calls with where runs of adjacent bytes begin and end.
template <typename Visitor>
void Regions::visit_runs(const Box &box, Visitor &&visit) const {
  const Buffer &of = buffer(box);
  const size_t rank = of.strides.size();
  const int64_t *low = pool.data() + box.bounds, *high = low + rank;
  // Dimensions behind `outer` are one run; of what is interleaved, runs are
  // parts of one dimension.
  const bool interleaved = of.interleave > 1;
  const size_t along = of.interleave_columns > 1 ? rank - 1 : 0;
  const int64_t group =
      of.interleave_columns > 1 ? of.interleave_columns : of.interleave;
  size_t outer = rank;
  int64_t length = 1;
  while (!interleaved && outer > 0 &&
         (of.strides[outer - 1] == length ||
          high[outer - 1] - low[outer - 1] == 1))
    --outer, length *= high[outer] - low[outer];
  int64_t index[max_dimensions], begin = 0, end = -1;
  std::copy(low, low + rank, index);
  for (;;) {
    if (interleaved)
      length = std::min((index[along] / group + 1) * group, high[along]) -
               index[along];
    const int64_t at =
        of.address(index, box.copy) * of.element_bytes + box.shift;
    if (at != end) {
      if (end >= 0)
        visit(begin, end);
      begin = at;
    }
    end = at + length * of.element_bytes;
    if (interleaved) {
      if ((index[along] += length) < high[along])
        continue;
      index[along] = low[along];
    }
    size_t d = outer;
    while (d > 0 &&
           ((interleaved && d - 1 == along) || ++index[d - 1] >= high[d - 1])) {
      --d;
      index[d] = low[d];
    }
    if (d == 0)
      return visit(begin, end);
  }
}

bool Regions::overlap(std::span<const uint32_t> numbers) const {
  std::vector<std::pair<int64_t, int64_t>> runs;
  for (uint32_t number : numbers)
    visit_runs(boxes[number], [&](int64_t begin, int64_t end) {
      runs.emplace_back(begin, end);
    });
  std::sort(runs.begin(), runs.end());
  for (size_t i = 1; i < runs.size(); ++i)
    if (runs[i].first < runs[i - 1].second)
      return true;
  return false;
}

/// Where runs begin and end, as numbers from 0 on.
class Regions::Points {
public:
  void add(int64_t point) { points.push_back(point); }

  void finish() {
    int64_t last = 0;
    unit = 0;
    for (int64_t point : points) {
      last = std::max(last, point);
      unit = std::gcd(unit, point);
    }
    unit = std::max<int64_t>(unit, 1);
    // A bit for each place is quicker to find than a sorted place, where it is
    // not too large.
    const size_t words = last / unit / 64 + 1;
    if (words > 4 * points.size() + 1024) {
      std::sort(points.begin(), points.end());
      points.erase(std::unique(points.begin(), points.end()), points.end());
      count = points.size();
      return;
    }
    bits.assign(words, 0);
    before.assign(words, 0);
    for (int64_t point : points)
      bits[point / unit / 64] |= uint64_t(1) << (point / unit % 64);
    for (size_t i = 0; i < words; ++i) {
      before[i] = uint32_t(count);
      count += std::popcount(bits[i]);
    }
    points = {};
  }

  size_t number(int64_t point) const {
    if (bits.empty())
      return std::lower_bound(points.begin(), points.end(), point) -
             points.begin();
    const size_t at = point / unit;
    const uint64_t low = (uint64_t(1) << (at % 64)) - 1;
    return before[at / 64] + std::popcount(bits[at / 64] & low);
  }

  size_t count = 0;

private:
  std::vector<int64_t> points;
  int64_t unit = 1;
  std::vector<uint64_t> bits;
  std::vector<uint32_t> before;
};

/// A piece's sum of its boxes' random numbers says in which boxes it lies: 128
/// bits, so that two sums are not equal by chance.
void Regions::cut(Cut &storage) {
  using Sum = std::pair<uint64_t, uint64_t>;
  Points points;
  for (uint32_t number : storage.boxes)
    visit_runs(boxes[number], [&](int64_t begin, int64_t end) {
      points.add(begin);
      points.add(end);
    });
  points.finish();
  std::vector<Sum> sums(points.count);
  std::vector<int64_t> bytes(points.count);
  for (uint32_t number : storage.boxes) {
    const Sum own(mix(number), mix(~uint64_t(number)));
    visit_runs(boxes[number], [&](int64_t begin, int64_t end) {
      const size_t first = points.number(begin), last = points.number(end);
      bytes[first] = begin;
      bytes[last] = end;
      sums[first].first += own.first;
      sums[first].second += own.second;
      sums[last].first -= own.first;
      sums[last].second -= own.second;
    });
  }
  struct Hash {
    size_t operator()(const Sum &sum) const { return sum.first; }
  };
  std::unordered_map<Sum, uint32_t, Hash> known_sums;
  std::vector<uint32_t> region_of(points.count);
  Sum sum;
  for (size_t i = 0; i < points.count; ++i) {
    sum.first += sums[i].first;
    sum.second += sums[i].second;
    auto [found, is_new] =
        known_sums.emplace(sum, uint32_t(storage.bytes.size()));
    if (is_new)
      storage.bytes.push_back(bytes[i]);
    region_of[i] = found->second;
  }
  storage.regions = storage.bytes.size();
  std::vector<uint32_t> seen(storage.regions, none);
  for (uint32_t number : storage.boxes) {
    Box &box = boxes[number];
    box.first = list.size();
    visit_runs(box, [&](int64_t begin, int64_t end) {
      const size_t last = points.number(end);
      for (size_t i = points.number(begin); i < last; ++i)
        if (seen[region_of[i]] != number) {
          seen[region_of[i]] = number;
          list.push_back(region_of[i]);
        }
    });
    box.count = list.size() - box.first;
  }
}

void Regions::finish() {
  for (Cut &storage : storages)
    cut(storage);
}

std::string Regions::element(uint32_t number, uint32_t region) const {
  const Box &of = boxes[number];
  const Buffer &in = buffer(of);
  const size_t rank = in.strides.size();
  const int64_t *low = pool.data() + of.bounds, *high = low + rank;
  const int64_t byte = storages[of.storage].bytes[region] - of.shift;
  int64_t index[max_dimensions];
  std::copy(low, low + rank, index);
  for (;;) {
    const int64_t at = in.address(index, of.copy) * in.element_bytes;
    if (at <= byte && byte < at + in.element_bytes)
      break;
    size_t d = rank;
    while (d > 0 && ++index[d - 1] >= high[d - 1])
      --d, index[d] = low[d];
    if (d == 0)
      break;
  }
  std::string text = "@" + in.name + "[";
  for (size_t d = 0; d < rank; ++d)
    text += (d ? ", " : "") + std::to_string(index[d]);
  text += "]";
  return in.layers > 1 ? text + " of copy " + std::to_string(of.copy) : text;
}
