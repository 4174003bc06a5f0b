//===- program.h - what generated code and the runtime agree on ----------===//
//
// The binary interface between a compiled program and the runtime linked
// beside it. Code generation spells these structures as LLVM types of the same
// layout (codegen/cpu/ProgramTypes.cpp, which a test holds against this
// header); nothing else is shared between the two.
//
// Only plain data lives here: fixed-width integers and pointers, no virtual
// functions, no library types.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_PROGRAM_H
#define BATON_RUNTIME_PROGRAM_H

#include <cstddef>
#include <cstdint>

extern "C" {

/// What one step works on. Every worker reads it once, at the step's start.
struct BatonStep {
  /// Tokens computed in this step, 1 ..= max_rows. Zero ends the program.
  uint32_t rows;
  /// Tokens already in the key/value state; rows + past <= max_seq.
  uint32_t past;
  /// The last `outputs` of the rows get logits, 0 ..= min(rows, max_outputs).
  uint32_t outputs;
  /// Which of the programs that a rank runs in a step this is, where it runs
  /// several one after the other; else 0. Programs do not read it.
  uint32_t call;
};

/// Memory of one worker that no other worker reads.
struct BatonWorker {
  /// Scratch of `scratch_bytes` (see the metadata), 64-byte aligned.
  void *scratch;
  /// What each event word counted up to before this step, one per event word;
  /// among them are the counters from which workers take tasks.
  uint32_t *bases;
};

/// One tensor that a collective moves. Sizes are in bytes.
struct BatonExchange {
  const void *send;
  void *receive;
  /// The whole tensor.
  uint64_t bytes;
  /// What each rank of the group has of it, a multiple of 64; ranks at the end
  /// may have less, or nothing.
  uint64_t part;
  /// Of an all_to_all: how far apart parts are received, `part` or more.
  uint64_t distance;

  // Of a dispatch and a combine, whose `part` is a row, and `bytes` are all of
  // the rank's own rows: which rows go where. Others have no such tables.

  /// Own rows of expert e of all, `experts` of each rank, the first ones the
  /// first rank's: [bounds[e], bounds[e + 1]).
  const int32_t *bounds = nullptr;
  /// What each rank of the group sends to each of this one's experts: a row for
  /// each, as long as the next multiple of 16 from `experts` on.
  const int32_t *counts = nullptr;
  /// Where the rows of each of these begin, rank by rank: [received[e],
  /// received[e + 1]).
  const int32_t *received = nullptr;
  uint64_t experts = 0;
};

/// One tensor of a message: rows of equal length, at equal distances. Sizes are
/// in bytes.
struct BatonMessage {
  void *data;
  uint64_t rows;
  uint64_t row_bytes;
  /// From one row to the next.
  uint64_t stride;
};

/// Everything that a running program reaches. The runtime owns all of it.
struct BatonContext {
  /// Base pointers of parameters: parameters[first(p) + iteration], where
  /// first(p) is the running sum of the metadata's `layers`.
  const void *const *parameters;
  /// Base pointers of the buffers' storages, in the metadata's order.
  void *const *storages;
  /// Event words, each alone on a cache line of 64 bytes (stride 16 words).
  uint32_t *events;
  /// One per worker.
  BatonWorker *workers;
  /// Token ids of the whole sequence, indexed by absolute position.
  int32_t *tokens;
  /// Step t reads steps[t & 1] while its last task writes steps[(t + 1) & 1].
  BatonStep steps[2];
  /// Called by the last task of every step, on whichever worker runs it, with
  /// the logits of the step's output rows ([outputs, vocabulary], row-major
  /// with `stride` floats a row). Samples or records, then fills `next`.
  void (*advance)(BatonContext *context, const BatonStep *current,
                  BatonStep *next, const float *logits, int64_t stride,
                  int64_t vocabulary);
  /// Called after each (phase, iteration) when not null; the runtime then runs
  /// one worker only, so that the phase's values are complete.
  void (*observe)(BatonContext *context, uint32_t phase, uint32_t iteration,
                  const BatonStep *step);
  /// Called after each task when not null, on the worker that ran it, with the
  /// step (one of `steps`), the task's place in the phase's grid (row-major)
  /// and the time-stamp counter before and after its waits.
  void (*trace)(BatonContext *context, const BatonWorker *worker,
                const BatonStep *step, uint32_t phase, uint32_t iteration,
                uint64_t task, uint64_t begin, uint64_t ready);
  /// Moves tensors between the ranks of a group; called by the one task of a
  /// collective's phase, in programs of several ranks only. `collective` is its
  /// place in the metadata's list, which says which ranks these are, and what
  /// goes where. Returns when what this rank receives is there and what it
  /// sends may be written again. Never returns when the job fails (the runtime
  /// ends the process).
  void (*exchange)(BatonContext *context, uint32_t collective,
                   uint32_t iteration, const BatonExchange *tensors,
                   uint32_t count);
  /// Sends tensors to another rank, or receives them; called by the one task of
  /// a message's phase. `message` is its place in the metadata's list, which
  /// says which of both, and who the other rank is. Returns when the tensors
  /// may be written again, or are there.
  void (*message)(BatonContext *context, uint32_t message,
                  const BatonMessage *tensors, uint32_t count);
  /// Brings a layer's part of tensors into memory, or lets it go; called by the
  /// one task of a phase for which the metadata's `tiers` say which of both,
  /// and which tensors. Returns when the part may be touched without a wait, or
  /// needs no memory any more.
  void (*tier)(BatonContext *context, uint32_t phase, uint32_t layer);
  /// The runtime's own state, opaque to the program.
  void *host;
  /// Whoever watches what tasks touch, or null; opaque to the program.
  void *touches;
  /// Workers that have arrived at step borders, a running sum.
  alignas(64) uint32_t border;
};

/// The persistent kernel: called once on each of `workers` threads, returns
/// when a step with zero rows comes up.
void baton_program(BatonContext *context, uint32_t worker, uint32_t workers);

/// JSON that describes the program: parameters, storages, events, proof.
/// Not null-terminated by contract: `baton_metadata_size` bytes.
extern const char baton_metadata[];
extern const uint64_t baton_metadata_size;

// Defined by the runtime for programs with tables.

/// A task has written a table of `count` values: they are what the plan says
/// (find_table_fault), or the process ends with one line that says why. Other
/// tasks would go astray with them.
void baton_check_table(const char *table, const char *phase,
                       const int32_t *values, int64_t count, int64_t low,
                       int64_t high, uint32_t property);

// Defined by the runtime for programs of --sanitize=address, which say what
// each task may touch, and what it does.

/// A task begins, its waits are over; called when context->touches is not null.
/// What follows on this thread, up to its end, is the task's.
void baton_begin_task(BatonContext *context, const BatonWorker *worker,
                      uint32_t phase, uint32_t iteration, uint64_t task);
/// A box of a buffer that the plan says the task reads or writes: rows of
/// `row_bytes`, each `row_stride` bytes behind the one before; none of either
/// is an empty box. `number` is the buffer's, not 0.
void baton_declare_access(const char *buffer, uint32_t number, uint32_t storage,
                          uint32_t writes, const void *first, int64_t rows,
                          int64_t row_stride, int64_t row_bytes);
/// The same of a state in pages of 64 positions, in panels of 16: rows [begin,
/// end) of the step, of `heads` heads, of which `first` is the first one's part
/// of the first page. Of a row that is read, its sequence's pages up to it are.
void baton_declare_pages(BatonContext *context, const char *buffer,
                         uint32_t number, uint32_t storage, uint32_t writes,
                         const void *first, int64_t begin, int64_t end,
                         int64_t heads, int64_t width, int64_t columns,
                         int64_t element_bytes, int64_t page_bytes);
void baton_end_task(void);
/// Called before each load and store while baton_touches_wanted, a byte, is not
/// 0.
void baton_touch(const void *address, uint64_t bytes, uint32_t writes);

} // extern "C"

#endif // BATON_RUNTIME_PROGRAM_H
