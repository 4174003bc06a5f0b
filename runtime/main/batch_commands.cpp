//===- batch_commands.cpp - what only programs of many sequences do -------===//

#include "runtime/main/batch_commands.h"

#include "runtime/main/bench_batches.h"

extern "C" const baton::BatchCommands baton_all_batch_commands = {
    .batch = baton::batch_command,
    .serve = baton::serve_command,
    .bench = baton::bench_batches,
    .teach = baton::teach_command};
