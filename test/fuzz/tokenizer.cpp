//===- tokenizer.cpp - fuzz: tokenizer.json -------------------------------===//

#include "runtime/tokenizer/tokenizer.h"
#include "runtime/error.h"
#include "runtime/tokenizer/stream_decoder.h"

#include <cstdlib>

using namespace baton;

/// An accepted tokenizer encodes text, and reads back tokens in one piece as
/// one by one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    Tokenizer tokenizer =
        Tokenizer::parse({reinterpret_cast<const char *>(data), size}, "fuzz");
    for (const char *text :
         {"", " a b  ab ", "<s>é日本\xF0\x9F\x98\x80 1,2\n", "\xFF\xC3 a"}) {
      std::vector<int32_t> tokens = tokenizer.encode(text);
      tokenizer.decode(tokens);
      StreamDecoder decoder(tokenizer);
      std::string streamed;
      for (int32_t token : tokens)
        streamed += decoder.push(token);
      streamed += decoder.finish();
      if (streamed != tokenizer.decode(tokens, false, /*at_start=*/false))
        std::abort();
    }
  } catch (const Error &) {
  }
  return 0;
}
