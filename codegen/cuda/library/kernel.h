//===- kernel.h - the frame of a kernel -----------------------------------===//
//
// What the generated part of a kernel is written in: a worker (a block of
// threads) with its share of a phase's tasks, waits, notifications, the border
// between two steps, and questions to the host. All member functions are called
// by all threads of the block, convergently.
//
// A wait polls words in parallel, one per thread, with acquires, and ends with
// a barrier of the block: what the notifying blocks wrote before their releases
// is then visible to every thread of this one. A notification is a barrier and
// one thread's release. Both are at the event's scope, as the plan states it.
// Nothing is reset: words count up, and a worker keeps what they had counted up
// to before the step.
//
// Kernels of a graph, one for each phase of a step, have the same frame without
// waits, notifications and the border: their order is that of the phases.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_KERNEL_H
#define BATON_CODEGEN_CUDA_LIBRARY_KERNEL_H

#include "codegen/cuda/library/device.h"
#include "codegen/cuda/library/sampling.h"
#include "runtime/device_program.h"

// Index arithmetic, with the meaning of affine maps ---------------------------

BATON_DEVICE int64_t baton_min(int64_t a, int64_t b) { return a < b ? a : b; }
BATON_DEVICE int64_t baton_max(int64_t a, int64_t b) { return a < b ? b : a; }
/// a / b of neither negative, for b > 0 that is not known. Divisions of 64 bits
/// take a hundred instructions and are seldom needed: they are called, and
/// those of 32 bits are where they are used.
BATON_CALLED uint64_t baton_divide_slowly(uint64_t a, uint64_t b) {
  return a / b;
}
BATON_DEVICE int64_t baton_divide(int64_t a, int64_t b) {
  if (((a | b) >> 32) == 0)
    return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
  return static_cast<int64_t>(
      baton_divide_slowly(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}
/// The greatest integer not above a / b, for b > 0.
BATON_DEVICE int64_t baton_floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}
/// The least integer not below a / b, for b > 0.
BATON_DEVICE int64_t baton_ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b > 0);
}
/// a - b * floor(a / b), for b > 0.
BATON_DEVICE int64_t baton_mod(int64_t a, int64_t b) {
  return a % b + (a % b < 0 ? b : 0);
}

/// A box of words [low, high) of an event tensor whose words begin at `first`
/// and lie as those of an array of `capacity`.
template <int Rank> struct BatonBox {
  int64_t first;
  int64_t low[Rank ? Rank : 1], high[Rank ? Rank : 1],
      capacity[Rank ? Rank : 1];

  __device__ __forceinline__ int64_t size() const {
    int64_t words = 1;
    for (int i = 0; i < Rank; ++i)
      words *= baton_max(high[i] - low[i], 0);
    return words;
  }
  /// Index of word `i` of the box among all words of the program. There are
  /// less than 2^32 words, of 32 bytes each.
  __device__ __forceinline__ int64_t word(uint32_t i) const {
    int64_t index = first, stride = 1;
    for (int dimension = Rank - 1; dimension > 0; --dimension) {
      const uint32_t extent =
          static_cast<uint32_t>(high[dimension] - low[dimension]);
      index += (low[dimension] + i % extent) * stride;
      i /= extent;
      stride *= capacity[dimension];
    }
    return Rank ? index + (low[0] + i) * stride : index;
  }
};

// Scopes of events -----------------------------------------------------------

/// Among whom what a notification stands for is visible: the workers of one
/// GPU, or also who reads and writes their memory from outside.
enum class BatonScope { device, system };

template <BatonScope Scope>
BATON_DEVICE uint32_t baton_event_load(const uint32_t *word) {
  if constexpr (Scope == BatonScope::system)
    return baton_load_acquire_system(word);
  else
    return baton_load_acquire(word);
}

/// Looks at a word until it has counted up to `where.expected`, backing off in
/// between. False after the time that a wait may take, of which the first
/// worker to give up leaves a report, or when another worker has given up. No
/// member of the worker's state, which would have to be in memory then.
template <BatonScope Scope>
static __device__ __noinline__ bool
baton_poll_slowly(BatonDevice *device, const uint32_t *word,
                  const BatonFailure &where) {
  uint64_t start = baton_nanoseconds();
  for (uint32_t looks = 0;; ++looks) {
    uint32_t seen = baton_event_load<Scope>(word);
    if (int32_t(seen - where.expected) >= 0)
      return true;
    baton_pause(looks < 64 ? 20 : 100);
    if (looks % 256 != 255)
      continue;
    BatonFailure *failure = device->failure;
    if (baton_load_relaxed(&failure->failed))
      return false;
    uint64_t now = baton_nanoseconds();
    if (baton_load_relaxed(&device->asking)) {
      start = now;
    } else if (now - start > device->wait_nanoseconds) {
      // `failed` is 1 while the first one writes.
      if (baton_claim(&failure->failed, 1)) {
        failure->worker = where.worker;
        failure->word = where.word;
        failure->phase = where.phase;
        failure->iteration = where.iteration;
        failure->expected = where.expected;
        failure->seen = seen;
        failure->task = where.task;
        baton_store_release_system(&failure->failed, 2);
      }
      return false;
    }
  }
}

struct BatonTiles {
  int64_t first, last, stride;
};

// Bodies that are the kernel's own --------------------------------------------

/// Where a worker is among the phases of a step, in kernels with bodies of
/// their own: a phase hands what is to be multiplied to the kernel, which then
/// calls it again to go on behind that.
struct BatonPlace {
  /// Why the phases were left: the number of the body that is next, or one of
  /// the below.
  int32_t body;
  int32_t phase;
  /// Bodies that the task has had, and the task.
  int32_t part = 0;
  int64_t iteration = 0, tile = -1;
  /// As the phase's loop has it.
  int64_t previous = -1;
  /// Of a phase with a condition: whether all of its tasks have work.
  bool all_work = true;

  static constexpr int32_t ended = -1, failed = -2;

  /// Whether the phase has not handed over anything.
  __device__ __forceinline__ bool begins() const { return tile < 0; }
  /// Behind the phase.
  __device__ __forceinline__ void end() {
    part = 0;
    tile = previous = -1;
  }
};

// A worker --------------------------------------------------------------------

/// The tile nearest to where share `i` of `shares` of all rows of all tiles
/// begins.
BATON_DEVICE int64_t baton_tile_of_share(int64_t i, int64_t shares,
                                         int64_t rows, int64_t size,
                                         int64_t columns) {
  const int64_t share = i * rows * columns / shares;
  const int64_t row = share / (size * baton_max(columns, 1));
  const int64_t height = baton_max(baton_min(rows - row * size, size), 1);
  const int64_t rest = share - row * size * columns;
  return row * columns + (rest + height / 2) / height;
}

/// A run of tiles: an equal share of `rows` in tiles of `size` rows, each of
/// which `columns` tiles share. Called, since every phase asks for it.
BATON_CALLED BatonTiles baton_run_of_tiles(uint32_t index, uint32_t count,
                                           int64_t rows, int64_t size,
                                           int64_t columns) {
  rows = baton_max(rows, 0);
  columns = baton_max(columns, 0);
  // Of one row the share of the columns, by divisions of 32 bits.
  if (rows == 1 && ((index + 1) * columns >> 32) == 0) {
    const uint32_t begin = index * static_cast<uint32_t>(columns);
    const uint32_t end = begin + static_cast<uint32_t>(columns);
    return {begin / count, end / count, 1};
  }
  return {baton_tile_of_share(index, count, rows, size, columns),
          baton_tile_of_share(index + 1, count, rows, size, columns), 1};
}

/// What a plan says of a table's values, beside their range.
enum class BatonTable { any, distinct, partition };

/// What its share of tasks follows from, and where their weights are.
struct BatonWorker {
  BatonDevice *device;
  uint32_t index, count;

  template <typename T>
  __device__ __forceinline__ const T *parameter(int64_t i) const {
    return static_cast<const T *>(device->parameters[i]);
  }
  template <typename T> __device__ __forceinline__ T *storage(int64_t i) const {
    return static_cast<T *>(device->storages[i]);
  }

  /// Every tile of one residue.
  __device__ __forceinline__ BatonTiles cyclic(int64_t tiles) const {
    return {index, tiles, count};
  }
  __device__ __forceinline__ BatonTiles blocked(int64_t rows, int64_t size,
                                                int64_t columns) const {
    return baton_run_of_tiles(index, count, rows, size, columns);
  }
};

struct BatonWorkerState : BatonWorker {
  /// Event words of the program.
  int64_t words;
  // Read once: an acquire throws out what the first-level cache has.
  uint32_t *events, *bases;
  /// For bodies that want shared memory of their own.
  unsigned char *shared;
  unsigned char *scratch;
  BatonTraceRecord *trace;
  bool observed;

  // The current step.
  BatonDeviceStep *next;

  // The current task, for messages and traces.
  uint32_t phase;
  int64_t iteration, task;
  bool failed;
  uint64_t begun, ready_at;

  __device__ __forceinline__ BatonWorkerState(BatonDevice *device,
                                              int64_t words,
                                              unsigned char *shared,
                                              unsigned char *scratch)
      : BatonWorker{device, blockIdx.x, gridDim.x}, words(words),
        events(device->events), bases(device->bases + index * words),
        shared(shared), scratch(scratch), trace(device->trace),
        observed(device->observed), next(nullptr), phase(0), iteration(0),
        task(0), failed(false), begun(0), ready_at(0) {}

  template <typename T>
  __device__ __forceinline__ T *scratch_at(int64_t offset) const {
    return reinterpret_cast<T *>(scratch + offset);
  }

  // Tasks ---------------------------------------------------------------------

  __device__ __forceinline__ void begin_phase(uint32_t number, int64_t layer) {
    phase = number;
    iteration = layer;
  }
  __device__ __forceinline__ void begin_task(int64_t tile) {
    task = tile;
    if (trace)
      begun = ready_at = baton_nanoseconds();
  }

  /// Polls the box's words until each has counted `growth` up in this step.
  /// Only ready() makes visible to all threads what they stand for.
  template <BatonScope Scope, int Rank>
  __device__ __forceinline__ void wait(const BatonBox<Rank> &box,
                                       uint32_t growth) {
    const uint32_t size = static_cast<uint32_t>(box.size());
    for (uint32_t i = baton_thread(); i < size; i += baton_threads()) {
      int64_t word = box.word(i);
      poll<Scope>(events + word * BATON_DEVICE_WORD_STRIDE,
                  bases[word] + growth, word);
    }
  }
  /// Ends the waits of a task; false when one was not fulfilled in time, in
  /// this worker or another. The kernel then ends.
  __device__ __forceinline__ bool ready() {
    failed = __syncthreads_or(failed);
    if (trace)
      ready_at = baton_nanoseconds();
    return !failed;
  }
  /// Whether a worker has found what ends the program.
  __device__ __forceinline__ bool has_stopped() const {
    return baton_load_relaxed(&device->failure->failed) != 0;
  }
  /// Looks at a table that the task has written: its values lie in [low, high)
  /// and are what the plan says. If not, ready() is false, and the first worker
  /// to find it leaves a report. Every thread looks at some; whether values are
  /// distinct takes each all that come before.
  template <BatonTable Property>
  __device__ __noinline__ void check_table(uint32_t table,
                                           const int32_t *values, int64_t count,
                                           int64_t low, int64_t high) {
    for (int64_t i = baton_thread(); i < count; i += baton_threads()) {
      const int32_t value = values[i];
      bool fits = value >= low && value < high;
      if (Property == BatonTable::partition)
        fits &= i == 0 ? value == low : value >= values[i - 1];
      if (Property == BatonTable::partition && i == count - 1)
        fits &= value == high - 1;
      if (Property == BatonTable::distinct)
        for (int64_t before = 0; before < i; ++before)
          fits &= values[before] != value;
      if (fits)
        continue;
      failed = true;
      BatonFailure *const failure = device->failure;
      if (!baton_claim(&failure->failed, 1))
        continue;
      failure->worker = index;
      failure->phase = phase;
      failure->iteration = uint32_t(iteration);
      failure->expected = uint32_t(i);
      failure->seen = uint32_t(value);
      failure->table = table + 1;
      failure->task = uint64_t(task);
      baton_store_release_system(&failure->failed, 2);
    }
  }
  /// Between two bodies of a task.
  __device__ __forceinline__ void between() const { __syncthreads(); }

  /// Ends `tasks` tasks that others wait for, this one and those before it.
  template <BatonScope Scope>
  __device__ __forceinline__ void notify(int64_t word, uint32_t tasks = 1) {
    __syncthreads();
    uint32_t *const counter = events + word * BATON_DEVICE_WORD_STRIDE;
    if (threadIdx.x == 0 && Scope == BatonScope::system)
      baton_add_release_system(counter, tasks);
    else if (threadIdx.x == 0)
      baton_add_release(counter, tasks);
  }
  /// Ends any task. Behind it the scratch may be written again.
  __device__ __forceinline__ void end_task(bool notified, bool traced = true) {
    if (!notified)
      __syncthreads();
    if (trace && traced && threadIdx.x == 0) {
      uint64_t at = device->traced[index]++;
      if (at < device->trace_capacity)
        trace[index * device->trace_capacity + at] = {
            phase,    uint32_t(iteration), uint64_t(task), begun,
            ready_at, baton_nanoseconds()};
    }
  }
  __device__ __forceinline__ void end_phase() {
    if (observed)
      ask(BATON_QUESTION_OBSERVE);
  }

  // Steps ---------------------------------------------------------------------

  /// The words in use this step have grown; the next step counts from there.
  template <int Rank>
  __device__ __forceinline__ void count_up(const BatonBox<Rank> &box,
                                           uint32_t growth) const {
    const uint32_t size = static_cast<uint32_t>(box.size());
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x)
      bases[box.word(i)] += growth;
  }
  /// The next task of a phase that no worker has taken, from `counter`, which
  /// was what `first` counts from at the step's start; behind the last one
  /// there are as many more as workers. Orders nothing but itself: what a task
  /// reads, it waits for.
  __device__ __forceinline__ int64_t take(int64_t counter,
                                          int64_t first) const {
    __shared__ uint32_t taken;
    __syncthreads();
    // One thread reads where it counts from: behind the last task others may
    // be late, and count_tickets() would come before them.
    if (threadIdx.x == 0)
      taken = atomicAdd(events + counter * BATON_DEVICE_WORD_STRIDE, 1u) -
              bases[first];
    __syncthreads();
    return taken;
  }
  /// Every worker has found in each iteration that all `tasks` were taken.
  __device__ __forceinline__ void count_tickets(int64_t first,
                                                int64_t tasks) const {
    if (threadIdx.x == 0)
      bases[first] += static_cast<uint32_t>(tasks) + count;
  }
  /// All workers meet; `arrivals` is what the border has counted up to then.
  /// False as for ready().
  __device__ __forceinline__ bool border(uint32_t arrivals) {
    __syncthreads();
    if (threadIdx.x == 0) {
      baton_add_release(&device->border, 1);
      poll<BatonScope::device>(&device->border, arrivals, words);
    }
    return ready();
  }

  /// Before a step that is not this kernel's. The host goes on with it, if it
  /// has rows.
  __device__ __forceinline__ void leave(const BatonDeviceStep &step) const {
    if (index == 0 && threadIdx.x == 0)
      device->pending = step;
  }

  /// In the kernel of a graph that would end a step, which is another graph's,
  /// or none.
  __device__ __forceinline__ void hand_on(const BatonDeviceStep &step) const {
    if (index == 0 && threadIdx.x == 0)
      *next = step;
  }

  /// The last task of a step, whose logits begin at `logits`: the next step is
  /// what the generation says, or the host.
  __device__ __forceinline__ void advance(const BatonDeviceStep &current,
                                          const float *logits,
                                          int64_t vocabulary) {
    if (device->generation.active)
      return generate(current, logits, vocabulary);
    if (threadIdx.x == 0)
      device->exchange->current = current;
    ask(BATON_QUESTION_ADVANCE);
    if (threadIdx.x == 0)
      *next = device->exchange->next;
    __syncthreads();
  }

private:
  /// The rest of the prompt, then token by token, as Generation on the host.
  __device__ __forceinline__ void generate(const BatonDeviceStep &current,
                                           const float *logits,
                                           int64_t vocabulary) {
    const BatonGeneration &wanted = device->generation;
    const uint32_t position = current.past + current.rows;
    BatonDeviceStep following = {0, position, 0, 0};
    int32_t token = -1;
    uint32_t end =
        __syncthreads_or(threadIdx.x == 0 && baton_load_acquire_system(
                                                 &device->progress->stop) != 0)
            ? BATON_END_REGULAR
            : BATON_END_NOT_YET;
    if (end == BATON_END_REGULAR) {
      // As the host wishes.
    } else if (position < wanted.prompt_tokens) {
      const uint32_t left = wanted.prompt_tokens - position;
      following.rows =
          left < wanted.prefill_chunk ? left : wanted.prefill_chunk;
      following.outputs = following.rows == left ? 1 : 0;
    } else {
      token = baton_sample(logits, vocabulary, wanted, position);
      following.rows = following.outputs = 1;
      end = token < 0 ? BATON_END_NOT_FINITE : BATON_END_NOT_YET;
    }
    if (threadIdx.x == 0) {
      BatonProgress *progress = device->progress;
      uint64_t count = device->new_tokens;
      if (token >= 0) {
        device->tokens[position] = token;
        device->new_tokens = ++count;
        for (uint32_t i = 0; i < wanted.stop_tokens; ++i)
          end = wanted.stops[i] == token ? BATON_END_REGULAR : end;
        end = count == wanted.max_new_tokens ? BATON_END_REGULAR : end;
      }
      baton_store_release_system(&progress->positions, position);
      baton_store_release_system(&progress->new_tokens, uint32_t(count));
      if (end != BATON_END_NOT_YET) {
        following = {0, 0, 0, 0};
        baton_store_release_system(&progress->end, end);
      }
      *next = following;
    }
    __syncthreads();
  }

  /// No budget ends this wait: the host may be long about its answer, stopped
  /// in a debugger or writing what it was asked for, and as long as it lives it
  /// does answer. One that wants the kernel to end, or has failed, answers with
  /// a step of no rows. What the other workers wait for meanwhile is not
  /// counted (baton_poll_slowly).
  __device__ __forceinline__ void ask(uint32_t question) {
    __syncthreads();
    if (threadIdx.x == 0) {
      BatonHostExchange *exchange = device->exchange;
      exchange->question = question;
      exchange->phase = phase;
      exchange->iteration = uint32_t(iteration);
      exchange->nanoseconds = baton_nanoseconds();
      baton_store_relaxed(&device->asking, 1);
      uint32_t number = exchange->asked + 1;
      baton_store_release_system(&exchange->asked, number);
      while (baton_load_acquire_system(&exchange->answered) != number)
        baton_pause(200);
      baton_store_relaxed(&device->asking, 0);
    }
    __syncthreads();
  }

  template <BatonScope Scope>
  __device__ __forceinline__ void poll(const uint32_t *word, uint32_t target,
                                       int64_t number) {
    if (int32_t(baton_event_load<Scope>(word) - target) >= 0)
      return;
    const BatonFailure where = {
        2, index, uint32_t(number), phase, uint32_t(iteration), target,
        0, 0,     uint64_t(task)};
    failed |= !baton_poll_slowly<Scope>(device, word, where);
  }
};

#endif // BATON_CODEGEN_CUDA_LIBRARY_KERNEL_H
