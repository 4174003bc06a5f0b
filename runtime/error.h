//===- error.h - the one exception of the runtime ------------------------===//
//
// Everything that a user can cause (bad files, flags, shapes) ends as one Error
// whose message is a single line that names the thing at fault; main() prints
// it and exits with 1.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_ERROR_H
#define BATON_RUNTIME_ERROR_H

#include <stdexcept>
#include <string>

namespace baton {

struct Error : std::runtime_error {
  explicit Error(const std::string &message) : std::runtime_error(message) {}
};

} // namespace baton

#endif // BATON_RUNTIME_ERROR_H
