//===- api_lines.h - lines of a file that are requests to the server ------===//
//
// What writes conversations, reads what models answer and makes embeddings
// stands above batches (runtime/serve/batch_lines.h), which call it by this
// interface.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_BATCH_API_LINES_H
#define BATON_RUNTIME_BATCH_API_LINES_H

#include "runtime/batch/batch_request.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace baton {

/// A line that was read.
class ApiLine {
public:
  virtual ~ApiLine() = default;
  /// The body of its answer, of which `id` is the id. The same results give the
  /// same body.
  virtual nlohmann::ordered_json body(const std::string &id,
                                      const BatchResult &result) = 0;
};

class ApiLines {
public:
  virtual ~ApiLines() = default;
  /// Reads the body of a request to a path of the server, which may have
  /// `max_new_tokens` if it does not say. Null where the path is none that is
  /// answered in files. Throws Error that begins with the key at fault.
  virtual std::unique_ptr<ApiLine> read(const std::string &path,
                                        const nlohmann::ordered_json &body,
                                        uint64_t max_new_tokens,
                                        BatchRequest &request) const = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_API_LINES_H
