//===- engine.cpp - blocks as threads, CUDA threads as fibers -------------===//
//
// Fibers only ever switch to their block's own stack and back: there the next
// one is picked, and there it shows when none can go on.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/emulation/engine.h"

#include "runtime/cuda/emulation/fiber.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace baton::emulation {

__thread Thread *current = nullptr;

namespace {

constexpr unsigned warp_size = 32;
constexpr unsigned max_threads = 1024;
/// Of a block, behind those of its threads: its copies' reader and writer, and
/// its tensor cores.
constexpr unsigned further_fibers = 3;
/// NaN in all formats.
constexpr int poison = 0xff;
constexpr uint64_t poison_value = ~uint64_t{0};

constexpr const char *operation_names[] = {
    "__syncthreads",    "__syncthreads_count", "__syncthreads_and",
    "__syncthreads_or", "__syncwarp",          "__ballot_sync",
    "__any_sync",       "__all_sync",          "ldmatrix",
    "mma.sync",         "wgmma.mma_async",     "__shfl_sync",
    "__shfl_up_sync",   "__shfl_down_sync",    "__shfl_xor_sync"};

const char *name(Operation operation) {
  return operation_names[static_cast<unsigned>(operation)];
}
bool of_block(Operation operation) {
  return operation <= Operation::syncthreads_or;
}
bool orders_memory(Operation operation) {
  return operation <= Operation::syncwarp;
}
bool is_shuffle(Operation operation) { return operation >= Operation::shfl; }

/// Whether two threads wait for the same; only a warp's threads are asked about
/// an operation of warps.
bool same(const Meeting &a, const Meeting &b) {
  return a.operation == b.operation && a.mask == b.mask;
}

} // namespace

/// What a grid's blocks share. Counts are atomic and of no interest to
/// ThreadSanitizer, which takes the clock for what orders memory.
struct Grid::State {
  Launch launch;
  Grid *before = nullptr;
  std::vector<Fiber *> fibers;
  std::vector<std::thread> blocks;
  /// Blocks that let the next grid start, and that have ended.
  std::atomic<unsigned> let_start = 0, ended = 0;
  Clock end;

  bool has_ended() const { return ended == launch.blocks; }
  void let_next_start() {
    ++let_start;
    let_start.notify_all();
  }
};

// The block -------------------------------------------------------------------

class Block {
public:
  Block(Grid::State &grid, unsigned index, void (*kernel)(void *),
        void *argument, Fiber *const *fibers)
      : grid(grid), launch(grid.launch), index(index), kernel(kernel),
        argument(argument), fibers(fibers),
        random_state((launch.seed + index + 1) * 0x9e3779b97f4a7c15u | 1) {}
  /// Returns when all threads have.
  void run();

  // What fibers call.
  [[noreturn]] void begin(Fiber &fiber);
  uint64_t meet(Fiber &fiber, const Meeting &meeting);
  void yield(Fiber &fiber);
  void interleave(Fiber &fiber);
  unsigned draw(unsigned count);
  void let_next_start();
  void wait_for_grid_before(Fiber &fiber);
  void progress() { turns_without_progress = rounds_without_progress = 0; }

private:
  void push(Fiber &fiber);
  Fiber &pop();
  void give_way();

  void complete_if_all_arrived(Fiber &fiber);
  void set_results(unsigned count, unsigned first);
  void leave(Fiber &fiber);
  [[noreturn]] void report_stuck();

  Grid::State &grid;
  const Launch &launch;
  const unsigned index;
  void (*const kernel)(void *);
  void *const argument;
  Fiber *const *const fibers;
  /// The block's own thread, on whose stack fibers are picked.
  Fiber scheduler;

  bool next_may_start = false;
  unsigned live = 0;
  /// Threads in an operation of the block, lanes in one of their warp.
  unsigned arrived = 0;
  struct {
    uint32_t live = 0, arrived = 0;
  } warps[max_threads / warp_size];
  /// Those whose meeting is being completed.
  Fiber *participants[max_threads];
  Clock clock;

  /// A ring of those that can go on.
  Fiber *ready[max_threads];
  unsigned first_ready = 0, ready_count = 0;
  unsigned turns_without_progress = 0, rounds_without_progress = 0;
  uint64_t random_state;
};

void Block::run() {
  constexpr std::align_val_t alignment{1024};
  // Of exactly this size, so that AddressSanitizer sees what lies beyond.
  unsigned char *shared = static_cast<unsigned char *>(operator new(
      launch.shared_bytes, alignment));
  memset(shared, poison, launch.shared_bytes);

  adopt_thread(scheduler);
  clock.release(scheduler, /*forget=*/true);
  const std::string block = "block " + std::to_string(index);
  Fiber *const reader = fibers[launch.threads];
  Fiber *const writer = fibers[launch.threads + 1];
  prepare(*reader, nullptr, block + " copies' reader");
  Fiber *const tensor = fibers[launch.threads + 2];
  prepare(*writer, nullptr, block + " copies' writer");
  prepare(*tensor, nullptr, block + " tensor cores");
  clock.acquire(*reader);
  clock.acquire(*writer);
  clock.acquire(*tensor);
  live = launch.threads;
  for (unsigned thread = 0; thread < launch.threads; ++thread) {
    Fiber &fiber = *fibers[thread];
    static_cast<Thread &>(fiber) = {{thread, 0, 0},
                                    {index, 0, 0},
                                    {launch.threads, 1, 1},
                                    {launch.blocks, 1, 1},
                                    shared};
    fiber.owner = this;
    fiber.reader = reader;
    fiber.writer = writer;
    fiber.tensor = tensor;
    fiber.live = true;
    fiber.polled.clear();
    prepare(
        fiber,
        [] {
          Fiber &fiber = running();
          fiber.owner->begin(fiber);
        },
        block + " thread " + std::to_string(thread));
    clock.acquire(fiber);
    warps[thread / warp_size].live |= 1u << thread % warp_size;
    push(fiber);
  }
  while (live) {
    if (ready_count == 0)
      report_stuck();
    Fiber &next = pop();
    current = &next;
    switch_fiber(scheduler, next);
  }
  for (unsigned i = 0; i < launch.threads + further_fibers; ++i)
    clock.release(*fibers[i]);
  clock.acquire(scheduler);
  operator delete(shared, alignment);
  grid.end.release(scheduler);
  let_next_start();
  ++grid.ended;
}

/// One thread speaks for its block.
void Block::let_next_start() {
  if (!next_may_start)
    grid.let_next_start();
  next_may_start = true;
}

void Block::wait_for_grid_before(Fiber &fiber) {
  if (!grid.before)
    return;
  Grid::State &before = *grid.before->state;
  while (!before.has_ended())
    yield(fiber);
  before.end.acquire(fiber);
  progress();
}

void Block::begin(Fiber &fiber) {
  has_begun(scheduler);
  kernel(argument);
  leave(fiber);
  switch_fiber(fiber, scheduler, /*done=*/true);
  __builtin_unreachable();
}

// Turns -----------------------------------------------------------------------

void Block::push(Fiber &fiber) {
  ready[(first_ready + ready_count++) % max_threads] = &fiber;
}

Fiber &Block::pop() {
  std::swap(ready[first_ready],
            ready[(first_ready + draw(ready_count)) % max_threads]);
  Fiber &fiber = *ready[first_ready];
  first_ready = (first_ready + 1) % max_threads;
  --ready_count;
  return fiber;
}

void Block::yield(Fiber &fiber) {
  push(fiber);
  if (++turns_without_progress >= ready_count) {
    turns_without_progress = 0;
    give_way();
  }
  switch_fiber(fiber, scheduler);
}

void Block::interleave(Fiber &fiber) {
  if (draw(4) != 1)
    return;
  progress();
  push(fiber);
  switch_fiber(fiber, scheduler);
}

/// All threads of the block that can run only ask for something again. Blocks
/// may be many more than cores, and other programs' tests run on these too; so
/// it soon sleeps, for about as long as it has waited.
void Block::give_way() {
  constexpr unsigned rounds_before_sleep = 16, longest_sleep_log = 10;
  unsigned rounds = ++rounds_without_progress;
  if (rounds <= rounds_before_sleep)
    sched_yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(
        1 << std::min(rounds - rounds_before_sleep, longest_sleep_log)));
}

/// By xorshift64*.
unsigned Block::draw(unsigned count) {
  if (launch.seed == 0)
    return 0;
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return (random_state * 0x2545f4914f6cdd1du >> 32) % count;
}

// Meetings --------------------------------------------------------------------

uint64_t Block::meet(Fiber &fiber, const Meeting &meeting) {
  unsigned lane = fiber.thread.x % warp_size;
  if (!of_block(meeting.operation) && !(meeting.mask >> lane & 1))
    fail("block " + std::to_string(index) + ", thread " +
         std::to_string(fiber.thread.x) + ": the mask of " +
         name(meeting.operation) + " lacks the caller");
  progress();
  fiber.meeting = meeting;
  fiber.waiting = true;
  if (of_block(meeting.operation))
    ++arrived;
  else
    warps[fiber.thread.x / warp_size].arrived |= 1u << lane;
  complete_if_all_arrived(fiber);
  switch_fiber(fiber, scheduler);
  return fiber.result;
}

/// Wakes the threads that `fiber` meets if it was the last to arrive. Threads
/// that have returned are not waited for.
void Block::complete_if_all_arrived(Fiber &fiber) {
  const Meeting which = fiber.meeting;
  const bool whole = of_block(which.operation);
  const unsigned first = whole ? 0 : fiber.thread.x / warp_size * warp_size;
  const unsigned last =
      whole ? launch.threads : std::min(first + warp_size, launch.threads);
  auto &warp = warps[first / warp_size];
  if (whole ? arrived < live : (which.mask & warp.live & ~warp.arrived) != 0)
    return;

  unsigned count = 0;
  for (unsigned thread = first; thread < last; ++thread) {
    Fiber &other = *fibers[thread];
    if (!other.live || (!whole && !(which.mask >> (thread - first) & 1)))
      continue;
    if (!same(other.meeting, which))
      return;
    participants[count++] = &other;
  }

  set_results(count, first);
  // The threads are suspended, so that nothing they do later takes part.
  if (orders_memory(which.operation)) {
    for (unsigned i = 0; i < count; ++i)
      clock.release(*participants[i], /*forget=*/i == 0);
    for (unsigned i = 0; i < count; ++i)
      clock.acquire(*participants[i]);
  }

  if (whole)
    arrived = 0;
  else
    warp.arrived &= ~which.mask;
  for (unsigned i = 0; i < count; ++i) {
    participants[i]->waiting = false;
    push(*participants[i]);
  }
}

/// Of the first `count` participants, threads of the block or of the warp that
/// begins with thread `first`.
void Block::set_results(unsigned count, unsigned first) {
  const Meeting &which = participants[0]->meeting;
  uint64_t votes = 0;
  for (unsigned i = 0; i < count; ++i)
    if (participants[i]->meeting.value)
      votes += of_block(which.operation)
                   ? 1
                   : uint64_t{1} << (participants[i]->thread.x - first);
  const uint32_t lanes = which.mask & warps[first / warp_size].live;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned source = participants[i]->meeting.source;
    if (!is_shuffle(which.operation))
      participants[i]->result = votes;
    else if (lanes >> source & 1)
      participants[i]->result = fibers[first + source]->meeting.value;
    else
      participants[i]->result = poison_value;
  }
}

/// The thread has returned: others may have waited only for it.
void Block::leave(Fiber &fiber) {
  progress();
  fiber.live = false;
  --live;
  warps[fiber.thread.x / warp_size].live &= ~(1u << fiber.thread.x % warp_size);
  for (unsigned thread = 0; ready_count < live && thread < launch.threads;
       ++thread)
    if (fibers[thread]->live && fibers[thread]->waiting)
      complete_if_all_arrived(*fibers[thread]);
}

/// Nobody can go on, and nobody polls a word that another block may change.
void Block::report_stuck() {
  std::string line = "block " + std::to_string(index) + " is stuck:";
  const char *separator = " threads ";
  std::vector<bool> told(launch.threads);
  for (unsigned leader = 0; leader < launch.threads; ++leader) {
    if (told[leader] || !fibers[leader]->live)
      continue;
    const Meeting &which = fibers[leader]->meeting;
    auto belongs = [&](unsigned thread) {
      return thread < launch.threads && fibers[thread]->live &&
             same(fibers[thread]->meeting, which);
    };
    for (unsigned thread = leader; thread < launch.threads; ++thread) {
      if (!belongs(thread))
        continue;
      line += separator + std::to_string(thread);
      separator = ",";
      unsigned first = thread;
      told[thread] = true;
      while (belongs(thread + 1))
        told[++thread] = true;
      if (thread > first)
        line += "-" + std::to_string(thread);
    }
    char mask[16] = "";
    if (!of_block(which.operation))
      snprintf(mask, sizeof(mask), "(0x%08x)", which.mask);
    line += std::string(" wait at ") + name(which.operation) + mask;
    separator = "; threads ";
  }
  fail(line);
}

// What emulation.h calls ------------------------------------------------------

Grid::Grid(const Launch &launch, void (*kernel)(void *), void *argument,
           Grid *before)
    : state(new State) {
  state->launch = launch;
  state->before = before;
  if (launch.threads < 1 || launch.threads > max_threads)
    fail("blocks of " + std::to_string(launch.threads) + " threads");
  const size_t fibers_of_block = launch.threads + further_fibers;
  state->fibers = take_fibers(launch.blocks * fibers_of_block);
  try {
    for (unsigned index = 0; index < launch.blocks; ++index)
      state->blocks.emplace_back([=, this] {
        Block(*state, index, kernel, argument,
              state->fibers.data() + index * fibers_of_block)
            .run();
      });
  } catch (const std::system_error &) {
    // Those that have begun may wait for the others.
    fail("the system refuses a thread to block " +
         std::to_string(state->blocks.size()));
  }
}

Grid::~Grid() { delete state; }

void Grid::wait_until_next_may_start() const {
  for (unsigned count; (count = state->let_start) < state->launch.blocks;)
    state->let_start.wait(count);
}

void Grid::join() {
  for (std::thread &block : state->blocks)
    block.join();
  state->blocks.clear();
  give_back(state->fibers);
  state->fibers.clear();
}

void launch(const Launch &launch, void (*kernel)(void *), void *argument) {
  Grid(launch, kernel, argument, nullptr).join();
}

void start_kernel_behind() { running().owner->let_next_start(); }

void wait_for_kernel_before() {
  Fiber &fiber = running();
  fiber.owner->wait_for_grid_before(fiber);
}

uint64_t meet(const Meeting &meeting) {
  Fiber &fiber = running();
  fiber.polled.clear();
  return fiber.owner->meet(fiber, meeting);
}

void yield() {
  Fiber &fiber = running();
  fiber.owner->yield(fiber);
}

void interleave() {
  Fiber &fiber = running();
  fiber.owner->interleave(fiber);
}

void progress() { running().owner->progress(); }

unsigned draw(unsigned count) { return running().owner->draw(count); }

void poll(const uint32_t *word) {
  auto &polled = running().polled;
  if (std::find(polled.begin(), polled.end(), word) != polled.end())
    return yield();
  polled.push_back(word);
  progress();
  interleave();
}

void poison_initial_values(unsigned char *begin, unsigned char *end) {
  if (begin == end)
    return;
  // They lie among what the linker has made read-only.
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t first = reinterpret_cast<uintptr_t>(begin) / page * page;
  if (mprotect(reinterpret_cast<void *>(first),
               reinterpret_cast<uintptr_t>(end) - first,
               PROT_READ | PROT_WRITE) != 0)
    fail("the initial values of shared memory cannot be written");
  memset(begin, poison, end - begin);
}

} // namespace baton::emulation
