//===- Page.cpp - an explanation as one HTML page -------------------------===//

#include "compiler/explain/Explanation.h"

using namespace baton::explain;

static constexpr char kPage[] =
#include "compiler/explain/page.html.inc"
    ;
static constexpr char kStyle[] =
#include "compiler/explain/page.css.inc"
    ;
static constexpr char kScript[] =
#include "compiler/explain/page.js.inc"
    ;

/// A script element ends at "</script", whatever its type. In JSON "<" stands
/// in strings only, where it may be escaped.
static std::string embeddedJson(const std::string &json) {
  std::string text;
  for (char c : json)
    text += c == '<' ? "\\u003c" : std::string(1, c);
  return text;
}

static std::string escaped(const std::string &name) {
  std::string text;
  for (char c : name)
    text += c == '<'   ? "&lt;"
            : c == '>' ? "&gt;"
            : c == '&' ? "&amp;"
                       : std::string(1, c);
  return text;
}

std::string baton::explain::explanationPage(const Explanation &explanation) {
  std::string page = kPage;
  auto fill = [&](const std::string &place, const std::string &text) {
    page.replace(page.find(place), place.size(), text);
  };
  // From the end on, so that nothing that was filled in is looked at.
  fill("{{script}}", kScript);
  fill("{{data}}", embeddedJson(explanationJson(explanation)));
  fill("{{style}}", kStyle);
  fill("{{title}}", escaped(explanation.model));
  return page;
}
