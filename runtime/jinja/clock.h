//===- clock.h - points in time as text -----------------------------------===//

#ifndef BATON_RUNTIME_JINJA_CLOCK_H
#define BATON_RUNTIME_JINJA_CLOCK_H

#include "runtime/jinja/rendering.h"

#include <ctime>
#include <string>
#include <string_view>

namespace baton::jinja {

/// datetime.strftime() of a time without a zone and of a whole second, with
/// English names.
std::string format_time(Rendering &rendering, std::string_view format,
                        const std::tm &time);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_CLOCK_H
