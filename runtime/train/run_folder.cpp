//===- run_folder.cpp - the checkpoints of a training run ----------------===//

#include "runtime/train/run_folder.h"

#include "runtime/error.h"
#include "runtime/files/temporary.h"
#include "runtime/train/checked_file.h"
#include "runtime/train/checksum.h"
#include "runtime/train/loss_history.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace baton {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view step_prefix = "step-";
constexpr std::string_view unfinished_suffix = ".tmp";
/// Of a checkpoint that another of the same number replaces.
constexpr std::string_view replaced_suffix = ".replaced.tmp";
constexpr std::string_view latest_name = "latest";
constexpr std::string_view checksums_name = "checksums.json";
constexpr std::string_view model_name = "model.safetensors";
constexpr std::string_view optimizer_name = "optimizer.safetensors";
constexpr std::string_view state_name = "state.json";

std::string step_name(uint64_t step) {
  return std::string(step_prefix) + std::to_string(step);
}

/// The number in a name as step_name() spells it.
std::optional<uint64_t> parse_step_name(std::string_view name) {
  if (!name.starts_with(step_prefix))
    return std::nullopt;
  name.remove_prefix(step_prefix.size());
  uint64_t step = 0;
  auto [end, failure] =
      std::from_chars(name.data(), name.data() + name.size(), step);
  if (failure != std::errc() || std::to_string(step) != name)
    return std::nullopt;
  return step;
}

/// Of folders and files that a killed process left: "step-7.tmp",
/// "latest.123.0.temporary".
bool is_leftover(std::string_view name) {
  for (std::string_view suffix : {replaced_suffix, unfinished_suffix})
    if (name.ends_with(suffix))
      return parse_step_name(name.substr(0, name.size() - suffix.size()))
          .has_value();
  if (!name.ends_with(temporary_suffix))
    return false;
  for (std::string_view file :
       {latest_name, loss_lines_name, loss_picture_name})
    if (name.starts_with(std::string(file) + "."))
      return true;
  return false;
}

/// Numbers of the checkpoints in a folder, ascending. Throws Error.
std::vector<uint64_t> steps_in(const fs::path &folder) {
  std::vector<uint64_t> steps;
  std::error_code failure;
  fs::directory_iterator entries(folder, failure);
  for (; !failure && entries != fs::directory_iterator();
       entries.increment(failure)) {
    std::error_code ignored;
    std::optional<uint64_t> step =
        parse_step_name(entries->path().filename().native());
    if (step && entries->is_directory(ignored))
      steps.push_back(*step);
  }
  if (failure)
    throw Error(folder.string() + ": cannot be read: " + failure.message());
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string read_small(const fs::path &path) {
  // Tokenizers have tens of megabytes.
  constexpr uint64_t largest = 1 << 30;
  std::error_code failure;
  // A pipe would block.
  if (!fs::is_regular_file(path, failure))
    throw Error(path.string() + ": " +
                (failure ? failure.message() : "is not a plain file"));
  uint64_t size = fs::file_size(path, failure);
  if (!failure && size > largest)
    throw Error(path.string() + ": " + std::to_string(size) +
                " bytes are too many");
  std::ifstream stream(path, std::ios::binary);
  std::string text(failure ? 0 : size, '\0');
  if (failure || !stream.read(text.data(), static_cast<std::streamsize>(size)))
    throw Error(path.string() + ": cannot be read");
  return text;
}

/// Those beside a model's weights; beside an adapter's its own config is the
/// only one.
std::map<std::string, std::string>
read_model_files(const fs::path &folder,
                 const std::optional<Adapter> &adapter) {
  std::map<std::string, std::string> files;
  for (const std::string &name : model_file_names()) {
    std::error_code failure;
    if (adapter && (name == "config.json" || name == "generation_config.json"))
      continue;
    if (fs::exists(folder / name, failure))
      files[name] = read_small(folder / name);
  }
  if (adapter)
    files[std::string(adapter_config_name)] = adapter->config();
  return files;
}

/// Throws Error that says what is wrong with a checkpoint's files.
void verify(const fs::path &folder) {
  fs::path path = folder / checksums_name;
  nlohmann::json document = parse_object(read_small(path), path.string());
  auto algorithm = document.find("algorithm");
  if (algorithm == document.end() || *algorithm != checksum_algorithm)
    throw Error(path.string() + ": names no algorithm that is known here");
  auto files = document.find("files");
  if (files == document.end() || !files->is_object())
    throw Error(path.string() + ": has no object of files");
  const bool adapts = files->contains(adapter_config_name);
  for (std::string_view name :
       {adapts ? adapter_weights_name : model_name, optimizer_name, state_name})
    if (!files->contains(name))
      throw Error(path.string() + ": lacks " + std::string(name));
  for (const auto &[name, entry] : files->items()) {
    if (name.empty() || name.find('/') != std::string::npos ||
        !entry.is_object() || !entry.contains("bytes") ||
        !entry["bytes"].is_number_unsigned() || !entry.contains("checksum") ||
        !entry["checksum"].is_string())
      throw Error(path.string() + ": what it says of " + quote_name(name) +
                  " is not what was written");
    FileSummary found = summarize_file(folder / name);
    uint64_t bytes = entry["bytes"].get<uint64_t>();
    if (found.bytes != bytes)
      throw Error((folder / name).string() + ": has " +
                  std::to_string(found.bytes) + " bytes instead of " +
                  std::to_string(bytes));
    if (found.checksum != entry["checksum"].get<std::string>())
      throw Error((folder / name).string() + ": its checksum is " +
                  found.checksum + " instead of " +
                  quote_name(entry["checksum"].get<std::string>()));
  }
}

ResumePoint open_checkpoint(const fs::path &folder, uint64_t step) {
  verify(folder);
  ResumePoint point;
  point.folder = folder;
  fs::path state = folder / state_name;
  point.state = parse_state(read_small(state), state.string());
  if (point.state.step != step)
    throw Error(state.string() + ": is of step " +
                std::to_string(point.state.step));
  point.optimizer = SafetensorsFile::open(folder / optimizer_name);
  std::error_code failure;
  if (fs::exists(folder / adapter_config_name, failure)) {
    point.adapter = Adapter::read(folder);
    point.weights = Checkpoint::open_file(folder, adapter_weights_name);
  } else {
    point.weights = Checkpoint::open(folder);
  }
  return point;
}

/// Gives a finished folder its name, in place of one that may be there.
void put_in_place(const fs::path &from, const fs::path &to) {
  auto fail = [&] {
    throw Error(to.string() + ": cannot be written: " + std::strerror(errno));
  };
  std::error_code failure;
  if (!fs::exists(fs::symlink_status(to, failure))) {
    if (rename(from.c_str(), to.c_str()) != 0)
      fail();
    return;
  }
  // At once, where the file system can; what was there is then a leftover.
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                RENAME_EXCHANGE) == 0)
    return;
  fs::path replaced = to;
  replaced += replaced_suffix;
  fs::remove_all(replaced, failure);
  if (rename(to.c_str(), replaced.c_str()) != 0)
    fail();
  if (rename(from.c_str(), to.c_str()) != 0) {
    int error = errno;
    rename(replaced.c_str(), to.c_str());
    errno = error;
    fail();
  }
}

} // namespace

const std::vector<std::string> &model_file_names() {
  static const std::vector<std::string> names = {
      "config.json",
      "generation_config.json",
      "tokenizer.json",
      "tokenizer_config.json",
      "special_tokens_map.json",
      "added_tokens.json",
      "vocab.json",
      "merges.txt",
      "tokenizer.model",
      "chat_template.jinja",
  };
  return names;
}

RunFolder::RunFolder(fs::path path, const fs::path &model_folder, uint64_t keep,
                     RunStart start, const std::optional<Adapter> &adapter)
    : folder(std::move(path)),
      model_files(read_model_files(model_folder, adapter)),
      weights_name(adapter ? adapter_weights_name : model_name), keep(keep) {
  if (folder.empty())
    throw Error("--out: name a folder for the run's checkpoints");
  TemporaryFolder created(folder);
  lock = std::make_unique<Descriptor>(
      open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock->value < 0)
    throw Error(folder.string() + ": cannot be read: " + std::strerror(errno));
  // Some network file systems know no locks: they work without.
  if (flock(lock->value, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw Error(folder.string() +
                ": another process writes its checkpoints here; wait for its "
                "end, or give another folder");
  // Known before the steps, not when the first checkpoint is to be written.
  if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    throw Error(folder.string() +
                ": cannot be written: " + std::strerror(errno));
  for (std::string_view name :
       {latest_name, loss_lines_name, loss_picture_name}) {
    fs::path path = folder / name;
    std::error_code failure;
    if (fs::exists(fs::symlink_status(path, failure)) &&
        !fs::is_regular_file(path, failure))
      throw Error(path.string() + ": is not a plain file");
  }
  std::vector<uint64_t> steps = steps_in(folder);
  if (start == RunStart::New && !steps.empty())
    throw Error(folder.string() +
                ": holds checkpoints of an earlier run, up "
                "to " +
                step_name(steps.back()) +
                "; continue it with --resume, or give another folder");
  remove_leftovers();
  created.keep();
  // The folder itself may be new. Who may not read the one above has to trust
  // the system to keep it.
  try {
    sync_folder(fs::absolute(folder).lexically_normal() / "..");
  } catch (const Error &) {
  }
}

void RunFolder::remove_leftovers() const {
  std::vector<fs::path> leftovers;
  std::error_code failure;
  fs::directory_iterator entries(folder, failure);
  for (; !failure && entries != fs::directory_iterator();
       entries.increment(failure))
    if (is_leftover(entries->path().filename().native()))
      leftovers.push_back(entries->path());
  for (const fs::path &path : leftovers) {
    if (!failure)
      fs::remove_all(path, failure);
    if (failure)
      throw Error(path.string() +
                  ": was left by a process that was killed, "
                  "and cannot be removed: " +
                  failure.message());
  }
}

void RunFolder::remove_older(uint64_t step) const {
  std::vector<uint64_t> steps = steps_in(folder);
  // Newer ones, damaged or they would have been resumed from, do not count.
  std::erase_if(steps, [&](uint64_t other) { return other > step; });
  if (keep == 0 || steps.size() <= keep)
    return;
  steps.resize(steps.size() - keep);
  auto warn = [](const fs::path &path, const std::error_code &failure) {
    if (failure)
      std::fprintf(stderr, "warning: %s: cannot be removed: %s\n", path.c_str(),
                   failure.message().c_str());
  };
  // Their names go first, on the disk too.
  Uninterrupted guard;
  std::error_code failure;
  std::vector<fs::path> nameless;
  for (uint64_t old : steps) {
    fs::path path = folder / step_name(old), unfinished = path;
    unfinished += unfinished_suffix;
    fs::rename(path, unfinished, failure);
    warn(path, failure);
    if (!failure)
      nameless.push_back(unfinished);
  }
  sync_folder(folder);
  for (const fs::path &path : nameless) {
    fs::remove_all(path, failure);
    warn(path, failure);
  }
}

void RunFolder::save(const TrainingState &state,
                     const std::vector<TensorSource> &model,
                     const std::vector<TensorSource> &optimizer) {
  std::string name = step_name(state.step);
  fs::path place = folder / name, unfinished = place;
  unfinished += unfinished_suffix;
  std::error_code ignored;
  fs::remove_all(unfinished, ignored);

  {
    TemporaryFolder building(unfinished);
    try {
      nlohmann::json summaries = nlohmann::json::object();
      auto note = [&](std::string_view file, const FileSummary &summary) {
        summaries[std::string(file)] = {{"bytes", summary.bytes},
                                        {"checksum", summary.checksum}};
      };
      std::vector<CheckedFile> texts;
      auto add_text = [&](std::string_view file, std::string_view text) {
        CheckedFile &added = texts.emplace_back(unfinished / file);
        added.append(text);
        added.sync();
        note(file, added.summary());
      };

      SafetensorsWriter weights(unfinished / weights_name);
      weights.write(model);
      note(weights_name, weights.summary());
      SafetensorsWriter moments(unfinished / optimizer_name);
      moments.write(optimizer);
      note(optimizer_name, moments.summary());
      add_text(state_name, state_text(state));
      for (const auto &[file, bytes] : model_files)
        add_text(file, bytes);
      nlohmann::ordered_json checksums;
      checksums["algorithm"] = checksum_algorithm;
      checksums["files"] = summaries;
      add_text(checksums_name, checksums.dump(2) + "\n");
      // While a full disk can still be told.
      CheckedFile latest(folder / latest_name);
      latest.append(name + "\n");
      latest.sync();

      Uninterrupted guard;
      weights.publish();
      moments.publish();
      for (CheckedFile &file : texts)
        file.publish();
      sync_folder(unfinished);
      put_in_place(unfinished, place);
      building.keep();
      // Before anything is removed: the power may fail.
      sync_folder(folder);
      // What another of the same number was, if there was one.
      fs::path replaced = place;
      replaced += replaced_suffix;
      for (const fs::path &old : {unfinished, replaced})
        fs::remove_all(old, ignored);
      latest.publish();
      sync_folder(folder);
    } catch (...) {
      fs::remove_all(unfinished, ignored);
      throw;
    }
  }
  remove_older(state.step);
}

ResumePoint resume(const fs::path &folder, bool warns) {
  std::error_code failure;
  if (!fs::is_directory(folder, failure))
    throw Error("--resume: " + folder.string() +
                (fs::exists(folder, failure) ? ": is not a folder"
                                             : ": no such folder"));
  std::vector<uint64_t> steps = steps_in(folder);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    fs::path path = folder / step_name(*step);
    try {
      return open_checkpoint(path, *step);
    } catch (const Error &error) {
      if (warns)
        std::fprintf(stderr, "warning: %s is damaged and skipped: %s\n",
                     path.c_str(), error.what());
    }
  }
  if (steps.empty())
    throw Error("--resume: " + folder.string() +
                ": holds no checkpoint (a folder called step-<number>)");
  throw Error("--resume: " + folder.string() + ": none of its " +
              std::to_string(steps.size()) + " checkpoints is intact");
}

} // namespace baton
