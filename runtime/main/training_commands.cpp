//===- training_commands.cpp - what only programs that train do -----------===//

#include "runtime/main/training_commands.h"

extern "C" const baton::TrainingCommands baton_all_training_commands = {
    .train = baton::train_command, .evaluate = baton::evaluate_command};
