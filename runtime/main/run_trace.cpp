//===- run_trace.cpp - the trace that --trace asks for --------------------===//

#include "runtime/main/run_trace.h"

#include "runtime/trace/perfetto.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace baton {

RunTrace::RunTrace(const Metadata &metadata, const RunOptions &options,
                   Execution &execution, Communicator *communicator)
    : metadata(metadata), options(options), execution(execution),
      communicator(communicator) {
  if (!options.trace)
    return;
  // Before the run, which may take long.
  if (!communicator || communicator->rank() == 0)
    file.emplace(*options.trace);
  // Times count from here.
  if (communicator)
    communicator->barrier("a trace");
  execution.record(&recorder.emplace(execution.workers()));
}

RunTrace::~RunTrace() {
  if (recorder)
    execution.record(nullptr);
}

void RunTrace::publish() {
  if (!recorder)
    return;
  const bool speaks = !communicator || communicator->rank() == 0;
  if (uint64_t dropped = recorder->dropped();
      dropped && !options.quiet && speaks)
    std::fprintf(stderr,
                 "warning: the trace lacks the last %llu tasks; trace fewer "
                 "tokens\n",
                 static_cast<unsigned long long>(dropped));
  std::vector<TracedPhase> phases;
  for (const PhaseDescription &phase : metadata.phases) {
    phases.push_back({phase.name, phase.segment, {}});
    for (uint32_t i = 0; phase.repeat > 1 && i < phase.repeat; ++i)
      phases.back().layers.push_back(phase.layer(i));
  }
  TracedProgram program = {metadata.json.at("model").value("name", "baton"), 1};
  if (communicator) {
    program.name += ", rank " + std::to_string(communicator->rank());
    program.process += communicator->rank();
  }

  std::vector<std::string> others;
  // Behind its own, which is first here and empty.
  if (communicator) {
    std::string own;
    if (communicator->rank() != 0)
      write_perfetto_events(*recorder, phases, program,
                            [&](const std::string &text) { own += text; });
    others = communicator->share(own, "a trace", 0);
    if (communicator->rank() != 0)
      return;
  }

  std::string buffer;
  uint64_t written = 0;
  auto write = [&] {
    file->write(buffer.data(), buffer.size(), written);
    written += buffer.size();
    buffer.clear();
  };
  auto sink = [&](const std::string &text) {
    buffer += text;
    if (buffer.size() > (1 << 20))
      write();
  };
  write_perfetto(*recorder, phases, program, others, sink);
  write();
  file->publish();
}

} // namespace baton
