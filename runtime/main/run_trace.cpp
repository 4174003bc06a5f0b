//===- run_trace.cpp - the trace that --trace asks for --------------------===//

#include "runtime/main/run_trace.h"

#include "runtime/error.h"
#include "runtime/trace/perfetto.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <unistd.h>

namespace baton {

namespace {

[[noreturn]] void fail(const std::string &path, int error) {
  throw Error("--trace: " + path +
              ": cannot be written: " + std::strerror(error));
}

} // namespace

RunTrace::RunTrace(const Metadata &metadata, const RunOptions &options,
                   Execution &execution)
    : metadata(metadata), options(options), execution(execution) {
  if (!options.trace)
    return;
  std::error_code ignored;
  auto status = std::filesystem::status(*options.trace, ignored);
  if (std::filesystem::exists(status) &&
      !std::filesystem::is_regular_file(status))
    throw Error("--trace: " + *options.trace + ": is not a plain file");
  temporary = *options.trace + "." + std::to_string(getpid()) + ".temporary";
  // Before the run, which may take long.
  if (FILE *file = std::fopen(temporary.c_str(), "wbe"))
    std::fclose(file);
  else
    fail(*options.trace, errno);
  execution.record(&recorder.emplace(execution.workers()));
}

RunTrace::~RunTrace() {
  if (!recorder)
    return;
  execution.record(nullptr);
  unlink(temporary.c_str());
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

  FILE *file = std::fopen(temporary.c_str(), "wbe");
  bool written = file != nullptr;
  if (file)
    write_perfetto(
        *recorder, phases, metadata.json.at("model").value("name", "baton"),
        [&](const std::string &text) {
          written = written && std::fwrite(text.data(), 1, text.size(), file) ==
                                   text.size();
        });
  if (file && std::fclose(file) != 0)
    written = false;
  if (!written || rename(temporary.c_str(), options.trace->c_str()) != 0)
    fail(*options.trace, errno);
}

} // namespace baton
