//===- run_options.cpp - flags that several commands share ---------------===//

#include "runtime/main/run_options.h"

#include "runtime/error.h"
#include "runtime/execute/team.h"
#include "runtime/weights/message.h"

#include <charconv>
#include <string_view>

namespace baton {

unsigned chosen_workers(const RunOptions &options) {
  if (options.workers == 0)
    return available_workers();
  if (options.workers > max_workers)
    throw Error("--workers: " + std::to_string(options.workers) +
                " is not between 1 and " + std::to_string(max_workers));
  return static_cast<unsigned>(options.workers);
}

unsigned program_workers(const RunOptions &options, const Metadata &metadata) {
  bool on_device = !metadata.device.is_null();
  return on_device && options.workers == 0 ? 0 : chosen_workers(options);
}

uint32_t chosen_prefill_chunk(const RunOptions &options,
                              const Metadata &metadata) {
  if (options.prefill_chunk == 0)
    return metadata.max_rows;
  if (options.prefill_chunk > metadata.max_rows)
    throw Error("--prefill-chunk: " + std::to_string(options.prefill_chunk) +
                " is not between 1 and the program's " +
                std::to_string(metadata.max_rows) + " rows a step");
  return static_cast<uint32_t>(options.prefill_chunk);
}

std::vector<int32_t> parse_token_list(const std::string &flag,
                                      const std::string &text) {
  std::vector<int32_t> tokens;
  if (text.empty())
    return tokens;
  std::string_view rest = text;
  while (true) {
    size_t comma = rest.find(',');
    std::string_view item = rest.substr(0, comma);
    std::string_view digits = item;
    while (digits.starts_with(' '))
      digits.remove_prefix(1);
    while (digits.ends_with(' '))
      digits.remove_suffix(1);
    int32_t token = 0;
    auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), token);
    if (failure != std::errc() || end != digits.data() + digits.size())
      throw Error(flag + ": " + quote_name(item) +
                  " is not a token id; expected numbers as in 1,2,3");
    tokens.push_back(token);
    if (comma == std::string_view::npos)
      return tokens;
    rest.remove_prefix(comma + 1);
  }
}

void check_tokens(const std::string &flag, const std::vector<int32_t> &tokens,
                  const Metadata &metadata) {
  if (tokens.empty())
    throw Error(flag + ": there is no token; give at least one");
  for (int32_t token : tokens)
    if (token < 0 || static_cast<uint64_t>(token) >= metadata.vocabulary)
      throw Error(flag + ": token " + std::to_string(token) +
                  " is outside the model's vocabulary of " +
                  std::to_string(metadata.vocabulary) + " tokens");
  if (tokens.size() > metadata.max_seq)
    throw Error(flag + ": " + std::to_string(tokens.size()) +
                " tokens do not fit into the program's " +
                std::to_string(metadata.max_seq) +
                " positions; compile with a larger --max-seq");
}

} // namespace baton
