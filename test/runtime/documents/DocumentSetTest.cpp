//===- DocumentSetTest.cpp - files of lines to documents ------------------===//

#include "runtime/documents/document_set.h"

#include "test/runtime/weights/fixture.h"

namespace baton::test {
namespace {

namespace fs = std::filesystem;

class DocumentSetTest : public testing::Test {
protected:
  TemporaryFolder folder;
  Tokenizer tokenizer = Tokenizer::of_bytes();
  ExampleEncoder encoder{
      ExampleEncoder::Options{.tokenizer = &tokenizer, .bytes = true}};

  DocumentSet read(const std::string &text, DocumentLimits limits) {
    write_file(folder.path / "d.jsonl", text);
    limits.vocabulary = 256;
    return DocumentSet::read({{{folder.path / "d.jsonl"}, 1}}, encoder, limits);
  }

  /// Its tokens, and behind them the last target.
  static std::string text_of(const DocumentSet &set, uint64_t document) {
    const uint32_t rows = set.rows(document);
    std::vector<int32_t> tokens(rows), targets(rows), positions(rows);
    std::vector<float> weights(rows);
    set.fill(document, 1, tokens.data(), targets.data(), positions.data(),
             weights.data());
    std::string text(tokens.begin(), tokens.end());
    text += static_cast<char>(targets.back());
    for (uint32_t row = 0; row < rows; ++row) {
      EXPECT_EQ(positions[row], int32_t(row));
      EXPECT_EQ(targets[row], text[row + 1]);
    }
    return text;
  }
};

TEST_F(DocumentSetTest, LinesInOrder) {
  // More than one block of lines, blank ones between them.
  std::string text;
  for (int i = 100; i < 400; ++i)
    text += "{\"text\": \"" + std::to_string(i) + "\"}\r\n" +
            (i % 7 ? "" : " \t\n\n");
  const DocumentSet set = read(text.substr(0, text.size() - 2), {.length = 8});
  ASSERT_EQ(set.size(), 300u);
  for (uint64_t i = 0; i < set.size(); ++i)
    EXPECT_EQ(text_of(set, i), std::to_string(100 + i));
  EXPECT_EQ(set.files().front().counts.tokens, 900u);
  // The first token of a text follows nothing.
  EXPECT_EQ(set.files().front().counts.targets, 600u);
}

TEST_F(DocumentSetTest, LongOnes) {
  const std::string text = "{\"text\": \"abcdefghij\"}\n{\"text\": \"xyz\"}\n";
  const DocumentSet cut = read(text, {.length = 4});
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(text_of(cut, 0), "abcde");
  EXPECT_EQ(cut.files()[0].counts.too_long, 1u);
  EXPECT_EQ(cut.files()[0].counts.cut_tokens, 5u);
  EXPECT_EQ(cut.lengths(), (std::vector<uint32_t>{3, 10}));
  const DocumentSet split =
      read(text, {.length = 4, .long_documents = LongDocuments::Split});
  ASSERT_EQ(split.size(), 4u);
  EXPECT_EQ(text_of(split, 0), "abcde");
  EXPECT_EQ(text_of(split, 1), "efghi");
  EXPECT_EQ(text_of(split, 2), "ij");
  const DocumentSet rest =
      read(text, {.length = 4, .long_documents = LongDocuments::Drop});
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest.files()[0].counts.cut_tokens, 10u);
  EXPECT_NE(rest.hash(), cut.hash());
  // Nothing of the completion is left.
  const DocumentSet none = read(
      "{\"prompt\": \"abcdef\", \"completion\": \"g\"}\n{\"text\": \"ab\"}",
      {.length = 4});
  EXPECT_EQ(none.size(), 1u);
  EXPECT_EQ(none.files()[0].counts.without_targets, 1u);
}

/// "tokens>targets" of both answers, targets with their signs.
std::string rows_of(const DocumentSet &set, uint64_t document) {
  const uint32_t rows = set.rows(document);
  std::vector<int32_t> tokens(rows), targets(rows), positions(rows);
  std::vector<float> weights(rows);
  set.fill(document, 1, tokens.data(), targets.data(), positions.data(),
           weights.data());
  std::string text;
  for (uint32_t row = 0; row < rows; ++row) {
    text += positions[row] == 0 ? row ? "|" : "" : " ";
    text += static_cast<char>(tokens[row]);
    text += weights[row] > 0 ? "+" : weights[row] < 0 ? "-" : ">";
    text += static_cast<char>(targets[row]);
  }
  return text;
}

TEST_F(DocumentSetTest, Pairs) {
  const std::string text =
      R"({"prompt": "ab", "chosen": "c", "rejected": "defghij"})"
      "\n"
      R"({"prompt": "k", "chosen": "lmnop", "rejected": "qrstu"})"
      "\n";
  const DocumentSet whole = read(text, {.pairs = true, .length = 16});
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(rows_of(whole, 0), "a>b b+c|a>b b-d d-e e-f f-g g-h h-i i-j");
  EXPECT_EQ(rows_of(whole, 1), "k+l l+m m+n n+o o+p|k-q q-r r-s s-t t-u");
  EXPECT_EQ(whole.targets(0), 8u);
  EXPECT_EQ(whole.files()[0].counts.tokens, 3u + 9 + 6 + 6);
  EXPECT_EQ(whole.lengths(), (std::vector<uint32_t>{12, 12}));
  // The longer answer is cut first, then both.
  const DocumentSet cut = read(text, {.pairs = true, .length = 7});
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(rows_of(cut, 0), "a>b b+c|a>b b-d d-e e-f f-g");
  EXPECT_EQ(rows_of(cut, 1), "k+l l+m m+n n+o|k-q q-r r-s");
  EXPECT_EQ(cut.files()[0].counts.too_long, 2u);
  EXPECT_EQ(cut.files()[0].counts.cut_tokens, 3u + 3);
  EXPECT_NE(cut.hash(), whole.hash());
  // Nothing of an answer is left.
  const DocumentSet none = read(text, {.pairs = true, .length = 3});
  EXPECT_EQ(none.size(), 1u);
  EXPECT_EQ(none.files()[0].counts.without_targets, 1u);
  const DocumentSet rest =
      read(text + R"({"prompt": "a", "chosen": "b", "rejected": "c"})",
           {.pairs = true, .length = 4, .long_documents = LongDocuments::Drop});
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rows_of(rest, 0), "a+b|a-c");
  EXPECT_EQ(rest.files()[0].counts.cut_tokens, 24u);
  // The same tokens, cut elsewhere into answers.
  const DocumentSet other =
      read(R"({"prompt": "", "chosen": "abc", "rejected": "abcd"})",
           {.pairs = true, .length = 16});
  EXPECT_NE(other.hash(),
            read(R"({"prompt": "", "chosen": "abca", "rejected": "bcd"})",
                 {.pairs = true, .length = 16})
                .hash());
  expect_contains(error_of([&] {
                    read(R"({"prompt": "", "chosen": "", "rejected": "a"})",
                         {.pairs = true, .length = 16});
                  }),
                  ":1: chosen: has no token");
  expect_contains(error_of([&] {
                    read(R"({"text": "a"})", {.pairs = true, .length = 16});
                  }),
                  "expected \"chosen\" and \"rejected\"");
}

TEST_F(DocumentSetTest, BadLines) {
  const std::string text = "{\"text\": \"ab\"}\n\nnonsense\n{\"text\": 1}\n";
  const std::string error = error_of([&] { read(text, {.length = 4}); });
  expect_contains(error, "--data: " + (folder.path / "d.jsonl").string() +
                             ":3: is no JSON");
  expect_contains(error, "--skip-bad-lines");
  const DocumentSet set = read(text, {.length = 4, .skip_bad_lines = true});
  EXPECT_EQ(set.size(), 1u);
  EXPECT_EQ(set.files()[0].counts.bad_lines, 2u);
  expect_contains(set.files()[0].counts.first_bad_line, ":3: is no JSON");
  expect_contains(error_of([&] {
                    read("nonsense", {.length = 4, .skip_bad_lines = true});
                  }),
                  "no document is left");
  expect_contains(error_of([&] { read("", {.length = 4}); }),
                  "no document is left");
}

TEST_F(DocumentSetTest, WhichFiles) {
  uint64_t mixed = 0;
  const fs::path all = folder.path / "all";
  fs::create_directories(all / "sub");
  write_file(all / "b.jsonl", "{}");
  write_file(all / "sub" / "a.jsonl", "{}");
  write_file(all / ".hidden", "x");
  EXPECT_EQ(find_document_files(all, mixed),
            (std::vector<fs::path>{all / "b.jsonl", all / "sub" / "a.jsonl"}));
  EXPECT_EQ(find_document_files(all / "b.jsonl", mixed).size(), 1u);
  write_file(all / "readme", "x");
  EXPECT_TRUE(find_document_files(all, mixed).empty());
  EXPECT_EQ(mixed, 2u);
  EXPECT_TRUE(find_document_files(all / "readme", mixed).empty());
  EXPECT_EQ(mixed, 0u);
  write_file(all / "sub" / "x.parquet", "PAR1");
  expect_contains(error_of([&] { find_document_files(all, mixed); }),
                  "tools/parquet-to-jsonl x.parquet");
}

} // namespace
} // namespace baton::test
