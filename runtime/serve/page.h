//===- page.h - the server's page in a browser
//-----------------------------===//

#ifndef BATON_RUNTIME_SERVE_PAGE_H
#define BATON_RUNTIME_SERVE_PAGE_H

#include <string_view>

namespace baton {

/// HTML, whole: page.html.
std::string_view page_text();

} // namespace baton

#endif // BATON_RUNTIME_SERVE_PAGE_H
