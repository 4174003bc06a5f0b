//===- commands.h - what batonc plan can be asked -------------------------===//

#ifndef BATON_TOOLS_PLAN_COMMANDS_H
#define BATON_TOOLS_PLAN_COMMANDS_H

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string>

namespace baton::plan {

/// As it is printed; bytes of names that are no text are replaced.
inline std::string text_of(const nlohmann::ordered_json &json) {
  return json.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

// Each adds a subcommand, which runs as it is parsed. They throw Error.

void add_judge_command(CLI::App &app);
void add_train_command(CLI::App &app);
void add_decode_command(CLI::App &app);
void add_memory_command(CLI::App &app);
void add_scale_command(CLI::App &app);
void add_goodput_command(CLI::App &app);
void add_offload_command(CLI::App &app);
void add_serve_command(CLI::App &app);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_COMMANDS_H
