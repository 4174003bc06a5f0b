//===- score_json.h - texts to score as lines of JSON ---------------------===//
//
//   {"id": "a", "prompt": "The sky is", "continuations": [" blue", " a fish"]}
//   {"id": "b", "prompt": "Is it? Answer:", "choices": [" yes", " no"]}
//
// Each continuation is a request of its own: the prompt's tokens, and behind
// them those that are scored. So the prompt's full pages are computed once.
// Choices are one request, of the prompt's tokens, and several only where they
// are more than one takes.
//
// The prompt's tokens are those that it has by itself, the same for all of its
// continuations. Prompt and continuation are encoded as one text, and what is
// behind the prompt's tokens is scored, as lm-evaluation-harness has it, so
// that scores compare; blanks and line breaks at the prompt's end go to the
// continuation, as tokens begin with them. Where the two have tokens in common,
// as "(A" may be one, the continuation has those that it has by itself.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_BATCH_SCORE_JSON_H
#define BATON_RUNTIME_BATCH_SCORE_JSON_H

#include "runtime/batch/request_json.h"

#include <span>
#include <string>
#include <vector>

namespace baton {

/// Reads a line that has an id: a request for each continuation, or for as many
/// choices as one takes, whose part is its number. Throws Error that names the
/// key.
std::vector<BatchRequest> parse_scores(const nlohmann::ordered_json &line,
                                       const BatchFormat &format,
                                       RequestOrigin &origin);

/// One line, without its end, of the results of all of these requests. `place`
/// stands before errors, "IN.jsonl:7: ".
std::string scores_line(const RequestOrigin &origin,
                        std::span<const BatchResult> results,
                        const BatchFormat &format, const std::string &place);

} // namespace baton

#endif // BATON_RUNTIME_BATCH_SCORE_JSON_H
