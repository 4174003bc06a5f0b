//===- describe.h - what batonc says of a program that it would make ------===//

#ifndef BATON_TOOLS_PLAN_DESCRIBE_H
#define BATON_TOOLS_PLAN_DESCRIBE_H

#include "runtime/execute/metadata.h"
#include "tools/plan/baton_split.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace baton::plan {

/// What batonc says: its program, or why there is none.
struct Described {
  std::optional<Metadata> metadata;
  std::string refusal;
};

/// batonc, of whose installation this program is.
std::string batonc_beside_this();

/// Of these flags, for steps of so many rows. `file` is written and removed
/// again.
Described describe_program(const std::string &batonc,
                           const std::filesystem::path &model,
                           const Flags &flags, uint64_t rows,
                           const std::filesystem::path &file);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_DESCRIBE_H
