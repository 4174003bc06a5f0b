//===- output.h - standard output that notices failure -------------------===//

#ifndef BATON_RUNTIME_MAIN_OUTPUT_H
#define BATON_RUNTIME_MAIN_OUTPUT_H

#include <string_view>

namespace baton {

/// Sees to it that a file opened later never becomes standard input, output or
/// error where one of them is closed: what is printed would go into it. Writing
/// to those still fails.
void occupy_standard_streams();

/// Writes all of the text to standard output before it returns. Throws Error
/// when it is closed or full, or when a signal came while its reader rests.
void print(std::string_view text);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_OUTPUT_H
