//===- page.cpp - the server's page in a browser
//---------------------------===//

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
static constexpr std::string_view page_js =
#include "runtime/serve/page/page.js.inc"
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
