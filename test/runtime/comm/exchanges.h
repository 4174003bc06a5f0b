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

/// One rank's side of an exchange of rows, each of which goes to an expert that
/// chance chose, or comes back from there. Each of the group's ranks has
/// `experts` of them; the last one of all gets no row.
struct RowExchange {
  RowExchange(Collective::Kind kind, std::vector<uint32_t> group,
              uint32_t place, uint64_t experts, uint64_t rows, uint64_t width,
              uint64_t salt)
      : kind(kind), group(std::move(group)), place(place), experts(experts),
        rows(rows), width(width), salt(salt) {
    const uint64_t ranks = this->group.size(), line = (experts + 15) / 16 * 16;
    bounds = {0};
    for (uint64_t expert = 0; expert < experts * ranks; ++expert)
      bounds.push_back(bounds.back() + int32_t(count(place, expert)));
    counts.resize(ranks * line);
    received = {0};
    for (uint64_t expert = 0; expert < experts; ++expert) {
      int32_t end = received.back();
      for (uint32_t sender = 0; sender < ranks; ++sender)
        end += counts[sender * line + expert] =
            int32_t(count(sender, place * experts + expert));
      received.push_back(end);
    }
    received.push_back(int32_t(ranks * rows));
    const bool dispatches = kind == Collective::Kind::Dispatch;
    from.resize((dispatches ? rows : ranks * rows) * width);
    for (uint64_t i = 0; i < from.size(); ++i)
      from[i] = value(this->group[place], salt, i);
    to.resize((dispatches ? ranks * rows : rows) * width, std::byte(0xee));
    tensors.push_back({from.data(), to.data(), rows * width, width, width,
                       bounds.data(), counts.data(), received.data(), experts});
  }

  /// Rows that a rank has for an expert of all.
  uint64_t count(uint32_t sender, uint64_t expert) const {
    const uint64_t all = experts * group.size() - 1;
    uint64_t found = 0;
    for (uint64_t row = 0; row < rows; ++row)
      found += uint64_t(value(group[sender], salt + 17, row)) % all == expert;
    return found;
  }
  /// The first of these among the sender's rows, and where the expert is.
  uint64_t own(uint32_t sender, uint64_t expert) const {
    uint64_t before = 0;
    for (uint64_t other = 0; other < expert; ++other)
      before += count(sender, other);
    return before;
  }
  uint64_t with_expert(uint32_t sender, uint64_t expert) const {
    uint64_t before = 0;
    for (uint64_t other = expert / experts * experts; other <= expert; ++other)
      for (uint32_t rank = 0; rank < group.size(); ++rank)
        if (other < expert || rank < sender)
          before += count(rank, other);
    return before;
  }

  /// What is wrong with what came; empty when nothing is.
  std::string check() const {
    std::vector<std::byte> expected(to.size(), std::byte(0xee));
    auto copy = [&](uint64_t at, uint32_t whose, uint64_t row, uint64_t count) {
      for (uint64_t i = 0; i < count * width; ++i)
        expected[at * width + i] = value(group[whose], salt, row * width + i);
    };
    for (uint32_t peer = 0; peer < group.size(); ++peer)
      for (uint64_t e = 0; e < experts; ++e) {
        const uint64_t mine = place * experts + e, theirs = peer * experts + e;
        if (kind == Collective::Kind::Dispatch)
          copy(with_expert(peer, mine), peer, own(peer, mine),
               count(peer, mine));
        else
          copy(own(place, theirs), peer, with_expert(place, theirs),
               count(place, theirs));
      }
    return expected == to ? ""
                          : "rank " + std::to_string(group[place]) + " of " +
                                std::to_string(group.size());
  }

  /// Bytes that go to other ranks.
  uint64_t bytes_sent() const {
    uint64_t sum = 0;
    for (uint32_t peer = 0; peer < group.size(); ++peer)
      for (uint64_t e = 0; e < experts && peer != place; ++e)
        sum += kind == Collective::Kind::Dispatch
                   ? count(place, peer * experts + e)
                   : count(peer, place * experts + e);
    return sum * width;
  }

  Collective::Kind kind;
  std::vector<uint32_t> group;
  uint32_t place;
  uint64_t experts, rows, width, salt;
  std::vector<int32_t> bounds, counts, received;
  std::vector<std::byte> from, to;
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
