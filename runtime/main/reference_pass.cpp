//===- reference_pass.cpp - what the model says of pairs before training --===//

#include "runtime/main/reference_pass.h"

#include "runtime/error.h"
#include "runtime/step_sequence.h"
#include "runtime/train/reals.h"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

namespace baton {

ReferencePass::ReferencePass(std::span<const TrainingData::Part> parts,
                             const TrainingTensors &tensors, Place place,
                             Say say)
    : parts(parts), tensors(tensors),
      made(tensors.find(std::string(step_pairs))), place(place),
      // So that nothing overflows that nobody reads.
      say(std::move(say)), none{.beta = 0, .references = {}},
      inputs(tensors, place, {.preferences = &none}) {
  uint64_t count = 0;
  for (const TrainingData::Part &part : parts) {
    count += *part.documents;
    total += part.batches->validation_batches();
  }
  found.resize(count);
}

BatonStep ReferencePass::next() {
  while (part < parts.size() &&
         number == parts[part].batches->validation_batches()) {
    ++part;
    number = 0;
  }
  if (part == parts.size())
    return {};
  return inputs.fill_pairs(*parts[part].batches, number);
}

std::vector<PlacedDocument> ReferencePass::pairs() const {
  return parts[part].batches->placed_validation(number, place);
}

BatonStep ReferencePass::begin(std::span<int32_t>) { return next(); }

BatonStep ReferencePass::advance(const BatonStep &, const Logits &) {
  tensors.fetch("output");
  const uint64_t columns = made.shape.back();
  for (const PlacedDocument &pair : pairs()) {
    const uint64_t end = (pair.row + 1) * columns;
    // The last two, of both answers.
    for (uint64_t answer = 0; answer < 2; ++answer)
      found[pair.number][answer] =
          real_at(made.data, made.type, end - 2 + answer);
    seen.push_back(pair.number);
  }
  say(++done, total);
  ++number;
  return next();
}

References ReferencePass::measure(Execution &execution,
                                  Communicator *communicator) {
  execution.run(*this);
  if (communicator) {
    struct Entry {
      uint32_t number;
      double chosen, rejected;
    };
    std::string own;
    for (uint32_t pair : seen) {
      const Entry entry = {pair, found[pair][0], found[pair][1]};
      own.append(reinterpret_cast<const char *>(&entry), sizeof entry);
    }
    for (const std::string &text :
         communicator->share(own, "the references of all pairs"))
      for (size_t at = 0; at + sizeof(Entry) <= text.size();
           at += sizeof(Entry)) {
        Entry entry;
        std::memcpy(&entry, text.data() + at, sizeof entry);
        found.at(entry.number) = {entry.chosen, entry.rejected};
      }
  }
  for (const std::array<double, 2> &pair : found)
    if (!std::isfinite(pair[0]) || !std::isfinite(pair[1])) {
      const std::string text =
          "before the first step, the model's log-probability of an answer of "
          "pair " +
          std::to_string(&pair - found.data()) +
          " of --data, counted from 0, is not finite";
      // All ranks have the same numbers.
      if (communicator)
        throw AgreedError(text);
      throw Error(text);
    }
  return std::move(found);
}

} // namespace baton
