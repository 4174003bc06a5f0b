//===- page.cpp - the server's page in a browser --------------------------===//

#include "runtime/serve/page.h"

#include <string>
#include <string_view>
#include <utility>

namespace baton {

static constexpr std::string_view page_html =
#include "runtime/serve/page/page.html.inc"
    ;
static constexpr std::string_view page_css =
#include "runtime/serve/page/page.css.inc"
    ;
// One script, in the order in which its parts begin.
static constexpr std::string_view page_js =
// clang-format off
#include "runtime/serve/page/element.js.inc"
#include "runtime/serve/page/server.js.inc"
#include "runtime/serve/page/markdown.js.inc"
#include "runtime/serve/page/conversations.js.inc"
#include "runtime/serve/page/settings.js.inc"
#include "runtime/serve/page/answers.js.inc"
#include "runtime/serve/page/chat.js.inc"
#include "runtime/serve/page/text.js.inc"
#include "runtime/serve/page/timeline.js.inc"
#include "runtime/serve/page/engine.js.inc"
#include "runtime/serve/page/shell.js.inc"
    // clang-format on
    ;

HttpResponse page_response() {
  static const std::string text = [] {
    std::string whole(page_html);
    for (auto [name, part] :
         {std::pair{std::string_view("{{style}}"), page_css},
          {"{{script}}", page_js}})
      whole.replace(whole.find(name), name.size(), part);
    return whole;
  }();
  return {.type = "text/html; charset=utf-8",
          .body = text,
          .headers = {
              // The page is whole: it fetches nothing from elsewhere.
              {"Content-Security-Policy",
               "default-src 'none'; style-src 'unsafe-inline'; script-src "
               "'unsafe-inline'; connect-src 'self'; img-src data:; base-uri "
               "'none'; form-action 'none'; frame-ancestors 'none'"},
              {"X-Content-Type-Options", "nosniff"},
              {"Cache-Control", "no-cache"}}};
}

} // namespace baton
