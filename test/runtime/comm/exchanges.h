//===- exchanges.h - tensors to exchange, and what has to come of it ------===//
//
// What every engine is tested with: the same exchanges, and the same answers.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_RUNTIME_COMM_EXCHANGES_H
#define BATON_TEST_RUNTIME_COMM_EXCHANGES_H

#include "runtime/comm/communicator.h"

#include <cstring>
#include <string>
#include <vector>

namespace baton::exchanges {

inline Mesh line(uint32_t ranks) { return {{{"dp", ranks}}, {"dp"}}; }

inline Collective collective(const std::string &name, Collective::Kind kind,
                             std::vector<std::string> axes = {"dp"},
                             uint32_t iterations = 1) {
  Collective result;
  result.name = name;
  result.kind = kind;
  result.axes = std::move(axes);
  result.iterations = iterations;
  return result;
}

/// A byte of a rank's tensor that no other place has.
inline std::byte value(uint32_t rank, uint64_t salt, uint64_t index) {
  uint64_t bits = (index + 1) * 0x9e3779b97f4a7c15u + rank * 0x85ebca6bu + salt;
  return std::byte(bits >> 37);
}

inline uint64_t part_of(uint64_t bytes, uint32_t ranks) {
  return ((bytes + ranks - 1) / ranks + 63) / 64 * 64;
}

/// One rank's side of an exchange of tensors of several sizes.
struct Exchange {
  Exchange(Collective::Kind kind, std::vector<uint32_t> group, uint32_t place,
           const std::vector<uint64_t> &sizes, uint64_t salt)
      : kind(kind), group(std::move(group)), place(place), salt(salt) {
    const auto ranks = static_cast<uint32_t>(this->group.size());
    memory.reserve(2 * sizes.size());
    for (uint64_t bytes : sizes) {
      uint64_t part = part_of(bytes, ranks);
      BatonExchange tensor = {nullptr, nullptr, bytes, part, part};
      uint64_t own = TensorPart::of(tensor, place).bytes;
      bool whole = kind == Collective::Kind::AllToAll;
      std::vector<std::byte> &from = memory.emplace_back(whole ? bytes : own);
      for (uint64_t i = 0; i < from.size(); ++i)
        from[i] = value(this->group[place], salt, i);
      std::vector<std::byte> &to =
          memory.emplace_back(whole ? ranks * part : bytes, std::byte(0xee));
      tensor.send = from.data();
      tensor.receive = to.data();
      tensors.push_back(tensor);
    }
  }

  /// What is wrong with what came; empty when nothing is.
  std::string check() const {
    for (size_t t = 0; t < tensors.size(); ++t) {
      const BatonExchange &tensor = tensors[t];
      std::vector<std::byte> expected(memory[2 * t + 1].size(),
                                      std::byte(0xee));
      for (uint32_t from = 0; from < group.size(); ++from) {
        if (kind == Collective::Kind::AllToAll) {
          TensorPart part = TensorPart::of(tensor, place);
          for (uint64_t i = 0; i < part.bytes; ++i)
            expected[from * tensor.part + i] =
                value(group[from], salt, part.begin + i);
        } else {
          TensorPart part = TensorPart::of(tensor, from);
          for (uint64_t i = 0; i < part.bytes; ++i)
            expected[part.begin + i] = value(group[from], salt, i);
        }
      }
      if (expected != memory[2 * t + 1])
        return "rank " + std::to_string(group[place]) + ", tensor " +
               std::to_string(t) + " of " + std::to_string(tensor.bytes) +
               " bytes";
    }
    return "";
  }

  Collective::Kind kind;
  std::vector<uint32_t> group;
  uint32_t place;
  uint64_t salt;
  std::vector<std::vector<std::byte>> memory;
  std::vector<BatonExchange> tensors;
};

/// Bytes that a rank sends, by the definition of the two kinds: each of the
/// others gets its part of the own tensor, or the own part.
inline uint64_t bytes_sent(Collective::Kind kind, uint64_t bytes,
                           uint32_t ranks, uint32_t place) {
  uint64_t part = part_of(bytes, ranks), sum = 0;
  for (uint32_t to = 0; to < ranks; ++to) {
    uint32_t whose = kind == Collective::Kind::AllToAll ? to : place;
    for (uint64_t i = 0; i < bytes && to != place; ++i)
      sum += i / part == whose;
  }
  return sum;
}

} // namespace baton::exchanges

#endif // BATON_TEST_RUNTIME_COMM_EXCHANGES_H
