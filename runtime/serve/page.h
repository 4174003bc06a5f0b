//===- page.h - the server's page in a browser ----------------------------===//

#ifndef BATON_RUNTIME_SERVE_PAGE_H
#define BATON_RUNTIME_SERVE_PAGE_H

#include "runtime/serve/http_server.h"

namespace baton {

/// HTML, whole: page.html.
HttpResponse page_response();

} // namespace baton

#endif // BATON_RUNTIME_SERVE_PAGE_H
