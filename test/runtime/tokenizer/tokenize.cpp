//===- tokenize.cpp - Baton's tokenizer, for tests in other languages -----===//
//
// Reads lines of JSON, {"file": the text of a tokenizer.json, or "gguf": the
// path of a GGUF file, "texts": [...], "tokens": [[...], ...]}, and answers
// each with a line: {"error": "..."}, or
// {"texts": [...], "tokens": [...]}, where a text became {"ids", "plain",
// "decoded", "skipped"} or {"error"}, and tokens what they decode to. "plain"
// is without the tokens that the post-processor adds, "skipped" without special
// ones; both begin a text.
//
//===----------------------------------------------------------------------===//

#include "runtime/error.h"
#include "runtime/tokenizer/tokenizer.h"
#include "runtime/weights/gguf.h"

#include <nlohmann/json.hpp>

#include <iostream>

using namespace baton;
using nlohmann::json;

namespace {

json encode(const Tokenizer &tokenizer, const std::string &text) {
  try {
    const std::vector<int32_t> ids = tokenizer.encode(text);
    return {{"ids", ids},
            {"plain", tokenizer.encode(text, /*add_special_tokens=*/false)},
            {"decoded", tokenizer.decode(ids)},
            {"skipped", tokenizer.decode(ids, /*skip_special_tokens=*/true)}};
  } catch (const Error &error) {
    return {{"error", error.what()}};
  }
}

json answer(const json &question) {
  try {
    const Tokenizer tokenizer =
        question.contains("gguf")
            ? Tokenizer::of_gguf(
                  *GgufFile::open(question.at("gguf").get<std::string>()))
            : Tokenizer::parse(question.at("file").get<std::string>(), "file");
    json texts = json::array(), decoded = json::array();
    for (const json &text : question.at("texts"))
      texts.push_back(encode(tokenizer, text.get<std::string>()));
    for (const json &tokens : question.at("tokens"))
      decoded.push_back(tokenizer.decode(tokens.get<std::vector<int32_t>>()));
    return {{"texts", texts}, {"tokens", decoded}};
  } catch (const Error &error) {
    return {{"error", error.what()}};
  }
}

} // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line))
    std::cout << answer(json::parse(line)) << std::endl;
}
