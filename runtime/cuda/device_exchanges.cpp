//===- device_exchanges.cpp - what ranks on devices exchange --------------===//

#include "runtime/cuda/device_exchanges.h"

#include <utility>

#include <sched.h>

namespace baton {

namespace {

/// A stream takes so many without blocking who puts them there.
constexpr size_t most_under_way = 64;

} // namespace

class DeviceExchanges::Step : public HostStep {
public:
  Step(DeviceExchanges &exchanges, int64_t outputs, const Launch *launch)
      : HostStep(outputs), exchanges(exchanges), launch(launch) {}

  std::byte *at(size_t storage, uint64_t offset) override {
    return static_cast<std::byte *>(exchanges.storages.at(storage)) + offset;
  }
  void launch_until(uint32_t place) override {
    // Without `launch`, only exchanges are wanted.
    if (place == reached || !launch)
      return;
    (*launch)({begun, place});
    begun = reached = place;
  }
  void exchange(uint32_t collective, uint32_t iteration, Tensors tensors,
                Move move) override {
    exchanges.enqueue(collective, iteration, tensors, move);
    ++reached;
  }

private:
  DeviceExchanges &exchanges;
  const Launch *launch;
  /// The first place that was not launched, and the first behind it that does
  /// not stand for an exchange that was made.
  uint32_t begun = 0, reached = 0;
};

DeviceExchanges::DeviceExchanges(Communicator &communicator,
                                 std::shared_ptr<Device> given,
                                 std::vector<void *> storages,
                                 void (*program)(HostStep &))
    : communicator(communicator), nccl(communicator), device(std::move(given)),
      storages(std::move(storages)), program(program),
      mark(static_cast<uint32_t *>(
          device->share(sizeof(uint32_t), "the progress of exchanges"))) {}

void DeviceExchanges::connect() {
  if (std::exchange(is_connected, true))
    return;
  device->make_current();
  nccl.connect(device->name(), 0);
  Step step(*this, /*outputs=*/1, nullptr);
  program(step);
  while (!under_way.empty()) {
    check();
    device->running();
    sched_yield();
  }
}

void DeviceExchanges::start(const BatonDeviceStep &step, const Launch &launch) {
  Step started(*this, step.outputs, &launch);
  program(started);
}

void DeviceExchanges::enqueue(uint32_t collective, uint32_t iteration,
                              HostStep::Tensors tensors, HostStep::Move move) {
  while (under_way.size() >= most_under_way) {
    check();
    device->running();
    sched_yield();
  }
  const uint32_t number = next_number++;
  const uint64_t step = communicator.step();
  auto mover = [&] {
    device->write_value(mark, 2 * number + 1);
    device->call([this, collective, iteration, step, move,
                  list = std::vector<BatonExchange>(
                      tensors.begin(), tensors.end())](void *stream) {
      try {
        move(nccl.calls(collective, stream), list);
      } catch (const std::exception &failure) {
        throw communicator.failure_in(collective, iteration, step,
                                      failure.what());
      }
    });
    device->write_value(mark, 2 * number + 2);
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
  while (!under_way.empty() && has_reached(2 * under_way.front().number + 2))
    under_way.pop_front();
  if (under_way.empty() || !has_reached(2 * under_way.front().number + 1))
    return;
  UnderWay &first = under_way.front();
  auto failed = [&](const std::string &what) {
    return communicator.failure_in(first.collective, first.iteration,
                                   first.step, what);
  };
  const Clock::time_point now = Clock::now();
  if (!std::exchange(first.has_begun, true))
    first.begun = now;
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
