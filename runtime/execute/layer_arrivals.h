//===- layer_arrivals.h - layers come from files while a step runs --------===//
//
// A program that was compiled with --offload has a task at the beginning of
// each layer, which waits here until what the layer reads is in memory
// (runtime/layer_arrival.h). Threads of their own move what is to be moved,
// past the system's cache:
//
//   weights       into the layer's place of the ring, each once in a step, for
//                 all sequences of it. Behind the last layer the first one's of
//                 the next step come.
//   keys, values  of pages beyond those that stay, as far as the step's
//                 sequences have them, into the places that they always have.
//                 When the next layer has begun, what the step has written goes
//                 to the file, and their memory back to the system.
//
// While a layer computes, the next one comes. The first layer's keys and values
// are asked for when the step begins.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_LAYER_ARRIVALS_H
#define BATON_RUNTIME_EXECUTE_LAYER_ARRIVALS_H

#include "runtime/execute/batch_inputs.h"
#include "runtime/files/direct_file.h"
#include "runtime/weights/parameters.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace baton {

/// Pages of keys and values of which only the first ones are in memory all the
/// time.
struct OffloadedPages {
  uint64_t staying = 0;
  std::filesystem::path folder = ".";
  /// Whether a layer comes while the one before computes; else, for
  /// comparison, when that is done.
  bool ahead = true;
};

/// What was moved since the program was loaded.
struct LayerTraffic {
  uint64_t steps = 0;
  /// Bytes of files.
  uint64_t weights_read = 0, pages_read = 0, pages_written = 0;
  /// How often the weights of a layer came: the most and the least of all
  /// layers that move, of which there may be none.
  uint64_t most_loads = 0, least_loads = 0;
  /// Seconds in which tasks waited for layers.
  double waited = 0;
};

class LayerArrivals {
public:
  /// `weights` may be null. Storages are the program's; `pages`, if given, says
  /// how many of their pages stay. Throws Error, naming --offload-dir, when the
  /// file of the others cannot be made.
  LayerArrivals(const OffloadingDescription &description,
                const OffloadedLayers *weights,
                const std::optional<OffloadedPages> &pages,
                const BatchCapacities &shape, void *const *storages,
                const BatchInputs &inputs);
  LayerArrivals(const LayerArrivals &) = delete;
  LayerArrivals &operator=(const LayerArrivals &) = delete;
  ~LayerArrivals();

  /// A step of so many rows begins, whose inputs are there; none of its tasks
  /// runs yet.
  void begin_step(uint32_t rows);
  /// What tasks call: see BatonLayerArrival. Ends the process with one line
  /// when a file fails.
  static int32_t arrive(void *self);

  /// While no step runs.
  LayerTraffic traffic() const;

  /// Threads that move.
  static constexpr unsigned movers = 4;

private:
  struct Transfer {
    enum class Kind { weights, load_page, store_page, drop } kind;
    const DirectFile *file;
    uint64_t offset, bytes;
    std::byte *at;
  };
  /// Transfers of which none begins before all of the job before are done.
  struct Job {
    std::vector<Transfer> transfers;
    size_t begun = 0, done = 0;
  };
  int32_t wait_for_next();
  uint64_t ask(std::vector<Transfer> transfers);
  void add_weights(uint64_t layer, std::vector<Transfer> &to);
  void add_pages(uint64_t layer, std::vector<Transfer> &to) const;
  void add_leaving(uint64_t layer, std::vector<Transfer> &to) const;
  template <typename Action>
  void each_chunk(uint64_t layer, int32_t page, const Action &action) const;
  void move();
  void carry_out(const Transfer &transfer);

  const OffloadingDescription description;
  const OffloadedLayers *const weights;
  const uint64_t layers, staying_pages;
  const bool ahead;
  void *const *const storages;
  const BatchInputs inputs;
  const uint64_t line_entries;
  /// Where each state begins in the file of pages.
  std::vector<std::vector<uint64_t>> state_begins;
  std::unique_ptr<DirectFile> page_file;

  /// Of the step: pages that its sequences have, and those that it writes; none
  /// of those that stay.
  std::vector<int32_t> read_pages, written_pages;
  /// By page: whether it is in one of these lists.
  std::vector<uint8_t> is_read, is_written;
  uint64_t next_layer = 0;
  /// The job after which a layer's weights, and its pages, are there.
  std::vector<uint64_t> weights_job;
  std::vector<uint8_t> weights_asked;
  uint64_t pages_job = 0;
  std::vector<uint64_t> loads;

  mutable std::mutex mutex;
  std::condition_variable work, arrival;
  std::deque<Job> jobs;
  /// Jobs finished, of all that there were.
  uint64_t finished = 0, asked = 0;
  bool ends = false;
  std::exception_ptr failure;
  LayerTraffic counted;
  std::vector<std::thread> threads;
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_LAYER_ARRIVALS_H
