//===- training_data.h - what --data names of a program that trains -------===//
//
// Either one stream of tokens (runtime/train/dataset.h), or documents, of
// .jsonl files (runtime/documents/document_set.h), which may be of several
// --data, each with its weight.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_MAIN_TRAINING_DATA_H
#define BATON_RUNTIME_MAIN_TRAINING_DATA_H

#include "runtime/documents/document_batches.h"
#include "runtime/main/commands.h"
#include "runtime/train/dataset.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace baton {

class TrainingData {
public:
  /// Makes tokens with the tokenizer and the chat template of the folder, of
  /// sequences of `length` tokens. `notes` are written to standard error.
  /// Throws Error that names the flag.
  static TrainingData open(const Metadata &metadata,
                           const TrainingDataOptions &options,
                           const std::filesystem::path &folder, uint64_t length,
                           bool notes);

  /// Flag -> value, for run_settings(): what tells other data from these.
  nlohmann::json settings() const;

  /// Of the run; the data outlive them.
  std::unique_ptr<const Batches> batches(const BatchShape &shape,
                                         const BatchOrigin &origin,
                                         double validation_fraction) const;

  /// Null of a stream.
  const DocumentSet *document_set() const {
    return documents ? &*documents : nullptr;
  }

  /// Whether documents are pairs of answers.
  bool has_pairs() const { return documents && documents->has_pairs(); }

  /// Null of a stream. `batches` are those of a run.
  nlohmann::ordered_json report(const Batches &batches) const;

  /// What is measured together, all of it as a validation.
  struct Part {
    std::string name;
    /// Of documents, how many there are.
    std::optional<uint64_t> documents;
    std::unique_ptr<const Batches> batches;
  };
  /// One of each file that has a document, or one of the stream.
  std::vector<Part> parts(const BatchShape &shape) const;

private:
  TrainingData() = default;
  void open_stream(const Metadata &metadata, const TrainingDataOptions &options,
                   const std::filesystem::path &folder, bool notes);
  void open_documents(const Metadata &metadata,
                      const TrainingDataOptions &options,
                      const std::vector<DocumentSource> &sources,
                      const std::filesystem::path &folder, uint64_t length,
                      bool notes);

  std::string name;
  std::optional<Dataset> stream;
  std::optional<DocumentSet> documents;
  std::string loss_on, long_documents;
  Packing packing = Packing::Best;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_TRAINING_DATA_H
