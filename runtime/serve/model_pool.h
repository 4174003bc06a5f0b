//===- model_pool.h - which models are loaded -----------------------------===//
//
// A model is loaded when somebody wants it, by a process that serves it alone.
// The one that was used least recently goes when there is no room for another.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_MODEL_POOL_H
#define BATON_RUNTIME_SERVE_MODEL_POOL_H

#include "runtime/serve/api_error.h"
#include "runtime/serve/http_client.h"
#include "runtime/serve/model_folder.h"
#include "runtime/serve/model_process.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace baton {

struct ModelPoolOptions {
  /// Bytes that loaded models may need together, and how many there may be.
  uint64_t memory = UINT64_MAX;
  size_t most_loaded = 4;
  /// Of each program that its own do not name: a flag and its value, if it has
  /// one.
  std::vector<std::pair<std::string, std::string>> flags = {};
  /// Bytes for keys and values, of programs whose flags do not say; else what
  /// all their sequences may need, at most a share of half the memory.
  std::optional<uint64_t> kv_memory = {};
  /// Requests that wait for models.
  size_t most_waiting = 2048;
  /// Seconds that a request waits for room, and a program may take to load.
  double room_seconds = 60, load_seconds = 1200;
  /// Seconds that one without requests has to end.
  double end_seconds = 30;
  /// Seconds of waiting for room behind which the model that was used least
  /// recently gets no more requests.
  double patience_seconds = 5;
};

/// What wants a model holds one of these, which keeps the model loaded.
class ModelLease {
public:
  virtual ~ModelLease() = default;
  /// Sends a request to the model's server, with its key.
  virtual std::shared_ptr<HttpCall> ask(HttpRequest request,
                                        HttpAnswer answer) = 0;
};

class ModelPool : public std::enable_shared_from_this<ModelPool> {
public:
  using Clock = std::chrono::steady_clock;

  struct State {
    bool loaded = false, loading = false;
    size_t running = 0, waiting = 0;
    Clock::time_point used;
    uint64_t loads = 0, unloads = 0, failures = 0;
    uint64_t memory = 0;
  };
  /// Waits for a model.
  struct Ticket {
    /// Exactly one of the two.
    std::function<void(std::shared_ptr<ModelLease> lease)> granted;
    std::function<void(const ApiError &error)> refused;
    Clock::time_point since;
    /// Nobody waits any more.
    bool gone = false;
  };

  ModelPool(boost::asio::io_context &context, std::vector<ModelFiles> models,
            ModelPoolOptions options);
  ~ModelPool();
  ModelPool(const ModelPool &) = delete;
  ModelPool &operator=(const ModelPool &) = delete;

  /// In the order of names.
  std::vector<std::string> names() const;
  bool has(const std::string &name) const { return models.contains(name); }
  State state(const std::string &name) const;
  /// Asks for a model that there is. One of the ticket's functions is called,
  /// at once if the model is loaded.
  void want(const std::string &name, const std::shared_ptr<Ticket> &ticket);
  /// A look at a model that is loaded, which does not count as its use; nothing
  /// if it is not.
  std::shared_ptr<ModelLease> look(const std::string &name);
  /// Calls back with why a model has just failed, as soon as that is known, or
  /// with nothing.
  void ask_fault(const std::string &name,
                 std::function<void(const std::string &why)> callback);

  /// Refuses what waits, and ends each model as soon as it is idle.
  void drain();
  /// Whether there is no process left.
  bool is_empty() const;

private:
  struct Model;
  class Lease;

  void schedule();
  void schedule_soon();
  bool make_room(const Model &wanted);
  Model *least_recent(bool is_idle);
  /// Looks at the time as long as something waits for something.
  void keep_time();
  void tick();
  void load(Model &model);
  void unload(Model &model);
  void ended(Model &model, const std::string &why);
  void grant(Model &model);
  void release(Model &model);
  void fail(Model &model, const std::string &why);
  static void refuse_waiting(Model &model, const ApiError &error);
  void remove_gone();
  /// Bytes for keys and values, and all that it needs.
  uint64_t kv_memory_of(const Model &model) const;
  uint64_t memory_of(const Model &model) const;
  std::vector<std::string> arguments_of(const Model &model) const;
  size_t waiting_count() const;

  boost::asio::io_context &context;
  const ModelPoolOptions options;
  std::map<std::string, std::unique_ptr<Model>> models;
  ModelProcesses processes;
  bool draining = false, keeps_time = false;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_MODEL_POOL_H
