//===- device_exchanges.cpp - what ranks on devices exchange --------------===//

#include "runtime/cuda/device_exchanges.h"

#include <algorithm>
#include <utility>

namespace baton {

namespace {

/// A stream takes so many without blocking who puts them there.
constexpr size_t most_under_way = 64;

/// Bytes of a tensor that NCCL moves before the first step, at most.
constexpr uint64_t most_of_trial = uint64_t(16) << 20;

} // namespace

class DeviceExchanges::Step : public HostStep {
public:
  /// Without `is_real`, only exchanges are wanted.
  Step(DeviceExchanges &exchanges, const BatonDeviceStep &step,
       const Launch &launch, bool is_real)
      : HostStep(step), exchanges(exchanges), launch(launch), is_real(is_real) {
  }

  std::byte *at(size_t storage, uint64_t offset) override {
    return static_cast<std::byte *>(exchanges.storages.at(storage)) + offset;
  }
  void launch_until(uint32_t place) override {
    if (place == reached || !is_real)
      return;
    launch({begun, place});
    begun = reached = place;
  }
  void exchange(uint32_t collective, uint32_t iteration, Tensors tensors,
                Move move) override {
    if (is_real)
      exchanges.enqueue(collective, iteration, tensors, move);
    else
      exchanges.enqueue(collective, iteration,
                        exchanges.warm_up(collective, tensors), move);
    ++reached;
  }
  void exchange_rows(uint32_t collective, uint32_t iteration, Tensors tensors,
                     Move move) override {
    ++reached;
    // Before the first step there are no tables; the same ranks have exchanged
    // counts.
    if (!is_real)
      return;
    auto tables = exchanges.read_tables(collective, tensors);
    std::vector<BatonExchange> list(tensors.begin(), tensors.end());
    for (size_t i = 0; i < list.size(); ++i) {
      list[i].bounds = (*tables)[3 * i].data();
      list[i].counts = (*tables)[3 * i + 1].data();
      list[i].received = (*tables)[3 * i + 2].data();
    }
    exchanges.enqueue(collective, iteration, list, move, tables);
  }
  void wait_for_task() override {
    if (is_real)
      exchanges.device->wait_value(Device::Stream::Exchanges, exchanges.epoch,
                                   ++exchanges.begun);
  }
  void notify(uint64_t word, uint64_t growth) override {
    if (is_real)
      exchanges.device->write_value(Device::Stream::Exchanges,
                                    exchanges.events +
                                        word * BATON_DEVICE_WORD_STRIDE,
                                    base(word) + static_cast<uint32_t>(growth));
  }
  void count_up(uint64_t word, uint64_t growth) override {
    if (is_real)
      base(word) += static_cast<uint32_t>(growth);
  }

private:
  uint32_t &base(uint64_t word) {
    return exchanges.bases.try_emplace(word, exchanges.origin).first->second;
  }

  DeviceExchanges &exchanges;
  const Launch &launch;
  bool is_real;
  /// The first place that was not launched, and the first behind it that does
  /// not stand for an exchange that was made.
  uint32_t begun = 0, reached = 0;
};

DeviceExchanges::DeviceExchanges(Communicator &communicator,
                                 std::shared_ptr<Device> given,
                                 std::vector<void *> storages,
                                 void (*program)(HostStep &),
                                 unsigned multiprocessors)
    : communicator(communicator), nccl(communicator), device(std::move(given)),
      storages(std::move(storages)), program(program),
      multiprocessors(multiprocessors),
      mark(static_cast<uint32_t *>(
          device->share(sizeof(uint32_t), "the progress of exchanges"))),
      tables_mark(static_cast<uint32_t *>(
          device->share(sizeof(uint32_t), "the progress of tables"))) {}

/// The same tensors where nothing is lost, as far as NCCL sees a difference.
std::vector<BatonExchange> DeviceExchanges::warm_up(uint32_t collective,
                                                    HostStep::Tensors tensors) {
  const uint64_t ranks = communicator.mesh()
                             .group(communicator.rank(),
                                    communicator.collectives()[collective].axes)
                             .size();
  const uint64_t most = most_of_trial / ranks / 64 * 64;
  if (!trial)
    trial = static_cast<std::byte *>(
        device->allocate(2 * most_of_trial, "the first exchange"));
  std::vector<BatonExchange> result;
  for (const BatonExchange &tensor : tensors) {
    const uint64_t part = std::min(tensor.part, most);
    result.push_back({trial, trial + most_of_trial,
                      std::min(tensor.bytes, ranks * part), part, part});
  }
  return result;
}

void DeviceExchanges::connect(const BatonDeviceStep &largest) {
  if (std::exchange(is_connected, true))
    return;
  device->make_current();
  nccl.connect(device->name(), static_cast<int>(multiprocessors));
  const Launch none;
  Step step(*this, largest, none, /*is_real=*/false);
  program(step);
  while (!under_way.empty()) {
    check();
    device->running();
    device->pause();
  }
}

void DeviceExchanges::begin_kernel(uint32_t *new_events,
                                   const uint32_t *new_epoch,
                                   uint32_t new_origin) {
  events = new_events;
  epoch = new_epoch;
  origin = new_origin;
  begun = 0;
  bases.clear();
}

void DeviceExchanges::start(const BatonDeviceStep &step, const Launch &launch) {
  Step started(*this, step, launch, /*is_real=*/true);
  program(started);
}

std::shared_ptr<const DeviceExchanges::Tables>
DeviceExchanges::read_tables(uint32_t collective, HostStep::Tensors tensors) {
  device->write_value(stream(), tables_mark, ++tables_read);
  while (__atomic_load_n(tables_mark, __ATOMIC_ACQUIRE) != tables_read) {
    check();
    device->running();
    serve();
    device->pause();
  }
  const uint64_t ranks = communicator.mesh()
                             .group(communicator.rank(),
                                    communicator.collectives()[collective].axes)
                             .size();
  auto tables = std::make_shared<Tables>();
  auto read = [&](const int32_t *table, uint64_t count) {
    std::vector<int32_t> &copy = tables->emplace_back(count);
    device->read(copy.data(), table, count * sizeof(int32_t));
  };
  for (const BatonExchange &tensor : tensors) {
    read(tensor.bounds, ranks * tensor.experts + 1);
    read(tensor.counts, ranks * ((tensor.experts + 15) / 16 * 16));
    read(tensor.received, tensor.experts + 2);
  }
  return tables;
}

void DeviceExchanges::enqueue(uint32_t collective, uint32_t iteration,
                              HostStep::Tensors tensors, HostStep::Move move,
                              std::shared_ptr<const Tables> tables) {
  while (under_way.size() >= most_under_way) {
    check();
    device->running();
    serve();
    device->pause();
  }
  const uint32_t number = next_number++;
  const uint64_t step = communicator.step();
  auto mover = [&] {
    device->write_value(stream(), mark, 2 * number + 1);
    device->call(stream(), [this, collective, iteration, step, move, tables,
                            list = std::vector<BatonExchange>(
                                tensors.begin(), tensors.end())](void *stream) {
      try {
        move(nccl.calls(collective, stream), list);
      } catch (const std::exception &failure) {
        throw communicator.failure_in(collective, iteration, step,
                                      failure.what());
      }
    });
    device->write_value(stream(), mark, 2 * number + 2);
  };
  under_way.push_back({number, collective, iteration, step});
  // What warms NCCL up is not counted.
  if (step)
    communicator.exchange_by(collective, iteration, tensors, mover);
  else
    mover();
}

void DeviceExchanges::check() {
  using Clock = std::chrono::steady_clock;
  const uint32_t reached = __atomic_load_n(mark, __ATOMIC_ACQUIRE);
  auto has_reached = [&](uint32_t value) {
    return static_cast<int32_t>(reached - value) >= 0;
  };
  while (!under_way.empty() && has_reached(2 * under_way.front().number + 2)) {
    if (under_way.front().has_begun)
      communicator.waits().end(&WaitClocks::collectives);
    under_way.pop_front();
  }
  if (under_way.empty() || !has_reached(2 * under_way.front().number + 1))
    return;
  UnderWay &first = under_way.front();
  auto failed = [&](const std::string &what) {
    return communicator.failure_in(first.collective, first.iteration,
                                   first.step, what);
  };
  const Clock::time_point now = Clock::now();
  if (!std::exchange(first.has_begun, true)) {
    first.begun = now;
    communicator.waits().begin(&WaitClocks::collectives);
  }
  try {
    nccl.check();
  } catch (const Error &failure) {
    throw failed(failure.what());
  }
  if (now - first.begun > communicator.timeout())
    throw failed("NCCL does not finish, as another rank does not come; after " +
                 seconds_text(communicator.timeout()) + " (--rank-timeout)");
}

} // namespace baton
