//===- checkpoint_vocabulary.h - a tokenizer as a GGUF file says it -------===//
//
// The other direction of runtime/tokenizer/gguf_vocabulary.h. SentencePiece's
// scores, which tokenizer.json lacks, are the ranks of merges: of two pieces
// the one whose merge comes first has the higher score, which is all that
// scores are used for.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_QUANTIZE_CHECKPOINT_VOCABULARY_H
#define BATON_TOOLS_QUANTIZE_CHECKPOINT_VOCABULARY_H

#include "tools/quantize/gguf_header.h"

#include <filesystem>

namespace baton {

/// Adds the tokens of the folder's tokenizer.json, one for each of `rows` of
/// the table of embeddings, and what its other files say of them: tokens that
/// begin and end texts, the chat template. Returns false where the folder has
/// no tokenizer: the file says that there is none. Throws Error that names the
/// file, for what a GGUF file cannot say, and for another kind of tokenizer.
bool describe_vocabulary(const std::filesystem::path &folder, uint64_t rows,
                         GgufHeader &header);

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_CHECKPOINT_VOCABULARY_H
