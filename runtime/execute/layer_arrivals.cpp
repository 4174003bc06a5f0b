//===- layer_arrivals.cpp - layers come from files while a step runs ------===//

#include "runtime/execute/layer_arrivals.h"

#include "runtime/comm/job_end.h"
#include "runtime/weights/memory.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <sys/mman.h>

namespace baton {

/// Of a transfer: enough for a disk, and little enough for several threads.
constexpr uint64_t transfer_bytes = uint64_t(1) << 20;

LayerArrivals::LayerArrivals(const OffloadingDescription &description,
                             const OffloadedLayers *weights,
                             const std::optional<OffloadedPages> &pages,
                             const BatchCapacities &shape,
                             void *const *storages, const BatchInputs &inputs)
    : description(description), weights(weights), layers(description.layers()),
      staying_pages(pages ? std::min(pages->staying, shape.pages)
                          : shape.pages),
      ahead(!pages || pages->ahead), storages(storages), inputs(inputs),
      line_entries(shape.line_entries()), is_read(shape.pages),
      is_written(shape.pages), weights_job(layers), weights_asked(layers),
      loads(layers) {
  if (staying_pages < shape.pages) {
    uint64_t bytes = 0;
    for (const OffloadingDescription::Stack &stack : description.stacks) {
      std::vector<uint64_t> &begins = state_begins.emplace_back();
      for (const OffloadingDescription::State &state : stack.states) {
        begins.push_back(bytes);
        const uint64_t size = shape.pages * state.page_bytes;
        bytes += round_up(size, DirectFile::unit);
        // Parts of it come and go.
        madvise(storages[state.storage], size, MADV_NOHUGEPAGE);
      }
    }
    page_file =
        std::make_unique<DirectFile>(pages->folder, bytes, "--offload-dir");
  }
  for (unsigned i = 0; i < movers; ++i)
    threads.emplace_back([this] { move(); });
}

LayerArrivals::~LayerArrivals() {
  {
    std::lock_guard lock(mutex);
    ends = true;
  }
  work.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void LayerArrivals::begin_step(uint32_t rows) {
  ++counted.steps;
  // What the step before has left in memory is of its last layer, and leaves
  // by these lists.
  if (page_file && counted.steps > 1 && next_layer == 0) {
    std::vector<Transfer> leaving;
    add_leaving(layers - 1, leaving);
    pages_job = ask(std::move(leaving));
  }
  for (int32_t page : read_pages)
    is_read[static_cast<size_t>(page)] = 0;
  for (int32_t page : written_pages)
    is_written[static_cast<size_t>(page)] = 0;
  read_pages.clear();
  written_pages.clear();
  if (!page_file)
    return;
  auto note = [&](int32_t page, std::vector<uint8_t> &is_in,
                  std::vector<int32_t> &list) {
    const auto number = static_cast<size_t>(page);
    if (number < staying_pages || is_in[number])
      return;
    is_in[number] = 1;
    list.push_back(page);
  };
  for (uint32_t row = 0; row < rows; ++row) {
    const auto sequence = static_cast<uint64_t>(inputs.sequences[row]);
    const int32_t *line = inputs.pages + sequence * line_entries;
    for (int32_t b = 0; b <= inputs.positions[row] / int32_t(page_positions);
         ++b)
      note(line[b], is_read, read_pages);
    const int32_t page = inputs.slots[row] / int32_t(page_positions);
    note(page, is_read, read_pages);
    note(page, is_written, written_pages);
  }
}

int32_t LayerArrivals::arrive(void *self) {
  auto *arrivals = static_cast<LayerArrivals *>(self);
  try {
    return arrivals->wait_for_next();
  } catch (const std::exception &failure) {
    // Called by compiled code, through which no exception may pass, and other
    // workers wait for what will never come.
    end_process(failure.what());
  }
}

int32_t LayerArrivals::wait_for_next() {
  const uint64_t layer = next_layer;
  next_layer = layer + 1 == layers ? 0 : layer + 1;
  std::vector<Transfer> wanted;
  if (!weights_asked[layer]) {
    add_weights(layer, wanted);
    weights_job[layer] = ask(std::exchange(wanted, {}));
    weights_asked[layer] = 1;
  }
  if (page_file && (layer == 0 || !ahead)) {
    add_pages(layer, wanted);
    pages_job = ask(std::exchange(wanted, {}));
  }
  const auto begin = std::chrono::steady_clock::now();
  {
    std::unique_lock lock(mutex);
    const uint64_t last = std::max(weights_job[layer], pages_job);
    arrival.wait(lock, [&] { return finished >= last || failure; });
    if (failure)
      std::rethrow_exception(failure);
  }
  counted.waited +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  // From here on nobody reads what the layer before had.
  weights_asked[layer] = 0;
  if (page_file && layer > 0) {
    add_leaving(layer - 1, wanted);
    ask(std::exchange(wanted, {}));
  }
  if (!ahead)
    return static_cast<int32_t>(layer);
  if (!weights_asked[next_layer]) {
    add_weights(next_layer, wanted);
    weights_job[next_layer] = ask(std::exchange(wanted, {}));
    weights_asked[next_layer] = 1;
  }
  if (page_file && next_layer > 0) {
    add_pages(next_layer, wanted);
    pages_job = ask(std::exchange(wanted, {}));
  }
  return static_cast<int32_t>(layer);
}

void LayerArrivals::add_weights(uint64_t layer, std::vector<Transfer> &to) {
  if (!weights || weights->layers[layer].empty())
    return;
  ++loads[layer];
  counted.most_loads = std::max(counted.most_loads, loads[layer]);
  counted.least_loads = counted.most_loads;
  for (uint64_t i = 0; i < layers; ++i)
    if (!weights->layers[i].empty())
      counted.least_loads = std::min(counted.least_loads, loads[i]);
  for (const LayerTransfer &part : weights->layers[layer])
    for (uint64_t done = 0; done < part.bytes; done += transfer_bytes)
      to.push_back(
          {Transfer::Kind::weights, weights->file.get(), part.offset + done,
           std::min(transfer_bytes, part.bytes - done), part.to + done});
}

/// Of a page's keys and values of one layer: the pages of memory that are of
/// nothing else. Those that are stay.
template <typename Action>
void LayerArrivals::each_chunk(uint64_t layer, int32_t page,
                               const Action &action) const {
  uint64_t first = 0;
  size_t number = 0;
  while (layer >= first + description.stacks[number].layers)
    first += description.stacks[number++].layers;
  const OffloadingDescription::Stack &stack = description.stacks[number];
  for (size_t i = 0; i < stack.states.size(); ++i) {
    const OffloadingDescription::State &state = stack.states[i];
    const uint64_t offset = static_cast<uint64_t>(page) * state.page_bytes +
                            (layer - first) * state.layer_bytes;
    const uint64_t begin = round_up(offset, DirectFile::unit);
    const uint64_t end =
        (offset + state.layer_bytes) / DirectFile::unit * DirectFile::unit;
    if (begin < end)
      action(state_begins[number][i] + begin, end - begin,
             static_cast<std::byte *>(storages[state.storage]) + begin);
  }
}

void LayerArrivals::add_pages(uint64_t layer, std::vector<Transfer> &to) const {
  for (int32_t page : read_pages)
    each_chunk(layer, page,
               [&](uint64_t offset, uint64_t bytes, std::byte *at) {
                 to.push_back({Transfer::Kind::load_page, page_file.get(),
                               offset, bytes, at});
               });
}

void LayerArrivals::add_leaving(uint64_t layer,
                                std::vector<Transfer> &to) const {
  for (int32_t page : read_pages) {
    const bool changed = is_written[static_cast<size_t>(page)];
    each_chunk(layer, page,
               [&](uint64_t offset, uint64_t bytes, std::byte *at) {
                 to.push_back({changed ? Transfer::Kind::store_page
                                       : Transfer::Kind::drop,
                               page_file.get(), offset, bytes, at});
               });
  }
}

LayerTraffic LayerArrivals::traffic() const {
  std::lock_guard lock(mutex);
  return counted;
}

/// The number of the job, at which all before it are done, too.
uint64_t LayerArrivals::ask(std::vector<Transfer> transfers) {
  std::lock_guard lock(mutex);
  if (transfers.empty())
    return asked;
  jobs.push_back({std::move(transfers)});
  ++asked;
  work.notify_all();
  return asked;
}

void LayerArrivals::move() {
  std::unique_lock lock(mutex);
  for (;;) {
    work.wait(lock, [&] {
      return ends || (!jobs.empty() &&
                      jobs.front().begun < jobs.front().transfers.size());
    });
    if (ends)
      return;
    Job &job = jobs.front();
    const Transfer transfer = job.transfers[job.begun++];
    lock.unlock();
    std::exception_ptr problem;
    try {
      carry_out(transfer);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    if (problem && !failure)
      failure = problem;
    switch (transfer.kind) {
    case Transfer::Kind::weights:
      counted.weights_read += transfer.bytes;
      break;
    case Transfer::Kind::load_page:
      counted.pages_read += transfer.bytes;
      break;
    case Transfer::Kind::store_page:
      counted.pages_written += transfer.bytes;
      break;
    case Transfer::Kind::drop:
      break;
    }
    if (++job.done == job.transfers.size()) {
      jobs.pop_front();
      ++finished;
      work.notify_all();
      arrival.notify_all();
    } else if (failure) {
      arrival.notify_all();
    }
  }
}

void LayerArrivals::carry_out(const Transfer &transfer) {
  switch (transfer.kind) {
  case Transfer::Kind::weights:
  case Transfer::Kind::load_page:
    return transfer.file->read(transfer.at, transfer.bytes, transfer.offset);
  case Transfer::Kind::store_page:
    transfer.file->write(transfer.at, transfer.bytes, transfer.offset);
    [[fallthrough]];
  case Transfer::Kind::drop:
    madvise(transfer.at, transfer.bytes, MADV_DONTNEED);
  }
}

} // namespace baton
