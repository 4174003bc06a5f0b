//===- CompiledForEmulation.cpp - a task body as CUDA C++, on the host
//-----===//

#include "codegen/cpu/Target.h"
#include "codegen/link/Link.h"
#include "codegen/link/Scratch.h"
#include "compiler/bodies/Compiled.h"
#include "compiler/targets/cuda/KernelCode.h"

#include "llvm/Support/Path.h"

#include <dlfcn.h>

using namespace baton;
using namespace baton::checks;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

static constexpr char kCall[] = "baton_call";

/// Behind a body, a function that calls it in all threads of a block.
static std::string callText(const Body &body, const std::string &function) {
  size_t words = 0;
  for (const Argument &argument : body.arguments)
    words += 3 + 2 * argument.rank();
  // Scratch is one memref more.
  if (llvm::cast<event::BodyOp>(body.op).usesScratch())
    words += 5;
  std::string text = R"(
namespace {
/// What a parameter of any type takes.
struct Word {
  int64_t value;
  template <typename T> operator T *() const {
    return reinterpret_cast<T *>(value);
  }
  operator int64_t() const { return value; }
};
} // namespace

extern "C" void )";
  text += kCall;
  text += R"((Word *words, unsigned threads, uint64_t seed) {
  baton::emulation::launch({1, threads, 0, seed}, [](void *data) {
    const Word *w = static_cast<const Word *>(data);
    )" + function +
          "(";
  for (size_t i = 0; i < words; ++i)
    text += (i ? ", w[" : "w[") + std::to_string(i) + "]";
  return text + ");\n  }, words);\n}\n";
}

Expected<Call> checks::compileForEmulation(const Body &body,
                                           const std::string &text,
                                           const std::string &function,
                                           const EmulationOptions &options) {
  Expected<cpu::Target> target = cpu::resolveTarget({});
  if (!target)
    return target.takeError();
  llvm::SmallString<128> place;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, place);
  llvm::sys::path::append(place, "baton-body");
  auto scratch = link::Scratch::beside(place);
  if (!scratch)
    return scratch.takeError();
  std::string library = scratch->path("body.so");
  auto object = link::compileSource(
      text + callText(body, function), library,
      {compiler::emulationFlags(/*architecture=*/90, /*optimization=*/2,
                                "native"),
       options.headers, /*driver=*/"", options.cache,
       target->cpu + target->features});
  if (!object)
    return object.takeError();
  link::LinkOptions linking;
  linking.archives = {options.archive};
  linking.isShared = true;
  if (Error error = link::linkExecutable({object->bytes}, library, linking))
    return std::move(error);
  void *opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void *call = opened ? dlsym(opened, kCall) : nullptr;
  if (!call)
    return createStringError(std::string("the emulated body cannot be "
                                         "loaded: ") +
                             dlerror());
  return withScratch(body, [call, number = uint64_t(0)](
                               const std::vector<int64_t> &words) mutable {
    // Nothing depends on the number of threads, nor on their order.
    const uint64_t seed = number++;
    reinterpret_cast<void (*)(const int64_t *, unsigned, uint64_t)>(call)(
        words.data(), seed % 2 ? 96 : 256, seed);
  });
}
