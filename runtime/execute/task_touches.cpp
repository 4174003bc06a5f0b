//===- task_touches.cpp - what each task touches of a program's memory ----===//

#include "runtime/execute/task_touches.h"

#include "runtime/error.h"
#include "runtime/execute/program_memory.h"
#include "runtime/program.h"
#include "runtime/weights/memory.h"

#include <algorithm>
#include <utility>

/// How many watch. Programs look before each access (codegen/cpu/Touches.h).
extern "C" std::atomic<uint8_t> baton_touches_wanted = 0;

/// Of the sanitizer's runtime, in programs that have it.
extern "C" __attribute__((weak)) void __sanitizer_print_stack_trace();

namespace baton {

namespace {

constexpr size_t most_buffers = size_t(1) << 16;

} // namespace

thread_local TaskTouches::Worker *TaskTouches::running = nullptr;

void TaskTouches::Reach::add(const Reach &other) {
  planned = std::max(planned, other.planned);
  touched = std::max(touched, other.touched);
}

bool TaskTouches::Box::holds(uintptr_t address, uint64_t length) const {
  uint64_t offset = address - first; // huge before the box
  if (offset >= bytes || length > bytes - offset)
    return false;
  return row_bytes >= row_stride || offset % row_stride + length <= row_bytes;
}

TaskTouches::TaskTouches(const Metadata &metadata, unsigned workers)
    : metadata(metadata), workers(workers), holders(metadata.storages.size()),
      names(most_buffers) {
  if (!is_watched())
    throw Error("this program does not say what it touches; compile it with "
                "--sanitize=address");
  ++baton_touches_wanted;
}

TaskTouches::~TaskTouches() { --baton_touches_wanted; }

bool TaskTouches::is_shared(size_t storage) const {
  const StorageDescription &description = metadata.storages[storage];
  return !description.state && !description.persistent;
}

void TaskTouches::enter(void *const *storages, std::span<const Used> uses) {
  ++entered;
  bases = storages;
  used.assign(uses.begin(), uses.end());
  used_bytes.assign(metadata.storages.size(), 0);
  for (const Used &use : used)
    used_bytes[use.storage] = use.bytes;
  for (const Used &use : used) {
    if (use.holds_activations)
      planned[use.storage] = std::max(planned[use.storage], use.bytes);
    if (!is_shared(use.storage))
      continue;
    const uint64_t grains =
        (metadata.storages[use.storage].bytes + grain - 1) / grain;
    std::unique_ptr<uint16_t[]> &first = holders[use.storage];
    if (!first)
      first.reset(new uint16_t[grains]);
    std::fill_n(first.get(), grains, uint16_t(0));
  }
}

size_t TaskTouches::storage_of(const Worker &worker, uintptr_t address) const {
  auto after = worker.by_address.upper_bound(address);
  if (after == worker.by_address.begin())
    return metadata.storages.size();
  size_t storage = std::prev(after)->second;
  return address - worker.base(storage) < used_bytes[storage]
             ? storage
             : metadata.storages.size();
}

void TaskTouches::check() const {
  std::lock_guard lock(mutex);
  if (failed)
    throw Error(failure);
}

void TaskTouches::fail(const Worker &worker, bool writes, size_t storage,
                       uint64_t offset, uint64_t bytes,
                       const std::string &why) {
  if (failed)
    return;
  const PhaseDescription &phase = metadata.phases[worker.phase];
  std::lock_guard lock(mutex);
  if (failed)
    return;
  failure = phase.name;
  if (phase.repeat > 1)
    failure += ", layer " + std::to_string(phase.layer(worker.iteration));
  failure += ", task " + std::to_string(worker.task) +
             (writes ? " writes" : " reads") + " bytes " +
             std::to_string(offset) + " to " +
             std::to_string(offset + bytes - 1) + " of storage \"" +
             metadata.storages[storage].name + "\", " + why;
  failed = true;
  if (__sanitizer_print_stack_trace)
    __sanitizer_print_stack_trace();
}

std::vector<TaskTouches::Storage> TaskTouches::storages() const {
  std::vector<uint64_t> ends(metadata.storages.size());
  for (const Worker &worker : workers)
    for (const auto &[place, reach] : worker.reaches) {
      uint64_t &end = ends[std::get<1>(place)];
      end = std::max(end, reach.touched);
    }
  std::vector<Storage> result;
  for (auto [storage, bytes] : planned)
    result.push_back(
        {metadata.storages[storage].name, bytes,
         (ends[storage] + cache_line - 1) / cache_line * cache_line});
  return result;
}

std::vector<TaskTouches::Phase> TaskTouches::phases() const {
  std::map<Place, Reach> all;
  for (const Worker &worker : workers)
    for (const auto &[place, reach] : worker.reaches)
      all[place].add(reach);
  std::vector<Phase> result;
  std::pair<uint32_t, uint32_t> last(-1, -1);
  for (const auto &[place, reach] : all) {
    auto [phase, storage, iteration, task] = place;
    if (std::pair(phase, storage) != last) {
      last = {phase, storage};
      const PhaseDescription &description = metadata.phases[phase];
      bool writes =
          std::any_of(description.writes.begin(), description.writes.end(),
                      [&](const WrittenBuffer &buffer) {
                        return buffer.storage == storage;
                      });
      result.push_back(
          {description.name, metadata.storages[storage].name, writes, {}, {}});
    }
    result.back().reach.add(reach);
    result.back().tasks.push_back(
        {metadata.phases[phase].layer(iteration), task, reach});
  }
  return result;
}

void TaskTouches::begin(unsigned index, uint32_t phase, uint32_t iteration,
                        uint64_t task) {
  Worker &worker = workers[index];
  worker.touches = this;
  if (worker.entered != entered) {
    worker.entered = entered;
    worker.bases = bases;
    worker.by_address.clear();
    for (const Used &use : used)
      worker.by_address[worker.base(use.storage)] = use.storage;
  }
  worker.phase = phase;
  worker.iteration = iteration;
  worker.task = task;
  worker.boxes.clear();
  running = &worker;
}

void TaskTouches::declare(const char *buffer, uint32_t number, uint32_t storage,
                          bool writes, const void *first, int64_t rows,
                          int64_t row_stride, int64_t row_bytes) {
  if (!running || rows <= 0 || row_bytes <= 0)
    return;
  running->touches->names[number % most_buffers].store(
      buffer, std::memory_order_relaxed);
  running->boxes.push_back(
      {buffer, number, storage, writes, reinterpret_cast<uintptr_t>(first),
       static_cast<uint64_t>((rows - 1) * row_stride + row_bytes),
       static_cast<uint64_t>(row_stride), static_cast<uint64_t>(row_bytes), 0});
}

void TaskTouches::touch(const void *address, uint64_t bytes, bool writes) {
  // What runs between tasks touches no storage.
  if (running && bytes)
    running->touches->touch(*running, reinterpret_cast<uintptr_t>(address),
                            bytes, writes);
}

void TaskTouches::touch(Worker &worker, uintptr_t address, uint64_t bytes,
                        bool writes) {
  bool declared = false, current = false;
  const Box *shared = nullptr;
  for (Box &box : worker.boxes) {
    if ((writes && !box.writes) || !box.holds(address, bytes))
      continue;
    declared = true;
    box.touched = std::max(box.touched, address + bytes - box.first);
    if (!holders[box.storage] || current)
      continue;
    shared = &box;
    uint64_t offset = address - worker.base(box.storage);
    uint16_t *first = holder(box.storage, offset),
             *last = holder(box.storage, offset + bytes - 1);
    if (writes)
      std::fill(first, last + 1, static_cast<uint16_t>(box.number));
    current = writes || std::all_of(first, last + 1, [&](uint16_t found) {
                return found == box.number;
              });
  }
  if (declared && (!shared || current))
    return;
  size_t storage = shared ? shared->storage : storage_of(worker, address);
  // Parameters of inference and scratch have fences of their own.
  if (storage == metadata.storages.size())
    return;
  uint64_t offset = address - worker.base(storage);
  if (!shared)
    return fail(worker, writes, storage, offset, bytes,
                "which its phase does not declare");
  std::string found = "which no task has written";
  const uint16_t *first = holder(storage, offset);
  const uint16_t *other =
      std::find_if(first, first + (bytes + grain - 1) / grain,
                   [&](uint16_t number) { return number != shared->number; });
  if (*other)
    found = std::string("which hold \"") + names[*other].load() + "\" now";
  fail(worker, writes, storage, offset, bytes,
       std::string("as \"") + shared->buffer + "\", " + found);
}

void TaskTouches::fill() {
  if (!running)
    return;
  for (const Box &box : std::vector<Box>(running->boxes))
    for (uint64_t row = 0; box.writes && row < box.bytes; row += box.row_stride)
      touch(reinterpret_cast<const void *>(box.first + row), box.row_bytes,
            /*writes=*/true);
}

void TaskTouches::end() {
  Worker *worker = std::exchange(running, nullptr);
  if (!worker)
    return;
  for (const Box &box : worker->boxes) {
    uint64_t offset = box.first - worker->base(box.storage);
    worker
        ->reaches[{worker->phase, box.storage, worker->iteration, worker->task}]
        .add({offset + box.bytes, box.touched ? offset + box.touched : 0});
  }
}

} // namespace baton

extern "C" {

void baton_begin_task(BatonContext *context, const BatonWorker *worker,
                      uint32_t phase, uint32_t iteration, uint64_t task) {
  if (auto *touches = static_cast<baton::TaskTouches *>(context->touches))
    touches->begin(static_cast<unsigned>(worker - context->workers), phase,
                   iteration, task);
}

void baton_declare_access(const char *buffer, uint32_t number, uint32_t storage,
                          uint32_t writes, const void *first, int64_t rows,
                          int64_t row_stride, int64_t row_bytes) {
  baton::TaskTouches::declare(buffer, number, storage, writes != 0, first, rows,
                              row_stride, row_bytes);
}

void baton_touch(const void *address, uint64_t bytes, uint32_t writes) {
  baton::TaskTouches::touch(address, bytes, writes != 0);
}

void baton_end_task() { baton::TaskTouches::end(); }

} // extern "C"
