//===- batch_commands.cpp - what only programs of many sequences do -------===//

#include "runtime/main/batch_commands.h"

#include "runtime/main/bench_batches.h"
#include "runtime/main/bench_steps.h"

extern "C" const baton::BatchCommands baton_all_batch_commands = {
    .batch = baton::batch_command,
    .serve = baton::serve_command,
    .bench = baton::bench_batches,
    .bench_steps = baton::bench_steps,
    .teach = baton::teach_command};
