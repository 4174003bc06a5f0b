//===- TouchedMemoryTest.cpp - which pages a step writes ------------------===//

#include "runtime/execute/touched_memory.h"

#include "runtime/error.h"
#include "runtime/execute/step_expression.h"
#include "toy_program.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

TEST(StepExpression, IsAsMlirHasIt) {
  const BatonStep step{7, 3, 1, 0};
  auto value = [&](const char *text) {
    return evaluate(nlohmann::json::parse(text), step);
  };
  EXPECT_EQ(value("5"), 5);
  EXPECT_EQ(value(R"("rows")"), 7);
  EXPECT_EQ(value(R"(["+", ["*", "past", 4], "outputs"])"), 13);
  EXPECT_EQ(value(R"(["ceildiv", "rows", 3])"), 3);
  EXPECT_EQ(value(R"(["floordiv", "rows", 3])"), 2);
  EXPECT_EQ(value(R"(["mod", "rows", 3])"), 1);
  // Of negative numbers, too.
  EXPECT_EQ(value(R"(["floordiv", ["+", "past", -7], 3])"), -2);
  EXPECT_EQ(value(R"(["ceildiv", ["+", "past", -7], 3])"), -1);
  EXPECT_EQ(value(R"(["mod", ["+", "past", -7], 3])"), 2);
  for (const char *damaged :
       {R"("columns")", R"(["-", 1, 2])", R"(["mod", 1, 0])", R"(["+", 1])",
        "1.5", R"(["floordiv", 1, -2])"})
    EXPECT_THROW(value(damaged), Error) << damaged;
}

/// The toy's, with a storage of these bytes and one phase that writes these
/// buffers into it, by a grid of tasks for each four rows.
Metadata program(uint64_t bytes, const char *buffers) {
  auto json = nlohmann::json::parse(toy::metadata());
  json["max_rows"] = 1024;
  json["max_seq"] = 1024;
  json["storages"] = {
      {{"name", "all"}, {"bytes", bytes}, {"kind", "transient"}}};
  json["phases"] = {{{"name", "phase"},
                     {"segment", "layers"},
                     {"repeat", 2},
                     {"grid", {{"ceildiv", "rows", 4}, 3}},
                     {"writes", nlohmann::json::parse(buffers)}}};
  return Metadata::parse(json.dump());
}

uint64_t touched(const Metadata &metadata, uint32_t rows) {
  return touched_bytes(metadata, metadata.programs.front(), {rows, 0, 1, 0},
                       4096)
      .at(0);
}

TEST(TouchedMemory, CountsTasks) {
  Metadata metadata = program(4096, "[]");
  EXPECT_EQ(metadata.phases[0].tasks({9, 0, 1, 0}), 9u);
  EXPECT_EQ(touched(metadata, 9), 0u);
}

TEST(TouchedMemory, RowsOfEachLayer) {
  // A row is a page.
  Metadata metadata = program(1024 * 4096 * 2, R"([
    {"buffer": "x", "element": "f32", "storage": 0, "offset": 0,
     "strides": [1024, 1], "capacity": [1024, 1024], "layers": 2,
     "layer_stride": 1048576, "extents": ["rows", 1024]}])");
  EXPECT_EQ(touched(metadata, 1), 2 * 4096u);
  EXPECT_EQ(touched(metadata, 100), 100 * 2 * 4096u);
  // Of a large page it is all.
  EXPECT_EQ(touched_bytes(metadata, metadata.programs.front(), {1, 0, 1, 0},
                          uint64_t(2) << 20)[0],
            2 * (uint64_t(2) << 20));
}

TEST(TouchedMemory, WhatBuffersShareCountsOnce) {
  Metadata metadata = program(1024 * 4096, R"([
    {"buffer": "x", "element": "f32", "storage": 0, "offset": 0,
     "strides": [1024, 1], "capacity": [1024, 1024], "layers": 1,
     "layer_stride": 0, "extents": ["rows", 1024]},
    {"buffer": "y", "element": "bf16", "storage": 0, "offset": 2048,
     "strides": [2048, 1], "capacity": [1023, 2048], "layers": 1,
     "layer_stride": 0, "extents": [["floordiv", "rows", 2], 2048]}])");
  // Rows 0 to 9, and 1 to 5.
  EXPECT_EQ(touched(metadata, 10), 10 * 4096u);
}

TEST(TouchedMemory, HolesAreNotTouched) {
  // Heads, each with all rows; few rows leave most of a head's pages alone.
  Metadata metadata = program(16 * 1024 * 256, R"([
    {"buffer": "x", "element": "f32", "storage": 0, "offset": 0,
     "strides": [65536, 64, 1], "capacity": [16, 1024, 64], "layers": 1,
     "layer_stride": 0, "extents": [16, "rows", 64]}])");
  EXPECT_EQ(touched(metadata, 16), 16 * 4096u);
  EXPECT_EQ(touched(metadata, 17), 16 * 2 * 4096u);
  EXPECT_EQ(touched(metadata, 1024), 16 * 1024 * 256u);
}

} // namespace
} // namespace baton
