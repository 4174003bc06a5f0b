//===- host_execution.cpp - a program that runs on the host's cores ------===//

#include "runtime/execute/host_execution.h"

#include "runtime/comm/job_end.h"
#include "runtime/comm/shards.h"
#include "runtime/execute/amx.h"
#include "runtime/execute/batch_inputs.h"
#include "runtime/layer_arrival.h"

#include <cstring>
#include <stdexcept>

namespace baton {

/// Storages in pages as large as so many.
static std::vector<StorageDescription>
with_pages(std::vector<StorageDescription> storages, uint64_t pages) {
  for (StorageDescription &storage : storages)
    storage.bytes = storage.bytes_of(pages);
  return storages;
}

/// Of the program that is to run.
static Metadata with_storages(const Metadata &metadata,
                              const std::vector<StorageDescription> &storages) {
  Metadata needs;
  needs.storages = storages;
  needs.event_words = metadata.event_words;
  needs.scratch_bytes = metadata.scratch_bytes;
  return needs;
}

HostExecution::HostExecution(const Metadata &metadata,
                             const void *const *parameters,
                             const ExecutionOptions &options,
                             const HostProgram &host)
    : Execution(metadata, options), program(host.run),
      own_storages(with_pages(host.storages, pages())),
      memory(with_storages(metadata, own_storages), options.workers,
             options.paged, options.tiered),
      tiered(options.tiered),
      // The token sampled from the last position is stored, never computed on.
      tokens(size_t(metadata.max_seq) + 1), event_origin(options.event_origin),
      team(options.workers) {
  require_amx(metadata);
  context.parameters = parameters;
  context.storages = memory.storages();
  context.events = memory.events();
  context.workers = memory.workers();
  context.tokens = tokens.data();
  context.advance = &HostExecution::advance;
  context.exchange = options.communicator ? &HostExecution::exchange : nullptr;
  context.message = options.communicator ? &HostExecution::message : nullptr;
  context.tier = &HostExecution::tier;
  context.host = this;
  if (metadata.batch)
    step_inputs = batch_inputs(*metadata.batch, memory.storages());
  if (options.layers || options.layer_pages) {
    const auto offloading = OffloadingDescription::parse(metadata.json);
    arrivals = std::make_unique<LayerArrivals>(
        *offloading, options.layers, options.layer_pages,
        batch_capacities(metadata, pages()), memory.storages(), step_inputs);
    const BatonLayerArrival calls = {&LayerArrivals::arrive, arrivals.get()};
    std::memcpy(memory.storages()[offloading->storage], &calls, sizeof calls);
  }
  if (options.communicator)
    write_places(host.places, communicator->mesh(), communicator->rank(),
                 memory.storages());
}

HostExecution::~HostExecution() {
  stop = true;
  team.wait();
}

std::optional<LayerTraffic> HostExecution::layer_traffic() const {
  return arrivals ? std::optional(arrivals->traffic()) : std::nullopt;
}

void HostExecution::start(StepDriver &next_driver, bool observed) {
  team.wait();
  if (observed && workers() != 1)
    throw std::logic_error("only one worker can be observed");
  drive_by(next_driver);
  memory.reset_events(event_origin);
  context.border = 0;
  context.observe = observed ? &HostExecution::observe : nullptr;
  context.trace = recorder ? &HostExecution::trace : nullptr;
  context.touches = touches;
  if (touches) {
    std::vector<TaskTouches::Used> used;
    for (uint32_t i = 0; i < own_storages.size(); ++i) {
      const StorageDescription &storage = own_storages[i];
      if (storage.bytes)
        used.push_back(
            {i, storage.bytes, !storage.state && !storage.persistent});
    }
    touches->enter(memory.storages(), used);
  }
  context.steps[0] = first_step(tokens);
  numbers[0] = recorded;
  context.steps[1] = {};
  if (arrivals && context.steps[0].rows != 0)
    arrivals->begin_step(context.steps[0].rows);
  if (context.steps[0].rows != 0)
    team.start(
        [this](unsigned worker) { program(&context, worker, team.size()); });
}

void HostExecution::wait() {
  team.wait();
  // Numbers that are not finite may come of it.
  if (touches)
    touches->check();
  rethrow();
}

// The callbacks are called from compiled code, through which no exception may
// pass.

void HostExecution::advance(BatonContext *context, const BatonStep *current,
                            BatonStep *next, const float *logits,
                            int64_t stride, int64_t vocabulary) {
  auto &self = *static_cast<HostExecution *>(context->host);
  // Of several ranks this one ends when its run does.
  if (self.touches && self.touches->has_failed() && !self.communicator)
    self.stop = true;
  *next = self.next_step(*current, {logits, stride, vocabulary});
  self.numbers[next - context->steps] = self.recorded;
  if (self.arrivals && next->rows != 0)
    self.arrivals->begin_step(next->rows);
  if (!self.communicator || !self.failure)
    return;
  // Other ranks wait for this one, and nobody may look at it before they end.
  try {
    std::rethrow_exception(self.failure);
  } catch (const CommunicationError &failure) {
    end_job(*self.communicator, failure.what());
  } catch (...) {
  }
}

void HostExecution::observe(BatonContext *context, uint32_t phase,
                            uint32_t iteration, const BatonStep *step) {
  auto &self = *static_cast<HostExecution *>(context->host);
  self.show(*step, phase, iteration, context->storages);
}

void HostExecution::trace(BatonContext *context, const BatonWorker *worker,
                          const BatonStep *step, uint32_t phase,
                          uint32_t iteration, uint64_t task, uint64_t begin,
                          uint64_t ready) {
  auto &self = *static_cast<HostExecution *>(context->host);
  auto index = static_cast<unsigned>(worker - context->workers);
  self.recorder->record(index, self.numbers[step - context->steps], phase,
                        iteration, task, begin, ready);
}

void HostExecution::exchange(BatonContext *context, uint32_t collective,
                             uint32_t iteration, const BatonExchange *tensors,
                             uint32_t count) {
  Communicator &communicator =
      *static_cast<HostExecution *>(context->host)->communicator;
  try {
    communicator.exchange(collective, iteration, {tensors, count});
    TaskTouches::fill();
  } catch (const std::exception &failure) {
    // Other workers wait for what will never come.
    end_job(communicator, failure.what());
  }
}

void HostExecution::message(BatonContext *context, uint32_t message,
                            const BatonMessage *tensors, uint32_t count) {
  Communicator &communicator =
      *static_cast<HostExecution *>(context->host)->communicator;
  try {
    communicator.message(message, {tensors, count});
    TaskTouches::fill();
  } catch (const std::exception &failure) {
    end_job(communicator, failure.what());
  }
}

void HostExecution::tier(BatonContext *context, uint32_t phase,
                         uint32_t layer) {
  auto &self = *static_cast<HostExecution *>(context->host);
  if (self.tiered)
    self.tiered->layers.move(*self.memory.paged(), phase, layer);
}

void HostExecution::declare_pages(const PagedBox &box) const {
  constexpr int64_t panel = 16;
  const int64_t head_bytes = page_positions * box.width * box.element_bytes;
  const auto *const first = static_cast<const std::byte *>(box.first);
  auto declare = [&](const std::byte *at, int64_t rows, int64_t row_stride,
                     int64_t row_bytes) {
    TaskTouches::declare(box.buffer, box.number, box.storage, box.writes, at,
                         rows, row_stride, row_bytes);
  };
  for (int64_t row = box.begin, count = 1; row < box.end; row += count) {
    // Rows that are read of a sequence end with the one that sees most; those
    // that are written go to places behind one another of a panel.
    const int32_t slot = step_inputs.slots[row];
    auto goes_on = [&](int64_t next) {
      return box.writes
                 ? step_inputs.slots[next] == slot + count &&
                       (slot + count) % panel != 0
                 : step_inputs.sequences[next] == step_inputs.sequences[row];
    };
    for (count = 1; row + count < box.end && goes_on(row + count);)
      ++count;
    for (int64_t head = 0; head < box.heads; ++head) {
      if (!box.writes) {
        const int64_t last = row + count - 1;
        const int32_t *line =
            step_inputs.pages +
            step_inputs.sequences[last] * pages_of(metadata.max_seq);
        for (int64_t page = 0;
             page * page_positions <= step_inputs.positions[last]; ++page)
          declare(first + line[page] * box.page_bytes + head * head_bytes, 1,
                  head_bytes, head_bytes);
        continue;
      }
      const int64_t place = slot % page_positions;
      const std::byte *at =
          first + slot / page_positions * box.page_bytes + head * head_bytes +
          place / panel * panel * box.width * box.element_bytes;
      if (box.columns == 1) {
        declare(at + place % panel * box.element_bytes, box.width,
                panel * box.element_bytes, count * box.element_bytes);
        continue;
      }
      for (int64_t column = 0; column < box.width; column += box.columns) {
        const int64_t bytes =
            std::min(box.columns, box.width - column) * box.element_bytes;
        declare(at + column * panel * box.element_bytes + place % panel * bytes,
                1, count * bytes, count * bytes);
      }
    }
  }
}

} // namespace baton

void baton_declare_pages(BatonContext *context, const char *buffer,
                         uint32_t number, uint32_t storage, uint32_t writes,
                         const void *first, int64_t begin, int64_t end,
                         int64_t heads, int64_t width, int64_t columns,
                         int64_t element_bytes, int64_t page_bytes) {
  static_cast<baton::HostExecution *>(context->host)
      ->declare_pages({buffer, number, storage, writes != 0, first, begin, end,
                       heads, width, columns, element_bytes, page_bytes});
}
