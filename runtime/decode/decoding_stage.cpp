//===- decoding_stage.cpp - one of several programs, on a rank ------------===//
//
// Apart from the rest: executables of one program have no baton_programs.
//
//===----------------------------------------------------------------------===//

#include "runtime/decode/decoding_stages.h"
#include "runtime/error.h"
#include "runtime/execute/host_execution.h"

#include <stdexcept>

extern "C" void (*const baton_programs[])(BatonContext *context,
                                          uint32_t worker, uint32_t workers);

/// A rank has memory for its own stage alone.
baton::Execution *
baton_make_decoding_stage(const baton::Metadata &metadata,
                          const baton::Parameters &parameters,
                          const baton::ExecutionOptions &options) {
  using namespace baton;
  if (options.workers > max_workers)
    throw Error("--workers: " + std::to_string(options.workers) +
                " is not between 1 and " + std::to_string(max_workers));
  std::optional<DecodingStages> stages = DecodingStages::parse(metadata.json);
  if (!stages || !options.communicator)
    throw std::logic_error("a stage runs without others");
  const uint32_t own = stages->stage_of(options.communicator->mesh(),
                                        options.communicator->rank());
  try {
    const nlohmann::json &programs = metadata.json.at("programs");
    for (size_t i = 0; i < programs.size(); ++i) {
      const nlohmann::json &program = programs[i];
      if (program.at("stage") != own)
        continue;
      std::vector<StorageDescription> storages = metadata.storages;
      for (StorageDescription &storage : storages)
        storage.bytes = 0;
      for (const nlohmann::json &use : program.at("storages"))
        storages.at(use.at("storage").get<size_t>()).bytes = use.at("bytes");
      return new HostExecution(
          metadata, parameters.table(), options,
          {baton_programs[i], storages, program.at("places")});
    }
  } catch (const nlohmann::json::exception &failure) {
    throw Error(std::string("this program's description is damaged: ") +
                failure.what());
  }
  throw Error("this program's description is damaged: stage " +
              std::to_string(own) + " has no program");
}
