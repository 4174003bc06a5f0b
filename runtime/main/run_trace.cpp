//===- run_trace.cpp - the trace that --trace asks for --------------------===//

#include "runtime/main/run_trace.h"

#include "runtime/trace/perfetto.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace baton {

RunTrace::RunTrace(const Metadata &metadata, const RunOptions &options,
                   Execution &execution)
    : metadata(metadata), options(options), execution(execution) {
  if (!options.trace)
    return;
  // Before the run, which may take long.
  file.emplace(*options.trace);
  execution.record(&recorder.emplace(execution.workers()));
}

RunTrace::~RunTrace() {
  if (recorder)
    execution.record(nullptr);
}

void RunTrace::publish() {
  if (!recorder)
    return;
  if (uint64_t dropped = recorder->dropped(); dropped && !options.quiet)
    std::fprintf(stderr,
                 "warning: the trace lacks the last %llu tasks; trace fewer "
                 "tokens\n",
                 static_cast<unsigned long long>(dropped));
  std::vector<TracedPhase> phases;
  for (const PhaseDescription &phase : metadata.phases)
    phases.push_back({phase.name, phase.segment, phase.repeat > 1});

  std::string buffer;
  uint64_t written = 0;
  auto write = [&] {
    file->write(buffer.data(), buffer.size(), written);
    written += buffer.size();
    buffer.clear();
  };
  write_perfetto(*recorder, phases,
                 metadata.json.at("model").value("name", "baton"),
                 [&](const std::string &text) {
                   buffer += text;
                   if (buffer.size() > (1 << 20))
                     write();
                 });
  write();
  file->publish();
}

} // namespace baton
