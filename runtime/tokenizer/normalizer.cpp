//===- normalizer.cpp - text as the vocabulary spells it -----------------===//

#include "runtime/tokenizer/normalizer.h"

#include "runtime/error.h"

#include <cstdlib>
#include <memory>

#include <utf8proc.h>

namespace baton {

namespace {

/// A normal form, by utf8proc's options.
std::string normal_form(std::string_view text, int options) {
  utf8proc_uint8_t *result = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &result,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | options));
  if (size < 0)
    throw Error(std::string("text cannot be normalized: ") +
                utf8proc_errmsg(size));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void *)> owner(result,
                                                                  std::free);
  return std::string(reinterpret_cast<const char *>(result),
                     static_cast<size_t>(size));
}

} // namespace

Regex read_pattern(const JsonView &pattern) {
  try {
    if (const auto regex = pattern.find("Regex"))
      return Regex(regex->string());
    if (const auto text = pattern.find("String"))
      return Regex::literal(text->string());
  } catch (const Error &error) {
    pattern.fail(std::string("cannot be used: ") + error.what());
  }
  pattern.fail("has neither 'Regex' nor 'String'");
}

std::string replace_all(std::string_view text, const Regex &regex,
                        std::string_view content) {
  std::string result;
  result.reserve(text.size());
  regex.cut(text, [&](std::string_view piece, bool match) {
    result += match ? content : piece;
  });
  return result;
}

Normalizer::Normalizer(const JsonView &description) { read(description); }

void Normalizer::read(const JsonView &description) {
  const std::string &type = description.at("type").string();
  const auto form = [&](int options) {
    steps.push_back(
        [=](std::string_view text) { return normal_form(text, options); });
  };
  if (type == "Sequence") {
    for (const JsonView &element : description.at("normalizers").elements())
      read(element);
  } else if (type == "NFC") {
    form(UTF8PROC_COMPOSE);
  } else if (type == "NFD") {
    form(UTF8PROC_DECOMPOSE);
  } else if (type == "NFKC") {
    form(UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
  } else if (type == "NFKD") {
    form(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  } else if (type == "Prepend") {
    steps.push_back(
        [prefix = description.at("prepend").string()](std::string_view text) {
          return text.empty() ? std::string() : prefix + std::string(text);
        });
  } else if (type == "Replace") {
    steps.push_back(
        [regex = read_pattern(description.at("pattern")),
         content = description.at("content").string()](std::string_view text) {
          return replace_all(text, regex, content);
        });
  } else {
    description.refuse("type '" + type + "'");
  }
}

std::string Normalizer::apply(std::string_view text) const {
  std::string result(text);
  for (const auto &step : steps)
    result = step(result);
  return result;
}

} // namespace baton
