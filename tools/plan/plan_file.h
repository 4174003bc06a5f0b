//===- plan_file.h - a plan that batonc --plan compiles -------------------===//

#ifndef BATON_TOOLS_PLAN_PLAN_FILE_H
#define BATON_TOOLS_PLAN_PLAN_FILE_H

#include "tools/plan/baton_split.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace baton::plan {

/// {"--mesh": "dp=2", "--sequence-parallel": true}
nlohmann::ordered_json flags_json(const Flags &flags);

/// Throws Error where no plan can be written to the file, before anybody has
/// waited for one. Nothing for an empty name.
void check_plan_file(const std::filesystem::path &file);

/// Writes a plan as tools/batonc/plan_file.h reads it: flags of batonc, flags
/// of its program's train, and what was foreseen. Throws Error, naming the
/// file.
void write_plan(const std::filesystem::path &file, const std::string &model,
                const Flags &compile, const Flags &train, double seconds,
                double memory);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_PLAN_FILE_H
