//===- string_formats.h - formats of strings in schemas ------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_STRING_FORMATS_H
#define BATON_RUNTIME_GRAMMAR_STRING_FORMATS_H

#include <optional>
#include <string>
#include <string_view>

namespace baton {

/// The pattern of a format of JSON Schema (validation, section 7.3): date,
/// time and date-time (RFC 3339, letters in upper case, no leap seconds),
/// duration, email, hostname, ipv4, ipv6, uuid, uri, uri-reference and
/// json-pointer. Nothing for others.
std::optional<std::string> pattern_of_format(std::string_view format);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_STRING_FORMATS_H
