//===- json_view.cpp - a value in a JSON file that knows its place -------===//

#include "runtime/tokenizer/json_view.h"

#include "runtime/error.h"

#include <limits>

namespace baton {

JsonView JsonView::member(const nlohmann::json &value,
                          const std::string &step) const {
  return JsonView(value, file, path.empty() ? step : path + "." + step);
}

JsonView JsonView::at(const std::string &key) const {
  const auto found = object().find(key);
  if (found == value->end())
    fail("has no '" + key + "'");
  return member(*found, key);
}

std::optional<JsonView> JsonView::find(const std::string &key) const {
  const auto found = object().find(key);
  if (found == value->end() || found->is_null())
    return std::nullopt;
  return member(*found, key);
}

std::vector<JsonView> JsonView::elements() const {
  std::vector<JsonView> views;
  views.reserve(array().size());
  for (const nlohmann::json &element : array())
    views.push_back(member(element, std::to_string(views.size())));
  return views;
}

void JsonView::for_each_member(
    const std::function<void(const std::string &, const JsonView &)> &visitor)
    const {
  for (const auto &[key, element] : object().items())
    visitor(key, member(element, key));
}

const nlohmann::json &JsonView::object() const {
  if (!value->is_object())
    fail("is not an object");
  return *value;
}

const nlohmann::json &JsonView::array() const {
  if (!value->is_array())
    fail("is not an array");
  return *value;
}

const std::string &JsonView::string() const {
  if (!value->is_string())
    fail("is not a string");
  return value->get_ref<const std::string &>();
}

bool JsonView::boolean() const {
  if (!value->is_boolean())
    fail("is neither true nor false");
  return value->get<bool>();
}

int32_t JsonView::id() const {
  if (!value->is_number_unsigned() ||
      value->get<uint64_t>() > std::numeric_limits<int32_t>::max())
    fail("is not a token id (an integer from 0 to 2147483647)");
  return value->get<int32_t>();
}

bool JsonView::boolean(const std::string &key, bool otherwise) const {
  const std::optional<JsonView> found = find(key);
  return found ? found->boolean() : otherwise;
}

std::string JsonView::complaint(const std::string &what) const {
  return *file + ": " + (path.empty() ? "the document" : path) + " " + what;
}

void JsonView::fail(const std::string &what) const {
  throw Error(complaint(what));
}

} // namespace baton
