//===- planted.cpp - kernels with a fault ---------------------------------===//
//
// Usage: planted KERNEL FAULT BLOCKS THREADS SEED
//
//===----------------------------------------------------------------------===//

#include "test/runtime/cuda/emulation/CopyKernels.h"
#include "test/runtime/cuda/emulation/PersistentKernel.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace {

using baton::emulation::Launch;

template <Fault fault> bool persistent_is_right(const Launch &launch) {
  PersistentProgram program(/*rounds=*/5);
  std::vector<float> expected = program.expected();
  Launch with_shared = launch;
  with_shared.shared_bytes = PersistentProgram::shared_bytes;
  program.run<fault>(with_shared);
  return program.result() == expected;
}

template <CopyFault fault> bool groups_are_right(const Launch &launch) {
  return copies_rows(launch, copy_by_groups<fault>);
}

template <CopyFault fault> bool bulk_is_right(const Launch &launch) {
  return copies_rows(launch, copy_in_bulk<fault>);
}

} // namespace

int main(int argc, char **argv) {
  const std::map<std::string, bool (*)(const Launch &)> runs = {
      {"persistent none", persistent_is_right<Fault::none>},
      {"persistent missing_barrier",
       persistent_is_right<Fault::missing_barrier>},
      {"persistent shuffle_for_barrier",
       persistent_is_right<Fault::shuffle_for_barrier>},
      {"persistent missing_wait", persistent_is_right<Fault::missing_wait>},
      {"persistent relaxed_poll", persistent_is_right<Fault::relaxed_poll>},
      {"persistent relaxed_notify", persistent_is_right<Fault::relaxed_notify>},
      {"groups none", groups_are_right<CopyFault::none>},
      {"groups missing_wait", groups_are_right<CopyFault::missing_wait>},
      {"groups missing_barrier", groups_are_right<CopyFault::missing_barrier>},
      {"bulk none", bulk_is_right<CopyFault::none>},
      {"bulk missing_proxy_fence",
       bulk_is_right<CopyFault::missing_proxy_fence>},
      {"bulk missing_full", bulk_is_right<CopyFault::missing_full>},
      {"bulk early_empty", bulk_is_right<CopyFault::early_empty>}};
  auto run =
      argc == 6 ? runs.find(std::string(argv[1]) + " " + argv[2]) : runs.end();
  if (run == runs.end()) {
    fprintf(stderr, "usage: planted KERNEL FAULT BLOCKS THREADS SEED\n");
    return 2;
  }
  auto number = [&](int i) {
    return static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10));
  };
  return run->second({number(3), number(4), 0, number(5)}) ? 0 : 1;
}
