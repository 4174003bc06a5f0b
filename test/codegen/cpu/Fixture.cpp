//===- Fixture.cpp - plans from text to results ---------------------------===//

#include "test/codegen/cpu/Fixture.h"
#include "codegen/plan/Metadata.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

#include <sched.h>
#include <thread>

using namespace llvm;
using namespace baton::cpu;
using namespace baton::cpu::test;

Plan::Plan(StringRef text) {
  context.loadDialect<baton::event::EventDialect>();
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    report_fatal_error("the test's plan does not parse");
}

baton::event::ProgramOp Plan::program() {
  return *module->getOps<baton::event::ProgramOp>().begin();
}

baton::cpu::TargetOptions baton::cpu::test::testOptions() {
  baton::cpu::TargetOptions options;
  options.library = BATON_TEST_LIBRARY;
  return options;
}

static Expected<std::string> emit(baton::event::ProgramOp program,
                                  StringRef metadata,
                                  const baton::cpu::TargetOptions &options,
                                  bool object) {
  Expected<baton::cpu::Target> target = resolveTarget(options);
  if (!target)
    return target.takeError();
  LLVMContext context;
  auto module = emitModule(program, metadata, *target, options, context);
  if (!module)
    return module.takeError();
  SmallString<0> bytes;
  raw_svector_ostream stream(bytes);
  if (!object)
    (*module)->print(stream, nullptr);
  else if (Error error =
               emitObject(**module, *target, options.optimization, stream))
    return error;
  return bytes.str().str();
}

Expected<std::string>
baton::cpu::test::emitText(StringRef text,
                           const baton::cpu::TargetOptions &options) {
  Plan plan(text);
  return emit(plan.program(), "{}", options, /*object=*/true);
}

Expected<std::string>
baton::cpu::test::emitAssembly(StringRef text,
                               const baton::cpu::TargetOptions &options) {
  Plan plan(text);
  return emit(plan.program(), "{}", options, /*object=*/false);
}

extern "C" void baton_yield() { sched_yield(); }

Runner::Runner(StringRef text) : plan(text) {
  nlohmann::json description =
      baton::plan::planMetadata(baton::plan::ProgramLayout(plan.program()));
  words = description["events"]["words"];
  for (const nlohmann::json &storage : description["storages"])
    storages.emplace_back((storage["bytes"].get<size_t>() + 7) / 8);

  baton::cpu::TargetOptions options = testOptions();
  std::string object = cantFail(
      emit(plan.program(), description.dump(), options, /*object=*/true));
  jit = cantFail(orc::LLJITBuilder().create());
  orc::SymbolMap symbols;
  // The factory of executions is named by the program and never called here.
  for (const char *name :
       {"baton_yield", "baton_make_host_execution", "baton_all_batch_commands",
        "baton_all_training_commands"})
    symbols[jit->mangleAndIntern(name)] = {
        orc::ExecutorAddr::fromPtr(&baton_yield), JITSymbolFlags::Exported};
  cantFail(jit->getMainJITDylib().define(orc::absoluteSymbols(symbols)));
  cantFail(jit->addObjectFile(MemoryBuffer::getMemBufferCopy(object)));
  entry =
      cantFail(jit->lookup("baton_program")).toPtr<decltype(&baton_program)>();
  auto *data = cantFail(jit->lookup("baton_metadata")).toPtr<const char *>();
  auto *size =
      cantFail(jit->lookup("baton_metadata_size")).toPtr<const uint64_t *>();
  metadata.assign(data, *size);
}

void Runner::run(BatonStep first, uint32_t workers, uint32_t origin) {
  // 64 values at most are used by any test's tasks.
  scratches.assign(workers, std::vector<int64_t>(64));
  std::vector<std::vector<uint32_t>> bases(
      workers, std::vector<uint32_t>(words, origin));
  std::vector<uint32_t> events(words * 16, origin);
  std::vector<BatonWorker> states;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    scratches[worker][0] = worker;
    states.push_back({scratches[worker].data(), bases[worker].data()});
  }
  std::vector<void *> storagePointers;
  for (std::vector<int64_t> &storage : storages)
    storagePointers.push_back(storage.data());

  BatonContext context{};
  context.parameters = parameters.data();
  context.storages = storagePointers.data();
  context.events = events.data();
  context.workers = states.data();
  context.tokens = tokens.data();
  context.steps[0] = first;
  context.advance = [](BatonContext *context, const BatonStep *current,
                       BatonStep *next, const float *logits, int64_t stride,
                       int64_t vocabulary) {
    static_cast<Runner *>(context->host)
        ->advance(*current, *next, logits, stride, vocabulary);
  };
  if (observe)
    context.observe = [](BatonContext *context, uint32_t phase,
                         uint32_t iteration, const BatonStep *step) {
      static_cast<Runner *>(context->host)->observe(phase, iteration, *step);
    };
  context.host = this;

  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < workers; ++worker)
    threads.emplace_back(entry, &context, worker, workers);
  for (std::thread &thread : threads)
    thread.join();
}
