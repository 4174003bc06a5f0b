//===- teacher.h - what another model says of the tokens of data ----------===//
//
// A folder that the command `teach` writes, for the tokens that are learned of
// a set of documents, its targets, in the order of the documents: the k
// likeliest tokens at each of them, and the logarithms of their probabilities
// at a temperature. teacher.json says of which data, vocabulary and temperature
// they are, and how many targets each shard has. A shard is
// teacher-00000.safetensors:
//
//   tokens  I32 [targets, k]  numbers of tokens, ascending
//   logps   F32 [targets, k]  the logarithms of their probabilities
//   rest    F32 [targets]     that of the probability of all other tokens
//                             together, -infinity where k is the vocabulary
//
// Its metadata repeat the hash of the data, and say which target is the first.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_TEACHER_H
#define BATON_RUNTIME_TRAIN_TEACHER_H

#include "runtime/weights/safetensors.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// What teacher.json says.
struct TeacherDescription {
  uint64_t top_k = 0;
  uint64_t vocabulary = 0;
  double temperature = 1;
  /// Of the documents' tokens and targets.
  uint64_t data = 0;
  uint64_t documents = 0;
  /// Whose logits they are: the model's name, and where its weights lay.
  std::string model, weights;
  /// How many targets each shard has.
  std::vector<uint64_t> shards;

  uint64_t targets() const;
  /// What a target takes in a shard.
  uint64_t bytes_of_target() const { return 8 * top_k + 4; }
  /// Of the first target of a shard.
  uint64_t first_target(size_t shard) const;

  nlohmann::ordered_json json() const;
  /// Throws Error that names the file.
  static TeacherDescription read(const std::filesystem::path &folder);

  bool operator==(const TeacherDescription &) const = default;
};

/// In a teacher's folder.
inline constexpr const char *teacher_description_name = "teacher.json";
std::filesystem::path teacher_shard(const std::filesystem::path &folder,
                                    size_t number);

/// What is said of some targets.
struct TeacherRows {
  std::vector<int32_t> tokens;
  std::vector<float> logps, rest;
};

/// Appends what a row of logits comes to. Of equally likely tokens those of
/// lower numbers are named. Throws Error where the logits have no finite sum.
void append_distribution(std::span<const float> logits, uint64_t top_k,
                         double temperature, TeacherRows &rows);

/// Writes a shard into its place, whole.
void write_teacher_shard(const std::filesystem::path &folder,
                         const TeacherDescription &description, size_t number,
                         const TeacherRows &rows);
/// Whether it is there. Throws Error that names the file for one that is
/// damaged, or of something else.
bool has_teacher_shard(const std::filesystem::path &folder,
                       const TeacherDescription &description, size_t number);

/// What a folder says of each target. Immutable; threads may use one at once.
class Teacher {
public:
  /// Throws Error, which names the flag and the file, for a folder that is not
  /// whole, damaged, or of other data or another vocabulary than these.
  /// `targets`: of each document.
  static Teacher open(const std::filesystem::path &folder, uint64_t data,
                      std::span<const uint32_t> targets, uint64_t vocabulary);

  uint64_t top_k() const { return description.top_k; }
  double temperature() const { return description.temperature; }
  uint64_t data() const { return description.data; }
  /// The number of a document's first target among all.
  uint64_t first_target(uint64_t document) const { return firsts[document]; }

  /// What is said of a target: `top_k` tokens and logarithms, and the rest.
  /// Throws Error that names the file for what is no distribution.
  void read(uint64_t target, std::span<int32_t> tokens, std::span<float> logps,
            float &rest) const;

private:
  Teacher() = default;

  std::filesystem::path folder;
  TeacherDescription description;
  std::vector<uint64_t> firsts;
  /// Of each shard its first target, and one more.
  std::vector<uint64_t> begins = {0};
  std::vector<std::shared_ptr<const SafetensorsFile>> files;
};

/// How a loss compares a model with a teacher.
struct Distillation {
  const Teacher *teacher = nullptr;
  /// The factors of the divergence, without the square of the temperature, and
  /// of the cross-entropy.
  double kl = 1, ce = 0;
  /// The divergence of the model from the teacher, KL(model || teacher); else
  /// KL(teacher || model).
  bool reverse = false;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_TEACHER_H
