//===- training_data.cpp - what --data names of a program that trains -----===//

#include "runtime/main/training_data.h"

#include "runtime/decode/stop_tokens.h"
#include "runtime/documents/data_report.h"
#include "runtime/error.h"
#include "runtime/main/text_tokens.h"
#include "runtime/train/stream_batches.h"
#include "runtime/weights/hash.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace baton {

namespace fs = std::filesystem;

namespace {

/// A path, and behind the last = its weight, if that is a number.
struct NamedData {
  std::string path;
  std::optional<double> weight;
};

NamedData parse_named_data(const std::string &text) {
  std::error_code ignored;
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || fs::exists(text, ignored))
    return {text, {}};
  const char *const end = text.data() + text.size();
  double weight = 0;
  const auto [behind, failure] =
      std::from_chars(text.data() + equals + 1, end, weight);
  if (failure != std::errc() || behind != end)
    return {text, {}};
  if (!(weight > 0 && weight <= 1000))
    throw Error("--data " + text +
                ": expected a weight above 0 and of at most 1000");
  return {text.substr(0, equals), weight};
}

/// Documents end with it, where they are bytes: no byte is it.
std::optional<int32_t> end_of_bytes(const fs::path &folder,
                                    uint64_t vocabulary) {
  for (int32_t token : read_stop_tokens(folder))
    if (token >= static_cast<int32_t>(bytes_as_tokens) &&
        static_cast<uint64_t>(token) < vocabulary)
      return token;
  return std::nullopt;
}

/// Whether losses of the program are of pairs of answers.
bool trains_on_pairs(const Metadata &metadata) {
  const auto training = metadata.json.find("training");
  if (training == metadata.json.end() || !training->is_object())
    return false;
  return std::ranges::any_of(training->at("tensors"),
                             [](const nlohmann::json &tensor) {
                               return tensor.at("name") == "preferences";
                             });
}

void refuse_for_streams(const TrainingDataOptions &options) {
  const char *flag = options.loss_on          ? "--loss-on"
                     : options.packing        ? "--packing"
                     : options.long_documents ? "--long-documents"
                     : options.skip_bad_lines ? "--skip-bad-lines"
                                              : nullptr;
  if (flag)
    throw Error(std::string(flag) +
                ": is for documents, of .jsonl files; texts and token files "
                "are one stream, of which every token is a target");
}

} // namespace

TrainingData TrainingData::open(const Metadata &metadata,
                                const TrainingDataOptions &options,
                                const fs::path &folder, uint64_t length,
                                bool notes) {
  TrainingData result;
  std::vector<DocumentSource> sources;
  for (const std::string &text : options.paths) {
    const NamedData named = parse_named_data(text);
    uint64_t mixed = 0;
    std::vector<fs::path> files = find_document_files(named.path, mixed);
    if (files.empty() && (options.paths.size() > 1 || named.weight))
      throw Error("--data " + text + ": " + named.path +
                  " is no .jsonl file, and no folder of nothing but such; "
                  "texts and token files are read alone and without a weight");
    if (mixed && notes)
      std::fprintf(stderr,
                   "note: --data %s: holds .jsonl files (%llu) beside others; "
                   "all are read as texts\n",
                   named.path.c_str(), static_cast<unsigned long long>(mixed));
    if (!files.empty())
      sources.push_back({std::move(files), named.weight.value_or(1)});
  }
  if (sources.empty() && trains_on_pairs(metadata))
    throw Error("--data " + options.paths.front() +
                ": this program's loss is of pairs of answers (--loss=dpo); "
                "give a .jsonl file whose lines have \"chosen\" and "
                "\"rejected\"");
  if (sources.empty())
    result.open_stream(metadata, options, folder, notes);
  else
    result.open_documents(metadata, options, sources, folder, length, notes);
  return result;
}

void TrainingData::open_stream(const Metadata &metadata,
                               const TrainingDataOptions &options,
                               const fs::path &folder, bool notes) {
  refuse_for_streams(options);
  name = options.paths.front();
  std::optional<TextTokens> text;
  DatasetOptions dataset_options;
  dataset_options.vocabulary = metadata.vocabulary;
  if (!Dataset::is_token_file(name))
    text = find_text_tokens(
        folder, metadata.vocabulary,
        {"--data", "--data a token file (.u16, .u32) instead of text"}, notes);
  if (text && !text->bytes) {
    dataset_options.tokenizer = &text->tokenizer;
    dataset_options.end_of_text =
        end_of_text_token(text->tokenizer, read_stop_tokens(folder));
  }
  stream = Dataset::open(name, dataset_options);
}

void TrainingData::open_documents(const Metadata &metadata,
                                  const TrainingDataOptions &options,
                                  const std::vector<DocumentSource> &sources,
                                  const fs::path &folder, uint64_t length,
                                  bool notes) {
  const bool pairs = trains_on_pairs(metadata);
  if (pairs && options.loss_on && *options.loss_on != "completions")
    throw Error("--loss-on=" + *options.loss_on +
                ": of pairs of answers, the answers count alone; leave the "
                "flag out");
  if (pairs && options.long_documents && *options.long_documents == "split")
    throw Error("--long-documents=split: a pair of answers cannot be split; "
                "cut leaves their ends out, drop the pair");
  loss_on = options.loss_on.value_or("completions");
  long_documents = options.long_documents.value_or("cut");
  packing = parse_packing(options.packing.value_or("best"));
  ExampleEncoder::Options encoding;
  encoding.loss_on = parse_loss_on(loss_on);
  const DocumentLimits limits = {.pairs = pairs,
                                 .length = length,
                                 .long_documents =
                                     parse_long_documents(long_documents),
                                 .skip_bad_lines = options.skip_bad_lines,
                                 .vocabulary = metadata.vocabulary};
  const TextTokens text = find_text_tokens(
      folder, metadata.vocabulary,
      {"--data", "--data a token file (.u16, .u32) instead of text"}, notes);
  encoding.tokenizer = &text.tokenizer;
  encoding.bytes = text.bytes;
  encoding.end_of_text =
      text.bytes ? end_of_bytes(folder, metadata.vocabulary)
                 : end_of_text_token(text.tokenizer, read_stop_tokens(folder));
  std::optional<Conversation> conversation;
  if (auto found = find_chat_template(folder)) {
    conversation.emplace(*found, "the chat template of " + folder.string());
    encoding.conversation = &*conversation;
  }
  documents = DocumentSet::read(sources, ExampleEncoder(encoding), limits);
}

nlohmann::json TrainingData::settings() const {
  // The same data may lie somewhere else.
  if (stream)
    return {{"tokens of --data", stream->size()},
            {"samples of --data", hash_text(stream->sampled_hash())}};
  nlohmann::json weights = nlohmann::json::array();
  for (const DocumentFile &file : documents->files())
    weights.push_back(file.weight);
  return {{"tokens of --data", documents->token_count()},
          {"samples of --data", hash_text(documents->hash())},
          {"weights of --data", weights.dump()},
          {"--packing", packing == Packing::Best ? "best" : "none"},
          {"--loss-on", loss_on},
          {"--long-documents", long_documents}};
}

std::unique_ptr<const Batches>
TrainingData::batches(const BatchShape &shape, const BatchOrigin &origin,
                      double validation_fraction) const {
  if (stream)
    return std::make_unique<StreamBatches>(*stream, shape, origin,
                                           validation_fraction);
  return std::make_unique<DocumentBatches>(*documents, shape, origin,
                                           validation_fraction, packing);
}

nlohmann::ordered_json TrainingData::report(const Batches &batches) const {
  if (stream)
    return nullptr;
  return data_report(*documents,
                     dynamic_cast<const DocumentBatches &>(batches));
}

std::vector<TrainingData::Part>
TrainingData::parts(const BatchShape &shape) const {
  std::vector<Part> result;
  if (stream) {
    result.push_back({name,
                      {},
                      std::make_unique<StreamBatches>(
                          StreamBatches::all_for_validation(*stream, shape))});
    return result;
  }
  for (size_t i = 0; i < documents->files().size(); ++i) {
    const DocumentFile &file = documents->files()[i];
    if (file.counts.documents)
      result.push_back(
          {file.path.string(), file.counts.documents,
           std::make_unique<DocumentBatches>(*documents, shape, i, packing)});
  }
  return result;
}

} // namespace baton
