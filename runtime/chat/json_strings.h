//===- json_strings.h - strings as JSON writes them -----------------------===//

#ifndef BATON_RUNTIME_CHAT_JSON_STRINGS_H
#define BATON_RUNTIME_CHAT_JSON_STRINGS_H

#include <string>
#include <string_view>

namespace baton {

/// What stands between the quotes. Only what has to be escaped is, and bytes
/// are taken one by one, so that pieces of a text can be escaped.
std::string json_escaped(std::string_view text);
std::string json_quoted(std::string_view text);

/// Whether a text is one JSON value and nothing else, but for white space.
bool is_json(std::string_view text);

std::string_view without_space_around(std::string_view text);

} // namespace baton

#endif // BATON_RUNTIME_CHAT_JSON_STRINGS_H
