//===- planted.cpp - the persistent kernel with a fault -------------------===//
//
// Usage: planted FAULT BLOCKS THREADS SEED
//
//===----------------------------------------------------------------------===//

#include "test/codegen/cuda/emulation/PersistentKernel.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

int main(int argc, char **argv) {
  using Run = void (PersistentProgram::*)(const baton::emulation::Launch &);
  const std::map<std::string, Run> runs = {
      {"none", &PersistentProgram::run<Fault::none>},
      {"missing_barrier", &PersistentProgram::run<Fault::missing_barrier>},
      {"shuffle_for_barrier",
       &PersistentProgram::run<Fault::shuffle_for_barrier>},
      {"missing_wait", &PersistentProgram::run<Fault::missing_wait>},
      {"missing_fence", &PersistentProgram::run<Fault::missing_fence>},
      {"relaxed_notify", &PersistentProgram::run<Fault::relaxed_notify>}};
  if (argc != 5 || !runs.count(argv[1])) {
    fprintf(stderr, "usage: planted FAULT BLOCKS THREADS SEED\n");
    return 2;
  }
  auto number = [&](int i) {
    return static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10));
  };
  PersistentProgram program(/*rounds=*/5);
  std::vector<float> expected = program.expected();
  (program.*runs.at(argv[1]))(
      {number(2), number(3), PersistentProgram::shared_bytes, number(4)});
  return program.result() == expected ? 0 : 1;
}
