//===- device_program.h - what CUDA kernels and the runtime agree on ------===//
//
// The binary interface between a program's CUDA kernels and the host program
// that starts them, the counterpart of runtime/program.h. The kernels' source
// includes this header too, which therefore includes nothing that NVRTC lacks.
//
// A persistent kernel is called as kernel(device), and computes step after
// step. Kernels of a graph are called as kernel(device, number, iteration), one
// for each phase and layer of step `number`.
//
// A program may have products that cuBLASLt computes. Then its persistent
// kernel is called as kernel(device, part), and once for each part of a step
// that lies between two of these; and each of them has a kernel that lays its
// sides out, called as those of a graph.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_DEVICE_PROGRAM_H
#define BATON_RUNTIME_DEVICE_PROGRAM_H

#ifndef __CUDACC_RTC__
#include <cstddef>
#include <cstdint>
#endif

extern "C" {

/// What one step works on; see BatonStep in runtime/program.h.
struct BatonDeviceStep {
  uint32_t rows;
  uint32_t past;
  uint32_t outputs;
  uint32_t reserved;
};

/// Why a kernel asks the host.
enum BatonQuestion : uint32_t {
  /// The step's logits are complete: which is the next step?
  BATON_QUESTION_ADVANCE = 1,
  /// A (phase, iteration) is complete; asked by a worker that runs alone.
  BATON_QUESTION_OBSERVE = 2,
};

/// Memory that host and device both see. The kernel fills in the question, then
/// counts `asked` up; the host answers and makes `answered` the same.
struct BatonHostExchange {
  uint32_t asked;
  uint32_t answered;
  uint32_t question;
  uint32_t phase;
  uint32_t iteration;
  uint32_t reserved;
  /// The device's clock when it asked.
  uint64_t nanoseconds;
  BatonDeviceStep current;
  BatonDeviceStep next;
};

/// How a kernel generates without asking. See GenerationRequest in
/// runtime/decode/generation.h.
struct BatonGeneration {
  /// 0: every step's end is a question to the host.
  uint32_t active;
  uint32_t prompt_tokens;
  uint32_t prefill_chunk;
  uint32_t stop_tokens;
  const int32_t *stops;
  uint64_t max_new_tokens;
  uint64_t seed;
  double temperature;
  /// As in SamplingOptions: 0 and 1 let all tokens be candidates.
  uint64_t top_k;
  double top_p;
};

/// How a generation ended.
enum BatonEnd : uint32_t {
  BATON_END_NOT_YET = 0,
  /// By length, a stop token, or the host's wish.
  BATON_END_REGULAR = 1,
  /// A logit is infinite or not a number.
  BATON_END_NOT_FINITE = 2,
};

/// Memory that host and device both see: what a generation has done so far, and
/// what the host wants.
struct BatonProgress {
  /// Positions computed.
  uint32_t positions;
  /// New tokens, which lie behind the prompt's in BatonDevice::tokens.
  uint32_t new_tokens;
  /// BatonEnd, set last.
  uint32_t end;
  /// Set by the host: end at the next border.
  uint32_t stop;
};

/// The first wait that was not fulfilled in time.
struct BatonFailure {
  /// 0: none, 1: about to be described, 2: described.
  uint32_t failed;
  uint32_t worker;
  /// Index of the event word among all words; the number of words for the
  /// border between steps.
  uint32_t word;
  uint32_t phase;
  uint32_t iteration;
  /// What the word should have counted up to, and what it had; or the table's
  /// place that is wrong, and its value.
  uint32_t expected;
  uint32_t seen;
  /// Of a table: its number among those that the phase writes, from 1 on.
  uint32_t table;
  /// Row-major index of the task in the phase's grid.
  uint64_t task;
};

/// When a task ran, in nanoseconds of the device's clock.
struct BatonTraceRecord {
  uint32_t phase;
  uint32_t iteration;
  uint64_t task;
  uint64_t begin;
  uint64_t ready;
  uint64_t end;
};

/// Phases of a step, an iteration of a segment behind the other, by their
/// places [first, last); all of a step is [0, BATON_WHOLE_STEP).
struct BatonPart {
  uint32_t first;
  uint32_t last;
};

/// Everything that a running kernel reaches, in device memory. The host owns
/// all of it.
struct BatonDevice {
  /// As in BatonContext.
  const void *const *parameters;
  void *const *storages;
  int32_t *tokens;
  /// Event words, BATON_DEVICE_WORD_STRIDE apart.
  uint32_t *events;
  /// [workers][words]: what each word counted up to before this step.
  uint32_t *bases;
  /// [workers][scratch bytes] of kernels whose scratch is not shared memory.
  unsigned char *scratch;
  BatonHostExchange *exchange;
  BatonProgress *progress;
  BatonFailure *failure;
  /// [workers][trace_capacity], and how many each worker has written, or null.
  BatonTraceRecord *trace;
  uint64_t *traced;
  /// Where cuBLASLt is to be had, what its products read and write.
  uint16_t *rounded_activations;
  uint16_t *unpacked_weights;
  float *product;
  uint64_t trace_capacity;
  /// How long a wait may take.
  uint64_t wait_nanoseconds;
  BatonGeneration generation;
  /// New tokens of the generation so far.
  uint64_t new_tokens;
  /// Step t reads steps[t & 1], which the last task of the step before wrote;
  /// the kernels of a graph whose step has other rows hand it on.
  BatonDeviceStep steps[2];
  /// The step that a kernel left to another one; no rows at the end.
  BatonDeviceStep pending;
  /// Whether the host wants BATON_QUESTION_OBSERVE.
  uint32_t observed;
  /// Not 0 while a worker waits for the host: others' waits may take longer.
  uint32_t asking;
  /// Workers that have arrived at step borders, a running sum.
  uint32_t border;
  /// Not 0 where cuBLASLt is to be had.
  uint32_t has_cublaslt;
  /// How many exchanges beside the kernel have been begun, a running sum.
  uint32_t epoch;
};

} // extern "C"

/// Distance of two event words, in words: each has two sectors of its own.
enum { BATON_DEVICE_WORD_STRIDE = 16 };

enum : uint32_t { BATON_WHOLE_STEP = 0xffffffff };

#endif // BATON_RUNTIME_DEVICE_PROGRAM_H
