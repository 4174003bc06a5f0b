//===- communicator.cpp - one rank's way to all others --------------------===//

#include "runtime/comm/communicator.h"

#include "runtime/comm/row_layout.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include <unistd.h>

namespace baton {

RankFault RankFault::parse(const std::string &text) {
  RankFault fault;
  const char *begin = text.data(), *end = begin + text.size();
  auto [colon, no_rank] = std::from_chars(begin, end, fault.rank);
  if (no_rank == std::errc() && colon != end && *colon == ':') {
    auto [rest, no_step] = std::from_chars(colon + 1, end, fault.step);
    std::string_view kind(rest, static_cast<size_t>(end - rest));
    if (no_step == std::errc() && kind == ":fail")
      return fault;
    fault.kind = kind == ":stall" ? Kind::Stall : Kind::Death;
    if (no_step == std::errc() && (kind == ":stall" || kind == ":die"))
      return fault;
  }
  throw Error("--rank-fault: " + text + " is not as in 1:3:stall");
}

Communicator::Communicator(const Mesh &mesh,
                           std::vector<Collective> collectives, uint32_t rank,
                           const CommunicatorOptions &options)
    : options(options), own_mesh(mesh), all_collectives(std::move(collectives)),
      own_rank(rank), counters(new Counters[all_collectives.size()]),
      message_counters(new Counters[options.messages.size()]) {
  for (const Message &message : options.messages)
    if (std::find(names.begin(), names.end(), message.channel) == names.end())
      names.push_back(message.channel);
  for (const Collective &collective : all_collectives)
    groups.push_back({mesh.group(rank, collective.axes),
                      mesh.place(rank, collective.axes).index});
}

void Communicator::fail_on_purpose() {
  if (!options.fault || options.fault->rank != own_rank ||
      options.fault->step != step())
    return;
  const RankFault &fault = *options.fault;
  switch (fault.kind) {
  case RankFault::Kind::Failure:
    throw Error("this rank fails on purpose");
  case RankFault::Kind::Stall:
    while (true)
      std::this_thread::sleep_for(std::chrono::hours(1));
  case RankFault::Kind::Death:
    std::raise(SIGKILL);
  }
}

CommunicationError Communicator::failure_in(uint32_t collective,
                                            uint32_t iteration, uint64_t step,
                                            const std::string &what) const {
  return CommunicationError(
      "rank " + std::to_string(own_rank) + ": " +
      place_text(all_collectives[collective], iteration, step) + ": " + what);
}

void Communicator::exchange(uint32_t collective, uint32_t iteration,
                            std::span<const BatonExchange> tensors) {
  exchange_by(collective, iteration, tensors, [&] {
    const CountedWait wait(wait_clocks, &WaitClocks::collectives);
    move(collective, iteration, tensors);
  });
}

void Communicator::exchange_by(uint32_t collective, uint32_t iteration,
                               std::span<const BatonExchange> tensors,
                               const std::function<void()> &mover) {
  if (collective >= all_collectives.size())
    throw CommunicationError("step " + std::to_string(step()) +
                             ": the program's description lacks collective " +
                             std::to_string(collective));
  const Collective &description = all_collectives[collective];
  const Group &members = groups[collective];
  auto failed = [&](const std::string &what) {
    return failure_in(collective, iteration, step(), what);
  };
  const auto ranks = static_cast<uint32_t>(members.ranks.size());
  uint64_t payload = 0, sent = 0;
  for (const BatonExchange &tensor : tensors) {
    payload += tensor.bytes;
    if (description.moves_rows()) {
      try {
        const RowLayout rows(tensor, ranks);
        for (uint32_t place = 0; place < ranks; ++place)
          if (place != members.place)
            sent += description.kind == Collective::Kind::Dispatch
                        ? rows.own_bytes(place)
                        : rows.received_bytes(place);
      } catch (const Error &failure) {
        throw failed(failure.what());
      }
      continue;
    }
    if (tensor.part % 64 || tensor.bytes > tensor.part * uint64_t(ranks))
      throw failed(std::to_string(ranks) + " parts of " +
                   std::to_string(tensor.part) + " bytes are no tensor of " +
                   std::to_string(tensor.bytes));
    uint64_t own = TensorPart::of(tensor, members.place).bytes;
    sent += description.kind == Collective::Kind::AllToAll ? tensor.bytes - own
                                                           : own * (ranks - 1);
  }
  try {
    fail_on_purpose();
    mover();
  } catch (const CommunicationError &) {
    throw;
  } catch (const std::exception &failure) {
    throw failed(failure.what());
  }
  Counters &counter = counters[collective];
  counter.calls.fetch_add(1, std::memory_order_relaxed);
  counter.payload.fetch_add(payload, std::memory_order_relaxed);
  counter.sent.fetch_add(sent, std::memory_order_relaxed);
}

void Communicator::message(uint32_t number,
                           std::span<const BatonMessage> tensors) {
  if (number >= options.messages.size())
    throw CommunicationError("step " + std::to_string(step()) +
                             ": the program's description lacks message " +
                             std::to_string(number));
  const Message &description = options.messages[number];
  const std::string name = in_step(description.name);
  std::vector<uint32_t> ring = own_mesh.group(own_rank, {description.axis});
  const auto count = static_cast<uint32_t>(ring.size());
  uint32_t place = own_mesh.place(own_rank, {description.axis}).index;
  uint32_t peer = ring[(place + (description.is_next ? 1 : count - 1)) % count];
  auto channel = static_cast<uint32_t>(
      std::find(names.begin(), names.end(), description.channel) -
      names.begin());
  uint64_t bytes = 0;
  for (const BatonMessage &tensor : tensors)
    bytes += tensor.rows * tensor.row_bytes;
  // Rows behind one another.
  auto each_row = [&](std::byte *packed, auto copy) {
    for (const BatonMessage &tensor : tensors)
      for (uint64_t row = 0; row < tensor.rows; ++row) {
        copy(static_cast<std::byte *>(tensor.data) + row * tensor.stride,
             packed, tensor.row_bytes);
        packed += tensor.row_bytes;
      }
  };
  try {
    fail_on_purpose();
    if (description.sends) {
      std::vector<std::byte> packed(bytes);
      each_row(packed.data(),
               [](const std::byte *row, std::byte *to, uint64_t size) {
                 std::memcpy(to, row, size);
               });
      post(peer, channel, std::move(packed));
    } else {
      std::vector<std::byte> packed;
      {
        const CountedWait wait(wait_clocks, &WaitClocks::messages);
        packed = take(peer, channel, bytes, name);
      }
      if (packed.size() != bytes)
        throw Error("rank " + std::to_string(peer) + " sends " +
                    std::to_string(packed.size()) + " bytes and not " +
                    std::to_string(bytes) +
                    "; the ranks do not run the same program");
      each_row(packed.data(),
               [](std::byte *row, const std::byte *from, uint64_t size) {
                 std::memcpy(row, from, size);
               });
    }
  } catch (const CommunicationError &) {
    throw;
  } catch (const std::exception &failure) {
    throw CommunicationError("rank " + std::to_string(own_rank) + ": " + name +
                             ": " + failure.what());
  }
  Counters &counter = message_counters[number];
  counter.calls.fetch_add(1, std::memory_order_relaxed);
  counter.payload.fetch_add(bytes, std::memory_order_relaxed);
  if (description.sends)
    counter.sent.fetch_add(bytes, std::memory_order_relaxed);
}

std::string Communicator::in_step(const std::string &what) const {
  return step() ? "step " + std::to_string(step()) + ", " + what : what;
}

void Communicator::kill() { _exit(1); }

std::vector<Traffic> Communicator::traffic() const {
  std::vector<Traffic> result;
  for (size_t i = 0; i < all_collectives.size(); ++i)
    result.push_back(
        {counters[i].calls, counters[i].payload, counters[i].sent});
  return result;
}

std::vector<Traffic> Communicator::message_traffic() const {
  std::vector<Traffic> result;
  for (size_t i = 0; i < options.messages.size(); ++i)
    result.push_back({message_counters[i].calls, message_counters[i].payload,
                      message_counters[i].sent});
  return result;
}

Piece Piece::of(Collective::Kind kind, const BatonExchange &sender,
                uint32_t from, const BatonExchange &receiver, uint32_t to) {
  const auto *send = static_cast<const std::byte *>(sender.send);
  auto *receive = static_cast<std::byte *>(receiver.receive);
  if (kind == Collective::Kind::AllToAll) {
    TensorPart part = TensorPart::of(sender, to);
    return {send + part.begin, receive + from * receiver.distance, part.bytes};
  }
  TensorPart part = TensorPart::of(receiver, from);
  return {send, receive + part.begin, part.bytes};
}

std::string place_text(const Collective &collective, uint32_t iteration,
                       uint64_t step) {
  std::string text =
      step ? "step " + std::to_string(step) + ", " : "before the first step, ";
  text += collective.name;
  if (collective.iterations > 1)
    text += " (" + std::to_string(iteration + 1) + " of " +
            std::to_string(collective.iterations) + ")";
  return text;
}

std::string seconds_text(std::chrono::milliseconds duration) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g s",
                static_cast<double>(duration.count()) / 1000);
  return text;
}

} // namespace baton
