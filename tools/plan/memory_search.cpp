//===- memory_search.cpp - which layers stay in memory under a cap --------===//

#include "tools/plan/memory_search.h"

#include "runtime/execute/paged_region.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

using namespace baton;
using namespace baton::plan;

//===----------------------------------------------------------------------===//
// The tier
//===----------------------------------------------------------------------===//

static double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun)
      .count();
}

/// Bytes a second of a file that is read behind the system's back: its pages
/// are dropped before.
static double disk_rate(const std::filesystem::path &folder, uint64_t bytes) {
  std::string name = (folder / "tier.XXXXXX").string();
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0)
    return 0;
  unlink(name.c_str());
  std::vector<char> piece(size_t(1) << 20, 1);
  double rate = 0;
  uint64_t written = 0;
  while (written < bytes && write(file, piece.data(), piece.size()) ==
                                static_cast<ssize_t>(piece.size()))
    written += piece.size();
  if (written == bytes && fdatasync(file) == 0 &&
      posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0) {
    const auto begun = std::chrono::steady_clock::now();
    uint64_t read = 0;
    while (read < bytes) {
      const ssize_t count =
          pread(file, piece.data(), piece.size(), static_cast<off_t>(read));
      if (count <= 0)
        break;
      read += static_cast<uint64_t>(count);
    }
    rate = double(read) / seconds_since(begun);
  }
  close(file);
  return rate;
}

TierRates plan::measure_tier(const std::filesystem::path &folder, uint64_t file,
                             uint64_t free) {
  constexpr uint64_t bytes = uint64_t(64) << 20, most = bytes / 4;
  PagedRegion region(folder, bytes, most,
                     {TieredLayers::chunk_bytes, {{0, bytes}}, {}});
  // The first time pages are made; then they come and go.
  TierRates rates;
  for (int round = 0; round < 4; ++round) {
    const auto begun = std::chrono::steady_clock::now();
    for (uint64_t begin = 0; begin < bytes; begin += most) {
      region.fetch({begin, most});
      std::memset(region.data() + begin, round, most);
      region.release({begin, most});
    }
    const double whole = seconds_since(begun);
    const auto again = std::chrono::steady_clock::now();
    std::memset(region.data() + bytes - most, round, most);
    // What is written costs the computation, not the move.
    const double own = seconds_since(again) * double(bytes) / double(most);
    if (round > 0)
      rates.mapped = std::max(rates.mapped,
                              double(bytes) / std::max(whole - own, whole / 8));
  }
  rates.disk = disk_rate(folder, bytes);
  if (file > free)
    rates.uncached = double(file - free) / double(file);
  return rates;
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

/// What one direction waits for beside its computation: `moved` in the order in
/// which it takes layers.
static double waited(const std::vector<uint64_t> &moved, double computation,
                     const TierRates &rates) {
  double seconds = 0;
  for (size_t i = 0; i < moved.size(); ++i) {
    seconds += double(moved[i]) / rates.mapped;
    if (rates.uncached == 0)
      continue;
    const double read = double(moved[i]) * rates.uncached / rates.disk;
    // Nobody has asked for the first one before.
    seconds += i == 0 ? read : std::max(0.0, read - computation);
  }
  return seconds;
}

MemoryPlan plan::plan_of(const TieredLayers &layers, const LayerTimes &times,
                         const Residence &residence, unsigned workers,
                         const TierRates &rates) {
  const TieredLayers::Moved moved = layers.moved(residence, workers);
  MemoryPlan plan;
  plan.slots = layers.slots();
  plan.residence = residence;
  plan.layer_bytes = layers.peak(residence, workers);
  plan.computation =
      times.others + layers.layers() * (times.forward + times.backward);
  plan.forward = waited(moved.forward, times.forward, rates);
  std::vector<uint64_t> backward(moved.backward.rbegin(),
                                 moved.backward.rend());
  plan.backward = waited(backward, times.backward, rates);
  plan.update = double(moved.update) / rates.mapped;
  if (rates.uncached > 0)
    plan.update += double(moved.update) * rates.uncached / rates.disk;
  return plan;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

static bool is_better(const MemoryPlan &plan, uint64_t fixed,
                      const std::optional<MemoryPlan> &best,
                      uint64_t best_fixed) {
  if (!best)
    return true;
  if (plan.seconds() != best->seconds())
    return plan.seconds() < best->seconds();
  return fixed + plan.layer_bytes < best_fixed + best->layer_bytes;
}

MemorySearchResult plan::search_memory(const MemorySearchOptions &options) {
  MemorySearchResult result;
  for (size_t number = 0; number < options.programs.size(); ++number) {
    const MemoryProgram &program = options.programs[number];
    const uint32_t layers = program.layers.layers();
    const uint64_t room =
        options.most > program.fixed ? options.most - program.fixed : 0;
    std::optional<MemoryPlan> own;
    const uint32_t most_slots = std::min(options.most_slots, layers);
    for (uint32_t slots = 1; slots <= most_slots; ++slots) {
      TieredLayers sized = program.layers;
      sized.set_slots(slots);
      for (uint32_t swapped = 0; swapped <= layers; ++swapped) {
        result.all += layers + 1;
        for (uint32_t persistent = 0; persistent <= layers; ++persistent) {
          // More layers that stay take more.
          if (sized.peak({persistent, swapped}, options.workers) > room)
            break;
          MemoryPlan plan = plan_of(sized, program.times, {persistent, swapped},
                                    options.workers, options.rates);
          plan.program = number;
          ++result.timed;
          if (is_better(plan, program.fixed, own, program.fixed))
            own = plan;
        }
        // Nothing waits for moves: no other numbers are faster.
        if (own && own->seconds() == own->computation)
          break;
      }
    }
    if (own &&
        is_better(*own, program.fixed, result.best,
                  result.best ? options.programs[result.best->program].fixed
                              : 0))
      result.best = own;
    result.of_program.push_back(own);
  }
  return result;
}
