//===- batch_lines.h - requests to the server in files --------------------===//

#ifndef BATON_RUNTIME_SERVE_BATCH_LINES_H
#define BATON_RUNTIME_SERVE_BATCH_LINES_H

#include "runtime/batch/api_lines.h"
#include "runtime/serve/served_model.h"

#include <memory>

namespace baton {

/// Lines as the server's /v1/chat/completions and /v1/embeddings read and
/// answer them.
std::shared_ptr<const ApiLines>
make_api_lines(std::shared_ptr<const ServedModel> model);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_BATCH_LINES_H
