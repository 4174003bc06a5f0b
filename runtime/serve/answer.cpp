//===- answer.cpp - a request to the server that generates text -----------===//

#include "runtime/serve/answer.h"

#include <algorithm>
#include <utility>

namespace baton {

nlohmann::ordered_json Usage::json() const {
  return {{"prompt_tokens", prompt},
          {"completion_tokens", generated},
          {"total_tokens", prompt + generated},
          {"prompt_tokens_details", {{"cached_tokens", cached}}}};
}

Answer::Answer(std::shared_ptr<HttpExchange> exchange,
               std::shared_ptr<const ServedModel> model,
               std::vector<BatchRequest> requests)
    : requests(std::move(requests)), exchange(std::move(exchange)),
      model(std::move(model)) {}

void Answer::ignore(const std::vector<std::string> &keys) {
  std::string list;
  for (const std::string &key : keys) {
    // A client's text in a header of ours.
    const bool is_plain = std::ranges::all_of(
        key, [](char letter) { return letter > ' ' && letter < 127; });
    if (!is_plain || list.size() > 1000)
      continue;
    list += (list.empty() ? "" : ", ") + key;
  }
  if (!list.empty())
    headers.emplace_back("X-Baton-Ignored", list);
}

} // namespace baton
