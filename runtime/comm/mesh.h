//===- mesh.h - which ranks there are, and who exchanges what -------------===//
//
// What the description of a program of several ranks says of them:
//
//   "mesh": {"axes": [{"name": "dp", "size": 2}], "batch": ["dp"]},
//   "collectives": [{"name": "all_reduce.3", "kind": "all_to_all",
//                    "axes": ["dp"], "iterations": 4, ...}]
//
// Ranks are numbered row-major over the axes. A collective's group is the ranks
// that differ on its axes only, in ascending order.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_COMM_MESH_H
#define BATON_RUNTIME_COMM_MESH_H

#include "runtime/program.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace baton {

/// One of several places, for example of a rank among those that a batch is cut
/// into parts for.
struct Place {
  uint32_t index = 0;
  uint32_t count = 1;
};

struct Mesh {
  struct Axis {
    std::string name;
    uint32_t size;
  };

  std::vector<Axis> axes;
  /// Axes that sequences are cut along.
  std::vector<std::string> batch;

  /// Of a program's description; without axes for a program of one rank. Throws
  /// Error when it is damaged.
  static Mesh parse(const nlohmann::json &description);

  uint32_t ranks() const;
  /// "dp=2,tp=2"
  std::string text() const;
  /// The ranks that differ from `rank` on these axes only, ascending.
  std::vector<uint32_t> group(uint32_t rank,
                              const std::vector<std::string> &along) const;
  /// A rank's place in that group.
  Place place(uint32_t rank, const std::vector<std::string> &along) const;
  /// The first of the ranks that are in the same place on each of these axes.
  uint32_t first_like(uint32_t rank,
                      const std::vector<std::string> &along) const;
  /// Which part of a batch a rank has.
  Place batch_place(uint32_t rank) const { return place(rank, batch); }
};

/// An exchange of tensors, as a program's description lists it.
struct Collective {
  enum class Kind {
    /// Each rank sends each a part of its own whole tensor.
    AllToAll,
    /// Each rank sends all its part of one tensor.
    AllGather,
    /// Each rank sends its rows to the ranks of their experts.
    Dispatch,
    /// And gets back what these have made of them.
    Combine,
  };

  /// "all_to_all"
  static const char *name_of(Kind kind);

  std::string name;
  Kind kind = Kind::AllToAll;
  std::vector<std::string> axes;
  /// What it is a part of, such as "all_reduce", and its bytes as a formula;
  /// empty when the description does not say.
  std::string operation, payload;
  uint32_t iterations = 1;

  /// Whether only the step knows which rows go where.
  bool moves_rows() const {
    return kind == Kind::Dispatch || kind == Kind::Combine;
  }

  /// Those of a description, none for a program of one rank. Throws Error when
  /// one is damaged, or names an axis that the mesh does not have.
  static std::vector<Collective> parse(const nlohmann::json &description,
                                       const Mesh &mesh);
};

/// What a rank sends to a neighbour on an axis, or receives from it, as the
/// description of a program for stages lists it under "pipeline", or, of one
/// that decodes, under "stages".
struct Message {
  std::string name;
  bool sends = false;
  /// The rank at the next place, else the one before; the axis is a ring.
  bool is_next = false;
  std::string axis;
  /// Channels between two ranks keep their messages' order.
  std::string channel;
  /// Its bytes as a formula of the rows.
  std::string payload;

  /// Those of a description, none for a program without stages. Throws Error
  /// when one is damaged, or names an axis that the mesh does not have.
  static std::vector<Message> parse(const nlohmann::json &description,
                                    const Mesh &mesh);
};

/// Where the part of a tensor that belongs to a place of a group begins, and
/// its size; both in bytes.
struct TensorPart {
  uint64_t begin, bytes;

  static TensorPart of(const BatonExchange &tensor, uint32_t place);
};

} // namespace baton

#endif // BATON_RUNTIME_COMM_MESH_H
