//===- memory_check.cpp - the report that --check-memory asks for ---------===//

#include "runtime/main/memory_check.h"

#include "runtime/error.h"

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

Json list(const std::vector<TaskTouches::Storage> &storages) {
  Json result = Json::array();
  for (const TaskTouches::Storage &storage : storages)
    result.push_back({{"name", storage.name},
                      {"planned", storage.planned},
                      {"touched", storage.touched}});
  return result;
}

Json describe(const TaskTouches::Phase &phase) {
  Json tasks = Json::array();
  for (const TaskTouches::Task &task : phase.tasks)
    tasks.push_back(
        {task.layer, task.task, task.reach.planned, task.reach.touched});
  return {{"name", phase.phase},
          {"storage", phase.storage},
          {"writes", phase.writes},
          {"planned", phase.reach.planned},
          {"touched", phase.reach.touched},
          {"tasks", std::move(tasks)}};
}

/// A line for each phase: there may be many tasks.
std::string report(const TaskTouches &touches) {
  uint64_t planned = 0, touched = 0;
  std::vector<TaskTouches::Storage> storages = touches.storages();
  for (const TaskTouches::Storage &storage : storages) {
    planned += storage.planned;
    touched += storage.touched;
  }
  std::string text = "{\n\"planned\": " + std::to_string(planned) +
                     ",\n\"touched\": " + std::to_string(touched) +
                     ",\n\"storages\": " + list(storages).dump() +
                     ",\n\"phases\": [";
  const char *separator = "\n";
  for (const TaskTouches::Phase &phase : touches.phases()) {
    text += separator + describe(phase).dump();
    separator = ",\n";
  }
  return text + "\n]\n}\n";
}

} // namespace

MemoryCheck::MemoryCheck(const Metadata &metadata, const RunOptions &options,
                         Execution &execution, Communicator *communicator)
    : execution(execution), communicator(communicator) {
  if (!options.check_memory)
    return;
  if (!execution.storages())
    throw Error("--check-memory: the program runs on a device; compile it with "
                "--target=cpu");
  try {
    touches.emplace(metadata, execution.workers());
  } catch (const Error &error) {
    throw Error("--check-memory: " + std::string(error.what()));
  }
  if (!communicator || communicator->rank() == 0)
    file.emplace(*options.check_memory);
  execution.watch(&*touches);
}

MemoryCheck::~MemoryCheck() {
  if (touches)
    execution.watch(nullptr);
}

void MemoryCheck::publish() {
  if (!touches)
    return;
  std::string text = report(*touches);
  if (communicator && !execution.calls().empty()) {
    const char *separator = "";
    std::string all = "{\"ranks\": [\n";
    for (const std::string &one :
         communicator->share(text, "the file of --check-memory", 0)) {
      all += separator + one;
      separator = ",\n";
    }
    text = all + "]}\n";
  }
  if (!file)
    return;
  file->write(text.data(), text.size(), 0);
  file->publish();
}

} // namespace baton
