//===- Trials.cpp - schedules of a model, compiled and run here -----------===//

#include "compiler/tuning/Trials.h"

#include "codegen/link/Cache.h"
#include "compiler/Compile.h"
#include "compiler/CublasLtChoice.h"
#include "compiler/Outputs.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

using namespace baton;
using namespace baton::compiler;
using namespace baton::tuning;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

std::string Workload::text() const {
  return "a prompt of " + std::to_string(prefill) + " tokens and " +
         std::to_string(decode) + " decoded after it";
}

std::string tuning::planKey(const Plan &plan) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  plan.module()->print(stream);
  return link::Cache::key({text});
}

/// Of a process of bench, which keeps the times of no more.
static constexpr int64_t kMostTokens = 4096;

static std::string nameOf(const Chosen &candidate) {
  std::string name = "candidate";
  for (unsigned each : candidate)
    name += "-" + std::to_string(each);
  return name;
}

double ScheduleTrials::predict(Plan &plan) const {
  const size_t programs = plan.programs().size();
  // Programs for steps of few rows stand second.
  const int64_t few = programs > 1 ? plan.programs()[1].getMaxRows() : 0;
  const int64_t most = plan.programs()[0].getMaxRows();
  struct Timed {
    explain::Step step;
    double times;
  };
  std::vector<Timed> steps[2];
  auto add = [&](explain::Step step, double times) {
    steps[step.rows <= few ? 1 : 0].push_back({step, times});
  };
  const Workload &work = options.workload;
  for (int64_t past = 0; past < work.prefill; past += most) {
    int64_t rows = std::min(most, work.prefill - past);
    add({rows, past, past + rows == work.prefill ? 1 : 0}, 1);
  }
  add({1, work.prefill + work.decode / 2, 1}, static_cast<double>(work.decode));
  double sum = 0;
  for (size_t program = 0; program < 2; ++program) {
    if (steps[program].empty())
      continue;
    if (program == 1)
      plan.lead(1);
    std::vector<explain::NamedStep> named;
    for (const Timed &timed : steps[program])
      named.push_back({"", timed.step});
    const TargetDescription &target =
        targets[std::min(program, targets.size() - 1)];
    explain::Products products{{}, target};
    explain::Explanation explanation = explain::explainPlan(
        plan, options.compile.model, named, {}, machine, &target, products);
    for (auto [timed, explained] :
         llvm::zip_equal(steps[program], explanation.steps))
      sum += timed.times * explained.simulated.microseconds;
  }
  return sum;
}

Expected<Run> ScheduleTrials::runProgram(const std::string &name,
                                         const std::string &logits) const {
  const Workload &work = options.workload;
  std::vector<std::string> arguments = {
      scratch.path(name),
      "bench",
      "--brief",
      "--json",
      "--quiet",
      "--repeat=" + std::to_string(logits.empty() ? repeats : 1),
      "--prefill=" + std::to_string(work.prefill),
      "--decode=" + std::to_string(work.decode)};
  if (work.workers)
    arguments.push_back("--workers=" + std::to_string(*work.workers));
  if (!work.weights.empty())
    arguments.push_back("--weights=" + work.weights);
  if (options.compile.cache.empty())
    arguments.push_back("--no-cache");
  if (!logits.empty())
    arguments.push_back("--logits=" + logits);
  auto output = link::outputOf(scratch, arguments);
  if (!output)
    return output.takeError();
  auto bench = nlohmann::json::parse(*output, nullptr,
                                     /*allow_exceptions=*/false);
  auto seconds = [&](const char *entry) {
    return bench.is_object() && bench.contains(entry)
               ? bench[entry].get<std::vector<double>>()
               : std::vector<double>();
  };
  std::vector<double> prefill = seconds("prefill_seconds"),
                      decode = seconds("decode_seconds");
  size_t tokens = static_cast<size_t>(work.decode);
  if (prefill.empty() || decode.size() < tokens)
    return createStringError("its bench states no times");
  // The first run of a process finds no memory in place, and a core may be away
  // for most of another one: the fastest counts.
  Run best;
  for (size_t i = 0; i < prefill.size() && (i + 1) * tokens <= decode.size();
       ++i) {
    double sum = 0;
    for (size_t token = 0; token < tokens; ++token)
      sum += decode[i * tokens + token];
    if (i == 0 || sum + prefill[i] < best.seconds())
      best = {prefill[i], sum};
  }
  return best;
}

/// The numbers of a .npy file of F32, behind its header.
static std::optional<std::vector<float>> readLogits(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer || (*buffer)->getBufferSize() < 10)
    return std::nullopt;
  StringRef bytes = (*buffer)->getBuffer();
  size_t header = static_cast<uint8_t>(bytes[8]) +
                  (size_t(static_cast<uint8_t>(bytes[9])) << 8);
  bytes = bytes.drop_front(std::min(bytes.size(), 10 + header));
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

std::string ScheduleTrials::compareLogits() const {
  auto usual = readLogits(scratch.path("default.npy")),
       found = readLogits(scratch.path("candidate.npy"));
  if (!usual || !found || usual->size() != found->size())
    return "writes no logits as the default does";
  size_t differ = 0, first = 0;
  for (size_t i = usual->size(); i-- > 0;)
    if (std::memcmp(&(*usual)[i], &(*found)[i], sizeof(float)) != 0) {
      ++differ;
      first = i;
    }
  if (!differ)
    return "";
  const size_t tokens = static_cast<size_t>(options.workload.decode) + 1;
  const size_t vocabulary = usual->size() / tokens;
  char text[200];
  std::snprintf(text, sizeof(text),
                "computes other bits than the default: %zu of %zu logits; the "
                "first is %.9g instead of %.9g, of token %zu behind the "
                "prompt's token %lld",
                differ, usual->size(), static_cast<double>((*found)[first]),
                static_cast<double>((*usual)[first]), first % vocabulary,
                static_cast<long long>(options.workload.prefill) - 1 +
                    static_cast<long long>(first / vocabulary));
  return text;
}

Error ScheduleTrials::begin(Plan &plan) {
  defaultPlan = planKey(plan);
  defaultPrediction = predict(plan);
  CompileOptions compiling = options.compile;
  compiling.stage = Stage::executable;
  compiling.output = scratch.path("default");
  compiling.quiet = true;
  compiling.schedule.clear();
  if (Error error = compile(compiling, installation))
    return error;
  auto ran = runProgram("default", scratch.path("default.npy"));
  if (!ran)
    return createStringError("the default's program failed: " +
                             llvm::toString(ran.takeError()));
  // A quarter of a second, as starting a process may take.
  repeats = std::clamp<int64_t>(
      static_cast<int64_t>(0.25 / std::max(ran->seconds(), 1e-4)), 2,
      std::max<int64_t>(
          2, std::min<int64_t>(16, kMostTokens / options.workload.decode)));
  return Error::success();
}

std::string ScheduleTrials::admit(const std::string &schedule,
                                  const std::string &name) {
  CompileOptions compiling = options.compile;
  compiling.stage = Stage::executable;
  compiling.schedule = schedule;
  compiling.output = scratch.path(name);
  compiling.quiet = true;
  if (Error error = compile(compiling, installation))
    return "cannot be compiled: " + llvm::toString(std::move(error));
  auto ran = runProgram(name, scratch.path("candidate.npy"));
  std::string problem =
      ran ? compareLogits()
          : "makes a program that fails: " + llvm::toString(ran.takeError());
  (void)llvm::sys::fs::remove(scratch.path("candidate.npy"));
  if (!problem.empty())
    (void)llvm::sys::fs::remove(scratch.path(name));
  return problem;
}

/// An error of a candidate's file, as one of the file that the user has.
static std::string withName(std::string text, StringRef file, StringRef name) {
  for (size_t at = 0; (at = text.find(file, at)) != std::string::npos;
       at += name.size())
    text.replace(at, file.size(), name);
  return text;
}

Expected<Judgement> ScheduleTrials::judge(const Chosen &candidate,
                                          const Chosen &best) {
  Judgement judgement;
  auto refuse = [&](const std::string &why) {
    judgement.kind = Judgement::Kind::refused;
    judgement.why = withName(why, scheduleFile(), options.name);
    return judgement;
  };
  if (candidate == best)
    known.clear();
  if (!ready.count(candidate)) {
    if (Error error = writeOutput(scheduleFile(), space->choose(candidate)))
      return std::move(error);
    CompileOptions planning = options.compile;
    planning.stage = Stage::event;
    planning.schedule = scheduleFile();
    auto plan = Plan::build(planning, targets);
    if (!plan)
      return refuse(llvm::toString(plan.takeError()));
    plans[candidate] = planKey(*plan);
    predictions[candidate] = predict(*plan);
  }
  judgement.predicted = predictions[candidate];
  auto [same, isNew] = known.emplace(plans[candidate], candidate);
  if (!isNew && same->second != candidate) {
    judgement.kind = Judgement::Kind::same;
    judgement.why = same->second == best
                        ? "changes nothing in the plan"
                        : "gives the plan of another alternative";
    return judgement;
  }
  if (candidate != best) {
    double least = predictions[best];
    if (judgement.predicted > options.prune * least) {
      judgement.kind = Judgement::Kind::pruned;
      char text[80];
      std::snprintf(text, sizeof(text),
                    "is predicted to take %.2f times as long",
                    judgement.predicted / least);
      judgement.why = text;
      return judgement;
    }
  }
  if (ready.count(candidate))
    return judgement;
  if (std::string problem = admit(scheduleFile(), nameOf(candidate));
      !problem.empty())
    return refuse(candidate != best
                      ? problem
                      : options.name +
                            ": the schedule that the search begins with " +
                            problem +
                            "; begin with alternatives that do as the default "
                            "does, or say 'or not'");
  ready.insert(candidate);
  return judgement;
}

Expected<Run> ScheduleTrials::run(const Chosen &candidate) {
  auto ran = runProgram(nameOf(candidate));
  if (!ran)
    return createStringError("a candidate's program failed: " +
                             llvm::toString(ran.takeError()));
  return ran;
}

void ScheduleTrials::release(const Chosen &candidate) {
  if (ready.erase(candidate))
    (void)llvm::sys::fs::remove(scratch.path(nameOf(candidate)));
}
