//===- dataset.cpp - the tokens that a model is trained with -------------===//

#include "runtime/train/dataset.h"

#include "runtime/error.h"
#include "runtime/files/temporary.h"
#include "runtime/train/text_files.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/parallel.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

static_assert(std::endian::native == std::endian::little,
              "token files hold little-endian numbers");

namespace baton {

namespace fs = std::filesystem;

namespace {

uint64_t load(const std::byte *data, unsigned width) {
  // Of another file's text, it need not be aligned.
  uint32_t token = 0;
  std::memcpy(&token, data, width);
  return token;
}

/// The first token of an array that is not below the limit, or `count`.
template <typename Token>
uint64_t first_beyond(const std::byte *data, uint64_t count, uint64_t limit) {
  if (limit > std::numeric_limits<Token>::max())
    return count;
  for (uint64_t i = 0; i < count; ++i) {
    Token token;
    std::memcpy(&token, data + i * sizeof(Token), sizeof(Token));
    if (token >= limit)
      return i;
  }
  return count;
}

std::string beyond_vocabulary(uint64_t token, uint64_t vocabulary) {
  return "the token " + std::to_string(token) +
         " is beyond the model's vocabulary of " + std::to_string(vocabulary);
}

/// The tokens as they are kept: in elements of `width` bytes.
std::vector<std::byte> narrow(const std::vector<int32_t> &tokens,
                              unsigned width) {
  std::vector<std::byte> bytes(tokens.size() * width);
  for (size_t i = 0; i < tokens.size(); ++i)
    std::memcpy(bytes.data() + i * width, &tokens[i], width);
  return bytes;
}

} // namespace

std::optional<int32_t>
end_of_text_token(const Tokenizer &tokenizer,
                  const std::vector<int32_t> &stop_tokens) {
  for (const char *name : {"<|end_of_text|>", "<|endoftext|>", "</s>", "<eos>"})
    if (std::optional<int32_t> token = tokenizer.token_id(name))
      if (stop_tokens.empty() || std::ranges::count(stop_tokens, *token) > 0)
        return token;
  if (!stop_tokens.empty())
    return stop_tokens.front();
  return std::nullopt;
}

bool Dataset::is_token_file(const fs::path &path) {
  std::error_code ignored;
  return (path.extension() == ".u16" || path.extension() == ".u32") &&
         !fs::is_directory(path, ignored);
}

Dataset Dataset::open(const fs::path &path, const DatasetOptions &options) {
  Dataset result;
  result.name = path.string();
  // Tokens are signed numbers of 32 bits.
  result.vocabulary = std::min(options.vocabulary, uint64_t(1) << 31);
  if (path.empty())
    throw Error("--data: name a text file, a folder of text files, or a token "
                "file (.u16, .u32)");
  std::error_code failure;
  fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status))
    throw Error("--data: " + path.string() + ": " +
                (status.type() == fs::file_type::not_found
                     ? "no such file or folder"
                     : failure.message()));

  if (is_token_file(path)) {
    result.add_token_file(path, path.extension() == ".u16" ? 2 : 4);
  } else {
    std::vector<fs::path> files = {path};
    if (fs::is_directory(status))
      files = find_text_files(path);
    if (options.tokenizer)
      result.add_text(files, options);
    else
      result.add_bytes(files);
  }
  if (result.token_count == 0)
    throw Error("--data: " + path.string() + ": holds no tokens");
  return result;
}

void Dataset::add(const std::byte *data, uint64_t count, unsigned width,
                  std::shared_ptr<const void> owner) {
  if (count == 0)
    return;
  segments.push_back({token_count, count, data, width, std::move(owner)});
  token_count += count;
}

void Dataset::add_token_file(const fs::path &file, unsigned width) {
  auto mapped = std::make_shared<MappedFile>(file);
  if (mapped->size() % width)
    throw Error("--data: " + file.string() + ": its size, " +
                std::to_string(mapped->size()) +
                " bytes, is no multiple of the " + std::to_string(width) +
                " bytes of a token that its name promises");
  uint64_t count = mapped->size() / width;
  constexpr uint64_t block = 1 << 20;
  parallel_for((count + block - 1) / block, 0, [&](size_t number) {
    uint64_t begin = number * block;
    uint64_t size = std::min(block, count - begin);
    const std::byte *data = mapped->data() + begin * width;
    uint64_t bad = width == 2 ? first_beyond<uint16_t>(data, size, vocabulary)
                              : first_beyond<uint32_t>(data, size, vocabulary);
    if (bad < size)
      throw Error(
          "--data: " + file.string() + ": " +
          beyond_vocabulary(load(data + bad * width, width), vocabulary) +
          ", at byte " + std::to_string((begin + bad) * width));
  });
  add(mapped->data(), count, width, mapped);
}

void Dataset::add_bytes(const std::vector<fs::path> &files) {
  if (vocabulary < bytes_as_tokens)
    throw Error("--data: " + name +
                ": without a tokenizer.json each byte is a token, but the "
                "model's vocabulary is " +
                std::to_string(vocabulary) +
                "; give a token file (.u16, .u32), or a vocabulary of 256");
  // A process may have only so many mappings.
  constexpr uint64_t small = 1 << 20;
  auto buffer = std::make_shared<std::vector<std::byte>>();
  auto flush = [&] {
    add(buffer->data(), buffer->size(), 1, buffer);
    buffer = std::make_shared<std::vector<std::byte>>();
  };
  for (const fs::path &path : files) {
    auto file = std::make_shared<MappedFile>(path);
    if (file->size() < small) {
      buffer->insert(buffer->end(), file->data(), file->data() + file->size());
      continue;
    }
    flush();
    add(file->data(), file->size(), 1, file);
  }
  flush();
}

void Dataset::add_text(const std::vector<fs::path> &files,
                       const DatasetOptions &options) {
  if (options.end_of_text && files.size() > 1 &&
      (*options.end_of_text < 0 ||
       static_cast<uint64_t>(*options.end_of_text) >= vocabulary))
    throw Error("--data: " + name + ": between two files, " +
                beyond_vocabulary(static_cast<uint32_t>(*options.end_of_text),
                                  vocabulary));
  unsigned width =
      vocabulary <= uint64_t(std::numeric_limits<uint16_t>::max()) + 1 ? 2 : 4;
  std::mutex mutex;
  uint64_t done = 0, total = 0;
  for (const fs::path &path : files) {
    std::error_code ignored;
    uint64_t size = fs::file_size(path, ignored);
    total += ignored ? 0 : size;
  }

  std::vector<std::vector<std::byte>> encoded(files.size());
  parallel_for(files.size(), options.threads, [&](size_t index) {
    MappedFile file(files[index]);
    std::vector<int32_t> tokens;
    try {
      tokens =
          options.tokenizer->encode(file.text(), /*add_special_tokens=*/false);
    } catch (const Error &error) {
      throw Error("--data: " + files[index].string() + ": " + error.what());
    }
    for (int32_t token : tokens)
      if (token < 0 || static_cast<uint64_t>(token) >= vocabulary)
        throw Error(
            "--data: " + files[index].string() + ": " +
            beyond_vocabulary(static_cast<uint32_t>(token), vocabulary) +
            "; the tokenizer.json belongs to another model");
    if (options.end_of_text && index + 1 < files.size())
      tokens.push_back(*options.end_of_text);
    encoded[index] = narrow(tokens, width);
    std::lock_guard guard(mutex);
    // The file may have grown since.
    done = std::min(total, done + file.size());
    if (options.progress)
      options.progress(done, total);
  });

  // One array of all: there may be very many files.
  auto all = std::make_shared<std::vector<std::byte>>();
  size_t bytes = 0;
  for (const auto &part : encoded)
    bytes += part.size();
  if (encoded.size() == 1) {
    *all = std::move(encoded[0]);
  } else {
    all->reserve(bytes);
    for (auto &part : encoded) {
      all->insert(all->end(), part.begin(), part.end());
      part = {};
    }
  }
  add(all->data(), bytes / width, width, all);
}

void Dataset::read(uint64_t first, uint64_t count, int32_t *destination) const {
  if (first > token_count || count > token_count - first)
    throw Error("--data: " + name + ": has no tokens " + std::to_string(first) +
                " to " + std::to_string(first + count));
  auto segment = std::upper_bound(segments.begin(), segments.end(), first,
                                  [](uint64_t token, const Segment &candidate) {
                                    return token < candidate.begin;
                                  });
  while (count) {
    const Segment &from = *(segment - 1);
    uint64_t offset = first - from.begin;
    uint64_t part = std::min(count, from.count - offset);
    for (uint64_t i = 0; i < part; ++i) {
      uint64_t token = load(from.data + (offset + i) * from.width, from.width);
      // It would be read from beyond the embedding table.
      if (token >= vocabulary)
        throw Error("--data: " + name + ": was changed while it was in use: " +
                    beyond_vocabulary(token, vocabulary) + " now");
      destination[i] = static_cast<int32_t>(token);
    }
    destination += part;
    first += part;
    count -= part;
    ++segment;
  }
}

uint64_t Dataset::sampled_hash() const {
  constexpr uint64_t places = 64, length = 64;
  uint64_t hash = token_count;
  for (uint64_t i = 0; i < places; ++i) {
    int32_t tokens[length];
    // Without overflow, and the last ones too.
    const uint64_t count = std::min(length, token_count);
    const uint64_t last = token_count - count;
    const uint64_t first =
        last / (places - 1) * i + last % (places - 1) * i / (places - 1);
    read(first, count, tokens);
    hash = hash_bytes(tokens, count * sizeof *tokens, hash);
  }
  return hash;
}

void Dataset::write(const fs::path &path) const {
  bool is_wide = path.extension() == ".u32";
  if (!is_wide && path.extension() != ".u16")
    throw Error(path.string() +
                ": the name of a token file ends in .u16 or .u32");
  TemporaryFile file(path);
  constexpr uint64_t block = 1 << 20;
  std::vector<int32_t> tokens(std::min(block, token_count));
  for (uint64_t first = 0; first < token_count; first += block) {
    tokens.resize(std::min(block, token_count - first));
    read(first, tokens.size(), tokens.data());
    for (int32_t token : tokens)
      if (!is_wide && token > std::numeric_limits<uint16_t>::max())
        throw Error(path.string() + ": the token " + std::to_string(token) +
                    " does not fit in 16 bits; end the name in .u32");
    unsigned width = is_wide ? 4 : 2;
    std::vector<std::byte> bytes = narrow(tokens, width);
    file.write(bytes.data(), bytes.size(), first * width);
  }
  file.sync();
  file.publish();
}

SequenceSplit Dataset::split(uint64_t length, double fraction) const {
  if (length == 0)
    throw Error("--seq: expected a number above 0");
  if (!(fraction >= 0 && fraction < 1))
    throw Error("--validation-fraction: expected a number of at least 0 and "
                "below 1");
  if (token_count <= length)
    throw Error("--data: " + name + ": its " + std::to_string(token_count) +
                " tokens are fewer than the one sequence of --seq "
                "and a target for its last token, " +
                std::to_string(length) + " + 1");
  uint64_t sequences = token_count / (length + 1);
  uint64_t validation = static_cast<uint64_t>(
      std::llround(static_cast<double>(sequences) * fraction));
  if (fraction > 0 && sequences > 1)
    validation = std::max<uint64_t>(validation, 1);
  if (validation >= sequences)
    validation = sequences - 1;
  return {sequences - validation, validation};
}

} // namespace baton
