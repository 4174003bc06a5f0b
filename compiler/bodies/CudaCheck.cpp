//===- CudaCheck.cpp - a task body on the CPU and as CUDA C++
//--------------===//

#include "codegen/cuda/BodyPrinter.h"
#include "codegen/link/Link.h"
#include "compiler/bodies/Checks.h"
#include "compiler/bodies/Child.h"
#include "compiler/bodies/Compiled.h"
#include "compiler/bodies/Memory.h"

#include "mlir/IR/OwningOpRef.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>

using namespace baton;
using namespace baton::checks;
using llvm::Error;
using llvm::Expected;

/// The first element, if any, that the two make different of the same memory:
/// all of it, so that what they write elsewhere counts, too.
static std::string compareTask(const Body &body, Call &host, Call &device,
                               std::vector<Memory> &memories, const Index &task,
                               const Shape &shape) {
  std::vector<int64_t> words;
  std::vector<std::string> before, expected;
  for (Memory &memory : memories) {
    memory.append(
        Body::cut(memory.argument.first, task, shape.step, memory.extents),
        words);
    before.emplace_back(memory.data(), memory.sizeInBytes());
  }
  host(words);
  for (auto [memory, bytes] : llvm::zip(memories, before)) {
    expected.emplace_back(memory.data(), memory.sizeInBytes());
    std::memcpy(memory.data(), bytes.data(), bytes.size());
  }
  device(words);
  std::string found;
  for (auto [number, memory] : llvm::enumerate(memories)) {
    mlir::Type type = memory.argument.type.getElementType();
    unsigned size = memory.argument.elementBytes();
    for (size_t i = 0; i < memory.elements() && found.empty(); ++i) {
      const char *one = expected[number].data() + i * size,
                 *other = memory.element(i);
      double a = load(one, type), b = load(other, type);
      // Which NaN an operation makes is not stated.
      if (std::memcmp(one, other, size) == 0 ||
          (std::isnan(a) && std::isnan(b)))
        continue;
      char values[80];
      std::snprintf(values, sizeof values, "%.9g on the CPU, %.9g as CUDA C++",
                    a, b);
      found = "argument " + std::to_string(number) + ", @" +
              memory.argument.name + ": @" + memory.argument.name +
              text(memory.indexOf(int64_t(i))) + " is " + values + "; task " +
              text(task) + " with " + body.text(shape);
    }
    std::memcpy(memory.data(), before[number].data(), before[number].size());
  }
  return found;
}

static std::string compareAll(const Body &body, Call &host, Call &device,
                              const Shapes &shapes, const Options &options,
                              Say say, size_t &tasks) {
  constexpr size_t most = 8;
  Random random(options.seed);
  for (unsigned i = 0; i < options.shapes; ++i) {
    Shape shape = shapes.draw(i, random);
    std::vector<Memory> memories;
    for (auto [argument, extents] : llvm::zip(body.arguments, shape.extents)) {
      Memory &memory = memories.emplace_back(argument, extents,
                                             /*spread=*/i % 3 == 1, random);
      for (size_t j = 0; j < memory.elements(); ++j)
        store(memory.element(j), argument.type.getElementType(),
              4 * random.number());
    }
    std::vector<Index> all = body.tasks(shape.step);
    for (size_t j = 0; j < std::min(most, all.size()); ++j) {
      const Index &task =
          all.size() <= most ? all[j] : all[random.below(all.size())];
      say("task " + text(task) + " with " + body.text(shape));
      ++tasks;
      if (std::string found =
              compareTask(body, host, device, memories, task, shape);
          !found.empty())
        return found;
    }
  }
  return "";
}

Expected<Verdict> checks::checkCuda(const Body &body, const Options &options,
                                    const EmulationOptions &emulation) {
  auto alone = mlir::OwningOpRef<mlir::ModuleOp>(
      mlir::ModuleOp::create(body.op->getLoc()));
  alone->getBody()->push_back(body.op->clone());
  auto printed = cuda::printBodies(*alone);
  if (!printed)
    return Verdict{Verdict::fault, llvm::toString(printed.takeError())};
  if (auto driver = link::findDriver(); !driver)
    return Verdict{Verdict::skipped, "the emulation needs a compiler: " +
                                         llvm::toString(driver.takeError())};
  auto shapes = Shapes::of(body);
  if (!shapes)
    return shapes.takeError();
  if (Error error = shapes->give(options.sizes))
    return std::move(error);
  auto host = compileForCpu(body, options.libraries);
  if (!host)
    return host.takeError();
  auto device = compileForEmulation(
      body, printed->text, printed->functions.lookup(body.name), emulation);
  if (!device)
    return device.takeError();
  auto outcome = runInChild([&](Say say) {
    size_t tasks = 0;
    std::string found =
        compareAll(body, *host, *device, *shapes, options, say, tasks);
    return nlohmann::json({{"found", found}, {"tasks", tasks}}).dump();
  });
  if (!outcome)
    return outcome.takeError();
  if (!outcome->crash.empty())
    return Verdict{Verdict::fault, outcome->crash + "; " + outcome->where};
  auto result = nlohmann::json::parse(outcome->result);
  if (!result["found"].get<std::string>().empty())
    return Verdict{Verdict::fault, result["found"]};
  return Verdict{Verdict::ok, std::to_string(result["tasks"].get<int>()) +
                                  " tasks of " +
                                  std::to_string(options.shapes) +
                                  " shapes have the CPU's bits"};
}
