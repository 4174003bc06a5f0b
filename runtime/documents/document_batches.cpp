//===- document_batches.cpp - sequences of whole documents ----------------===//

#include "runtime/documents/document_batches.h"

#include "runtime/documents/packing.h"
#include "runtime/error.h"
#include "runtime/train/permutation.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace baton {

/// Documents that are packed together: many, so that little room is left, and
/// few enough that which ones share a sequence is up to the shuffling.
static constexpr size_t packed_together = 4096;

Packing parse_packing(const std::string &text) {
  if (text == "best")
    return Packing::Best;
  if (text == "none")
    return Packing::None;
  throw Error("--packing: expected best or none, not " + quote_name(text));
}

DocumentBatches::DocumentBatches(const DocumentSet &documents,
                                 const BatchShape &shape,
                                 const BatchOrigin &origin,
                                 double validation_fraction, Packing packing)
    : Batches(shape, origin), documents(documents), packing(packing) {
  if (!(validation_fraction >= 0 && validation_fraction < 1))
    throw Error("--validation-fraction: expected a number of at least 0 and "
                "below 1");
  std::vector<uint32_t> set_aside;
  double expected = 0;
  auto largest = std::ranges::max_element(
      documents.files(), {},
      [](const DocumentFile &file) { return file.counts.documents; });
  std::vector<uint64_t> counts;
  uint64_t all_aside = 0;
  for (const DocumentFile &file : documents.files()) {
    counts.push_back(static_cast<uint64_t>(std::llround(
        static_cast<double>(file.counts.documents) * validation_fraction)));
    all_aside += counts.back();
  }
  if (validation_fraction > 0 && all_aside == 0 && documents.size() > 1)
    counts[static_cast<size_t>(largest - documents.files().begin())] = 1;
  for (size_t i = 0; i < counts.size(); ++i) {
    const DocumentFile &file = documents.files()[i];
    const uint64_t kept = file.counts.documents - counts[i];
    for (uint64_t k = kept; k < file.counts.documents; ++k)
      set_aside.push_back(static_cast<uint32_t>(file.first + k));
    if (kept)
      training.push_back({static_cast<uint32_t>(file.first),
                          static_cast<uint32_t>(kept), file.weight});
    expected += file.weight * static_cast<double>(kept);
  }
  if (expected < 1)
    throw Error("--data: an epoch has not one document; make the weights of "
                "files larger, or --validation-fraction smaller");
  validation = packed(set_aside);
}

DocumentBatches::DocumentBatches(const DocumentSet &documents,
                                 const BatchShape &shape, size_t number,
                                 Packing packing)
    : Batches(shape, {}), documents(documents), packing(packing) {
  const DocumentFile &file = documents.files().at(number);
  std::vector<uint32_t> all(file.counts.documents);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<uint32_t>(file.first + i);
  validation = packed(all);
}

PackedDocuments DocumentBatches::packed(std::span<const uint32_t> order) const {
  PackedDocuments result;
  auto add = [&](auto &&items, size_t first) {
    for (uint32_t item : items)
      result.documents.push_back(order[first + item]);
    result.begins.push_back(result.documents.size());
  };
  if (packing == Packing::None) {
    for (size_t i = 0; i < order.size(); ++i)
      add(std::vector<uint32_t>{0}, i);
    return result;
  }
  for (size_t first = 0; first < order.size(); first += packed_together) {
    std::vector<uint32_t> rows;
    for (uint32_t document :
         order.subspan(first, std::min(packed_together, order.size() - first)))
      rows.push_back(documents.rows(document));
    for (const std::vector<uint32_t> &bin :
         pack(rows, static_cast<uint32_t>(batch.length)))
      add(bin, first);
  }
  return result;
}

std::shared_ptr<const PackedDocuments>
DocumentBatches::epoch(uint64_t number) const {
  const PackedDocuments in_order =
      packed(order_of_epoch(training, origin.seed, number));
  auto result = std::make_shared<PackedDocuments>();
  if (in_order.size() == 0)
    return result;
  // The largest documents come first.
  const Permutation shuffled(in_order.size(),
                             mix(mix(origin.seed) + number) + 1);
  for (uint64_t place = 0; place < in_order.size(); ++place) {
    const auto sequence = in_order.sequence(shuffled(place));
    result->documents.insert(result->documents.end(), sequence.begin(),
                             sequence.end());
    result->begins.push_back(result->documents.size());
  }
  return result;
}

std::vector<uint32_t> DocumentBatches::sequence(uint64_t number) const {
  std::lock_guard guard(mutex);
  auto find = [&](uint64_t of_epoch) {
    std::shared_ptr<const PackedDocuments> &found = recent[of_epoch];
    if (!found)
      found = epoch(of_epoch);
    return found;
  };
  // A run that is resumed packs what it read before, too.
  constexpr size_t kept = 3;
  while (epoch_begins.back() <= number) {
    const uint64_t last = epoch_begins.size() - 1;
    epoch_begins.push_back(epoch_begins.back() + find(last)->size());
    if (recent.size() > kept)
      recent.erase(recent.begin());
  }
  const auto after = std::ranges::upper_bound(epoch_begins, number);
  const auto of_epoch = static_cast<uint64_t>(after - epoch_begins.begin()) - 1;
  const auto found = find(of_epoch)->sequence(number - epoch_begins[of_epoch]);
  std::vector<uint32_t> result(found.begin(), found.end());
  while (recent.size() > kept)
    recent.erase(recent.begin()->first == of_epoch ? std::prev(recent.end())
                                                   : recent.begin());
  return result;
}

uint64_t DocumentBatches::tokens(uint64_t step) const {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < batch.sequences_per_step(); ++i)
    for (uint32_t document : sequence(first_sequence(step) + i))
      sum += documents.rows(document);
  return sum;
}

void DocumentBatches::fill_row(uint64_t row, std::span<const uint32_t> sequence,
                               float weight, int32_t *tokens, int32_t *targets,
                               int32_t *positions, float *weights) const {
  uint64_t begin = row * batch.length;
  const uint64_t end = begin + batch.length;
  for (uint32_t document : sequence) {
    documents.fill(document, weight, tokens + begin, targets + begin,
                   positions + begin, weights + begin);
    begin += documents.rows(document);
  }
  std::fill(tokens + begin, tokens + end, 0);
  std::fill(targets + begin, targets + end, 0);
  std::fill(positions + begin, positions + end, 0);
  std::fill(weights + begin, weights + end, 0.0f);
}

void DocumentBatches::fill(uint64_t step, uint64_t microbatch, int32_t *tokens,
                           int32_t *targets, int32_t *positions, float *weights,
                           Place part) const {
  const uint64_t first = first_sequence(step);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < batch.sequences_per_step(); ++i)
    for (uint32_t document : sequence(first + i))
      sum += documents.targets(document);
  const uint64_t rows = batch.rows / part.count;
  const float weight = documents.has_pairs() ? 1 : 1 / static_cast<float>(sum);
  for (uint64_t row = 0; row < rows; ++row)
    fill_row(
        row,
        sequence(first + microbatch * batch.rows + part.index * rows + row),
        weight, tokens, targets, positions, weights);
}

void DocumentBatches::place(uint64_t row, std::span<const uint32_t> sequence,
                            float weight,
                            std::vector<PlacedDocument> &placed) const {
  uint64_t begin = row * batch.length;
  for (uint32_t document : sequence) {
    placed.push_back({begin, document, weight});
    begin += documents.rows(document);
  }
}

std::vector<PlacedDocument>
DocumentBatches::placed(uint64_t step, uint64_t microbatch, Place part) const {
  std::vector<PlacedDocument> result;
  const uint64_t first = first_sequence(step);
  uint64_t count = 0;
  for (uint64_t i = 0; i < batch.sequences_per_step(); ++i)
    count += sequence(first + i).size();
  const uint64_t rows = batch.rows / part.count;
  for (uint64_t row = 0; row < rows; ++row)
    place(row,
          sequence(first + microbatch * batch.rows + part.index * rows + row),
          1 / static_cast<float>(count), result);
  return result;
}

uint64_t DocumentBatches::validation_batches() const {
  return (validation.size() + batch.rows - 1) / batch.rows;
}

uint64_t DocumentBatches::validation_targets() const {
  uint64_t sum = 0;
  for (uint32_t document : validation.documents)
    sum += documents.targets(document);
  return sum;
}

void DocumentBatches::fill_validation(uint64_t number, int32_t *tokens,
                                      int32_t *targets, int32_t *positions,
                                      float *weights, Place part) const {
  const uint64_t rows = batch.rows / part.count;
  const float weight =
      documents.has_pairs() ? 1 : 1 / static_cast<float>(validation_targets());
  for (uint64_t row = 0; row < rows; ++row) {
    const uint64_t place = number * batch.rows + part.index * rows + row;
    // Parts at the end of the last batch may have no sequence.
    fill_row(row,
             place < validation.size() ? validation.sequence(place)
                                       : std::span<const uint32_t>(),
             weight, tokens, targets, positions, weights);
  }
}

std::vector<PlacedDocument>
DocumentBatches::placed_validation(uint64_t number, Place part) const {
  std::vector<PlacedDocument> result;
  const uint64_t rows = batch.rows / part.count;
  const float weight = 1 / static_cast<float>(validation.documents.size());
  for (uint64_t row = 0; row < rows; ++row) {
    const uint64_t place = number * batch.rows + part.index * rows + row;
    if (place < validation.size())
      this->place(row, validation.sequence(place), weight, result);
  }
  return result;
}

} // namespace baton
