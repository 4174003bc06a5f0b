//===- sampling_json.h - how tokens are drawn, as requests say it ---------===//
//----------===//

#ifndef BATON_RUNTIME_BATCH_SAMPLING_JSON_H
#define BATON_RUNTIME_BATCH_SAMPLING_JSON_H

#include "runtime/batch/batch_format.h"
#include "runtime/batch/batch_request.h"
#include "runtime/batch/json_keys.h"

#include <string>
#include <vector>

namespace baton {

/// The keys that parse_sampling() reads.
const std::vector<std::string> &sampling_keys();

/// Reads temperature, top_k, top_p, min_p, seed, n, stop, penalties and
/// logit_bias, and adds the format's stop tokens. What is not there is as in
/// `usual`. Throws Error that begins with the key.
void parse_sampling(const JsonKeys &keys, const BatchFormat &format,
                    const SamplingOptions &usual, BatchRequest &request);

} // namespace baton

#endif // BATON_RUNTIME_BATCH_SAMPLING_JSON_H
