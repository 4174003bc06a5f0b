//===- damaged_tables.cpp - a step whose tables changed behind the check --===//
//
// damaged_tables.py links it with what batonc makes of a model, in the place of
// the runtime's main.
//
//   FILE WEIGHTS none|slot
//
// Two prompts have one step together. With "slot" the last row is told behind
// the driver's check to write where the first one does. What the check says of
// that is printed; then the step runs in spite of it.
//
//===----------------------------------------------------------------------===//

#include "runtime/batch/batch_driver.h"
#include "runtime/error.h"
#include "runtime/execute/batch_check.h"
#include "runtime/execute/execution.h"
#include "test/e2e/linked_program.h"

#include <cstdio>
#include <string>

namespace baton {
namespace {

/// A driver's first step, in which there are rows of two tasks.
class OneStep : public StepDriver {
public:
  OneStep(BatchDriver &driver, const BatchCapacities &shape,
          const BatchInputs &inputs, bool damages)
      : driver(driver), check(shape), inputs(inputs), damages(damages) {}

  BatonStep begin(std::span<int32_t> tokens) override {
    const BatonStep step = driver.begin(tokens);
    if (auto fault = check.find_fault(step, inputs))
      throw Error("before anything is damaged: " + *fault);
    if (damages) {
      inputs.slots[step.rows - 1] = inputs.slots[0];
      const auto fault = check.find_fault(step, inputs);
      std::printf("%u rows: %s\n", step.rows,
                  fault ? fault->c_str() : "nothing is wrong");
      std::fflush(stdout);
    }
    return step;
  }
  BatonStep advance(const BatonStep &, const Logits &) override { return {}; }
  bool provides_inputs() const override { return true; }

private:
  BatchDriver &driver;
  BatchCheck check;
  const BatchInputs &inputs;
  const bool damages;
};

void run_step(const Metadata &metadata, const Parameters &parameters,
              bool damages) {
  std::unique_ptr<Execution> execution =
      make_execution(metadata, parameters, {.workers = 2});
  const BatchCapacities shape = batch_capacities(metadata, execution->pages());
  BatchDriver driver(shape, execution->inputs(), {}, {});
  for (const char *id : {"a", "b"}) {
    BatchRequest request;
    request.id = id;
    request.prompt.assign(metadata.max_rows / 2, 1);
    request.max_new_tokens = 1;
    driver.submit(std::move(request));
  }
  OneStep step(driver, shape, execution->inputs(), damages);
  execution->run(step);
}

} // namespace
} // namespace baton

int main(int argc, char **argv) {
  using namespace baton;
  if (argc != 3)
    return 2;
  return test::run_linked(
      argv[1], [&](const Metadata &metadata, const Parameters &parameters) {
        run_step(metadata, parameters, std::string(argv[2]) == "slot");
      });
}
