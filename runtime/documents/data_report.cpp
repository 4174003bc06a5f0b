//===- data_report.cpp - what a run's documents are -----------------------===//

#include "runtime/documents/data_report.h"

#include <algorithm>
#include <cstdio>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

Json counts_json(const DocumentCounts &counts) {
  return {{"documents", counts.documents},
          {"tokens", counts.tokens},
          {"targets", counts.targets},
          {"bad_lines", counts.bad_lines},
          {"separated", counts.separated},
          {"too_long", counts.too_long},
          {"cut_tokens", counts.cut_tokens},
          {"without_targets", counts.without_targets}};
}

/// The length that a fraction of all documents does not pass.
uint32_t percentile(const std::vector<uint32_t> &lengths, double fraction) {
  const double place = fraction * static_cast<double>(lengths.size() - 1);
  return lengths[static_cast<size_t>(place)];
}

std::string percent(uint64_t part, uint64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%",
                whole ? 100.0 * static_cast<double>(part) /
                            static_cast<double>(whole)
                      : 0.0);
  return text;
}

uint64_t number(const Json &report, const char *key) {
  return report.at(key).get<uint64_t>();
}

std::string shown(const Json &report, const char *key) {
  return std::to_string(number(report, key));
}

std::string how_many(uint64_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

} // namespace

Json data_report(const DocumentSet &documents, const DocumentBatches &batches) {
  DocumentCounts all;
  Json files = Json::array();
  for (const DocumentFile &file : documents.files()) {
    Json own = {{"file", file.path.string()}, {"weight", file.weight}};
    own.update(counts_json(file.counts));
    files.push_back(std::move(own));
    all.add(file.counts);
  }
  Json report = counts_json(all);
  if (!all.first_bad_line.empty())
    report["first_bad_line"] = all.first_bad_line;
  if (documents.has_pairs())
    report["pairs"] = documents.size();
  report["validation_documents"] = batches.validation_documents();
  const std::vector<uint32_t> &lengths = documents.lengths();
  report["lengths"] = {{"least", lengths.front()},
                       {"p50", percentile(lengths, 0.5)},
                       {"p90", percentile(lengths, 0.9)},
                       {"p99", percentile(lengths, 0.99)},
                       {"most", lengths.back()}};
  const auto epoch = batches.epoch(0);
  uint64_t rows = 0;
  for (uint32_t document : epoch->documents)
    rows += documents.rows(document);
  const uint64_t length = batches.shape().length;
  report["epoch"] = {{"documents", epoch->documents.size()},
                     {"sequences", epoch->size()},
                     {"length", length},
                     {"rows", rows},
                     {"fill", static_cast<double>(rows) /
                                  static_cast<double>(std::max<uint64_t>(
                                      1, epoch->size() * length))}};
  report["files"] = std::move(files);
  return report;
}

std::string data_report_text(const Json &report) {
  const uint64_t tokens = number(report, "tokens");
  const std::string one = report.contains("pairs") ? "pair" : "document";
  std::string text = "data: " + how_many(number(report, "documents"), one) +
                     " of " + how_many(report.at("files").size(), "file") +
                     ", " + how_many(tokens, "token") + ", " +
                     how_many(number(report, "targets"), "target") + " (" +
                     percent(number(report, "targets"), tokens) + "), " +
                     shown(report, "validation_documents") +
                     " set aside for validation\n";
  const Json &lengths = report.at("lengths");
  text += "  tokens of a " + one + ": " + shown(lengths, "least") + " to " +
          shown(lengths, "most") + ", half have at most " +
          shown(lengths, "p50") + ", 90 % " + shown(lengths, "p90") +
          ", 99 % " + shown(lengths, "p99") + "\n";
  const Json &epoch = report.at("epoch");
  const uint64_t places = number(epoch, "sequences") * number(epoch, "length");
  text += "  an epoch: " + how_many(number(epoch, "documents"), one) + " in " +
          how_many(number(epoch, "sequences"), "sequence") + " of " +
          shown(epoch, "length") + ", " +
          percent(number(epoch, "rows"), places) + " of it filled\n";
  if (const uint64_t cut = number(report, "cut_tokens"))
    text += "  longer than a sequence: " +
            how_many(number(report, "too_long"), one) + "; " +
            how_many(cut, "token") + " of them left out\n";
  else if (const uint64_t split = number(report, "too_long"))
    text +=
        "  longer than a sequence, and split: " + how_many(split, "document") +
        "\n";
  if (const uint64_t separated = number(report, "separated"))
    text += "  conversations of which each answer is a document: " +
            std::to_string(separated) + "\n";
  if (const uint64_t without = number(report, "without_targets"))
    text += "  left out, without a target: " + how_many(without, one) + "\n";
  if (const uint64_t bad = number(report, "bad_lines"))
    text += "  left out, bad: " + how_many(bad, "line") +
            "; the first: " + report.at("first_bad_line").get<std::string>() +
            "\n";
  return text;
}

} // namespace baton
