//===- ParametersTest.cpp - descriptions, layers, forms and errors -------===//

#include "fixture.h"

#include "runtime/weights/description.h"
#include "runtime/weights/packing.h"
#include "runtime/weights/parameters.h"

#include <gtest/gtest.h>

#include <cmath>

namespace baton::test {
namespace {

using nlohmann::json;

LoadOptions without_cache() {
  LoadOptions options;
  options.use_cache = false;
  return options;
}

const float *floats(const void *pointer) {
  return static_cast<const float *>(pointer);
}

class ParametersTest : public testing::Test {
protected:
  void write(const std::vector<NamedTensor> &tensors) {
    write_file(folder.path / "model.safetensors", safetensors_bytes(tensors));
  }
  Parameters load(const json &parameters,
                  const LoadOptions &options = without_cache()) {
    return Parameters::load({{"parameters", parameters}},
                            Checkpoint::open(folder.path), options);
  }
  std::string refuse(const json &parameters) {
    return error_of([&] { load(parameters); });
  }

  TemporaryFolder folder;
};

TEST_F(ParametersTest, LaysOutLayersInOrder) {
  std::vector<NamedTensor> tensors;
  for (unsigned layer = 0; layer < 4; ++layer) {
    std::string prefix = "model.layers." + std::to_string(layer) + ".";
    tensors.push_back({prefix + "q.weight",
                       DataType::BF16,
                       {24, 10},
                       distinct_values(240, layer)});
    tensors.push_back(
        {prefix + "norm", DataType::F16, {10}, distinct_values(10, layer + 9)});
  }
  write(tensors);
  // Two of the four layers, as in the second half of a stack.
  Parameters parameters = load(json::parse(R"([
    {"name":"norm","kind":"vector","dtype":"f32","layers":2,"first_layer":2,
     "n":10,"parts":[{"sources":["layers.{layer}.norm",
                                 "model.layers.{layer}.norm"],"shape":[10]}]},
    {"name":"q","kind":"panels","dtype":"f32","layers":2,"first_layer":2,
     "k":10,"n":24,"parts":[{"sources":["model.layers.{layer}.q.weight"],
                             "shape":[24,10]}]}])"));
  ASSERT_EQ(parameters.table_size(), 4u);
  for (unsigned i = 0; i < 2; ++i) {
    const float *norm = floats(parameters.table()[i]);
    for (size_t j = 0; j < 16; ++j)
      EXPECT_EQ(norm[j], j < 10 ? tensors[2 * (i + 2) + 1].values[j] : 0) << j;
    const float *panels = floats(parameters.table()[2 + i]);
    for (size_t n = 0; n < 32; ++n)
      for (size_t k = 0; k < 10; ++k)
        ASSERT_EQ(panels[(n / 16 * 10 + k) * 16 + n % 16],
                  n < 24 ? tensors[2 * (i + 2)].values[n * 10 + k] : 0);
  }
  EXPECT_FALSE(parameters.from_cache());
}

TEST_F(ParametersTest, CountsLayersInStepsAndAhead) {
  std::vector<NamedTensor> tensors;
  for (unsigned layer = 0; layer < 12; ++layer)
    tensors.push_back({"h." + std::to_string(layer) + ".norm",
                       DataType::F32,
                       {2},
                       distinct_values(2, layer)});
  write(tensors);
  // Patterns of three layers, the first at layer 4: its second norm, by two
  // names for one tensor.
  Parameters parameters = load(json::parse(R"([
    {"name":"norm","kind":"vector","dtype":"f32","layers":2,"first_layer":4,
     "layer_step":3,"n":2,"parts":[{"sources":["x.{layer+2}", "h.{layer+2}.norm"],
                                    "shape":[2]}]}])"));
  ASSERT_EQ(parameters.table_size(), 2u);
  for (unsigned i = 0; i < 2; ++i)
    for (unsigned j = 0; j < 2; ++j)
      EXPECT_EQ(floats(parameters.table()[i])[j],
                tensors[4 + 3 * i + 2].values[j]);
}

TEST_F(ParametersTest, AlignsEveryParameter) {
  write({{"v", DataType::F32, {3}, {1, 2, 3}},
         {"w", DataType::F32, {512, 64}, distinct_values(512 * 64, 1)}});
  json description = json::array();
  for (int i = 0; i < 3; ++i) {
    description.push_back({{"name", "v"},
                           {"kind", "vector"},
                           {"dtype", "f32"},
                           {"n", 3},
                           {"parts", {{{"sources", {"v"}}, {"shape", {3}}}}}});
    description.push_back(
        {{"name", "w"},
         {"kind", "panels"},
         {"dtype", "bf16"},
         {"k", 64},
         {"n", 512},
         {"parts", {{{"sources", {"w"}}, {"shape", {512, 64}}}}}});
  }
  Parameters parameters = load(description);
  for (size_t i = 0; i < parameters.table_size(); ++i)
    EXPECT_EQ(reinterpret_cast<uintptr_t>(parameters.table()[i]) %
                  (i % 2 ? 4096 : 64),
              0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(parameters.table()[0]) %
                HugeRegion::alignment,
            0u);
  EXPECT_GE(parameters.resident_bytes(), 3 * (64u + 512 * 64 * 2));
}

TEST_F(ParametersTest, ConcatenatesVectors) {
  write({{"a", DataType::F32, {17}, distinct_values(17, 1)},
         {"b", DataType::BF16, {17}, distinct_values(17, 2)}});
  json description = json::parse(R"([
    {"name":"ab","kind":"vector","dtype":"f32","n":34,"parts":[
      {"sources":["a"],"shape":[17]},{"sources":["b"],"shape":[17]}]},
    {"name":"gate_up","kind":"vector","dtype":"f32","n":34,"interleave":true,
     "parts":[
      {"sources":["a"],"shape":[17]},{"sources":["b"],"shape":[17]}]}])");
  Parameters parameters = load(description);
  std::vector<double> a = distinct_values(17, 1), b = distinct_values(17, 2);
  const float *joined = floats(parameters.table()[0]);
  const float *interleaved = floats(parameters.table()[1]);
  for (size_t i = 0; i < 48; ++i)
    EXPECT_EQ(joined[i], i < 17 ? a[i] : i < 34 ? b[i - 17] : 0) << i;
  for (size_t i = 0; i < 64; ++i) {
    size_t element = i / 32 * 16 + i % 16;
    const std::vector<double> &part = i / 16 % 2 ? b : a;
    EXPECT_EQ(interleaved[i], element < 17 ? part[element] : 0) << i;
  }
}

TEST_F(ParametersTest, ReadsTablesInPlaceWhenTheTypeFits) {
  std::vector<double> values = distinct_values(7 * 5, 3);
  write({{"t", DataType::BF16, {7, 5}, values}});
  auto description = [](const char *type) {
    return json{{{"name", "t"},
                 {"kind", "table"},
                 {"dtype", type},
                 {"rows", 7},
                 {"columns", 5},
                 {"parts", {{{"sources", {"t"}}, {"shape", {7, 5}}}}}}};
  };
  Checkpoint checkpoint = Checkpoint::open(folder.path);
  Parameters in_place = Parameters::load({{"parameters", description("bf16")}},
                                         checkpoint, without_cache());
  EXPECT_EQ(in_place.table()[0], checkpoint.find({"t"}).tensor->data);
  EXPECT_EQ(in_place.resident_bytes(), 7u * 5 * 2);
  // The mapping outlives the checkpoint that opened it.
  checkpoint = Checkpoint();
  std::string expected = stored_bytes({"t", DataType::BF16, {7, 5}, values});
  EXPECT_EQ(std::memcmp(in_place.table()[0], expected.data(), expected.size()),
            0);

  Parameters converted = load(description("f32"));
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(floats(converted.table()[0])[i], values[i]);
}

TEST_F(ParametersTest, CopiesTablesThatAreNotAligned) {
  NamedTensor table{"t", DataType::F32, {2, 2}, {1, 2, 3, 4}};
  write({{"odd", DataType::U8, {1}, {0}}, table});
  Checkpoint checkpoint = Checkpoint::open(folder.path);
  const std::byte *stored = checkpoint.find({"t"}).tensor->data;
  ASSERT_NE(reinterpret_cast<uintptr_t>(stored) % 4, 0u);
  Parameters parameters = load(json::parse(R"([
    {"name":"t","kind":"table","dtype":"f32","rows":2,"columns":2,
     "parts":[{"sources":["t"],"shape":[2,2]}]}])"));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(parameters.table()[0]) % 64, 0u);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(floats(parameters.table()[0])[i], float(i + 1));
}

TEST_F(ParametersTest, HoldsConstants) {
  write({{"unused", DataType::F32, {1}, {1}}});
  Parameters parameters = load(json::parse(R"([
    {"name":"c","kind":"constant","dtype":"f32","layers":2,"n":3,
     "values":[1,0.5,-2.5e-3]}])"));
  ASSERT_EQ(parameters.table_size(), 2u);
  for (int layer : {0, 1}) {
    const float *values = floats(parameters.table()[layer]);
    EXPECT_EQ(values[0], 1.0f);
    EXPECT_EQ(values[1], 0.5f);
    EXPECT_EQ(values[2], -2.5e-3f);
    for (int i = 3; i < 16; ++i)
      EXPECT_EQ(values[i], 0.0f);
  }
}

/// Bytes of a mapped file that this process holds in memory.
uint64_t resident_file_bytes(const std::string &path) {
  std::ifstream maps("/proc/self/smaps");
  uint64_t kilobytes = 0;
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    // A mapping's first line ends with its path; "Rss: N kB" follows.
    if (line.find('-') < line.find(' '))
      inside = line.ends_with(path);
    else if (inside && line.starts_with("Rss:"))
      kilobytes += std::stoull(line.substr(4));
  }
  return kilobytes * 1024;
}

TEST_F(ParametersTest, KeepsNoSecondCopyOfWhatWasPacked) {
  write({{"w", DataType::F32, {1024, 1024}, distinct_values(1 << 20, 1)}});
  Checkpoint checkpoint = Checkpoint::open(folder.path);
  std::string file = (folder.path / "model.safetensors").string();
  const Tensor &tensor = *checkpoint.find({"w"}).tensor;
  unsigned sum = 0;
  // The byte of sign and exponent of one value on every page.
  for (uint64_t i = 3; i < tensor.bytes; i += 4096)
    sum += std::to_integer<unsigned>(tensor.data[i]);
  EXPECT_NE(sum, 0u);
  EXPECT_GE(resident_file_bytes(file), 4u << 20);
  Parameters parameters = Parameters::load(json::parse(R"({"parameters":[
        {"name":"p","kind":"panels","dtype":"f32","k":1024,"n":1024,
         "parts":[{"sources":["w"],"shape":[1024,1024]}]}]})"),
                                           checkpoint, without_cache());
  // The header stays.
  EXPECT_LE(resident_file_bytes(file), 256u << 10);
}

TEST_F(ParametersTest, NamesTheTensorAtFault) {
  write({{"w", DataType::F32, {4, 2}, distinct_values(8, 1)},
         {"ids", DataType::U8, {4, 2}, distinct_values(8, 1)}});
  auto panels = [](const char *source, json shape, bool transposed) {
    json part = {
        {"sources", {source}}, {"shape", shape}, {"transposed", transposed}};
    return json{{{"name", "p"},
                 {"kind", "panels"},
                 {"dtype", "f32"},
                 {"k", shape[transposed ? 0 : 1]},
                 {"n", shape[transposed ? 1 : 0]},
                 {"parts", {part}}}};
  };
  EXPECT_NO_THROW(load(panels("w", {4, 2}, false)));
  EXPECT_NO_THROW(load(panels("w", {4, 2}, true)));
  std::string message = refuse(panels("w", {2, 4}, false));
  expect_contains(message, "model.safetensors: tensor \"w\"");
  expect_contains(message, "shape [4, 2], but");
  expect_contains(message, "compiled for [2, 4]");
  message = refuse(panels("ids", {4, 2}, false));
  expect_contains(message, "tensor \"ids\" has the dtype U8");
  expect_contains(refuse(panels("v", {4, 2}, false)), "no tensor \"v\"");
}

TEST_F(ParametersTest, RefusesMalformedDescriptions) {
  write({{"w", DataType::F32, {4, 2}, distinct_values(8, 1)}});
  json good = json::parse(R"({"name":"p","kind":"panels","dtype":"f32","k":2,
    "n":4,"layers":1,"first_layer":0,
    "parts":[{"sources":["w"],"shape":[4,2]}]})");
  EXPECT_NO_THROW(load(json::array({good})));
  auto refuse_change = [&](const char *pointer, const json &value) {
    json changed = good;
    changed[json::json_pointer(pointer)] = value;
    std::string message = refuse(json::array({changed}));
    expect_contains(message, "parameter");
    return message;
  };
  expect_contains(refuse_change("/kind", "matrix"), "\"matrix\"");
  expect_contains(refuse_change("/dtype", "f8"), "\"f8\"");
  expect_contains(refuse_change("/dtype", "i8"), "dtype i8");
  expect_contains(refuse_change("/k", 3), "does not fit");
  expect_contains(refuse_change("/n", 5), "parts of 4 outputs");
  expect_contains(refuse_change("/n", 3), "does not fit");
  expect_contains(refuse_change("/n", -1), "non-negative");
  expect_contains(refuse_change("/n", 4.0), "non-negative");
  expect_contains(refuse_change("/layers", 0), "impossible size");
  expect_contains(refuse_change("/layers", UINT64_MAX), "impossible size");
  expect_contains(refuse_change("/first_layer", UINT64_MAX), "impossible size");
  expect_contains(refuse_change("/interleave", true), "two equal halves");
  expect_contains(refuse_change("/parts/0/shape", json{0, 2}), "positive");
  expect_contains(refuse_change("/parts/0/sources", json::array()),
                  "without sources");
  expect_contains(refuse_change("/parts", json::array()), "parts of 0");
  refuse_change("/parts/0/sources", 7);
  refuse_change("/name", 7);
  expect_contains(error_of([&] {
                    Parameters::load(json::object(),
                                     Checkpoint::open(folder.path));
                  }),
                  "malformed");
  expect_contains(refuse(json::parse(R"([{"name":"c","kind":"constant",
    "dtype":"f32","n":2,"values":[1]}])")),
                  "1 values");
  expect_contains(refuse(json::parse(R"([{"name":"t","kind":"table",
    "dtype":"f32","rows":2,"columns":4,
    "parts":[{"sources":["w"],"shape":[4,2]}]}])")),
                  "one part of shape [2, 4]");
}

TEST_F(ParametersTest, RanksHaveTheirParts) {
  const std::vector<double> q = distinct_values(40 * 12, 1),
                            k = distinct_values(20 * 12, 2),
                            down = distinct_values(12 * 40, 3),
                            table = distinct_values(11 * 12, 4),
                            fused = distinct_values(48 * 12, 5);
  write({{"q", DataType::F32, {40, 12}, q},
         {"k", DataType::F32, {20, 12}, k},
         {"down", DataType::F32, {12, 40}, down},
         {"turned", DataType::F32, {40, 12}, distinct_values(480, 6)},
         {"table", DataType::F32, {11, 12}, table},
         {"fused", DataType::F32, {48, 12}, fused}});
  const std::vector<double> turned = distinct_values(480, 6);
  const json description = json::parse(R"({
    "mesh": {"axes": [{"name": "tp", "size": 2}]},
    "parameters": [
      {"name":"qk","kind":"panels","dtype":"f32","k":12,"n":30,"parts":[
        {"sources":["q"],"shape":[40,12],
         "shards":[{"dimension":0,"extent":40,"axes":["tp"]}]},
        {"sources":["k"],"shape":[20,12],
         "shards":[{"dimension":0,"extent":20,"axes":["tp"]}]}]},
      {"name":"down","kind":"panels","dtype":"f32","k":20,"n":12,"parts":[
        {"sources":["down"],"shape":[12,40],
         "shards":[{"dimension":1,"extent":40,"axes":["tp"]}]}]},
      {"name":"turned","kind":"panels","dtype":"f32","k":20,"n":12,"parts":[
        {"sources":["turned"],"shape":[40,12],"transposed":true,
         "shards":[{"dimension":1,"extent":40,"axes":["tp"]}]}]},
      {"name":"block","kind":"panels","dtype":"f32","k":12,"n":8,"parts":[
        {"sources":["fused"],"shape":[48,12],"blocks":[4,12,4],
         "shards":[{"dimension":0,"extent":16,"axes":["tp"]}]}]},
      {"name":"table","kind":"table","dtype":"f32","rows":6,"columns":12,
       "parts":[{"sources":["table"],"shape":[11,12],
         "shards":[{"dimension":0,"extent":11,"axes":["tp"],
                    "granularity":1,"units":[6,5]}]}]},
      {"name":"head","kind":"panels","dtype":"f32","k":12,"n":6,"parts":[
        {"sources":["table"],"shape":[11,12],
         "shards":[{"dimension":0,"extent":11,"axes":["tp"],
                    "granularity":1,"units":[6,5]}]}]}]})");
  for (uint32_t rank : {0u, 1u}) {
    LoadOptions options = without_cache();
    options.rank = rank;
    Parameters parameters =
        Parameters::load(description, Checkpoint::open(folder.path), options);
    // Output n at depth d of panels of `depth`.
    auto panel = [&](size_t number, uint64_t depth, uint64_t n, uint64_t d) {
      return floats(
          parameters.table()[number])[(n / 16 * depth + d) * 16 + n % 16];
    };
    for (uint64_t d = 0; d < 12; ++d) {
      // Each source is cut by itself.
      for (uint64_t n = 0; n < 30; ++n)
        EXPECT_EQ(panel(0, 12, n, d), n < 20
                                          ? q[(20 * rank + n) * 12 + d]
                                          : k[(10 * rank + n - 20) * 12 + d]);
      // Of every 12 stored rows the second four: the rank has two such blocks.
      for (uint64_t n = 0; n < 8; ++n) {
        uint64_t stored = (2 * rank + n / 4) * 12 + 4 + n % 4;
        EXPECT_EQ(panel(3, 12, n, d), fused[stored * 12 + d]);
      }
      for (uint64_t n = 0; n < 6; ++n) {
        bool has = n < (rank ? 5u : 6u);
        double wanted = has ? table[(6 * rank + n) * 12 + d] : 0.0;
        if (has)
          EXPECT_EQ(floats(parameters.table()[4])[n * 12 + d], wanted);
        EXPECT_EQ(panel(5, 12, n, d), wanted);
      }
    }
    for (uint64_t n = 0; n < 12; ++n)
      for (uint64_t d = 0; d < 20; ++d) {
        EXPECT_EQ(panel(1, 20, n, d), down[n * 40 + 20 * rank + d]);
        EXPECT_EQ(panel(2, 20, n, d), turned[(20 * rank + d) * 12 + n]);
      }
  }
}

TEST_F(ParametersTest, HeadsAreInputsOfOneMatrix) {
  const auto values = distinct_values(size_t(4) * 7 * 16, 1);
  write({{"kv_b", DataType::F32, {28, 16}, values}});
  const json description = json::parse(R"({
    "mesh": {"axes": [{"name": "tp", "size": 2}]},
    "parameters": [{"name":"heads","kind":"panels","dtype":"f32","k":3,"n":32,
      "parts":[
      {"sources":["kv_b"],"shape":[28,16],"transposed":true,"inputs":[2,3],
       "shards":[{"dimension":1,"extent":28,"axes":["tp"]}]},
      {"sources":["kv_b"],"shape":[28,16],"transposed":true,"inputs":[9,3],
       "shards":[{"dimension":1,"extent":28,"axes":["tp"]}]}]}]})");
  for (uint32_t rank : {0u, 1u}) {
    LoadOptions options = without_cache();
    options.rank = rank;
    Parameters parameters =
        Parameters::load(description, Checkpoint::open(folder.path), options);
    for (uint64_t head = 0; head < 2; ++head)
      for (uint64_t n = 0; n < 16; ++n)
        for (uint64_t d = 0; d < 3; ++d)
          EXPECT_EQ(floats(parameters.table()[0])[(head * 3 + d) * 16 + n],
                    values[((2 * rank + head) * 7 + 2 + d) * 16 + n]);
  }
  json wrong = description;
  wrong["parameters"][0]["parts"][1]["inputs"] = {12, 3};
  expect_contains(error_of([&] { parse_parameters(wrong); }),
                  "has inputs that do not fit its shape [28, 16]");
}

TEST_F(ParametersTest, RanksKeepTheirPartsApart) {
  write({{"w", DataType::F32, {32, 8}, distinct_values(256, 1)}});
  const json description = json::parse(R"({
    "mesh": {"axes": [{"name": "tp", "size": 2}]},
    "parameters": [{"name":"w","kind":"panels","dtype":"f32","k":8,"n":16,
      "parts":[{"sources":["w"],"shape":[32,8],
        "shards":[{"dimension":0,"extent":32,"axes":["tp"]}]}]}]})");
  auto load_rank = [&](uint32_t rank) {
    LoadOptions options;
    options.rank = rank;
    return Parameters::load(description, Checkpoint::open(folder.path),
                            options);
  };
  for (bool cached : {false, true})
    for (uint32_t rank : {0u, 1u}) {
      Parameters parameters = load_rank(rank);
      EXPECT_EQ(parameters.from_cache(), cached);
      EXPECT_EQ(floats(parameters.table()[0])[1],
                distinct_values(256, 1)[(16 * rank + 1) * 8]);
    }
}

/// Experts whole on ranks of ep, of whose outputs ranks of tp have a half.
constexpr const char *kExperts = R"({
  "mesh": {"axes": [{"name": "ep", "size": 2}, {"name": "tp", "size": 2}]},
  "parameters": [{"name":"e","kind":"panels","dtype":"f32","k":4,"n":32,"parts":[
    {"sources":["e.{expert+0}.w"],"shape":[32,4],
     "shards":[{"dimension":0,"extent":32,"axes":["tp"]}],
     "experts":{"dimension":0,"extent":4,"axes":["ep"]}},
    {"sources":["e.{expert+1}.w"],"shape":[32,4],
     "shards":[{"dimension":0,"extent":32,"axes":["tp"]}],
     "experts":{"dimension":0,"extent":4,"axes":["ep"]}}]}]})";

TEST_F(ParametersTest, RanksHaveTheirExperts) {
  const json description = json::parse(kExperts);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    // Nobody asks for those that other ranks have: they are not there.
    std::vector<std::vector<double>> own;
    std::vector<std::string> names;
    for (uint64_t expert : {rank / 2 * 2, rank / 2 * 2 + 1}) {
      names.push_back("e." + std::to_string(expert) + ".w");
      own.push_back(distinct_values(32 * 4, expert + 1));
    }
    write({{names[0], DataType::F32, {32, 4}, own[0]},
           {names[1], DataType::F32, {32, 4}, own[1]}});
    LoadOptions options = without_cache();
    options.rank = rank;
    Parameters parameters =
        Parameters::load(description, Checkpoint::open(folder.path), options);
    for (uint64_t n = 0; n < 32; ++n)
      for (uint64_t d = 0; d < 4; ++d)
        EXPECT_EQ(floats(parameters.table()[0])[(n / 16 * 4 + d) * 16 + n % 16],
                  own[n / 16][(rank % 2 * 16 + n % 16) * 4 + d]);
  }
}

TEST_F(ParametersTest, RanksKeepTheirExpertsApart) {
  json description = json::parse(kExperts);
  std::vector<std::vector<double>> values;
  for (uint64_t expert = 0; expert < 4; ++expert)
    values.push_back(distinct_values(32 * 4, expert + 1));
  write({{"e.0.w", DataType::F32, {32, 4}, values[0]},
         {"e.1.w", DataType::F32, {32, 4}, values[1]},
         {"e.2.w", DataType::F32, {32, 4}, values[2]},
         {"e.3.w", DataType::F32, {32, 4}, values[3]}});
  for (bool cached : {false, true})
    for (uint32_t rank = 0; rank < 4; ++rank) {
      LoadOptions options;
      options.rank = rank;
      Parameters parameters =
          Parameters::load(description, Checkpoint::open(folder.path), options);
      EXPECT_EQ(parameters.from_cache(), cached);
      EXPECT_EQ(floats(parameters.table()[0])[1],
                values[rank / 2 * 2][(rank % 2 * 16 + 1) * 4]);
    }
  for (const char *source : {"e.{expert+2}.w", "e.{expert}.w", "e.0.w"}) {
    description["parameters"][0]["parts"][0]["sources"][0] = source;
    expect_contains(error_of([&] {
                      Parameters::load(description,
                                       Checkpoint::open(folder.path),
                                       without_cache());
                    }),
                    "has a source that names no expert");
  }
}

TEST_F(ParametersTest, EveryNumberOfThreadsGivesTheSameBytes) {
  write({{"w", DataType::F32, {600, 1000}, distinct_values(600'000, 1)}});
  json description = json::parse(R"([
    {"name":"p","kind":"panels","dtype":"f32","k":1000,"n":600,
     "parts":[{"sources":["w"],"shape":[600,1000]}]},
    {"name":"t","kind":"table","dtype":"f16","rows":600,"columns":1000,
     "parts":[{"sources":["w"],"shape":[600,1000]}]}])");
  LoadOptions one = without_cache(), four = without_cache();
  one.threads = 1;
  four.threads = 4;
  uint64_t last = 0, end = 0;
  four.progress = [&](uint64_t done, uint64_t total) {
    EXPECT_GT(done, last);
    last = done;
    end = total;
  };
  Parameters a = load(description, one), b = load(description, four);
  EXPECT_EQ(last, end);
  EXPECT_EQ(end, b.resident_bytes());
  EXPECT_EQ(std::memcmp(a.table()[0], b.table()[0], 608 * 1000 * 4), 0);
  EXPECT_EQ(std::memcmp(a.table()[1], b.table()[1], 600 * 1000 * 2), 0);
}

TEST(RandomParameters, AreTheTensorsWhereverTheyLie) {
  auto description = [](const char *parameters) {
    return json{{"parameters", json::parse(parameters)}};
  };
  // One parameter of two tensors, of which the second begins within a panel.
  Parameters grouped = Parameters::random(description(R"([
    {"name":"qk","kind":"panels","dtype":"f32","layers":2,"k":30,"n":40,
     "parts":[{"sources":["q.{layer}"],"shape":[24,30]},
              {"sources":["k.{layer}"],"shape":[16,30]}]}])"),
                                          7);
  Parameters apart = Parameters::random(description(R"([
    {"name":"other","kind":"vector","dtype":"f32","n":5,
     "parts":[{"sources":["other"],"shape":[5]}]},
    {"name":"k","kind":"panels","dtype":"f32","layers":2,"k":30,"n":16,
     "parts":[{"sources":["k.{layer}"],"shape":[16,30]}]},
    {"name":"q","kind":"panels","dtype":"f32","layers":2,"k":30,"n":24,
     "parts":[{"sources":["q.{layer}"],"shape":[24,30]}]}])"),
                                        7);
  auto at = [](const Parameters &parameters, size_t slot, size_t output,
               size_t depth) {
    return floats(parameters.table()[slot])[output / 16 * 16 * 30 + depth * 16 +
                                            output % 16];
  };
  for (size_t layer : {0, 1})
    for (size_t depth = 0; depth < 30; ++depth) {
      for (size_t output = 0; output < 24; ++output)
        EXPECT_EQ(at(grouped, layer, output, depth),
                  at(apart, 3 + layer, output, depth));
      for (size_t output = 0; output < 16; ++output)
        EXPECT_EQ(at(grouped, layer, 24 + output, depth),
                  at(apart, 1 + layer, output, depth));
    }
  EXPECT_NE(at(grouped, 0, 0, 0), at(grouped, 1, 0, 0));
  EXPECT_NE(at(grouped, 0, 0, 0), at(grouped, 0, 24, 0));
}

TEST(RandomParameters, AreDeterministicAndOfPlausibleSize) {
  json description = {{"parameters", json::parse(R"([
    {"name":"p","kind":"panels","dtype":"bf16","layers":2,"k":400,"n":1000,
     "parts":[{"sources":["w.{layer}"],"shape":[1000,400]}]},
    {"name":"n","kind":"vector","dtype":"f32","n":1000,
     "parts":[{"sources":["norm.weight"],"shape":[1000]}]},
    {"name":"b","kind":"vector","dtype":"f32","n":1000,
     "parts":[{"sources":["norm.bias"],"shape":[1000]}]},
    {"name":"t","kind":"table","dtype":"f16","rows":1000,"columns":100,
     "parts":[{"sources":["t"],"shape":[1000,100]}]},
    {"name":"c","kind":"constant","dtype":"f32","n":1,"values":[3]}])")}};
  Parameters a = Parameters::random(description, 7, 1);
  Parameters b = Parameters::random(description, 7, 3);
  Parameters other = Parameters::random(description, 8);
  ASSERT_EQ(a.table_size(), 6u);
  size_t panel_bytes = 1008 * 400 * 2;
  for (int layer : {0, 1})
    EXPECT_EQ(std::memcmp(a.table()[layer], b.table()[layer], panel_bytes), 0);
  EXPECT_NE(std::memcmp(a.table()[0], a.table()[1], panel_bytes), 0);
  EXPECT_NE(std::memcmp(a.table()[0], other.table()[0], panel_bytes), 0);
  EXPECT_EQ(std::memcmp(a.table()[4], b.table()[4], 1000 * 100 * 2), 0);
  EXPECT_EQ(floats(a.table()[5])[0], 3.0f);

  auto moments = [](const void *data, DataType type, size_t count) {
    std::vector<float> values(count);
    conversion(type, DataType::F32)(data, values.data(), count);
    double sum = 0, squares = 0;
    for (float value : values) {
      sum += value;
      squares += double(value) * value;
    }
    double mean = sum / double(count);
    return std::pair(mean, std::sqrt(squares / double(count) - mean * mean));
  };
  // The first 62 panels hold no padding.
  auto [panel_mean, panel_deviation] =
      moments(a.table()[0], DataType::BF16, 62 * 400 * 16);
  EXPECT_NEAR(panel_mean, 0, 0.001);
  EXPECT_NEAR(panel_deviation, 1 / std::sqrt(400.0), 0.001);
  EXPECT_NEAR(moments(a.table()[2], DataType::F32, 1000).first, 1, 0.01);
  EXPECT_NEAR(moments(a.table()[3], DataType::F32, 1000).first, 0, 0.01);
  EXPECT_NEAR(moments(a.table()[4], DataType::F16, 100'000).second, 0.1, 0.002);

  // 1000 outputs fill half of the last panel; the rest is padding.
  const auto *panels = static_cast<const uint16_t *>(a.table()[0]);
  for (size_t k = 0; k < 400; ++k)
    for (size_t lane = 8; lane < 16; ++lane)
      ASSERT_EQ(panels[(62 * 400 + k) * 16 + lane], 0);
  for (size_t i = 1000; i < 1008; ++i)
    EXPECT_EQ(floats(a.table()[2])[i], 0.0f);
}

} // namespace
} // namespace baton::test
