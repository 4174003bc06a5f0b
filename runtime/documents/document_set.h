//===- document_set.h - documents of .jsonl files, as tokens --------------===//
//
// All documents are kept in memory, in 4 bytes for each token. A document has
// at most as many tokens as a sequence and one more, its last target; of longer
// ones the end is cut off, or they become several documents, each of which
// begins with the last token of the one before, so that every token is a target
// as it was. Documents that have no target are left out.
//
// A document may be a pair of answers to one prompt, of which one is preferred:
// two documents, the chosen one first, which lie in one sequence. Of longer
// pairs the ends of both are cut off, of the longer one first.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_DOCUMENTS_DOCUMENT_SET_H
#define BATON_RUNTIME_DOCUMENTS_DOCUMENT_SET_H

#include "runtime/documents/example_encoder.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// Files that one --data names.
struct DocumentSource {
  std::vector<std::filesystem::path> files;
  /// How often an epoch has each of their documents.
  double weight = 1;
};

/// The .jsonl files of a path: the file itself, or all text files of a folder,
/// sorted, where each is one. Nothing where the path is another kind of data;
/// `mixed` is then the number of .jsonl files in a folder that also has others.
/// Throws Error for what cannot be read, and for Parquet.
std::vector<std::filesystem::path>
find_document_files(const std::filesystem::path &path, uint64_t &mixed);

enum class LongDocuments { Cut, Split, Drop };

/// Throws Error that names --long-documents.
LongDocuments parse_long_documents(const std::string &text);

struct DocumentLimits {
  /// Lines are pairs of answers.
  bool pairs = false;
  /// Tokens of a sequence, T.
  uint64_t length = 1;
  LongDocuments long_documents = LongDocuments::Cut;
  /// They are counted; else one is an error.
  bool skip_bad_lines = false;
  uint64_t vocabulary = 0;
  /// That encode; 0: as many as the machine has cores.
  unsigned threads = 0;
};

/// Of a file, what was read and what was not.
struct DocumentCounts {
  uint64_t documents = 0, tokens = 0, targets = 0;
  uint64_t bad_lines = 0;
  std::string first_bad_line;
  /// Conversations that became several documents, by answers.
  uint64_t separated = 0;
  /// Documents beyond the length, and tokens of them that were left out.
  uint64_t too_long = 0, cut_tokens = 0;
  uint64_t without_targets = 0;

  void add(const DocumentCounts &other);
};

struct DocumentFile {
  std::filesystem::path path;
  double weight = 1;
  /// Its documents: first ... first + counts.documents - 1.
  uint64_t first = 0;
  DocumentCounts counts;
};

/// Immutable; threads may use one at once.
class DocumentSet {
public:
  /// Throws Error, naming --data, the file and the line, for what cannot be
  /// read, and where no document is left.
  static DocumentSet read(const std::vector<DocumentSource> &sources,
                          const ExampleEncoder &encoder,
                          const DocumentLimits &limits);

  uint64_t size() const { return begins.size() - 1; }
  uint64_t token_count() const { return words.size(); }
  const std::vector<DocumentFile> &files() const { return all_files; }
  const DocumentLimits &limits() const { return chosen; }

  /// Rows of a step that a document takes: its tokens but the last, of a pair
  /// each answer's.
  uint32_t rows(uint64_t document) const {
    return static_cast<uint32_t>(begins[document + 1] - begins[document] -
                                 (has_pairs() ? 2 : 1));
  }
  uint32_t targets(uint64_t document) const { return target_counts[document]; }
  /// Those of all documents.
  std::span<const uint32_t> targets() const { return target_counts; }
  /// Whether each document is a pair of answers.
  bool has_pairs() const { return chosen.pairs; }
  /// Writes as many elements as there are rows; weights are `weight` or 0, and
  /// of an answer that is not preferred -`weight`.
  void fill(uint64_t document, float weight, int32_t *tokens, int32_t *targets,
            int32_t *positions, float *weights) const;

  /// Ascending: tokens of each document, before any was cut.
  const std::vector<uint32_t> &lengths() const { return whole_lengths; }
  /// Of all tokens and targets.
  uint64_t hash() const;

private:
  DocumentSet() = default;
  void add(const std::filesystem::path &file, double weight,
           const ExampleEncoder &encoder);

  DocumentLimits chosen;
  /// Tokens; the highest bit says that one is a target.
  std::vector<uint32_t> words;
  std::vector<uint64_t> begins = {0};
  /// Of pairs, tokens of the preferred answer.
  std::vector<uint32_t> first_lengths;
  std::vector<uint32_t> target_counts, whole_lengths;
  std::vector<DocumentFile> all_files;
};

} // namespace baton

#endif // BATON_RUNTIME_DOCUMENTS_DOCUMENT_SET_H
