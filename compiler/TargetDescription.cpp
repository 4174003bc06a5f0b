//===- TargetDescription.cpp - what a target is, as data -----------------===//

#include "compiler/TargetDescription.h"

#include "llvm/Support/MemoryBuffer.h"

#include <nlohmann/json.hpp>

using namespace baton::compiler;

llvm::Expected<TargetDescription>
TargetDescription::read(const std::string &path) {
  auto fail = [&](const llvm::Twine &what) {
    return llvm::createStringError(path + ": " + what);
  };
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return fail("cannot read the target's description: " +
                buffer.getError().message());
  nlohmann::json json =
      nlohmann::json::parse((*buffer)->getBuffer(), nullptr, /*throw=*/false);
  if (!json.is_object())
    return fail("is not a JSON object");
  TargetDescription description;
  struct Entry {
    const char *name;
    int64_t *value;
    int64_t step;
    bool optional = false;
    int64_t limit = 1 << 20;
  } entries[] = {{"max_rows", &description.maxRows, 1},
                 {"max_outputs", &description.maxOutputs, 1},
                 {"linear_rows", &description.linearRows, 1},
                 {"linear_columns", &description.linearColumns, 16},
                 {"attention_rows", &description.attentionRows, 1},
                 {"plain_rows", &description.plainRows, 1},
                 {"threads", &description.threads, 32, true, 1024},
                 {"shared_bytes", &description.sharedBytes, 16, true},
                 {"ring_stages", &description.ringStages, 1, true}};
  for (const Entry &entry : entries) {
    auto found = json.find(entry.name);
    if (entry.optional && found == json.end())
      continue;
    if (found == json.end() || !found->is_number_integer())
      return fail(llvm::Twine("'") + entry.name + "' is no whole number");
    int64_t value = found->get<int64_t>();
    if (value < 1 || value > entry.limit || value % entry.step)
      return fail(llvm::Twine("'") + entry.name + "' is " + llvm::Twine(value) +
                  ", expected a multiple of " + llvm::Twine(entry.step) +
                  " up to " + llvm::Twine(entry.limit));
    *entry.value = value;
  }
  struct Figure {
    const char *name;
    std::optional<double> *value;
  } figures[] = {{"workers", &description.workers},
                 {"read_bandwidth_gb_s", &description.readBandwidthGigabytes},
                 {"fma_gflop_s_per_worker", &description.workerGigaflops},
                 {"event_us", &description.eventMicroseconds}};
  for (const Figure &figure : figures) {
    auto found = json.find(figure.name);
    if (found == json.end())
      continue;
    if (!found->is_number() || !(found->get<double>() > 0))
      return fail(llvm::Twine("'") + figure.name +
                  "' is no number greater than 0");
    *figure.value = found->get<double>();
  }
  return description;
}
