//===- token_spans.h - which tokens are parts of a text's spans -----------===//

#ifndef BATON_RUNTIME_DOCUMENTS_TOKEN_SPANS_H
#define BATON_RUNTIME_DOCUMENTS_TOKEN_SPANS_H

#include "runtime/jinja/text_span.h"
#include "runtime/tokenizer/tokenizer.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace baton {

/// Of the spans of a text, in order, the first token and the one behind the
/// last: tokens that share a byte with a span. `tokens` are those that `encode`
/// makes of the whole text.
///
/// Tokens are laid beside the text, each as the bytes that it stands for. Where
/// a normalizer has changed these, a span begins at the first token that the
/// text before it, encoded by itself, has not, and ends likewise.
std::vector<jinja::TextSpan> token_spans(
    const Tokenizer &tokenizer, std::string_view text,
    std::span<const int32_t> tokens, std::span<const jinja::TextSpan> spans,
    const std::function<std::vector<int32_t>(std::string_view)> &encode);

} // namespace baton

#endif // BATON_RUNTIME_DOCUMENTS_TOKEN_SPANS_H
