//===- TargetDescription.cpp - what a target is, as data -----------------===//

#include "compiler/TargetDescription.h"

#include "runtime/weights/message.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <nlohmann/json.hpp>

using namespace baton::compiler;

using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

static Expected<nlohmann::json> parseFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return createStringError(path + ": cannot read the target's description: " +
                             buffer.getError().message());
  nlohmann::json json =
      nlohmann::json::parse((*buffer)->getBuffer(), nullptr, /*throw=*/false);
  if (!json.is_object())
    return createStringError(path + ": is not a JSON object");
  return json;
}

static Expected<TargetDescription> describe(const nlohmann::json &json,
                                            const std::string &path) {
  auto fail = [&](const llvm::Twine &what) {
    return createStringError(path + ": " + what);
  };
  TargetDescription description;
  struct Entry {
    const char *name;
    int64_t *value;
    int64_t step;
    bool optional = false;
    int64_t limit = 1 << 20;
    int64_t least = 1;
  } entries[] = {
      {"max_rows", &description.maxRows, 1},
      {"max_outputs", &description.maxOutputs, 1},
      {"linear_rows", &description.linearRows, 1},
      {"amx_linear_rows", &description.amxLinearRows, 1, true},
      {"linear_columns", &description.linearColumns, 16},
      {"attention_rows", &description.attentionRows, 1},
      {"attention_split", &description.attentionSplit, 64, true, 1 << 16, 0},
      {"plain_rows", &description.plainRows, 1},
      {"logits_bytes", &description.logitsBytes, 1, true, int64_t(1) << 40},
      {"bucket_bytes", &description.bucketBytes, 1, true, int64_t(1) << 40},
      {"recompute_norms", &description.recomputeNorms, 1, true, 1, 0},
      {"few_tasks", &description.fewTasks, 1, true, 1 << 20, 0},
      {"threads", &description.threads, 32, true, 1024},
      {"shared_bytes", &description.sharedBytes, 16, true},
      {"ring_stages", &description.ringStages, 1, true},
      {"instructions", &description.instructions, 1, true}};
  for (const Entry &entry : entries) {
    auto found = json.find(entry.name);
    if (entry.optional && found == json.end())
      continue;
    if (found == json.end() || !found->is_number_integer())
      return fail(llvm::Twine("'") + entry.name + "' is no whole number");
    int64_t value = found->get<int64_t>();
    if (value < entry.least || value > entry.limit || value % entry.step)
      return fail(llvm::Twine("'") + entry.name + "' is " + llvm::Twine(value) +
                  ", expected a multiple of " + llvm::Twine(entry.step) +
                  " up to " + llvm::Twine(entry.limit));
    *entry.value = value;
  }
  struct Figure {
    const char *name;
    std::optional<double> *value;
  } figures[] = {
      {"workers", &description.workers},
      {"read_bandwidth_gb_s", &description.readBandwidthGigabytes},
      {"fma_gflop_s_per_worker", &description.workerGigaflops},
      {"tensor_bf16_gflop_s_per_worker", &description.workerTensorGigaflops},
      {"event_us", &description.eventMicroseconds},
      {"own_body_reaches", &description.ownBodyReaches},
      {"cublaslt_reaches", &description.cublasLtReaches},
      {"launch_us", &description.launchMicroseconds}};
  for (const Figure &figure : figures) {
    auto found = json.find(figure.name);
    if (found == json.end())
      continue;
    if (!found->is_number() || !(found->get<double>() > 0))
      return fail(llvm::Twine("'") + figure.name +
                  "' is no number greater than 0");
    *figure.value = found->get<double>();
  }
  for (auto [name, share] :
       {std::pair("own_body_reaches", description.ownBodyReaches),
        std::pair("cublaslt_reaches", description.cublasLtReaches)})
    if (share && *share > 1)
      return fail(llvm::Twine("'") + name +
                  "' is more than 1, all of the peak");
  return description;
}

/// The entries of an architecture take the place of the file's.
static Error specialize(nlohmann::json &json, llvm::StringRef architecture,
                        const std::string &path) {
  std::vector<std::string> names;
  for (const auto &[name, entries] : json["architectures"].items()) {
    names.push_back(name);
    if (name != architecture)
      continue;
    if (!entries.is_object())
      return createStringError(path + ": '" + name + "' is no JSON object");
    json.update(entries);
    return Error::success();
  }
  return createStringError("architecture '" + architecture +
                           "' is unknown; there is " + llvm::join(names, ", ") +
                           " in " + path +
                           baton::nearest_text(architecture.str(), names));
}

Expected<std::vector<TargetDescription>>
TargetDescription::read(const std::string &path,
                        std::optional<llvm::StringRef> architecture,
                        const std::string &usualPath, ProgramKind kind) {
  auto json = parseFile(path);
  if (!json)
    return json.takeError();
  if (architecture) {
    std::string named = path;
    if (!json->contains("architectures")) {
      auto usual = parseFile(named = usualPath);
      if (!usual)
        return usual.takeError();
      (*json)["architectures"] = (*usual)["architectures"];
    }
    if (Error error = specialize(*json, *architecture, named))
      return std::move(error);
  }
  if (kind == ProgramKind::Training) {
    auto entries = json->find("training");
    if (entries == json->end() || !entries->is_object())
      return createStringError(path + ": has no 'training', the sizes of a "
                                      "training step");
    json->update(nlohmann::json(*entries));
  }
  auto usual = describe(*json, path);
  if (!usual)
    return usual.takeError();
  std::vector<TargetDescription> all = {*usual};
  if (kind == ProgramKind::Training)
    return all;
  const char *name =
      kind == ProgramKind::Batch ? "few_rows_of_batches" : "few_rows";
  const std::string quoted = std::string("'") + name + "'";
  if (auto few = json->find(name); few != json->end()) {
    if (!few->is_object())
      return createStringError(path + ": " + quoted + " is no JSON object");
    nlohmann::json combined = *json;
    combined.update(*few);
    auto second = describe(combined, path + ", " + quoted);
    if (!second)
      return second.takeError();
    if (second->maxRows >= usual->maxRows)
      return createStringError(path + ": 'max_rows' of " + quoted +
                               " is not less than the other");
    all.push_back(*second);
  }
  return all;
}
