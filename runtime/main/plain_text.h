//===- plain_text.h - JSON's values for people ---------------------------===//

#ifndef BATON_RUNTIME_MAIN_PLAIN_TEXT_H
#define BATON_RUNTIME_MAIN_PLAIN_TEXT_H

#include <string>

namespace baton {

/// Strings without their quotes, all else as JSON has it.
template <typename Json> std::string plain_text(const Json &value) {
  return value.is_string() ? value.template get<std::string>() : value.dump();
}

} // namespace baton

#endif // BATON_RUNTIME_MAIN_PLAIN_TEXT_H
