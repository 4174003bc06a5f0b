//===- task_touches.h - what each task touches of a program's memory ------===//

#ifndef BATON_RUNTIME_EXECUTE_TASK_TOUCHES_H
#define BATON_RUNTIME_EXECUTE_TASK_TOUCHES_H

#include "runtime/execute/metadata.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace baton {

/// Watches every load and store of the tasks of an execution, on any number of
/// workers. Programs of --sanitize=address announce them, and what each task
/// may touch by its plan (runtime/program.h).
///
/// A task may touch the boxes that it declares only; of memory that buffers
/// share in turn it may read nothing but what was last written as the buffer
/// that it reads: what a value leaves behind is gone when the next one is
/// there.
class TaskTouches {
public:
  /// Throws Error in a program that announces nothing. `metadata` outlives
  /// this.
  TaskTouches(const Metadata &metadata, unsigned workers);
  TaskTouches(const TaskTouches &) = delete;
  ~TaskTouches();

  /// A storage as a program uses it; `holds_activations`: it counts among what
  /// storages() reports.
  struct Used {
    uint32_t storage;
    uint64_t bytes;
    bool holds_activations;
  };
  /// The tasks to come are those of a program that uses these of the storages,
  /// and finds nothing in those that its buffers share. No task of it runs yet,
  /// and `storages` stay while its tasks do.
  void enter(void *const *storages, std::span<const Used> used);

  /// Throws Error if a task has touched what it may not, with the first case.
  void check() const;
  bool has_failed() const { return failed; }

  struct Storage {
    std::string name;
    /// Bytes of the plan, and up to the last one that a task has touched, in
    /// whole cache lines.
    uint64_t planned, touched;
  };
  /// Of each that holds activations, after a run.
  std::vector<Storage> storages() const;

  /// Where in a storage what a task declares ends, and the last byte that it
  /// has touched in any step, in bytes; 0 for none.
  struct Reach {
    uint64_t planned = 0, touched = 0;

    void add(const Reach &other);
  };
  struct Task {
    uint32_t layer;
    uint64_t task;
    Reach reach;
  };
  struct Phase {
    std::string phase, storage;
    /// Whether its tasks write there.
    bool writes;
    Reach reach;
    std::vector<Task> tasks;
  };
  /// Of each phase and storage that it declares, in the phases' order, after a
  /// run.
  std::vector<Phase> phases() const;

  // What the program announces, each on the thread of a worker.
  void begin(unsigned worker, uint32_t phase, uint32_t iteration,
             uint64_t task);
  static void declare(const char *buffer, uint32_t number, uint32_t storage,
                      bool writes, const void *first, int64_t rows,
                      int64_t row_stride, int64_t row_bytes);
  static void touch(const void *address, uint64_t bytes, bool writes);
  static void end();
  /// The running task has written all that it declares to write; for what the
  /// runtime does in its place.
  static void fill();

private:
  /// What a task declares: rows of bytes, a fixed distance apart.
  struct Box {
    const char *buffer;
    uint32_t number;
    uint32_t storage;
    bool writes;
    uintptr_t first;
    uint64_t bytes;
    uint64_t row_stride;
    uint64_t row_bytes;
    /// Bytes from the box's first one to the end of what was touched.
    uint64_t touched;

    bool holds(uintptr_t address, uint64_t length) const;
  };
  /// By phase, storage, iteration and task.
  using Place = std::tuple<uint32_t, uint32_t, uint32_t, uint64_t>;
  struct Worker {
    TaskTouches *touches = nullptr;
    /// As of the program that its task is of.
    uint64_t entered = 0;
    void *const *bases = nullptr;
    std::map<uintptr_t, size_t> by_address;
    uint32_t phase, iteration;
    uint64_t task;
    std::vector<Box> boxes;
    std::map<Place, Reach> reaches;

    uintptr_t base(size_t storage) const {
      return reinterpret_cast<uintptr_t>(bases[storage]);
    }
  };
  /// Bytes that always hold one buffer's.
  static constexpr uint64_t grain = 4;

  bool is_shared(size_t storage) const;
  /// Which storage an address lies in; how many there are for none.
  size_t storage_of(const Worker &worker, uintptr_t address) const;
  /// Where in its holders a storage's byte has its entry.
  uint16_t *holder(uint32_t storage, uint64_t offset) {
    return holders[storage].get() + offset / grain;
  }
  void touch(Worker &worker, uintptr_t address, uint64_t bytes, bool writes);
  void fail(const Worker &worker, bool writes, size_t storage, uint64_t offset,
            uint64_t bytes, const std::string &why);

  const Metadata &metadata;
  std::vector<Worker> workers;
  /// How many programs have been entered, and of the last one where its
  /// storages are, and which it uses.
  uint64_t entered = 0;
  void *const *bases = nullptr;
  std::vector<Used> used;
  /// Of each storage, what that program uses.
  std::vector<uint64_t> used_bytes;
  /// Of storages that hold activations: the most bytes that a program uses.
  std::map<uint32_t, uint64_t> planned;
  /// Of each transient storage: the number of the buffer that each grain was
  /// last written as.
  std::vector<std::unique_ptr<uint16_t[]>> holders;
  /// Of buffers, by number.
  std::vector<std::atomic<const char *>> names;
  /// Guards the first failure.
  mutable std::mutex mutex;
  std::string failure;
  std::atomic<bool> failed = false;

  /// The task that runs on this thread.
  static thread_local Worker *running;
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_TASK_TOUCHES_H
