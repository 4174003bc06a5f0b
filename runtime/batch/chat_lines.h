//===- chat_lines.h - lines of a file of requests that are conversations --===//
//
// What writes conversations and reads what models answer stands above batches
// (runtime/serve/batch_chat.h), which call it by this interface.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_BATCH_CHAT_LINES_H
#define BATON_RUNTIME_BATCH_CHAT_LINES_H

#include "runtime/batch/batch_request.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace baton {

/// A line that was read.
class ChatLine {
public:
  virtual ~ChatLine() = default;
  /// The body of its answer, of which `id` is the id. The same results give the
  /// same body.
  virtual nlohmann::ordered_json body(const std::string &id,
                                      const BatchResult &result) = 0;
};

class ChatLines {
public:
  virtual ~ChatLines() = default;
  /// Reads the body of a request to /v1/chat/completions, which may have
  /// `max_new_tokens` if it does not say. Throws Error that begins with the key
  /// at fault.
  virtual std::unique_ptr<ChatLine> read(const nlohmann::ordered_json &body,
                                         uint64_t max_new_tokens,
                                         BatchRequest &request) const = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_CHAT_LINES_H
