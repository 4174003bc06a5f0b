//===- linked_program.h - mains in the place of the runtime's -------------===//

#ifndef BATON_TEST_E2E_LINKED_PROGRAM_H
#define BATON_TEST_E2E_LINKED_PROGRAM_H

#include "runtime/error.h"
#include "runtime/execute/execution.h"
#include "runtime/main/weights.h"

#include <cstdio>
#include <exception>

namespace baton::test {

/// run(metadata, parameters) of the program that main is linked with, its
/// weights loaded. Returns the exit status: 1, with one line, if it throws.
template <typename Run> int run_linked(const char *weights, Run run) {
  try {
    const Metadata metadata =
        Metadata::parse({baton_metadata, baton_metadata_size});
    RunOptions options;
    options.weights = weights;
    options.quiet = options.no_cache = true;
    run(metadata, load_weights(metadata, options));
    return 0;
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "error: %s\n", failure.what());
    return 1;
  }
}

} // namespace baton::test

#endif // BATON_TEST_E2E_LINKED_PROGRAM_H
