//===- teach_command.cpp - writes what a model says of documents ----------===//

#include "runtime/main/commands.h"

#include "runtime/decode/scoring.h"
#include "runtime/error.h"
#include "runtime/execute/execution.h"
#include "runtime/main/adapters.h"
#include "runtime/main/batch_setup.h"
#include "runtime/main/decode_ranks.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/memory_check.h"
#include "runtime/main/memory_size.h"
#include "runtime/main/output.h"
#include "runtime/main/progress.h"
#include "runtime/main/run_trace.h"
#include "runtime/main/table.h"
#include "runtime/main/training_data.h"
#include "runtime/main/weights.h"
#include "runtime/train/checked_file.h"
#include "runtime/train/teacher.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace baton {

namespace {

namespace fs = std::filesystem;

uint64_t parse_top_k(const std::string &text, uint64_t vocabulary) {
  if (text == "all")
    return vocabulary;
  uint64_t count = 0;
  const char *const end = text.data() + text.size();
  const auto [behind, failure] = std::from_chars(text.data(), end, count);
  if (failure != std::errc() || behind != end || count < 1)
    throw Error("--top-k: expected a whole number from 1 on, or all, not " +
                quote_name(text));
  if (count > vocabulary)
    throw Error("--top-k " + text + ": the vocabulary has " +
                std::to_string(vocabulary) + " tokens; all names them all");
  return count;
}

/// Documents of a shard: [first, end).
struct ShardDocuments {
  uint64_t first, end;
};

/// Divides documents into shards of at least `bytes`, but for the last one.
std::vector<ShardDocuments> divide(const DocumentSet &documents, uint64_t bytes,
                                   TeacherDescription &description) {
  std::vector<ShardDocuments> result;
  uint64_t first = 0, targets = 0;
  for (uint64_t i = 0; i < documents.size(); ++i) {
    targets += documents.targets(i);
    if (targets * description.bytes_of_target() < bytes &&
        i + 1 < documents.size())
      continue;
    result.push_back({first, i + 1});
    description.shards.push_back(targets);
    first = i + 1;
    targets = 0;
  }
  return result;
}

/// The description in the folder, or a new one. Throws Error for one of
/// something else.
void begin(const fs::path &folder, const TeacherDescription &description) {
  const fs::path path = folder / teacher_description_name;
  std::error_code failure;
  if (fs::exists(path, failure)) {
    if (TeacherDescription::read(folder) != description)
      throw Error("--out: " + path.string() +
                  " is of other data, flags or weights than these; name "
                  "another folder, or delete this one");
    return;
  }
  fs::create_directories(folder, failure);
  if (failure)
    throw Error("--out: " + folder.string() + ": " + failure.message());
  CheckedFile file(path);
  file.append(description.json().dump(2) + "\n");
  file.sync();
  file.publish();
}

/// Takes the logits of all rows of the documents of some shards, of which those
/// count behind which a target follows, and writes each shard when it is whole.
class ShardWriter {
public:
  /// All outlive it. `missing`: the shards' numbers.
  ShardWriter(const fs::path &folder, const DocumentSet &documents,
              std::span<const ShardDocuments> shards,
              const TeacherDescription &description,
              std::vector<size_t> missing, Progress &progress)
      : folder(folder), description(description), missing(std::move(missing)),
        progress(progress) {
    for (size_t number : this->missing) {
      all += description.shards[number];
      for (uint64_t i = shards[number].first; i < shards[number].end; ++i)
        add(documents, i);
    }
  }

  /// Of each document all tokens but the last.
  std::vector<std::vector<int32_t>> texts;

  void take(const float *logits, uint64_t count) {
    for (uint64_t row = 0; row < count; ++row)
      if (is_target[next_row++] != 0)
        add({logits + row * description.vocabulary, description.vocabulary});
    progress.update(targets_taken, all);
  }

  uint64_t targets() const { return all; }

private:
  void add(const DocumentSet &documents, uint64_t document) {
    const uint32_t count = documents.rows(document);
    std::vector<int32_t> tokens(count), targets(count), positions(count);
    std::vector<float> weights(count);
    documents.fill(document, 1, tokens.data(), targets.data(), positions.data(),
                   weights.data());
    texts.push_back(std::move(tokens));
    is_target.insert(is_target.end(), weights.begin(), weights.end());
  }

  void add(std::span<const float> logits) {
    try {
      append_distribution(logits, description.top_k, description.temperature,
                          rows);
    } catch (const Error &error) {
      throw Error("target " +
                  std::to_string(description.first_target(missing[next_shard]) +
                                 rows.rest.size()) +
                  " of --data, counted from 0: " + error.what());
    }
    ++targets_taken;
    if (rows.rest.size() < description.shards[missing[next_shard]])
      return;
    write_teacher_shard(folder, description, missing[next_shard++], rows);
    rows = {};
  }

  const fs::path &folder;
  const TeacherDescription &description;
  const std::vector<size_t> missing;
  Progress &progress;
  /// Of each row, whether it counts.
  std::vector<float> is_target;
  uint64_t next_row = 0, targets_taken = 0, all = 0;
  size_t next_shard = 0;
  /// Of the shard that is not whole yet.
  TeacherRows rows;
};

/// Asks the teacher about shards that are missing; returns how many targets
/// these have.
uint64_t write_shards(const Metadata &metadata, const TeachOptions &options,
                      const DecodeRanks &ranks, const DocumentSet &documents,
                      std::span<const ShardDocuments> shards,
                      const TeacherDescription &description) {
  const fs::path folder = options.out;
  const LoneAdapter adapter(metadata, options.adapter);
  std::vector<size_t> missing;
  uint64_t bytes = 0;
  for (size_t shard = 0; shard < shards.size(); ++shard)
    if (!has_teacher_shard(folder, description, shard)) {
      missing.push_back(shard);
      bytes += description.shards[shard] * description.bytes_of_target();
    }
  if (missing.empty())
    return 0;
  std::error_code failure;
  if (const fs::space_info space = fs::space(folder, failure);
      !failure && space.available < bytes)
    throw Error("--out: " + folder.string() + ": the disk has " +
                bytes_text(static_cast<double>(space.available)) +
                " left, and the files take " +
                bytes_text(static_cast<double>(bytes)) +
                "; a smaller --top-k makes them smaller");
  const RankParameters parameters = ranks.load_weights(options.run);
  std::unique_ptr<Execution> execution = ranks.make_execution(
      parameters, options.run, program_workers(options.run, metadata));
  adapter.load(*execution);
  RunTrace trace(metadata, options.run, *execution);
  MemoryCheck memory(metadata, options.run, *execution);
  Interruptible interruptible(execution->stop);
  Progress progress("asking the teacher", options.run.quiet);
  ShardWriter writer(folder, documents, shards, description, missing, progress);
  Scoring scoring(
      std::move(writer.texts), 0, chosen_prefill_chunk(options.run, metadata),
      metadata.max_outputs,
      [&](const float *logits, uint64_t count) { writer.take(logits, count); },
      nullptr);
  execution->run(scoring);
  check_interrupted();
  trace.publish();
  memory.publish();
  return writer.targets();
}

void teach(const Metadata &metadata, const TeachOptions &options,
           const DecodeRanks &ranks) {
  if (options.data.packing)
    throw Error("--packing: what a teacher says does not depend on it; leave "
                "the flag out");
  const fs::path weights = weights_path(options.run);
  const uint64_t longest = metadata.max_seq,
                 length = options.sequence ? options.sequence
                                           : std::min<uint64_t>(longest, 256);
  if (length > longest)
    throw Error("--seq " + std::to_string(length) +
                ": the model takes sequences of at most " +
                std::to_string(longest) + " tokens");
  const TrainingData data = TrainingData::open(
      metadata, options.data,
      options.tokenizer ? fs::path(*options.tokenizer) : weights, length,
      /*notes=*/!options.run.quiet);
  const DocumentSet *documents = data.document_set();
  if (!documents)
    throw Error("--data: a teacher speaks of documents; give .jsonl files");

  TeacherDescription description;
  description.top_k = parse_top_k(options.top_k, metadata.vocabulary);
  description.vocabulary = metadata.vocabulary;
  description.temperature = options.temperature;
  description.data = documents->hash();
  description.documents = documents->size();
  description.model =
      metadata.json.at("model").value("name", std::string("model"));
  description.weights = fs::absolute(weights).lexically_normal().string();
  if (options.adapter)
    description.weights +=
        " with " + fs::absolute(*options.adapter).lexically_normal().string();
  const std::vector<ShardDocuments> shards = divide(
      *documents, parse_memory_size("--shard", options.shard), description);
  const uint64_t bytes = description.targets() * description.bytes_of_target();
  if (!options.run.quiet)
    std::fprintf(stderr,
                 "%llu documents with %llu targets, of each the %llu likeliest "
                 "of %llu tokens: %s in %zu files\n",
                 static_cast<unsigned long long>(documents->size()),
                 static_cast<unsigned long long>(description.targets()),
                 static_cast<unsigned long long>(description.top_k),
                 static_cast<unsigned long long>(description.vocabulary),
                 bytes_text(static_cast<double>(bytes)).c_str(), shards.size());
  nlohmann::ordered_json report = description.json();
  report.erase("targets_of_shards");
  report["shards"] = shards.size();
  report["bytes"] = bytes;
  if (!options.dry_run) {
    begin(options.out, description);
    report["written"] =
        write_shards(metadata, options, ranks, *documents, shards, description);
  }
  if (options.json)
    print(report.dump() + "\n");
}

} // namespace

void teach_command(const Metadata &metadata, const TeachOptions &options) {
  on_decode_ranks(
      metadata, options.run, options,
      [&](const DecodeRanks &ranks) { teach(metadata, options, ranks); });
}

} // namespace baton
