//===- teacher.cpp - what another model says of the tokens of data --------===//

#include "runtime/train/teacher.h"

#include "runtime/error.h"
#include "runtime/train/safetensors_writer.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace baton {

namespace fs = std::filesystem;

static constexpr const char *format_name = "baton-teacher";

uint64_t TeacherDescription::targets() const {
  return std::accumulate(shards.begin(), shards.end(), uint64_t(0));
}

uint64_t TeacherDescription::first_target(size_t shard) const {
  return std::accumulate(shards.begin(),
                         shards.begin() + static_cast<ptrdiff_t>(shard),
                         uint64_t(0));
}

nlohmann::ordered_json TeacherDescription::json() const {
  return {{"format", format_name},
          {"version", 1},
          {"top_k", top_k},
          {"temperature", temperature},
          {"vocabulary", vocabulary},
          {"data", hash_text(data)},
          {"documents", documents},
          {"targets", targets()},
          {"model", model},
          {"weights", weights},
          {"targets_of_shards", shards}};
}

/// As hash_text() writes it.
static std::optional<uint64_t> parse_hash(const std::string &text) {
  if (text.size() != 16 ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  return std::stoull(text, nullptr, 16);
}

TeacherDescription TeacherDescription::read(const fs::path &folder) {
  const fs::path path = folder / teacher_description_name;
  std::ifstream file(path);
  if (!file)
    throw Error(path.string() +
                ": is not there; a teacher is a folder that the command teach "
                "has written");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  TeacherDescription result;
  try {
    const auto json = nlohmann::json::parse(text);
    if (json.at("format") != format_name || json.at("version") != 1)
      throw Error("another format");
    result.top_k = json.at("top_k");
    result.temperature = json.at("temperature");
    result.vocabulary = json.at("vocabulary");
    result.documents = json.at("documents");
    result.model = json.at("model");
    result.weights = json.at("weights");
    result.shards = json.at("targets_of_shards").get<std::vector<uint64_t>>();
    const std::optional<uint64_t> data = parse_hash(json.at("data"));
    if (!data || result.top_k < 1 || result.top_k > result.vocabulary ||
        result.vocabulary > std::numeric_limits<int32_t>::max() ||
        !(result.temperature > 0) || !std::isfinite(result.temperature) ||
        json.at("targets") != result.targets())
      throw Error("no such teacher");
    result.data = *data;
  } catch (const std::exception &) {
    throw Error(path.string() +
                ": is no description of a teacher, as the command teach of "
                "this version writes it; write it anew");
  }
  return result;
}

fs::path teacher_shard(const fs::path &folder, size_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, digits.size() < 5 ? 5 - digits.size() : 0, '0');
  return folder / ("teacher-" + digits + ".safetensors");
}

void append_distribution(std::span<const float> logits, uint64_t top_k,
                         double temperature, TeacherRows &rows) {
  // The likeliest, of equal ones the first; its least likely is in front.
  const auto before = [&](int32_t one, int32_t other) {
    const float a = logits[static_cast<size_t>(one)],
                b = logits[static_cast<size_t>(other)];
    return a > b || (a == b && one < other);
  };
  std::vector<int32_t> named;
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto token = static_cast<int32_t>(i);
    if (named.size() == top_k) {
      if (!before(token, named.front()))
        continue;
      std::ranges::pop_heap(named, before);
      named.pop_back();
    }
    named.push_back(token);
    std::ranges::push_heap(named, before);
  }
  const double largest =
      logits[static_cast<size_t>(*std::ranges::min_element(named, before))];
  std::ranges::sort(named);
  double sum = 0, others = 0;
  for (size_t i = 0, next = 0; i < logits.size(); ++i) {
    const bool is_named =
        next < named.size() && static_cast<size_t>(named[next]) == i;
    next += is_named;
    (is_named ? sum : others) +=
        std::exp((static_cast<double>(logits[i]) - largest) / temperature);
  }
  sum += others;
  if (!std::isfinite(sum) || !std::isfinite(largest))
    throw Error("the teacher's logits are not finite");
  // So small a probability is none, but has a logarithm.
  const double least = -1e4, log_sum = std::log(sum);
  for (int32_t token : named)
    rows.logps.push_back(static_cast<float>(std::max(
        (static_cast<double>(logits[static_cast<size_t>(token)]) - largest) /
                temperature -
            log_sum,
        least)));
  rows.tokens.insert(rows.tokens.end(), named.begin(), named.end());
  rows.rest.push_back(
      named.size() == logits.size()
          ? -std::numeric_limits<float>::infinity()
          : static_cast<float>(std::max(std::log(others) - log_sum, least)));
}

void write_teacher_shard(const fs::path &folder,
                         const TeacherDescription &description, size_t number,
                         const TeacherRows &rows) {
  const uint64_t targets = rows.rest.size();
  SafetensorsWriter writer(teacher_shard(folder, number));
  writer.write({{"tokens",
                 DataType::I32,
                 {targets, description.top_k},
                 rows.tokens.data()},
                {"logps",
                 DataType::F32,
                 {targets, description.top_k},
                 rows.logps.data()},
                {"rest", DataType::F32, {targets}, rows.rest.data()}},
               {{"format", "pt"},
                {"data", hash_text(description.data)},
                {"first", std::to_string(description.first_target(number))}});
  writer.publish();
}

/// Throws Error that names the file for one that is no such shard.
static std::shared_ptr<const SafetensorsFile>
open_shard(const fs::path &folder, const TeacherDescription &description,
           size_t number) {
  const fs::path path = teacher_shard(folder, number);
  auto file = SafetensorsFile::open(path);
  const uint64_t targets = description.shards[number];
  const auto has = [&](const char *name, DataType type,
                       const std::vector<uint64_t> &shape) {
    const auto found = file->tensors().find(name);
    return found != file->tensors().end() && found->second.type == type &&
           found->second.shape == shape;
  };
  const auto header = nlohmann::json::parse(file->header());
  const auto metadata = header.value("__metadata__", nlohmann::json::object());
  if (!has("tokens", DataType::I32, {targets, description.top_k}) ||
      !has("logps", DataType::F32, {targets, description.top_k}) ||
      !has("rest", DataType::F32, {targets}) ||
      metadata.value("data", "") != hash_text(description.data) ||
      metadata.value("first", "") !=
          std::to_string(description.first_target(number)))
    throw Error(path.string() + ": is not the shard that " +
                (folder / teacher_description_name).string() +
                " speaks of; delete it, and run teach again");
  return file;
}

bool has_teacher_shard(const fs::path &folder,
                       const TeacherDescription &description, size_t number) {
  std::error_code ignored;
  if (!fs::exists(teacher_shard(folder, number), ignored))
    return false;
  open_shard(folder, description, number);
  return true;
}

Teacher Teacher::open(const fs::path &folder, uint64_t data,
                      std::span<const uint32_t> targets, uint64_t vocabulary) {
  Teacher result;
  result.folder = folder;
  result.firsts.push_back(0);
  for (uint32_t count : targets)
    result.firsts.push_back(result.firsts.back() + count);
  try {
    result.description = TeacherDescription::read(folder);
    const TeacherDescription &own = result.description;
    const std::string name = (folder / teacher_description_name).string();
    if (own.vocabulary != vocabulary)
      throw Error(name + ": the teacher has a vocabulary of " +
                  std::to_string(own.vocabulary) +
                  " tokens, and the model of " + std::to_string(vocabulary) +
                  "; both have to have the same tokens");
    if (own.data != data || own.documents != targets.size() ||
        own.targets() != result.firsts.back())
      throw Error(name + ": is of " + std::to_string(own.documents) +
                  " documents with " + std::to_string(own.targets()) +
                  " targets, and not of what --data, --seq, --loss-on and "
                  "--long-documents now come to (" +
                  std::to_string(targets.size()) + " with " +
                  std::to_string(result.firsts.back()) +
                  "); run teach with the same flags and tokenizer");
    for (size_t shard = 0; shard < own.shards.size(); ++shard) {
      std::error_code ignored;
      if (!fs::exists(teacher_shard(folder, shard), ignored))
        throw Error(teacher_shard(folder, shard).string() +
                    ": is not there yet; the command teach goes on where it "
                    "was stopped when it is run again");
      result.files.push_back(open_shard(folder, own, shard));
      result.begins.push_back(result.begins.back() + own.shards[shard]);
    }
  } catch (const Error &error) {
    throw Error(std::string("--teacher: ") + error.what());
  }
  return result;
}

void Teacher::read(uint64_t target, std::span<int32_t> tokens,
                   std::span<float> logps, float &rest) const {
  const auto shard = static_cast<size_t>(
      std::ranges::upper_bound(begins, target) - begins.begin() - 1);
  const uint64_t row = target - begins[shard], k = top_k();
  const auto copy = [&](const char *name, uint64_t first, void *out,
                        uint64_t count) {
    std::memcpy(out,
                files[shard]->tensors().find(name)->second.data + first * 4,
                count * 4);
  };
  copy("tokens", row * k, tokens.data(), k);
  copy("logps", row * k, logps.data(), k);
  copy("rest", row, &rest, 1);
  bool is_distribution = k == description.vocabulary
                             ? rest == -std::numeric_limits<float>::infinity()
                             : std::isfinite(rest);
  double sum = std::exp(static_cast<double>(rest));
  for (uint64_t i = 0; i < k; ++i) {
    is_distribution &=
        tokens[i] > (i ? tokens[i - 1] : -1) && std::isfinite(logps[i]);
    sum += std::exp(static_cast<double>(logps[i]));
  }
  is_distribution &=
      static_cast<uint64_t>(tokens[k - 1]) < description.vocabulary;
  if (!is_distribution || !(std::abs(sum - 1) <= 1e-3))
    throw Error("--teacher: " + teacher_shard(folder, shard).string() +
                ": target " + std::to_string(row) +
                " of it, counted from 0, has no probabilities of ascending "
                "tokens that add up to 1; the file is damaged");
}

} // namespace baton
