//===- TokenizerFileTest.cpp - which tokenizer.json files are refused ----===//

#include "runtime/error.h"
#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/stream_decoder.h"
#include "runtime/tokenizer/tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>

using namespace baton;
using nlohmann::json;

namespace {

/// Every byte, and two merges: "ab" and "abc".
json smallest() {
  json vocabulary;
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[spell_byte(static_cast<uint8_t>(byte))] = byte;
  vocabulary["ab"] = 256;
  vocabulary["abc"] = 257;
  return {
      {"normalizer", nullptr},
      {"pre_tokenizer",
       {{"type", "ByteLevel"},
        {"add_prefix_space", false},
        {"use_regex", true}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"post_processor", nullptr},
      {"added_tokens", json::array()},
      {"model",
       {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", {"a b", "ab c"}}}}};
}

json added(const std::string &content, int id) {
  return {{"id", id},        {"content", content}, {"single_word", false},
          {"lstrip", false}, {"rstrip", false},    {"normalized", false},
          {"special", true}};
}

using Change = std::function<void(json &)>;

std::string refusal(const Change &change) {
  json document = smallest();
  change(document);
  try {
    Tokenizer::parse(document.dump(), "some.json");
  } catch (const Error &error) {
    return error.what();
  }
  return "accepted";
}

std::vector<int32_t> encode(const Change &change, std::string_view text) {
  json document = smallest();
  change(document);
  return Tokenizer::parse(document.dump(), "some.json").encode(text);
}

/// The message is one line that names the file, the place and the complaint.
void expect_refusal(const Change &change, const std::string &place,
                    const std::string &complaint) {
  const std::string message = refusal(change);
  EXPECT_TRUE(message.starts_with("some.json: " + place)) << message;
  EXPECT_NE(message.find(complaint), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

} // namespace

TEST(TokenizerFile, SmallestIsAccepted) {
  EXPECT_EQ(encode([](json &) {}, "abcab"), (std::vector<int32_t>{257, 256}));
}

TEST(TokenizerFile, MergesMayBePairs) {
  const auto pairs = [](json &file) {
    file["model"]["merges"] =
        json::array({json::array({"a", "b"}), json::array({"ab", "c"})});
  };
  EXPECT_EQ(encode(pairs, "abc"), std::vector<int32_t>{257});
}

TEST(TokenizerFile, EarlierMergesComeFirst) {
  const auto reversed = [](json &file) {
    file["model"]["vocab"]["bc"] = 258;
    file["model"]["merges"] = {"b c", "a b", "ab c"};
  };
  EXPECT_EQ(encode(reversed, "abc"), (std::vector<int32_t>{'a', 258}));
}

TEST(TokenizerFile, OlderFilesNeedNoModelType) {
  EXPECT_EQ(refusal([](json &file) { file["model"].erase("type"); }),
            "accepted");
}

TEST(TokenizerFile, TemplatesOfASequenceNest) {
  const auto nested = [](json &file) {
    const auto wrap = [](const std::string &token, int id) -> json {
      return {{"type", "TemplateProcessing"},
              {"single",
               {{{"SpecialToken", {{"id", token}, {"type_id", 0}}}},
                {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
                {{"SpecialToken", {{"id", token}, {"type_id", 0}}}}}},
              {"special_tokens",
               {{token, {{"id", token}, {"ids", {id}}, {"tokens", {token}}}}}}};
    };
    file["added_tokens"] = {added("<x>", 258), added("<y>", 259)};
    file["post_processor"] = {
        {"type", "Sequence"},
        {"processors",
         {wrap("<x>", 258), {{"type", "ByteLevel"}}, wrap("<y>", 259)}}};
  };
  EXPECT_EQ(encode(nested, "a"),
            (std::vector<int32_t>{259, 258, 'a', 258, 259}));
}

TEST(TokenizerFile, UnreadableFilesAreNamed) {
  for (const char *path : {"/does/not/exist.json", "/"})
    try {
      Tokenizer::load(path);
      FAIL() << path;
    } catch (const Error &error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(path)) << error.what();
    }
}

TEST(TokenizerFile, MalformedJsonIsRefused) {
  const std::string whole = smallest().dump();
  for (const std::string &text :
       {std::string(), whole.substr(0, whole.size() / 2), whole + "}",
        std::string("[]"), std::string("null"), std::string("{}"),
        std::string("\xFF\xFE"), std::string(100'000, '[')})
    EXPECT_THROW(Tokenizer::parse(text, "some.json"), Error) << text.size();
}

TEST(TokenizerFile, EveryRequiredKeyIsMissed) {
  expect_refusal([](json &file) { file.erase("model"); }, "the document",
                 "has no 'model'");
  for (const char *key : {"vocab", "merges"})
    expect_refusal([&](json &file) { file["model"].erase(key); }, "model",
                   "has no '" + std::string(key) + "'");
}

TEST(TokenizerFile, WrongTypesAreRefused) {
  expect_refusal([](json &file) { file["model"] = 1; }, "model",
                 "not an object");
  expect_refusal([](json &file) { file["model"]["vocab"] = json::array(); },
                 "model.vocab", "not an object");
  expect_refusal([](json &file) { file["model"]["merges"] = "a b"; },
                 "model.merges", "not an array");
  expect_refusal([](json &file) { file["added_tokens"] = {1}; },
                 "added_tokens.0", "not an object");
  expect_refusal([](json &file) { file["decoder"]["type"] = 1; },
                 "decoder.type", "not a string");
}

TEST(TokenizerFile, IdsAreChecked) {
  for (const json &id : {json(-1), json(1.5), json("7"), json(2147483648u)})
    expect_refusal([&](json &file) { file["model"]["vocab"]["ab"] = id; },
                   "model.vocab.ab", "not a token id");
  expect_refusal([](json &file) { file["model"]["vocab"]["ab"] = 7; },
                 "model.vocab", "gives the id 7 to two tokens");
}

TEST(TokenizerFile, MergesAreChecked) {
  const auto merges = [](const json &merges) {
    return [=](json &file) { file["model"]["merges"] = merges; };
  };
  expect_refusal(merges({"a b", "x yz"}), "model.merges.1",
                 "'yz', which is not in the vocabulary");
  expect_refusal(merges({"a c"}), "model.merges.0",
                 "'ac', which is not in the vocabulary");
  expect_refusal(merges({"ab"}), "model.merges.0", "not two tokens");
  expect_refusal(merges({"a b c"}), "model.merges.0", "not two tokens");
  expect_refusal(merges({{"a", "b", "c"}}), "model.merges.0", "not two tokens");
  expect_refusal(merges({"a b", json::array({"ab", "c"})}), "model.merges.1",
                 "is not spelled as those before it");
  // The last place of a merge counts, and a comment has none.
  const auto repeated = [&](json &file) {
    file["model"]["vocab"]["bc"] = 258;
    merges({"#version: 0.2", "a b", "b c", "a b"})(file);
  };
  EXPECT_EQ(encode(repeated, "abc"), (std::vector<int32_t>{'a', 258}));
}

TEST(TokenizerFile, AddedTokensAreChecked) {
  const auto tokens = [](const json &tokens) {
    return [=](json &file) { file["added_tokens"] = tokens; };
  };
  expect_refusal(tokens(json::array({added("<x>", -1)})), "added_tokens.0.id",
                 "not a token id");
  for (const char *key : {"content", "single_word", "lstrip", "rstrip",
                          "normalized", "special"}) {
    json incomplete = added("<x>", 258);
    incomplete.erase(key);
    expect_refusal(tokens(json::array({incomplete})), "added_tokens.0",
                   "has no '" + std::string(key) + "'");
  }
}

/// Ids are those that the reference gives: the vocabulary's, or the next behind
/// it. Of a content that repeats, the last options count; without one there is
/// no token.
TEST(TokenizerFile, AddedTokensGetTheReferencesIds) {
  using Ids = std::vector<int32_t>;
  const auto tokens = [](const json &tokens) {
    return [=](json &file) { file["added_tokens"] = tokens; };
  };
  EXPECT_EQ(encode(tokens({added("<x>", 300), added("ab", 7), added("<y>", 7)}),
                   "a<x>ab<y>"),
            (Ids{'a', 258, 256, 259}));
  EXPECT_EQ(encode(tokens({added("", 258), added("<x>", 259)}), "<x>"),
            Ids{258});
  json strips = added("<x>", 259);
  strips["lstrip"] = true;
  EXPECT_EQ(encode(tokens({added("<x>", 258), strips}), "a <x>"),
            (Ids{'a', 258}));
  // A vocabulary of two tokens whose ids leave one out: <x> is its size, which
  // is another one's id, too.
  json document = smallest();
  document["model"]["vocab"] = {{"a", 0}, {"b", 2}};
  document["model"]["merges"] = json::array();
  document["added_tokens"] = json::array({added("<x>", 5)});
  const Tokenizer tokenizer = Tokenizer::parse(document.dump(), "some.json");
  const Ids ids = {2, 0, 2};
  EXPECT_EQ(tokenizer.encode("<x>ab"), ids);
  EXPECT_EQ(tokenizer.decode(ids), "<x>a<x>");
  EXPECT_EQ(tokenizer.decode(ids, /*skip_special_tokens=*/true), "a");
  EXPECT_EQ(tokenizer.token_id("b"), 2);
  EXPECT_EQ(tokenizer.token_id("<x>"), 2);
}

/// A match may lie in white space that the match before it took.
TEST(TokenizerFile, AddedTokensShareWhiteSpace) {
  using Ids = std::vector<int32_t>;
  const auto tokens = [](const char *option) {
    return [=](json &file) {
      json right = added("<x>", 258), spaces = added("  ", 259);
      right["rstrip"] = true;
      if (*option)
        spaces[option] = true;
      file["added_tokens"] = {right, spaces};
    };
  };
  EXPECT_EQ(encode(tokens(""), "<x>   b"), (Ids{258, 259, ' ', 'b'}));
  EXPECT_EQ(encode(tokens("rstrip"), "<x>   b"), (Ids{258, 259, 'b'}));
  EXPECT_EQ(encode(tokens("lstrip"), "<x>  b"), (Ids{258, 'b'}));
}

TEST(TokenizerFile, OtherModelsAreRefused) {
  for (const char *type : {"Unigram", "WordPiece", "WordLevel"})
    expect_refusal([&](json &file) { file["model"]["type"] = type; },
                   "model.type", type);
  const auto set = [](const char *key, const json &value) {
    return [=](json &file) { file["model"][key] = value; };
  };
  expect_refusal(set("dropout", 0.1), "model.dropout", "not supported");
  expect_refusal(set("continuing_subword_prefix", "##"),
                 "model.continuing_subword_prefix", "not supported");
  expect_refusal(set("end_of_word_suffix", "</w>"), "model.end_of_word_suffix",
                 "not supported");
}

TEST(TokenizerFile, OtherNormalizersAreRefused) {
  expect_refusal(
      [](json &file) {
        file["normalizer"] = {
            {"type", "Sequence"},
            {"normalizers", {{{"type", "NFC"}}, {{"type", "Lowercase"}}}}};
      },
      "normalizer.normalizers.1", "type 'Lowercase' is not supported");
  expect_refusal(
      [](json &file) {
        file["normalizer"] = {{"type", "Replace"},
                              {"pattern", {{"Regex", "("}}},
                              {"content", ""}};
      },
      "normalizer.pattern", "'('");
}

/// Over characters: bytes to fall back on are tokens of their own.
static void make_characters(json &file) {
  json &model = file["model"];
  model["vocab"] = {{"<unk>", 0}, {"a", 1}, {"b", 2}, {"ab", 3}, {"▁", 4}};
  model["merges"] = {"a b"};
  model["unk_token"] = "<unk>";
  file["pre_tokenizer"] = nullptr;
  file["decoder"] = {{"type", "Fuse"}};
}

static void make_fallback(json &file) {
  make_characters(file);
  json &vocabulary = file["model"]["vocab"];
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", byte);
    vocabulary[name] = 5 + byte;
  }
  file["model"]["byte_fallback"] = true;
}

TEST(TokenizerFile, CharactersWithoutTokensFallBack) {
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(encode(make_characters, "abéeab"), (Ids{3, 0, 0, 3}));
  EXPECT_EQ(encode(
                [](json &file) {
                  make_characters(file);
                  file["model"]["fuse_unk"] = true;
                },
                "abéeab"),
            (Ids{3, 0, 3}));
  EXPECT_EQ(encode(make_fallback, "abéab"), (Ids{3, 5 + 0xC3, 5 + 0xA9, 3}));
  // Without a token for each of its bytes a character does not fall back, and
  // without an unknown token it is dropped.
  const auto incomplete = [](json &file) {
    make_fallback(file);
    file["model"]["vocab"].erase("<0xA9>");
  };
  EXPECT_EQ(encode(incomplete, "abéßab"), (Ids{3, 5 + 0xC3, 5 + 0x9F, 0, 3}));
  EXPECT_EQ(encode(
                [&](json &file) {
                  incomplete(file);
                  file["model"].erase("unk_token");
                },
                "abéab"),
            (Ids{3, 3}));
}

TEST(TokenizerFile, UnknownTokensThatAreNoneStopTextsThatNeedThem) {
  json document = smallest();
  make_characters(document);
  document["model"]["unk_token"] = "<none>";
  const Tokenizer tokenizer = Tokenizer::parse(document.dump(), "some.json");
  EXPECT_EQ(tokenizer.encode("ab"), std::vector<int32_t>{3});
  try {
    tokenizer.encode("é");
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "some.json: model.unk_token names '<none>', which is not in "
                 "the vocabulary, and a character of the text has no token");
  }
}

/// Bytes are characters that spell them: one without a token is dropped, is
/// unknown, or falls back on the bytes of its spelling.
TEST(TokenizerFile, BytesWithoutTokens) {
  using Ids = std::vector<int32_t>;
  const auto without = [](const json &changes) {
    return [=](json &file) {
      json &model = file["model"];
      for (const char *text : {"x", "y", "Ġ"})
        model["vocab"].erase(text);
      for (const auto &[key, value] : changes.items())
        model[key] = value;
      if (model.value("byte_fallback", false))
        for (const auto &[text, id] :
             {std::pair("<0xC4>", 301), std::pair("<0xA0>", 302)})
          model["vocab"][text] = id;
      model["vocab"]["<unk>"] = 300;
    };
  };
  EXPECT_EQ(encode(without({}), "axyb c"), (Ids{256, 'c'}));
  EXPECT_EQ(encode(without({}), "xx"), Ids{});
  EXPECT_EQ(encode(without({{"unk_token", "<unk>"}}), "axyb"),
            (Ids{'a', 300, 300, 'b'}));
  EXPECT_EQ(
      encode(without({{"unk_token", "<unk>"}, {"fuse_unk", true}}), "axyb"),
      (Ids{'a', 300, 'b'}));
  EXPECT_EQ(encode(without({{"byte_fallback", true}}), "ax b"),
            (Ids{'a', 301, 302, 'b'}));
  // Bytes come before an unknown token that could still grow.
  EXPECT_EQ(encode(
                [&](json &file) {
                  without({{"unk_token", "<unk>"},
                           {"fuse_unk", true},
                           {"byte_fallback", true}})(file);
                  file["pre_tokenizer"]["use_regex"] = false;
                },
                "x xa"),
            (Ids{301, 302, 300, 'a'}));
}

TEST(TokenizerFile, WithoutADecoderSpellingsAreJoined) {
  json document = smallest();
  document["decoder"] = nullptr;
  const Tokenizer tokenizer = Tokenizer::parse(document.dump(), "some.json");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("abc d")), "abc Ġ d");
}

/// Added tokens are spelled in the alphabet of bytes, too, if all of it is in
/// it.
TEST(TokenizerFile, AddedTokensAreDecodedAsBytes) {
  json document = smallest();
  document["added_tokens"] = {added("Ã©", 258), added("日é", 259)};
  const Tokenizer tokenizer = Tokenizer::parse(document.dump(), "some.json");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("Ã©日é")), "é日é");
}

/// Bytes that are no text are read back as Python's errors="replace" reads
/// them, whole or token by token.
TEST(TokenizerFile, BytesThatAreNoTextAreReplaced) {
  json document = smallest();
  make_fallback(document);
  document["decoder"] = {{"type", "ByteFallback"}};
  Tokenizer tokenizer = Tokenizer::parse(document.dump(), "some.json");
  // "a", the beginning of a character of four bytes, "b", a lone continuation.
  const std::vector<int32_t> ids = {1, 5 + 0xF0, 5 + 0x9F, 2, 5 + 0xA9};
  EXPECT_EQ(tokenizer.decode(ids), "a\uFFFDb\uFFFD");
  StreamDecoder decoder(tokenizer);
  std::string text;
  for (int32_t id : ids)
    text += decoder.push(id);
  EXPECT_EQ(text + decoder.finish(), "a\uFFFDb\uFFFD");
}

TEST(TokenizerFile, OtherPreTokenizersAreRefused) {
  const auto chain = [](const json &elements) {
    return [=](json &file) {
      file["pre_tokenizer"] = {{"type", "Sequence"},
                               {"pretokenizers", elements}};
    };
  };
  const auto split = [](const json &pattern, const char *behavior) -> json {
    return {{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}};
  };
  const json bytes = {{"type", "ByteLevel"}};
  EXPECT_EQ(refusal(chain(json::array({bytes}))), "accepted");
  expect_refusal(chain({{{"type", "UnicodeScripts"}}, bytes}),
                 "pre_tokenizer.pretokenizers.0", "'UnicodeScripts'");
  expect_refusal(chain({split({{"Regex", "a"}}, "Joined"), bytes}),
                 "pre_tokenizer.pretokenizers.0.behavior", "'Joined'");
  expect_refusal(chain({split({{"Regex", "("}}, "Isolated"), bytes}),
                 "pre_tokenizer.pretokenizers.0.pattern", "'('");
  expect_refusal(chain({split({{"Glob", "*"}}, "Isolated"), bytes}),
                 "pre_tokenizer.pretokenizers.0.pattern", "neither");
  expect_refusal(chain({bytes,
                        {{"type", "Metaspace"},
                         {"replacement", "_"},
                         {"prepend_scheme", "first"}}}),
                 "pre_tokenizer.pretokenizers.1", "behind ByteLevel");
}

TEST(TokenizerFile, OtherDecodersAndProcessorsAreRefused) {
  expect_refusal([](json &file) { file["decoder"]["type"] = "WordPiece"; },
                 "decoder", "'WordPiece'");
  expect_refusal(
      [](json &file) {
        file["decoder"] = {
            {"type", "Strip"}, {"content", " "}, {"start", 0}, {"stop", 1}};
      },
      "decoder", "Strip at the end of a text");
  const json strip = {
      {"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  const json bytes = {{"type", "ByteLevel"}}, fuse = {{"type", "Fuse"}};
  const json fallback = {{"type", "ByteFallback"}};
  for (const json &decoders :
       {json::array({strip}), json::array({fuse, fallback}),
        json::array({bytes, fuse}), json::array({fuse, strip, fuse})})
    expect_refusal(
        [&](json &file) {
          file["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
        },
        "decoder.decoders", "not supported");
  expect_refusal(
      [](json &file) { file["post_processor"] = {{"type", "Unknown"}}; },
      "post_processor", "'Unknown'");
  EXPECT_EQ(encode(
                [](json &file) {
                  file["post_processor"] = {{"type", "BertProcessing"},
                                            {"cls", json::array({"a", 1})},
                                            {"sep", json::array({"b", 2})}};
                },
                "a"),
            (std::vector<int32_t>{1, 'a', 2}));
}

TEST(TokenizerFile, TemplatesAreChecked) {
  const auto single = [](const json &pieces) {
    return [=](json &file) {
      file["post_processor"] = {
          {"type", "TemplateProcessing"},
          {"single", pieces},
          {"special_tokens",
           {{"<x>", {{"id", "<x>"}, {"ids", {258}}, {"tokens", {"<x>"}}}}}}};
    };
  };
  const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const json other = {{"Sequence", {{"id", "B"}, {"type_id", 0}}}};
  const auto special = [](const char *name) -> json {
    return {{"SpecialToken", {{"id", name}, {"type_id", 0}}}};
  };
  expect_refusal(single({special("<y>"), text}),
                 "post_processor.special_tokens", "has no '<y>'");
  // Their ids need not be those of tokens, nor be around the text.
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(encode(single({text, special("<x>"), text}), "a"),
            (Ids{'a', 258, 'a'}));
  EXPECT_EQ(encode(single(json::array()), "a"), Ids{});
  expect_refusal(single(json::array({other})), "post_processor.single.0",
                 "not supported");
}
