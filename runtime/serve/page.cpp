//===- page.cpp - the server's page in a browser
//---------------------------===//

#include "runtime/serve/page.h"

#include <string>

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

std::string_view page_text() {
  static const std::string text = [] {
    std::string whole(page_html);
    for (auto [name, part] :
         {std::pair{std::string_view("{{style}}"), page_css},
          {"{{script}}", page_js}})
      whole.replace(whole.find(name), name.size(), part);
    return whole;
  }();
  return text;
}

} // namespace baton
