//===- ApiJsonTest.cpp - JSON between clients and the server --------------===//

#include "runtime/serve/api_json.h"

#include "runtime/serve/api_error.h"

#include <gtest/gtest.h>

#include <string>

namespace baton {
namespace {

std::string fault_of(const std::string &text) {
  try {
    parse_body(text);
  } catch (const ApiError &error) {
    EXPECT_EQ(error.status, 400u);
    return error.what();
  }
  return "";
}

TEST(ApiJson, KeysKeepTheirOrder) {
  EXPECT_EQ(json_text(parse_body(R"({"b": 1, "a": [2]})")),
            R"({"b":1,"a":[2]})");
}

TEST(ApiJson, WhatIsNoObjectIsRefused) {
  EXPECT_NE(fault_of("").find("no JSON"), std::string::npos);
  EXPECT_NE(fault_of("{\"a\":").find("no JSON"), std::string::npos);
  EXPECT_NE(fault_of("{\"a\": \"\xff\"}").find("no JSON"), std::string::npos);
  EXPECT_EQ(fault_of("[1]"), "the body is no JSON object");
  EXPECT_EQ(fault_of("null"), "the body is no JSON object");
}

/// Functions that call themselves would need a stack as deep.
TEST(ApiJson, DepthIsLimited) {
  const std::string open(1'000'000, '['), close(1'000'000, ']');
  EXPECT_NE(fault_of("{\"a\":" + open + close + "}").find("levels deep"),
            std::string::npos);
  EXPECT_EQ(
      fault_of("{\"a\":" + open.substr(0, 100) + close.substr(0, 100) + "}"),
      "");
}

TEST(ApiJson, AnErrorNamesItsKey) {
  EXPECT_EQ(error_json(invalid_request(
                "messages[0].role: expected a text"))["error"]["param"],
            "messages[0].role");
  for (const char *message : {"no key here", "the body is no JSON: at 1: x"})
    EXPECT_TRUE(
        error_json(invalid_request(message))["error"]["param"].is_null());
  EXPECT_EQ(error_json(overloaded("later"))["error"]["code"], 503);
}

TEST(ApiJson, BytesThatAreNoTextBecomeText) {
  EXPECT_EQ(json_text({{"a", "\xff"}}), "{\"a\":\"\xef\xbf\xbd\"}");
}

TEST(ApiJson, IdsDiffer) {
  const std::string id = random_id("x-");
  EXPECT_EQ(id.size(), 26u);
  EXPECT_NE(id, random_id("x-"));
}

} // namespace
} // namespace baton
