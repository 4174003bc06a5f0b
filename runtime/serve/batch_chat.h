//===- batch_chat.h - conversations in files of requests ------------------===//

#ifndef BATON_RUNTIME_SERVE_BATCH_CHAT_H
#define BATON_RUNTIME_SERVE_BATCH_CHAT_H

#include "runtime/batch/chat_lines.h"
#include "runtime/serve/served_model.h"

#include <memory>

namespace baton {

/// Lines as the server's /v1/chat/completions reads and answers them.
std::shared_ptr<const ChatLines>
make_chat_lines(std::shared_ptr<const ServedModel> model);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_BATCH_CHAT_H
