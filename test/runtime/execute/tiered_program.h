//===- tiered_program.h - a program that obeys a cap, for tests -----------===//

#ifndef BATON_TEST_RUNTIME_EXECUTE_TIERED_PROGRAM_H
#define BATON_TEST_RUNTIME_EXECUTE_TIERED_PROGRAM_H

#include "runtime/execute/metadata.h"

#include <cstdint>

namespace baton::test {

/// A toy whose stack has `layers` layers. Each has, in floats, `weights` of a
/// matrix, as many of its gradient and of two states, and `saved` values of
/// each of at most 8 rows. Only the tensors' sizes mean anything.
inline Metadata tiered_program(int64_t layers, int64_t weights, int64_t saved,
                               int64_t slots) {
  using Json = nlohmann::json;
  Metadata metadata;
  auto add = [&](const char *name, int64_t floats, bool persistent) {
    metadata.storages.push_back(
        {name, static_cast<uint64_t>(floats) * 4, false, persistent});
    return metadata.storages.size() - 1;
  };
  const size_t weight = add("w", layers * weights, true),
               gradient = add("g", layers * weights, true),
               first = add("m", layers * weights, true),
               second = add("v", layers * weights, true),
               value = add("s", layers * 8 * saved, false);
  auto buffer = [&](const char *name, size_t storage, int64_t rows,
                    int64_t columns) {
    WrittenBuffer made;
    made.buffer = name;
    made.element = "f32";
    made.storage = storage;
    made.offset = 0;
    made.strides = {columns, 1};
    made.capacity = {rows, columns};
    made.layers = layers;
    made.layer_stride = rows * columns;
    made.interleave = made.interleave_columns = 1;
    made.extents = {{rows == 1 ? Extent::Kind::Number : Extent::Kind::Rows, 1},
                    {Extent::Kind::Number, columns}};
    return made;
  };
  const WrittenBuffer w = buffer("up.weights", weight, 1, weights),
                      g = buffer("up.gradient", gradient, 1, weights),
                      s = buffer("x.saved", value, 8, saved);
  for (bool reverse : {false, true})
    for (bool fetches : {true, false}) {
      TierDescription tier;
      tier.name = fetches ? "fetch" : "release";
      tier.phase = static_cast<uint32_t>(metadata.tiers.size());
      tier.fetches = fetches;
      tier.reverse = reverse;
      tier.layers = static_cast<uint32_t>(layers);
      tier.slots = static_cast<uint32_t>(slots);
      tier.tensors = {w, s};
      if (reverse)
        tier.tensors.push_back(g);
      metadata.tiers.push_back(tier);
    }
  metadata.json["training"]["tensors"] = Json::array(
      {{{"role", "parameter"}, {"storage", weight}, {"name", "up.weights"}},
       {{"role", "optimizer"}, {"storage", first}, {"of", "up"}},
       {{"role", "optimizer"}, {"storage", second}, {"of", "up"}}});
  return metadata;
}

} // namespace baton::test

#endif // BATON_TEST_RUNTIME_EXECUTE_TIERED_PROGRAM_H
