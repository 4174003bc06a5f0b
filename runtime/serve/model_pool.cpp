//===- model_pool.cpp - which models are loaded ---------------------------===//

#include "runtime/serve/model_pool.h"

#include "runtime/error.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <random>
#include <string_view>

namespace baton {

namespace {

using namespace std::chrono_literals;

/// How often times are looked at.
constexpr auto pool_period = 100ms;
/// So many failures of a model within this time are reason not to try again.
constexpr size_t most_failures = 3;
constexpr auto failure_window = 20s;
/// From a broken connection to the end of its process.
constexpr auto fault_delay = 500ms;

double seconds_since(ModelPool::Clock::time_point time) {
  return std::chrono::duration<double>(ModelPool::Clock::now() - time).count();
}

bool names_flag(const std::vector<std::string> &flags,
                const std::string &name) {
  return std::ranges::any_of(flags, [&](const std::string &flag) {
    return flag == name || flag.starts_with(name + "=");
  });
}

std::string size_text(uint64_t bytes) {
  return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

void call_later(boost::asio::io_context &context,
                ModelPool::Clock::duration delay,
                std::function<void()> function) {
  auto timer = std::make_shared<boost::asio::steady_timer>(context, delay);
  timer->async_wait([timer, function = std::move(function)](
                        boost::system::error_code failure) {
    if (!failure)
      function();
  });
}

} // namespace

struct ModelPool::Model {
  ModelFiles files;
  /// From its start to its end.
  std::shared_ptr<ModelProcess> process;
  /// From when it serves until it is told to end.
  std::shared_ptr<HttpClient> client;
  std::string key;
  Clock::time_point started, used;
  /// Requests that it answers.
  size_t running = 0;
  /// It gets no more, since another has waited long.
  bool is_leaving = false;
  /// It was told to end.
  bool is_ending = false;
  Clock::time_point ending_since;
  std::deque<std::shared_ptr<Ticket>> waiting;
  std::deque<Clock::time_point> failures;
  std::string fault;
  /// Who would like to know why it fails.
  std::vector<std::function<void(const std::string &)>> curious;
  uint64_t loads = 0, unloads = 0, failure_count = 0;
};

class ModelPool::Lease : public ModelLease {
public:
  /// Without a pool it is none that counts.
  Lease(std::weak_ptr<ModelPool> pool, Model &model)
      : pool(std::move(pool)), model(model), client(model.client),
        key(model.key) {}
  ~Lease() override {
    if (const std::shared_ptr<ModelPool> own = pool.lock())
      own->release(model);
  }

  std::shared_ptr<HttpCall> ask(HttpRequest request,
                                HttpAnswer answer) override {
    request.headers.emplace_back("Authorization", "Bearer " + key);
    return client->ask(std::move(request), std::move(answer));
  }

private:
  const std::weak_ptr<ModelPool> pool;
  /// While there is a pool.
  Model &model;
  const std::shared_ptr<HttpClient> client;
  const std::string key;
};

ModelPool::ModelPool(boost::asio::io_context &context,
                     std::vector<ModelFiles> all, ModelPoolOptions wanted)
    : context(context), options(std::move(wanted)), processes(context) {
  for (ModelFiles &files : all) {
    auto model = std::make_unique<Model>();
    model->files = std::move(files);
    const std::string name = model->files.name;
    models[name] = std::move(model);
  }
}

ModelPool::~ModelPool() {
  for (const auto &[name, model] : models) {
    if (model->client)
      model->client->close();
    // They hold who holds them.
    for (const std::shared_ptr<Ticket> &ticket : model->waiting)
      *ticket = {};
  }
}

std::vector<std::string> ModelPool::names() const {
  std::vector<std::string> result;
  for (const auto &[name, model] : models)
    result.push_back(name);
  return result;
}

ModelPool::State ModelPool::state(const std::string &name) const {
  const Model &model = *models.at(name);
  return {.loaded = model.client != nullptr,
          .loading = model.process && !model.client,
          .running = model.running,
          .waiting = model.waiting.size(),
          .used = model.used,
          .loads = model.loads,
          .unloads = model.unloads,
          .failures = model.failure_count,
          .memory = memory_of(model)};
}

void ModelPool::want(const std::string &name,
                     const std::shared_ptr<Ticket> &ticket) {
  Model &model = *models.at(name);
  if (draining)
    return ticket->refused(overloaded("the server is about to end"));
  const auto now = Clock::now();
  model.used = now;
  while (!model.failures.empty() &&
         now - model.failures.front() > failure_window)
    model.failures.pop_front();
  if (!model.process && model.failures.size() >= most_failures)
    return ticket->refused(
        {502, "server_error",
         "the model " + name + " fails again and again: " + model.fault});
  if (const uint64_t needed = memory_of(model); needed > options.memory)
    return ticket->refused(
        server_fault("the model " + name + " needs " + size_text(needed) +
                     "; --models-memory has " + size_text(options.memory) +
                     "; --kv-memory in its flags.txt makes it smaller"));
  if (waiting_count() >= options.most_waiting)
    return ticket->refused(
        overloaded("there are too many requests; try again later"));
  ticket->since = now;
  model.waiting.push_back(ticket);
  schedule();
}

std::shared_ptr<ModelLease> ModelPool::look(const std::string &name) {
  Model &model = *models.at(name);
  if (!model.client)
    return nullptr;
  return std::make_shared<Lease>(std::weak_ptr<ModelPool>(), model);
}

void ModelPool::ask_fault(
    const std::string &name,
    std::function<void(const std::string &why)> callback) {
  Model &model = *models.at(name);
  // Its connection breaks before its end is noticed.
  auto once = std::make_shared<std::function<void(const std::string &)>>(
      std::move(callback));
  auto call = [once](const std::string &why) {
    if (const auto own = std::exchange(*once, nullptr))
      own(why);
  };
  if (!model.process)
    return call(model.fault);
  model.curious.emplace_back(call);
  call_later(context, fault_delay, [call] { call({}); });
}

void ModelPool::drain() {
  draining = true;
  for (const auto &[name, model] : models) {
    refuse_waiting(*model, overloaded("the server is about to end"));
    if (model->process && !model->is_ending && model->running == 0)
      unload(*model);
  }
  keep_time();
}

bool ModelPool::is_empty() const {
  return std::ranges::none_of(models, [](const auto &entry) {
    return entry.second->process != nullptr;
  });
}

/// Hands loaded models out, and loads those for which somebody waits longest.
void ModelPool::schedule() {
  if (draining)
    return;
  remove_gone();
  std::vector<Model *> wanted;
  for (const auto &[name, model] : models) {
    grant(*model);
    if (!model->waiting.empty() && !model->process)
      wanted.push_back(model.get());
  }
  std::ranges::sort(wanted, {}, [](const Model *model) {
    return model->waiting.front()->since;
  });
  for (Model *model : wanted) {
    if (model->waiting.empty())
      continue;
    // Smaller ones do not overtake.
    if (!make_room(*model))
      return keep_time();
    load(*model);
  }
  // Nobody waits for room.
  for (const auto &[name, model] : models)
    if (std::exchange(model->is_leaving, false))
      grant(*model);
  keep_time();
}

/// Who is called may ask for more, and should not do so from within.
void ModelPool::schedule_soon() {
  boost::asio::post(context, [pool = weak_from_this()] {
    if (const std::shared_ptr<ModelPool> own = pool.lock())
      own->schedule();
  });
}

/// Whether there is room now; else some is being made, if it can be.
bool ModelPool::make_room(const Model &wanted) {
  const uint64_t needed = memory_of(wanted);
  size_t count = 0;
  uint64_t memory = 0;
  bool someone_leaves = false;
  auto fits = [&] {
    return count < options.most_loaded && memory + needed <= options.memory;
  };
  for (const auto &[name, model] : models) {
    count += model->process != nullptr;
    memory += model->process ? memory_of(*model) : 0;
    someone_leaves |= model->is_leaving;
  }
  if (fits())
    return true;
  // Those that end already may be enough.
  for (const auto &[name, model] : models)
    if (model->is_ending) {
      --count;
      memory -= memory_of(*model);
    }
  while (!fits()) {
    Model *const idle = least_recent(true);
    if (!idle)
      break;
    --count;
    memory -= memory_of(*idle);
    unload(*idle);
  }
  if (!fits() && !someone_leaves &&
      seconds_since(wanted.waiting.front()->since) > options.patience_seconds)
    if (Model *const busy = least_recent(false))
      busy->is_leaving = true;
  return false;
}

ModelPool::Model *ModelPool::least_recent(bool is_idle) {
  Model *found = nullptr;
  for (const auto &[name, model] : models)
    if (model->client && (!is_idle || model->running == 0) &&
        (!found || model->used < found->used))
      found = model.get();
  return found;
}

void ModelPool::keep_time() {
  const bool waits = std::ranges::any_of(models, [](const auto &entry) {
    const Model &model = *entry.second;
    return !model.waiting.empty() || model.is_ending ||
           (model.process && !model.client);
  });
  if (!waits || std::exchange(keeps_time, true))
    return;
  call_later(context, pool_period, [pool = weak_from_this()] {
    if (const std::shared_ptr<ModelPool> own = pool.lock())
      own->tick();
  });
}

void ModelPool::tick() {
  keeps_time = false;
  for (const auto &[name, model] : models) {
    if (model->is_ending &&
        seconds_since(model->ending_since) > options.end_seconds)
      model->process->kill();
    const bool is_loading =
        model->process && !model->client && !model->is_ending;
    if (is_loading && seconds_since(model->started) > options.load_seconds) {
      model->fault = "it has not begun to serve within " +
                     std::to_string(int(options.load_seconds)) + " s";
      model->process->kill();
    }
    // What loads will come.
    while (!is_loading && !model->waiting.empty() &&
           seconds_since(model->waiting.front()->since) >
               options.room_seconds) {
      const std::shared_ptr<Ticket> ticket = model->waiting.front();
      model->waiting.pop_front();
      if (!ticket->gone)
        ticket->refused(overloaded("there is no room for the model " + name +
                                   "; others are busy"));
    }
  }
  schedule();
  keep_time();
}

void ModelPool::load(Model &model) {
  // Nobody else may use its server.
  std::random_device random;
  model.key.clear();
  for (int part = 0; part < 8; ++part)
    model.key += std::to_string(random());
  model.started = Clock::now();
  model.fault.clear();
  ++model.loads;
  ProcessOptions start = {.name = model.files.name,
                          .program = model.files.program,
                          .arguments = arguments_of(model),
                          .environment = {{"BATON_API_KEY", model.key}}};
  const std::weak_ptr<ModelPool> pool = weak_from_this();
  try {
    model.process = processes.start(
        start, {.ready =
                    [pool, &model](uint16_t port) {
                      const std::shared_ptr<ModelPool> own = pool.lock();
                      if (!own || model.is_ending)
                        return;
                      model.client =
                          std::make_shared<HttpClient>(own->context, port);
                      own->schedule();
                    },
                .ended =
                    [pool, &model](const std::string &why) {
                      if (const std::shared_ptr<ModelPool> own = pool.lock())
                        own->ended(model, why);
                    }});
  } catch (const Error &error) {
    fail(model, error.what());
    refuse_waiting(model, server_fault(error.what()));
  }
}

void ModelPool::unload(Model &model) {
  model.is_ending = true;
  model.is_leaving = false;
  model.ending_since = Clock::now();
  model.client = nullptr;
  ++model.unloads;
  model.process->end();
}

void ModelPool::ended(Model &model, const std::string &why) {
  const bool was_loading = !model.client;
  model.process = nullptr;
  model.client = nullptr;
  model.is_leaving = false;
  if (!std::exchange(model.is_ending, false)) {
    fail(model, why);
    if (was_loading)
      refuse_waiting(model, {502, "server_error",
                             "the model " + model.files.name +
                                 " cannot be loaded: " + model.fault});
  }
  schedule_soon();
}

void ModelPool::fail(Model &model, const std::string &why) {
  if (model.fault.empty())
    model.fault = why;
  model.failures.push_back(Clock::now());
  ++model.failure_count;
  const auto all = std::exchange(model.curious, {});
  for (const auto &callback : all)
    callback(model.fault);
}

void ModelPool::grant(Model &model) {
  while (model.client && !model.is_leaving && !model.waiting.empty()) {
    const std::shared_ptr<Ticket> ticket = model.waiting.front();
    model.waiting.pop_front();
    if (ticket->gone)
      continue;
    ++model.running;
    model.used = Clock::now();
    ticket->granted(std::make_shared<Lease>(weak_from_this(), model));
  }
}

void ModelPool::release(Model &model) {
  --model.running;
  model.used = Clock::now();
  if (draining && model.client && model.running == 0)
    unload(model);
  schedule_soon();
}

void ModelPool::refuse_waiting(Model &model, const ApiError &error) {
  const std::deque<std::shared_ptr<Ticket>> all =
      std::exchange(model.waiting, {});
  for (const std::shared_ptr<Ticket> &ticket : all)
    if (!ticket->gone)
      ticket->refused(error);
}

void ModelPool::remove_gone() {
  for (const auto &[name, model] : models)
    std::erase_if(model->waiting, [](const std::shared_ptr<Ticket> &ticket) {
      return ticket->gone;
    });
}

size_t ModelPool::waiting_count() const {
  size_t count = 0;
  for (const auto &[name, model] : models)
    count += model->waiting.size();
  return count;
}

uint64_t ModelPool::kv_memory_of(const Model &model) const {
  if (model.files.kv_memory)
    return *model.files.kv_memory;
  if (options.kv_memory)
    return *options.kv_memory;
  return std::min(model.files.most_kv_memory,
                  options.memory / 2 / options.most_loaded);
}

uint64_t ModelPool::memory_of(const Model &model) const {
  return model.files.fixed_memory + kv_memory_of(model);
}

std::vector<std::string> ModelPool::arguments_of(const Model &model) const {
  const ModelFiles &files = model.files;
  std::vector<std::string> words = {
      "serve",     "--weights", files.weights.string(),
      "--name",    files.name,  "--host",
      "127.0.0.1", "--port",    "0",
      "--no-page"};
  words.insert(words.end(), files.flags.begin(), files.flags.end());
  auto add = [&](const std::string &flag, const std::string &value) {
    if (names_flag(files.flags, flag))
      return;
    words.push_back(flag);
    if (!value.empty())
      words.push_back(value);
  };
  for (const auto &[flag, value] : options.flags)
    add(flag, value);
  add("--kv-memory", std::to_string(kv_memory_of(model)));
  return words;
}

} // namespace baton
