//===- message.h - names and shapes in error messages --------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_MESSAGE_H
#define BATON_RUNTIME_WEIGHTS_MESSAGE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// In double quotes, control characters escaped, shortened when long, so that a
/// name from a hostile file cannot break or flood the line.
std::string quote_name(std::string_view name);

/// "[2, 3]".
std::string shape_text(const std::vector<uint64_t> &shape);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_MESSAGE_H
