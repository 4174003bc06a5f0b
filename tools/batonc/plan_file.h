//===- plan_file.h - flags that batonc plan has chosen --------------------===//
//
// What batonc plan train -o writes:
//
//   {"format": 1, "compile": {"--mesh": "dp=2", "--sequence-parallel": true},
//    "train": {"--batch": "8", "--seq": "512"}, ...}
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_BATONC_PLAN_FILE_H
#define BATON_TOOLS_BATONC_PLAN_FILE_H

#include <CLI/CLI.hpp>

#include <string>

namespace baton::tools {

/// Gives `app`, which was parsed, the flags of a plan as if they had been on
/// the command line. An error line where a flag says otherwise already, or the
/// file is no plan; or nothing, and then `train` is what the program's train is
/// to be told.
std::string applyPlan(CLI::App &app, const std::string &file,
                      std::string &train);

} // namespace baton::tools

#endif // BATON_TOOLS_BATONC_PLAN_FILE_H
