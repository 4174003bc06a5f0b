//===- model_folder.h - programs and their weights, by name ---------------===//

#ifndef BATON_RUNTIME_SERVE_MODEL_FOLDER_H
#define BATON_RUNTIME_SERVE_MODEL_FOLDER_H

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// A program with its weights.
struct ModelFiles {
  std::string name;
  std::filesystem::path program, weights;
  /// Of `serve`.
  std::vector<std::string> flags;
  /// Bytes of weights, activations and what else does not depend on requests.
  uint64_t fixed_memory = 0;
  /// Bytes for the keys and values of as many sequences, as long as the
  /// program takes.
  uint64_t most_kv_memory = 0;
  /// Bytes of keys and values that the flags say.
  std::optional<uint64_t> kv_memory;
};

/// The words of a text; those in double quotes may have blanks. Lines that
/// begin with # are none. Throws Error for a quote without an end.
std::vector<std::string> split_words(std::string_view text);

/// Reads NAME/program, NAME/weights (a folder, or a link to what has another
/// name) or NAME/weights.gguf, and NAME/flags.txt, in the order of names.
/// Programs are asked for what they need (`program info --json`). `size_of`
/// reads sizes such as "4GiB". A model that cannot be served is left out, and
/// `leave_out` is told why; NAME is of letters, digits, ".", "_" and "-", and
/// begins with no ".". Throws Error, naming the folder, when that cannot be
/// read.
std::vector<ModelFiles> read_model_folder(
    const std::filesystem::path &folder,
    const std::function<uint64_t(const std::string &text)> &size_of,
    const std::function<void(const std::string &name, const std::string &why)>
        &leave_out);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_MODEL_FOLDER_H
