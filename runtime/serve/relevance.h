//===- relevance.h - how well a text answers another ----------------------===//

#ifndef BATON_RUNTIME_SERVE_RELEVANCE_H
#define BATON_RUNTIME_SERVE_RELEVANCE_H

#include "runtime/jinja/template.h"

#include <cstdint>
#include <string>

namespace baton {

/// A model that was trained to say whether a document answers a query, as
/// Qwen3-Reranker: the score is the probability of one token against another's
/// behind a prompt.
struct RelevanceJudge {
  /// Of "query", "document" and, if the request has one, "instruction".
  jinja::Template prompt;
  int32_t yes, no;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_RELEVANCE_H
