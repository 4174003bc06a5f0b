//===- chat_template_command.cpp - shows a checkpoint's chat template -----===//

#include "runtime/main/commands.h"

#include "runtime/error.h"
#include "runtime/main/text_tokens.h"
#include "runtime/tokenizer/chat_template.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// Whether every text of the checkpoint's tokenizer begins with the token.
static bool adds_token(const std::string &weights, const std::string &token) {
  const std::optional<Tokenizer> tokenizer = find_tokenizer(weights);
  if (!tokenizer || token.empty())
    return false;
  const std::vector<int32_t> tokens = tokenizer->encode("");
  return !tokens.empty() &&
         tokenizer->decode(std::span(tokens).first(1),
                           /*skip_special_tokens=*/false) == token;
}

void chat_template_command(const ChatTemplateOptions &options) {
  const auto found = find_chat_template(options.weights);
  if (!found)
    throw Error("--weights: " + options.weights +
                " has no chat template; it is no model for conversations, or "
                "its template is elsewhere");
  const nlohmann::json result = {
      {"template", found->text},
      {"bos_token", found->begin_token},
      {"eos_token", found->end_token},
      {"adds_bos_token", adds_token(options.weights, found->begin_token)}};
  std::printf(
      "%s\n",
      result.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
          .c_str());
}

} // namespace baton
