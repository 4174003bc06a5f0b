//===- document_batches.h - sequences of whole documents ------------------===//
//
// An epoch's documents (document_order.h) are packed, 4096 of them at a time,
// to sequences of T tokens (packing.h), and the sequences are shuffled. In a
// sequence each document begins at position 0 and sees nothing of the others;
// rows behind the last one are each a document of one token without weight. A
// step's loss is the mean over its targets, or over its pairs of answers.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_DOCUMENTS_DOCUMENT_BATCHES_H
#define BATON_RUNTIME_DOCUMENTS_DOCUMENT_BATCHES_H

#include "runtime/documents/document_order.h"
#include "runtime/documents/document_set.h"
#include "runtime/train/batches.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace baton {

enum class Packing {
  /// Several documents share a sequence.
  Best,
  /// Each has one of its own.
  None,
};

/// Throws Error that names --packing.
Packing parse_packing(const std::string &text);

/// Documents in sequences.
struct PackedDocuments {
  std::vector<uint32_t> documents;
  /// Of each sequence the first one in `documents`, and one more.
  std::vector<uint64_t> begins = {0};

  uint64_t size() const { return begins.size() - 1; }
  std::span<const uint32_t> sequence(uint64_t number) const {
    return std::span(documents).subspan(begins[number],
                                        begins[number + 1] - begins[number]);
  }
};

/// The set must outlive it.
class DocumentBatches final : public Batches {
public:
  /// The last documents of each file, `validation_fraction` of them, rounded,
  /// are set aside, but at least one when the fraction is not 0 and there are
  /// two. Throws Error for shapes that Batches refuses, and where no document
  /// is left to train with.
  DocumentBatches(const DocumentSet &documents, const BatchShape &shape,
                  const BatchOrigin &origin, double validation_fraction,
                  Packing packing);
  /// All documents of one of the files are for validation.
  DocumentBatches(const DocumentSet &documents, const BatchShape &shape,
                  size_t file, Packing packing);

  /// Documents that are set aside.
  uint64_t validation_documents() const { return validation.documents.size(); }
  const PackedDocuments &validation_sequences() const { return validation; }
  /// Those of an epoch.
  std::shared_ptr<const PackedDocuments> epoch(uint64_t number) const;

  uint64_t tokens(uint64_t step) const override;
  uint64_t sample() const override { return documents.hash(); }
  void fill(uint64_t step, uint64_t microbatch, int32_t *tokens,
            int32_t *targets, int32_t *positions, float *weights,
            Place part = {}) const override;
  std::vector<PlacedDocument> placed(uint64_t step, uint64_t microbatch,
                                     Place part = {}) const override;
  uint64_t validation_batches() const override;
  void fill_validation(uint64_t number, int32_t *tokens, int32_t *targets,
                       int32_t *positions, float *weights,
                       Place part = {}) const override;
  std::vector<PlacedDocument> placed_validation(uint64_t number,
                                                Place part = {}) const override;
  uint64_t validation_targets() const override;

private:
  PackedDocuments packed(std::span<const uint32_t> order) const;
  /// The documents of a sequence of the run.
  std::vector<uint32_t> sequence(uint64_t number) const;
  /// Appends the documents of a sequence.
  void place(uint64_t row, std::span<const uint32_t> sequence, float weight,
             std::vector<PlacedDocument> &placed) const;
  void fill_row(uint64_t row, std::span<const uint32_t> sequence, float weight,
                int32_t *tokens, int32_t *targets, int32_t *positions,
                float *weights) const;

  const DocumentSet &documents;
  const Packing packing;
  std::vector<WeightedDocuments> training;
  PackedDocuments validation;

  /// How many sequences epochs have is known once they are packed.
  mutable std::mutex mutex;
  mutable std::vector<uint64_t> epoch_begins = {0};
  mutable std::map<uint64_t, std::shared_ptr<const PackedDocuments>> recent;
};

} // namespace baton

#endif // BATON_RUNTIME_DOCUMENTS_DOCUMENT_BATCHES_H
