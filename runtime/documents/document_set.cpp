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
  /// Of each document the end of its words, of a pair the words of its first
  /// answer, and its targets.
  std::vector<uint64_t> ends;
  std::vector<uint32_t> first_lengths, targets, lengths;
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

/// Words that are targets, and that a token stands before.
uint32_t targets_of(std::span<const uint32_t> words) {
  uint32_t targets = 0;
  for (size_t i = 1; i < words.size(); ++i)
    targets += words[i] >> 31;
  return targets;
}

/// Appends words, unless none is a target.
void append(Block &block, std::span<const uint32_t> words) {
  const uint32_t targets = targets_of(words);
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

/// An answer of a pair, which is one document.
std::vector<uint32_t> answer_of(const Example &example, const char *key,
                                const ExampleEncoder &encoder,
                                uint64_t vocabulary) {
  const std::vector<EncodedDocument> documents = encoder.encode(example);
  if (documents.size() != 1)
    throw Error(std::string(key) +
                ": the chat template writes earlier answers otherwise once "
                "more messages follow, so that these are no one document; "
                "leave one answer, behind the prompt");
  std::vector<uint32_t> words = words_of(documents.front(), vocabulary);
  // It may have no token at all, and then has no row.
  if (words.empty())
    throw Error(std::string(key) + ": has no token");
  return words;
}

/// Both answers of a pair as one document, which is left out where one of them
/// has no target.
void add_pair(Block &block, std::string_view line,
              const ExampleEncoder &encoder, const DocumentLimits &limits) {
  const Preference pair = parse_preference(line);
  const std::vector<uint32_t> chosen = answer_of(pair.chosen, "chosen", encoder,
                                                 limits.vocabulary),
                              rejected = answer_of(pair.rejected, "rejected",
                                                   encoder, limits.vocabulary);
  block.lengths.push_back(
      static_cast<uint32_t>(chosen.size() + rejected.size()));
  // Of the longer one first.
  const uint64_t most = limits.length + 2;
  size_t first = chosen.size(), second = rejected.size();
  if (first + second > most) {
    ++block.counts.too_long;
    if (limits.long_documents == LongDocuments::Drop) {
      block.counts.cut_tokens += first + second;
      return;
    }
    first = std::min<size_t>(
        first, std::max<size_t>(most - most / 2,
                                most - std::min<size_t>(second, most)));
    second = std::min<size_t>(second, most - first);
    block.counts.cut_tokens += chosen.size() + rejected.size() - first - second;
  }
  const std::span<const uint32_t> kept_first(chosen.data(), first),
      kept_second(rejected.data(), second);
  const uint32_t of_first = targets_of(kept_first),
                 of_second = targets_of(kept_second);
  if (!of_first || !of_second) {
    ++block.counts.without_targets;
    return;
  }
  for (const std::span<const uint32_t> words : {kept_first, kept_second})
    block.words.insert(block.words.end(), words.begin(), words.end());
  block.ends.push_back(block.words.size());
  block.first_lengths.push_back(static_cast<uint32_t>(first));
  block.targets.push_back(of_first + of_second);
  ++block.counts.documents;
  block.counts.tokens += first + second;
  block.counts.targets += of_first + of_second;
}

void add_line(Block &block, std::string_view line,
              const ExampleEncoder &encoder, const DocumentLimits &limits) {
  if (limits.pairs)
    return add_pair(block, line, encoder, limits);
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
                ": Parquet is not read; tools/parquet-to-jsonl " +
                path.filename().string() + " writes it as lines of JSON");
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
    first_lengths.insert(first_lengths.end(), block.first_lengths.begin(),
                         block.first_lengths.end());
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

/// The rows of one document, or of one answer of a pair.
static uint32_t fill_rows(std::span<const uint32_t> words, float weight,
                          int32_t *tokens, int32_t *targets, int32_t *positions,
                          float *weights) {
  const auto count = static_cast<uint32_t>(words.size() - 1);
  for (uint32_t row = 0; row < count; ++row) {
    tokens[row] = static_cast<int32_t>(words[row] & ~target_bit);
    targets[row] = static_cast<int32_t>(words[row + 1] & ~target_bit);
    positions[row] = static_cast<int32_t>(row);
    weights[row] = words[row + 1] & target_bit ? weight : 0;
  }
  return count;
}

void DocumentSet::fill(uint64_t document, float weight, int32_t *tokens,
                       int32_t *targets, int32_t *positions,
                       float *weights) const {
  const std::span<const uint32_t> own = std::span(words).subspan(
      begins[document], begins[document + 1] - begins[document]);
  const size_t first = has_pairs() ? first_lengths[document] : own.size();
  const uint32_t done =
      fill_rows(own.first(first), weight, tokens, targets, positions, weights);
  if (has_pairs())
    fill_rows(own.subspan(first), -weight, tokens + done, targets + done,
              positions + done, weights + done);
}

uint64_t DocumentSet::hash() const {
  uint64_t hash =
      hash_bytes(words.data(), words.size() * sizeof words[0], size());
  if (has_pairs())
    hash = hash_bytes(first_lengths.data(),
                      first_lengths.size() * sizeof first_lengths[0], hash);
  return hash_bytes(begins.data(), begins.size() * sizeof begins[0], hash);
}

} // namespace baton
