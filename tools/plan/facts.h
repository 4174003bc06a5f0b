//===- facts.h - numbers of a JSON file, each named and checked -----------===//

#ifndef BATON_TOOLS_PLAN_FACTS_H
#define BATON_TOOLS_PLAN_FACTS_H

#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>
#include <string>

namespace baton::plan {

/// A file of facts. Every key has to be there, and no other: a key that nobody
/// reads is a slip of the pen. Throws Error, naming file and key.
class Facts {
public:
  explicit Facts(const std::filesystem::path &file);

  std::string text(const std::string &key);
  bool flag(const std::string &key);
  /// A number above 0, or of 0 too.
  double positive(const std::string &key);
  double not_negative(const std::string &key);
  /// A number above 0 and up to 1.
  double fraction(const std::string &key);
  /// A whole number from 1 to 1e9.
  int64_t count(const std::string &key);
  /// What may be left out: null then. The caller checks it.
  const nlohmann::ordered_json *optional(const std::string &key);
  /// Throws for keys that none of the above was asked for.
  void finish();

private:
  const nlohmann::ordered_json &find(const std::string &key);
  [[noreturn]] void refuse(const std::string &key, const std::string &what);

  std::filesystem::path file;
  nlohmann::ordered_json json;
  std::set<std::string> read;
};

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_FACTS_H
