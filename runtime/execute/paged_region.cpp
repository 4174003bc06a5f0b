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

/// The neighbour of who has none in a list of chunks.
static constexpr uint32_t no_chunk = 0xffffffff;

struct PagedRegion::State {
  std::byte *base = nullptr;
  uint64_t mapped = 0;
  /// Bytes of each.
  uint64_t chunk = chunk_bytes;
  int file = -1;
  struct Chunk {
    /// Its neighbours in the list that it is in.
    uint32_t previous = no_chunk, next = no_chunk;
    /// How often it is fetched and not yet released.
    uint16_t uses = 0;
    bool is_resident = false, stays = false;
  };
  std::vector<Chunk> chunks;
  /// Chunks in memory, by their arrival or release: those that nobody has
  /// fetched, and those that somebody has. Chunks that stay are in neither.
  struct List {
    uint32_t first = no_chunk, last = no_chunk;
  };
  List idle, held;
  /// How many may be in memory, and are.
  uint64_t most = 0, count = 0;
  std::atomic<uint64_t> arrivals = 0, fetched = 0, peak = 0;
  /// The handler's: a thread inside may be in no lock of its own.
  std::atomic_flag busy = ATOMIC_FLAG_INIT;

  bool has(const std::byte *address) const {
    return address >= base && address < base + mapped;
  }
  void lock() {
    while (busy.test_and_set(std::memory_order_acquire))
      sched_yield();
  }
  void unlock() { busy.clear(std::memory_order_release); }

  List &list_of(const Chunk &chunk) { return chunk.uses ? held : idle; }
  void append(uint32_t number);
  void remove(uint32_t number);
  void count_uses(uint32_t number, int more);
  void put_out();
  void let_in(uint32_t number);
  void on_touch(uint32_t number);
  /// Calls `visit` with each chunk of the part.
  template <typename Visit> void for_each(Part part, Visit visit) const {
    if (!part.bytes)
      return;
    for (uint64_t number = part.begin / chunk;
         number <= (part.begin + part.bytes - 1) / chunk; ++number)
      visit(static_cast<uint32_t>(number));
  }
};

namespace {

/// One for each rank of the process.
constexpr size_t most_regions = 256;
std::array<std::atomic<void *>, most_regions> regions;
struct sigaction previous_action;

} // namespace

void PagedRegion::State::append(uint32_t number) {
  Chunk &added = chunks[number];
  List &list = list_of(added);
  added.previous = list.last;
  added.next = no_chunk;
  (list.last == no_chunk ? list.first : chunks[list.last].next) = number;
  list.last = number;
}

void PagedRegion::State::remove(uint32_t number) {
  Chunk &removed = chunks[number];
  List &list = list_of(removed);
  (removed.previous == no_chunk ? list.first : chunks[removed.previous].next) =
      removed.next;
  (removed.next == no_chunk ? list.last : chunks[removed.next].previous) =
      removed.previous;
}

/// So many uses more, to the end of the list that it is then in.
void PagedRegion::State::count_uses(uint32_t number, int more) {
  Chunk &chunk = chunks[number];
  const bool moves = chunk.is_resident && !chunk.stays;
  if (moves)
    remove(number);
  chunk.uses = static_cast<uint16_t>(chunk.uses + more);
  if (moves)
    append(number);
}

// Only calls that signal handlers may make, here and below.

/// The chunk that was released, or came, before all others that may go.
void PagedRegion::State::put_out() {
  const uint32_t oldest = idle.first != no_chunk ? idle.first : held.first;
  remove(oldest);
  std::byte *const out = base + oldest * chunk;
  mprotect(out, chunk, PROT_NONE);
  madvise(out, chunk, MADV_DONTNEED);
  chunks[oldest].is_resident = false;
  --count;
}

void PagedRegion::State::let_in(uint32_t number) {
  if (count == most && (idle.first != no_chunk || held.first != no_chunk))
    put_out();
  std::byte *const in = base + number * chunk;
  mprotect(in, chunk, PROT_READ | PROT_WRITE);
#ifdef MADV_POPULATE_WRITE
  // One call in place of a fault for each page; without it these follow.
  madvise(in, chunk, MADV_POPULATE_WRITE);
#endif
  chunks[number].is_resident = true;
  ++count;
  if (!chunks[number].stays)
    append(number);
  arrivals.fetch_add(1, std::memory_order_relaxed);
  if (count * chunk > peak.load(std::memory_order_relaxed))
    peak.store(count * chunk, std::memory_order_relaxed);
}

void PagedRegion::State::on_touch(uint32_t number) {
  lock();
  // Another thread may have been here.
  if (!chunks[number].is_resident)
    let_in(number);
  unlock();
}

void PagedRegion::fetch(Part part) {
  state->for_each(part, [&](uint32_t number) {
    // By itself, so that those who touch others need not wait for all of it.
    state->lock();
    state->count_uses(number, 1);
    if (!state->chunks[number].is_resident) {
      state->let_in(number);
      state->fetched.fetch_add(1, std::memory_order_relaxed);
    }
    state->unlock();
  });
}

void PagedRegion::release(Part part) {
  state->for_each(part, [&](uint32_t number) {
    state->lock();
    state->count_uses(number, -1);
    state->unlock();
  });
}

void PagedRegion::ask(Part part) const {
  uint64_t first = 0, count = 0;
  auto send = [&] {
    if (count)
      madvise(state->base + first * state->chunk, count * state->chunk,
              MADV_WILLNEED);
    count = 0;
  };
  state->for_each(part, [&](uint32_t number) {
    // Who reads this without the lock asks for a chunk too many, or too few.
    if (state->chunks[number].is_resident)
      return send();
    if (!count)
      first = number;
    ++count;
  });
  send();
}

std::byte *PagedRegion::data() const { return state->base; }

uint64_t PagedRegion::arrivals() const {
  return state->arrivals.load(std::memory_order_relaxed);
}

uint64_t PagedRegion::fetched() const {
  return state->fetched.load(std::memory_order_relaxed);
}

uint64_t PagedRegion::peak() const {
  return state->peak.load(std::memory_order_relaxed);
}

/// Chunks in memory are mappings by themselves, of which a process may have
/// 65530.
static uint64_t usual_chunk(uint64_t most) {
  constexpr uint64_t most_chunks = 8192;
  return PagedRegion::chunk_bytes *
         std::max<uint64_t>(
             1,
             (most / PagedRegion::chunk_bytes + most_chunks - 1) / most_chunks);
}

PagedRegion::PagedRegion(const std::filesystem::path &folder, uint64_t bytes,
                         uint64_t most)
    : PagedRegion(
          folder, bytes, most,
          {usual_chunk(most), {{0, std::max<uint64_t>(bytes, 1)}}, {}}) {}

PagedRegion::PagedRegion(const std::filesystem::path &folder, uint64_t bytes,
                         uint64_t most, const Layout &layout)
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
        region->on_touch(static_cast<uint32_t>(
            static_cast<uint64_t>(address - region->base) / region->chunk));
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
    throw Error("cannot keep what is not to be in memory, " +
                std::to_string(bytes) + " bytes, in a file of folder '" +
                folder.string() + "': " + why);
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
  state->chunk = layout.chunk;
  state->mapped = round_up(std::max<uint64_t>(bytes, 1), state->chunk);
  if (ftruncate(state->file, static_cast<off_t>(state->mapped)) != 0)
    refuse(std::strerror(errno));
  state->chunks.resize(state->mapped / state->chunk);
  // A page without a place on the disk would end the process later.
  for (const Part &part : layout.used) {
    const uint64_t begin = part.begin / state->chunk * state->chunk;
    const uint64_t end = round_up(part.begin + part.bytes, state->chunk);
    if (int failure = posix_fallocate(state->file, static_cast<off_t>(begin),
                                      static_cast<off_t>(end - begin)))
      refuse(std::strerror(failure));
  }
  for (const Part &part : layout.staying)
    state->for_each(
        part, [&](uint32_t number) { state->chunks[number].stays = true; });
  void *address =
      mmap(nullptr, state->mapped, PROT_NONE, MAP_SHARED, state->file, 0);
  if (address == MAP_FAILED)
    refuse(std::strerror(errno));
  state->base = static_cast<std::byte *>(address);
  state->most = std::max<uint64_t>(1, most / state->chunk);

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
