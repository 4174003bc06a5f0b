//===- json_view.h - a value in a JSON file that knows its place ---------===//
//
// Reading through views makes every complaint name the file and the path of the
// value at fault.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_JSON_VIEW_H
#define BATON_RUNTIME_TOKENIZER_JSON_VIEW_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace baton {

/// Refers to a value that the caller keeps alive. Every accessor throws Error
/// when the value is not of the type asked for.
class JsonView {
public:
  JsonView(const nlohmann::json &value, std::string file)
      : value(&value), file(std::make_shared<std::string>(std::move(file))) {}

  /// A member that has to be there.
  JsonView at(const std::string &key) const;
  /// A member that may be missing or null.
  std::optional<JsonView> find(const std::string &key) const;
  std::vector<JsonView> elements() const;
  /// Calls the visitor with every member of an object, in no certain order.
  void for_each_member(
      const std::function<void(const std::string &key, const JsonView &value)>
          &visitor) const;

  const nlohmann::json &object() const;
  const nlohmann::json &array() const;
  const std::string &string() const;
  bool boolean() const;
  /// A token id: 0 ..= 2^31 - 1.
  int32_t id() const;

  bool is_string() const { return value->is_string(); }
  bool is_number() const { return value->is_number(); }
  bool is_zero() const { return value->is_number() && *value == 0; }

  /// The boolean member, or `otherwise` when it is missing or null.
  bool boolean(const std::string &key, bool otherwise) const;

  /// A sentence about this value that names the file and its place in it.
  std::string complaint(const std::string &what) const;
  [[noreturn]] void fail(const std::string &what) const;
  /// Fails for something that is well-formed and not implemented here.
  [[noreturn]] void refuse(const std::string &feature) const {
    fail(feature + " is not supported");
  }

private:
  JsonView(const nlohmann::json &value, std::shared_ptr<const std::string> file,
           std::string path)
      : value(&value), file(std::move(file)), path(std::move(path)) {}
  JsonView member(const nlohmann::json &value, const std::string &step) const;

  const nlohmann::json *value;
  std::shared_ptr<const std::string> file;
  std::string path;
};

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_JSON_VIEW_H
