//===- model_folder.cpp - programs and their weights, by name -------------===//

#include "runtime/serve/model_folder.h"

#include "runtime/error.h"
#include "runtime/serve/model_process.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace baton {

namespace {

namespace files = std::filesystem;

/// Seconds that a program may take to say what it is.
constexpr double info_seconds = 10;

/// What whoever starts the programs says itself.
constexpr std::array<std::string_view, 10> reserved_flags = {
    "--weights",      "--host",        "--port",    "--name",   "--api-key",
    "--api-key-file", "--cors-origin", "--no-page", "--models", "--ranks"};

bool is_model_name(std::string_view name) {
  return !name.empty() && name.front() != '.' &&
         std::ranges::all_of(name, [](unsigned char letter) {
           return std::isalnum(letter) || letter == '.' || letter == '_' ||
                  letter == '-';
         });
}

files::path find_weights(const files::path &folder) {
  for (const char *name : {"weights", "weights.gguf"}) {
    std::error_code failure;
    // Links have any name, and a GGUF file is known by its.
    const files::path path = files::canonical(folder / name, failure);
    if (failure)
      continue;
    if (!files::is_directory(path) && path.extension() != ".gguf")
      throw Error(std::string(name) +
                  " is a file that is not called .gguf; weights are a folder, "
                  "weights.gguf, or a link to either");
    return path;
  }
  throw Error("there is neither a folder weights nor a file weights.gguf");
}

std::vector<std::string> read_flags(const files::path &path) {
  std::error_code failure;
  if (!files::exists(path, failure))
    return {};
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  if (!stream)
    throw Error("flags.txt cannot be read");
  std::vector<std::string> flags;
  try {
    flags = split_words(text.str());
  } catch (const Error &error) {
    throw Error(std::string("flags.txt: ") + error.what());
  }
  for (const std::string &flag : flags) {
    const std::string_view name =
        std::string_view(flag).substr(0, flag.find('='));
    if (std::ranges::find(reserved_flags, name) != reserved_flags.end())
      throw Error("flags.txt: " + std::string(name) +
                  " is not the model's to say");
  }
  return flags;
}

/// The value of `--name value` or `--name=value`.
std::optional<std::string> flag_value(const std::vector<std::string> &flags,
                                      const std::string &name) {
  for (size_t place = 0; place < flags.size(); ++place) {
    if (flags[place].starts_with(name + "="))
      return flags[place].substr(name.size() + 1);
    if (flags[place] == name && place + 1 < flags.size())
      return flags[place + 1];
  }
  return std::nullopt;
}

void read_needs(ModelFiles &model) {
  nlohmann::json info;
  try {
    info = nlohmann::json::parse(
        output_of(model.program, {"info", "--json"}, info_seconds));
    const nlohmann::json &memory = info.at("memory");
    for (const char *part : {"weights", "activations", "scratch", "persistent"})
      model.fixed_memory += memory.value(part, uint64_t(0));
  } catch (const nlohmann::json::exception &) {
    throw Error("program does not say what it is (info --json)");
  } catch (const Error &error) {
    throw Error(std::string("program: ") + error.what());
  }
  const auto batch = info.find("batch");
  if (batch == info.end() || !batch->is_object())
    throw Error("program holds one sequence; compile it with --max-batch");
  const uint64_t positions = batch->value("page_positions", uint64_t(64));
  const uint64_t pages =
      (info.value("max_seq", uint64_t(0)) + positions - 1) / positions;
  model.most_kv_memory = pages * batch->value("max_sequences", uint64_t(1)) *
                         batch->value("page_bytes", uint64_t(0));
}

ModelFiles
read_model_files(const files::path &folder,
                 const std::function<uint64_t(const std::string &)> &size_of) {
  ModelFiles model;
  model.name = folder.filename().string();
  if (!is_model_name(model.name))
    throw Error("a name is of letters, digits, '.', '_' and '-'");
  std::error_code failure;
  model.program = files::canonical(folder / "program", failure);
  if (failure || access(model.program.c_str(), X_OK) != 0)
    throw Error("there is no program that can be run");
  model.weights = find_weights(folder);
  model.flags = read_flags(folder / "flags.txt");
  if (std::optional<std::string> size = flag_value(model.flags, "--kv-memory"))
    model.kv_memory = size_of(*size);
  read_needs(model);
  return model;
}

} // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false, in_quotes = false, in_comment = false, begins = true;
  for (const char letter : text) {
    const bool is_blank =
        letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
    in_comment &= letter != '\n';
    if (in_comment || (begins && letter == '#')) {
      in_comment = true;
      begins = false;
    } else if (is_blank && !in_quotes) {
      if (std::exchange(in_word, false))
        words.push_back(std::exchange(word, {}));
      begins = letter == '\n' || (begins && letter != '\n');
    } else {
      in_word = true;
      begins = false;
      if (letter == '"')
        in_quotes = !in_quotes;
      else
        word += letter;
    }
  }
  if (in_quotes)
    throw Error("a quote without an end");
  if (in_word)
    words.push_back(word);
  return words;
}

std::vector<ModelFiles> read_model_folder(
    const files::path &folder,
    const std::function<uint64_t(const std::string &text)> &size_of,
    const std::function<void(const std::string &name, const std::string &why)>
        &leave_out) {
  std::vector<files::path> found;
  std::error_code failure;
  for (files::directory_iterator entry(folder, failure), last;
       !failure && entry != last; entry.increment(failure))
    if (std::error_code ignored;
        !entry->path().filename().string().starts_with('.') &&
        entry->is_directory(ignored))
      found.push_back(entry->path());
  if (failure)
    throw Error("--models: " + folder.string() +
                " cannot be read: " + failure.message());
  std::ranges::sort(found);
  std::vector<ModelFiles> models;
  for (const files::path &path : found) {
    try {
      models.push_back(read_model_files(path, size_of));
    } catch (const Error &error) {
      leave_out(path.filename().string(), error.what());
    }
  }
  return models;
}

} // namespace baton
