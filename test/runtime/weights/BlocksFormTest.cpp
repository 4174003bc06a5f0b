//===- BlocksFormTest.cpp - quantised weights in panels -------------------===//
//
// Against test/golden/panels.json: panels that a script writes by what
// runtime/weight_blocks.h says, of weights of every format and method.
//
//===----------------------------------------------------------------------===//

#include "fixture.h"

#include "runtime/weight_formats.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/form.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace baton::test {
namespace {

using nlohmann::json;

std::string bytes_of_hex(const std::string &hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

/// As the script makes them.
char byte_of(uint32_t seed, uint32_t place) {
  uint32_t word = (place + 65537 * seed + 1) * 2654435761u;
  word = (word ^ word >> 15) * 2246822519u;
  return static_cast<char>(word >> 24);
}

std::string bytes_of(const json &tensor) {
  if (tensor.contains("bytes"))
    return bytes_of_hex(tensor.at("bytes"));
  const auto mask = tensor.at("mask").get<std::vector<uint8_t>>();
  std::string bytes(tensor.at("size").get<size_t>(), '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(
        byte_of(tensor.at("seed").get<uint32_t>(), static_cast<uint32_t>(i)) &
        mask[i % mask.size()]);
  return bytes;
}

uint64_t fnv(std::span<const std::byte> bytes) {
  uint64_t value = 0xCBF29CE484222325;
  for (std::byte each : bytes)
    value = (value ^ static_cast<uint64_t>(each)) * 0x100000001B3;
  return value;
}

DataType ggml_type(const std::string &name) {
  for (const DataType type :
       {DataType::Q8_0, DataType::Q4_0, DataType::Q4_1, DataType::Q5_0,
        DataType::Q5_1, DataType::Q2_K, DataType::Q3_K, DataType::Q4_K,
        DataType::Q5_K, DataType::Q6_K, DataType::IQ4_NL})
    if (stored_type_name(type) == name)
      return type;
  return DataType::GgufMXFP4;
}

/// What a program's description says of one tensor's panels.
struct Parameter {
  std::vector<ParameterPart> parts;
  json object;

  Parameter(const std::string &formats, uint64_t outputs, uint64_t inputs)
      : object{{"formats", formats}, {"k", inputs}, {"n", outputs}} {
    ParameterPart part{};
    part.sources = {"x.weight"};
    part.shape = {outputs, inputs};
    part.own_outputs = {0, outputs};
    part.own_inputs = {0, inputs};
    part.room_outputs = outputs;
    part.room_inputs = inputs;
    parts.push_back(part);
  }
  std::shared_ptr<const WeightForm> form() const {
    const std::string name = "layers.x";
    return WeightForm::parse("blocks", {name, DataType::I8, 1, parts, object});
  }
};

class Panels : public testing::Test {
protected:
  /// A case's weight, as the loader finds it.
  StoredTensor stored(const json &entry) {
    const json &tensors = entry.at("tensors");
    if (!entry.contains("config")) {
      bytes = bytes_of(tensors[0]);
      tensor = {ggml_type(tensors[0].at("dtype")),
                tensors[0].at("shape").get<std::vector<uint64_t>>(),
                reinterpret_cast<const std::byte *>(bytes.data()),
                bytes.size()};
      return {"x.weight", &tensor, nullptr};
    }
    json header;
    std::string data;
    for (const json &each : tensors) {
      const std::string more = bytes_of(each);
      header[each.at("name").get<std::string>()] = {
          {"dtype", each.at("dtype")},
          {"shape", each.at("shape")},
          {"data_offsets", {data.size(), data.size() + more.size()}}};
      data += more;
    }
    write_file(folder.path / "config.json",
               json{{"quantization_config", entry.at("config")}}.dump());
    write_file(folder.path / "model.safetensors",
               with_header(header.dump(), data));
    checkpoint = std::make_unique<Checkpoint>(Checkpoint::open(folder.path));
    return checkpoint->find({"x.weight"});
  }

  TemporaryFolder folder;
  std::unique_ptr<Checkpoint> checkpoint;
  std::string bytes;
  Tensor tensor;
};

TEST_F(Panels, HaveTheBytesThatTheHeaderSays) {
  std::ifstream file(BATON_GOLDEN_PANELS);
  const json golden = json::parse(file);
  std::set<std::string> seen;
  for (const json &entry : golden) {
    const std::string name = entry.at("name"), formats = entry.at("formats");
    SCOPED_TRACE(name);
    const uint64_t outputs = entry.at("outputs"), inputs = entry.at("inputs");
    const StoredTensor source = stored(entry);
    seen.insert(panel_format(source.tensor->type));
    const auto form = Parameter(formats, outputs, inputs).form();
    std::vector<std::byte> layer(form->layer_bytes());
    // In two pieces, as parallel jobs do.
    form->pack({source}, 0, 1, layer.data());
    form->pack({source}, 1, form->units(), layer.data());

    const json &panels = entry.at("hashes");
    ASSERT_EQ(form->units(), panels.size());
    const uint64_t panel_bytes = layer.size() / panels.size(),
                   block_bytes = entry.at("block_bytes");
    std::string head;
    if (entry.contains("head")) {
      head = bytes_of_hex(entry.at("head"));
      EXPECT_EQ(panel_bytes, entry.at("panel_bytes").get<uint64_t>());
    }
    const std::string first = bytes_of_hex(entry.at("first"));
    EXPECT_EQ(
        std::memcmp(layer.data() + head.size(), first.data(), first.size()), 0);
    for (uint64_t panel = 0; panel < panels.size(); ++panel) {
      std::span<const std::byte> left(layer.data() + panel * panel_bytes,
                                      panel_bytes);
      EXPECT_EQ(std::memcmp(left.data(), head.data(), head.size()), 0);
      left = left.subspan(head.size());
      std::istringstream hashes(panels[panel].get<std::string>());
      for (std::string hash; hashes >> hash; left = left.subspan(block_bytes)) {
        ASSERT_GE(left.size(), block_bytes);
        ASSERT_EQ(fnv(left.first(block_bytes)), std::stoull(hash, nullptr, 16))
            << "panel " << panel << ", " << left.size()
            << " bytes before its end";
      }
      // Of a format that is shorter than another of the list.
      for (std::byte rest : left)
        ASSERT_EQ(rest, std::byte(0));
      EXPECT_TRUE(left.empty() || formats.find('|') != std::string::npos);
    }
  }
#define BATON_SEEN(NAME, BLOCK) EXPECT_TRUE(seen.contains(#NAME)) << #NAME;
  BATON_FOR_EACH_BLOCK(BATON_SEEN)
#undef BATON_SEEN
}

TEST_F(Panels, AreNotCutWithinABlock) {
  for (const auto &[formats, begin, count] : {std::tuple("q4_k", 128u, 256u),
                                              {"q4_k", 256u, 128u},
                                              {"q8_0|q6_k", 32u, 480u},
                                              {"int4_g128", 64u, 128u},
                                              {"q8_0", 16u, 32u}}) {
    Parameter parameter(formats, 32, 512);
    parameter.parts[0].own_inputs = {begin, count};
    const std::string message = error_of([&] { parameter.form(); });
    expect_contains(message, "layers.x");
    expect_contains(message, "is cut between ranks at inputs " +
                                 std::to_string(begin) + " to " +
                                 std::to_string(begin + count) +
                                 ", within a block of " +
                                 std::to_string(blocks::block_inputs(formats)));
  }
  Parameter whole("q4_k", 32, 512);
  whole.parts[0].own_inputs = {256, 256};
  whole.parts[0].room_inputs = 256;
  whole.object["k"] = 256;
  EXPECT_EQ(whole.form()->layer_bytes(), 2 * sizeof(blocks::Q4_K));
}

TEST_F(Panels, NeedBlocksOfTheirFormats) {
  expect_contains(error_of([] { Parameter("q9", 32, 512).form(); }),
                  "has blocks of the unknown formats \"q9\"");
  expect_contains(error_of([] { Parameter("q4_k", 32, 320).form(); }),
                  "within a block of 256");
}

} // namespace
} // namespace baton::test
