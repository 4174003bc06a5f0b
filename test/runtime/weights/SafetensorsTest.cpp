//===- SafetensorsTest.cpp - well-formed and hostile headers -------------===//

#include "fixture.h"

#include <gtest/gtest.h>

#include <random>

namespace baton::test {
namespace {

class Safetensors : public testing::Test {
protected:
  std::shared_ptr<const SafetensorsFile> open(const std::string &bytes) {
    write_file(file, bytes);
    return SafetensorsFile::open(file);
  }

  /// The error for a file with this header and 16 bytes of data; it names the
  /// file.
  std::string refuse(const std::string &header, size_t data_bytes = 16) {
    std::string message = error_of(
        [&] { open(with_header(header, std::string(data_bytes, 'x'))); });
    expect_contains(message, file.string() + ": ");
    return message;
  }

  /// The same for a header with the one tensor "a.b".
  std::string refuse_tensor(const std::string &description) {
    std::string message = refuse("{\"a.b\":" + description + "}");
    expect_contains(message, "\"a.b\"");
    return message;
  }

  TemporaryFolder folder;
  std::filesystem::path file = folder.path / "model.safetensors";
};

TEST_F(Safetensors, ReadsTensors) {
  NamedTensor first{"w", DataType::F32, {2, 3}, {1, 2, 3, 4, 5, 6}};
  NamedTensor second{"b", DataType::BF16, {2}, {0.5, -0.25}};
  NamedTensor scalar{"s", DataType::F64, {}, {7}};
  NamedTensor empty{"e", DataType::F32, {0, 4}, {}};
  auto opened = open(safetensors_bytes({first, second, scalar, empty}));
  ASSERT_EQ(opened->tensors().size(), 4u);
  for (const NamedTensor &expected : {first, second, scalar, empty}) {
    const Tensor &tensor = opened->tensors().at(expected.name);
    EXPECT_EQ(tensor.type, expected.type);
    EXPECT_EQ(tensor.shape, expected.shape);
    std::string bytes = stored_bytes(expected);
    ASSERT_EQ(tensor.bytes, bytes.size());
    EXPECT_EQ(std::memcmp(tensor.data, bytes.data(), bytes.size()), 0);
  }
}

TEST_F(Safetensors, ReadsReleasedTensorsAgain) {
  NamedTensor stored{"w", DataType::F32, {64, 64}, distinct_values(4096, 1)};
  auto opened = open(safetensors_bytes({stored}));
  const Tensor &tensor = opened->tensors().at("w");
  opened->prefetch(tensor);
  opened->release(tensor);
  EXPECT_EQ(std::memcmp(tensor.data, stored_bytes(stored).data(), tensor.bytes),
            0);
}

TEST_F(Safetensors, RefusesWhatIsNoFile) {
  std::string missing = (folder.path / "missing").string();
  expect_contains(error_of([&] { SafetensorsFile::open(missing); }),
                  missing + ": cannot open: No such file");
  expect_contains(error_of([&] { SafetensorsFile::open(folder.path); }),
                  "is not a regular file");
}

TEST_F(Safetensors, RefusesShortFiles) {
  for (size_t size : {0, 1, 7})
    expect_contains(error_of([&] { open(std::string(size, '\0')); }),
                    "too short");
}

TEST_F(Safetensors, RefusesAbsurdHeaderLengths) {
  for (uint64_t length :
       {uint64_t(9), uint64_t(1) << 40, UINT64_MAX, UINT64_MAX - 7}) {
    std::string bytes(reinterpret_cast<const char *>(&length), 8);
    expect_contains(error_of([&] { open(bytes + "{}      "); }),
                    "exceeds the file");
  }
  uint64_t length = SafetensorsFile::max_header_bytes + 1;
  write_file(file, std::string(reinterpret_cast<const char *>(&length), 8));
  std::filesystem::resize_file(file, length + 8);
  expect_contains(error_of([&] { SafetensorsFile::open(file); }),
                  "the format's limit");
}

TEST_F(Safetensors, RefusesWhatIsNoJsonObject) {
  expect_contains(refuse(""), "not valid JSON");
  expect_contains(refuse("{"), "not valid JSON");
  expect_contains(refuse("{}}"), "not valid JSON");
  expect_contains(refuse("{\"a\xff\":1}"), "not valid JSON");
  for (const char *header : {"[]", "1", "-1", "1.5", "\"x\"", "null", "true"})
    expect_contains(refuse(header), "not a JSON object");
}

TEST_F(Safetensors, RefusesDeepNesting) {
  std::string brackets(1'000'000, '[');
  expect_contains(refuse(brackets), "not a JSON object");
  expect_contains(refuse("{\"a\":" + brackets), "\"a\"");
  std::string braces;
  for (int i = 0; i < 100'000; ++i)
    braces += "{\"a\":";
  expect_contains(refuse(braces), "\"a\"");
  expect_contains(refuse_tensor("{\"shape\":" + brackets), "shape");
}

TEST_F(Safetensors, RefusesDuplicateKeys) {
  std::string tensor = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  expect_contains(refuse("{\"a\":" + tensor + ",\"a\":" + tensor + "}"),
                  "\"a\" is named twice");
  expect_contains(refuse(R"({"__metadata__":{},"__metadata__":{}})"), "twice");
  expect_contains(refuse(R"({"__metadata__":{"k":"1","k":"2"}})"), "\"k\"");
  expect_contains(refuse_tensor(R"({"dtype":"F32","dtype":"F32"})"),
                  "its dtype twice");
  expect_contains(refuse_tensor(R"({"shape":[],"shape":[]})"),
                  "its shape twice");
  expect_contains(refuse_tensor(R"({"data_offsets":[],"data_offsets":[]})"),
                  "its data_offsets twice");
}

TEST_F(Safetensors, RefusesMissingAndUnknownFields) {
  expect_contains(refuse_tensor(R"({"shape":[1],"data_offsets":[0,4]})"),
                  "no dtype");
  expect_contains(refuse_tensor(R"({"dtype":"F32","data_offsets":[0,4]})"),
                  "no shape");
  expect_contains(refuse_tensor(R"({"dtype":"F32","shape":[1]})"),
                  "no data_offsets");
  expect_contains(refuse_tensor(R"({"stride":[1]})"), "\"stride\"");
}

TEST_F(Safetensors, RefusesWrongTypes) {
  for (const char *value : {"1", "-1", "1.5", "null", "true", "\"F32\"", "[]"})
    expect_contains(refuse_tensor(value), "not described by an object");
  for (const char *value : {"1", "-1", "1e3", "null", "false", "[]", "{}"})
    expect_contains(refuse_tensor(std::string("{\"dtype\":") + value + "}"),
                    "dtype that is not a string");
  for (const char *field : {"shape", "data_offsets"})
    for (const char *value :
         {"1", "null", "true", "\"x\"", "{}", "[-1]", "[1.0]", "[1e2]",
          "[null]", "[\"1\"]", "[[1]]", "[{}]", "[true]",
          "[18446744073709551616]", "[1e400]"}) {
      std::string header = R"({"a.b":{")" + std::string(field) + "\":" + value;
      std::string message = refuse(header + "}}");
      // 1e400 is no number of JSON's parser.
      if (message.find("not valid JSON") == std::string::npos)
        expect_contains(message, std::string(field) + " that is not an array");
    }
  expect_contains(refuse(R"({"__metadata__":{"a":1}})"), "not a string");
  expect_contains(refuse(R"({"__metadata__":{"a":{}}})"), "not a string");
  expect_contains(refuse(R"({"__metadata__":[]})"), "__metadata__");
}

TEST_F(Safetensors, RefusesUnknownTypes) {
  for (const char *type : {"F33", "f32", "", "F128"})
    expect_contains(refuse_tensor(std::string(R"({"dtype":")") + type +
                                  R"(","shape":[1],"data_offsets":[0,4]})"),
                    "unknown dtype");
}

TEST_F(Safetensors, RefusesImpossibleShapes) {
  expect_contains(
      refuse_tensor(R"({"dtype":"F32","shape":[4294967296,4294967296],)"
                    R"("data_offsets":[0,0]})"),
      "no number of bytes");
  expect_contains(
      refuse_tensor(R"({"dtype":"F64","shape":[18446744073709551615],)"
                    R"("data_offsets":[0,16]})"),
      "no number of bytes");
  expect_contains(
      refuse_tensor(R"({"dtype":"F4","shape":[3],"data_offsets":[0,1]})"),
      "no number of bytes");
  std::string ones = "1";
  for (int i = 0; i < 64; ++i)
    ones += ",1";
  expect_contains(refuse_tensor(R"({"dtype":"F32","shape":[)" + ones +
                                R"(],"data_offsets":[0,4]})"),
                  "more than 64");
}

TEST_F(Safetensors, RefusesWrongOffsets) {
  auto refuse_offsets = [&](const std::string &offsets) {
    return refuse_tensor(R"({"dtype":"F32","shape":[2],"data_offsets":)" +
                         offsets + "}");
  };
  expect_contains(refuse_offsets("[8,0]"), "after its end");
  expect_contains(refuse_offsets("[0,4]"), "needs 8 bytes");
  expect_contains(refuse_offsets("[0,12]"), "needs 8 bytes");
  expect_contains(refuse_offsets("[]"), "not two numbers");
  expect_contains(refuse_offsets("[0]"), "not two numbers");
  expect_contains(refuse_offsets("[0,4,8]"), "not two numbers");
  expect_contains(refuse_offsets("[12,20]"), "truncated");
  expect_contains(refuse_offsets("[18446744073709551607,18446744073709551615]"),
                  "truncated");
  // A tensor without elements still has a place in the file.
  expect_contains(refuse_tensor(R"({"dtype":"F32","shape":[0],)"
                                R"("data_offsets":[99,99]})"),
                  "truncated");
}

TEST_F(Safetensors, RefusesOverlaps) {
  std::string message =
      refuse(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
             R"("b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
             R"("c":{"dtype":"U8","shape":[1],"data_offsets":[7,8]}})");
  expect_contains(message, "\"a\" and \"c\" overlap");
}

TEST_F(Safetensors, NamesCannotBreakTheLine) {
  std::string message = refuse(R"({"x\ny\u0000z":1})");
  expect_contains(message, R"(x\ny\u0000z)");
  std::string long_name(100'000, 'n');
  EXPECT_LT(refuse("{\"" + long_name + "\":1}").size(), 1000u);
}

/// Reads every byte of every tensor: a sanitizer or a page fault would tell one
/// that lies outside the file.
void check_tensors(const SafetensorsFile &file) {
  const auto *begin =
      reinterpret_cast<const std::byte *>(file.header().data()) - 8;
  unsigned sum = 0;
  for (const auto &[name, tensor] : file.tensors()) {
    ASSERT_GE(tensor.data, begin);
    ASSERT_LE(tensor.data + tensor.bytes, begin + file.file_bytes());
    uint64_t bits = bits_of(tensor.type);
    for (uint64_t size : tensor.shape)
      bits *= size;
    ASSERT_EQ(tensor.bytes * 8, bits) << name;
    for (uint64_t i = 0; i < tensor.bytes; ++i)
      sum += std::to_integer<unsigned>(tensor.data[i]);
  }
  volatile unsigned keep = sum;
  (void)keep;
}

TEST_F(Safetensors, SurvivesMutations) {
  const std::string valid = safetensors_bytes(
      {{"layer.0.weight", DataType::F32, {3, 5}, distinct_values(15, 1)},
       {"layer.0.bias", DataType::BF16, {4}, distinct_values(4, 2)},
       {"scale", DataType::F64, {}, {3}}});
  size_t header_end = 8 + valid.find("\"__metadata__\"") +
                      (valid.rfind('}') - valid.find("\"__metadata__\""));
  std::mt19937 random(12345);
  auto below = [&](size_t limit) { return random() % limit; };
  using namespace std::string_literals;
  const std::string alphabet = "{}[]\",:0123456789-.eEF3246BUI\\ \n\0\xff"s;
  int refused = 0, accepted = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = valid;
    for (size_t edits = 1 + below(3); edits; --edits) {
      size_t at = below(std::min(header_end, bytes.size()));
      switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = alphabet[below(alphabet.size())];
        break;
      case 2:
        bytes.erase(at, 1 + below(4));
        break;
      case 3:
        bytes.insert(at, 1, alphabet[below(alphabet.size())]);
        break;
      case 4:
        if (below(4) == 0)
          bytes.resize(below(bytes.size()) + 1);
        else
          bytes[at] = static_cast<char>('0' + below(10));
        break;
      }
      if (bytes.empty())
        bytes = "x";
    }
    try {
      check_tensors(*open(bytes));
      ++accepted;
    } catch (const Error &error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      ++refused;
    }
  }
  // Names and metadata may change freely; lengths and offsets may not.
  EXPECT_GT(refused, 1000);
  EXPECT_GT(accepted, 10);
}

TEST_F(Safetensors, RefusesEveryTruncation) {
  const std::string valid =
      safetensors_bytes({{"a", DataType::F32, {3, 5}, distinct_values(15, 1)},
                         {"b", DataType::BF16, {4}, distinct_values(4, 2)}});
  for (size_t size = 0; size < valid.size(); ++size)
    expect_contains(error_of([&] { open(valid.substr(0, size)); }),
                    file.string());
  check_tensors(*open(valid));
}

} // namespace
} // namespace baton::test
