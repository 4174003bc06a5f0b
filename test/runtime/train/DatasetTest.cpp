//===- DatasetTest.cpp - texts, folders, token files, and what is refused ===//

#include "runtime/train/dataset.h"

#include "runtime/tokenizer/byte_alphabet.h"
#include "test/runtime/weights/fixture.h"

#include <cmath>

#include <sys/stat.h>
#include <unistd.h>

namespace baton::test {
namespace {

namespace fs = std::filesystem;

/// Every byte, the word "ab" as 256, and <|endoftext|> as 257.
Tokenizer tokenizer(bool has_end = true) {
  nlohmann::json vocabulary, added = nlohmann::json::array();
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[spell_byte(static_cast<uint8_t>(byte))] = byte;
  vocabulary["ab"] = 256;
  if (has_end)
    added.push_back({{"id", 257},
                     {"content", "<|endoftext|>"},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  nlohmann::json document = {
      {"normalizer", nullptr},
      {"pre_tokenizer",
       {{"type", "ByteLevel"},
        {"add_prefix_space", false},
        {"use_regex", true}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"post_processor", nullptr},
      {"added_tokens", added},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", {"a b"}}}}};
  return Tokenizer::parse(document.dump(), "some.json");
}

std::vector<int32_t> all(const Dataset &dataset) {
  std::vector<int32_t> tokens(dataset.size());
  dataset.read(0, dataset.size(), tokens.data());
  return tokens;
}

std::vector<int32_t> as_bytes(const std::string &text) {
  std::vector<int32_t> tokens;
  for (char character : text)
    tokens.push_back(static_cast<unsigned char>(character));
  return tokens;
}

template <typename Token>
std::string as_file(const std::vector<Token> &tokens) {
  return {reinterpret_cast<const char *>(tokens.data()),
          tokens.size() * sizeof(Token)};
}

class DatasetTest : public testing::Test {
protected:
  TemporaryFolder folder;
  fs::path data = folder.path / "data";

  std::string refusal(const fs::path &path, uint64_t vocabulary = 1000,
                      const Tokenizer *tokenizer = nullptr) {
    std::string message = error_of([&] {
      Dataset::open(path, {.tokenizer = tokenizer, .vocabulary = vocabulary});
    });
    EXPECT_EQ(message.rfind("--data: ", 0), 0u) << message;
    return message;
  }

  /// Text below data/, in the order in which it is read.
  void make_folder() {
    fs::create_directories(data / "b" / "c");
    fs::create_directories(data / ".git");
    write_file(data / "a.txt", "ab");
    write_file(data / "b" / "c" / "1", "cd");
    write_file(data / "b" / "z", "ef");
    write_file(data / "b.md", "gh");
    // Sorted by bytes, "b.md" lies before "b/...".
    write_file(data / "image", std::string("x\0y", 3));
    write_file(data / "empty", "");
    write_file(data / ".hidden", "no");
    write_file(data / ".git" / "config", "no");
  }
};

TEST_F(DatasetTest, BytesOfAFile) {
  std::string text("some \xFF text\0 and more\n", 22);
  write_file(data, text);
  EXPECT_EQ(all(Dataset::open(data, {.vocabulary = 256})), as_bytes(text));
}

TEST_F(DatasetTest, BytesOfAFolder) {
  make_folder();
  Dataset dataset = Dataset::open(data, {.vocabulary = 256});
  EXPECT_EQ(all(dataset), as_bytes("abghcdef"));
  // The end-of-text token needs a tokenizer.
  EXPECT_EQ(all(Dataset::open(data, {.vocabulary = 300, .end_of_text = 257})),
            as_bytes("abghcdef"));
}

TEST_F(DatasetTest, LargeAndSmallFilesInAnyOrder) {
  fs::create_directory(data);
  std::string expected;
  for (int i = 0; i < 9; ++i) {
    std::string text(i % 3 == 1 ? (1 << 20) + i : 1000 * i + 1,
                     static_cast<char>('a' + i));
    write_file(data / std::to_string(i), text);
    expected += text;
  }
  Dataset dataset = Dataset::open(data, {.vocabulary = 256});
  EXPECT_EQ(all(dataset), as_bytes(expected));
  // Across borders of files, too.
  for (uint64_t first = 1; first + 5000 < expected.size(); first += 77777) {
    std::vector<int32_t> tokens(5000);
    dataset.read(first, tokens.size(), tokens.data());
    ASSERT_EQ(tokens, as_bytes(expected.substr(first, tokens.size())));
  }
}

TEST_F(DatasetTest, TokenFilesAreToldByTheirNames) {
  for (const char *name : {"a.u16", "b.u32"}) {
    write_file(folder.path / name, "");
    EXPECT_TRUE(Dataset::is_token_file(folder.path / name)) << name;
  }
  fs::create_directory(folder.path / "c.u16");
  for (const char *name : {"c.u16", "u16", "d.txt"})
    EXPECT_FALSE(Dataset::is_token_file(folder.path / name)) << name;
}

TEST_F(DatasetTest, TextByATokenizer) {
  Tokenizer some = tokenizer();
  write_file(data, "cab<|endoftext|>x");
  Dataset dataset =
      Dataset::open(data, {.tokenizer = &some,
                           .vocabulary = 258,
                           .end_of_text = end_of_text_token(some)});
  EXPECT_EQ(all(dataset), (std::vector<int32_t>{'c', 256, 257, 'x'}));
}

TEST_F(DatasetTest, EndOfTextBetweenFiles) {
  make_folder();
  for (uint64_t vocabulary : {258, 65536, 65537}) {
    Tokenizer some = tokenizer();
    uint64_t last = 0;
    Dataset dataset =
        Dataset::open(data, {.tokenizer = &some,
                             .vocabulary = vocabulary,
                             .end_of_text = end_of_text_token(some),
                             .threads = 2,
                             .progress = [&](uint64_t done, uint64_t total) {
                               EXPECT_GT(done, last);
                               EXPECT_EQ(total, 8u);
                               last = done;
                             }});
    EXPECT_EQ(all(dataset), (std::vector<int32_t>{256, 257, 'g', 'h', 257, 'c',
                                                  'd', 257, 'e', 'f'}));
    EXPECT_EQ(last, 8u);
  }
  Tokenizer without = tokenizer(false);
  EXPECT_EQ(end_of_text_token(without), std::nullopt);
  // What a checkpoint says goes before names, which choose where it says more.
  EXPECT_EQ(end_of_text_token(without, {7, 8}), 7);
  EXPECT_EQ(end_of_text_token(tokenizer(), {7, 8}), 7);
  EXPECT_EQ(end_of_text_token(tokenizer(), {7, 257}), 257);
  EXPECT_EQ(
      all(Dataset::open(data, {.tokenizer = &without, .vocabulary = 258})),
      (std::vector<int32_t>{256, 'g', 'h', 'c', 'd', 'e', 'f'}));
}

TEST_F(DatasetTest, TokenFiles) {
  std::vector<uint16_t> narrow = {0, 1, 65535, 300, 7};
  write_file(folder.path / "t.u16", as_file(narrow));
  EXPECT_EQ(all(Dataset::open(folder.path / "t.u16", {.vocabulary = 65536})),
            std::vector<int32_t>(narrow.begin(), narrow.end()));
  std::vector<uint32_t> wide(3'000'000);
  for (size_t i = 0; i < wide.size(); ++i)
    wide[i] = static_cast<uint32_t>(i * 31 % 151936);
  write_file(folder.path / "t.u32", as_file(wide));
  EXPECT_EQ(all(Dataset::open(folder.path / "t.u32", {.vocabulary = 151936})),
            std::vector<int32_t>(wide.begin(), wide.end()));

  // A changed token that is among those sampled, and data of another length.
  const uint64_t hash =
      Dataset::open(folder.path / "t.u32", {.vocabulary = 151936})
          .sampled_hash();
  EXPECT_EQ(Dataset::open(folder.path / "t.u32", {.vocabulary = 151936})
                .sampled_hash(),
            hash);
  for (size_t place : {size_t(0), wide.size() - 1}) {
    std::swap(wide[place], wide[place / 2 + 1]);
    write_file(folder.path / "t.u32", as_file(wide));
    EXPECT_NE(Dataset::open(folder.path / "t.u32", {.vocabulary = 151936})
                  .sampled_hash(),
              hash);
    std::swap(wide[place], wide[place / 2 + 1]);
  }

  wide[2'345'678] = 151936;
  write_file(folder.path / "t.u32", as_file(wide));
  std::string message = refusal(folder.path / "t.u32", 151936);
  expect_contains(message, "t.u32: the token 151936 is beyond the model's "
                           "vocabulary of 151936, at byte 9382712");
  expect_contains(refusal(folder.path / "t.u16", 65535), "the token 65535");
  wide[0] = 0xFFFFFFFF;
  write_file(folder.path / "t.u32", as_file(wide));
  expect_contains(refusal(folder.path / "t.u32", ~uint64_t(0)),
                  "the token 4294967295");
}

TEST_F(DatasetTest, WritesTokenFiles) {
  Tokenizer some = tokenizer();
  make_folder();
  Dataset dataset = Dataset::open(
      data, {.tokenizer = &some, .vocabulary = 258, .end_of_text = 257});
  for (const char *name : {"t.u16", "t.u32"}) {
    dataset.write(folder.path / name);
    EXPECT_EQ(all(Dataset::open(folder.path / name, {.vocabulary = 258})),
              all(dataset));
  }
  std::vector<uint32_t> tokens(2'500'000, 5);
  tokens.back() = 65536;
  write_file(folder.path / "t.u32", as_file(tokens));
  Dataset wide = Dataset::open(folder.path / "t.u32", {.vocabulary = 65537});
  wide.write(folder.path / "copy.u32");
  EXPECT_EQ(read_file(folder.path / "copy.u32"), as_file(tokens));
  expect_contains(error_of([&] { wide.write(folder.path / "copy.u16"); }),
                  "copy.u16: the token 65536 does not fit in 16 bits");
  EXPECT_FALSE(fs::exists(folder.path / "copy.u16"));
  expect_contains(error_of([&] { wide.write(folder.path / "copy.bin"); }),
                  "ends in .u16 or .u32");
}

TEST_F(DatasetTest, RefusesHalfATokenAndNone) {
  write_file(folder.path / "t.u16", "abc");
  expect_contains(refusal(folder.path / "t.u16"),
                  "t.u16: its size, 3 bytes, is no multiple of the 2 bytes");
  write_file(folder.path / "t.u32", "abcdef");
  expect_contains(refusal(folder.path / "t.u32"), "multiple of the 4 bytes");
  for (const char *name : {"t.u16", "t.u32", "empty.txt"}) {
    write_file(folder.path / name, "");
    expect_contains(refusal(folder.path / name), "holds no tokens");
  }
}

TEST_F(DatasetTest, RefusesPaths) {
  expect_contains(refusal(""), "name a text file");
  expect_contains(refusal(data), "data: no such file or folder");
  expect_contains(refusal("/dev/null"), "is neither a plain file nor a folder");
  ASSERT_EQ(mkfifo((folder.path / "pipe").c_str(), 0600), 0);
  expect_contains(refusal(folder.path / "pipe"), "is neither a plain file");
  fs::create_symlink("loop", folder.path / "loop");
  expect_contains(refusal(folder.path / "loop"), "loop: ");
  fs::create_directory(data);
  write_file(data / ".hidden", "x");
  write_file(data / "binary", std::string(4, '\0'));
  expect_contains(refusal(data),
                  "holds no text file (skipped, because hidden, binary or "
                  "empty: 2)");
  write_file(data / "train.u16", "abcd");
  expect_contains(refusal(data), "train.u16: is a token file in a folder");
}

TEST_F(DatasetTest, FollowsLinksToFilesOnly) {
  make_folder();
  fs::create_symlink(data, data / "b" / "up");
  fs::create_symlink(data / "a.txt", data / "z");
  fs::create_symlink(data / "gone", data / "y");
  ASSERT_EQ(mkfifo((data / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(all(Dataset::open(data, {.vocabulary = 256})),
            as_bytes("abghcdefab"));
}

TEST_F(DatasetTest, RefusesTokensBeyondTheVocabulary) {
  write_file(data, "some text with ab");
  expect_contains(refusal(data, 255), "without a tokenizer.json each byte");
  Tokenizer some = tokenizer();
  expect_contains(refusal(data, 256, &some),
                  "data: the token 256 is beyond the model's vocabulary of "
                  "256; the tokenizer.json belongs to another model");
  fs::remove(data);
  make_folder();
  for (int32_t end : {258, -1})
    expect_contains(error_of([&] {
                      Dataset::open(data, {.tokenizer = &some,
                                           .vocabulary = 258,
                                           .end_of_text = end});
                    }),
                    "between two files, the token");
}

TEST_F(DatasetTest, NoticesAChangedFile) {
  write_file(folder.path / "t.u16", as_file(std::vector<uint16_t>{1, 2, 3}));
  Dataset dataset = Dataset::open(folder.path / "t.u16", {.vocabulary = 10});
  {
    std::fstream stream(folder.path / "t.u16",
                        std::ios::in | std::ios::out | std::ios::binary);
    stream.write("\x63\0", 2);
  }
  expect_contains(error_of([&] { all(dataset); }),
                  "was changed while it was in use: the token 99");
}

TEST_F(DatasetTest, Splits) {
  write_file(data, std::string(1000, 'x'));
  Dataset dataset = Dataset::open(data, {.vocabulary = 256});
  auto expect_split = [&](uint64_t length, double fraction, uint64_t training,
                          uint64_t validation) {
    SequenceSplit split = dataset.split(length, fraction);
    EXPECT_EQ(split.training, training) << length << ", " << fraction;
    EXPECT_EQ(split.validation, validation) << length << ", " << fraction;
  };
  expect_split(9, 0.1, 90, 10);
  expect_split(9, 0, 100, 0);
  expect_split(9, 0.999, 1, 99);
  expect_split(9, 0.0001, 99, 1);
  expect_split(10, 0.1, 81, 9);
  expect_split(499, 0.1, 1, 1);
  expect_split(500, 0.1, 1, 0);
  expect_split(999, 0.9, 1, 0);
  EXPECT_EQ(dataset.split(9).validation, 10u);

  auto refused = [&](uint64_t length, double fraction) {
    return error_of([&] { dataset.split(length, fraction); });
  };
  expect_contains(refused(1000, 0.1),
                  "data: its 1000 tokens are fewer than the one sequence of "
                  "--seq and a target for its last token, "
                  "1000 + 1");
  expect_contains(refused(~uint64_t(0), 0.1), "fewer than");
  expect_contains(refused(0, 0.1), "--seq");
  for (double fraction : {-0.1, 1.0, 2.0, std::nan("")})
    expect_contains(refused(9, fraction), "--validation-fraction");
  int32_t token;
  expect_contains(error_of([&] { dataset.read(1000, 1, &token); }),
                  "has no tokens");
  expect_contains(error_of([&] { dataset.read(1, ~uint64_t(0), &token); }),
                  "has no tokens");
}

} // namespace
} // namespace baton::test
