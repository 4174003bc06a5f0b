//===- paged_region.cpp - memory of which only a part is resident --------===//

#include "runtime/execute/paged_region.h"

#include "runtime/error.h"
#include "runtime/weights/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace baton {

struct PagedRegion::State {
  std::byte *base = nullptr;
  uint64_t mapped = 0;
  /// Bytes of each.
  uint64_t chunk = chunk_bytes;
  int file = -1;
  /// Chunks in memory, in a ring by their arrival; `next` is the oldest, once
  /// all places are taken.
  std::vector<uint64_t> resident;
  uint64_t count = 0, next = 0;
  std::vector<uint8_t> is_resident;
  std::atomic<uint64_t> arrivals = 0;
  /// The handler's: a thread inside may be in no lock of its own.
  std::atomic_flag busy = ATOMIC_FLAG_INIT;

  bool has(const std::byte *address) const {
    return address >= base && address < base + mapped;
  }
  void let_in(uint64_t number);
};

namespace {

/// One for each rank of the process.
constexpr size_t most_regions = 256;
std::array<std::atomic<void *>, most_regions> regions;
struct sigaction previous_action;

} // namespace

// Only calls that signal handlers may make.
void PagedRegion::State::let_in(uint64_t number) {
  while (busy.test_and_set(std::memory_order_acquire))
    sched_yield();
  // Another thread may have been here.
  if (!is_resident[number]) {
    if (count == resident.size()) {
      const uint64_t oldest = resident[next];
      std::byte *const out = base + oldest * chunk;
      mprotect(out, chunk, PROT_NONE);
      madvise(out, chunk, MADV_DONTNEED);
      is_resident[oldest] = 0;
      resident[next] = number;
      next = next + 1 == count ? 0 : next + 1;
    } else {
      resident[count++] = number;
    }
    std::byte *const in = base + number * chunk;
    mprotect(in, chunk, PROT_READ | PROT_WRITE);
#ifdef MADV_POPULATE_WRITE
    // One call in place of a fault for each page; without it these follow.
    madvise(in, chunk, MADV_POPULATE_WRITE);
#endif
    is_resident[number] = 1;
    arrivals.fetch_add(1, std::memory_order_relaxed);
  }
  busy.clear(std::memory_order_release);
}

std::byte *PagedRegion::data() const { return state->base; }

uint64_t PagedRegion::arrivals() const {
  return state->arrivals.load(std::memory_order_relaxed);
}

PagedRegion::PagedRegion(const std::filesystem::path &folder, uint64_t bytes,
                         uint64_t most)
    : state(std::make_unique<State>()) {
  using Own = State;
  // A friend of the state's, as a handler has to be a plain function.
  struct Handler {
    static void handle(int signal, siginfo_t *info, void *context) {
      const int before = errno;
      auto *address = static_cast<const std::byte *>(info->si_addr);
      for (std::atomic<void *> &entry : regions) {
        auto *region = static_cast<Own *>(entry.load());
        if (!region || !region->has(address))
          continue;
        region->let_in(static_cast<uint64_t>(address - region->base) /
                       region->chunk);
        errno = before;
        return;
      }
      // None of ours: as without the handler.
      if (previous_action.sa_flags & SA_SIGINFO && previous_action.sa_sigaction)
        return previous_action.sa_sigaction(signal, info, context);
      sigaction(SIGSEGV, &previous_action, nullptr);
    }
  };

  auto refuse = [&](const std::string &why) {
    if (state->base)
      munmap(state->base, state->mapped);
    if (state->file >= 0)
      close(state->file);
    throw Error("cannot keep the optimizer's states, " + std::to_string(bytes) +
                " bytes, in a file of folder '" + folder.string() +
                "': " + why);
  };
  constexpr long memory_types[] = {0x01021994 /* tmpfs */,
                                   0x858458f6 /* ramfs */};
  struct statfs system;
  if (statfs(folder.c_str(), &system) != 0)
    refuse(std::strerror(errno));
  for (long type : memory_types)
    if (static_cast<long>(system.f_type) == type)
      refuse("it is in memory; give a folder on a disk with --offload-dir");
  state->file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (state->file < 0) {
    // Not every file system has files without a name.
    std::string name = (folder / "states.XXXXXX").string();
    state->file = mkostemp(name.data(), O_CLOEXEC);
    if (state->file < 0)
      refuse(std::strerror(errno));
    unlink(name.c_str());
  }
  // Chunks in memory are mappings by themselves, of which a process may have
  // 65530.
  constexpr uint64_t most_chunks = 8192;
  state->chunk *= std::max<uint64_t>(1, (most / chunk_bytes + most_chunks - 1) /
                                            most_chunks);
  state->mapped = round_up(std::max<uint64_t>(bytes, 1), state->chunk);
  // A page without a place on the disk would end the process later.
  if (int failure =
          posix_fallocate(state->file, 0, static_cast<off_t>(state->mapped)))
    refuse(std::strerror(failure));
  void *address =
      mmap(nullptr, state->mapped, PROT_NONE, MAP_SHARED, state->file, 0);
  if (address == MAP_FAILED)
    refuse(std::strerror(errno));
  state->base = static_cast<std::byte *>(address);
  const uint64_t chunks = state->mapped / state->chunk;
  state->resident.resize(
      std::min(chunks, std::max<uint64_t>(1, most / state->chunk)));
  state->is_resident.resize(chunks);

  static std::once_flag installed;
  std::call_once(installed, [] {
    struct sigaction action = {};
    action.sa_sigaction = &Handler::handle;
    // A task may touch several chunks, and what handlers interrupt may, too.
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previous_action);
  });
  for (std::atomic<void *> &entry : regions) {
    void *none = nullptr;
    if (entry.compare_exchange_strong(none, state.get()))
      return;
  }
  refuse("there are more ranks in this process than such memory is for, " +
         std::to_string(most_regions));
}

PagedRegion::~PagedRegion() {
  for (std::atomic<void *> &entry : regions) {
    void *own = state.get();
    entry.compare_exchange_strong(own, nullptr);
  }
  munmap(state->base, state->mapped);
  close(state->file);
}

} // namespace baton
