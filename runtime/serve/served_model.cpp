//===- served_model.cpp - what requests of a served model need ------------===//

#include "runtime/serve/served_model.h"

#include "runtime/error.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/weights/message.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>
#include <utility>

namespace baton {

/// Which tokens of the vocabulary a format of calls means.
static void find_markers(ServedModel &model) {
  if (!model.format.tokenizer)
    return;
  const Tokenizer &tokenizer = *model.format.tokenizer;
  const ToolFormat &format = model.conversation->tool_format();
  for (uint64_t token = 0; token < model.format.shape.vocabulary; ++token) {
    const auto id = static_cast<int32_t>(token);
    if (tokenizer.is_special(id) &&
        is_marker_token(format, tokenizer.token_bytes(id)))
      model.marker_tokens.push_back(id);
  }
  for (const std::string &text : format.stop_tokens)
    if (auto token = tokenizer.token_id(text))
      model.call_stop_tokens.push_back(*token);
}

static std::string read_template(const char *flag, const std::string &file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream)
    throw Error(std::string(flag) + ": " + file + " cannot be read");
  return text.str();
}

void read_conversation_of(const std::filesystem::path &checkpoint,
                          const std::optional<std::string> &template_file,
                          ServedModel &model) {
  std::optional<ChatTemplate> found = find_chat_template(checkpoint);
  if (template_file) {
    if (!found)
      found.emplace();
    found->text = read_template("--chat-template", *template_file);
  }
  if (!found) {
    model.no_conversation = checkpoint.string() +
                            " has no chat template; give the server one with "
                            "--chat-template, or use /v1/completions";
    return;
  }
  const std::string name = template_file
                               ? *template_file
                               : "chat template of " + checkpoint.string();
  try {
    model.conversation = std::make_shared<const Conversation>(*found, name);
  } catch (const Error &failure) {
    if (template_file)
      throw;
    model.no_conversation = failure.what();
    return;
  }
  find_markers(model);
}

RelevanceJudge read_judge(const std::string &template_file,
                          const std::string &tokens,
                          const BatchFormat &format) {
  RelevanceJudge judge = {
      jinja::Template::parse(read_template("--score-template", template_file),
                             template_file),
      0, 0};
  if (!format.tokenizer)
    throw Error("--score-template: " + format.no_tokenizer);
  const size_t comma = tokens.find(',');
  auto token_of = [&](const std::string &text) {
    const std::vector<int32_t> ids = format.tokenizer->encode(text, false);
    if (comma == std::string::npos || ids.size() != 1)
      throw Error("--score-tokens: " + quote_name(text) + " is " +
                  std::to_string(ids.size()) +
                  " tokens; expected YES,NO, a token each");
    return ids.front();
  };
  judge.yes = token_of(tokens.substr(0, comma));
  judge.no = token_of(tokens.substr(comma + 1));
  return judge;
}

SamplingOptions
read_recommended_sampling(const std::filesystem::path &checkpoint) {
  SamplingOptions sampling;
  sampling.temperature = 1;
  std::ifstream stream(checkpoint / "generation_config.json");
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  if (!json.is_object() || json.value("do_sample", nlohmann::json()) == false)
    return sampling;
  auto read = [&]<typename Number>(const char *key, Number &number) {
    if (auto found = json.find(key);
        found != json.end() && found->is_number() && *found >= 0)
      number = found->get<Number>();
  };
  read("temperature", sampling.temperature);
  read("top_k", sampling.top_k);
  read("top_p", sampling.top_p);
  read("min_p", sampling.min_p);
  read("repetition_penalty", sampling.repetition_penalty);
  return sampling;
}

} // namespace baton
