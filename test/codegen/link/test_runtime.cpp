//===- test_runtime.cpp - main() of the linking tests' executables --------===//
//
// Usage: EXECUTABLE STORAGE_BYTES. Runs 20 steps of 8 rows on two workers with
// every storage of that size, and prints the last step's first logit.
//
//===----------------------------------------------------------------------===//

#include "runtime/program.h"

#include <sched.h>

#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

extern "C" void baton_yield() { sched_yield(); }
/// Named by the program, and never called here.
extern "C" void baton_make_host_execution() {}

namespace {

struct Host {
  int steps = 0;
  float logit = 0;
};

void advance(BatonContext *context, const BatonStep *current, BatonStep *next,
             const float *logits, int64_t, int64_t) {
  Host &host = *static_cast<Host *>(context->host);
  host.logit = logits[0];
  *next = {++host.steps < 20 ? current->rows : 0, 0, 1, 0};
}

} // namespace

// What programs that are sanitized for addresses call; nobody asks for it here.
extern "C" {
uint8_t baton_touches_wanted = 0;
void baton_begin_task(BatonContext *, const BatonWorker *, uint32_t, uint32_t,
                      uint64_t) {}
void baton_declare_access(const char *, uint32_t, uint32_t, uint32_t,
                          const void *, int64_t, int64_t, int64_t) {}
void baton_end_task() {}
void baton_touch(const void *, uint64_t, uint32_t) {}
}

int main(int count, char **arguments) {
  if (count != 2 || baton_metadata_size == 0)
    return 2;
  constexpr uint32_t workers = 2, words = 64, storages = 3;
  std::vector<std::vector<char>> memory(
      storages, std::vector<char>(std::atoi(arguments[1])));
  std::vector<void *> pointers;
  for (std::vector<char> &storage : memory)
    pointers.push_back(storage.data());
  std::vector<uint32_t> events(words * 16);
  std::vector<std::vector<uint32_t>> bases(workers,
                                           std::vector<uint32_t>(words));
  std::vector<BatonWorker> states;
  for (std::vector<uint32_t> &base : bases)
    states.push_back({nullptr, base.data()});
  std::vector<int32_t> tokens = {1, 2, 3, 4, 5, 6, 7, 8};
  Host host;

  BatonContext context{};
  context.storages = pointers.data();
  context.events = events.data();
  context.workers = states.data();
  context.tokens = tokens.data();
  context.steps[0] = {8, 0, 1, 0};
  context.advance = advance;
  context.host = &host;
  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < workers; ++worker)
    threads.emplace_back(baton_program, &context, worker, workers);
  for (std::thread &thread : threads)
    thread.join();
  std::cout << host.logit << std::endl;
}
