//===- document_set.cpp - documents of .jsonl files, as tokens ------------===//

#include "runtime/documents/document_set.h"

#include "runtime/error.h"
#include "runtime/train/text_files.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/message.h"
#include "runtime/weights/parallel.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace baton {

namespace fs = std::filesystem;

namespace {

constexpr uint32_t target_bit = uint32_t(1) << 31;

/// What some lines of a file come to.
struct Block {
  std::vector<uint32_t> words;
  /// Of each document the end of its words, and its targets.
  std::vector<uint64_t> ends;
  std::vector<uint32_t> targets, lengths;
  DocumentCounts counts;
};

/// Those that are not blank, with their numbers, from 1 on.
std::vector<std::pair<uint64_t, std::string_view>>
lines_of(std::string_view text) {
  std::vector<std::pair<uint64_t, std::string_view>> lines;
  for (uint64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos)
      lines.emplace_back(number, line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Appends words, unless none is a target that a token stands before.
void append(Block &block, std::span<const uint32_t> words) {
  uint32_t targets = 0;
  for (size_t i = 1; i < words.size(); ++i)
    targets += words[i] >> 31;
  if (!targets) {
    ++block.counts.without_targets;
    return;
  }
  block.words.insert(block.words.end(), words.begin(), words.end());
  block.ends.push_back(block.words.size());
  block.targets.push_back(targets);
  ++block.counts.documents;
  block.counts.tokens += words.size();
  block.counts.targets += targets;
}

std::vector<uint32_t> words_of(const EncodedDocument &document,
                               uint64_t vocabulary) {
  std::vector<uint32_t> words(document.tokens.size());
  for (size_t i = 0; i < words.size(); ++i) {
    const int32_t token = document.tokens[i];
    if (token < 0 || static_cast<uint64_t>(token) >= vocabulary)
      throw Error("the token " + std::to_string(token) +
                  " is beyond the model's vocabulary of " +
                  std::to_string(vocabulary) +
                  "; the tokenizer.json belongs to another model");
    words[i] =
        static_cast<uint32_t>(token) | (document.is_target[i] ? target_bit : 0);
  }
  return words;
}

void add_line(Block &block, std::string_view line,
              const ExampleEncoder &encoder, const DocumentLimits &limits) {
  std::vector<std::vector<uint32_t>> documents;
  for (const EncodedDocument &document : encoder.encode(parse_example(line)))
    documents.push_back(words_of(document, limits.vocabulary));
  block.counts.separated += documents.size() > 1;
  const uint64_t most = limits.length + 1;
  for (const std::vector<uint32_t> &words : documents) {
    block.lengths.push_back(static_cast<uint32_t>(words.size()));
    const std::span<const uint32_t> all(words);
    if (words.size() <= most) {
      append(block, all);
      continue;
    }
    ++block.counts.too_long;
    switch (limits.long_documents) {
    case LongDocuments::Drop:
      block.counts.cut_tokens += words.size();
      break;
    case LongDocuments::Cut:
      block.counts.cut_tokens += words.size() - most;
      append(block, all.first(most));
      break;
    case LongDocuments::Split:
      for (size_t first = 0; first + 1 < words.size(); first += limits.length)
        append(block, all.subspan(
                          first, std::min<size_t>(most, words.size() - first)));
      break;
    }
  }
}

} // namespace

std::vector<fs::path> find_document_files(const fs::path &path,
                                          uint64_t &mixed) {
  mixed = 0;
  std::error_code ignored;
  if (path.extension() == ".parquet")
    throw Error("--data: " + path.string() +
                ": Parquet is not read; write it as lines of JSON, in Python: "
                "pandas.read_parquet(\"" +
                path.filename().string() +
                "\").to_json(\"data.jsonl\", orient=\"records\", lines=True)");
  if (!fs::is_directory(path, ignored)) {
    if (path.extension() == ".jsonl")
      return {path};
    return {};
  }
  // They are binary, and would be skipped.
  for (fs::recursive_directory_iterator entry(path, ignored), end;
       !ignored && entry != end; entry.increment(ignored))
    if (entry->path().extension() == ".parquet")
      return find_document_files(entry->path(), mixed);
  std::vector<fs::path> files = find_text_files(path);
  const auto lines = static_cast<uint64_t>(
      std::ranges::count(files, fs::path(".jsonl"), &fs::path::extension));
  if (lines == files.size())
    return files;
  mixed = lines;
  return {};
}

LongDocuments parse_long_documents(const std::string &text) {
  if (text == "cut")
    return LongDocuments::Cut;
  if (text == "split")
    return LongDocuments::Split;
  if (text == "drop")
    return LongDocuments::Drop;
  throw Error("--long-documents: expected cut, split or drop, not " +
              quote_name(text));
}

void DocumentCounts::add(const DocumentCounts &other) {
  documents += other.documents;
  tokens += other.tokens;
  targets += other.targets;
  bad_lines += other.bad_lines;
  if (first_bad_line.empty())
    first_bad_line = other.first_bad_line;
  separated += other.separated;
  too_long += other.too_long;
  cut_tokens += other.cut_tokens;
  without_targets += other.without_targets;
}

void DocumentSet::add(const fs::path &path, double weight,
                      const ExampleEncoder &encoder) {
  const MappedFile file(path);
  const auto lines = lines_of(file.text());
  constexpr size_t lines_of_block = 64;
  std::vector<Block> blocks((lines.size() + lines_of_block - 1) /
                            lines_of_block);
  parallel_for(blocks.size(), chosen.threads, [&](size_t number) {
    Block &block = blocks[number];
    const size_t end = std::min(lines.size(), (number + 1) * lines_of_block);
    for (size_t i = number * lines_of_block; i < end; ++i) {
      try {
        add_line(block, lines[i].second, encoder, chosen);
      } catch (const Error &error) {
        const std::string text = path.string() + ":" +
                                 std::to_string(lines[i].first) + ": " +
                                 error.what();
        if (!chosen.skip_bad_lines)
          throw Error("--data: " + text +
                      " (--skip-bad-lines leaves such lines out)");
        if (!block.counts.bad_lines++)
          block.counts.first_bad_line = text;
      }
    }
  });

  DocumentFile result{path, weight, size(), {}};
  for (Block &block : blocks) {
    for (uint64_t end : block.ends)
      begins.push_back(words.size() + end);
    words.insert(words.end(), block.words.begin(), block.words.end());
    target_counts.insert(target_counts.end(), block.targets.begin(),
                         block.targets.end());
    whole_lengths.insert(whole_lengths.end(), block.lengths.begin(),
                         block.lengths.end());
    result.counts.add(block.counts);
    block = {};
  }
  all_files.push_back(std::move(result));
}

DocumentSet DocumentSet::read(const std::vector<DocumentSource> &sources,
                              const ExampleEncoder &encoder,
                              const DocumentLimits &limits) {
  DocumentSet result;
  result.chosen = limits;
  result.chosen.vocabulary = std::min(limits.vocabulary, uint64_t(target_bit));
  for (const DocumentSource &source : sources)
    for (const fs::path &file : source.files)
      result.add(file, source.weight, encoder);
  if (result.size() == 0) {
    DocumentCounts all;
    for (const DocumentFile &file : result.all_files)
      all.add(file.counts);
    throw Error(
        "--data: " + result.all_files.front().path.string() +
        ": no document is left to train with (bad lines: " +
        std::to_string(all.bad_lines) +
        ", too long: " + std::to_string(all.too_long) +
        ", without a target: " + std::to_string(all.without_targets) + ")" +
        (all.bad_lines ? "; the first bad line is " + all.first_bad_line : ""));
  }
  if (result.size() > std::numeric_limits<uint32_t>::max())
    throw Error("--data: more than 4294967295 documents");
  std::ranges::sort(result.whole_lengths);
  return result;
}

void DocumentSet::fill(uint64_t document, float weight, int32_t *tokens,
                       int32_t *targets, int32_t *positions,
                       float *weights) const {
  const uint32_t *const own = words.data() + begins[document];
  const uint32_t count = rows(document);
  for (uint32_t row = 0; row < count; ++row) {
    tokens[row] = static_cast<int32_t>(own[row] & ~target_bit);
    targets[row] = static_cast<int32_t>(own[row + 1] & ~target_bit);
    positions[row] = static_cast<int32_t>(row);
    weights[row] = own[row + 1] & target_bit ? weight : 0;
  }
}

uint64_t DocumentSet::hash() const {
  const uint64_t hash =
      hash_bytes(words.data(), words.size() * sizeof words[0], size());
  return hash_bytes(begins.data(), begins.size() * sizeof begins[0], hash);
}

} // namespace baton
