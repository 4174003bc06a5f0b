//===- Measurement.cpp - runs a model's program to see how long it takes --===//

#include "compiler/explain/Measurement.h"

#include "codegen/link/Scratch.h"
#include "compiler/Compile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

#include <nlohmann/json.hpp>

using namespace baton;
using namespace baton::explain;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

namespace {

/// A run of bench: a prompt, in chunks, and tokens decoded after it.
struct BenchRun {
  int64_t prompt, chunk, decode;

  bool operator==(const BenchRun &other) const {
    return std::tie(prompt, chunk, decode) ==
           std::tie(other.prompt, other.chunk, other.decode);
  }
};

} // namespace

/// Tokens decoded to find a median among.
static constexpr int64_t kDecoded = 9;

/// The runs in which the steps occur.
static Expected<std::vector<BenchRun>>
chooseRuns(llvm::ArrayRef<event::ProgramOp> programs,
           llvm::ArrayRef<NamedStep> steps) {
  event::ProgramOp first = programs.front();
  int64_t maxRows = 0, maxSeq = first.getMaxSeq();
  for (event::ProgramOp program : programs)
    maxRows = std::max<int64_t>(maxRows, program.getMaxRows());
  std::vector<BenchRun> runs;
  for (const NamedStep &named : steps) {
    const Step &step = named.step;
    bool isDecode = step.rows == 1 && step.past > 0;
    if (!isDecode && step.past % step.rows != 0)
      return createStringError("--measure: --past " + llvm::Twine(step.past) +
                               " is no multiple of --prefill " +
                               llvm::Twine(step.rows) +
                               ", so that no chunk of a prompt begins there");
    int64_t prompt = isDecode ? step.past : step.past + step.rows;
    int64_t chunk = isDecode ? std::min(maxRows, prompt) : step.rows;
    if (prompt >= maxSeq)
      return createStringError(
          "--measure: a prompt of " + llvm::Twine(prompt) +
          " tokens leaves no room to decode within --max-seq " +
          llvm::Twine(maxSeq));
    BenchRun run{prompt, chunk, std::min(kDecoded, maxSeq - prompt)};
    if (!llvm::is_contained(runs, run))
      runs.push_back(run);
  }
  return runs;
}

static Error runBench(const link::Scratch &scratch, const BenchRun &run,
                      std::optional<unsigned> workers, Measurement &result,
                      llvm::ArrayRef<event::ProgramOp> programs) {
  std::string trace = scratch.path("trace.json");
  std::vector<std::string> arguments = {
      scratch.path("program"),
      "bench",
      "--json",
      "--quiet",
      "--trace=" + trace,
      "--prefill=" + std::to_string(run.prompt),
      "--prefill-chunk=" + std::to_string(run.chunk),
      "--decode=" + std::to_string(run.decode)};
  if (workers)
    arguments.push_back("--workers=" + std::to_string(*workers));
  auto output = link::outputOf(scratch, arguments);
  if (!output)
    return createStringError("--measure: the program failed: " +
                             llvm::toString(output.takeError()));
  auto bench = nlohmann::json::parse(*output, nullptr,
                                     /*allow_exceptions=*/false);
  auto stated = [&](const char *name) -> std::optional<double> {
    if (!bench.is_object() || !bench.contains(name) || !bench[name].is_number())
      return std::nullopt;
    return bench[name].get<double>();
  };
  std::optional<double> used = stated("workers");
  if (!used)
    return createStringError(
        "--measure: the program's bench states no workers");
  // The better of several measurements is nearer to what the machine can do.
  MachineFigures &machine = result.machine;
  machine.from = "measured by bench";
  machine.workers = used;
  // What a device can do at most, bench does not measure.
  auto better = [](std::optional<double> &figure, std::optional<double> rate) {
    if (rate)
      figure = std::max(figure.value_or(0), *rate / 1e9);
  };
  better(machine.bandwidthGigabytes, stated("read_bandwidth"));
  better(machine.peakGigaflops, stated("fma_peak"));
  auto steps = readTrace(trace, programs);
  if (!steps)
    return steps.takeError();
  llvm::append_range(result.steps, *steps);
  return Error::success();
}

Expected<Measurement>
explain::measure(const compiler::CompileOptions &options,
                 const compiler::Installation &installation,
                 llvm::ArrayRef<event::ProgramOp> programs,
                 llvm::ArrayRef<NamedStep> steps,
                 std::optional<unsigned> workers) {
  auto runs = chooseRuns(programs, steps);
  if (!runs)
    return runs.takeError();
  llvm::SmallString<128> beside;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, beside);
  llvm::sys::path::append(beside, "baton-explain-measure");
  auto scratch = link::Scratch::beside(beside);
  if (!scratch)
    return createStringError("--measure: " +
                             llvm::toString(scratch.takeError()));
  compiler::CompileOptions compiling = options;
  compiling.stage = compiler::Stage::executable;
  compiling.output = scratch->path("program");
  compiling.quiet = true;
  if (Error error = compiler::compile(compiling, installation))
    return error;
  Measurement result;
  for (const BenchRun &run : *runs)
    if (Error error = runBench(*scratch, run, workers, result, programs))
      return error;
  return result;
}
