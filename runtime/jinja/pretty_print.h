//===- pretty_print.h - values over several lines, by Python's pprint -----===//

#ifndef BATON_RUNTIME_JINJA_PRETTY_PRINT_H
#define BATON_RUNTIME_JINJA_PRETTY_PRINT_H

#include "runtime/jinja/rendering.h"

#include <string>

namespace baton::jinja {

/// pprint.pformat() in 80 columns.
std::string pretty_print(Rendering &rendering, const Value &value);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_PRETTY_PRINT_H
