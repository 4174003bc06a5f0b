//===- message.h - names and shapes in error messages --------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_MESSAGE_H
#define BATON_RUNTIME_WEIGHTS_MESSAGE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// The fewest letters that are inserted, left out or replaced, or neighbours
/// that change places, to make `b` of `a`; none is changed twice (optimal
/// string alignment).
size_t edit_distance(std::string_view a, std::string_view b);

/// "; did you mean NAME?" with the name that differs least from `given`, if it
/// does in no more than a third of its letters; else empty. `dashes` stand
/// before the name.
std::string nearest_text(std::string_view given,
                         const std::vector<std::string> &names,
                         std::string_view dashes = "");

/// In double quotes, control characters escaped, shortened when long, so that a
/// name from a hostile file cannot break or flood the line.
std::string quote_name(std::string_view name);

/// "[2, 3]".
std::string shape_text(const std::vector<uint64_t> &shape);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_MESSAGE_H
