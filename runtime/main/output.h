//===- output.h - standard output that notices failure -------------------===//

#ifndef BATON_RUNTIME_MAIN_OUTPUT_H
#define BATON_RUNTIME_MAIN_OUTPUT_H

#include <string_view>

namespace baton {

/// Writes all of the text to standard output before it returns. Throws Error
/// when it is closed or full.
void print(std::string_view text);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_OUTPUT_H
