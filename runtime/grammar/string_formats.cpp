//===- string_formats.cpp - formats of strings in schemas ----------------===//

#include "runtime/grammar/string_formats.h"

namespace baton {

namespace {

std::string grouped(const std::string &pattern) {
  return "(?:" + pattern + ")";
}

/// The years 0001 to 9999, and 29 February in those that have it.
std::string date_pattern() {
  const std::string year = grouped("[0-9]{3}[1-9]|[0-9]{2}[1-9]0|"
                                   "[0-9][1-9]00|[1-9]000");
  const std::string fourth = grouped("0[48]|[2468][048]|[13579][26]");
  const std::string day = grouped(
      "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|"
      "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])");
  return grouped(year + "-" + day + "|" +
                 grouped("[0-9]{2}" + fourth + "|" + fourth + "00") + "-02-29");
}

std::string time_pattern() {
  const std::string hours = "(?:[01][0-9]|2[0-3]):[0-5][0-9]";
  return hours + ":[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-]" + hours + ")";
}

/// RFC 3339, appendix A.
std::string duration_pattern() {
  const std::string number = "[0-9]{1,9}";
  const std::string days = number + "D";
  const std::string months = number + "M(?:" + days + ")?";
  const std::string years = number + "Y(?:" + months + ")?";
  const std::string seconds = number + "S";
  const std::string minutes = number + "M(?:" + seconds + ")?";
  const std::string hours = number + "H(?:" + minutes + ")?";
  const std::string time = "T" + grouped(hours + "|" + minutes + "|" + seconds);
  const std::string date = grouped(years + "|" + months + "|" + days);
  return "P" + grouped(date + "(?:" + time + ")?|" + time + "|" + number + "W");
}

std::string hostname_pattern() {
  const std::string label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  return label + "(?:\\." + label + ")*";
}

std::string email_pattern() {
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
  return atom + "(?:\\." + atom + ")*@" + hostname_pattern();
}

std::string ipv4_pattern() {
  const std::string byte = grouped("25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9]");
  return grouped(byte + "(?:\\." + byte + "){3}");
}

/// RFC 4291, section 2.2.
std::string ipv6_pattern() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  const std::string last = grouped(group + ":" + group + "|" + ipv4_pattern());
  std::string pattern = "(?:" + group + ":){6}" + last;
  // The groups that :: stands for leave at most so many before and behind it.
  for (int before = 0; before <= 7; ++before) {
    std::string left = before == 0 ? ""
                                   : group + "(?::" + group + "){" +
                                         std::to_string(before - 1) + "}";
    const int behind = 7 - before;
    std::string right;
    for (int count = 1; count <= behind; ++count)
      right += (right.empty() ? "" : "|") + group + "(?::" + group + "){" +
               std::to_string(count - 1) + "}";
    if (behind >= 2)
      right += "|(?:" + group + ":){0," + std::to_string(behind - 2) + "}" +
               ipv4_pattern();
    pattern += "|" + left + "::" + (right.empty() ? "" : grouped(right) + "?");
  }
  return pattern;
}

/// RFC 3986, appendix A.
std::string uri_pattern(bool relative) {
  const std::string plain = "A-Za-z0-9._~!$&'()*+,;=-";
  const auto many = [&](const std::string &more, const char *count) {
    return grouped("[" + more + plain + "]|%[0-9A-Fa-f]{2}") + count;
  };
  const std::string segments = grouped("/" + many(":@", "*")) + "*";
  const std::string host =
      grouped("\\[" + grouped(ipv6_pattern()) + "\\]|" + many("", "*"));
  const std::string authority =
      "//" + grouped(many(":", "*") + "@") + "?" + host + "(?::[0-9]{0,5})?";
  const std::string absolute = "/" + grouped(many(":@", "+") + segments) + "?";
  const std::string tail =
      "(?:\\?" + many(":@/?", "*") + ")?(?:#" + many(":@/?", "*") + ")?";
  const std::string with_scheme =
      "[A-Za-z][A-Za-z0-9+.-]*:" +
      grouped(authority + segments + "|" + absolute + "|" +
              grouped(many(":@", "+") + segments) + "?");
  if (!relative)
    return with_scheme + tail;
  const std::string without_scheme =
      grouped(authority + segments + "|" + absolute + "|" +
              grouped(many("@", "+") + segments) + "?");
  return grouped(with_scheme + "|" + without_scheme) + tail;
}

} // namespace

std::optional<std::string> pattern_of_format(std::string_view format) {
  const auto anchored = [](const std::string &pattern) {
    return "^" + grouped(pattern) + "$";
  };
  if (format == "date")
    return anchored(date_pattern());
  if (format == "time")
    return anchored(time_pattern());
  if (format == "date-time")
    return anchored(date_pattern() + "T" + time_pattern());
  if (format == "duration")
    return anchored(duration_pattern());
  if (format == "email")
    return anchored(email_pattern());
  if (format == "hostname")
    return anchored(hostname_pattern());
  if (format == "ipv4")
    return anchored(ipv4_pattern());
  if (format == "ipv6")
    return anchored(ipv6_pattern());
  if (format == "uuid")
    return anchored("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}");
  if (format == "uri")
    return anchored(uri_pattern(/*relative=*/false));
  if (format == "uri-reference")
    return anchored(uri_pattern(/*relative=*/true));
  if (format == "json-pointer")
    return anchored("(?:/(?:[^~/]|~[01])*)*");
  return std::nullopt;
}

} // namespace baton
