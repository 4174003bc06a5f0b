//===- jinja.cpp - fuzz: chat templates -----------------------------------===//

#include "runtime/jinja/template.h"

#include <cstdlib>

using namespace baton;

/// A template renders, or is refused in one line, in little time and memory.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const auto context = nlohmann::ordered_json::parse(R"({
    "n": 7, "f": 2.5, "t": true, "nil": null, "s": "Straße 日本 😀",
    "l": [3, 1, 2], "m": [1, "a", null, 2.5, [1], {"k": "v"}],
    "d": {"b": 1, "a": "x", "items": {"c": [1, {"deep": "y"}]}},
    "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true,
    "messages": [
      {"role": "system", "content": "Be good."},
      {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
      {"role": "assistant", "content": "<think>\nhm</think> Hello",
       "tool_calls": [{"id": "c1", "type": "function", "function":
         {"name": "f", "arguments": {"x": [1, "é"]}}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "1"}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters":
      {"type": "object", "properties": {"x": {"type": "array"}}}}}]})");
  jinja::RenderOptions options;
  options.now.emplace();
  options.most_steps = 100'000;
  options.most_bytes = 16 << 20;
  try {
    const auto parsed = jinja::Template::parse(
        {reinterpret_cast<const char *>(data), size}, "fuzz");
    parsed.render(context, options);
  } catch (const Error &error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos)
      std::abort();
  }
  return 0;
}
