//===- clock.cpp - points in time as text ---------------------------------===//

#include "runtime/jinja/clock.h"

namespace baton::jinja {

std::string format_time(Rendering &rendering, std::string_view format,
                        const std::tm &time) {
  rendering.make(format.size(), 16);
  std::string result;
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%' || at + 1 == format.size()) {
      result += format[at];
      continue;
    }
    // One directive at a time: with flags, up to its letter.
    size_t end = at + 1;
    while (end + 1 < format.size() &&
           std::string_view("-_^#0EO123456789").find(format[end]) !=
               std::string_view::npos &&
           end < at + 4)
      ++end;
    const std::string directive(format.substr(at, end + 1 - at));
    at = end;
    if (directive == "%f") {
      result += "000000";
      continue;
    }
    if (directive == "%z" || directive == "%Z")
      continue;
    char buffer[256];
    result.append(
        buffer, std::strftime(buffer, sizeof buffer, directive.c_str(), &time));
  }
  rendering.make(result.size());
  return result;
}

} // namespace baton::jinja
