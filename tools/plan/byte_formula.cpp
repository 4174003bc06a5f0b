//===- byte_formula.cpp - bytes that depend on a step's rows --------------===//

#include "tools/plan/byte_formula.h"

#include "runtime/error.h"

#include <cctype>
#include <cmath>

using namespace baton;

namespace {
class Parser {
public:
  Parser(const std::string &text, double rows) : text(text), rows(rows) {}

  double whole() {
    const double value = sum();
    if (!word().empty())
      refuse();
    return value;
  }

private:
  [[noreturn]] void refuse() const {
    throw Error("a program's description is damaged: '" + text +
                "' are no bytes");
  }

  /// The next word or sign, which is not taken yet; empty at the end.
  std::string word() {
    while (at < text.size() && text[at] == ' ')
      ++at;
    size_t end = at;
    while (end < text.size() && std::isalnum((unsigned char)text[end]))
      ++end;
    if (end == at && at < text.size())
      ++end;
    return text.substr(at, end - at);
  }

  bool take(const std::string &wanted) {
    if (word() != wanted)
      return false;
    at += wanted.size();
    return true;
  }

  double sum() {
    double value = product();
    for (;;)
      if (take("+"))
        value += product();
      else if (take("-"))
        value -= product();
      else
        return value;
  }

  double product() {
    double value = factor();
    for (;;)
      if (take("*"))
        value *= factor();
      else if (take("floordiv"))
        value = std::floor(value / factor());
      else if (take("ceildiv"))
        value = std::ceil(value / factor());
      else if (take("mod")) {
        const double by = factor();
        value -= by * std::floor(value / by);
      } else
        return value;
  }

  double factor() {
    if (take("(")) {
      const double value = sum();
      if (!take(")"))
        refuse();
      return value;
    }
    if (take("rows"))
      return rows;
    const std::string number = word();
    if (number.empty() ||
        number.find_first_not_of("0123456789") != std::string::npos)
      refuse();
    at += number.size();
    return std::stod(number);
  }

  const std::string &text;
  const double rows;
  size_t at = 0;
};
} // namespace

double plan::bytes_of_formula(const std::string &formula, double rows) {
  return Parser(formula, rows).whole();
}
