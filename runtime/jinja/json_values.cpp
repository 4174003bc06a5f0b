//===- json_values.cpp - values of JSON documents -------------------------===//

#include "runtime/jinja/json_values.h"

#include "runtime/jinja/unicode.h"

namespace baton::jinja {

namespace {

using Json = nlohmann::ordered_json;

Value text_value(Rendering &rendering, const std::string &text) {
  rendering.make(text.size());
  if (!is_well_formed(text))
    throw Failure("the context has a text that is not UTF-8");
  return Value(text);
}

Value value_at_depth(Rendering &rendering, const Json &document,
                     uint32_t depth) {
  if (depth > deepest_nesting)
    throw Failure("the context is nested more than " +
                  std::to_string(deepest_nesting) + " deep");
  rendering.make(sizeof(Value));
  switch (document.type()) {
  case Json::value_t::boolean:
    return Value(document.get<bool>());
  case Json::value_t::number_integer:
    return Value(static_cast<Integer>(document.get<int64_t>()));
  case Json::value_t::number_unsigned:
    return Value(static_cast<Integer>(document.get<uint64_t>()));
  case Json::value_t::number_float:
    return Value(document.get<double>());
  case Json::value_t::string:
    return text_value(rendering, document.get_ref<const std::string &>());
  case Json::value_t::array: {
    std::vector<Value> items;
    items.reserve(document.size());
    for (const Json &item : document)
      items.push_back(value_at_depth(rendering, item, depth + 1));
    return make_list(std::move(items));
  }
  case Json::value_t::object: {
    auto dictionary = std::make_shared<Dictionary>();
    for (const auto &[key, value] : document.items())
      dictionary->set(text_value(rendering, key),
                      value_at_depth(rendering, value, depth + 1));
    return Value(std::move(dictionary));
  }
  case Json::value_t::null:
  case Json::value_t::binary:
  case Json::value_t::discarded:
    break;
  }
  return Value::none();
}

} // namespace

Value value_of_json(Rendering &rendering, const Json &document) {
  return value_at_depth(rendering, document, 1);
}

} // namespace baton::jinja
