//===- host_program.cpp - the only program of an executable ---------------===//
//
// Apart from the rest: executables of several programs have no baton_program.
//
//===----------------------------------------------------------------------===//

#include "runtime/error.h"
#include "runtime/execute/host_execution.h"

namespace baton {

HostExecution::HostExecution(const Metadata &metadata,
                             const void *const *parameters,
                             const ExecutionOptions &options)
    : HostExecution(metadata, parameters, options,
                    {baton_program, metadata.storages,
                     metadata.json.value("places", nlohmann::json())}) {}

} // namespace baton

baton::Execution *
baton_make_host_execution(const baton::Metadata &metadata,
                          const baton::Parameters &parameters,
                          const baton::ExecutionOptions &options) {
  if (options.workers > baton::max_workers)
    throw baton::Error("--workers: " + std::to_string(options.workers) +
                       " is not between 1 and " +
                       std::to_string(baton::max_workers));
  baton::ExecutionOptions own = options;
  own.layers = parameters.offloaded();
  return new baton::HostExecution(metadata, parameters.table(), own);
}
