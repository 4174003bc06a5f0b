//===- StopTokensTest.cpp - the tokens that a checkpoint ends with -------===//

#include "runtime/decode/stop_tokens.h"

#include "../execute/array_file.h"
#include "runtime/error.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

class StopTokensTest : public ::testing::Test {
protected:
  void write(const std::string &name, const std::string &text) {
    test::write_file(folder / name, text);
  }
  std::vector<int32_t> read() { return read_stop_tokens(folder.path()); }
  test::TemporaryFolder folder;
};

TEST_F(StopTokensTest, GenerationConfigComesFirst) {
  EXPECT_EQ(read(), std::vector<int32_t>{});
  write("config.json", R"({"eos_token_id": 2})");
  EXPECT_EQ(read(), std::vector<int32_t>{2});
  write("generation_config.json", R"({"eos_token_id": [7, 8]})");
  EXPECT_EQ(read(), (std::vector<int32_t>{7, 8}));
  write("generation_config.json", R"({"eos_token_id": null})");
  EXPECT_EQ(read(), std::vector<int32_t>{2});
  write("generation_config.json", R"({"temperature": 1})");
  EXPECT_EQ(read(), std::vector<int32_t>{2});
  write("config.json", "{}");
  EXPECT_EQ(read(), std::vector<int32_t>{});
}

TEST_F(StopTokensTest, RefusesDamage) {
  for (const char *text :
       {"", "{", "[]", R"({"eos_token_id": "2"})", R"({"eos_token_id": -1})",
        R"({"eos_token_id": [1.5]})", R"({"eos_token_id": 4294967296})"}) {
    write("config.json", text);
    try {
      read();
      ADD_FAILURE() << "no error for " << text;
    } catch (const Error &failure) {
      EXPECT_NE(std::string(failure.what()).find("config.json"),
                std::string::npos);
    }
  }
}

} // namespace
} // namespace baton
