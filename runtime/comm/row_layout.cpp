//===- row_layout.cpp - which rows go to which expert, and back -----------===//

#include "runtime/comm/row_layout.h"

#include "runtime/error.h"

#include <string>

namespace baton {

namespace {

[[noreturn]] void wrong(const std::string &what) {
  throw Error("rows cannot go to their experts: " + what);
}

} // namespace

RowLayout::RowLayout(const BatonExchange &tensor, uint32_t ranks)
    : tensor(tensor), ranks(ranks) {
  const uint64_t all = tensor.experts * ranks,
                 rows = tensor.part ? tensor.bytes / tensor.part : 0;
  if (!tensor.part || tensor.bytes % tensor.part)
    wrong(std::to_string(tensor.bytes) + " bytes are no rows of " +
          std::to_string(tensor.part));
  for (uint64_t expert = 0; expert < all; ++expert)
    if (tensor.bounds[expert] < 0 ||
        tensor.bounds[expert] > tensor.bounds[expert + 1])
      wrong("those of expert " + std::to_string(expert) + " begin at " +
            std::to_string(tensor.bounds[expert]) + " and end at " +
            std::to_string(tensor.bounds[expert + 1]));
  if (tensor.bounds[0] != 0 || uint64_t(tensor.bounds[all]) != rows)
    wrong("there are " + std::to_string(rows) + ", and bounds of " +
          std::to_string(tensor.bounds[all] - tensor.bounds[0]));
  const uint64_t width = (tensor.experts + 15) / 16 * 16;
  uint64_t end = 0;
  for (uint64_t expert = 0; expert < tensor.experts; ++expert)
    for (uint32_t sender = 0; sender < ranks; ++sender) {
      const int32_t count = tensor.counts[sender * width + expert];
      if (count < 0)
        wrong("the rank at place " + std::to_string(sender) + " sends " +
              std::to_string(count) + " to expert " + std::to_string(expert));
      begins.push_back(end);
      end += uint64_t(count);
    }
  begins.push_back(end);
  if (end > rows * ranks)
    wrong(std::to_string(end) + " come, and " + std::to_string(ranks) +
          " ranks have " + std::to_string(rows * ranks));
  for (uint64_t expert = 0; expert <= tensor.experts; ++expert)
    if (uint64_t(tensor.received[expert]) != begins[expert * ranks])
      wrong("those of its expert " + std::to_string(expert) + " begin at " +
            std::to_string(tensor.received[expert]) +
            ", and by their counts at " +
            std::to_string(begins[expert * ranks]));
}

RowLayout::Run RowLayout::own(uint32_t owner, uint64_t expert) const {
  const int32_t *bounds = tensor.bounds + owner * tensor.experts + expert;
  return {uint64_t(bounds[0]) * tensor.part,
          uint64_t(bounds[1] - bounds[0]) * tensor.part};
}

RowLayout::Run RowLayout::received(uint32_t sender, uint64_t expert) const {
  const uint64_t *begin = begins.data() + expert * ranks + sender;
  return {begin[0] * tensor.part, (begin[1] - begin[0]) * tensor.part};
}

uint64_t RowLayout::own_bytes(uint32_t owner) const {
  const int32_t *bounds = tensor.bounds + owner * tensor.experts;
  return uint64_t(bounds[tensor.experts] - bounds[0]) * tensor.part;
}

uint64_t RowLayout::received_bytes(uint32_t sender) const {
  uint64_t bytes = 0;
  for (uint64_t expert = 0; expert < tensor.experts; ++expert)
    bytes += received(sender, expert).bytes;
  return bytes;
}

} // namespace baton
