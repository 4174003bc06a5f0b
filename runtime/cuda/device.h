//===- device.h - the memory and the launches of one device ---------------===//
//
// What DeviceExecution needs of a GPU, or of its emulation on the host.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CUDA_DEVICE_H
#define BATON_RUNTIME_CUDA_DEVICE_H

#include "runtime/cuda/step_parts.h"
#include "runtime/device_program.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace baton {

/// What products by cuBLASLt read and write, one after another.
struct ProductMemory {
  void *activations, *weights, *product, *workspace;
};

/// Bytes of the host's, and where they go.
struct DeviceCopy {
  void *device;
  std::span<const std::byte> host;
};

class Device {
public:
  virtual ~Device() = default;

  /// For messages: "NVIDIA H200", "the emulated device".
  virtual std::string name() const = 0;
  /// Blocks of each kernel: at most, and unless the user wants another number.
  /// Those of a persistent kernel run at the same time.
  virtual unsigned most_workers() const = 0;
  virtual unsigned usual_workers() const = 0;
  /// How long a wait inside a kernel may take before it counts as hung.
  virtual uint64_t wait_nanoseconds() const = 0;

  // All memory lives as long as the device. Sizes are at least 1.

  /// Zeros. Throws Error, naming `what`, when it does not fit.
  virtual void *allocate(uint64_t bytes, const std::string &what) = 0;
  /// Memory that host and kernel see at one address, zeros.
  virtual void *share(uint64_t bytes, const std::string &what) = 0;
  /// Where a kernel finds a copy of these bytes, which stay as they are: the
  /// same place for the same bytes. `arrived` is called with the number of
  /// bytes that have, again and again, all of them at the end.
  virtual const void *
  upload(std::span<const std::byte> bytes, const std::string &what,
         const std::function<void(uint64_t bytes)> &arrived) = 0;
  /// Copies much, named `what`, while no kernel runs; `arrived` as above, with
  /// the bytes of all.
  virtual void
  write_all(std::span<const DeviceCopy> copies, const std::string &what,
            const std::function<void(uint64_t bytes)> &arrived) = 0;

  /// Copies, also while a kernel runs.
  virtual void write(void *device, const void *host, uint64_t bytes) = 0;
  virtual void read(void *host, const void *device, uint64_t bytes) = 0;
  /// Sets `count` words to `value`, while no kernel runs.
  virtual void fill(uint32_t *words, uint32_t value, uint64_t count) = 0;

  /// Starts one of the program's kernels. Blocks are co-resident; the call
  /// returns at once.
  virtual void launch(size_t kernel, unsigned blocks,
                      BatonDevice *argument) = 0;

  // Programs whose steps are graphs of kernels instead.

  /// Makes ready what launch_step() starts with this argument.
  virtual void prepare_steps(unsigned blocks, BatonDevice *argument) = 0;
  /// Starts step `number` by one of the programs, behind all that was started
  /// before; the call returns at once.
  virtual void launch_step(size_t program, unsigned blocks,
                           BatonDevice *argument, uint32_t number) = 0;

  // Programs with products that cuBLASLt computes.

  /// Opens it. Throws Error, in one line, where that is not possible.
  virtual void open_cublaslt() = 0;
  /// Starts some phases of step `number`, or a product that lies between, with
  /// `rows` rows and in the memory that `memory` names; behind all that was
  /// started before, and returns at once.
  virtual void launch_part(size_t program, const StepPart &part, uint32_t rows,
                           unsigned blocks, BatonDevice *argument,
                           uint32_t number, const ProductMemory &memory) = 0;

  // Programs of several ranks.

  /// For libraries that this thread is going to call.
  virtual void make_current() const = 0;
  /// The kernels', in whose order they start, or one beside them.
  enum class Stream { Kernels, Exchanges };
  /// Calls a library, which puts what it does on the stream that it is given,
  /// behind all that was there before; at once or when the stream has come to
  /// that. What it throws comes from here or from running().
  virtual void call(Stream stream,
                    std::function<void(void *stream)> library) = 0;
  /// Behind all that was there before, writes to memory that the device sees.
  virtual void write_value(Stream stream, uint32_t *word, uint32_t value) = 0;
  /// Holds back what is put on the stream from here on until a word of the
  /// device's has counted up to a value.
  virtual void wait_value(Stream stream, const uint32_t *word,
                          uint32_t value) = 0;

  /// False once all kernels have ended. Throws Error when one was ended by the
  /// device.
  virtual bool running() = 0;
  /// Between two looks of the host at what a kernel says.
  virtual void pause() = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_CUDA_DEVICE_H
