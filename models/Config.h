//===- Config.h - strict reading of config.json ---------------------------===//

#ifndef BATON_MODELS_CONFIG_H
#define BATON_MODELS_CONFIG_H

#include "dialects/Model/Model.h"

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace baton::models {

/// One line that says which file and field, or which flag, is wrong. It never
/// leaves importFolder: MLIR is built without exceptions.
struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Bounds of what any model may ask for, far above real ones; they keep every
// product of two dimensions inside 64 bits.
inline constexpr int64_t kMaxDimension = 1 << 20;
inline constexpr int64_t kMaxLayers = 1 << 16;
inline constexpr int64_t kMaxVocabulary = 1 << 24;
inline constexpr int64_t kMaxPositions = 1 << 24;

/// An object of the config, or one nested in it. Every getter throws
/// ConfigError when the field's value is not of its kind or out of range, and
/// treats null as absent.
class Config {
public:
  /// Reads `folder`/config.json: a JSON object of at most 16 MiB that nests at
  /// most 64 deep.
  static Config read(const std::string &folder);

  /// What another file says by fields of its own. `spelled` has the file's name
  /// of a field ("rope_scaling.factor"), for errors, where it is another one.
  static Config of(std::string file, nlohmann::json values,
                   std::map<std::string, std::string> spelled);

  /// A field that has to be there.
  int64_t integer(const char *name, int64_t least, int64_t most) const;
  std::optional<int64_t> optionalInteger(const char *name, int64_t least,
                                         int64_t most) const;
  double number(const char *name, double least, double most) const;
  double number(const char *name, double least, double most,
                double absent) const;
  bool boolean(const char *name, bool absent) const;
  std::string text(const char *name) const;
  std::string text(const char *name, const char *absent) const;
  std::optional<Config> object(const char *name) const;
  /// Fails on the first field of another name: of an object that is Baton's
  /// own, whoever misspells one is told.
  void allowOnly(std::initializer_list<const char *> names) const;
  /// Lists; the first has to be there.
  std::vector<double> numbers(const char *name, double least,
                              double most) const;
  std::optional<std::vector<std::string>> optionalTexts(const char *name) const;
  std::optional<std::vector<int64_t>>
  optionalIntegers(const char *name, int64_t least, int64_t most) const;
  bool has(const char *name) const;
  /// The field is there and null, where that means something else than absent.
  bool isNull(const char *name) const;
  /// The field is absent, or a list with this text.
  bool listsText(const char *name, const char *text) const;

  /// Throws "<file>: '<name>' is <value>, expected <expected>".
  [[noreturn]] void fail(const char *name, const std::string &expected) const;
  /// Throws "<file>: <what>".
  [[noreturn]] void fail(const std::string &what) const;

  const std::string &getFile() const { return file; }

private:
  Config(std::string file, std::string path, nlohmann::json values,
         std::map<std::string, std::string> spelled = {})
      : file(std::move(file)), path(std::move(path)), values(std::move(values)),
        spelled(std::move(spelled)) {}

  /// The field's value, or null when it is absent or null.
  const nlohmann::json *find(const char *name) const;

  std::string file;
  /// "rope_scaling." for the fields of that object, empty at the top.
  std::string path;
  nlohmann::json values;
  std::map<std::string, std::string> spelled;
};

/// The activation function that `name` (a field of `config`) names in
/// transformers' ACT2FN.
model::Activation activationField(const Config &config, const char *name,
                                  const char *absent);

/// A running total of elements that refuses absurd models before anything is
/// allocated for them.
class ElementCount {
public:
  /// Most elements that a total may reach, 2^42.
  static constexpr int64_t kMost = int64_t(1) << 42;

  /// Adds the product of `factors`, each positive.
  void add(std::initializer_list<int64_t> factors);
  bool isAbsurd() const { return total > kMost; }

private:
  int64_t total = 0;
};

} // namespace baton::models

#endif // BATON_MODELS_CONFIG_H
