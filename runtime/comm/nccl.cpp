//===- nccl.cpp - a rank whose tensors lie on a GPU -----------------------===//

#include "runtime/comm/nccl.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace baton {

namespace {

using Clock = std::chrono::steady_clock;

/// Texts that ranks share are no bytes of any kind.
std::string to_hexadecimal(const NcclLibrary::UniqueId &id) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (char byte : id.bytes) {
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

NcclLibrary::UniqueId from_hexadecimal(const std::string &text) {
  NcclLibrary::UniqueId id = {};
  if (text.size() != 2 * sizeof id.bytes)
    throw Error("another rank has sent no name for NCCL's group");
  for (size_t i = 0; i < sizeof id.bytes; ++i)
    id.bytes[i] =
        static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return id;
}

/// Waits until NCCL has done what it was asked for.
NcclLibrary::Result settled(const NcclLibrary &library,
                            const NcclGroup &group) {
  const Clock::time_point end = Clock::now() + group.timeout;
  while (true) {
    NcclLibrary::Result result = NcclLibrary::in_progress;
    NcclLibrary::Result asked =
        library.async_error(group.communicator, &result);
    if (asked != NcclLibrary::success)
      return asked;
    if (result != NcclLibrary::in_progress)
      return result;
    if (Clock::now() > end)
      throw Error("other ranks do not come; after " +
                  seconds_text(group.timeout) + " (--rank-timeout)");
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

} // namespace

void NcclCalls::check(NcclLibrary::Result result, const char *call) const {
  if (result == NcclLibrary::in_progress)
    result = settled(library, group);
  if (result != NcclLibrary::success)
    throw Error(std::string(call) + ": " +
                library.text(result, group.communicator));
}

void NcclCalls::ncclGroupStart() const {
  check(library.group_start(), "ncclGroupStart");
}

void NcclCalls::ncclGroupEnd() const {
  check(library.group_end(), "ncclGroupEnd");
}

void NcclCalls::ncclSend(const void *data, uint64_t bytes,
                         uint32_t peer) const {
  check(library.send(data, bytes, NcclLibrary::uint8, static_cast<int>(peer),
                     group.communicator, stream),
        "ncclSend");
}

void NcclCalls::ncclRecv(void *data, uint64_t bytes, uint32_t peer) const {
  check(library.receive(data, bytes, NcclLibrary::uint8, static_cast<int>(peer),
                        group.communicator, stream),
        "ncclRecv");
}

void NcclCalls::ncclAllGather(const void *send, void *receive,
                              uint64_t bytes) const {
  check(library.all_gather(send, receive, bytes, NcclLibrary::uint8,
                           group.communicator, stream),
        "ncclAllGather");
}

NcclRank::NcclRank(Communicator &communicator)
    : library(NcclLibrary::get()), communicator(communicator) {}

NcclRank::~NcclRank() {
  for (auto &[axes, group] : groups)
    if (group.communicator)
      library.destroy(group.communicator);
}

void NcclRank::connect(const std::string &device, int blocks) {
  auto failed = [&](const std::string &what) {
    return CommunicationError("rank " + std::to_string(communicator.rank()) +
                              ": starting " + library.name() + " on " + device +
                              ": " + what);
  };
  NcclLibrary::Config config = {sizeof config,
                                NcclLibrary::config_magic,
                                NcclLibrary::config_version,
                                /*blocking=*/0,
                                NcclLibrary::undefined,
                                NcclLibrary::undefined,
                                NcclLibrary::undefined,
                                nullptr};
  if (blocks)
    config.least_blocks = config.most_blocks = blocks;
  for (const Collective &collective : communicator.collectives()) {
    if (groups.contains(collective.axes))
      continue;
    std::vector<uint32_t> ranks =
        communicator.mesh().group(communicator.rank(), collective.axes);
    std::string own;
    try {
      if (ranks.front() == communicator.rank()) {
        NcclLibrary::UniqueId id = {};
        NcclLibrary::Result result = library.get_unique_id(&id);
        if (result != NcclLibrary::success)
          throw Error("ncclGetUniqueId: " + library.text(result, nullptr));
        own = to_hexadecimal(id);
      }
      // Each group's first rank has made its name.
      std::vector<std::string> names =
          communicator.share(own, "the start of NCCL");
      NcclGroup group;
      group.place =
          communicator.mesh().place(communicator.rank(), collective.axes).index;
      group.timeout = communicator.timeout();
      connect_group(group, static_cast<uint32_t>(ranks.size()),
                    from_hexadecimal(names.at(ranks.front())), config);
      groups.emplace(collective.axes, group);
    } catch (const CommunicationError &) {
      throw;
    } catch (const Error &failure) {
      throw failed(failure.what());
    }
  }
}

void NcclRank::connect_group(NcclGroup &group, uint32_t ranks,
                             const NcclLibrary::UniqueId &id,
                             NcclLibrary::Config &config) const {
  NcclLibrary::Result result =
      library.init(&group.communicator, static_cast<int>(ranks), id,
                   static_cast<int>(group.place), &config);
  if (result == NcclLibrary::in_progress)
    result = settled(library, group);
  if (result != NcclLibrary::success)
    throw Error("ncclCommInitRankConfig: " +
                library.text(result, group.communicator));
}

NcclCalls NcclRank::calls(uint32_t collective,
                          NcclLibrary::Stream stream) const {
  return {library, groups.at(communicator.collectives()[collective].axes),
          stream};
}

void NcclRank::check() const {
  for (auto &[axes, group] : groups) {
    NcclLibrary::Result result = NcclLibrary::success;
    NcclLibrary::Result asked =
        library.async_error(group.communicator, &result);
    if (asked != NcclLibrary::success)
      result = asked;
    if (result != NcclLibrary::success && result != NcclLibrary::in_progress)
      throw Error("NCCL: " + library.text(result, group.communicator));
  }
}

} // namespace baton
