//===- format_spec.h - one value in a format string -----------------------===//

#ifndef BATON_RUNTIME_JINJA_FORMAT_SPEC_H
#define BATON_RUNTIME_JINJA_FORMAT_SPEC_H

#include "runtime/jinja/rendering.h"

#include <string>
#include <string_view>

namespace baton::jinja {

/// A magnitude by C's conversion e, f or g (or E, F, G) with so many digits;
/// `alternate` keeps the point. At most most_precision digits.
std::string float_digits(double magnitude, char conversion, int precision,
                         bool alternate);
inline constexpr int most_precision = 1000;

/// format(value, spec). Throws Failure where the specification is malformed or
/// of another type.
std::string format_value(Rendering &rendering, const Value &value,
                         std::string_view spec);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_FORMAT_SPEC_H
